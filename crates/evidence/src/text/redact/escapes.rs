//! JSON escapes around a secret. A mask covers whole escapes, so that valid JSON stays valid.

use super::cursor::{ByteCursor, MAX_BACKSLASHES, NeedsMoreBytes};

/// Where the mask of a secret at `at` begins so that it splits no escape: before the backslashes there, before the `\uXXXX`
/// that the secret begins in, and before the first half of that pair. It is not before `from`, which follows `before`
/// backslashes.
pub(super) fn start(bytes: &[u8], from: usize, at: usize, before: usize) -> usize {
    let bytes = &bytes[..at];
    let inside = (0..4).find_map(|digits| unicode(&bytes[from..], digits).then(|| at - digits - 1));
    let start = backslashes(bytes, from, inside.unwrap_or(at), before);
    if unicode(&bytes[from..start], 4) && is_first_half(&bytes[start - 4..]) {
        return backslashes(bytes, from, start - 5, before);
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
fn backslashes(bytes: &[u8], from: usize, at: usize, before: usize) -> usize {
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
