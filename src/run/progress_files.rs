//! Keeps a run's `current.json` and summaries as its events come.

use std::time::{Duration, Instant};

use crate::report::markdown;
use crate::report::summary::Summary;
use crate::store::{RunFolder, StoreError};
use crate::trial::event::Event;
use crate::trial::id::TrialId;
use crate::trial::outcome::{NoOutcome, Outcome};
use crate::trial::run_record::{Current, RUN_FORMAT, Running, TrialRecord};

/// How old the files may get: writing them with every event would cost more than short trials do.
const AGE: Duration = Duration::from_millis(500);

/// Reads a run's events and keeps the figures.
#[derive(Debug)]
pub struct ProgressFiles {
    folder: Option<RunFolder>,
    /// What the trials came to so far.
    pub summary: Summary,
    running: Vec<Running>,
    written: Option<Instant>,
    behind: bool,
    /// Why a file is out of date.
    trouble: Option<StoreError>,
}

impl ProgressFiles {
    /// Keeps the figures of a run of so many trials, in its folder where it has one.
    #[must_use]
    pub fn new(folder: Option<RunFolder>, planned: usize) -> Self {
        let mut summary = Summary::new(folder.iter().map(|folder| folder.id().to_owned()).collect());
        summary.planned = Some(planned);
        Self { folder, summary, running: Vec::new(), written: None, behind: true, trouble: None }
    }

    /// Takes an event into account.
    pub fn hear(&mut self, event: &Event) {
        match event {
            Event::Started(id) => {
                self.running.push(Running { id: id.clone(), since: jiff::Timestamp::now().to_string() });
            }
            Event::Finished { id, result, attempts } => {
                self.ended(id);
                match result.as_ref() {
                    Ok(outcome) => self.add(outcome, *attempts),
                    Err(NoOutcome::NotRecorded) => self.summary.add_not_run("no recording"),
                    Err(NoOutcome::BadCase(_)) => self.summary.add_not_run("the case is wrong"),
                    Err(NoOutcome::Stale { .. }) => self.summary.add_not_run("the recording is stale"),
                    Err(NoOutcome::Unreadable(_)) => self.summary.add_not_run("a file cannot be read"),
                    Err(NoOutcome::NotRun(why)) => self.summary.add_not_run(&why.to_string()),
                }
            }
            Event::Kept(outcome) => self.add(outcome, 1),
            Event::Skipped(id, why) => {
                self.ended(id);
                self.summary.add_not_run(&why.to_string());
            }
            Event::Refused { .. } | Event::Heard(..) | Event::Tick => {}
        }
        self.behind |= !matches!(event, Event::Heard(..) | Event::Tick);
        if self.behind && self.written.is_none_or(|written| written.elapsed() > AGE) {
            self.write();
        }
    }

    fn add(&mut self, outcome: &Outcome, attempts: u32) {
        self.summary.add(&TrialRecord::new(outcome, attempts));
    }

    fn ended(&mut self, id: &TrialId) {
        self.running.retain(|running| running.id != *id);
    }

    fn write(&mut self) {
        (self.written, self.behind) = (Some(Instant::now()), false);
        let Some(folder) = &self.folder else { return };
        let updated = jiff::Timestamp::now().to_string();
        let current = Current { format: RUN_FORMAT, updated, running: self.running.clone() };
        let written = folder.write_current(&current).and_then(|()| folder.write_partial_summary(&self.summary));
        // The next time may go better; the trials themselves are not touched by it.
        self.trouble = written.err();
    }

    /// Keeps the summary of the run that has ended.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(&mut self) -> Result<(), StoreError> {
        match &self.folder {
            Some(folder) => folder.write_summary(&self.summary, &markdown::summary(&self.summary)),
            None => Ok(()),
        }
    }
}
