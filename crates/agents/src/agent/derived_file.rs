//! What trials and recordings store of an agent's own session files: a trial all lines, its recording the lines it needs.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::agent::history::is_history;
use crate::text::lines::{self, TraceLine};

/// The file of a trial with what its agent printed.
pub(super) const TRACE: &str = "trace.jsonl";

/// The file of a trial with the session files of all its sub-agents.
pub(super) const SUB_AGENTS: &str = "subagents.jsonl";

/// The most bytes that are read for one derived file. An agent may leave any number of files of any size.
const MAX_BYTES: u64 = 512 << 20;

/// Replaces a line that is too long. It is not JSON, so a decoder counts it as damaged.
const OVERLONG: &[u8] = b"a line that is too long to be read\n";

/// A file of evidence that holds the lines of other files. The first [`Self::add`] creates it.
pub(super) struct DerivedFile<'a> {
    path: PathBuf,
    mask: &'a dyn Fn(&[u8]) -> Vec<u8>,
    file: Option<BufWriter<File>>,
    /// How many more bytes may be read.
    bytes_left: u64,
}

impl<'a> DerivedFile<'a> {
    /// A file at `path`; every line passes through `mask`.
    pub(super) fn new(path: PathBuf, mask: &'a dyn Fn(&[u8]) -> Vec<u8>) -> Self {
        Self { path, mask, file: None, bytes_left: MAX_BYTES }
    }

    pub(super) fn is_begun(&self) -> bool {
        self.file.is_some()
    }

    /// Appends all lines of `from` that are of the trial. If `from` is too large, appends one unreadable line instead.
    pub(super) fn add(&mut self, from: File) -> io::Result<()> {
        self.add_kept(from, &mut |line| Some(line.to_vec()))
    }

    /// The same, with the lines that `kept` makes of them.
    pub(super) fn add_kept(&mut self, from: File, kept: &mut impl FnMut(&[u8]) -> Option<Vec<u8>>) -> io::Result<()> {
        let size = from.metadata()?.len();
        let has_room = size <= self.bytes_left;
        self.bytes_left -= if has_room { size } else { 0 };
        let mask = self.mask;
        let file = self.begun()?;
        if !has_room {
            return file.write_all(OVERLONG);
        }
        let mut result = Ok(());
        lines::for_each_of(from.take(size), &mut |line| {
            if result.is_ok() {
                result = match line {
                    TraceLine::Whole(line) if is_history(line) => Ok(()),
                    TraceLine::Whole(line) => kept(line)
                        .map_or(Ok(()), |line| file.write_all(&mask(&line)).and_then(|()| file.write_all(b"\n"))),
                    TraceLine::Overlong => file.write_all(OVERLONG),
                };
            }
        })?;
        result
    }

    /// Appends a line.
    pub(super) fn add_line(&mut self, line: &[u8]) -> io::Result<()> {
        let line = (self.mask)(line);
        let file = self.begun()?;
        file.write_all(&line).and_then(|()| file.write_all(b"\n"))
    }

    fn begun(&mut self) -> io::Result<&mut BufWriter<File>> {
        match &mut self.file {
            Some(file) => Ok(file),
            file => Ok(file.insert(BufWriter::new(File::create(&self.path)?))),
        }
    }

    /// Writes what is buffered.
    pub(super) fn finish(self) -> io::Result<()> {
        self.file.map_or(Ok(()), |mut file| file.flush())
    }
}

/// The lines of the file at `path` as a recording stores them; empty without a file.
pub(super) fn slimmed(path: &Path, slim: impl Fn(&[u8]) -> Option<Vec<u8>>) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    lines::for_each(path, |line| match line {
        TraceLine::Whole(line) => content.extend(slim(line).into_iter().flatten()),
        TraceLine::Overlong => content.extend_from_slice(OVERLONG),
    })?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_large_leaves_one_line() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = |name: &str, text: &str, size: u64| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).expect("a file");
            let file = File::options().read(true).write(true).open(path).expect("a file");
            file.set_len(size.max(text.len() as u64)).expect("a size");
            file
        };
        let mask = |line: &[u8]| line.to_vec();
        let mut derived = DerivedFile::new(directory.path().join("derived"), &mask);
        for from in [file("a", "one\n\ntwo", 0), file("b", "", MAX_BYTES), file("c", "three\n", 0)] {
            derived.add(from).expect("a derived file");
        }
        derived.finish().expect("a derived file");
        let text = std::fs::read_to_string(directory.path().join("derived")).expect("a derived file");
        assert_eq!(text, format!("one\ntwo\n{}three\n", String::from_utf8_lossy(OVERLONG)));
    }
}
