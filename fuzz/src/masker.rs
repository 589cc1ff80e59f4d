//! A stream that is masked in pieces comes out as if it were masked as a whole, no known value stays in it, and JSON stays
//! JSON.

use std::sync::LazyLock;

use skill_evals_evidence::text::redact::{MASK, Redactor};

const SECRETS: [&str; 4] =
    ["hunter2-hunter2", "/wJalrXUtnFEMI+K7MDENG/bPxRfiCY=", "p@ss w\"rd'\\ & é🦀x", "correct horse battery"];

static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| Redactor::new(SECRETS));

/// Tries one input.
pub fn run(bytes: &[u8]) {
    // The first bytes say where to cut, and where a secret stands.
    let Some((cuts, rest)) = bytes.split_at_checked(4) else { return };
    let at = rest.len() * usize::from(cuts[0]) / 256;
    let secret = SECRETS[usize::from(cuts[1]) % SECRETS.len()];
    let text = [&rest[..at], secret.as_bytes(), &rest[at..]].concat();
    let whole = REDACTOR.mask(&text);
    let mut stream = REDACTOR.stream();
    let mut pieces = Vec::new();
    let mut from = 0;
    while from < text.len() {
        let step = 1 + usize::from(cuts[2 + from % 2]);
        let to = (from + step).min(text.len());
        pieces.extend(stream.push(&text[from..to]));
        from = to;
    }
    pieces.extend(stream.finish());
    assert_eq!(String::from_utf8_lossy(&whole), String::from_utf8_lossy(&pieces));
    let shown = String::from_utf8_lossy(&whole);
    // Parts on both sides of a mask may be one by chance only where the input has them.
    assert!(!shown.contains(secret) && shown.contains(MASK), "{shown:?}");
    // A string of JSON, and one in another.
    let mut line = String::from_utf8_lossy(&text).into_owned();
    for _ in 0..2 {
        line = serde_json::Value::from(line).to_string();
        let masked = REDACTOR.mask_text(&line);
        let string = serde_json::from_str::<String>(&masked);
        assert!(string.is_ok_and(|string| !string.contains(secret)), "{line} became {masked}");
    }
}
