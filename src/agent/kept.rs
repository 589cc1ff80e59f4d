//! What is kept of an agent's own session files: whole by a trial, slimmed by its recording.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::text::lines::{self, Line};

/// The file with what the sub-agents of a trial did, in its folder: each has a session file of its own, which are kept as
/// one.
pub(super) const SUB_AGENTS: &str = "subagents.jsonl";

/// What stands for a line that is too long to be read. It is no JSON, so that what was lost is lost there too.
const OVERLONG: &[u8] = b"a line that is too long to be read\n";

/// A file of evidence that is made of others, line by line. It is not there until there is something to keep.
pub(super) struct Kept<'a> {
    path: PathBuf,
    mask: &'a dyn Fn(&[u8]) -> Vec<u8>,
    file: Option<BufWriter<File>>,
}

impl<'a> Kept<'a> {
    /// A file at `path`, of lines that are passed through `mask`.
    pub(super) fn new(path: PathBuf, mask: &'a dyn Fn(&[u8]) -> Vec<u8>) -> Self {
        Self { path, mask, file: None }
    }

    /// Whether something has been kept.
    pub(super) fn is_begun(&self) -> bool {
        self.file.is_some()
    }

    /// Keeps all lines of `from` behind those kept before.
    pub(super) fn add(&mut self, from: impl Read) -> io::Result<()> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => BufWriter::new(File::create(&self.path)?),
        };
        let mut result = Ok(());
        lines::for_each_of(from, &mut |line| {
            if result.is_ok() {
                result = match line {
                    Line::Whole(line) => file.write_all(&(self.mask)(line)).and_then(|()| file.write_all(b"\n")),
                    Line::Overlong => file.write_all(OVERLONG),
                };
            }
        })?;
        self.file = Some(file);
        result
    }

    /// Ends the file.
    pub(super) fn finish(self) -> io::Result<()> {
        self.file.map_or(Ok(()), |mut file| file.flush())
    }
}

/// The lines of the file at `path` as a recording keeps them; none where there is no file.
pub(super) fn slimmed(path: &Path, slim: fn(&[u8]) -> Option<Vec<u8>>) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    lines::for_each(path, |line| match line {
        Line::Whole(line) => kept.extend(slim(line).into_iter().flatten()),
        Line::Overlong => kept.extend_from_slice(OVERLONG),
    })?;
    Ok(kept)
}
