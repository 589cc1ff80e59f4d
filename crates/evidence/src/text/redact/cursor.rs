//! A position in a stream whose next bytes may not have arrived yet. It may pass over insertions: what tools put between the
//! characters of a text, as line breaks with the indentation after them, control characters, and sequences that color a terminal,
//! also as JSON has them.

use std::collections::BTreeSet;

use crate::text::redact::{self, BytePairs};

/// The most backslashes of one escape: seven in a string in a string in a string, and as many for each in the value.
pub(super) const MAX_BACKSLASHES: usize = 64;

/// The answer depends on bytes that have not arrived yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NeedsMoreBytes;

/// A position in the bytes that have arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteCursor<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
    /// Whether `bytes` ends the stream.
    pub last: bool,
    /// Whether insertions are passed over.
    pub squeezed: bool,
}

impl ByteCursor<'_> {
    /// The next byte; `None` at the end of the stream.
    #[inline]
    pub fn peek(&self) -> Result<Option<u8>, NeedsMoreBytes> {
        let at = if self.squeezed { self.next()? } else { self.at };
        match self.bytes.get(at) {
            None if !self.last => Err(NeedsMoreBytes),
            byte => Ok(byte.copied()),
        }
    }

    /// Skips the byte that is next.
    #[inline]
    pub fn skip(&mut self, bytes: usize) {
        if self.squeezed && bytes > 0 {
            self.at = self.next().unwrap_or(self.at);
        }
        self.at += bytes;
    }

    /// Where the next byte is in squeezed text.
    fn next(&self) -> Result<usize, NeedsMoreBytes> {
        let is_special = self.bytes.get(self.at).is_some_and(|byte| may_begin(*byte));
        if is_special { insertions_end(*self) } else { Ok(self.at) }
    }

    /// Whether an insertion is passed over here.
    pub fn is_at_insertion(&self) -> Result<bool, NeedsMoreBytes> {
        Ok(self.next()? > self.at)
    }

    /// Skips this byte in the insertion here, and what is before it, if it is in one.
    fn skip_in_insertion(&mut self, byte: u8) -> Result<bool, NeedsMoreBytes> {
        let inserted = &self.bytes[self.at..self.next()?];
        let found = inserted.iter().position(|inserted| *inserted == byte);
        self.at += found.map_or(0, |at| at + 1);
        Ok(found.is_some())
    }

    /// Skips the backslashes here, and counts them.
    pub fn backslashes(&mut self) -> Result<usize, NeedsMoreBytes> {
        let mut count = 0;
        while count < MAX_BACKSLASHES && self.peek()? == Some(b'\\') {
            self.skip(1);
            count += 1;
        }
        Ok(count)
    }

    /// Skips the escape `u00e9` of this UTF-16 unit, if it is here.
    fn unicode(&mut self, unit: u16) -> Result<bool, NeedsMoreBytes> {
        let [high, low] = unit.to_be_bytes().map(digits);
        Ok(self.literal(b"u")? && self.literal(&high)? && self.literal(&low)?)
    }

    /// Skips the escape `%e9` of this byte, or the doubly escaped `%25e9`, if it is here.
    pub fn percent(&mut self, byte: u8) -> Result<bool, NeedsMoreBytes> {
        let digits = digits(byte);
        let start = self.at;
        if self.literal(b"%25")? && self.literal(&digits)? {
            return Ok(true);
        }
        self.at = start;
        Ok(self.literal(b"%")? && self.literal(&digits)?)
    }

    /// Skips these bytes in either case, if they are here.
    pub fn literal(&mut self, expected: &[u8]) -> Result<bool, NeedsMoreBytes> {
        for byte in expected {
            if self.peek()?.is_none_or(|found| !found.eq_ignore_ascii_case(byte)) {
                return Ok(false);
            }
            self.skip(1);
        }
        Ok(true)
    }
}

