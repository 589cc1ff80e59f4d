//! The repository that a command is about: found, read, and its settings.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::select::ALONE;
use super::{CliResultOf, fork, output};
use crate::cases::case::FoundCase;
use crate::cases::catalog::Catalog;
use crate::cases::repository::{Repository, Scope};
use crate::engine::{Loaded, gate};
use crate::files::{inside, look};
use crate::lint::{self, LintOptions};
use crate::process::git;
use crate::run::custom_check::{self, CustomChecks};
use crate::run::default_modes::{self, SubstituteMode};
use crate::run::preflight;
use crate::settings::load;
use crate::settings::{FILE, PathGlobs, Settings, Trust, ignored_keys};
use crate::skill::SKILL_FILE;
use crate::store::{self, RECORDINGS};
use crate::text::diagnostic::{Code, Diagnostic, Level, Severity, grouped, once};
use crate::text::escape;
use crate::text::problem::Problem;

const NO_SKILLS: &str = "go to a repository with skills, name one with --root, or start one with `skill-evals init`";

#[derive(Args)]
pub struct RepositoryArgs {
    /// Repository root [default: `SKILL_EVALS_ROOT`, else the nearest parent directory with `evals` or
    /// skills]
    #[arg(long, value_name = "DIR", group = ALONE)]
    pub root: Option<PathBuf>,
    /// Start nothing of the repository outside a sandbox; `gate` does so for forks
    #[arg(long)]
    pub untrusted: bool,
    /// Whether the settings are those of a gate, and what it compares with, if that is named.
    #[arg(skip)]
    pub for_gate: bool,
    #[arg(skip)]
    pub gate_base: Option<String>,
}

/// The text of the settings file in a commit, if it has one. A checkout may have the commit without all its files: other settings must
/// not take the place of those that are not there.
fn settings_of(root: &Path, commit: &str) -> CliResultOf<Option<String>> {
    if let Some(bytes) = git::stored_file(root, commit, FILE) {
        return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
    }
    let files = git::files(root, commit)?;
    if files.iter().any(|file| file == Path::new(FILE)) {
        return Err(format!(
            "{FILE} of the base {commit} cannot be read; fetch it, without a filter such as `blob:none`"
        )
        .into());
    }
    Ok(None)
}

impl RepositoryArgs {
    pub fn open(&self) -> io::Result<Repository> {
        let variable = std::env::var_os("SKILL_EVALS_ROOT").filter(|root| !root.is_empty()).map(PathBuf::from);
        let Some(root) = self.root.clone().or(variable) else {
            let start = std::env::current_dir()?;
            let found = Repository::around(&start)?.ok_or_else(|| {
                not_found(format!("no skills in {} or the repository around it; {NO_SKILLS}", start.display()))
            });
            return found.and_then(with_own_recordings);
        };
        let root = std::path::absolute(root)?;
        // A typing error must not look like a repository without problems.
        if !look::is_usable_directory(&root) {
            let what = if look::is_usable(&root) { "is not a directory" } else { "does not exist" };
            return Err(not_found(format!("{} {what}: name the root of a repository with skills", root.display())));
        }
        let found = Repository::at(&root)?;
        let found = found.ok_or_else(|| not_found(format!("no skills found in {}; {NO_SKILLS}", root.display())));
        found.and_then(with_own_recordings)
    }

    /// Whether the repository is believed: by the option, else the environment. A gate does not believe a fork.
    pub fn trust(&self) -> Trust {
        if self.untrusted {
            return Trust::Untrusted;
        }
        let by_default = if self.for_gate && fork::is_checked_out() { Trust::Untrusted } else { Trust::Trusted };
        Trust::of_environment().unwrap_or(by_default)
    }

