//! The one road of a run: which trials, in what order, one attempt after another, graded, judged, and kept.

pub mod attempt;
pub mod digests;
pub mod history;
pub mod judge;
pub mod own_check;
pub mod pace;
pub mod plan;
pub mod progress_files;
pub mod promote;
pub mod rubric;
pub mod scheduler;
pub mod shared;
mod silence;
pub mod trial;