/// The two hexadecimal digits of a byte.
fn digits(byte: u8) -> [u8; 2] {
    [byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)])
}

/// The most bytes between two characters of a secret.
const LONGEST_INSERTION: usize = 128;

/// The most bytes of a terminal sequence.
const LONGEST_SEQUENCE: usize = 96;

/// Whether an insertion may begin with this byte.
pub(super) fn may_begin(byte: u8) -> bool {
    is_control(byte) || matches!(byte, b'\\' | b'=')
}

pub(super) fn is_control(byte: u8) -> bool {
    byte < b' ' && byte != b'\t'
}

/// Where the insertions at the cursor end. At the cursor, if there are none, or more than are between characters of a secret.
fn insertions_end(cursor: ByteCursor<'_>) -> Result<usize, NeedsMoreBytes> {
    let end = insertions_end_or_limit(cursor)?;
    Ok(if end - cursor.at > LONGEST_INSERTION { cursor.at } else { end })
}

/// Where the insertions at the cursor end, or a place more than [`LONGEST_INSERTION`] bytes after it.
fn insertions_end_or_limit(mut cursor: ByteCursor<'_>) -> Result<usize, NeedsMoreBytes> {
    let start = cursor.at;
    cursor.squeezed = false;
    while cursor.at <= start + LONGEST_INSERTION {
        let end = insertion_end(cursor)?;
        if end == cursor.at {
            break;
        }
        cursor.at = end;
    }
    Ok(cursor.at)
}

/// Where the insertion at the cursor ends.
fn insertion_end(mut cursor: ByteCursor<'_>) -> Result<usize, NeedsMoreBytes> {
    let start = cursor.at;
    let Some(byte) = cursor.peek()? else { return Ok(start) };
    match byte {
        // A soft line break of quoted-printable text.
        b'=' => {
            cursor.skip(1);
            let end = line_break(cursor)?;
            Ok(if end > cursor.at { end } else { start })
        }
        b'\n' | b'\r' => line_break(cursor),
        b'\\' => {
            let end = line_break(cursor)?;
            if end > start {
                return Ok(end);
            }
            cursor.backslashes()?;
            let control = escaped_control(&mut cursor)?;
            Ok(match control {
                Some(0x1b) => sequence(cursor)?,
                Some(_) => cursor.at,
                None => start,
            })
        }
        _ if !may_begin(byte) => Ok(start),
        _ => {
            cursor.skip(1);
            if byte == 0x1b { sequence(cursor) } else { Ok(cursor.at) }
        }
    }
}

/// The end of the line break at the cursor and the indentation after it. A shell continues a line after a backslash.
pub(super) fn line_break(mut cursor: ByteCursor<'_>) -> Result<usize, NeedsMoreBytes> {
    let start = cursor.at;
    let escaped = cursor.backslashes()? > 0;
    if !match cursor.peek()? {
        Some(b'\n' | b'\r') => true,
        Some(b'n' | b'r') => escaped,
        _ => false,
    } {
        return Ok(start);
    }
    cursor.skip(1);
    while cursor.at <= start + LONGEST_INSERTION {
        let before = cursor.at;
        let escaped = cursor.backslashes()? > 0;
        if !match cursor.peek()? {
            Some(b' ' | b'\t') => !escaped,
            Some(b't') => escaped,
            _ => false,
        } {
            return Ok(before);
        }
        cursor.skip(1);
    }
    Ok(cursor.at)
}

/// Skips the escape `u001b` of a control character, if it is here.
fn escaped_control(cursor: &mut ByteCursor<'_>) -> Result<Option<u8>, NeedsMoreBytes> {
    if !cursor.literal(b"u00")? {
        return Ok(None);
    }
    let mut value = 0;
    for _ in 0..2 {
        let Some(digit) = cursor.peek()?.and_then(|byte| char::from(byte).to_digit(16)) else { return Ok(None) };
        value = value * 16 + digit;
        cursor.skip(1);
    }
    let value = u8::try_from(value).ok();
    Ok(value.filter(|value| is_control(*value)))
}

