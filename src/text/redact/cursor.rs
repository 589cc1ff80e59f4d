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
}
