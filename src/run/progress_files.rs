//! Updates a run's `current.json` and summaries as events arrive.

use std::time::{Duration, Instant};

use crate::report::markdown;
use crate::results::summary::Summary;
use crate::settings::Settings;
use crate::store::{RunFolder, StoreError};
use crate::trial::current::{CurrentTrials, RunningTrial};
use crate::trial::event::{EventListener, RunEvent};
use crate::trial::id::TrialId;
use crate::trial::outcome::Outcome;
use crate::trial::run_record::{RUN_FORMAT, TrialRecord};

/// How old the files may get. Writing them at every event would take longer than short trials.
const MAX_AGE: Duration = Duration::from_millis(500);

/// The results of a run, from its events.
#[derive(Debug)]
pub struct ProgressFiles {
    folder: Option<RunFolder>,
    pub summary: Summary,
    running: Vec<RunningTrial>,
    written: Option<Instant>,
    /// Whether events arrived since the files were written.
    outdated: bool,
}

impl ProgressFiles {
    /// Results that are not stored yet.
    pub fn new(settings: &Settings) -> Self {
        let summary = Summary::new(Vec::new(), settings);
        Self { folder: None, summary, running: Vec::new(), written: None, outdated: true }
    }

    /// Stores the results in this directory from now on.
    pub fn keep_in(&mut self, folder: &RunFolder) {
        self.summary.runs = vec![folder.id().to_owned()];
        self.folder = Some(folder.clone());
    }

    fn add(&mut self, outcome: &Outcome, attempts: u32) {
        self.summary.add(&TrialRecord::new(outcome, attempts));
    }

    fn ended(&mut self, id: &TrialId) {
        self.running.retain(|running| running.id != *id);
    }

    fn write(&mut self) {
        (self.written, self.outdated) = (Some(Instant::now()), false);
        let Some(folder) = &self.folder else { return };
        let updated = jiff::Timestamp::now().to_string();
        let current = CurrentTrials { format: RUN_FORMAT, updated, running: self.running.clone() };
        // If this fails, the next write may succeed; the trials themselves are not affected.
        let _ = folder.write_current(&current).and_then(|()| folder.write_partial_summary(&self.summary));
    }

    pub fn finish(&mut self) -> Result<(), StoreError> {
        match &self.folder {
            Some(folder) => folder.write_summary(&self.summary, &markdown::summary(&self.summary)),
            None => Ok(()),
        }
    }
}

impl EventListener for ProgressFiles {
    fn on_event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Planned(_) => self.summary.planned = self.summary.planned.map(|planned| planned + 1),
            RunEvent::Started(id) => {
                self.running.push(RunningTrial { id: id.clone(), since: jiff::Timestamp::now().to_string() });
            }
            RunEvent::Finished { id, result, attempts } => {
                self.ended(id);
                match result.as_ref() {
                    Ok(outcome) => self.add(outcome, *attempts),
                    Err(problem) => self.summary.add_not_run(id, problem.not_run()),
                }
            }
            RunEvent::Resumed { outcome, attempts, .. } => self.add(outcome, *attempts),
            RunEvent::Refused { id, spent } | RunEvent::Repeated { id, spent } => self.summary.add_refused(id, *spent),
            RunEvent::Waits { .. } | RunEvent::Heard(..) | RunEvent::Answers(_) | RunEvent::Tick => {}
        }
        self.outdated |=
            !matches!(event, RunEvent::Waits { .. } | RunEvent::Heard(..) | RunEvent::Answers(_) | RunEvent::Tick);
        if self.outdated && self.written.is_none_or(|written| written.elapsed() > MAX_AGE) {
            self.write();
        }
    }
}
