//! Where a repository's skills are, and how its cases are written.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::settings::{CheckSettings, FILE, LintSettings, OwnFormat, PathGlobs, Settings, WrittenSettings};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::name::RelativePath;

/// Of these files of a repository with this root, those that git ignores.
pub type IgnoredFiles = fn(&Path, &BTreeSet<PathBuf>) -> io::Result<BTreeSet<PathBuf>>;

/// The settings that decide which files of a repository are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout<'a> {
    /// The directories that hold skills; `None` for the default ones.
    pub skill_roots: Option<&'a [RelativePath]>,
    /// What holds no cases.
    pub not_cases: Option<&'a PathGlobs>,
    /// What the settings file has; `None` if there is none.
    pub written: Option<&'a WrittenSettings>,
    /// How bad each problem is; `None` for the default levels.
    pub levels: Option<&'a LintSettings>,
    /// Columns of prompts.csv that are the user's own and are not read.
    pub own_columns: &'a [String],
    /// Keys and columns that only label, in files of every format.
    pub own_keys: &'a [String],
    /// The formats that the user describes.
    pub formats: &'a [OwnFormat],
    /// The scripts that check every case, or every case of a skill.
    pub checks: Option<&'a CheckSettings>,
    /// Which of these files of the repository with this root git ignores; `None` if nobody asks git.
    pub ignored: Option<IgnoredFiles>,
}

impl<'a> Layout<'a> {
    /// The layout by these settings.
    pub fn of(settings: &'a Settings) -> Self {
        Self {
            skill_roots: settings.skill_roots.as_deref(),
            not_cases: Some(&settings.not_cases),
            written: Some(&settings.written),
            levels: Some(&settings.lint),
            own_columns: &settings.own_columns,
            own_keys: &settings.own_keys,
            formats: &settings.formats,
            checks: Some(&settings.checks),
            ignored: None,
        }
    }

    /// Whether the settings say that what is at this path holds no cases.
    pub(super) fn leaves_out(self, path: &Path) -> bool {
        self.not_cases.is_some_and(|globs| globs.have(path))
    }

    /// The warnings about patterns of `not_cases` that leave out none of the repository's files: these `files` are left out.
    pub(super) fn unused_patterns(self, files: &[PathBuf]) -> Vec<Diagnostic> {
        let unused = self.not_cases.into_iter().flat_map(|globs| globs.unused(files));
        let warning = |pattern: &str| {
            let message = format!("`not_cases` has {pattern:?}, which leaves out nothing that may hold cases");
            let problem = Diagnostic::new(Code::UnusedSetting, SourceLocation::file(FILE), message);
            problem.help("a pattern is a path from the repository's root")
        };
        unused.map(warning).collect()
    }

    /// These problems with the severities of the settings.
    pub(super) fn judged(self, problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
        match self.levels {
            Some(levels) => levels.judged(problems),
            None => problems,
        }
    }
}
