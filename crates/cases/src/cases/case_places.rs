//! Where the files are that a case names: one rule for every field of every format of ours.

use std::path::{Path, PathBuf};

use crate::cases::case_folders::evals_folder;
use crate::checks::{FieldForm, FieldValue, InvalidField};
use crate::files::{inside, look};
use crate::text::diagnostic::{Code, shorten};
use crate::text::name::RelativePath;
use crate::trial::input_file::{InputContent, InputFile};

/// Where the sources of one case may be: next to its file, in the directory of its skill's cases, or at the repository's root.
#[derive(Clone, Debug)]
pub struct CasePlaces {
    root: PathBuf,
    /// From the root, each once.
    directories: Vec<PathBuf>,
}

impl CasePlaces {
    /// The places of a case in `file` of the repository at `root`, about the skill with this slug.
    pub fn of(root: &Path, file: &Path, skill: &str) -> Self {
        let next_to_it = file.parent().unwrap_or(Path::new("")).to_path_buf();
        let mut directories = Vec::new();
        for directory in [next_to_it, evals_folder(skill), PathBuf::new()] {
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
        Self { root: root.to_path_buf(), directories }
    }

    /// The source that the field `name` calls `text`, from the root. A text with `/` in front starts there. A source that is
    /// nowhere is at the root: `lint` says that it is missing. One that is in two places is an error.
    pub fn find(&self, name: &str, text: &str, path: RelativePath) -> Result<RelativePath, InvalidField> {
        if text.starts_with('/') {
            return Ok(path);
        }
        // A link that leads out of the repository is there, too, as is what cannot be read: `lint` says that it cannot be used.
        let exists = |path: &RelativePath| match inside::place(&self.root, path.as_path()) {
            Ok(place) => place.stamp().map_or_else(|error| !look::is_absent(&error), |_| true),
            Err(error) => !look::is_absent(&error),
        };
        let mut found = self.directories.iter().map(|directory| path.under(directory)).filter(exists);
        let Some(first) = found.next() else { return Ok(path) };
        match found.find(|other| !self.is_one_file(&first, other)) {
            None => Ok(first),
            Some(other) => Err(InvalidField {
                code: Code::BadPath,
                message: format!("`{name}`: {:?} is two files: {first} and {other}", shorten(text)),
                help: format!("start at the repository's root: `/{first}` or `/{other}`"),
            }),
        }
    }

    /// The value of a field of this form, with its source where it is.
    pub fn found(
        &self,
        name: &str,
        form: FieldForm,
        text: &str,
        value: FieldValue,
    ) -> Result<FieldValue, InvalidField> {
        match value {
            FieldValue::Path(path) if matches!(form, FieldForm::Source | FieldForm::Sources) => {
                self.find(name, text, path).map(FieldValue::Path)
            }
            FieldValue::File(InputFile { path, content: InputContent::Source(source) }) => {
                let content = InputContent::Source(self.find(name, text, source)?);
                Ok(FieldValue::File(InputFile { path, content }))
            }
            value => Ok(value),
        }
    }

    fn is_one_file(&self, one: &RelativePath, other: &RelativePath) -> bool {
        let real = |path: &RelativePath| inside::place(&self.root, path.as_path());
        matches!((real(one), real(other)), (Ok(one), Ok(other)) if one.relative() == other.relative())
    }
}
