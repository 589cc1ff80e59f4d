//! How one character of a secret may be written, and whether the text has it so.

use std::collections::BTreeSet;

use super::cursor::{ByteCursor, NeedsMoreBytes};

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
