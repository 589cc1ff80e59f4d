//! Questions about the skills of a repository, asked from a test: do all cases pass, does a change break something, and what
//! differs from a commit?
//!
//! All but [`replay`](Skills::replay) start agents, which costs money. Their cases, limits and modes are those of `evals/evals.toml`; the program
//! `skill-evals` has the same commands with options. Single trials are tests of their own: see [`harness`](crate::harness).
//!
//! ```no_run
//! # fn main() -> Result<(), skill_evals::ask::AskError> {
//! use skill_evals::ask::Skills;
//!
//! let answer = Skills::at(".")?.gate("main")?;
//! assert!(answer.holds(), "{answer}");
//! # Ok(())
//! # }
//! ```

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::cases::repository::{Repository, Scope};
use crate::decide::plan::ComparePlan;
use crate::decide::result::CompareResult;
use crate::decide::{MARGIN, Rule};
use crate::engine::compare::{self, ComparisonRequest, PreparedComparison};
use crate::engine::gate::Gate;
use crate::engine::run::{EndedRun, RunRequest};
use crate::engine::{Engine, Loaded, Silent};
use crate::process::git;
use crate::report::paint::Paint;
use crate::report::{compared, diagnostics, gate, table};
use crate::results::gate::GateAnswer;
use crate::run::preflight;
use crate::settings::{Settings, Trust, load};
use crate::text::problem::Problem;
use crate::trial::outcome::NotRun;
use crate::trial::outcome::Verdict;
use crate::trial::run_record::RunChoices;

/// Executes plans, and reports nothing.
const ENGINE: Engine<'static> = Engine { host: &Silent, dry_run: false };

/// The skills of a repository, with their cases.
#[derive(Clone, Debug)]
pub struct Skills {
    repository: Repository,
}

/// An answer, which prints as on a terminal.
#[derive(Clone, Debug)]
pub struct Answer {
    text: String,
    holds: bool,
    is_measured: bool,
}

/// Why a question has not been answered.
#[derive(Clone, Debug)]
pub struct AskError(Problem);

impl Skills {
    /// Those of the repository at `root`.
    ///
    /// # Errors
    ///
    /// If there are none.
    pub fn at(root: impl AsRef<Path>) -> Result<Self, AskError> {
        let root = std::path::absolute(root)?;
        let found = Repository::at(&root)?;
        let repository = found.ok_or_else(|| Problem::Said(format!("no skills found in {}", root.display())))?;
        Ok(Self { repository })
    }

    /// Whether all cases pass in new trials. As `skill-evals run`.
    ///
    /// # Errors
    ///
    /// If the cases or the agents cannot be used.
    pub fn run(&self) -> Result<Answer, AskError> {
        self.ran(RunChoices::default())
    }

    /// Whether all cases pass in their recordings. As `skill-evals run --replay`: no agent starts.
    ///
    /// # Errors
    ///
    /// If the cases cannot be used.
    pub fn replay(&self) -> Result<Answer, AskError> {
        self.ran(RunChoices { replay: true, ..RunChoices::default() })
    }

    fn ran(&self, chosen: RunChoices) -> Result<Answer, AskError> {
        let loaded = self.loaded(load::read(&self.repository.root, Trust::Trusted)?);
        let asked = ENGINE.prepare_run(loaded, RunRequest { chosen, ..RunRequest::default() })?;
        let planned = asked.ok_or("no case is selected")?;
        let run = ENGINE.begin(planned)?.ok_or("another process runs it")?;
        let EndedRun { unwritten, early } = ENGINE.run(&run);
        let summary = &run.figures().summary;
        let has = |verdict| summary.cases_with(verdict) > 0;
        let may_lack = !(run.settings.live || run.settings.needs_recordings());
        let is_run = |why: &NotRun| *why == NotRun::NotRecorded && may_lack;
        let is_measured = summary.total.ended() > 0
            && summary.not_run.keys().all(is_run)
            && !has(Verdict::Error)
            && !has(Verdict::Unscored)
            && early.is_none();
        let mut text =
            format!("{}{}\n", table::table(summary, false, Paint::Plain), table::closing(summary, Paint::Plain));
        text.extend(unwritten.into_iter().chain(early).map(|line| format!("{line}\n")));
        Ok(Answer { text, holds: is_measured && !has(Verdict::Fail), is_measured })
    }

