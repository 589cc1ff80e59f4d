//! Standard output and standard error, of which nobody may read the end: `skill-evals list | head` is no failure.

use std::io::{self, StderrLock, StdoutLock, Write};

/// A stream that drops what is written once nobody reads it any more, so that a command goes on to what it has to do and to its exit
/// code. Every other error is the command's own.
pub struct PipeOutput<W>(W);

pub fn stdout() -> PipeOutput<StdoutLock<'static>> {
    PipeOutput(io::stdout().lock())
}

pub fn stderr() -> PipeOutput<StderrLock<'static>> {
    PipeOutput(io::stderr().lock())
}

impl<W: Write> Write for PipeOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        or_dropped(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        or_dropped(self.0.flush(), ())
    }
}

/// What came of writing, or of dropping it if the reader is gone.
fn or_dropped<T>(result: io::Result<T>, dropped: T) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(dropped),
        other => other,
    }
}
