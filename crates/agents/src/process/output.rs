//! Copies a program's output to files, masked, and passes each line to a listener.

use std::fs::File;
use std::io::{self, Read, Write};
use std::time::Duration;

use serde::de::IgnoredAny;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::watch;

use super::{OutputListener, Reply};
use crate::files::bounded;
use crate::text::redact::Masker;

/// Time to read the rest of the output after the program has ended.
const DRAIN: Duration = Duration::from_secs(2);

/// Interval between two reads of a growing file.
const POLL: Duration = Duration::from_millis(20);

/// Where a program's standard output is read.
pub(super) enum StdoutSource {
    Pipe(ChildStdout),
    /// A file that the program writes.
    GrowingFile(File),
}

/// What the listener has reported so far.
#[derive(Debug, Default)]
pub(super) struct ListenerState {
    /// The program is to be ended.
    pub enough: bool,
    /// The program wrote more than is stored, and is to be ended.
    pub too_much: bool,
    /// The program has no more output.
    pub over: bool,
    /// How long the program waited for the listener.
    pub waited: Duration,
}

/// Copies both outputs until they end, or until [`DRAIN`] after `ended` is true.
pub(super) async fn pump(
    stdout: StdoutSource,
    mut stderr: ChildStderr,
    mut output: StdoutReader<'_>,
    mut errors: BoundedFile<'_>,
    opening: Option<Vec<u8>>,
    ended: watch::Receiver<bool>,
) -> io::Result<()> {
    if let Some(opening) = opening {
        output.answer(Reply { write: opening, ..Reply::default() }).await;
    }
    let copy_output = async {
        let mut buffer = vec![0; 64 << 10];
        match stdout {
            StdoutSource::Pipe(mut pipe) => {
                let drained = drained(ended.clone());
                tokio::pin!(drained);
                loop {
                    let read = tokio::select! { read = pipe.read(&mut buffer) => read?, () = &mut drained => 0 };
                    match read {
                        0 => break,
                        n => output.take(&buffer[..n]).await?,
                    }
                }
            }
            StdoutSource::GrowingFile(mut file) => loop {
                // Checked before the read, so that the last read returns all the rest.
                let is_last = *ended.borrow();
                match file.read(&mut buffer)? {
                    0 if is_last => break,
                    0 => tokio::time::sleep(POLL).await,
                    n => {
                        output.take(&buffer[..n]).await?;
                        // A file is always ready. Without this, the timeout and the signals are never polled.
                        tokio::task::yield_now().await;
                    }
                }
            },
        }
        output.finish().await
    };
    let copy_errors = async {
        let drained = drained(ended.clone());
        tokio::pin!(drained);
        let mut buffer = vec![0; 16 << 10];
        loop {
            let read = tokio::select! { read = stderr.read(&mut buffer) => read?, () = &mut drained => 0 };
            match read {
                0 => return errors.finish(),
                n => {
                    errors.take(&buffer[..n])?;
                }
            }
        }
    };
    let (first, second): (io::Result<()>, io::Result<()>) = tokio::join!(copy_output, copy_errors);
    first.and(second)
}

/// Returns [`DRAIN`] after the program has ended.
async fn drained(mut ended: watch::Receiver<bool>) {
    // An error means that the sender was dropped, so the program has ended.
    let _ = ended.wait_for(|ended| *ended).await;
    tokio::time::sleep(DRAIN).await;
}

/// Copies standard output.
pub(super) struct StdoutReader<'a> {
    pub state: watch::Sender<ListenerState>,
    pub store: BoundedFile<'a>,
    pub listener: &'a mut dyn OutputListener,
    /// The current line.
    pub line: LineBuffer,
    pub input: Option<ChildStdin>,
}

