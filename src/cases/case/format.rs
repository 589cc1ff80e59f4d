//! A format of cases, and which files hold its cases.

use std::path::{Path, PathBuf};

use crate::cases::case::FoundCase;
use crate::cases::layout::Layout;
use crate::text::diagnostic::{Diagnostic, SourceLocation};

/// A format of cases.
#[derive(Debug)]
pub struct CaseFormat {
    /// What messages call one of its cases.
    pub name: &'static str,
    /// The mode in which its cases run by default: the one that the format was made for.
    pub default_mode: &'static str,
    /// The files that hold its cases; `None` for built-in cases.
    pub files: Option<Files>,
}

/// Which files hold the cases of a format.
#[derive(Debug)]
pub struct Files {
    /// Their path from the repository's root. One part is open: `<skill>` is the slug of the skill under test, `<case>` the
    /// name of the only case in the file, which `--task` chooses.
    pub path: &'static str,
    /// Endings, in lowercase, of files that may hold such cases by mistake.
    pub endings: &'static [&'static str],
    /// Words that every such file has.
    pub marks: &'static [&'static str],
    /// Reads a file.
    pub parse: fn(&CaseFile, Vec<u8>, Layout<'_>) -> FileCases,
    /// Where in a file with this path and content the value of a key is, for cases that are read at once.
    pub place: fn(&Path, &[u8], &str) -> Option<SourceLocation>,
}

/// A file of cases that is not read yet.
#[derive(Debug)]
pub struct CaseFile {
    /// The file, from the repository's root.
    pub path: PathBuf,
    /// The open part of its path, in a form that can be part of a test's name.
    pub name: String,
}

/// The content of a file of cases.
#[derive(Debug, Default)]
pub struct FileCases {
    /// The cases, in the order of the file. A case that names no skill has an empty one.
    pub cases: Vec<FoundCase>,
    /// Problems of the file as a whole.
    pub problems: Vec<Diagnostic>,
}

impl CaseFormat {
    /// Whether each file holds one case, which `--task` chooses by name.
    pub fn is_task(&self) -> bool {
        self.files.as_ref().is_some_and(|files| !files.are_of_skills())
    }
}

impl Files {
    /// The path before its open part, and behind it.
    fn around(&self) -> (&'static str, &'static str) {
        let (before, rest) = self.path.split_once('<').unwrap_or((self.path, ""));
        (before, rest.split_once('>').unwrap_or_default().1)
    }

    /// Whether their paths name the skill under test.
    pub fn are_of_skills(&self) -> bool {
        self.path.contains("<skill>")
    }

    /// The directory whose entries are the open part of the path.
    pub fn folder(&self) -> &'static Path {
        Path::new(self.around().0)
    }

    /// The file with this open part.
    pub fn path_of(&self, open: &str) -> PathBuf {
        let (before, after) = self.around();
        PathBuf::from([before, open, after].concat())
    }

    /// The open part of the path that leads through this entry of [`Files::folder`], if there may be one.
    pub fn open_part<'a>(&self, entry: &'a str) -> Option<&'a str> {
        let after = self.around().1;
        if after.starts_with('/') { Some(entry) } else { entry.strip_suffix(after) }
    }

    /// Whether `path` is one of them.
    pub fn have(&self, path: &Path) -> bool {
        let (before, after) = self.around();
        let open = path.to_str().and_then(|path| path.strip_prefix(before)?.strip_suffix(after));
        open.is_some_and(|open| !open.contains('/'))
    }
}