    /// The repository, its settings and its catalog. Warns of each skill and each file of cases that is not read.
    pub fn read(&self) -> CliResultOf<Loaded> {
        let loaded = self.read_quietly()?;
        let is_said = |problem: &&Diagnostic| {
            let leaves_out = matches!(
                problem.code,
                Code::SkillRoot
                    | Code::LinkedFolder
                    | Code::Unreadable
                    | Code::UnknownSkill
                    | Code::MisplacedCases
                    | Code::OrphanCases
            );
            problem.is_error() || leaves_out && problem.severity != Severity::Allowed
        };
        let problems = file_problems(&loaded.settings, &loaded.catalog);
        for problem in grouped(problems.clone()).iter().filter(is_said) {
            writeln!(output::stderr(), "{}", problem_line(problem))?;
        }
        for line in ways_out(&problems, &loaded) {
            writeln!(output::stderr(), "{line}")?;
        }
        Ok(loaded)
    }

    fn settings(&self, repository: &Repository) -> CliResultOf<Settings> {
        let (root, trust) = (&repository.root, self.trust());
        let base = if self.for_gate && trust == Trust::Untrusted {
            let (commit, _) = gate::base(repository, self.gate_base.as_deref())?;
            settings_of(root, &commit)?
        } else {
            None
        };
        let settings =
            if self.for_gate { load::read_for_gate(root, trust, base.as_deref())? } else { load::read(root, trust)? };
        let ignored = match load::text(root)?.filter(|_| trust == Trust::Untrusted) {
            Some(text) => ignored_keys(&text, base.as_deref()),
            None => Vec::new(),
        };
        if !ignored.is_empty() {
            let instead = if self.for_gate { "that of the base counts" } else { "name them on the command line" };
            let keys = ignored.join("`, `");
            output::warn(&format!("{FILE} is not trusted, and these keys of it do not count: `{keys}`; {instead}"))?;
        }
        Ok(settings)
    }

    /// The same without warnings. Cases of which nobody chose the mode are in that of the recordings, else of an agent that is here.
    pub fn read_quietly(&self) -> CliResultOf<Loaded> {
        let repository = self.open()?;
        let mut settings = self.settings(&repository)?;
        let catalog = Arc::new(repository.catalog(preflight::layout(&settings), Scope::All));
        let modes = default_modes::substitutes(&repository.root, &settings, &catalog);
        for SubstituteMode { default, mode, .. } in modes {
            settings.default_modes.insert(default, mode.name.clone());
        }
        Ok(Loaded { repository, settings, catalog })
    }
}

/// The problems of whole files of skills and cases, and of what evals.toml trusts.
pub fn file_problems(settings: &Settings, catalog: &Catalog) -> Vec<Diagnostic> {
    let of_cases = catalog.cases.iter().flat_map(|found| found.source.file_problems().to_vec());
    once(preflight::repository_problems(settings, catalog).into_iter().chain(of_cases))
}

/// The most files that a line of settings names.
const MOST_FILES: usize = 10;

/// The lines of settings with which one can go on in spite of these errors: they are warnings then, or their files are left out. Each
/// was tried: it lifts an error, and loses no case that runs.
pub fn ways_out(problems: &[Diagnostic], loaded: &Loaded) -> Vec<String> {
    let settings = &loaded.settings;
    let errors = problems.iter().filter(|problem| problem.is_error());
    let (fixed, others): (Vec<_>, Vec<_>) = errors.partition(|error| error.code.level() == Level::Fixed);
    let rules: BTreeSet<&str> = others.iter().map(|error| error.code.as_str()).collect();
    let files = left_out(&fixed.iter().map(|error| &*error.place.path).collect(), loaded);
    let more = files.len().saturating_sub(MOST_FILES);
    let more = if more == 0 { String::new() } else { format!(" ({more} more files have errors)") };
    let rules: Vec<&str> = rules.into_iter().collect();
    let globs: Vec<String> = files.iter().take(MOST_FILES).map(|file| PathGlobs::glob_of(file)).collect();
    let globs: Vec<&str> = globs.iter().map(String::as_str).collect();
    let written = &settings.written;
    let lines = [
        (!rules.is_empty()).then(|| format!("to go on with warnings in place of errors, {}", written.warn_of(&rules))),
        (!files.is_empty()).then(|| {
            let way_out = written.add("not_cases", &globs);
            format!("to go on without the files of cases that have errors, {way_out}{more}")
        }),
    ];
    lines.into_iter().flatten().collect()
}

