//! What git ignores of cases: it is here, and a clone does not have it.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::cases::case::{Case, FoundCase};
use crate::cases::case_parts::SeenBy;
use crate::files::look;
use crate::process::git;
use crate::run::context::RunContext;
use crate::settings::Settings;
use crate::text::cut;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

/// The most files that a message names.
const MOST_NAMES: usize = 10;

/// Warns of files of these cases that git ignores. Not for lists: git takes longer to start.
pub fn case_files<'a>(root: &Path, cases: impl Iterator<Item = &'a FoundCase>) -> Option<Diagnostic> {
    let files = cases.map(|found| found.file.to_path_buf()).collect();
    warning(git::ignored_of(root, &files), "files of cases")
}

/// Warns of what the agents of these cases get of the repository, the answers of mocks too, and git ignores. Starts git only if they
/// get something.
pub fn copied_files<'a>(
    root: &Path,
    settings: &Settings,
    cases: impl Iterator<Item = &'a FoundCase>,
) -> Option<Diagnostic> {
    let of_case = |case: &'a Case| case.parts().into_iter().filter(|part| part.seen_by == SeenBy::Agent);
    let of_cases = cases.filter_map(|found| found.case().ok()).flat_map(of_case).flat_map(|part| part.files());
    let of_all = settings.mocks.iter().filter_map(|answer| Some(answer.source()?.as_path().to_path_buf()));
    let mut parts: BTreeSet<PathBuf> = of_cases.chain(of_all).collect();
    // One that cannot be asked about is git's to name.
    parts.retain(|part| look::exists(&root.join(part)).unwrap_or(true));
    let parts: Vec<&Path> = parts.iter().map(PathBuf::as_path).collect();
    warning(git::ignored(root, &parts), "files that agents get")
}

/// The same for the cases of a run; `None` if it starts no agent.
pub fn copied_by(run: &RunContext) -> Option<Diagnostic> {
    let cases = run.plan.entries.iter().map(|entry| &*entry.planned.found);
    if run.settings.live { copied_files(&run.root, &run.settings, cases) } else { None }
}

fn warning(ignored: io::Result<BTreeSet<PathBuf>>, what: &str) -> Option<Diagnostic> {
    let ignored = match ignored {
        Ok(ignored) => ignored,
        Err(error) => {
            let message = format!("whether git ignores {what} is not known: {error}");
            return Some(Diagnostic::new(Code::IgnoredCases, SourceLocation::file(".gitignore"), message));
        }
    };
    let first = ignored.first()?;
    let names: Vec<String> = ignored.iter().map(|path| path.display().to_string()).collect();
    let message = format!("git ignores {what}, so a clone has none of them: {}", cut::names(&names, MOST_NAMES));
    let problem = Diagnostic::new(Code::IgnoredCases, SourceLocation::file(first), message);
    Some(problem.help("add them to git with `git add --force`, or change .gitignore"))
}
