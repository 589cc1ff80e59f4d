//! The cases of one skill together.

use std::path::Path;
use std::sync::Arc;

use crate::cases::case::{FoundCase, file_formats, files_of_skill};
use crate::cases::catalog::Catalog;
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::skill::SKILL_FILE;
use crate::text::diagnostic::{Code, Diagnostic, Severity, SourceLocation};

/// The problems of a skill's cases together. That it has none is as bad as `no_cases` says.
pub(super) fn check(
    catalog: &Catalog,
    slug: &str,
    tree: &dyn RepoFiles,
    no_cases: Option<Severity>,
) -> Vec<Diagnostic> {
    let Some(found) = catalog.skill(slug) else { return Vec::new() };
    if !found.curated {
        let Some(severity) = no_cases else { return Vec::new() };
        let message = format!("no file has cases of the skill `{slug}`, so the built-in ones run");
        let place = SourceLocation::file(found.skill().folder.join(SKILL_FILE));
        let paths = file_formats().map(|(_, files)| {
            if files.are_of_skills() { files.path_of(slug) } else { files.path.into() }.display().to_string()
        });
        let paths = paths.collect::<Vec<_>>().join(" or ");
        let help = format!("write {paths}; cases in Rust are not looked at here");
        let problem = Diagnostic::new(Code::NoCases, place, message).help(help);
        return vec![Diagnostic { severity, ..problem }];
    }
    let files = files_of_skill(slug).filter(|path| tree.kind(path) == FileKind::File);
    files.flat_map(|path| one_sided(catalog, slug, &path)).collect()
}

/// The problems of a file whose cases all expect the skill to activate, or all expect it not to.
fn one_sided(catalog: &Catalog, slug: &str, path: &Path) -> Vec<Diagnostic> {
    let cases: Vec<&Arc<FoundCase>> = catalog.cases_of(slug).filter(|case| &*case.file == path).collect();
    let expectations: Vec<Option<bool>> = cases.iter().map(|case| case.should_trigger()).collect();
    // A case that cannot be read has a problem of its own, and may be the missing one. An open quote swallows all later rows, so a
    // broken last row may hide cases.
    if expectations.contains(&None) || cases.last().is_some_and(|case| case.case().is_err()) {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for (expected, code, verb) in
        [(true, Code::NoPositive, "should trigger"), (false, Code::NoNegative, "should not activate")]
    {
        if !expectations.contains(&Some(expected)) {
            let message = format!("no case in which `{slug}` {verb}");
            let problem = Diagnostic::new(code, SourceLocation::file(path), message);
            problems.push(problem.help(format!("add a case with should_trigger {expected}")));
        }
    }
    problems
}