/// The end of the terminal sequence whose escape character is before the cursor: `[1m`, `]8;;…` up to its end, `(B`.
fn sequence(mut cursor: ByteCursor<'_>) -> Result<usize, NeedsMoreBytes> {
    let start = cursor.at;
    let first = cursor.peek()?;
    if first == Some(b']') {
        while cursor.at < start + LONGEST_SEQUENCE {
            for terminator in [&b"\x07"[..], b"\x1b\\", b"\\u0007", b"\\u001b\\\\"] {
                let mut end = cursor;
                if end.literal(terminator)? {
                    return Ok(end.at);
                }
            }
            cursor.skip(1);
        }
        return Ok(start);
    }
    let before_last = if first == Some(b'[') { b' '..=b'?' } else { b' '..=b'/' };
    cursor.skip(usize::from(first == Some(b'[')));
    while cursor.at < start + LONGEST_SEQUENCE && cursor.peek()?.is_some_and(|byte| before_last.contains(&byte)) {
        cursor.skip(1);
    }
    let is_last = cursor.peek()?.is_some_and(|byte| (b'0'..=b'~').contains(&byte) && byte != b'\\');
    Ok(if is_last { cursor.at + 1 } else { start })
}

// How one character of a secret may be written, and whether the text has it so.

/// The hexadecimal digits of a byte.
pub(super) fn hex(byte: u8, upper: bool) -> [u8; 2] {
    let digits: &[u8; 16] = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    [byte >> 4, byte & 15].map(|digit| digits[usize::from(digit)])
}

