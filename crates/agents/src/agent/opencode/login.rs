//! The credentials that OpenCode would use.

use serde_json::Value;

use super::home;
use crate::agent::login::{Login, LoginSources, has_credentials};
use crate::settings::Home;
use crate::trace::trouble::Trouble;

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

pub(super) fn find(around: &LoginSources<'_>) -> Result<Login, Trouble> {
    let (config, auth) = (home::users_config(Home::Isolated)?, home::users_auth()?.unwrap_or_default());
    if has_credentials(&Value::Object(config), &[]) {
        return Ok(Login::Found("a key in OpenCode's configuration".to_owned()));
    }
    if serde_json::from_str(&auth).is_ok_and(|auth| has_credentials(&auth, &[])) {
        return Ok(Login::Found("auth.json in OpenCode's directory".to_owned()));
    }
    Ok(match around.first(&KEYS) {
        Some(name) => Login::Set(name.to_owned()),
        None => Login::Unknown("a model that needs none may be configured; else run `opencode auth login`".to_owned()),
    })
}
