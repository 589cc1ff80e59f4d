//! Well-known kinds of keys.

use std::collections::BTreeSet;
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::Value;

use super::cursor::{ByteCursor, MAX_BACKSLASHES, NeedsMoreBytes};
use crate::text::redact::cursor::{QUOTES_IN_QUOTES, base64_digit, escapes, hex, other_digit, text};

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

// Passwords in addresses: `postgres://user:password@host/db`.

/// What comes before the user, also as JSON may have it, and as JSON in JSON does.
pub(super) const BEGINNINGS: [&str; 3] = ["://", ":\\/", ":\\\\/"];

/// The most bytes of a user, a password and a host.
const LONGEST: usize = 2_000;

/// Passwords of examples.
const EXAMPLES: [&[u8]; 6] = [b"password", b"passwd", b"pass", b"pwd", b"secret", b"token"];

/// Where the password is in the address whose `://` is at the cursor.
pub(super) fn password(mut cursor: ByteCursor<'_>) -> Result<Option<Range<usize>>, NeedsMoreBytes> {
    cursor.skip(1);
    for _ in 0..2 {
        cursor.backslashes()?;
        if cursor.peek()? != Some(b'/') {
            return Ok(None);
        }
        cursor.skip(1);
    }
    let start = cursor.at;
    let (mut colon, mut end) = (None, None);
    while cursor.at < start + LONGEST {
        match cursor.peek()? {
            Some(b':') if colon.is_none() => colon = Some(cursor.at),
            // Of two, the first is part of a password that should have been escaped.
            Some(b'@') => end = Some(cursor.at),
            Some(b'\\') if cursor.backslashes()? > 0 && cursor.peek()? == Some(b'u') => {}
            Some(
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b';' | b'('..=b'.' | b'$'..=b'&' | b'!' | b'=' | b'_' | b'~' | 128..,
            ) => {}
            _ => break,
        }
        cursor.skip(1);
    }
    let Some((colon, end)) = colon.zip(end).filter(|(colon, end)| colon < end) else { return Ok(None) };
    let (user, password, host) = (&cursor.bytes[start..colon], colon + 1..end, &cursor.bytes[end + 1..]);
    // `docker://image:tag@sha256:…` names an image.
    let is_host = host.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"[$_%{".contains(byte));
    let is_host = is_host && !host.starts_with(b"sha256:");
    Ok((is_host && !is_example(user, &cursor.bytes[password.clone()])).then_some(password))
}

/// Whether it stands for a password: `$PASSWORD`, `%s`, `***`.
fn is_example(user: &[u8], password: &[u8]) -> bool {
    let is_name = EXAMPLES.iter().any(|word| password.eq_ignore_ascii_case(word));
    let is_blank = password.len() > 2 && password.iter().all(|byte| *byte == password[0]);
    is_name || is_blank || password == user || matches!(password, [] | [b'$', ..] | [b'%', b's' | b'(', ..])
}

// The forms of a known secret value in a text: plain, escaped (for JSON, also for JSON in JSON, for a URL, HTML or a shell), in
// UTF-16, in hexadecimal digits, in base64, and in base64 of base64.

/// Shorter values may be ordinary words. Masking them would damage the evidence.
const SHORTEST: usize = 8;

/// Fewer bytes are not searched for.
const SHORTEST_DECODED: usize = 2;

/// Shorter strings in credentials are names and the like.
const LOGIN_SHORTEST: usize = 16;

/// The most characters of one piece. A longer value is masked in pieces.
const PIECE: usize = 128;

/// The most characters of a JSON escape.
const ESCAPE: usize = 6;

/// The number of plain bytes that a form is searched by.
const PLAIN: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SecretForm {
    /// These characters, each plain or escaped.
    Text(Vec<char>),
    /// These base64 digits. If `open`, the last byte continues in one more digit.
    Base64 { digits: Vec<u8>, open: bool },
    /// These bytes in hexadecimal digits, possibly with one of [`BETWEEN_BYTES`] between two of them, and `0x` before each.
    Hex(Vec<u8>),
    /// These bytes.
    Bytes(Vec<u8>),
}

