//! Tells by their names which variables contain secrets.

use crate::files::look;
use std::path::Path;

/// Words in a variable's name that make its value a secret, also at the end of another word.
const ANYWHERE: [&str; 9] =
    ["PASSPHRASE", "PASSWORD", "PASSWD", "SECRET", "SECRETS", "TOKEN", "CREDENTIAL", "CREDENTIALS", "APIKEY"];

/// Words that do so only as whole words.
const ALONE: [&str; 6] = ["KEY", "PAT", "PASS", "CREDS", "PASSCODE", "AUTH"];

/// Last words of names whose values are not secrets themselves.
const ABOUT: [&str; 20] = [
    "PATH",
    "FILE",
    "DIR",
    "FOLDER",
    "SOCK",
    "SOCKET",
    "URL",
    "URI",
    "ENDPOINT",
    "NAME",
    "TYPE",
    "LIMIT",
    "COUNT",
    "BUDGET",
    "EXPIRY",
    "EXPIRES",
    "TTL",
    "HELPER",
    "ALGORITHM",
    "LAYOUT",
];

/// Headers of HTTP that hold no credential. Their values are ordinary words, which have to stay in what a model says.
const PLAIN_HEADERS: [&str; 3] = ["accept", "content-type", "user-agent"];

/// Whether a header may hold a credential.
pub fn is_secret_header(name: &str) -> bool {
    !PLAIN_HEADERS.contains(&name.trim().to_ascii_lowercase().as_str())
}

/// Whether a variable of this name and value looks like a secret: `GH_PAT`, `DB_PASS`, `API_TOKEN_2`, `OPENAI_API_KEY`,
/// `MY_PASSPHRASE_OLD`, `secretAccessKey`.
pub fn looks_secret(name: &str, value: &str) -> bool {
    let name = words_apart(name).to_ascii_uppercase();
    // `TOKEN2` is a token, and so is `TOKEN_2`.
    let words = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let Some(last) = words.last() else { return false };
    if ABOUT.contains(last) {
        return false;
    }
    let has_secret = words.iter().any(|word| is_secret(word)) || (words.len() > 1 && words.contains(&"PWD"));
    let has_secret = has_secret || *last == "AUTHORIZATION";
    // The path of a key is not a secret, but a key may begin like a path.
    has_secret && !(value.starts_with('/') && look::is_usable(Path::new(value)))
}

/// `apiKey` as `api_Key`.
fn words_apart(name: &str) -> String {
    let mut apart = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_ascii_uppercase() && apart.ends_with(|before: char| before.is_ascii_lowercase()) {
            apart.push('_');
        }
        apart.push(c);
    }
    apart
}

fn is_secret(word: &str) -> bool {
    ANYWHERE.iter().any(|secret| word.ends_with(secret) || (secret.len() > 7 && word.contains(secret)))
        || ALONE.contains(&word)
        || (word.ends_with("KEY") && !word.ends_with("MONKEY"))
        || (word.ends_with("PASS") && !["BYPASS", "ASKPASS", "COMPASS"].contains(&word))
}
