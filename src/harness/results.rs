//! Results of trials as data.

use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;

use super::{Harness, PlannedRun, args, own_rerun_command, planned};
use crate::report::paint::Paint;
use crate::report::trial_text::{self, RerunCommand};
use crate::run::scheduler;
use crate::trial::event::{EventListener, RunEvent};
use crate::trial::id::TrialId;
use crate::trial::outcome::{Grade, TrialError, Verdict};

/// The result of a trial.
#[derive(Clone, Debug)]
pub struct TrialResult {
    /// Which trial.
    pub id: TrialId,
    /// Its grade, or why it was not graded.
    pub grade: Result<Grade, String>,
}

impl TrialResult {
    /// Whether it was measured and passed.
    pub fn passed(&self) -> bool {
        self.grade.as_ref().is_ok_and(|grade| grade.verdict == Verdict::Pass)
    }
}

/// Why no trial was run.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct HarnessError(String);

/// Collects results as they come.
#[derive(Debug)]
struct Collector {
    results: Arc<Mutex<Vec<TrialResult>>>,
    rerun_command: RerunCommand,
}

impl EventListener for Collector {
    fn on_event(&mut self, event: &RunEvent) {
        let (id, grade) = match event {
            RunEvent::Finished { id, result, .. } => {
                let not_graded = |why: &TrialError| match why {
                    TrialError::NotRun(why) => why.to_string(),
                    _ => trial_text::not_graded(id, why, &self.rerun_command, Paint::Plain),
                };
                (id, result.as_ref().as_ref().map(|outcome| outcome.grade.clone()).map_err(not_graded))
            }
            RunEvent::Resumed { outcome, .. } => (&outcome.id, Ok(outcome.grade.clone())),
            _ => return,
        };
        self.results.lock().unwrap_or_else(PoisonError::into_inner).push(TrialResult { id: id.clone(), grade });
    }
}

impl Harness {
    /// Runs the trials whose names contain one of these filters, or all if there are none, and returns their results in the order
    /// in which they ended. They replay recordings; with `SKILL_EVALS_LIVE=1` the agents run. Prints nothing.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), skill_evals::harness::HarnessError> {
    /// let results = skill_evals::harness::Harness::new().results(["greeting"])?;
    /// assert!(results.iter().all(|trial| trial.passed()), "{results:#?}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the repository is not found, its settings are invalid, or no trial has such a name.
    pub fn results<'a>(mut self, filters: impl IntoIterator<Item = &'a str>) -> Result<Vec<TrialResult>, HarnessError> {
        let filters = filters.into_iter().map(str::to_owned);
        let parsed = match args::parse(filters, |name| std::env::var(name).ok()).map_err(HarnessError)? {
            args::HarnessRequest::Trials(parsed) => parsed,
            args::HarnessRequest::Help => {
                return Err(HarnessError("`--help` is for a test that prints: `results` takes filters".to_owned()));
            }
        };
        self.rerun_command = own_rerun_command();
        let root = self.root.find().map_err(HarnessError)?;
        let PlannedRun { run, setup_problem, .. } = planned(self, root, &parsed);
        if let Some(problem) = setup_problem {
            return Err(HarnessError(problem));
        }
        if run.plan.entries.is_empty() {
            return Err(HarnessError(format!("no trial in {} has such a name", run.root.display())));
        }
        let results = Arc::<Mutex<Vec<TrialResult>>>::default();
        run.read_by(Collector { results: Arc::clone(&results), rerun_command: run.rerun_command.clone() });
        scheduler::run(&run);
        if let Some(problem) = run.close().first() {
            return Err(HarnessError(problem.clone()));
        }
        let results = std::mem::take(&mut *results.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(results)
    }
}