/// What may be between the hexadecimal digits of two bytes.
const BETWEEN_BYTES: [&[u8]; 4] = [b" ", b":", b"-", b","];

/// Skips what is between the digits of two bytes: nothing, one of [`BETWEEN_BYTES`], or `, 0x` as in the text of a program.
fn between_bytes(cursor: &mut ByteCursor<'_>) -> Result<(), NeedsMoreBytes> {
    let before = *cursor;
    let is_between = cursor.peek()?.is_some_and(|byte| BETWEEN_BYTES.contains(&&[byte][..]));
    cursor.skip(usize::from(is_between));
    let after = *cursor;
    let has_space = is_between && cursor.peek()? == Some(b' ');
    cursor.skip(usize::from(has_space));
    let has_prefix = cursor.literal(b"0x")?;
    if !has_prefix {
        *cursor = if is_between { after } else { before };
    }
    Ok(())
}

/// Where a form ends at a place.
pub(super) enum FormEnd {
    At(usize),
    /// It is not there, nor is any other form that begins with its parts up to this one.
    Differs(usize),
}

/// The keys and tokens in credentials: all longer strings.
pub fn strings(login: &Value) -> Vec<String> {
    match login {
        Value::String(text) => Vec::from_iter(Some(text.clone()).filter(|text| text.len() >= LOGIN_SHORTEST)),
        Value::Array(list) => list.iter().flat_map(strings).collect(),
        Value::Object(map) => map.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// The forms of a value. Each line has its own forms, since texts break lines differently, and so has each piece of a line.
pub(super) fn forms(value: &str) -> Vec<SecretForm> {
    let mut forms = Vec::new();
    // Quotes and backslashes around it are not secret. They may belong to a JSON string.
    let lines = value.lines().map(|line| line.trim_matches(|c: char| c == '"' || c == '\\' || c.is_whitespace()));
    for line in lines.filter(|line| line.len() >= SHORTEST) {
        let decoded: Vec<char> = without_escaped_escapes(line).chars().collect();
        forms.extend(pieces(&decoded).into_iter().map(|piece| SecretForm::Text(piece.to_vec())));
        let chars: Vec<char> = line.chars().collect();
        for piece in pieces(&chars) {
            let text: String = piece.iter().collect();
            encoded(&text, &mut forms);
            // In JSON that is encoded as a whole.
            let escaped = Value::from(text.as_str()).to_string();
            if escaped.len() > text.len() + 2 {
                encoded(&escaped[1..escaped.len() - 1], &mut forms);
            }
        }
    }
    forms
}

/// Adds the forms of a text in which no character of it is left.
fn encoded(text: &str, forms: &mut Vec<SecretForm>) {
    let mut base64 = |bytes: &[u8]| {
        let forms_of = |skipped| base64_digits(bytes, skipped);
        let all: [_; 3] = std::array::from_fn(forms_of);
        forms.extend(all.iter().map(|(digits, open)| SecretForm::Base64 { digits: digits.clone(), open: *open }));
        all.map(|(digits, _)| digits)
    };
    for digits in base64(text.as_bytes()) {
        let for_urls: Vec<u8> = digits.iter().map(|digit| other_digit(*digit)).collect();
        for digits in BTreeSet::from([digits, for_urls]) {
            base64(&digits);
        }
    }
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    // Of ASCII the last byte is zero, and without it both byte orders are alike.
    let is_ascii = text.is_ascii();
    base64(&little[..little.len() - usize::from(is_ascii)]);
    if !is_ascii {
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        base64(&big);
        forms.extend([little, big].map(SecretForm::Bytes));
    }
    forms.push(SecretForm::Hex(text.as_bytes().to_vec()));
}

/// A line with `%` for its own `%25`, and so on. A `%` is also found as `%25`, so the next characters of the line would be looked
/// for too late. Of a line that is little else, what is left may be short.
fn without_escaped_escapes(line: &str) -> String {
    let mut parts = line.split('%');
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    decoded.extend(parts.flat_map(|part| ["%", part.trim_start_matches("25")]));
    while decoded.contains("&amp;") {
        decoded = decoded.replace("&amp;", "&");
    }
    for quote in QUOTES_IN_QUOTES {
        decoded = decoded.replace(quote, "'");
    }
    if decoded.len() < SHORTEST_DECODED { line.to_owned() } else { decoded }
}

/// The pieces of a line. None ends in or just after an escape of the value: a mask covers whole escapes, so it would cover the
/// start of the next piece, which would then not be found.
fn pieces(mut rest: &[char]) -> Vec<&[char]> {
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let even = rest.len().div_ceil(rest.len().div_ceil(PIECE));
        let mut ends = even..rest.len().saturating_sub(SHORTEST);
        let end = ends.find(|end| !rest[end - ESCAPE..*end].contains(&'\\')).unwrap_or(rest.len());
        let (piece, others) = rest.split_at(end);
        pieces.push(piece);
        rest = others;
    }
    pieces
}

/// The digits that depend on `bytes` alone if `skipped` other bytes precede them in their group of three, and whether the
/// last byte continues in one more digit.
fn base64_digits(bytes: &[u8], skipped: usize) -> (Vec<u8>, bool) {
    let mut group = vec![0; skipped];
    group.extend_from_slice(bytes);
    let digits = STANDARD_NO_PAD.encode(&group).into_bytes();
    let (first, end) = ((8 * skipped).div_ceil(6), 8 * group.len() / 6);
    (digits[first..end].to_vec(), !(8 * group.len()).is_multiple_of(6))
}

impl SecretForm {
    /// Whether it begins with the parts of another form up to this one.
    pub fn begins_like(&self, other: &SecretForm, at: usize) -> bool {
        match (self, other) {
            (SecretForm::Text(own), SecretForm::Text(other)) => other.get(..=at).is_some_and(|to| own.starts_with(to)),
            (SecretForm::Base64 { digits: own, .. }, SecretForm::Base64 { digits: other, .. }) => {
                other.get(..=at).is_some_and(|to| own.starts_with(to))
            }
            (SecretForm::Hex(own), SecretForm::Hex(other)) | (SecretForm::Bytes(own), SecretForm::Bytes(other)) => {
                other.get(..=at).is_some_and(|to| own.starts_with(to))
            }
            _ => false,
        }
    }

    /// Whether JSON may contain it without quotes.
    pub fn is_number(&self) -> bool {
        let chars: Vec<char> = match self {
            SecretForm::Text(chars) => chars.clone(),
            SecretForm::Hex(bytes) => bytes.iter().flat_map(|byte| hex(*byte, false)).map(char::from).collect(),
            _ => return false,
        };
        let chars = chars.strip_prefix(&['-']).unwrap_or(&chars);
        let ends_are_digits = [chars.first(), chars.last()].iter().all(|c| c.is_some_and(char::is_ascii_digit));
        ends_are_digits && chars.iter().all(|c| c.is_ascii_digit() || ".eE+-".contains(*c))
    }

    /// Where the form ends, if it begins at the cursor.
    pub fn end(&self, cursor: ByteCursor<'_>) -> Result<FormEnd, NeedsMoreBytes> {
        let whole = self.read(ByteCursor { squeezed: false, ..cursor })?;
        let FormEnd::Differs(at) = whole else { return Ok(whole) };
        let squeezed = ByteCursor { squeezed: true, ..cursor };
        // It begins after an insertion.
        if squeezed.is_at_insertion()? {
            return Ok(whole);
        }
        let broken = self.read(squeezed)?;
        Ok(if let FormEnd::Differs(other) = broken { FormEnd::Differs(at.max(other)) } else { broken })
    }

    fn read(&self, mut cursor: ByteCursor<'_>) -> Result<FormEnd, NeedsMoreBytes> {
        match self {
            SecretForm::Text(chars) => {
                if let Some(at) = text(chars, &mut cursor)? {
                    return Ok(FormEnd::Differs(at));
                }
            }
            SecretForm::Base64 { digits, open } => {
                for (at, digit) in digits.iter().enumerate() {
                    if !base64_digit(*digit, &mut cursor)? {
                        return Ok(FormEnd::Differs(at));
                    }
                }
                // After a line break it may be another text.
                cursor.squeezed = false;
                if *open && cursor.peek()?.is_some_and(|b| b.is_ascii_alphanumeric() || b"+/_-".contains(&b)) {
                    cursor.skip(1);
                }
                let mut padding = 0;
                while padding < 2 && cursor.peek()? == Some(b'=') {
                    cursor.skip(1);
                    padding += 1;
                }
            }
            SecretForm::Hex(bytes) => {
                for (at, byte) in bytes.iter().enumerate() {
                    if at > 0 {
                        between_bytes(&mut cursor)?;
                    }
                    if !cursor.literal(&hex(*byte, false))? {
                        return Ok(FormEnd::Differs(at));
                    }
                }
            }
            SecretForm::Bytes(bytes) => {
                for (at, byte) in bytes.iter().enumerate() {
                    if cursor.peek()? != Some(*byte) {
                        return Ok(FormEnd::Differs(at));
                    }
                    cursor.skip(1);
                }
            }
        }
        Ok(FormEnd::At(cursor.at))
    }

    /// The texts that the form can begin with.
    pub fn beginnings(&self, found: &mut Vec<Vec<u8>>) {
        match self {
            SecretForm::Text(chars) => {
                // In an address a space may be a plus sign, and a line may break at it.
                let has_space = chars.contains(&' ');
                for space in [Some(' '), Some('+'), None].into_iter().take(if has_space { 3 } else { 1 }) {
                    let mut plain = String::new();
                    for &c in chars.iter().filter(|c| **c != ' ' || space.is_some()).take(PLAIN) {
                        // Plain so far, then an escape. A string inside a string has more backslashes. Those before the last
                        // one of the first character are found from there.
                        escapes(c, plain.is_empty(), |escape| found.push([plain.as_bytes(), escape].concat()));
                        found.extend((!plain.is_empty()).then(|| [plain.as_bytes(), b"\\\\"].concat()));
                        plain.push(space.filter(|_| c == ' ').unwrap_or(c));
                    }
                    found.push(plain.into_bytes());
                }
            }
            SecretForm::Base64 { digits, .. } => {
                let mut so_far: Vec<Vec<u8>> = vec![Vec::new()];
                for digit in digits.iter().take(PLAIN) {
                    let plain: &[u8] = match digit {
                        b'+' => b"+-",
                        b'/' => b"/_",
                        digit => std::slice::from_ref(digit),
                    };
                    if plain.len() > 1 {
                        let escapes = |start: &Vec<u8>| {
                            // One byte alone is not found.
                            let backslash: &[u8] = if start.is_empty() { b"\\u" } else { b"\\" };
                            [[&start[..], backslash].concat(), [&start[..], b"%2"].concat()]
                        };
                        found.extend(so_far.iter().flat_map(escapes));
                    }
                    let with = |start: &Vec<u8>, byte: u8| [&start[..], &[byte]].concat();
                    so_far = so_far.iter().flat_map(|start| plain.iter().map(move |&byte| with(start, byte))).collect();
                }
                found.append(&mut so_far);
            }
            SecretForm::Hex(bytes) => {
                for upper in [false, true] {
                    let first = [bytes[0], bytes[1], bytes[2]].map(|byte| hex(byte, upper));
                    let [a, b, c] = first;
                    found.push(first.concat());
                    found.extend(BETWEEN_BYTES.map(|between| first.join(between)));
                    // In groups of two bytes, as of `xxd`.
                    found.push([&a[..], b" ", &b, &c].concat());
                    found.push([&a[..], &b, b" ", &c].concat());
                    found.extend([&b", 0x"[..], b",0x", b" 0x"].map(|between| [&a[..], between, &b].concat()));
                }
            }
            SecretForm::Bytes(bytes) => found.push(bytes[..PLAIN].to_vec()),
        }
    }
}
