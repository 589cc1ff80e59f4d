//! The digests of a recording's files: a recording that was changed by anything but a new recording is refused.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use walkdir::{DirEntry, WalkDir};

use super::{At, JUDGEMENT, StoreError, read_json, write_json};
use crate::files::bounded;
use crate::trial::evidence::digest;

/// The file with the digests, in a recording's folder.
const DIGESTS: &str = "digests.json";

/// The number of its format.
const DIGESTS_FORMAT: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct Digests {
    format: u32,
    /// The digest of each file beside or below this one, by its path.
    files: BTreeMap<String, String>,
}

/// Writes the digests of the files in `folder`.
pub(super) fn seal(folder: &Path) -> Result<(), StoreError> {
    write_json(&folder.join(DIGESTS), &Digests { format: DIGESTS_FORMAT, files: files(folder)? })
}

/// Checks the files in `folder` against their digests. A folder without digests, such as a trial's own, passes.
///
/// # Errors
/// When a file differs from its digest, is missing, or is new.
pub(super) fn verify(folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(DIGESTS);
    if !path.exists() {
        return Ok(());
    }
    let mut digests: Digests = read_json(&path)?;
    super::check_format(&path, digests.format, DIGESTS_FORMAT)?;
    let found = files(folder)?;
    // A judge's answer may be dropped: a trial without one says so wherever it is shown.
    if !found.contains_key(JUDGEMENT) {
        digests.files.remove(JUDGEMENT);
    }
    let names = digests.files.keys().chain(found.keys());
    let changed = names.filter(|name| digests.files.get(*name) != found.get(*name)).min();
    match changed {
        None => Ok(()),
        Some(name) => {
            let why = format!("it is not as it was recorded, by {DIGESTS} beside it; record the trial again");
            Err(StoreError::Damaged { path: folder.join(name), why })
        }
    }
}

/// The digests of the plain files in and below `folder`, by path.
fn files(folder: &Path) -> Result<BTreeMap<String, String>, StoreError> {
    let mut files = BTreeMap::new();
    // Files that other tools leave there are not part of the recording.
    let ours = |entry: &DirEntry| entry.depth() != 1 || !entry.file_name().to_string_lossy().starts_with('.');
    for entry in WalkDir::new(folder).into_iter().filter_entry(ours) {
        let entry = entry.map_err(std::io::Error::from).at(folder)?;
        let name = entry.path().strip_prefix(folder).unwrap_or(entry.path()).to_string_lossy().into_owned();
        if name != DIGESTS && entry.file_type().is_file() {
            files.insert(name, digest(&bounded::read_at_most(entry.path(), 1 << 30).at(entry.path())?));
        }
    }
    Ok(files)
}
