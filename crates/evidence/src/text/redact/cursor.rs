//! A position in a stream whose next bytes may not have arrived yet.

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
}

impl ByteCursor<'_> {
    /// The next byte; `None` at the end of the stream.
    pub fn peek(&self) -> Result<Option<u8>, NeedsMoreBytes> {
        match self.bytes.get(self.at) {
            None if !self.last => Err(NeedsMoreBytes),
            byte => Ok(byte.copied()),
        }
    }

    pub fn skip(&mut self, bytes: usize) {
        self.at += bytes;
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
