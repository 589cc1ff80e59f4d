//! The digests of a recording's files. A recording that was changed by anything but a new recording is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use walkdir::{DirEntry, WalkDir};

use super::{At, JUDGMENT, StoreError, read_json, sub_folders, write_json};
use crate::files::bounded;
use crate::trial::evidence::digest;

/// The file with the digests, in a recording's directory.
pub(super) const DIGESTS: &str = "digests.json";

const DIGESTS_FORMAT: u32 = 1;

/// What to do about a changed recording.
const REMEDY: &str = "restore the recording's directory from version control, or record the trial again";

#[derive(Debug, Serialize, Deserialize)]
struct SealedDigests {
    format: u32,
    /// How many repeats were recorded together: this one and those next to it.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    repeats: u32,
    /// The digest of each file of the recording, by its path.
    files: BTreeMap<String, String>,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_one(repeats: &u32) -> bool {
    *repeats == 1
}

/// Writes the digests of the files in `folder`, one of `repeats` that are recorded together.
pub(super) fn seal(folder: &Path, repeats: u32) -> Result<(), StoreError> {
    write_json(&folder.join(DIGESTS), &SealedDigests { format: DIGESTS_FORMAT, repeats, files: files(folder)? })
}

/// Checks the files of the recording in `folder` against their digests, and that no repeat is missing or new.
pub(super) fn verify(folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(DIGESTS);
    if !path.exists() {
        let why = format!("it is missing, and without it nothing shows that the recording is whole; {REMEDY}");
        return Err(StoreError::Damaged { path, why });
    }
    let mut digests: SealedDigests = read_json(&path)?;
    super::check_format(&path, digests.format, DIGESTS_FORMAT)?;
    let wanted: BTreeSet<String> = (1..=digests.repeats).map(|number| number.to_string()).collect();
    if let Some(beside) = repeats_beside(folder).filter(|beside| *beside != wanted) {
        let here = beside.into_iter().collect::<Vec<_>>().join(", ");
        let why = format!("repeats 1 to {} were recorded together, and {here} are here; {REMEDY}", digests.repeats);
        return Err(StoreError::Damaged { path: folder.parent().unwrap_or(folder).to_path_buf(), why });
    }
    let found = files(folder)?;
    // A judge's answer may be removed: every report of a trial shows whether it has one.
    if !found.contains_key(JUDGMENT) {
        digests.files.remove(JUDGMENT);
    }
    let names = digests.files.keys().chain(found.keys());
    let changed = names.filter(|name| digests.files.get(*name) != found.get(*name)).min();
    match changed {
        None => Ok(()),
        Some(name) => {
            let what = match (digests.files.contains_key(name), found.contains_key(name)) {
                (true, false) => "it is missing",
                (false, _) => "it is not part of the recording",
                _ => "it is not as it was recorded",
            };
            let why = format!("{what}, by {DIGESTS} of the recording; {REMEDY}");
            Err(StoreError::Damaged { path: folder.join(name), why })
        }
    }
}

/// The repeats next to the recording in `folder`, including itself; `None` if it is not in a directory of repeats.
fn repeats_beside(folder: &Path) -> Option<BTreeSet<String>> {
    folder.file_name()?.to_string_lossy().parse::<u32>().ok()?;
    let names = sub_folders(folder.parent()?).into_iter();
    Some(names.filter(|name| name.parse::<u32>().is_ok()).collect())
}

/// The digests of all files in `folder`, by path. Recordings have regular files only.
fn files(folder: &Path) -> Result<BTreeMap<String, String>, StoreError> {
    let mut files = BTreeMap::new();
    // Hidden files come from other tools.
    let ours = |entry: &DirEntry| entry.depth() != 1 || !entry.file_name().to_string_lossy().starts_with('.');
    for entry in WalkDir::new(folder).into_iter().filter_entry(ours) {
        let entry = entry.map_err(std::io::Error::from).at(folder)?;
        let name = entry.path().strip_prefix(folder).unwrap_or(entry.path()).to_string_lossy().into_owned();
        if entry.file_type().is_file() && name != DIGESTS {
            files.insert(name, digest(&bounded::read_at_most(entry.path(), 1 << 30).at(entry.path())?));
        } else if !entry.file_type().is_dir() && name != DIGESTS {
            files.insert(name, "not a regular file".to_owned());
        }
    }
    Ok(files)
}
