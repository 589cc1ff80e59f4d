//! The escapes of JSON around a secret: a mask covers them whole, so that valid JSON stays valid.

use super::cursor::{ByteCursor, MAX_BACKSLASHES, NeedsMoreBytes};

/// Where a mask begins so that a secret at `at` takes no part of an escape: in front of the backslashes there, of the
/// `\uXXXX` that it begins in, and of that one's first half. Nothing in front of `from` counts; `before` backslashes
/// stand there.
pub(super) fn start(bytes: &[u8], from: usize, at: usize, before: usize) -> usize {
    let bytes = &bytes[..at];
    let inside = (0..4).find_map(|digits| unicode(&bytes[from..], digits).then(|| at - digits - 1));
    let start = backslashes(bytes, from, inside.unwrap_or(at), before);
    if unicode(&bytes[from..start], 4) && is_first_half(&bytes[start - 4..]) {
        return backslashes(bytes, from, start - 5, before);
    }
    start
}

/// Whether these digits are of the first half of a pair, which the second half follows.
fn is_first_half(digits: &[u8]) -> bool {
    matches!(digits, [b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', ..])
}

/// Whether `bytes` end with `\u` and so many hexadecimal digits.
fn unicode(bytes: &[u8], digits: usize) -> bool {
    let Some(end) = bytes.len().checked_sub(digits) else { return false };
    bytes[..end].ends_with(b"\\u") && bytes[end..].iter().all(u8::is_ascii_hexdigit)
}

/// The first of the backslashes in front of `at`. Of more than any escape has only an odd one counts.
fn backslashes(bytes: &[u8], from: usize, at: usize, before: usize) -> usize {
    let here = bytes[from..at].iter().rev().take_while(|byte| **byte == b'\\').count();
    let all = here + if at - here == from { before } else { 0 };
    at - if all > MAX_BACKSLASHES { all % 2 } else { here }
}

/// Where the escape ends that `end` is in, if the escapes begin at the cursor.
///
/// # Errors
/// When more bytes are needed to tell.
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

/// Goes behind an escape, or else a byte. Says whether it is the first half of a pair.
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
