//! The forms of a known secret value in a text: plain, escaped (for JSON, also for JSON in JSON, for a URL, HTML or a shell), in
//! UTF-16, in hexadecimal digits, in base64, and in base64 of base64.

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
const PLAIN: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SecretForm {
    /// These characters, each plain or escaped.
    Text(Vec<char>),
    /// These base64 digits. If `open`, the last byte continues in one more digit.
    Base64 { digits: Vec<u8>, open: bool },
    /// These bytes in hexadecimal digits, possibly with one of [`BETWEEN_BYTES`] between two of them.
    Hex(Vec<u8>),
    /// These bytes.
    Bytes(Vec<u8>),
}

/// What may be between the hexadecimal digits of two bytes.
const BETWEEN_BYTES: [&[u8]; 4] = [b" ", b":", b"-", b","];

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
/// for too late.
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

/// The digit for the same bits in the alphabet for URLs.
fn other_digit(digit: u8) -> u8 {
    match digit {
        b'+' => b'-',
        b'/' => b'_',
        digit => digit,
    }
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
                    if at > 0 && cursor.peek()?.is_some_and(|byte| BETWEEN_BYTES.contains(&&[byte][..])) {
                        cursor.skip(1);
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
                    found.push(first.concat());
                    found.extend(BETWEEN_BYTES.map(|between| first.join(between)));
                }
            }
            SecretForm::Bytes(bytes) => found.push(bytes[..PLAIN].to_vec()),
        }
    }
}

/// The hexadecimal digits of a byte.
fn hex(byte: u8, upper: bool) -> [u8; 2] {
    let digits: &[u8; 16] = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    [byte >> 4, byte & 15].map(|digit| digits[usize::from(digit)])
}

/// Calls `take` with the start of each escape of a character. If it is the first one, what has the character itself at its end is
/// found from there.
fn escapes(c: char, is_first: bool, mut take: impl FnMut(&[u8])) {
    let unit = c.encode_utf16(&mut [0; 2])[0];
    either_case("\\u", &format!("{unit:04x}"), &mut take);
    if let Some(letter) = short_escape(c)
        && !(is_first && letter.is_ascii_punctuation())
    {
        take(&[b'\\', letter]);
    }
    let first = format!("{:02x}", c.to_string().as_bytes()[0]);
    for start in ["%", "%25", "\\x"] {
        either_case(start, &first, &mut take);
    }
    for start in ["&#", "&#0"] {
        take(format!("{start}{}", u32::from(c)).as_bytes());
    }
    for start in ["&#x", "&#X"] {
        either_case(start, &format!("{:x}", u32::from(c)), &mut take);
    }
    take(b"&amp;#");
    if let Some((name, _)) = ENTITIES.iter().find(|(_, of)| *of == c) {
        take(format!("&{name};").as_bytes());
        take(format!("&amp;{name};").as_bytes());
    }
    if c == '\'' {
        for start in ["'\\'", "'\\\\", "'\"'", "'\\\""] {
            take(start.as_bytes());
        }
    }
}

/// How a shell has a quote in quotes.
const QUOTES_IN_QUOTES: [&str; 2] = ["'\\''", "'\"'\"'"];

/// Characters that HTML has names for.
const ENTITIES: [(&str, char); 5] = [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\'')];

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
        ' ' => Some(b' '),
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
    let mut hexadecimal = *cursor;
    if hexadecimal.literal(b"x5c")? {
        *cursor = hexadecimal;
        return Ok(1);
    }
    if cursor.unicode(u16::from(b'\\'))? {
        let plain = (there >> there.trailing_zeros()) / 2;
        if plain < count {
            return Ok(plain + 1);
        }
    }
    let Some(doubled) = (there / count).checked_ilog2() else { return Ok(0) };
    cursor.at = start;
    for _ in 0..count << doubled {
        cursor.skip(1);
    }
    Ok(count)
}

/// Skips `c`, plain or escaped, if it is at the cursor.
fn character(c: char, cursor: &mut ByteCursor<'_>) -> Result<bool, NeedsMoreBytes> {
    // A line may break at a space, instead of it.
    if c == ' ' && cursor.squeezed && cursor.is_at_insertion()? && cursor.peek()? != Some(b' ') {
        return Ok(true);
    }
    // At the end of a line it looks like a soft break.
    if c == '=' && cursor.squeezed && cursor.skip_in_insertion(b'=')? {
        return Ok(true);
    }
    let mut buffer = [0; 4];
    let bytes = c.encode_utf8(&mut buffer).as_bytes();
    let start = *cursor;
    let escaped = match cursor.peek()? {
        Some(b'\\') => return backslashed(c, bytes, cursor),
        Some(b'%') => all(bytes, cursor, |byte, cursor| cursor.percent(byte))?,
        Some(b'&') => entity(c, cursor)?,
        Some(b'+') if c == ' ' => cursor.literal(b"+")?,
        Some(b'\'') if c == '\'' => quote_in_quotes(cursor)?,
        _ => false,
    };
    if escaped {
        return Ok(true);
    }
    *cursor = start;
    all(bytes, cursor, |byte, cursor| {
        let is_there = cursor.peek()? == Some(byte);
        cursor.skip(usize::from(is_there));
        Ok(is_there)
    })
}

