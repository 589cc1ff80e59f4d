//! Reads a file line by line in bounded memory.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::files::bounded;

/// The longest line that is read, in bytes.
pub const LONGEST: usize = 16 << 20;

#[derive(Debug, PartialEq, Eq)]
pub enum TraceLine<'a> {
    /// The line without its line break.
    Whole(&'a [u8]),
    /// A line longer than [`LONGEST`].
    Overlong,
}

/// Calls `take` for every line of the file at `path` that is not empty. A missing file has no lines.
pub fn for_each(path: &Path, mut take: impl FnMut(TraceLine<'_>)) -> io::Result<()> {
    let file = match bounded::open(path) {
        Ok((file, _)) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for_each_of(file, &mut take)
}

/// The same, with an empty line, which decoders count as damaged, for one that is too long.
pub fn for_each_line(path: &Path, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    for_each(path, |line| match line {
        TraceLine::Whole(line) => take(line),
        TraceLine::Overlong => take(b""),
    })
}

/// Calls `take` for every line of an open file that is not empty.
pub fn for_each_of(file: impl Read, take: &mut impl FnMut(TraceLine<'_>)) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(64 << 10, file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let most = LONGEST as u64 + 1;
        let read = reader.by_ref().take(most).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        if line.len() > LONGEST && !line.ends_with(b"\n") {
            line = Vec::new();
            reader.skip_until(b'\n')?;
            take(TraceLine::Overlong);
            continue;
        }
        let content = line.trim_ascii();
        if !content.is_empty() {
            take(TraceLine::Whole(content));
        }
    }
}
