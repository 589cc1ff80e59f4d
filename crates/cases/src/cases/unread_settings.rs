//! Files that look like the settings of this program and are not read: what they say would have no effect.

use std::path::{Path, PathBuf};

use crate::cases::case::key_words::plain;
use crate::cases::catalog::EVALS;
use crate::cases::repository::Repository;
use crate::files::{inside, look};
use crate::settings::{FILE, are_ours};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, nearest};

/// The names of settings, without their ending and without what separates words.
const NAMES: [&str; 2] = ["evals", "skillevals"];

/// The files in the root or in the directory of cases that have nearly the name of settings, and settings of ours. Another program may
/// have a file of the very name, too: this is said.
pub(super) fn unread_settings(repository: &Repository) -> Vec<Diagnostic> {
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
    paths.into_iter().filter_map(|path| problem(root, path)).collect()
}

fn problem(root: &Path, path: PathBuf) -> Option<Diagnostic> {
    let text = inside::read_text(root, &path).ok();
    let has_the_name = path.file_name() == Path::new(FILE).file_name();
    // What is no TOML, or cannot be read, may be ours by its name.
    if text.as_deref().and_then(are_ours).unwrap_or(has_the_name) {
        let message = "this file looks like the settings and is not read";
        let problem = Diagnostic::new(Code::UnreadSettings, SourceLocation::file(path), message);
        return Some(problem.help(format!("if these are settings of skill-evals, move them to {FILE}")));
    }
    has_the_name.then(|| {
        let message = "this file has the name of the settings, and hardly a key of them: it is not read";
        let problem = Diagnostic::new(Code::UnusedSetting, SourceLocation::file(path), message);
        problem
            .help(format!("if these are settings of skill-evals, move them to {FILE}, which says which keys it knows"))
    })
}

fn has_name_of_settings(path: &Path) -> bool {
    let stem = plain(&path.file_stem().unwrap_or_default().to_string_lossy());
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("toml")) && nearest(&stem, NAMES).is_some()
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}
