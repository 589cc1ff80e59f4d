//! Secrets in command lines and addresses, which configurations have: `--api-key KEY`, `TOKEN=…`, `-H 'X-Key: …'`,
//! `https://host/?key=…`, `postgres://user:password@host`.

use percent_encoding::percent_decode_str;

use super::address::{self, password};
use super::cursor::ByteCursor;
use super::names::{is_secret_header, looks_secret};

/// Options for a header.
const HEADER: [&str; 2] = ["-H", "--header"];

/// The secrets in a command line or an address. Of a value with escapes of addresses also what they stand for.
pub fn secrets_within(text: &str) -> Vec<String> {
    let is_between = |c: char| c.is_whitespace() || "\"'`".contains(c);
    let words: Vec<&str> = text.split(is_between).filter(|word| !word.is_empty()).collect();
    let mut found: Vec<&str> = passwords(text);
    for (at, word) in words.iter().enumerate() {
        let parts = word.split(['?', '&', ';', ',']).chain([*word]);
        found.extend(parts.flat_map(assignments).filter_map(value_of));
        let rest = &words[at + 1..];
        if let Some(first) = HEADER.iter().find_map(|option| word.strip_prefix(option)) {
            let first = first.trim_start_matches('=');
            let own = Some((&first, rest)).filter(|_| !first.is_empty());
            found.extend(own.or_else(|| rest.split_first()).and_then(header));
        } else if let Some(value) = rest.first()
            && (is_option_with(word, value) || word.ends_with('='))
        {
            found.extend(value_of((word.trim_end_matches('='), value)));
        }
    }
    let decoded = |value: &&str| percent_decode_str(value).decode_utf8().ok().map(String::from);
    let decoded: Vec<String> = found.iter().filter(|value| value.contains('%')).filter_map(decoded).collect();
    found.into_iter().map(str::to_owned).chain(decoded).collect()
}

/// The secrets in these command lines.
pub fn secrets_within_all(commands: &[String]) -> Vec<String> {
    commands.iter().flat_map(|command| secrets_within(command)).collect()
}

/// The credential in a header alone: `Authorization: Bearer KEY`.
pub fn secret_of_header(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, _) = words.first()?.split_once(':')?;
    if !looks_secret(name, "") {
        return None;
    }
    words.split_first().and_then(header).map(str::to_owned)
}

/// Each name before a `=` with all that follows: `--env=TOKEN=x` has two.
fn assignments(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices('=').map(|(at, _)| {
        let before = &text[..at];
        (before.rsplit('=').next().unwrap_or(before), &text[at + 1..])
    })
}

/// Whether a word is an option and the next word may be its value.
pub fn is_option_with(word: &str, value: &str) -> bool {
    word.starts_with('-') && !word.contains('=') && !value.starts_with("--")
}

/// Whether a word before a credential names its kind.
pub fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token"].contains(&word.to_ascii_lowercase().as_str())
}

/// The value, if it has the name of a secret.
fn value_of<'a>((name, value): (&str, &'a str)) -> Option<&'a str> {
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    (is_name && !value.is_empty() && looks_secret(name, value)).then_some(value)
}

/// The credential in a header that begins with `word`.
fn header<'a>((word, rest): (&&'a str, &[&'a str])) -> Option<&'a str> {
    let (name, value) = word.split_once(':')?;
    let mut values = [value].into_iter().chain(rest.iter().copied()).filter(|value| !value.is_empty());
    values.find(|value| !is_scheme(value)).filter(|_| is_secret_header(name))
}

/// The passwords of the addresses in a text.
fn passwords(text: &str) -> Vec<&str> {
    let cursor = |at| ByteCursor { bytes: text.as_bytes(), at, last: true, squeezed: false };
    let starts = address::BEGINNINGS.iter().flat_map(|start| text.match_indices(start));
    starts.filter_map(|(at, _)| password(cursor(at)).ok()?).map(|range| &text[range]).collect()
}