impl StdoutReader<'_> {
    async fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        if !self.store.take(piece)? {
            self.state.send_modify(|state| state.too_much = true);
            return Ok(());
        }
        for part in piece.split_inclusive(|&b| b == b'\n') {
            self.line.push(part);
            if part.ends_with(b"\n") {
                self.pass_line().await;
            }
        }
        // A whole object needs no line break: the program may wait for the answer before it writes one.
        let line = self.line.line();
        if line.ends_with(b"}") && serde_json::from_slice::<IgnoredAny>(line).is_ok() {
            self.pass_line().await;
        }
        Ok(())
    }

    async fn finish(&mut self) -> io::Result<()> {
        self.store.finish()?;
        self.pass_line().await;
        Ok(())
    }

    async fn pass_line(&mut self) {
        let line = self.line.line();
        if line.is_empty() {
            return self.line.clear();
        }
        let reply = if self.line.is_cut() { self.listener.long_line(line) } else { self.listener.line(line) };
        self.answer(reply).await;
        self.line.clear();
    }

    /// Ignores a failed write: the program no longer reads, and its exit status says why.
    async fn answer(&mut self, reply: Reply) {
        // First: the program's time may be up since.
        self.state.send_modify(|state| state.waited += reply.waited);
        if let Some(input) = &mut self.input {
            let _ = input.write_all(&reply.write).await;
            let _ = input.flush().await;
        }
        if reply.close {
            self.input = None;
        }
        if reply.end || reply.over {
            self.state.send_modify(|state| {
                state.enough |= reply.end;
                state.over |= reply.over;
            });
        }
    }
}

/// A file of masked output, of a limited size. What comes after that is left out, and the end of the file says so.
pub(super) struct BoundedFile<'a> {
    file: File,
    masker: Masker<'a>,
    most: u64,
    remaining: u64,
    is_cut: bool,
}

impl<'a> BoundedFile<'a> {
    /// At most `most` bytes are stored.
    pub(super) fn new(file: File, masker: Masker<'a>, most: u64) -> Self {
        Self { file, masker, most, remaining: most, is_cut: false }
    }

    /// Whether there was room for the piece.
    fn take(&mut self, piece: &[u8]) -> io::Result<bool> {
        if self.is_cut {
            return Ok(false);
        }
        let masked = self.masker.push(piece);
        self.write(&masked)
    }

    fn finish(&mut self) -> io::Result<()> {
        let masked = self.masker.finish();
        self.write(&masked)?;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<bool> {
        let stored = bytes.len().min(usize::try_from(self.remaining).unwrap_or(usize::MAX));
        self.remaining -= stored as u64;
        self.file.write_all(&bytes[..stored])?;
        if stored < bytes.len() && !self.is_cut {
            self.is_cut = true;
            writeln!(self.file, "\n[cut: at most {} are stored]", bounded::bytes(self.most))?;
        }
        Ok(!self.is_cut)
    }
}

// A line of output of any length in bounded memory. A line that is too long loses the ends of its long strings, so that it stays
// the JSON that it was: what decides something may stand behind them.

/// Maximum length of a line that is kept whole, in bytes, and of what is kept of a longer one.
const LONGEST_LINE: usize = 1 << 20;

/// Maximum length of a string in a line that is too long, in bytes.
const LONGEST_STRING: usize = 4 << 10;

#[derive(Debug, Default)]
pub(super) struct LineBuffer {
    bytes: Vec<u8>,
    /// Cuts a line that is too long.
    cutter: Option<StringCutter>,
}

impl LineBuffer {
    pub(super) fn push(&mut self, part: &[u8]) {
        if self.cutter.is_none() {
            if self.bytes.len() + part.len() <= LONGEST_LINE {
                return self.bytes.extend_from_slice(part);
            }
            let start = std::mem::take(&mut self.bytes);
            let cutter = self.cutter.insert(StringCutter::default());
            cutter.copy(&start, &mut self.bytes);
        }
        if let Some(cutter) = &mut self.cutter {
            cutter.copy(part, &mut self.bytes);
        }
    }

    /// What is kept, without white space at its end.
    pub(super) fn line(&self) -> &[u8] {
        self.bytes.trim_ascii_end()
    }

    /// Whether the line was too long, and is not whole.
    pub(super) fn is_cut(&self) -> bool {
        self.cutter.is_some()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.cutter = None;
    }
}

/// Copies JSON except for what is too long of its strings.
#[derive(Debug, Default)]
struct StringCutter {
    in_string: bool,
    /// How long the string is, in bytes.
    length: usize,
    escape: Escape,
    /// Whether the rest of the string is left out.
    is_cut: bool,
}

/// What of an escape in a string is still to come.
#[derive(Clone, Copy, Debug, Default)]
enum Escape {
    #[default]
    Nothing,
    Kind,
    Digits(u8),
}

impl StringCutter {
    fn copy(&mut self, part: &[u8], to: &mut Vec<u8>) {
        for &byte in part {
            if self.keeps(byte) && to.len() < LONGEST_LINE {
                to.push(byte);
            }
        }
    }

