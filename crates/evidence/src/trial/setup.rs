//! The commands that prepared the workspace of a trial.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A setup command that succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupMeta {
    /// The command.
    pub command: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

impl SetupMeta {
    /// A command and how long it took.
    pub fn new(command: String, took: Duration) -> Self {
        Self { command, duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX) }
    }
}

impl fmt::Display for SetupMeta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`, {:.1} s", self.command, Duration::from_millis(self.duration_ms).as_secs_f64())
    }
}
