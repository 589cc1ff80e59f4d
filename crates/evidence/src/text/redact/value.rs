//! The forms of a known secret value in a text: plain, escaped (for JSON, also for JSON in JSON, for a URL, HTML or a shell), in
//! UTF-16, in hexadecimal digits, in base64, and in base64 of base64.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::Value;

use super::characters::{QUOTES_IN_QUOTES, base64_digit, escapes, hex, other_digit, text};
use super::cursor::{ByteCursor, NeedsMoreBytes};

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
