//! The forms of a known secret value: what it is in the [view](super::view) of a text, in base64, in hexadecimal digits, and in
//! base64 of these.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::Value;

use super::cursor::NeedsMoreBytes;
use super::search::GRAM;
use super::view::{LONGEST_INSERTION, View, is_special};

/// Shorter values may be ordinary words. Masking them would damage the evidence.
pub(super) const SHORTEST: usize = 8;

/// Words of settings that are as long. A model says them, too.
const ORDINARY: [&str; 8] =
    ["production", "development", "undefined", "localhost", "disabled", "required", "optional", "standard"];

/// Shorter strings in credentials are names and the like.
const LOGIN_SHORTEST: usize = 16;

/// The most characters of one piece. A longer value is masked in pieces.
const PIECE: usize = 128;

/// The most characters of an escape.
const ESCAPE: usize = 6;

/// The least bytes of a form, without the escapes of its value.
const LEAST: usize = 5;

/// What may be between the digits of two bytes.
const BETWEEN_BYTES: [u8; 4] = *b" :-,";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FormKind {
    Text,
    /// Digits of base64, of either alphabet. If `open`, the last byte continues in one more digit.
    Base64 {
        open: bool,
    },
    /// Hexadecimal digits, of either case.
    Hex,
}

/// Bytes that a view has where the value is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SecretForm {
    kind: FormKind,
    bytes: Vec<u8>,
    /// Of a text what it was made of, which may look like an escape.
    own: Vec<u8>,
}

/// Where a form ends at a place.
pub(super) enum FormEnd {
    At(usize),
    /// It is not there, nor is any other form that begins with its bytes up to this one.
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
    // Quotes and backslashes around it are not secret. They may belong to a JSON string.
    let lines = value.lines().map(|line| line.trim_matches(|c: char| c == '"' || c == '\\' || c.is_whitespace()));
    let is_secret = |line: &&str| line.len() >= SHORTEST && !ORDINARY.contains(&line.to_ascii_lowercase().as_str());
    let mut forms = Vec::new();
    for line in lines.filter(is_secret) {
        let mut texts: Vec<Vec<u8>> =
            pieces(line).iter().flat_map(|piece| written(piece)).map(String::into_bytes).collect();
        if !line.is_ascii() {
            texts.extend([utf16(line), line.encode_utf16().flat_map(u16::to_le_bytes).collect()]);
        }
        forms.extend(texts.iter().filter_map(|text| SecretForm::text(text)));
        let escaped = Value::from(line).to_string();
        for text in BTreeSet::from([line, &escaped[1..escaped.len() - 1]]) {
            forms.extend(pieces(text).iter().flat_map(|piece| in_digits(piece)));
        }
    }
    forms
}

/// How a text may have a value: as it is, with fewer escapes, and with what a shell has for a quote in quotes: `'\''` and
/// `'"'"'`.
fn written(piece: &str) -> Vec<String> {
    let fewer = |text: &String| text.contains("%25").then(|| text.replace("%25", "%"));
    let mut texts: Vec<String> = std::iter::successors(Some(piece.to_owned()), fewer).collect();
    texts.push(decoded(piece));
    if piece.contains('\'') {
        texts.extend(["'''", "'\"'\"'"].map(|quote| piece.replace('\'', quote)));
    }
    texts
}

