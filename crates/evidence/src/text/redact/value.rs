//! The forms of a known secret value in a text: plain, escaped for JSON (also for JSON in JSON), escaped for a URL, and as
//! part of something in base64.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::Value;

use super::cursor::{ByteCursor, NeedsMoreBytes};

/// Shorter values may be ordinary words. Masking them would damage the evidence.
const SHORTEST: usize = 8;

/// Shorter strings in credentials are names and the like.
const LOGIN_SHORTEST: usize = 16;

/// The most characters of one piece. A longer value is masked in pieces.
const PIECE: usize = 128;

/// The most characters of a JSON escape.
const ESCAPE: usize = 6;

/// The number of plain bytes that a form is searched by.
const PLAIN: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SecretForm {
    /// These characters, each plain or escaped.
    Text(Vec<char>),
    /// These base64 digits, possibly with line breaks between them. If `open`, the last byte continues in one more digit.
    Base64 { digits: Vec<u8>, open: bool },
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
        let decoded: Vec<char> = without_escaped_percent(line).chars().collect();
        forms.extend(pieces(&decoded).into_iter().map(|piece| SecretForm::Text(piece.to_vec())));
        let chars: Vec<char> = line.chars().collect();
        for piece in pieces(&chars) {
            let text: String = piece.iter().collect();
            for (digits, open) in (0..3).map(|skipped| base64_digits(text.as_bytes(), skipped)) {
                // A line break among the first digits hides this beginning, but not a later one.
                forms.push(SecretForm::Base64 { digits: digits[PLAIN - 1..].to_vec(), open });
                forms.push(SecretForm::Base64 { digits, open });
            }
        }
    }
    forms
}

/// A line with `%` for its own `%25`. A `%` is also found as `%25`, so the next characters of the line would be looked for too late.
fn without_escaped_percent(line: &str) -> String {
    let mut parts = line.split('%');
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    decoded.extend(parts.flat_map(|part| ["%", part.trim_start_matches("25")]));
    if decoded.len() < SHORTEST { line.to_owned() } else { decoded }
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
            _ => false,
        }
    }

    /// Whether JSON may contain it without quotes.
    pub fn is_number(&self) -> bool {
        let SecretForm::Text(chars) = self else { return false };
        let chars = chars.strip_prefix(&['-']).unwrap_or(chars);
        let ends_are_digits = [chars.first(), chars.last()].iter().all(|c| c.is_some_and(char::is_ascii_digit));
        ends_are_digits && chars.iter().all(|c| c.is_ascii_digit() || ".eE+-".contains(*c))
    }

    /// Where the form ends, if it begins at the cursor.
    pub fn end(&self, mut cursor: ByteCursor<'_>) -> Result<FormEnd, NeedsMoreBytes> {
        match self {
            SecretForm::Text(chars) => {
                if let Some(at) = text(chars, &mut cursor)? {
                    return Ok(FormEnd::Differs(at));
                }
            }
            SecretForm::Base64 { digits, open } => {
                for (at, digit) in digits.iter().enumerate() {
                    if at > 0 {
                        line_break(&mut cursor)?;
                    }
                    if !base64_digit(*digit, &mut cursor)? {
                        return Ok(FormEnd::Differs(at));
                    }
                }
                if *open && cursor.peek()?.is_some_and(|b| b.is_ascii_alphanumeric() || b"+/_-".contains(&b)) {
                    cursor.skip(1);
                }
                let mut padding = 0;
                while padding < 2 && cursor.peek()? == Some(b'=') {
                    cursor.skip(1);
                    padding += 1;
                }
            }
        }
        Ok(FormEnd::At(cursor.at))
    }

    /// The texts that the form can begin with.
    pub fn beginnings(&self, found: &mut Vec<Vec<u8>>) {
        match self {
            SecretForm::Text(chars) => {
                let mut plain = String::new();
                for &c in chars.iter().take(PLAIN) {
                    // Plain so far, then an escape. A string inside a string has more backslashes. Those before the last
                    // one of the first character are found from there.
                    escapes(c, |escape| found.push([plain.as_bytes(), escape].concat()));
                    found.extend((!plain.is_empty()).then(|| [plain.as_bytes(), b"\\\\"].concat()));
                    plain.push(c);
                }
                found.push(plain.into_bytes());
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
        }
    }
}

/// Calls `take` with the start of each escape of a character.
fn escapes(c: char, mut take: impl FnMut(&[u8])) {
    let unit = c.encode_utf16(&mut [0; 2])[0];
    either_case("\\u", &format!("{unit:04x}"), &mut take);
    if let Some(letter) = short_escape(c) {
        take(&[b'\\', letter]);
    }
    if c == ' ' {
        take(b"+");
    }
    let first = format!("{:02x}", c.to_string().as_bytes()[0]);
    either_case("%", &first, &mut take);
    either_case("%25", &first, &mut take);
}

