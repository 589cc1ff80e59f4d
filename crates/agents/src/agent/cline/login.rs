//! The credentials that Cline would use: those of the provider that the user chose last, in `providers.json`, or variables.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::agent::files::read_jsonc;
use crate::agent::login::{Login, LoginSources};
use crate::agent::secrets::secrets_in;
use crate::agent::user_home::variable;
use crate::text::redact::strings;
use crate::trace::trouble::Trouble;

/// Variables with the keys of providers. Cline knows more: `pass_env` in the settings names others.
pub(super) const KEYS: [&str; 11] = [
    "CLINE_API_KEY",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "XAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "CEREBRAS_API_KEY",
];

/// What of a provider's settings is not a secret. Cline keeps keys, tokens, headers and accounts next to it.
const PLAIN: [&str; 6] = ["provider", "model", "baseUrl", "reasoning", "protocol", "client"];

/// The user's providers.
pub(super) fn users_providers() -> Result<Map<String, Value>, Trouble> {
    let data = variable("CLINE_DATA_DIR")
        .or_else(|| variable("CLINE_DIR").map(|path| path.join("data")))
        .or_else(|| variable("HOME").map(|home| home.join(".cline/data")));
    let path = variable("CLINE_PROVIDER_SETTINGS_PATH").or_else(|| Some(data?.join("settings/providers.json")));
    read_jsonc(&path.unwrap_or_default())
}

/// The values in the providers' settings that must not be stored.
pub(super) fn secrets(providers: &Map<String, Value>) -> Vec<String> {
    let rest = settings(providers).flatten().filter(|(key, _)| !PLAIN.contains(&key.as_str()));
    // A short one is known by its key alone.
    let short = settings(providers).flat_map(|settings| secrets_in(&Value::Object(settings.clone())));
    let all: BTreeSet<String> = rest.flat_map(|(_, value)| strings(value)).chain(short).collect();
    all.into_iter().collect()
}

/// The providers' settings without those values.
pub(super) fn without_secrets(mut providers: Map<String, Value>) -> Value {
    let all = providers.get_mut("providers").and_then(Value::as_object_mut);
    for entry in all.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        entry.retain(|key, _| key == "settings");
        if let Some(settings) = entry.get_mut("settings").and_then(Value::as_object_mut) {
            settings.retain(|key, _| PLAIN.contains(&key.as_str()));
        }
    }
    Value::Object(providers)
}

fn settings(providers: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    let all = providers.get("providers").and_then(Value::as_object);
    all.into_iter().flat_map(Map::values).filter_map(|entry| entry.get("settings")?.as_object())
}

pub(super) fn find(around: &LoginSources<'_>) -> Result<Login, Trouble> {
    if around.has_argument() {
        return Ok(Login::Unknown("the agent's own arguments choose the provider".to_owned()));
    }
    let providers = users_providers()?;
    let chosen = providers.get("lastUsedProvider").and_then(Value::as_str).unwrap_or("cline");
    let own = providers.get("providers").and_then(|all| all.get(chosen)?.get("settings")?.as_object());
    let has_secret = own.is_some_and(|own| own.keys().any(|key| !PLAIN.contains(&key.as_str())));
    Ok(match around.first(&KEYS) {
        _ if has_secret => Login::Found(format!("{chosen}, in Cline's providers.json")),
        Some(name) => Login::Set(name.to_owned()),
        None if own.is_some() => Login::Unknown(format!("{chosen}, without a key in Cline's providers.json")),
        None => Login::Missing("run `cline auth`".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_tokens_and_headers_are_secrets_and_the_address_is_not() {
        let settings = json!({ "provider": "openai", "model": "m", "baseUrl": "http://x", "apiKey": "key-of-the-first-one",
            "headers": { "X-A": "header-of-the-second" }, "auth": { "accessToken": "token-of-the-third-one" } });
        let providers = json!({ "lastUsedProvider": "openai", "providers": { "openai": { "settings": settings } } });
        let providers = providers.as_object().expect("an object");
        let mut found = secrets(providers);
        found.sort();
        assert_eq!(found, ["header-of-the-second", "key-of-the-first-one", "token-of-the-third-one"]);
        let shown = without_secrets(providers.clone()).to_string();
        assert!(
            shown.contains("http://x")
                && !["key-of-the-first-one", "header-of-the-second", "token-of-the-third-one"]
                    .iter()
                    .any(|secret| shown.contains(secret))
        );
    }
}
