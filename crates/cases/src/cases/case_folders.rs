//! What a directory has by its name, and directories of cases.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// All eval material, from the repository's root.
pub const EVALS: &str = "evals";

/// What a directory of a certain name has, wherever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FolderKind {
    /// Cases of what is around it.
    Cases,
    /// Material of tests and cases: copies for agents, and their skills.
    Fixtures,
    /// What a program left or answers: results, and what stands in for commands and servers. It only looks like cases.
    Results,
    /// What is built or recorded, unless it is in a directory of cases or in a skill.
    Builds,
    /// Installed packages.
    Packages,
    /// Skills that are published only if there are no others.
    Examples,
}

/// The names that say what a directory has: every search of a repository goes by them.
const FOLDERS: [(FolderKind, &[&str]); 6] = [
    (FolderKind::Cases, &["evals", "eval", "evaluations"]),
    (FolderKind::Fixtures, &["fixture", "fixtures", "_fixtures", "testdata"]),
    (FolderKind::Results, &["results", "runs", "outputs", "reports", "snapshots", "mocks"]),
    (FolderKind::Builds, &["recordings", "target"]),
    (FolderKind::Packages, &["node_modules"]),
    (FolderKind::Examples, &["examples", "template", "templates", "test", "tests"]),
];

impl FolderKind {
    /// The kind of a directory of this name, in any case.
    pub(super) fn of(name: &OsStr) -> Option<Self> {
        let has = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
        FOLDERS.iter().find(|(_, names)| has(names)).map(|(kind, _)| *kind)
    }

    /// Its names.
    pub(super) fn names(self) -> &'static [&'static str] {
        FOLDERS.iter().find(|(kind, _)| *kind == self).map(|(_, names)| *names).unwrap_or_default()
    }

    /// Whether cases of other programs are searched in it.
    pub(super) fn may_hold_cases(path: &Path) -> bool {
        let kind = path.file_name().and_then(Self::of);
        !matches!(kind, Some(Self::Fixtures | Self::Results))
    }
}

/// The eval material of skills, from the repository's root: a directory for each, named by the skill's slug.
pub const SKILL_EVALS: &str = "evals/skills";

/// The directory of a skill's eval material, from the repository's root.
pub fn evals_folder(slug: &str) -> PathBuf {
    [SKILL_EVALS, slug].iter().collect()
}

/// The directory whose directory of cases is meant for what is around it.
pub(super) const TESTS: &str = "tests";

/// What is around each directory of cases that holds a path: the path above the directory, without [`TESTS`].
pub(super) fn case_folders(path: &Path) -> impl Iterator<Item = &Path> {
    path.parent().into_iter().flat_map(case_folders_of)
}

/// The same of a directory that may be one itself.
pub(super) fn case_folders_of(folder: &Path) -> impl Iterator<Item = &Path> {
    folder.ancestors().filter(|part| part.file_name().is_some_and(is_name)).map(around)
}

/// Whether a path is in a directory of cases.
pub(super) fn is_in_cases(path: &Path) -> bool {
    case_folders(path).next().is_some()
}

/// Whether a path is directly in a directory of cases.
pub(super) fn is_direct(path: &Path) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(is_name)
}

fn around(folder: &Path) -> &Path {
    let around = folder.parent().unwrap_or(folder);
    if around.ends_with(TESTS) { around.parent().unwrap_or(around) } else { around }
}

/// Whether a path in the directory of a skill is a directory of the skill's cases.
pub(crate) fn is_own(path: &Path) -> bool {
    path.file_name().is_some_and(is_name) && around(path).as_os_str().is_empty()
}

fn is_name(name: &OsStr) -> bool {
    FolderKind::of(name) == Some(FolderKind::Cases)
}
