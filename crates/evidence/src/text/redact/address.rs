//! Passwords in addresses: `postgres://user:password@host/db`.

use std::ops::Range;

use super::cursor::{ByteCursor, NeedsMoreBytes};

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
