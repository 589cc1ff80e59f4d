//! Which variables hold secrets, by their names.

use std::path::Path;

/// Words that make a variable's value a secret wherever they stand in its name, alone or at a word's end.
const ANYWHERE: [&str; 9] =
    ["PASSPHRASE", "PASSWORD", "PASSWD", "SECRET", "SECRETS", "TOKEN", "CREDENTIAL", "CREDENTIALS", "APIKEY"];

/// Words that do so only as a word of their own.
const ALONE: [&str; 6] = ["KEY", "PAT", "PASS", "CREDS", "PASSCODE", "AUTH"];

/// Last words of names whose values only lead to a secret, or are about one.
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

/// Whether a variable of this name and value holds a secret, by the look of it: `GH_PAT`, `DB_PASS`, `API_TOKEN_2`,
/// `OPENAI_API_KEY`, `MY_PASSPHRASE_OLD`.
#[must_use]
pub fn looks_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    // `TOKEN2` is a token, and so is `TOKEN_2`.
    let bare = |word: &&str| word.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let words: Vec<String> = words.iter().map(bare).filter(|word| !word.is_empty()).collect();
    let Some(last) = words.last() else { return false };
    if ABOUT.contains(&last.as_str()) {
        return false;
    }
    let secret = |word: &String| {
        ANYWHERE.iter().any(|secret| word.ends_with(secret) || (secret.len() > 7 && word.contains(secret)))
            || ALONE.contains(&word.as_str())
            || (word.ends_with("KEY") && !word.ends_with("MONKEY") && word.len() < 12)
            || (word.ends_with("PASS") && !["BYPASS", "ASKPASS", "COMPASS"].contains(&word.as_str()))
            || (word == "PWD" && words.len() > 1)
    };
    // A path to a key is none, but a key may begin like a path.
    words.iter().any(secret) && !(value.starts_with('/') && Path::new(value).exists())
}
