//! Credentials in what a trial gets of a user's configuration, by the keys that they are under, and by the variables that it
//! names.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use jsonc_parser::ParseOptions;
use serde_json::Value;

use crate::text::redact::{
    is_option_with, is_scheme, is_secret_header, looks_secret, secret_of_header, secrets_within,
};

/// Keys with the names of variables.
const VARIABLES: [&str; 4] = ["envKey", "env_key", "api_key_env", "bearer_token_env_var"];

/// A text with more credentials is taken out whole: that is faster.
const MANY: usize = 100;

/// Takes every credential out of a value.
fn take_secrets(value: &mut Value) -> Vec<String> {
    let mut taken = Vec::new();
    take_below("", false, value, &mut taken);
    taken
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
        Value::Array(list) => {
            let mut before = String::new();
            list.retain_mut(|value| {
                let word = std::mem::replace(&mut before, value.as_str().unwrap_or_default().to_owned());
                let option = Some(word).filter(|word| is_option_with(word, &before)).unwrap_or_default();
                let is_named = looks_secret(&option, &before);
                let is_secret = take_below(if is_named { &option } else { key }, is_header, value, taken);
                if let Value::String(text) = value {
                    take_within(&option, text, taken);
                }
                !is_secret
            });
        }
        Value::String(text)
            if !text.is_empty()
                && !VARIABLES.contains(&key)
                && (is_header && is_secret_header(key) || looks_secret(key, text)) =>
        {
            taken.push(std::mem::take(text));
            return true;
        }
        Value::String(text) => take_within("", text, taken),
        _ => {}
    }
    false
}

/// Takes the credentials out of a command line, an address or JSON that follows an option.
fn take_within(option: &str, text: &mut String, taken: &mut Vec<String>) {
    let braces = text.find('{').zip(text.rfind('}'));
    let nested: Option<Value> = braces.and_then(|(start, end)| serde_json::from_str(text.get(start..=end)?).ok());
    let found = [secrets_within(&format!("{option} {text}")), nested.iter().flat_map(secrets_in).collect()].concat();
    if found.len() > MANY {
        text.clear();
    }
    for secret in &found {
        *text = text.replace(secret.as_str(), "");
    }
    taken.extend(found);
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

/// The credentials in the value of a variable: in a command line, an address, headers, or JSON.
pub fn secrets_in_variable(value: &str) -> Vec<String> {
    let headers = value.lines().filter_map(secret_of_header);
    let json: Option<Value> = Some(value.trim_start())
        .filter(|value| value.starts_with(['{', '[']))
        .and_then(|value| serde_json::from_str(value).ok());
    let mut text = value.to_owned();
    let mut taken = Vec::new();
    take_within("", &mut text, &mut taken);
    taken.into_iter().chain(headers).chain(json.iter().flat_map(secrets_in)).collect()
}

/// The credentials in arguments of a command, also in settings that it takes as arguments (`-c key="value"`).
pub fn secrets_in_arguments(args: &[String]) -> Vec<String> {
    let settings = args.iter().filter_map(|arg| toml::from_str::<Value>(arg).ok());
    secrets_in(&Value::from(args)).into_iter().chain(settings.flat_map(|setting| secrets_in(&setting))).collect()
}

/// The credentials in a file with settings: JSON, TOML, or any other form.
pub(super) fn secrets_in_file(name: &str, text: &str) -> Vec<String> {
    let json = jsonc_parser::parse_to_serde_value::<Value>(text, &ParseOptions::default()).ok();
    let value = json.or_else(|| toml::from_str(text).ok()).filter(|value| value.is_object() || value.is_array());
    value.map_or_else(|| secrets_in_text(name, text), |value| secrets_in(&value))
}

/// Each word after one that names a credential, those in command lines and addresses, and all of a file that is called like one.
fn secrets_in_text(name: &str, text: &str) -> Vec<String> {
    let is_between = |character: char| character.is_whitespace() || "=:,;\"'{}[]".contains(character);
    let mut named = Vec::new();
    let mut value: Option<&str> = None;
    for word in text.rsplit(is_between).filter(|word| !word.is_empty()) {
        named.extend(value.filter(|value| looks_secret(word, value)));
        if !is_scheme(word) {
            value = Some(word);
        }
    }
    let whole = Some(text.trim()).filter(|text| looks_secret(name, text));
    let known = named.into_iter().rev().chain(whole).map(str::to_owned);
    known.chain(secrets_within(text)).collect()
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
    fn credentials_are_found_in_arguments_and_only_they_are_taken_out() {
        let args = json!([
            "a",
            "--api-key",
            "b c",
            "--token=d",
            "-e",
            "KEY=e",
            "--header",
            "X: f",
            "{\"key\":\"g\"}",
            "--key",
            "--h"
        ]);
        let mut found = secrets_in(&json!({ "args": args.clone(), "url": "http://i:j1@k/?key=l" }));
        found.sort();
        found.dedup();
        assert_eq!(found, ["b c", "c", "d", "e", "f", "g", "j1", "l"]);
        let left =
            json!(["a", "--api-key", "--token=", "-e", "KEY=", "--header", "X: ", "{\"key\":\"\"}", "--key", "--h"]);
        assert_eq!(
            without_secrets(json!({ "args": args, "url": "http://i:j1@k/?key=l" })),
            json!({ "args": left, "url": "http://i:@k/?key=" })
        );
    }

    #[test]
    fn credentials_are_found_in_variables_and_in_settings_among_arguments() {
        for (value, secret) in [
            ("Authorization: Bearer one", "one"),
            ("X-Api-Key: one", "one"),
            (r#"{"apiKey":"one","region":"two"}"#, "one"),
            (r#"[{"a":[{"client_secret":"one"}]},{"b":1}]"#, "one"),
            ("run --token one", "one"),
        ] {
            assert!(secrets_in_variable(value).contains(&secret.to_owned()), "{value}");
        }
        for value in ["two words: here", "Accept: text/html", "{\"region\":\"two\"}", "C:\\Windows"] {
            assert_eq!(secrets_in_variable(value), Vec::<String>::new(), "{value}");
        }
        let args = [
            "-c",
            "model_providers.x.http_headers={ \"X-Any\" = \"Bearer one\" }",
            "--token=two",
            "-c",
            "model=\"three\"",
        ];
        let found = secrets_in_arguments(&args.map(str::to_owned));
        assert!(["one", "two"].iter().all(|secret| found.contains(&(*secret).to_owned())), "{found:?}");
        assert!(!found.iter().any(|found| found.contains("three")), "{found:?}");
    }

    #[test]
    fn credentials_are_found_in_files_of_any_form() {
        let text = "export API_KEY='one'\nregion: two\npassword three\nauth_token: Bearer four\n";
        let found = secrets_in_file(".env", text);
        assert!(["one", "three", "four"].iter().all(|secret| found.contains(&(*secret).to_owned())), "{found:?}");
        assert!(!found.iter().any(|found| found == "two"), "{found:?}");
        assert_eq!(secrets_in_file("keys/api_key", "five\n"), ["five"]);
        assert_eq!(secrets_in_file("a.json", "// six\n[{ \"apiKey\": \"six\" }]"), ["six"]);
        assert_eq!(secrets_in_file("a.json", "{ \"apiKey\": \"seven\""), ["seven"]);
        assert_eq!(secrets_in_file("a.toml", "[a]\napi_key = \"eight\"\n"), ["eight"]);
    }
}
