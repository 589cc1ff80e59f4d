//! Files that look like the settings and are not read.

use std::path::Path;

use crate::cases::catalog::EVALS;
use crate::cases::repository::Repository;
use crate::files::look;
use crate::settings::FILE;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, nearest};

/// Such files: they would have no effect.
pub(super) fn settings(repository: &Repository) -> Vec<Diagnostic> {
    let root = &repository.root;
    let mut paths = Vec::new();
    for folder in ["", EVALS] {
        let entries = repository.noting(look::entries(&root.join(folder))).unwrap_or_default();
        paths.extend(entries.iter().map(|entry| Path::new(folder).join(entry.file_name())));
    }
    paths.retain(|path| has_name_of_settings(path) && path != Path::new(FILE));
    // Some file systems ignore case: there, `Evals.toml` is read.
    paths.retain(|path| !is_same(&root.join(path), &root.join(FILE)));
    paths.sort();
    let mut problems = Vec::new();
    for path in paths {
        let message = "this file looks like the settings and is not read";
        let problem = Diagnostic::new(Code::UnreadSettings, SourceLocation::file(path), message);
        problems.push(problem.help(format!("if these are settings of skill-evals, move them to {FILE}")));
    }
    problems
}

fn has_name_of_settings(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_toml = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"));
    name == "evals.toml" || path.starts_with(EVALS) && is_toml && nearest(&name, ["evals.toml"]).is_some()
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}