/// Calls `take` with `start` and the hexadecimal `digits`, for each combination of upper and lower case.
fn either_case(start: &str, digits: &str, take: &mut impl FnMut(&[u8])) {
    let mut found = vec![start.to_owned()];
    for digit in digits.chars() {
        let cases = BTreeSet::from([digit, digit.to_ascii_uppercase()]);
        found = found.iter().flat_map(|text| cases.iter().map(move |digit| format!("{text}{digit}"))).collect();
    }
    for text in found {
        take(text.as_bytes());
    }
}

/// The byte after a backslash that escapes this character, if one byte does.
fn short_escape(c: char) -> Option<u8> {
    match c {
        '\t' => Some(b't'),
        '\r' => Some(b'r'),
        '\x08' => Some(b'b'),
        '\x0c' => Some(b'f'),
        _ => u8::try_from(c).ok().filter(u8::is_ascii_punctuation),
    }
}

/// Skips these characters, each plain or escaped, if they are at the cursor. Returns the first that is not. Of backslashes
/// the last of all characters, because the number of those in the value decides.
fn text(chars: &[char], cursor: &mut ByteCursor<'_>) -> Result<Option<usize>, NeedsMoreBytes> {
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let is_backslash = c == '\\' && cursor.peek()? == Some(b'\\');
        let fit = if is_backslash {
            backslashes(chars[at..].iter().take_while(|c| **c == '\\').count(), cursor)?
        } else {
            usize::from(character(c, cursor)?)
        };
        if fit == 0 {
            return Ok(Some(if is_backslash { chars.len() } else { at }));
        }
        at += fit;
    }
    Ok(None)
}

/// Skips the backslashes at the cursor, and returns how many of the value's `count` backslashes they are. A string in a
/// string doubles each. Those that are left over belong to the next escape.
fn backslashes(count: usize, cursor: &mut ByteCursor<'_>) -> Result<usize, NeedsMoreBytes> {
    let start = cursor.at;
    let there = cursor.backslashes()?;
    if cursor.unicode(u16::from(b'\\'))? {
        let plain = (there >> there.trailing_zeros()) / 2;
        if plain < count {
            return Ok(plain + 1);
        }
    }
    let Some(doubled) = (there / count).checked_ilog2() else { return Ok(0) };
    cursor.at = start + (count << doubled);
    Ok(count)
}

/// Skips `c`, plain or escaped, if it is at the cursor.
fn character(c: char, cursor: &mut ByteCursor<'_>) -> Result<bool, NeedsMoreBytes> {
    let start = cursor.at;
    if cursor.backslashes()? > 0 {
        let behind = cursor.at;
        for (at, unit) in c.encode_utf16(&mut [0; 2]).iter().enumerate() {
            if (at > 0 && cursor.backslashes()? == 0) || !cursor.unicode(*unit)? {
                cursor.at = behind;
                let short = short_escape(c).is_some() && cursor.peek()? == short_escape(c);
                cursor.skip(usize::from(short));
                return Ok(short);
            }
        }
        return Ok(true);
    }
    let mut bytes = [0; 4];
    let bytes = c.encode_utf8(&mut bytes).as_bytes();
    if cursor.peek()? == Some(b'%') {
        let mut whole = true;
        for byte in bytes {
            whole = whole && cursor.percent(*byte)?;
        }
        if whole {
            return Ok(true);
        }
        cursor.at = start;
    }
    if c == ' ' && cursor.peek()? == Some(b'+') {
        cursor.skip(1);
        return Ok(true);
    }
    for byte in bytes {
        if cursor.peek()? != Some(*byte) {
            return Ok(false);
        }
        cursor.skip(1);
    }
    Ok(true)
}

/// Skips a line break, plain or escaped, if there is one.
fn line_break(cursor: &mut ByteCursor<'_>) -> Result<(), NeedsMoreBytes> {
    let start = cursor.at;
    let mut broken = false;
    for (plain, letter) in [(b'\r', b'r'), (b'\n', b'n')] {
        let before = cursor.at;
        if cursor.peek()? == Some(plain) || (cursor.backslashes()? > 0 && cursor.peek()? == Some(letter)) {
            cursor.skip(1);
            broken = letter == b'n';
        } else {
            cursor.at = before;
        }
    }
    if !broken {
        cursor.at = start;
    }
    Ok(())
}

fn base64_digit(digit: u8, cursor: &mut ByteCursor<'_>) -> Result<bool, NeedsMoreBytes> {
    let (plain, other): (u8, u8) = match digit {
        b'+' => (b'+', b'-'),
        b'/' => (b'/', b'_'),
        digit => (digit, digit),
    };
    if cursor.backslashes()? > 0 {
        if digit == b'/' && cursor.peek()? == Some(b'/') {
            cursor.skip(1);
            return Ok(true);
        }
        return cursor.unicode(u16::from(digit));
    }
    match cursor.peek()? {
        Some(byte) if byte == plain || byte == other => {
            cursor.skip(1);
            Ok(true)
        }
        Some(b'%') => cursor.percent(digit),
        _ => Ok(false),
    }
}
