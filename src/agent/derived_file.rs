//! What is kept of an agent's own session files: whole by a trial, slimmed by its recording.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::text::lines::{self, TraceLine};

/// The file with what the sub-agents of a trial did, in its folder: each has a session file of its own, which are kept as
/// one.
pub(super) const SUB_AGENTS: &str = "subagents.jsonl";

/// Most bytes that one such file is made of: an agent may leave any number of files, and of any size.
const MAX_KEPT: u64 = 512 << 20;

/// What stands for a line that is too long to be read. It is no JSON, so that what was lost is lost there too.
const OVERLONG: &[u8] = b"a line that is too long to be read\n";

/// A file of evidence that is made of others, line by line. It is not there until there is something to keep.
pub(super) struct DerivedFile<'a> {
    path: PathBuf,
    mask: &'a dyn Fn(&[u8]) -> Vec<u8>,
    file: Option<BufWriter<File>>,
    /// How many bytes more are read.
    left: u64,
}

impl<'a> DerivedFile<'a> {
    /// A file at `path`, of lines that are passed through `mask`.
    pub(super) fn new(path: PathBuf, mask: &'a dyn Fn(&[u8]) -> Vec<u8>) -> Self {
        Self { path, mask, file: None, left: MAX_KEPT }
    }

    /// Whether something has been kept.
    pub(super) fn is_begun(&self) -> bool {
        self.file.is_some()
    }

    /// Keeps all lines of `from` behind those kept before; of a file that is too large, that it was there.
    pub(super) fn add(&mut self, from: File) -> io::Result<()> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => BufWriter::new(File::create(&self.path)?),
        };
        let size = from.metadata()?.len();
        if size > self.left {
            file.write_all(OVERLONG)?;
            self.file = Some(file);
            return Ok(());
        }
        self.left -= size;
        let mut result = Ok(());
        lines::for_each_of(from.take(size), &mut |line| {
            if result.is_ok() {
                result = match line {
                    TraceLine::Whole(line) => file.write_all(&(self.mask)(line)).and_then(|()| file.write_all(b"\n")),
                    TraceLine::Overlong => file.write_all(OVERLONG),
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
pub(super) fn slimmed(path: &Path, slim: impl Fn(&[u8]) -> Option<Vec<u8>>) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    lines::for_each(path, |line| match line {
        TraceLine::Whole(line) => kept.extend(slim(line).into_iter().flatten()),
        TraceLine::Overlong => kept.extend_from_slice(OVERLONG),
    })?;
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_file_that_is_too_large_only_that_it_was_there_is_kept() {
        let folder = tempfile::tempdir().expect("a directory");
        let file = |name: &str, text: &str, size: u64| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a file");
            let file = File::options().read(true).write(true).open(path).expect("a file");
            file.set_len(size.max(text.len() as u64)).expect("a size");
            file
        };
        let mask = |line: &[u8]| line.to_vec();
        let mut kept = DerivedFile::new(folder.path().join("kept"), &mask);
        for from in [file("a", "one\n\ntwo", 0), file("b", "", MAX_KEPT), file("c", "three\n", 0)] {
            kept.add(from).expect("a kept file");
        }
        kept.finish().expect("a kept file");
        let text = std::fs::read_to_string(folder.path().join("kept")).expect("a kept file");
        assert_eq!(text, format!("one\ntwo\n{}three\n", String::from_utf8_lossy(OVERLONG)));
    }
}
