//! Recordings of cases that do not exist: a case was renamed or removed, and nothing replays them.

use std::path::{Path, PathBuf};

use crate::cases::catalog::Catalog;
use crate::store::{self, RECORDINGS, Recordings};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::problem::Problem;
use crate::trial::id::TrialId;

/// A warning for each recorded case that the catalog does not have, with the command that gives its recordings to the case with the
/// same prompt. What cannot be read is reported as damaged.
pub fn orphans(root: &Path, catalog: &Catalog) -> Vec<Diagnostic> {
    let mut recordings = Recordings::new(root);
    let mut problems = Vec::new();
    for (skill, id) in store::recorded_cases(root) {
        let modes = recordings.modes(&skill, &id).unwrap_or_default();
        // What could not be read may hold the case.
        let is_known = catalog
            .cases_of(&skill)
            .any(|found| found.id == id || found.source.file_problems().iter().any(Diagnostic::is_error));
        if is_known || modes.is_empty() {
            continue;
        }
        let first = modes.into_iter().find_map(|mode| {
            let trial = TrialId { skill: skill.clone(), case: id.clone(), mode, number: 1 };
            store::recording(root, &trial).meta().ok()
        });
        let Some(meta) = first else { continue };
        // Only a harness knows the cases that it adds.
        if meta.case.source.is_some_and(|source| Path::new(&source.file).extension().is_some_and(|end| end == "rs")) {
            continue;
        }
        let has_prompt = |prompt: &str| prompt == meta.case.prompt;
        let mut renamed =
            catalog.cases_of(&skill).filter(|found| found.case().is_ok_and(|case| has_prompt(&case.prompt)));
        let new = renamed.find(|found| recordings.modes(&skill, &found.id).is_ok_and(|modes| modes.is_empty()));
        let new = new.map_or("NEW-ID", |found| &found.id);
        let place = SourceLocation::file(Path::new(RECORDINGS).join(&skill).join(&id));
        let message = format!("no case `{skill}/{id}` found: nothing replays its recording");
        let help =
            format!("if it was renamed: `skill-evals record --rename {skill}/{id} {new}`; else remove the directory");
        problems.push(Diagnostic::new(Code::OrphanRecording, place, message).help(help));
    }
    problems
}

/// Gives the recordings of the case `old`, a `skill/id` that the catalog has no more, to the case `new` of the same skill. Returns
/// their directories.
///
/// # Errors
///
/// If one of the cases is not as it has to be, or the recordings cannot be moved.
pub fn rename(root: &Path, catalog: &Catalog, old: &str, new: &str) -> Result<Vec<PathBuf>, Problem> {
    let Some((skill, id)) = old.split_once('/') else {
        return Err(format!("`{old}` is not a case: write the skill too, as in `--rename greeting/{old} {new}`").into());
    };
    let new = new.strip_prefix(&format!("{skill}/")).unwrap_or(new);
    let has_case = |id: &str| catalog.cases_of(skill).any(|found| found.id == id);
    if store::recorded_modes(root, skill, id)?.is_empty() {
        return Err(format!("the case `{old}` has no recording").into());
    }
    if has_case(id) {
        return Err(format!("the case `{old}` is still there: rename it first").into());
    }
    if !has_case(new) {
        return Err(format!("no case `{skill}/{new}` found: rename the case first").into());
    }
    if !store::recorded_modes(root, skill, new)?.is_empty() {
        return Err(format!("the case `{skill}/{new}` has recordings of its own: remove one of the two").into());
    }
    Ok(store::rename_recordings(root, skill, id, new)?)
}
