//! A position in a stream whose next bytes may not have arrived yet. It may pass over insertions: what tools put between the
//! characters of a text, as line breaks with the indentation after them, control characters, and sequences that color a terminal,
//! also as JSON has them.

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
    pub fn skip_in_insertion(&mut self, byte: u8) -> Result<bool, NeedsMoreBytes> {
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
    pub fn unicode(&mut self, unit: u16) -> Result<bool, NeedsMoreBytes> {
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
pub(super) const LONGEST_INSERTION: usize = 128;

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
pub(super) fn insertions_end_or_limit(mut cursor: ByteCursor<'_>) -> Result<usize, NeedsMoreBytes> {
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
