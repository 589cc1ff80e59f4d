//! Credentials in what a trial gets of a user's configuration, by the keys that they are under, and by the variables that it
//! names.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use serde_json::Value;

use crate::text::redact::looks_secret;

/// Keys of objects whose values may all be credentials.
const HEADERS: [&str; 4] = ["headers", "http_headers", "customHeaders", "extraHeaders"];

/// Keys with the names of variables.
const VARIABLES: [&str; 3] = ["envKey", "env_key", "bearer_token_env_var"];

/// Passes every credential in a value to `take`.
fn each_secret(value: &mut Value, take: &mut dyn FnMut(&mut String)) {
    each_below("", false, value, take);
}

fn each_below(key: &str, is_header: bool, value: &mut Value, take: &mut dyn FnMut(&mut String)) {
    match value {
        Value::Object(map) => map.iter_mut().for_each(|(key, value)| {
            each_below(key, is_header || HEADERS.contains(&key.as_str()), value, take);
        }),
        Value::Array(list) => list.iter_mut().for_each(|value| each_below(key, is_header, value, take)),
        Value::String(text)
            if !text.is_empty() && !VARIABLES.contains(&key) && (is_header || looks_secret(key, text)) =>
        {
            take(text);
        }
        _ => {}
    }
}

/// The credentials in a value: of `Bearer KEY` also the key.
pub(super) fn secrets_in(value: &Value) -> Vec<String> {
    let mut secrets = Vec::new();
    each_secret(&mut value.clone(), &mut |secret| {
        secrets.extend(secret.split_once(' ').map(|(_, key)| key.to_owned()));
        secrets.push(std::mem::take(secret));
    });
    secrets
}

/// A value without its credentials.
pub(super) fn without_secrets(mut value: Value) -> Value {
    each_secret(&mut value, &mut String::clear);
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
    fn credentials_are_found_by_their_keys_and_all_headers_are_some() {
        let value = json!({ "options": { "apiKey": "a", "secretAccessKey": "b", "baseURL": "c", "region": "d", "envKey": "e" },
            "models": [{ "headers": { "X-Any": "Bearer f" } }], "private_key": "g", "max_tokens": "h" });
        assert_eq!(secrets_in(&value).concat(), "fBearer fabg");
    }
}
