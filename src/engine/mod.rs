//! What can be asked about skills, as plans of trials: [`run`] the cases, [`compare`] two sides, the answer about a change ([`gate`]), what keeps a
//! skill from helping or which model is enough ([`variants`]), a better description of a skill
//! ([`tune`]).
//!
//! A plan says which trials of which sides run, when to stop and what the answer is. [`Engine`] executes each in the same way: it
//! finds what an earlier start has paid for, checks what can be checked for free, calibrates agents, opens the run, and watches its
//! limits. Nothing here prints, and nothing decides an exit code: what happens goes to a [`Host`], and an answer is a value.
#![allow(clippy::must_use_candidate, reason = "hidden from users")]

pub mod choose;
pub mod compare;
pub mod forecast;
pub mod gate;
pub mod run;
pub mod tune;
pub mod variants;

use std::sync::Arc;

use crate::cases::catalog::Catalog;
use crate::cases::repository::Repository;
use crate::results::calibration::AgentCalibration;
use crate::run::planned::PlannedRun;
use crate::run::started::StartedRun;
use crate::run::{custom_check, open_run, preflight, same_contents};
use crate::settings::Settings;
use crate::store::RunFolder;
use crate::text::problem::Problem;

/// A repository as it was read, with the settings that count.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub repository: Repository,
    pub settings: Settings,
    pub catalog: Arc<Catalog>,
}

/// Executes plans.
#[derive(Clone, Copy)]
pub struct Engine<'a> {
    pub host: &'a dyn Host,
    /// Whether nothing starts: a plan only says what it would do.
    pub dry_run: bool,
}

impl Engine<'_> {
    /// What decides the trials of a run, by which a later start finds it. Warns if that cannot be told.
    fn contents(&self, told: Result<String, Problem>) -> Option<String> {
        match told {
            Ok(contents) => Some(contents),
            // A start without agents says why it has none.
            Err(_) if self.dry_run => None,
            Err(why) => {
                self.host.warn(&format!("{why}: no earlier start of this run is continued, and none can continue it"));
                None
            }
        }
    }

    /// The run of the same contents that was killed or stopped, if there is one, to be resumed instead of a new one. Says so.
    fn unfinished(&self, run: &PlannedRun) -> Option<RunFolder> {
        if self.dry_run || run.settings.resume {
            return None;
        }
        let found = same_contents::unfinished(run);
        if let Some(folder) = &found {
            self.host.note(&format!("{} had the same contents and did not end: resuming it", folder.id()));
        }
        found
    }

    /// Checks and starts the run, and opens it if it has a directory from now on. `None` if another process runs it.
    ///
    /// # Errors
    ///
    /// If the run cannot begin: a choice, an agent, its credentials, its calibration or its directory.
    pub fn begin(&self, mut planned: PlannedRun) -> Result<Option<StartedRun>, Problem> {
        preflight::check(&planned)?;
        planned.custom_checks =
            custom_check::custom_checks(&planned.root, planned.settings.harness.as_ref(), |progress| {
                self.host.note(progress);
            })?;
        if self.host.detach(&planned)? {
            return Ok(None);
        }
        planned.calibrated = self.host.calibrate(&planned)?;
        let run = planned.start();
        if !run.is_stored {
            return Ok(Some(run));
        }
        let live = open_run::live(&run).map_err(Clone::clone)?;
        if let Some(note) = live.scratch.note() {
            self.host.warn(note);
        }
        if let Some(problem) = preflight::copied_by(&run) {
            self.host.warn(&problem.message);
        }
        for (id, changed) in &live.kept_although_changed {
            self.host.note(&format!("{id}: kept an outdated result; changed: {}", changed.join(", ")));
        }
        for left in live.scratch.left() {
            self.host.note(left);
        }
        Ok(Some(run))
    }

    /// Says which results could not be written. Returns whether there are any.
    pub fn unwritten(&self, errors: impl IntoIterator<Item = String>) -> bool {
        let mut any = false;
        for error in errors {
            any = true;
            self.host
                .warn(&format!("{error}; the trials' own directories are complete, `skill-evals summary` reads them"));
        }
        any
    }
}

// Who is around the engine: a program that prints, or a test that is silent.

/// What the engine tells and asks while it executes a plan.
pub trait Host {
    /// Something happened that a person may want to know.
    fn note(&self, line: &str);

    /// Something was left out, or is not as it should be.
    fn warn(&self, line: &str);

    /// Whether another process runs this from now on. It can begin.
    ///
    /// # Errors
    ///
    /// If that process could not be started.
    fn detach(&self, run: &PlannedRun) -> Result<bool, Problem>;

    /// Calibrates the agents of which nobody knows whether they are read rightly.
    ///
    /// # Errors
    ///
    /// If one cannot be calibrated.
    fn calibrate(&self, run: &PlannedRun) -> Result<Vec<AgentCalibration>, Problem>;

    /// Does the `work`, which is at most this many trials of the run, and may show what happens in it.
    fn watch(&self, run: &StartedRun, most: MostTrials, work: &mut dyn FnMut());
}

/// How many trials there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MostTrials {
    Exactly(usize),
    /// The answer may come earlier.
    AtMost(usize),
}

/// Reports nothing and calibrates no agent: the answer says what nobody knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Host for Silent {
    fn note(&self, _: &str) {}

    fn warn(&self, _: &str) {}

    fn detach(&self, _: &PlannedRun) -> Result<bool, Problem> {
        Ok(false)
    }

    fn calibrate(&self, _: &PlannedRun) -> Result<Vec<AgentCalibration>, Problem> {
        Ok(Vec::new())
    }

    fn watch(&self, _: &StartedRun, _: MostTrials, work: &mut dyn FnMut()) {
        work();
    }
}
