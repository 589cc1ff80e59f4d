//! The events of a run, which the terminal, the progress files and the reports read.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::trace::trouble::Trouble;
use crate::trial::id::TrialId;
use crate::trial::outcome::{AttemptCost, Outcome, TrialError};

/// An event of a run. Everything that reports on a run reads these, in order.
#[derive(Debug)]
pub enum RunEvent {
    /// A trial was added to the run, because its case runs until it is decided.
    Planned(TrialId),
    /// A trial has begun.
    Started(TrialId),
    /// The provider was temporarily unavailable for an attempt at a trial, which is tried again.
    Refused {
        /// Which trial.
        id: TrialId,
        /// The cost of the attempt, if the agent reported it.
        spent: AttemptCost,
    },
    /// A trial, or its judge, waits for its provider before it is tried again.
    Waits {
        /// Which trial.
        id: TrialId,
        /// Why it was not measured.
        why: Trouble,
        /// Which of its attempts was refused, from 1.
        attempt: u32,
        /// Maximum number of attempts.
        of: u32,
        /// The time in which no trial of this provider starts.
        pause: Duration,
        /// The time that all pauses may still take, including this one, until the trial is given up.
        at_most: Duration,
    },
    /// The agent of a trial did something, in a few words.
    Heard(TrialId, String),
    /// The model of a trial has begun an answer.
    Answers(TrialId),
    /// A trial has ended, or could not start.
    Finished {
        /// Which trial.
        id: TrialId,
        /// Its result.
        result: Box<Result<Outcome, TrialError>>,
        /// How often its agent was started.
        attempts: u32,
    },
    /// A trial had ended in an earlier part of this run; its result is kept.
    Resumed {
        /// The result, graded again.
        outcome: Box<Outcome>,
        /// How often its agent was started.
        attempts: u32,
        /// Whether the progress file lacks the result, or has another one.
        news: bool,
    },
    /// A trial that could not be measured in an earlier part of this run has ended again. Its earlier cost still counts.
    Repeated {
        /// Which trial.
        id: TrialId,
        /// Its cost in that part.
        spent: AttemptCost,
    },
    /// Nothing has happened for a while.
    Tick,
}

impl RunEvent {
    /// The outcome in this event.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Finished { result, .. } => result.as_ref().as_ref().ok(),
            Self::Resumed { outcome, .. } => Some(outcome),
            _ => None,
        }
    }
}

/// Reads a run's events.
pub trait EventListener: Send {
    /// Handles an event. Called from any thread, with one event at a time.
    fn on_event(&mut self, event: &RunEvent);
}

impl<R: EventListener> EventListener for std::sync::Arc<std::sync::Mutex<R>> {
    fn on_event(&mut self, event: &RunEvent) {
        self.lock().unwrap_or_else(std::sync::PoisonError::into_inner).on_event(event);
    }
}

// What is running now, as the run's directory says: the process, and its trials.

/// The trials that are running: the content of `current.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CurrentTrials {
    /// [`RUN_FORMAT`](crate::trial::run_record::RUN_FORMAT).
    pub format: u32,
    /// When this was written, RFC 3339, UTC.
    pub updated: String,
    /// The running trials, in the order in which they started.
    pub running: Vec<RunningTrial>,
}

/// A running trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunningTrial {
    /// Which trial.
    #[serde(flatten)]
    pub id: TrialId,
    /// When it began, RFC 3339, UTC.
    pub since: String,
}

/// The process that runs a run: the content of `runner.pid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runner {
    /// Its id.
    pub pid: i32,
    /// When it started, by the system's count. It distinguishes the process from a later one with the same id. Absent if the
    /// system does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
    /// Whether it runs each trial in its own process, and so holds no lock itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}
