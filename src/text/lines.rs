//! Reads a file line by line in bounded memory, whatever is in it.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::files::bounded;

/// Longest line handed on, in bytes; a longer one is counted as overlong.
pub const LONGEST: usize = 16 << 20;

/// A line of a trace.
#[derive(Debug, PartialEq, Eq)]
pub enum TraceLine<'a> {
    /// The line's bytes without its line break.
    Whole(&'a [u8]),
    /// A line longer than [`LONGEST`].
    Overlong,
}

/// Hands every line of the file at `path` to `take`, empty ones aside. A file that is not there has none.
///
/// # Errors
/// As reading a file does.
pub fn for_each(path: &Path, mut take: impl FnMut(TraceLine<'_>)) -> io::Result<()> {
    let file = match bounded::open(path) {
        Ok((file, _)) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for_each_of(file, &mut take)
}

/// Hands every line of an open file to `take`, empty ones aside.
///
/// # Errors
/// As reading a file does.
pub fn for_each_of(file: impl Read, take: &mut impl FnMut(TraceLine<'_>)) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(256 << 10, file);
    let mut line: Vec<u8> = Vec::new();
    let mut overlong = false;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            break;
        }
        let (part, used, ended) = match buffer.iter().position(|&b| b == b'\n') {
            Some(at) => (&buffer[..at], at + 1, true),
            None => (buffer, buffer.len(), false),
        };
        if line.is_empty() && ended && !overlong && part.len() <= LONGEST {
            // The usual case: the line lies in the buffer as a whole.
            hand_on(part, take);
            reader.consume(used);
            continue;
        }
        if line.len() + part.len() > LONGEST {
            overlong = true;
            line = Vec::new();
        }
        if !overlong {
            line.extend_from_slice(part);
        }
        reader.consume(used);
        if ended {
            finish(&mut line, &mut overlong, take);
        }
    }
    finish(&mut line, &mut overlong, take);
    Ok(())
}

fn finish(line: &mut Vec<u8>, overlong: &mut bool, take: &mut impl FnMut(TraceLine<'_>)) {
    if std::mem::take(overlong) {
        take(TraceLine::Overlong);
    } else {
        hand_on(line, take);
    }
    line.clear();
}

fn hand_on(line: &[u8], take: &mut impl FnMut(TraceLine<'_>)) {
    let line = line.trim_ascii();
    if !line.is_empty() {
        take(TraceLine::Whole(line));
    }
}
