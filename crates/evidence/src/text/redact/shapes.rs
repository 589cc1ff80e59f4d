//! Well-known kinds of keys.

use super::cursor::{ByteCursor, MAX_BACKSLASHES, NeedsMoreBytes};

/// How a key continues after its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyTail {
    /// Letters, digits, `_` and `-`.
    Word,
    /// The same and `.`: the parts of a JSON web token.
    Dotted,
    /// Up to the end marker of a private key, or a byte that no private key contains.
    Pem,
}

/// A key of one word: its start, the bytes that may follow, and their least number.
struct KeyShape {
    start: &'static str,
    of: fn(u8) -> bool,
    least: usize,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_capital(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

/// Keys of `OpenAI`, Anthropic and others. The byte before decides, since `task-…` is an ordinary word.
const SK: &str = "sk-";

/// Keys that begin like no ordinary word.
const WORDS: [KeyShape; 28] = {
    const fn word(start: &'static str, of: fn(u8) -> bool, least: usize) -> KeyShape {
        KeyShape { start, of, least }
    }
    [
        // `OpenAI`, Anthropic.
        word("sk-ant-", is_word, 16),
        word("sk-proj-", is_word, 16),
        word("sk-svcacct-", is_word, 16),
        word("sk-admin-", is_word, 16),
        word("sk-or-", is_word, 16),
        // GitHub, GitLab, Slack.
        word("ghp_", is_letter, 30),
        word("gho_", is_letter, 30),
        word("ghu_", is_letter, 30),
        word("ghs_", is_letter, 30),
        word("ghr_", is_letter, 30),
        word("github_pat_", is_word, 30),
        word("glpat-", is_word, 20),
        word("xoxa-", is_word, 20),
        word("xoxb-", is_word, 20),
        word("xoxe-", is_word, 20),
        word("xoxo-", is_word, 20),
        word("xoxp-", is_word, 20),
        word("xoxr-", is_word, 20),
        word("xoxs-", is_word, 20),
        word("xapp-", is_word, 20),
        // AWS, Google, Stripe, npm, Hugging Face.
        word("AKIA", is_capital, 16),
        word("ASIA", is_capital, 16),
        word("AIza", is_word, 35),
        word("sk_live_", is_letter, 16),
        word("sk_test_", is_letter, 16),
        word("rk_live_", is_letter, 16),
        word("npm_", is_letter, 30),
        word("hf_", is_letter, 30),
    ]
};

/// A JSON web token: two objects in base64.
const TOKEN: &str = "eyJ";

/// The most bytes of a token's first part.
const LONGEST_HEADER: usize = 1_000;

/// The start of a private key block.
const PEM: &str = "-----BEGIN ";

/// The most bytes of a block marker after its first word.
const LONGEST_MARKER: usize = 60;

pub(super) fn beginnings() -> impl Iterator<Item = &'static str> {
    WORDS.iter().map(|word| word.start).chain([SK, TOKEN, PEM])
}

/// How many bytes before a key are checked.
pub(super) const LOOK_BEHIND: usize = 6;

/// The end of the beginning of the key at the cursor, and how the key continues. `None` if no key begins there.
pub(super) fn begins(cursor: ByteCursor<'_>) -> Result<Option<(usize, KeyTail)>, NeedsMoreBytes> {
    for KeyShape { start, of, least } in &WORDS {
        if let Some(end) = word(cursor, start, *of, *least)? {
            return Ok(Some((end, KeyTail::Word)));
        }
    }
    if stands_alone(&cursor.bytes[..cursor.at])
        && let Some(end) = word(cursor, SK, is_word, 20)?
    {
        return Ok(Some((end, KeyTail::Word)));
    }
    if let Some(end) = token(cursor)? {
        return Ok(Some((end, KeyTail::Dotted)));
    }
    Ok(pem(cursor)?.map(|end| (end, KeyTail::Pem)))
}

/// Skips `expected` if it is at the cursor.
fn exactly(cursor: &mut ByteCursor<'_>, expected: &str) -> Result<bool, NeedsMoreBytes> {
    for byte in expected.bytes() {
        if cursor.peek()? != Some(byte) {
            return Ok(false);
        }
        cursor.skip(1);
    }
    Ok(true)
}

fn word(
    mut cursor: ByteCursor<'_>,
    start: &str,
    of: fn(u8) -> bool,
    least: usize,
) -> Result<Option<usize>, NeedsMoreBytes> {
    if !exactly(&mut cursor, start)? {
        return Ok(None);
    }
    for _ in 0..least {
        if !cursor.peek()?.is_some_and(of) {
            return Ok(None);
        }
        cursor.skip(1);
    }
    Ok(Some(cursor.at))
}

/// Whether a word can begin after these bytes: they end without a letter, or with an escape.
fn stands_alone(before: &[u8]) -> bool {
    let hex = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_hexdigit);
    match before {
        [.., b'\\', b'u', a, b, c, d] if hex(&[*a, *b, *c, *d]) => true,
        [.., b'%', a, b] if hex(&[*a, *b]) => true,
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] | [] => true,
        [.., last] => !is_word(*last),
    }
}