/// Calls `take` with the start of each escape of a character. If it is the first one, what has the character itself at its end is
/// found from there.
pub(super) fn escapes(c: char, is_first: bool, mut take: impl FnMut(&[u8])) {
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
pub(super) const QUOTES_IN_QUOTES: [&str; 2] = ["'\\''", "'\"'\"'"];

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
pub(super) fn text(chars: &[char], cursor: &mut ByteCursor<'_>) -> Result<Option<usize>, NeedsMoreBytes> {
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

pub(super) fn base64_digit(digit: u8, cursor: &mut ByteCursor<'_>) -> Result<bool, NeedsMoreBytes> {
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

/// The digit for the same bits in the alphabet for URLs.
pub(super) fn other_digit(digit: u8) -> u8 {
    match digit {
        b'+' => b'-',
        b'/' => b'_',
        digit => digit,
    }
}

// JSON escapes around a secret. A mask covers whole escapes, so that valid JSON stays valid.

/// Where the mask of a secret at `at` begins so that it splits no escape: before the backslashes there, before the `\uXXXX`
/// that the secret begins in, and before the first half of that pair. It is not before `from`, which follows `before`
/// backslashes.
pub(super) fn start(bytes: &[u8], from: usize, at: usize, before: usize) -> usize {
    let bytes = &bytes[..at];
    let inside = (0..4).find_map(|digits| unicode(&bytes[from..], digits).then(|| at - digits - 1));
    let start = backslashes_before(bytes, from, inside.unwrap_or(at), before);
    if unicode(&bytes[from..start], 4) && is_first_half(&bytes[start - 4..]) {
        return backslashes_before(bytes, from, start - 5, before);
    }
    start
}

/// Whether these digits are the first half of a surrogate pair.
fn is_first_half(digits: &[u8]) -> bool {
    matches!(digits, [b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', ..])
}

/// Whether `bytes` ends with `\u` and this many hexadecimal digits.
fn unicode(bytes: &[u8], digits: usize) -> bool {
    let Some(end) = bytes.len().checked_sub(digits) else { return false };
    bytes[..end].ends_with(b"\\u") && bytes[end..].iter().all(u8::is_ascii_hexdigit)
}

/// The first of the backslashes before `at`. If there are more than any escape has, only an odd one counts.
fn backslashes_before(bytes: &[u8], from: usize, at: usize, before: usize) -> usize {
    let here = bytes[from..at].iter().rev().take_while(|byte| **byte == b'\\').count();
    let all = here + if at - here == from { before } else { 0 };
    at - if all > MAX_BACKSLASHES { all % 2 } else { here }
}

/// The end of the escape that contains `end`, if escapes begin at the cursor.
pub(super) fn end(mut cursor: ByteCursor<'_>, end: usize) -> Result<usize, NeedsMoreBytes> {
    while cursor.at < end {
        let high = escape(&mut cursor)?;
        let mut second = cursor;
        if high && second.peek()? == Some(b'\\') {
            escape(&mut second)?;
            cursor = second;
        }
    }
    Ok(cursor.at)
}

/// Skips an escape or a byte. Returns whether it is the first half of a surrogate pair.
fn escape(cursor: &mut ByteCursor<'_>) -> Result<bool, NeedsMoreBytes> {
    let backslash = cursor.peek()? == Some(b'\\');
    cursor.skip(1);
    if !backslash {
        return Ok(false);
    }
    match cursor.peek()? {
        Some(b'u') => {
            let mut digits = *cursor;
            digits.skip(1);
            let start = digits.at;
            while digits.at < start + 4 {
                if !digits.peek()?.is_some_and(|byte| byte.is_ascii_hexdigit()) {
                    return Ok(false);
                }
                digits.skip(1);
            }
            *cursor = digits;
            Ok(is_first_half(&cursor.bytes[start..]))
        }
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
            cursor.skip(1);
            Ok(false)
        }
        _ => Ok(false),
    }
}

// Finds secrets that insertions break among their first bytes.

/// How many bytes before an insertion may begin a secret that the insertion breaks. The text search sees longer beginnings.
const BEFORE: usize = redact::LONGEST - 1;

/// Finds where a secret may begin that an insertion breaks among its first bytes. The text search cannot see those.
#[derive(Debug)]
pub(super) struct BreakScanner {
    /// What is scanned next.
    at: usize,
    /// Where the last insertion ended.
    after: usize,
    /// The places of the last bytes before that insertion, the last one first, and how many they are.
    before: [usize; BEFORE],
    known: usize,
    /// Where a secret may begin, the first one last.
    found: Vec<usize>,
}

impl BreakScanner {
    pub fn new(at: usize) -> Self {
        Self { at, after: at, before: [0; BEFORE], known: 0, found: Vec::new() }
    }

    /// The first place before `limit` where a secret may begin that was not returned yet.
    pub fn next(&mut self, bytes: &[u8], last: bool, limit: usize, pairs: &BytePairs) -> Option<usize> {
        loop {
            if let Some(found) = self.found.last() {
                return Some(*found).filter(|found| *found < limit);
            }
            if self.first_open() >= limit || !self.step(bytes, last, pairs) {
                return None;
            }
        }
    }

    /// Drops the place that [`next`](Self::next) returned.
    pub fn take(&mut self) {
        self.found.pop();
    }

    /// The first place that the next insertion may decide about.
    pub fn first_open(&self) -> usize {
        let (before, known) = self.last_before(self.at);
        before[..known].last().copied().unwrap_or(self.at)
    }

    /// The places of the last bytes before `at` that are in no insertion, and how many they are.
    fn last_before(&self, at: usize) -> ([usize; BEFORE], usize) {
        let near = at.saturating_sub(self.after).min(BEFORE);
        let mut before = std::array::from_fn(|back| at.wrapping_sub(1 + back));
        before[near..].copy_from_slice(&self.before[..BEFORE - near]);
        (before, BEFORE.min(near + self.known))
    }

    /// Scans up to the next insertion. `false` if it is not known where it ends, or there is none.
    fn step(&mut self, bytes: &[u8], last: bool, pairs: &BytePairs) -> bool {
        let Some(mut start) = next_start(bytes, self.at, pairs) else {
            self.at = bytes.len();
            return false;
        };
        if start > self.after && bytes[start - 1] == b'=' {
            let is_soft = line_break(ByteCursor { bytes, at: start, last, squeezed: false });
            start -= usize::from(is_soft.is_ok_and(|end| end > start));
        }
        if start == self.after && self.known == 0 {
            let run = bytes[start..].iter().take_while(|byte| **byte == bytes[start]).count();
            self.pass(start + run);
            return true;
        }
        let whole = || insertions_end_or_limit(ByteCursor { bytes, at: start, last, squeezed: false }).ok();
        let Some(end) = simple_end(bytes, start).or_else(whole) else {
            self.at = start;
            return false;
        };
        if end > start + LONGEST_INSERTION {
            self.pass(end);
            return true;
        }
        if end == start {
            let backslashes = bytes[start..].iter().take_while(|byte| **byte == b'\\').count();
            self.at = start + backslashes.max(1);
            return true;
        }
        let Some(next) = bytes.get(end) else {
            self.at = if last { bytes.len() } else { start };
            return false;
        };
        let (before, known) = self.last_before(start);
        (self.at, self.after, self.before, self.known) = (end, end, before, known);
        if pairs.has(bytes[before[0]], *next) {
            let mut first = [*next; BEFORE + 1];
            for (back, at) in before[..known].iter().enumerate() {
                let start = BEFORE - 1 - back;
                first[start] = bytes[*at];
                if pairs.may_begin(&first[start..]) {
                    self.found.push(*at);
                }
            }
        }
        true
    }

    /// Passes a place that no secret extends across.
    fn pass(&mut self, at: usize) {
        (self.at, self.after, self.known) = (at, at, 0);
    }
}

/// Where a line break at `start` and the spaces after it end, if nothing else is inserted there: nearly always, and faster.
fn simple_end(bytes: &[u8], start: usize) -> Option<usize> {
    let end = match bytes[start..] {
        [b'\n', ..] => start + 1,
        [b'\\', b'n', ..] => start + 2,
        _ => return None,
    };
    let spaces = bytes[end..].iter().take(LONGEST_INSERTION / 2).position(|byte| *byte != b' ')?;
    let next = bytes[end + spaces];
    (!may_begin(next) && next != b'\t').then_some(end + spaces)
}

/// The next place where an insertion may begin, except a soft line break, and that may break a secret.
#[inline(never)]
fn next_start(bytes: &[u8], from: usize, pairs: &BytePairs) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let is_start = |at: usize| {
        let goes_on = at == from || pairs.goes_on_after(bytes[at - 1]) || bytes[at - 1] == b'=';
        goes_on
            && match bytes[at] {
                b'\\' => {
                    let next = bytes.get(at + 1);
                    next.is_none_or(|next| matches!(next, b'n' | b'r' | b'u' | b'\\' | b'\n' | b'\r'))
                }
                byte => is_control(byte),
            }
    };
    let (blocks, rest) = bytes.get(from..)?.as_chunks::<8>();
    for (at, block) in blocks.iter().enumerate() {
        let block = u64::from_le_bytes(*block);
        let backslashes = block ^ (ONES * u64::from(b'\\'));
        // All that are there, and perhaps others above them.
        let controls = block.wrapping_sub(ONES * u64::from(b' ')) & !block;
        let mut found = (controls | (backslashes.wrapping_sub(ONES) & !backslashes)) & HIGH;
        while found != 0 {
            let at = from + 8 * at + found.trailing_zeros() as usize / 8;
            if is_start(at) {
                return Some(at);
            }
            found &= found - 1;
        }
    }
    (bytes.len() - rest.len()..bytes.len()).find(|at| is_start(*at))
}