/// What a value stands for, if it has escapes.
fn decoded(line: &str) -> String {
    let view = View { bytes: line.as_bytes(), last: true };
    let (mut bytes, mut at) = (Vec::new(), 0);
    while at < line.len()
        && let Ok(unit) = view.unit(at)
    {
        bytes.extend_from_slice(unit.bytes());
        at = unit.end;
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Big-endian UTF-16, which with one byte before it is also little-endian.
fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

/// The pieces of a line. None ends in or just after an escape of the value: a mask covers whole escapes, so it would cover the
/// start of the next piece, which would then not be found.
fn pieces(line: &str) -> Vec<String> {
    let chars: Vec<char> = line.chars().collect();
    let (mut rest, mut pieces) = (&chars[..], Vec::new());
    while !rest.is_empty() {
        let even = rest.len().div_ceil(rest.len().div_ceil(PIECE));
        let mut ends = even..rest.len().saturating_sub(SHORTEST);
        let is_special = |c: &char| "\\%&".contains(*c) || c.is_ascii_control();
        let end = ends.find(|end| !rest[end - ESCAPE..*end].iter().any(is_special)).unwrap_or(rest.len());
        let (piece, others) = rest.split_at(end);
        pieces.push(piece.iter().collect());
        rest = others;
    }
    pieces
}

/// A piece of a value in hexadecimal digits, in base64, in base64 of that, and in base64 of UTF-16.
fn in_digits(piece: &str) -> Vec<SecretForm> {
    let hex = piece.bytes().flat_map(|byte| [byte >> 4, byte & 15]);
    let hex = hex.map(|digit| b"0123456789abcdef"[usize::from(digit)]).collect();
    let mut forms = vec![SecretForm { kind: FormKind::Hex, bytes: hex, own: Vec::new() }];
    for (digits, open) in base64_digits(piece.as_bytes()) {
        let url: Vec<u8> = digits.iter().map(|digit| other_digit(*digit)).collect();
        for inner in BTreeSet::from([&digits, &url]) {
            forms.extend(base64_digits(inner).map(SecretForm::base64));
        }
        forms.push(SecretForm::base64((digits, open)));
    }
    // The first byte is zero, or before the value.
    forms.extend(base64_digits(&utf16(piece)[1..]).map(SecretForm::base64));
    let little: Vec<u8> = piece.encode_utf16().flat_map(u16::to_le_bytes).collect();
    forms.extend(base64_digits(&little).map(SecretForm::base64));
    forms
}

/// The digits that depend on `bytes` alone, for each number of other bytes that precede them in their group of three, and
/// whether the last byte continues in one more digit.
fn base64_digits(bytes: &[u8]) -> impl Iterator<Item = (Vec<u8>, bool)> {
    (0..3).map(move |skipped| {
        let mut group = vec![0; skipped];
        group.extend_from_slice(bytes);
        let digits = STANDARD_NO_PAD.encode(&group).into_bytes();
        let (first, end) = ((8 * skipped).div_ceil(6), 8 * group.len() / 6);
        (digits[first..end].to_vec(), !(8 * group.len()).is_multiple_of(6))
    })
}

/// The digit of the other alphabet.
fn other_digit(digit: u8) -> u8 {
    match digit {
        b'+' => b'-',
        b'/' => b'_',
        digit => digit,
    }
}

impl SecretForm {
    /// A view drops backslashes and control characters.
    fn text(value: &[u8]) -> Option<Self> {
        let bytes: Vec<u8> = value.iter().copied().filter(|byte| *byte != b'\\' && !byte.is_ascii_control()).collect();
        (bytes.len() >= LEAST).then(|| Self { kind: FormKind::Text, bytes, own: value.to_owned() })
    }

    fn base64((bytes, open): (Vec<u8>, bool)) -> Self {
        Self { kind: FormKind::Base64 { open }, bytes, own: Vec::new() }
    }

    /// Whether it begins with the bytes of another form up to this one.
    pub fn begins_like(&self, other: &SecretForm, at: usize) -> bool {
        let is_same_kind = std::mem::discriminant(&self.kind) == std::mem::discriminant(&other.kind);
        is_same_kind && other.bytes.get(..=at).is_some_and(|to| self.bytes.starts_with(to))
    }

    /// Whether JSON may contain it without quotes.
    pub fn is_number(&self) -> bool {
        let digits = self.bytes.strip_prefix(b"-").unwrap_or(&self.bytes);
        let ends_are_digits = [digits.first(), digits.last()].iter().all(|c| c.is_some_and(u8::is_ascii_digit));
        let is_digit = |c: &u8| c.is_ascii_digit() || b".eE+-".contains(c);
        self.kind == FormKind::Text && ends_are_digits && digits.iter().all(is_digit)
    }

    /// Whether a view may have `found` at this place.
    fn fits(&self, at: usize, found: u8) -> bool {
        let expected = self.bytes[at];
        expected == found
            || match self.kind {
                FormKind::Text => expected == b' ' && found == b'+',
                FormKind::Base64 { .. } => other_digit(expected) == found,
                FormKind::Hex => found.eq_ignore_ascii_case(&expected),
            }
    }

    /// Where the form ends, if it begins at `start`.
    pub fn end(&self, view: View<'_>, start: usize) -> Result<FormEnd, NeedsMoreBytes> {
        let first = Reading { at: 0, end: start, next: start, breaks: false };
        // Other readings of what looks like an escape, but may be the value's own.
        let (mut others, mut known) = (vec![first], BTreeSet::new());
        let mut differs = 0;
        while let Some(reading) = others.pop() {
            let take = |other: Reading| others.extend(known.insert((other.at, other.next)).then_some(other));
            match self.read(view, reading, take)? {
                FormEnd::At(end) => return Ok(FormEnd::At(end)),
                FormEnd::Differs(at) => differs = differs.max(at),
            }
        }
        Ok(FormEnd::Differs(differs))
    }

    /// Follows a reading to its end. Calls `take` with the others.
    fn read(&self, view: View<'_>, reading: Reading, mut take: impl FnMut(Reading)) -> Result<FormEnd, NeedsMoreBytes> {
        let Reading { mut at, mut end, mut next, mut breaks } = reading;
        while let Some(&expected) = self.bytes.get(at) {
            if next >= view.bytes.len() {
                return if view.last { Ok(FormEnd::Differs(at)) } else { Err(NeedsMoreBytes) };
            }
            let unit = view.unit(next)?;
            view.plainly(next, unit, expected, |taken, next| {
                take(Reading { at: at + taken, end: if taken > 0 { next } else { end }, next, breaks });
            })?;
            next = unit.end;
            breaks |= unit.breaks;
            let is_between_bytes = self.kind == FormKind::Hex && at > 0 && at.is_multiple_of(2);
            let Some(first) = unit.bytes().first().filter(|byte| !is_between_bytes || !BETWEEN_BYTES.contains(byte))
            else {
                if next - end > LONGEST_INSERTION {
                    return Ok(FormEnd::Differs(at));
                }
                continue;
            };
            // A line may break at a space, instead of it.
            at += usize::from(breaks && expected == b' ' && *first != b' ' && at + 1 < self.bytes.len());
            for byte in unit.bytes() {
                if at >= self.bytes.len() || !self.fits(at, *byte) {
                    return Ok(FormEnd::Differs(at.min(self.bytes.len() - 1)));
                }
                at += 1;
            }
            (end, breaks) = (next, false);
        }
        if let FormKind::Base64 { open } = self.kind {
            return padded(view, end, open).map(FormEnd::At);
        }
        Ok(FormEnd::At(end))
    }

    /// The first bytes that a view may have of it.
    pub fn beginnings(&self) -> BTreeSet<Vec<u8>> {
        let own = if self.kind == FormKind::Text { &self.own } else { &self.bytes };
        let (mut found, mut open) = (BTreeSet::new(), vec![(Vec::new(), 0)]);
        while let Some((start, at)) = open.pop() {
            let Some(&byte) = own.get(at).filter(|_| start.len() <= GRAM) else {
                found.insert(start);
                continue;
            };
            let mut add = |text: &[u8], next: usize| open.push(([&start, text].concat(), next));
            match self.kind {
                FormKind::Text if is_special(byte) => {
                    let is_dropped = byte == b'\\' || byte.is_ascii_control();
                    add(if is_dropped { b"" } else { std::slice::from_ref(&own[at]) }, at + 1);
                    if let Ok(unit) = (View { bytes: own, last: true }).unit(at) {
                        add(unit.bytes(), unit.end);
                        // The space after a line break may be escaped.
                        add(unit.bytes(), if unit.breaks { unit.end.min(at + 2) } else { unit.end });
                    }
                }
                // It may be a line break.
                FormKind::Text if byte == b' ' => [&b" "[..], b"+", b""].iter().for_each(|text| add(text, at + 1)),
                FormKind::Base64 { .. } if other_digit(byte) != byte => {
                    add(&[byte], at + 1);
                    add(&[other_digit(byte)], at + 1);
                }
                FormKind::Hex if at == 1 => {
                    add(&[byte], at + 1);
                    for between in BETWEEN_BYTES {
                        add(&[byte, between], at + 1);
                    }
                }
                _ => add(&[byte], at + 1),
            }
        }
        if self.kind == FormKind::Hex {
            found.extend(found.clone().iter().map(|text| text.to_ascii_uppercase()));
        }
        found
    }
}

/// How far a form was found.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// The bytes of the form that were found.
    at: usize,
    /// Where the last of them ends.
    end: usize,
    /// What is read next.
    next: usize,
    /// Whether a line breaks between the two.
    breaks: bool,
}

/// Where digits of base64 end, with the digit that the last byte shares and the padding.
fn padded(view: View<'_>, mut end: usize, open: bool) -> Result<usize, NeedsMoreBytes> {
    let next = |end: usize| match view.bytes.get(end) {
        None if !view.last => Err(NeedsMoreBytes),
        byte => Ok(byte.copied()),
    };
    if open {
        // It may be after a line break.
        let (mut at, start) = (end, end);
        while at < view.bytes.len() && at - start < LONGEST_INSERTION {
            let unit = view.unit(at)?;
            at = unit.end;
            if let Some(byte) = unit.bytes().first() {
                if byte.is_ascii_alphanumeric() || b"+/_-".contains(byte) {
                    end = at;
                }
                break;
            }
        }
        if at == view.bytes.len() && !view.last && end == start {
            return Err(NeedsMoreBytes);
        }
    }
    for _ in 0..2 {
        if next(end)? != Some(b'=') {
            break;
        }
        end += 1;
    }
    Ok(end)
}
