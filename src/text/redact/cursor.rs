//! A place in a stream of which some bytes may still be to come.

/// Most backslashes that one escape has: seven in a string in a string in a string, and as many for each of the value's own.
pub(super) const MAX_BACKSLASHES: usize = 64;

/// More bytes are needed to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NeedsMoreBytes;

/// A place in the bytes that are there.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteCursor<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
    /// Whether the stream ends with `bytes`.
    pub last: bool,
}

impl ByteCursor<'_> {
    /// The byte here; `None` behind the stream's end.
    pub fn peek(&self) -> Result<Option<u8>, NeedsMoreBytes> {
        match self.bytes.get(self.at) {
            None if !self.last => Err(NeedsMoreBytes),
            byte => Ok(byte.copied()),
        }
    }

    pub fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Goes behind the backslashes here, and counts them.
    pub fn backslashes(&mut self) -> Result<usize, NeedsMoreBytes> {
        let mut count = 0;
        while count < MAX_BACKSLASHES && self.peek()? == Some(b'\\') {
            self.skip(1);
            count += 1;
        }
        Ok(count)
    }

    /// Goes behind `u00e9`, if it is that unit of UTF-16.
    pub fn unicode(&mut self, unit: u16) -> Result<bool, NeedsMoreBytes> {
        let [high, low] = unit.to_be_bytes().map(digits);
        Ok(self.literal(b"u")? && self.literal(&high)? && self.literal(&low)?)
    }

    /// Goes behind `%e9`, or `%25e9` as it is escaped once more, if it is that byte.
    pub fn percent(&mut self, byte: u8) -> Result<bool, NeedsMoreBytes> {
        let digits = digits(byte);
        let start = self.at;
        if self.literal(b"%25")? && self.literal(&digits)? {
            return Ok(true);
        }
        self.at = start;
        Ok(self.literal(b"%")? && self.literal(&digits)?)
    }

    /// Goes behind these bytes in either case, if they stand here.
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
