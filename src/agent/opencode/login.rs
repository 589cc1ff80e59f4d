//! The credentials that OpenCode would use.

use serde_json::Value;

use super::home;
use crate::agent::login::{Login, LoginSources, has_credentials};
use crate::settings::Home;

/// Variables with the keys of providers. OpenCode knows more: `pass_env` in the settings names others.
pub(super) const KEYS: [&str; 13] = [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "OPENCODE_API_KEY",
    "OPENROUTER_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "XAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "CEREBRAS_API_KEY",
    "AI_GATEWAY_API_KEY",
];

pub(super) fn find(around: &LoginSources<'_>) -> Login {
    let (config, auth) = match (home::users_config(Home::Isolated), home::users_auth()) {
        (Ok(config), Ok(auth)) => (config, auth.unwrap_or_default()),
        (Err(why), _) | (_, Err(why)) => return Login::Missing(why.detail),
    };
    if has_credentials(&Value::Object(config), &[]) {
        return Login::Found("a key in OpenCode's configuration".to_owned());
    }
    if serde_json::from_str(&auth).is_ok_and(|auth| has_credentials(&auth, &[])) {
        return Login::Found("auth.json in OpenCode's directory".to_owned());
    }
    match around.first(&KEYS) {
        Some(name) => Login::Set(name.to_owned()),
        None => Login::Unknown("a model that needs none may be configured; else run `opencode auth login`".to_owned()),
    }
}
