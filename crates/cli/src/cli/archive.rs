//! Tar files of stored runs: what engines keep of their jobs.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::iter;
use std::path::Path;

use crate::files::look::{Walk, WalkStep};
use crate::store::{RunFolder, StoreError};
use crate::text::cut;
use crate::text::problem::{About, Problem};
use flate2::bufread::MultiGzDecoder;

/// The two bytes that a gzip file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What a tar file ends with: one of its two empty blocks.
const END: [u8; 512] = [0; 512];

/// How deep a file may be. To unpack a name takes time that grows with the square of its depth.
const MAX_DEPTH: usize = 100;

/// How many times larger than the file its content may be, and how large it may be anyway, in bytes.
const MOST_RATIO: u64 = 200;
const SMALL: u64 = 1 << 30;

/// Unpacks the runs in a tar file, which gzip may have compressed, into the directory `into`.
pub fn unpack(path: &Path, into: &Path) -> Result<Vec<RunFolder>, Problem> {
    let place = path.display();
    read(path, into).map_err(|error| {
        format!("{place}: {}; expected a whole tar file, or one that gzip compressed", reasons(&error))
    })?;
    let runs = runs_below(into).about(&place)?;
    if runs.is_empty() {
        return Err(format!("{place}: no stored run in it; `tar czf {place} -C DIRECTORY-OF-RUNS ID` packs one").into());
    }
    Ok(runs)
}

fn reasons(error: &(dyn Error + 'static)) -> String {
    let errors = iter::successors(Some(error), |error| -> Option<&(dyn Error + 'static)> { (*error).source() });
    let reasons = errors.map(ToString::to_string);
    reasons.collect::<Vec<_>>().join(": ")
}

fn read(path: &Path, into: &Path) -> io::Result<()> {
    let mut file = BufReader::new(File::open(path)?);
    if file.fill_buf()?.starts_with(&GZIP) {
        let most = file.get_ref().metadata()?.len().saturating_mul(MOST_RATIO).max(SMALL);
        return unpack_entries(UnpackedBytes { source: MultiGzDecoder::new(file), remaining: most, most }, into);
    }
    // Without its end, it may be cut between two files.
    let mut end = [1; END.len()];
    file.seek(SeekFrom::End(-512)).and_then(|_| file.read_exact(&mut end))?;
    if end != END {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has no end"));
    }
    file.rewind()?;
    unpack_entries(file, into)
}

fn unpack_entries(file: impl Read, into: &Path) -> io::Result<()> {
    let mut archive = tar::Archive::new(file);
    fs::create_dir_all(into)?;
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?;
        if path.components().count() > MAX_DEPTH {
            let path = cut::start(&path.display().to_string(), 60);
            let why = format!("`{path}` is more than {MAX_DEPTH} directories deep");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        if !entry.unpack_in(into)? {
            let path = entry.path()?.display().to_string();
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("`{path}` leads out of it")));
        }
    }
    // What gzip has stored about the whole comes last.
    io::copy(&mut archive.into_inner(), &mut io::sink())?;
    Ok(())
}

/// What a gzip file unpacks to, up to a limit: a small file may fill the disk.
struct UnpackedBytes<R> {
    source: R,
    remaining: u64,
    most: u64,
}

impl<R: Read> Read for UnpackedBytes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.remaining = self.remaining.checked_sub(read as u64).ok_or_else(|| {
            let why = format!("it unpacks to more than {} bytes, {MOST_RATIO} times its size", self.most);
            io::Error::new(io::ErrorKind::FileTooLarge, why)
        })?;
        Ok(read)
    }
}

fn runs_below(folder: &Path) -> Result<Vec<RunFolder>, StoreError> {
    let (mut runs, mut failed) = (Vec::new(), None);
    let unread = Walk::new(folder).each(|entry| {
        let run = RunFolder::at(entry.path());
        if !entry.file_type().is_dir() {
            return WalkStep::Over;
        }
        match run.is_run() {
            Ok(false) => return WalkStep::Into,
            // Directories of agents below may look like anything.
            Ok(true) => runs.push(run),
            Err(error) => _ = failed.get_or_insert(error),
        }
        WalkStep::Over
    });
    failed.map_or(Ok(()), Err)?;
    unread.none()?;
    Ok(runs)
}
