//! The cases of one skill, taken together.

use crate::cases::catalog::{Catalog, PROMPTS};
use crate::cases::repo_files::{Kind, Tree};
use crate::cases::skill::SKILL_FILE;
use crate::text::diagnostic::{Code, Diagnostic, Place, Severity};

pub(super) fn check(catalog: &Catalog, slug: &str, tree: &dyn Tree, strict: bool) -> Vec<Diagnostic> {
    let Some(found) = catalog.skill(slug) else { return Vec::new() };
    if !found.curated {
        let message = format!("the skill `{slug}` has no cases of its own, only the built-in ones");
        let place = Place::file(found.skill().folder.join(SKILL_FILE));
        let help = format!("write evals/skills/{slug}/{PROMPTS} or a task in evals/tasks");
        let problem = Diagnostic::new(Code::NoCases, place, message).help(help);
        return vec![if strict { Diagnostic { severity: Severity::Error, ..problem } } else { problem }];
    }
    let path = found.evals().join(PROMPTS);
    if tree.kind(&path) != Kind::File {
        return Vec::new();
    }
    let rows: Vec<Option<bool>> =
        catalog.cases_of(slug).filter(|case| case.file == path).map(|case| case.should_trigger()).collect();
    // A row that cannot be read may be the one that is missed; it has a problem of its own. An open quote swallows
    // every row behind it, so that it can only be in the last.
    let last = catalog.cases_of(slug).filter(|case| case.file == path).last();
    if rows.contains(&None) || last.is_some_and(|case| case.case().is_err()) {
        return Vec::new();
    }
    [(true, Code::NoPositive, "should trigger"), (false, Code::NoNegative, "should stay quiet")]
        .into_iter()
        .filter(|(wanted, _, _)| !rows.contains(&Some(*wanted)))
        .map(|(wanted, code, what)| {
            let message = format!("no row in which `{slug}` {what}");
            Diagnostic::new(code, Place::file(&path), message).help(format!("add a row with should_trigger {wanted}"))
        })
        .collect()
}