    /// Whether the working tree breaks something that holds in the commit `base`: lint, recordings, and trials of both versions of
    /// each skill that differs. As `skill-evals gate`.
    ///
    /// # Errors
    ///
    /// If the base, the cases or the agents cannot be used.
    pub fn gate(&self, base: &str) -> Result<Answer, AskError> {
        let mut settings = load::read_for_gate(&self.repository.root, Trust::Trusted, None)?;
        settings.gate.base = Some(base.to_owned());
        let asked = settings.gate.clone();
        let results = Gate::of(self.loaded(settings), asked, None)?.run(&ENGINE)?;
        let answer = results.answer();
        Ok(Answer {
            text: gate::render(&results, Paint::Plain),
            holds: answer == GateAnswer::Passed,
            is_measured: answer != GateAnswer::NotMeasured,
        })
    }

    /// What differs between the skills of the commit `base` and those of the working tree, in all cases. As `skill-evals compare`.
    ///
    /// # Errors
    ///
    /// If the base, the cases or the agents cannot be used.
    pub fn compare(&self, base: &str) -> Result<Answer, AskError> {
        let loaded = self.loaded(load::read(&self.repository.root, Trust::Trusted)?);
        let commit = git::commit(&self.repository.root, base)?;
        let rule = Rule { margin: Some(MARGIN), ..Rule::default() };
        let baseline = compare::at_commit(commit, format!("the skills of {base}"));
        let sides = compare::sides(baseline, compare::working_tree(), &rule, ComparePlan::default());
        let measured = match ENGINE.prepare(loaded, ComparisonRequest::about(sides))? {
            PreparedComparison::Ready(ready) => ENGINE.compare(*ready)?,
            PreparedComparison::Unchanged(unchanged) => Some(unchanged.answer()),
            PreparedComparison::NoCase(..) => None,
        };
        let measured = measured.ok_or_else(|| Problem::Said("no case can be compared".to_owned()))?;
        let results = &measured.compared.comparison.results;
        let has = |wanted: &[CompareResult]| results.iter().any(|result| wanted.contains(result));
        let lost = measured.compared.lost().map(|lost| format!("{lost}; {}", measured.remedy));
        let lacks = measured.ended_early.or(lost);
        let is_measured = lacks.is_none() && !has(&[CompareResult::NothingMeasured]);
        let mut text = compared::render(&measured.compared, Paint::Plain);
        text.extend(lacks);
        Ok(Answer { text, holds: is_measured && !has(&CompareResult::HARM), is_measured })
    }

    fn loaded(&self, settings: Settings) -> Loaded {
        let catalog = self.repository.catalog(preflight::layout(&settings), Scope::All);
        Loaded { repository: self.repository.clone(), settings, catalog: Arc::new(catalog) }
    }
}

impl Answer {
    /// Whether everything was measured and nothing speaks against the working tree. An answer that does not hold is a failure, or
    /// [not measured](Self::is_measured).
    pub fn holds(&self) -> bool {
        self.holds
    }

    /// Whether everything was measured that the answer needs.
    pub fn is_measured(&self) -> bool {
        self.is_measured
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(problem) = self;
        let between = if problem.said().is_empty() || problem.files().is_empty() { "" } else { "\n" };
        write!(f, "{}{between}{}", problem.said(), diagnostics::render(problem.files(), Paint::Plain))
    }
}

impl Error for AskError {}

impl<E: Into<Problem>> From<E> for AskError {
    fn from(why: E) -> Self {
        Self(why.into())
    }
}
