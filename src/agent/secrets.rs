//! Credentials in what a trial gets of a user's configuration, by the keys that they are under, and by the variables that it
//! names.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use jsonc_parser::ParseOptions;
use serde_json::Value;

use crate::text::redact::looks_secret;

/// Keys with the names of variables.
const VARIABLES: [&str; 4] = ["envKey", "env_key", "api_key_env", "bearer_token_env_var"];

/// Takes every credential out of a value.
fn take_secrets(value: &mut Value) -> Vec<String> {
    let mut taken = Vec::new();
    take_below("", false, value, &mut taken);
    taken
}

/// Headers of HTTP that hold no credential. Their values are ordinary words, which have to stay in what a model says.
const PLAIN_HEADERS: [&str; 3] = ["accept", "content-type", "user-agent"];

/// Whether a header may hold a credential.
pub(super) fn is_secret_header(name: &str) -> bool {
    !PLAIN_HEADERS.contains(&name.trim().to_ascii_lowercase().as_str())
}

/// Whether the values under a key may be credentials: `headers`, `http_headers`, `extraHeaders`.
fn are_headers(key: &str) -> bool {
    key.to_ascii_lowercase().ends_with("headers")
}

/// Whether the value is itself a credential, which its holder removes.
fn take_below(key: &str, is_header: bool, value: &mut Value, taken: &mut Vec<String>) -> bool {
    match value {
        Value::Object(map) => {
            map.retain(|key, value| !take_below(key, is_header || are_headers(key), value, taken));
        }
        Value::Array(list) => list.retain_mut(|value| !take_below(key, is_header, value, taken)),
        Value::String(text)
            if !text.is_empty()
                && !VARIABLES.contains(&key)
                && (is_header && is_secret_header(key) || looks_secret(key, text)) =>
        {
            taken.push(std::mem::take(text));
            return true;
        }
        _ => {}
    }
    false
}

/// The credentials in a value: of `Bearer KEY` also the key.
pub(super) fn secrets_in(value: &Value) -> Vec<String> {
    let taken = take_secrets(&mut value.clone());
    taken
        .into_iter()
        .flat_map(|secret| [secret.split_once(' ').map(|(_, key)| key.to_owned()), Some(secret)])
        .flatten()
        .collect()
}

/// The credentials in a file with settings: JSON, TOML, or any other form.
pub(super) fn secrets_in_file(name: &str, text: &str) -> Vec<String> {
    let json = jsonc_parser::parse_to_serde_value::<Value>(text, &ParseOptions::default()).ok();
    let value = json.or_else(|| toml::from_str(text).ok()).filter(|value| value.is_object() || value.is_array());
    value.map_or_else(|| secrets_in_text(name, text), |value| secrets_in(&value))
}

/// Each word after one that names a credential, and all of a file that is called like one.
fn secrets_in_text(name: &str, text: &str) -> Vec<String> {
    let is_between = |character: char| character.is_whitespace() || "=:,;\"'{}[]".contains(character);
    let is_scheme = |word: &&str| ["bearer", "basic", "token"].contains(&word.to_ascii_lowercase().as_str());
    let words: Vec<&str> = text.split(is_between).filter(|word| !word.is_empty()).collect();
    let value = |after: &[&str]| after.iter().find(|word| !is_scheme(word)).map(|word| (*word).to_owned());
    let named = words
        .iter()
        .enumerate()
        .filter_map(|(at, key)| value(&words[at + 1..]).filter(|value| looks_secret(key, value)));
    let whole = Some(text.trim().to_owned()).filter(|text| looks_secret(name, text));
    named.chain(whole).collect()
}

/// A value without its credentials.
pub(super) fn without_secrets(mut value: Value) -> Value {
    take_secrets(&mut value);
    value
}

/// The values of these variables in an agent's environment: credentials, whatever the variables are called.
pub(super) fn values_of(env: &BTreeMap<OsString, OsString>, names: &[String]) -> Vec<String> {
    names.iter().filter_map(|name| env.get(OsStr::new(name))?.to_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn credentials_are_found_by_their_keys_and_nearly_all_headers_are_some() {
        let value = json!({ "options": { "apiKey": "a", "secretAccessKey": "b", "baseURL": "c", "region": "d", "envKey": "e" },
            "models": [{ "headers": { "X-Any": "Bearer f", "Accept": "i" } }], "private_key": "g", "max_tokens": "h" });
        assert_eq!(secrets_in(&value).concat(), "fBearer fabg");
        let left = json!({ "options": { "baseURL": "c", "region": "d", "envKey": "e" }, "models": [{ "headers": { "Accept": "i" } }], "max_tokens": "h" });
        assert_eq!(without_secrets(value), left);
    }

    #[test]
    fn credentials_are_found_in_files_of_any_form() {
        let text = "export API_KEY='one'\nregion: two\npassword three\nauth_token: Bearer four\n";
        assert_eq!(secrets_in_file(".env", text), ["one", "three", "four"]);
        assert_eq!(secrets_in_file("keys/api_key", "five\n"), ["five"]);
        assert_eq!(secrets_in_file("a.json", "// six\n[{ \"apiKey\": \"six\" }]"), ["six"]);
        assert_eq!(secrets_in_file("a.json", "{ \"apiKey\": \"seven\""), ["seven"]);
        assert_eq!(secrets_in_file("a.toml", "[a]\napi_key = \"eight\"\n"), ["eight"]);
    }
}
