//! The digests of a recording's files: a recording that was changed by anything but a new recording is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use walkdir::{DirEntry, WalkDir};

use super::{At, JUDGEMENT, StoreError, read_json, sub_folders, write_json};
use crate::files::bounded;
use crate::trial::evidence::digest;

/// The file with the digests, in a recording's folder.
pub(super) const DIGESTS: &str = "digests.json";

/// The number of its format.
const DIGESTS_FORMAT: u32 = 1;

/// What to do about a recording that is not as it was made.
const REMEDY: &str = "restore the recording's directory from version control, or record the trial again";

#[derive(Debug, Serialize, Deserialize)]
struct SealedDigests {
    format: u32,
    /// How many repeats were recorded together: those in the folders beside this one, and this.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    repeats: u32,
    /// The digest of each file beside or below this one, by its path.
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

/// Checks the files of the recording in `folder` against their digests.
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
    // A judge's answer may be dropped: a trial without one says so wherever it is shown.
    if !found.contains_key(JUDGEMENT) {
        digests.files.remove(JUDGEMENT);
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

/// The repeats that lie where the recording in `folder` lies, itself among them; `None` where it was put elsewhere.
fn repeats_beside(folder: &Path) -> Option<BTreeSet<String>> {
    let is_number = |name: &str| name.parse::<u32>().is_ok();
    let is_repeat = is_number(&folder.file_name()?.to_string_lossy());
    let names = sub_folders(folder.parent().filter(|_| is_repeat)?);
    Some(names.into_iter().filter(|name| is_number(name)).collect())
}

/// The digests of all that is in and below `folder` and is not a directory, by path. Recordings have plain files alone.
fn files(folder: &Path) -> Result<BTreeMap<String, String>, StoreError> {
    let mut files = BTreeMap::new();
    // Files that other tools leave there are not part of the recording.
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
