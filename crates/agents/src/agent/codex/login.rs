//! The credentials that codex would use.

use super::LOGIN_VARIABLES;
use super::home::{users_config, users_file};
use crate::agent::login::{Login, LoginSources, has_credentials};
use crate::settings::Home;

/// How to provide credentials.
const HOW_TO: &str = "run `codex login`, or set CODEX_API_KEY or OPENAI_API_KEY";

/// codex stores keyring entries by its home, and a trial has another home.
const NOT_BY_KEYRING: &str = "trials cannot see the keyring in which codex keeps its login: set cli_auth_credentials_store = \
                              \"file\" in codex's config.toml and run `codex login`, or set CODEX_API_KEY or OPENAI_API_KEY";

pub(super) fn find(around: &LoginSources<'_>) -> Login {
    if around.has_argument() {
        return Login::Unknown("the agent's own arguments choose the provider, which may have one".to_owned());
    }
    // All of it: a trial gets a part.
    let config = match users_config(Home::User) {
        Ok(config) => config,
        Err(why) => return Login::Missing(why.detail),
    };
    let text = |key: &str| config.get(key).and_then(toml::Value::as_str);
    if let Some(provider) = text("model_provider").filter(|name| *name != "openai")
        && let Some(login) = login_of_provider(around, &config, provider)
    {
        return login;
    }
    if let Some(name) = around.first(&LOGIN_VARIABLES) {
        return Login::Set(name.to_owned());
    }
    let what_to_do = match users_file("auth.json") {
        Ok(None) if text("cli_auth_credentials_store") == Some("keyring") => NOT_BY_KEYRING.to_owned(),
        Ok(None) => HOW_TO.to_owned(),
        Ok(Some(text)) => match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(value) if has_credentials(&value, &[]) => {
                return Login::Found("auth.json in codex's directory".to_owned());
            }
            Ok(serde_json::Value::Object(_)) => {
                format!("the auth.json in codex's directory holds no credentials; {HOW_TO}")
            }
            _ if text.trim().is_empty() => format!("the auth.json in codex's directory is empty; {HOW_TO}"),
            _ => format!("the auth.json in codex's directory is damaged; {HOW_TO}"),
        },
        Err(why) => why.detail,
    };
    if around.variable("OPENAI_BASE_URL").is_some() || text("openai_base_url").or(text("chatgpt_base_url")).is_some() {
        return Login::Unknown("the server of the base URL may ask for none".to_owned());
    }
    Login::Missing(what_to_do)
}

/// The credentials of a provider in codex's configuration; `None` if those are the credentials of openai.
fn login_of_provider(around: &LoginSources<'_>, config: &toml::Table, provider: &str) -> Option<Login> {
    let settings = config.get("model_providers").and_then(|providers| providers.get(provider));
    let needs_openai =
        settings.and_then(|settings| settings.get("requires_openai_auth")).and_then(toml::Value::as_bool);
    let key = settings.and_then(|settings| settings.get("env_key")).and_then(toml::Value::as_str);
    match key {
        Some(key) if around.variable(key).is_some() => {
            Some(Login::Found(format!("{key}, for the provider `{provider}` of codex's config.toml")))
        }
        Some(key) => {
            Some(Login::Missing(format!("set {key}: the provider `{provider}` of codex's config.toml reads it")))
        }
        None if needs_openai == Some(true) => None,
        None => Some(Login::Found(format!("the provider `{provider}` of codex's config.toml needs no key"))),
    }
}
