//! The one road of a run, whichever door it was started by: [`plan`] says which trials it has, [`opening`] makes its folder
//! and its snapshot and takes its lock, [`scheduler`] runs trials side by side as [`pace`] and [`budget`] let it, each
//! through [`trial`]: [`attempt`] is one agent at work, then grading, [`own_check`], [`judge`]. What happens is told as
//! events; the progress file, [`progress_files`] and the terminal are their readers. [`promote`] makes results recordings.

pub mod attempt;
pub mod budget;
pub mod check_program;
pub mod crate_harness;
pub mod digests;
pub mod history;
pub mod judge;
pub mod live;
pub mod measure;
pub mod opening;
pub mod own_check;
pub mod pace;
pub mod plan;
pub mod progress_files;
pub mod promote;
pub mod regrade;
pub mod rubric;
pub mod scheduler;
pub mod shared;
mod silence;
pub mod skill_texts;
pub mod slots;
pub mod trial;