/// Whether `skip` skips each of these bytes.
fn all<'a>(
    bytes: &[u8],
    cursor: &mut ByteCursor<'a>,
    skip: impl Fn(u8, &mut ByteCursor<'a>) -> Result<bool, NeedsMoreBytes>,
) -> Result<bool, NeedsMoreBytes> {
    for byte in bytes {
        if !skip(*byte, cursor)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Skips `c` after backslashes: `\u00e9`, `\xc3\xa9`, `\"`.
fn backslashed(c: char, bytes: &[u8], cursor: &mut ByteCursor<'_>) -> Result<bool, NeedsMoreBytes> {
    let start = *cursor;
    cursor.backslashes()?;
    let behind = *cursor;
    let mut units = [0; 2];
    let mut is_unicode = true;
    for (at, unit) in c.encode_utf16(&mut units).iter().enumerate() {
        is_unicode = is_unicode && (at == 0 || cursor.backslashes()? > 0) && cursor.unicode(*unit)?;
    }
    if is_unicode {
        return Ok(true);
    }
    *cursor = start;
    if all(bytes, cursor, |byte, cursor| {
        Ok(cursor.backslashes()? > 0 && cursor.literal(b"x")? && cursor.literal(&hex(byte, false))?)
    })? {
        return Ok(true);
    }
    *cursor = behind;
    let short = short_escape(c).is_some() && cursor.peek()? == short_escape(c);
    cursor.skip(usize::from(short));
    Ok(short)
}

/// Skips `c` as HTML has it, also escaped again: `&lt;`, `&#60;`, `&#x3c;`, `&amp;lt;`.
fn entity(c: char, cursor: &mut ByteCursor<'_>) -> Result<bool, NeedsMoreBytes> {
    cursor.skip(1);
    let mut again = *cursor;
    let mut times = 0;
    while times < 8 && again.literal(b"amp;")? {
        *cursor = again;
        times += 1;
    }
    let name = ENTITIES.iter().find(|(_, of)| *of == c).map_or("", |(name, _)| name);
    let mut named = *cursor;
    if !name.is_empty() && named.literal(name.as_bytes())? && named.literal(b";")? {
        *cursor = named;
        return Ok(true);
    }
    let mut numbered = *cursor;
    if numbered.literal(b"#")? && number(&mut numbered)? == Some(u32::from(c)) {
        *cursor = numbered;
        return Ok(true);
    }
    Ok(c == '&' && times > 0)
}

/// Skips the number of a character in HTML, and its end.
fn number(cursor: &mut ByteCursor<'_>) -> Result<Option<u32>, NeedsMoreBytes> {
    let radix = if cursor.literal(b"x")? { 16 } else { 10 };
    let (mut code, mut digits) = (0, 0);
    while digits < 7
        && let Some(digit) = cursor.peek()?.and_then(|byte| char::from(byte).to_digit(radix))
    {
        (code, digits) = (code * radix + digit, digits + 1);
        cursor.skip(1);
    }
    Ok(Some(code).filter(|_| digits > 0).zip(cursor.literal(b";")?.then_some(())).map(|(code, ())| code))
}

/// Skips a quote as a shell has it in quotes, also in JSON.
fn quote_in_quotes(cursor: &mut ByteCursor<'_>) -> Result<bool, NeedsMoreBytes> {
    let start = *cursor;
    for quote in QUOTES_IN_QUOTES {
        *cursor = start;
        let mut is_there = true;
        for byte in quote.bytes() {
            let is_backslash = byte == b'\\';
            let backslashes = if is_backslash || byte == b'"' { cursor.backslashes()? } else { 0 };
            is_there = is_there && if is_backslash { backslashes > 0 } else { cursor.literal(&[byte])? };
        }
        if is_there {
            return Ok(true);
        }
    }
    Ok(false)
}

fn base64_digit(digit: u8, cursor: &mut ByteCursor<'_>) -> Result<bool, NeedsMoreBytes> {
    let (plain, other) = (digit, other_digit(digit));
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
