//! What is running now, as the run's directory says: the process, and its trials.

use serde::{Deserialize, Serialize};

use crate::trial::id::TrialId;

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
