//! What happens in a run, as one stream: the terminal, the progress files and the reports are its readers.

use std::time::Duration;

use crate::trial::id::TrialId;
use crate::trial::outcome::{NoOutcome, NotRun, Outcome};
use crate::trial::run_record::TrialRecord;
use crate::trial::spent::AttemptCost;

/// What happens in a run, in order. Everything that reports on a run reads these.
#[derive(Debug)]
pub enum RunEvent {
    /// A trial was added to those of the run: its case goes on until it is decided.
    Planned(TrialId),
    /// A trial has begun.
    Started(TrialId),
    /// The provider refused an attempt at a trial for now; it is tried again.
    Refused {
        /// Which trial.
        id: TrialId,
        /// What the attempt took, where the agent told.
        spent: AttemptCost,
    },
    /// A trial, or its judge, waits for its provider before it is tried again.
    Waits {
        /// Which trial.
        id: TrialId,
        /// What it waits for, in words.
        why: String,
        /// Which of its attempts was refused, from 1.
        attempt: u32,
        /// How often it is tried at most.
        of: u32,
        /// How long no trial of this provider starts.
        pause: Duration,
        /// How long all pauses may still take, this one included, until the trial is given up.
        at_most: Duration,
    },
    /// The agent of a trial did something, in a few words.
    Heard(TrialId, String),
    /// A trial has ended.
    Finished {
        /// Which trial.
        id: TrialId,
        /// What became of it.
        result: Box<Result<Outcome, NoOutcome>>,
        /// How often its agent was started.
        attempts: u32,
    },
    /// A trial had ended in an earlier part of this run; its result stands.
    Kept {
        /// The result, graded anew.
        outcome: Box<Outcome>,
        /// How often its agent was started.
        attempts: u32,
        /// Whether the progress file lacks it, or says something else.
        news: bool,
    },
    /// A trial that measured nothing in an earlier part of this run has ended anew; what it took then is paid all the same.
    Repeated {
        /// Which trial.
        id: TrialId,
        /// What it took in that part.
        spent: AttemptCost,
    },
    /// A trial was not begun.
    Skipped(TrialId, NotRun),
    /// Nothing has happened for a while.
    Tick,
}

impl RunEvent {
    /// The row of the trial that it ends, when it ends one.
    pub fn record(&self) -> Option<TrialRecord> {
        let (Self::Finished { attempts, .. } | Self::Kept { attempts, .. }) = self else { return None };
        Some(TrialRecord::new(self.outcome()?, *attempts))
    }

    /// The outcome that it brings, when it brings one.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Finished { result, .. } => result.as_ref().as_ref().ok(),
            Self::Kept { outcome, .. } => Some(outcome),
            _ => None,
        }
    }
}

/// Reads a run's events.
pub trait EventListener: Send {
    /// Hears what happened. Called from whatever thread it happened in, one event at a time.
    fn on_event(&mut self, event: &RunEvent);
}

impl<R: EventListener> EventListener for std::sync::Arc<std::sync::Mutex<R>> {
    fn on_event(&mut self, event: &RunEvent) {
        self.lock().unwrap_or_else(std::sync::PoisonError::into_inner).on_event(event);
    }
}
