//! Directories in which everything may hold cases.

use std::ffi::OsStr;
use std::path::Path;

/// The names of directories of cases.
const CASE_FOLDERS: [&str; 3] = ["evals", "eval", "evaluations"];

/// The directory whose directory of cases is meant for what is around it.
const TESTS: &str = "tests";

/// The part of a path that is a directory of cases, with what is around it: the path above it, without [`TESTS`].
pub(super) fn case_folders(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors().skip(1).filter(|part| part.file_name().is_some_and(is_name)).map(|part| {
        let around = part.parent().unwrap_or(part);
        if around.ends_with(TESTS) { around.parent().unwrap_or(around) } else { around }
    })
}

fn is_name(name: &OsStr) -> bool {
    CASE_FOLDERS.iter().any(|known| name.eq_ignore_ascii_case(known))
}
