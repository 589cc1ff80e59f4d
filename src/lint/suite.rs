//! The cases of one skill, taken together.

use std::path::Path;
use std::sync::Arc;

use crate::cases::case::{Files, FoundCase, file_formats, files_of_skill};
use crate::cases::catalog::Catalog;
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::skill::SKILL_FILE;
use crate::text::diagnostic::{Code, Diagnostic, Severity, SourceLocation};

pub(super) fn check(catalog: &Catalog, slug: &str, tree: &dyn RepoFiles, strict: bool) -> Vec<Diagnostic> {
    let Some(found) = catalog.skill(slug) else { return Vec::new() };
    if !found.curated {
        let message = format!("the skill `{slug}` has only the built-in cases");
        let place = SourceLocation::file(found.skill().folder.join(SKILL_FILE));
        let open = |files: &Files| if files.are_of_skills() { files.path_of(slug) } else { files.path.into() };
        let places: Vec<String> = file_formats().map(|(_, files)| open(files).display().to_string()).collect();
        let help = format!("write {}", places.join(" or "));
        let problem = Diagnostic::new(Code::NoCases, place, message).help(help);
        return vec![if strict { Diagnostic { severity: Severity::Error, ..problem } } else { problem }];
    }
    let files = files_of_skill(slug).filter(|path| tree.kind(path) == FileKind::File);
    files.flat_map(|path| one_sided(catalog, slug, &path)).collect()
}

/// Says of a file with the cases of one skill that it only has such that trigger, or only such that do not.
fn one_sided(catalog: &Catalog, slug: &str, path: &Path) -> Vec<Diagnostic> {
    let cases: Vec<&Arc<FoundCase>> = catalog.cases_of(slug).filter(|case| &*case.file == path).collect();
    let wanted: Vec<Option<bool>> = cases.iter().map(|case| case.should_trigger()).collect();
    // A case that cannot be read may be the one that is missed; it has a problem of its own. An open quote swallows
    // every row behind it, so that it can only be in the last.
    if wanted.contains(&None) || cases.last().is_some_and(|case| case.case().is_err()) {
        return Vec::new();
    }
    [(true, Code::NoPositive, "should trigger"), (false, Code::NoNegative, "should not activate")]
        .into_iter()
        .filter(|(side, _, _)| !wanted.contains(&Some(*side)))
        .map(|(side, code, what)| {
            let message = format!("no case in which `{slug}` {what}");
            Diagnostic::new(code, SourceLocation::file(path), message)
                .help(format!("add a case with should_trigger {side}"))
        })
        .collect()
}
