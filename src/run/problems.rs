//! All problems of a repository that can be found without starting anything.

use crate::cases::catalog::Catalog;
use crate::cases::mocks;
use crate::cases::repository::{Layout, Repository};
use crate::grade::rubric;
use crate::lint;
use crate::process::git;
use crate::run::{ignored, stubs};
use crate::settings::Settings;
use crate::store;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

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
    problems.extend(ignored::case_files(&repository.root, cases()));
    problems.extend(ignored::copied_files(&repository.root, settings, cases()));
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
