//! The files that agents are given: those of a skill, those of a fixture.

use std::path::Path;

use crate::cases::catalog::FoundSkill;
use crate::cases::repo_files::Tree;
use crate::files::material::{Problem, Why};
use crate::text::diagnostic::{Code, Diagnostic, Place};

/// The most that are reported of one folder: one cause often has many.
const MOST: usize = 10;

/// What keeps a skill's folder from being given to an agent.
pub(super) fn skill(found: &FoundSkill, tree: &dyn Tree) -> Vec<Diagnostic> {
    let folder = &found.skill().folder;
    let problem = |problem: Problem| {
        let message = format!("this file of the skill {}", problem.why);
        diagnostic(&problem, Place::file(folder.join(&problem.path)), message)
    };
    tree.material_problems(folder).into_iter().take(MOST).map(problem).collect()
}

/// The first thing that keeps the folder at `path`, a case's fixture or other `what`, from being given to an agent; `place` is
/// where the case names it.
pub(super) fn of_case(path: &Path, place: Place, what: &str, tree: &dyn Tree) -> Option<Diagnostic> {
    let problem = tree.material_problems(path).into_iter().next()?;
    let message = format!("the {what} cannot be used: {} {}", path.join(&problem.path).display(), problem.why);
    Some(diagnostic(&problem, place, message))
}

fn diagnostic(problem: &Problem, place: Place, message: String) -> Diagnostic {
    let (code, help) = match &problem.why {
        Why::Absolute(_) | Why::Leaving(_) => {
            (Code::Symlink, "copy what it points to into the directory: agents get this directory and nothing else")
        }
        Why::Broken(_) | Why::Loop(_) => (Code::Symlink, "remove the link, or point it to a file of this directory"),
        Why::Special(_) => (Code::NotCopied, "remove it: only files, directories and links between them can be copied"),
        Why::Unreadable(_) => (Code::NotCopied, "make it readable, or remove it"),
        Why::TooMany | Why::TooLarge(_) | Why::TooDeep => {
            (Code::NotCopied, "make the directory smaller: it is copied for every trial that runs at the same time")
        }
    };
    Diagnostic::new(code, place, message).help(help)
}