fn token(mut cursor: ByteCursor<'_>) -> Result<Option<usize>, NeedsMoreBytes> {
    if !exactly(&mut cursor, TOKEN)? {
        return Ok(None);
    }
    for _ in 0..LONGEST_HEADER {
        match cursor.peek()? {
            Some(b'.') => {
                cursor.skip(1);
                return word(cursor, TOKEN, is_word, 4);
            }
            Some(byte) if is_word(byte) => cursor.skip(1),
            _ => break,
        }
    }
    Ok(None)
}

fn pem(mut cursor: ByteCursor<'_>) -> Result<Option<usize>, NeedsMoreBytes> {
    if !exactly(&mut cursor, PEM)? {
        return Ok(None);
    }
    let start = cursor.at;
    for _ in 0..LONGEST_MARKER {
        match cursor.peek()? {
            Some(b'-') => {
                let marker = &cursor.bytes[start..cursor.at];
                let private = marker.ends_with(b"PRIVATE KEY") || marker.ends_with(b"PRIVATE KEY BLOCK");
                return Ok((private && exactly(&mut cursor, "-----")?).then_some(cursor.at));
            }
            Some(byte) if is_capital(byte) || byte == b' ' => cursor.skip(1),
            _ => break,
        }
    }
    Ok(None)
}

/// Reads the rest of a key byte by byte.
#[derive(Clone, Debug)]
pub(super) struct KeyReader {
    tail: KeyTail,
    /// The last bytes read.
    recent: Vec<u8>,
    /// Bytes read since the end marker of a private key began.
    ending: Option<usize>,
}

impl KeyReader {
    pub fn new(tail: KeyTail) -> Self {
        Self { tail, recent: Vec::new(), ending: None }
    }

    /// How many of `bytes` belong to the key, and whether it ends with them. Backslashes belong to a private key only if
    /// another byte of it follows. Otherwise they escape what follows.
    pub fn read(&mut self, bytes: &[u8], last: bool) -> (usize, bool) {
        let mut backslashes = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            match self.tail {
                KeyTail::Word if is_word(byte) => {}
                KeyTail::Dotted if is_word(byte) || byte == b'.' => {}
                KeyTail::Pem if byte == b'\\' && backslashes < MAX_BACKSLASHES => backslashes += 1,
                KeyTail::Pem if is_word(byte) || b"+/= \r\n\t:,.".contains(&byte) => {
                    for escaping in std::iter::repeat_n(b'\\', std::mem::take(&mut backslashes)) {
                        self.pem(escaping);
                    }
                    if self.pem(byte) {
                        return (at + 1, true);
                    }
                }
                _ => return (at - backslashes, true),
            }
        }
        (bytes.len() - backslashes, last)
    }

    /// Takes a byte of a private key. Returns whether its end marker is complete.
    fn pem(&mut self, byte: u8) -> bool {
        if self.recent.len() == 8 {
            self.recent.remove(0);
        }
        self.recent.push(byte);
        match &mut self.ending {
            None if self.recent == *b"-----END" => self.ending = Some(0),
            None => {}
            Some(read) => {
                *read += 1;
                return self.recent.ends_with(b"-----") || *read > LONGEST_MARKER;
            }
        }
        false
    }
}
