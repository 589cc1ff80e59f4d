//! Masks secrets in what is kept: the values of known secret variables, and the shapes of well-known keys.

use std::borrow::Cow;

use regex::bytes::{Regex, RegexBuilder};

/// What stands in place of a secret.
pub const MASK: &str = "[masked]";

/// Shorter values are words, not secrets: masking them would tear the evidence apart.
const SHORTEST_SECRET: usize = 8;

/// Longest match of a key's shape, and so how much a [`Masker`] holds back at a cut.
const LONGEST: usize = 512;

/// Shapes of keys: `OpenAI` and Anthropic, GitHub, Slack, AWS, Google, JSON web tokens, private key blocks.
const SHAPES: [&str; 7] = [
    r"sk-[A-Za-z0-9_-]{20,500}",
    r"gh[pousr]_[A-Za-z0-9]{30,255}",
    r"github_pat_[A-Za-z0-9_]{30,255}",
    r"xox[abeoprs]-[A-Za-z0-9-]{20,255}",
    r"\bAKIA[0-9A-Z]{16}\b",
    r"\bAIza[0-9A-Za-z_-]{35}\b",
    r"\beyJ[A-Za-z0-9_-]{10,400}\.eyJ[A-Za-z0-9_-]{10,400}\.[A-Za-z0-9_-]{10,400}",
];

/// Words at whose end a variable's name says that its value is a secret.
const SECRET_WORDS: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIALS"];

/// Whether a variable of this name and value holds a secret, by the look of it.
#[must_use]
pub fn looks_secret(name: &str, value: &str) -> bool {
    let last = name.rsplit('_').next().unwrap_or_default().to_ascii_uppercase();
    // A path to a key is none.
    SECRET_WORDS.iter().any(|word| last.ends_with(word)) && !value.starts_with('/')
}

/// Knows what to mask.
#[derive(Clone, Debug)]
pub struct Redactor {
    pattern: Option<Regex>,
}

impl Redactor {
    /// Masks these values, in the plain and as they stand in JSON, and the shapes of well-known keys.
    #[must_use]
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut parts: Vec<String> = Vec::new();
        for value in values.into_iter().map(str::trim).filter(|value| value.len() >= SHORTEST_SECRET) {
            let json = serde_json::Value::from(value).to_string();
            let json = json.trim_matches('"');
            parts.push(regex::escape(value));
            if json != value {
                parts.push(regex::escape(json));
            }
        }
        // Longer values first: of two that start alike the whole one goes.
        parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
        parts.extend(SHAPES.map(str::to_owned));
        let pattern = RegexBuilder::new(&parts.join("|")).unicode(false).size_limit(64 << 20).build().ok();
        Self { pattern }
    }

    /// `bytes` with every secret masked.
    #[must_use]
    pub fn mask<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match &self.pattern {
            Some(pattern) => pattern.replace_all(bytes, MASK.as_bytes()),
            None => Cow::Borrowed(bytes),
        }
    }

    /// `text` with every secret masked.
    #[must_use]
    pub fn mask_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.mask(text.as_bytes())).into_owned()
    }

    /// Masks a stream that comes in pieces.
    #[must_use]
    pub fn stream(&self) -> Masker<'_> {
        Masker { redactor: self, held: Vec::new() }
    }
}

/// Masks a stream piece by piece, holding back what may be the start of a secret.
#[derive(Debug)]
pub struct Masker<'a> {
    redactor: &'a Redactor,
    held: Vec<u8>,
}

impl Masker<'_> {
    /// Takes a piece; returns what can be written now.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        // No secret spans a line break; a line of any length is let go but for its end.
        let ready = match self.held.iter().rposition(|&b| b == b'\n') {
            Some(at) => at + 1,
            None if self.held.len() > 16 * LONGEST => self.held.len() - LONGEST,
            None => return Vec::new(),
        };
        let mut ready: Vec<u8> = self.held.drain(..ready).collect();
        if let Cow::Owned(masked) = self.redactor.mask(&ready) {
            ready = masked;
        }
        ready
    }

    /// What is still held, at the stream's end.
    pub fn finish(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.held);
        self.redactor.mask(&rest).into_owned()
    }
}
