//! A position in a stream whose next bytes may not have arrived yet.

use super::insertions;

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
        let is_special = self.bytes.get(self.at).is_some_and(|byte| insertions::may_begin(*byte));
        if is_special { insertions::end(*self) } else { Ok(self.at) }
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
