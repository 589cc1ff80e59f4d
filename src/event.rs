//! What happens in a run, as one stream: the terminal, the progress files and the reports are its readers.

use crate::outcome::{NoOutcome, Outcome};
use crate::plan::TrialId;

/// What happens in a run, in order. Everything that reports on a run reads these.
#[derive(Debug)]
pub enum Event {
    /// A trial has begun.
    Started(TrialId),
    /// The agent of a trial did something, in a few words.
    Heard(TrialId, String),
    /// A trial has ended.
    Finished(TrialId, Box<Result<Outcome, NoOutcome>>),
    /// A trial was not begun, since the run was interrupted.
    Skipped(TrialId),
}