    fn keeps(&mut self, byte: u8) -> bool {
        if !self.in_string {
            if byte == b'"' {
                *self = Self { in_string: true, ..Self::default() };
            }
            return true;
        }
        let is_continued = byte & 0b1100_0000 == 0b1000_0000;
        if matches!(self.escape, Escape::Nothing) && !is_continued {
            if byte == b'"' {
                self.in_string = false;
                return true;
            }
            self.is_cut |= self.length >= LONGEST_STRING;
        }
        self.length += 1;
        self.escape = match (self.escape, byte) {
            (Escape::Nothing, b'\\') => Escape::Kind,
            (Escape::Kind, b'u') => Escape::Digits(4),
            (Escape::Digits(left), _) if left > 1 => Escape::Digits(left - 1),
            _ => Escape::Nothing,
        };
        !self.is_cut
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;
    use crate::text::redact::Redactor;

    #[test]
    fn a_file_of_output_ends_where_it_is_cut_and_says_so() {
        let redactor = Redactor::new([]);
        for (pieces, kept, stored) in [
            (&["0123456789"][..], true, "0123456789"),
            (&["01234567", "89"], true, "0123456789"),
            (&["0123456789", "x", "y"], false, "0123456789\n[cut: at most 10 bytes are stored]\n"),
            (&["0123456789xyz"], false, "0123456789\n[cut: at most 10 bytes are stored]\n"),
        ] {
            let file = tempfile::NamedTempFile::new().expect("a file");
            let mut output = BoundedFile::new(file.reopen().expect("a file"), redactor.stream(), 10);
            for piece in pieces {
                output.take(piece.as_bytes()).expect("room on the disk");
            }
            output.finish().expect("room on the disk");
            assert_eq!(!output.is_cut, kept, "{pieces:?}");
            assert_eq!(fs::read_to_string(file.path()).expect("a file"), stored, "{pieces:?}");
        }
    }

    /// What is kept of a line that comes in pieces of this size.
    fn kept(line: &[u8], size: usize) -> LineBuffer {
        let mut buffer = LineBuffer::default();
        line.chunks(size).for_each(|piece| buffer.push(piece));
        buffer
    }

    #[test]
    fn a_long_line_stays_json_with_the_starts_of_its_long_strings_wherever_the_pieces_and_characters_end() {
        for text in ["x", "é", "\u{1F600}", "\"\\", "\u{1}", "a\u{1}é\\"] {
            let line =
                json!({ "result": text.repeat(LONGEST_LINE), "type": "result", "n": [1, { "a": "b" }] }).to_string();
            for size in [1 << 20, 16 << 10, 4097] {
                let buffer = kept(line.as_bytes(), size);
                let value: Value = serde_json::from_slice(buffer.line()).expect("JSON");
                assert!(buffer.is_cut() && value["type"] == "result" && value["n"][1]["a"] == "b", "{text:?} {size}");
                let start = value["result"].as_str().expect("a string");
                assert!((LONGEST_STRING / 6..LONGEST_STRING + 6).contains(&start.len()), "{text:?}: {}", start.len());
                assert!(text.repeat(LONGEST_STRING).starts_with(start), "{text:?}");
            }
        }
    }

    #[test]
    fn a_line_of_the_longest_length_is_whole_and_what_is_no_json_is_bounded() {
        let line = vec![b'x'; LONGEST_LINE];
        assert!(!kept(&line, 1000).is_cut() && kept(&line, 1000).line() == line);
        for text in ["x", "\"x\" "] {
            let mut buffer = kept(text.repeat(2 * LONGEST_LINE).as_bytes(), 1000);
            assert!(buffer.is_cut() && buffer.line().len() <= LONGEST_LINE);
            buffer.clear();
            buffer.push(b"{}\n");
            assert!(!buffer.is_cut() && buffer.line() == b"{}");
        }
    }
}