/// Of the files with these errors, or else of those that name them, the ones without which an error is gone and no case that runs.
fn left_out<'a>(wrong: &BTreeSet<&'a Path>, loaded: &'a Loaded) -> BTreeSet<&'a Path> {
    let Loaded { repository, settings, catalog } = loaded;
    let lead = |file: &'a Path| catalog.sources.get(file).map_or(file, |lead| lead);
    let of_cases: BTreeSet<&Path> = catalog.cases.iter().map(|found| &*found.file).collect();
    let named: BTreeSet<&Path> = wrong.iter().flat_map(|file| [*file, lead(file)]).collect();
    let is_of = |found: &'a Arc<FoundCase>| named.contains(&*found.file) || named.contains(lead(&found.file));
    let runs = |found: &FoundCase| {
        let is_whole = found.case().is_ok_and(|case| case.runs(settings.partial));
        is_whole && lint::case_errors(found, catalog, repository, settings).is_empty()
    };
    let run = catalog.cases.iter().filter(|found| is_of(found) && runs(found));
    let run: BTreeSet<&Path> = run.flat_map(|found| [&*found.file, lead(&found.file)]).collect();
    let may_be_left_out = |file: &&Path| {
        let is_ours = of_cases.contains(file) || catalog.sources.contains_key(*file);
        is_ours && !run.contains(file) && !file.ends_with(SKILL_FILE) && !file.starts_with(RECORDINGS)
    };
    let (mut open, mut left_out) = (wrong.clone(), BTreeSet::new());
    for with_lead in [false, true] {
        // Without the file that names it, a file may look like cases by itself.
        let parts = |file: &&'a Path| {
            let parts = [*file, if with_lead { lead(file) } else { file }];
            parts.iter().all(may_be_left_out).then_some(parts)
        };
        let tried: BTreeSet<&Path> = open.iter().filter_map(parts).flatten().collect();
        if !tried.is_empty() {
            let not_cases = settings.not_cases.with(tried);
            let remaining = errors_of(repository, &Settings { not_cases, ..settings.clone() });
            left_out.extend(open.iter().filter(|file| !remaining.contains(**file)).filter_map(parts).flatten());
            open.retain(|file| remaining.contains(*file));
        }
    }
    left_out
}

/// The files with errors by these settings.
fn errors_of(repository: &Repository, settings: &Settings) -> BTreeSet<PathBuf> {
    let repository = Repository::new(repository.root.clone());
    let catalog = repository.catalog(preflight::layout(settings), Scope::All);
    let problems = preflight::all_problems(&repository, settings, &catalog, LintOptions::default());
    problems.into_iter().filter(Diagnostic::is_error).map(|problem| problem.place.path).collect()
}

pub fn problem_line(problem: &Diagnostic) -> String {
    let help = problem.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    escape::line(&format!("{problem}{help}"))
}

/// The custom checks of the harness that evals.toml names. Cargo may have to build it.
pub fn custom_checks(root: &Path, settings: &Settings) -> Result<CustomChecks, Problem> {
    custom_check::custom_checks(root, settings.harness.as_ref(), |progress| {
        // If standard error is closed, nobody waits.
        let _ = writeln!(output::stderr(), "{}", escape::block(progress));
    })
}

/// The repository, unless a link leads from its recordings to other files.
fn with_own_recordings(repository: Repository) -> io::Result<Repository> {
    inside::place(&repository.root, Path::new(store::RECORDINGS)).map(|_| repository)
}

pub fn not_found(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, message)
}
