//! The files in which the skills of two sides differ, as far as they are texts.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

use serde::Serialize;

use crate::files::beneath::{self, WalkControl};
use crate::files::bounded;
use crate::skill::SKILL_FILE;
use crate::text::redact::Redactor;

/// The longest file whose text is shown, in bytes.
const MAX_FILE: u64 = 128 << 10;

/// The most bytes of all texts together.
const MAX_TEXTS: usize = 1 << 20;

/// The most files that are shown.
const MAX_FILES: usize = 200;

/// A file of a skill that differs between two sides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChangedText {
    /// The path in the directory of all skills: the skill's slug comes first.
    pub path: String,
    /// The content in the baseline; absent if the file is not there, or is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The content in the candidate; absent if the file is not there, or is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Why the content is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The files that differ between two copies of the skills, each SKILL.md before the other files of its skill. Secrets are
/// masked.
pub fn changed_texts(before: &Path, after: &Path, redactor: &Redactor) -> Vec<ChangedText> {
    let mut paths = BTreeSet::new();
    for folder in [before, after] {
        // Without the directory, the files do not exist.
        let _ = beneath::walk(folder, Path::new(""), |_| false, &mut |file| {
            let is_other = file.path.file_name() != Some(OsStr::new(SKILL_FILE));
            paths.insert((file.path.iter().next().map(OsStr::to_owned), is_other, file.path.to_path_buf()));
            WalkControl::On
        });
    }
    let mut left = MAX_TEXTS;
    let mut changed = Vec::new();
    for (_, _, path) in paths {
        let [old, new] = [before, after].map(|folder| bounded::digest(&folder.join(&path)).ok());
        if old == new {
            continue;
        }
        if changed.len() == MAX_FILES {
            break;
        }
        let mut file = ChangedText { path: path.display().to_string(), ..ChangedText::default() };
        let text = |folder: &Path| match beneath::read(folder, &path, MAX_FILE) {
            Ok(bytes) => {
                String::from_utf8(redactor.mask(&bytes).into_owned()).map(Some).map_err(|_| "not text".to_owned())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
        };
        match (text(before), text(after)) {
            (Ok(old), Ok(new)) => {
                let length: usize = [&old, &new].into_iter().flatten().map(String::len).sum();
                if length <= left {
                    left -= length;
                    (file.before, file.after) = (old, new);
                } else {
                    file.why = Some("the changes before it are long".to_owned());
                }
            }
            (Err(why), _) | (_, Err(why)) => file.why = Some(why),
        }
        changed.push(file);
    }
    changed
}
