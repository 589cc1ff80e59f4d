//! All problems of a repository that can be found without starting anything.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::cases::case::{Case, FoundCase};
use crate::cases::case_parts::SeenBy;
use crate::cases::catalog::Catalog;
use crate::cases::mocks;
use crate::cases::repository::{Layout, Repository};
use crate::files::look;
use crate::grade::rubric;
use crate::process::git;
use crate::run::planned::PlannedRun;
use crate::run::stubs;
use crate::settings::Settings;
use crate::text::cut;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::{lint, store};

/// All problems that `lint` looks for, before the settings judge them.
pub fn all(
    repository: &Repository,
    settings: &Settings,
    catalog: &Catalog,
    options: lint::LintOptions,
) -> Vec<Diagnostic> {
    let mut problems = lint::all(catalog, repository, options);
    problems.extend(settings.repetition.unknown_skills(&catalog.slugs()));
    problems.extend(lint::unknown_plugins(settings, catalog));
    let cases = || catalog.cases.iter().map(AsRef::as_ref);
    problems.extend(case_files(&repository.root, cases()));
    problems.extend(copied_files(&repository.root, settings, cases()));
    problems.extend(stubs::problems(&repository.root, catalog));
    match store::damaged_recordings(&repository.root) {
        Ok(damaged) => problems.extend(damaged.into_iter().map(|(_, problem)| problem)),
        Err(error) => {
            let place = SourceLocation::file(store::RECORDINGS);
            problems.push(Diagnostic::new(Code::DamagedRecording, place, error.to_string()));
        }
    }
    problems.extend(lint::repetition(catalog, &settings.repetition, repository));
    problems.extend(mocks::commands(repository, settings.mocks.iter()).1);
    problems.extend(lint::unknown_mocks(catalog, &settings.mocks, repository));
    // A case or the command line may ask for a judge.
    problems.extend(rubric::read(&repository.root, settings).err().map(|problem| *problem));
    let layout = Layout { ignored: Some(git::ignored_of), ..Layout::of(settings) };
    let unread: Vec<_> = repository.unread(layout).into_iter().filter(|unread| !problems.contains(unread)).collect();
    problems.extend(unread);
    problems
}

// What git ignores of cases: it is here, and a clone does not have it.

/// The most files that a message names.
const MOST_NAMES: usize = 10;

/// Warns of files of these cases that git ignores. Not for lists: git takes longer to start.
pub fn case_files<'a>(root: &Path, cases: impl Iterator<Item = &'a FoundCase>) -> Option<Diagnostic> {
    let files = cases.map(|found| found.file.to_path_buf()).collect();
    warning(git::ignored_of(root, &files), "files of cases")
}

/// Warns of what the agents of these cases get of the repository, the answers of mocks too, and git ignores. Starts git only if they
/// get something.
fn copied_files<'a>(
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
pub fn copied_by(run: &PlannedRun) -> Option<Diagnostic> {
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
