//! Files of a skill or a fixture that cannot be copied for an agent.

use std::path::Path;

use crate::cases::catalog::FoundSkill;
use crate::cases::repo_files::RepoFiles;
use crate::files::material::{MaterialProblem, UnusableFile};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

/// The most problems that are reported of one skill: one cause often has many.
const MAX_PROBLEMS: usize = 10;

/// The files of a skill that cannot be copied.
pub(super) fn skill(found: &FoundSkill, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    let folder = &found.skill().folder;
    let problems = tree.material_problems(folder).into_iter().take(MAX_PROBLEMS);
    let diagnostics = problems.map(|problem| {
        let message = format!("this file of the skill {}", problem.why);
        diagnostic(&problem, SourceLocation::file(folder.join(&problem.path)), message)
    });
    diagnostics.collect()
}

/// The first problem of the directory at `path`: a case's fixture, or other `what`. `place` is where the case names it.
pub(super) fn of_case(path: &Path, place: SourceLocation, what: &str, tree: &dyn RepoFiles) -> Option<Diagnostic> {
    let problem = tree.material_problems(path).into_iter().next()?;
    let message = format!("the {what} cannot be used: {} {}", path.join(&problem.path).display(), problem.why);
    Some(diagnostic(&problem, place, message))
}

fn diagnostic(problem: &MaterialProblem, place: SourceLocation, message: String) -> Diagnostic {
    let (code, help) = match &problem.why {
        UnusableFile::Absolute(_) | UnusableFile::Leaving(_) => {
            (Code::Symlink, "copy what it points to into the directory: agents get this directory and nothing else")
        }
        UnusableFile::Broken(_) | UnusableFile::Loop(_) => {
            (Code::Symlink, "remove the link, or point it to a file of this directory")
        }
        UnusableFile::Special(_) => {
            (Code::NotCopied, "remove it: only files, directories and links between them can be copied")
        }
        UnusableFile::Unreadable(_) => (Code::NotCopied, "make it readable, or remove it"),
        UnusableFile::TooMany | UnusableFile::TooLarge(_) | UnusableFile::TooDeep => {
            (Code::NotCopied, "make the directory smaller: it is copied for every trial that runs at the same time")
        }
    };
    Diagnostic::new(code, place, message).help(help)
}
