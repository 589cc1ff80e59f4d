//! Tar files of stored runs: what engines keep of their jobs.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::iter;
use std::path::Path;

use crate::store::RunFolder;
use flate2::bufread::MultiGzDecoder;
use walkdir::WalkDir;

/// The two bytes that a gzip file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What a tar file ends with: one of its two empty blocks.
const END: [u8; 512] = [0; 512];

/// Unpacks the runs in a tar file, which gzip may have compressed, into the directory `into`.
pub fn unpack(path: &Path, into: &Path) -> Result<Vec<RunFolder>, String> {
    let place = path.display();
    read(path, into).map_err(|error| {
        format!("{place}: {}; expected a whole tar file, or one that gzip compressed", reasons(&error))
    })?;
    let runs = runs_below(into);
    if runs.is_empty() {
        return Err(format!("{place}: no stored run in it; `tar czf {place} -C DIRECTORY-OF-RUNS ID` packs one"));
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
        return unpack_entries(MultiGzDecoder::new(file), into);
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
        if !entry.unpack_in(into)? {
            let path = entry.path()?.display().to_string();
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("`{path}` leads out of it")));
        }
    }
    // What gzip has stored about the whole comes last.
    io::copy(&mut archive.into_inner(), &mut io::sink())?;
    Ok(())
}

fn runs_below(folder: &Path) -> Vec<RunFolder> {
    let mut runs = Vec::new();
    let mut entries = WalkDir::new(folder).sort_by_file_name().into_iter();
    while let Some(entry) = entries.next() {
        let Ok(entry) = entry else { continue };
        let run = RunFolder::at(entry.path());
        if entry.file_type().is_dir() && run.is_run() {
            // Directories of agents below may look like anything.
            entries.skip_current_dir();
            runs.push(run);
        }
    }
    runs
}
