//! Where codex would find its login, without asking any server whether it is still good.

use super::LOGIN_VARIABLES;
use super::home::users_home;
use crate::agent::files::read_if_there;

/// How to log in.
const HOW_TO: &str = "run `codex login`, or set CODEX_API_KEY or OPENAI_API_KEY";

/// Where the login is.
///
/// # Errors
/// What to do where there is none.
pub(super) fn find() -> Result<String, String> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let home = users_home();
    let read = |name: &str| match home.as_ref().map(|home| read_if_there(&home.join(name))) {
        Some(Ok(text)) => Ok(text),
        Some(Err(trouble)) => Err(trouble.detail),
        None => Ok(None),
    };
    let config: toml::Table = match read("config.toml")? {
        Some(text) => toml::from_str(&text).map_err(|error| format!("fix codex's config.toml: {}", error.message()))?,
        None => toml::Table::new(),
    };
    if let Some(provider) = config.get("model_provider").and_then(toml::Value::as_str).filter(|name| *name != "openai")
    {
        let own = config.get("model_providers").and_then(|providers| providers.get(provider));
        let needs_openai = own.and_then(|own| own.get("requires_openai_auth")).and_then(toml::Value::as_bool);
        let key = own.and_then(|own| own.get("env_key")).and_then(toml::Value::as_str);
        match key {
            Some(key) if set(key) => return Ok(format!("{key}, for the provider `{provider}` of codex's config.toml")),
            Some(key) => return Err(format!("set {key}: the provider `{provider}` of codex's config.toml reads it")),
            None if needs_openai == Some(true) => {}
            None => return Ok(format!("the provider `{provider}` of codex's config.toml needs no key")),
        }
    }
    if let Some(name) = LOGIN_VARIABLES.into_iter().find(|name| set(name)) {
        return Ok(format!("{name} is set"));
    }
    match read("auth.json")? {
        Some(text) if serde_json::from_str::<serde_json::Value>(&text).is_ok_and(|value| value.is_object()) => {
            Ok("auth.json in codex's folder".to_owned())
        }
        Some(_) => Err(format!("the auth.json in codex's folder is damaged; {HOW_TO}")),
        None => Err(HOW_TO.to_owned()),
    }
}
