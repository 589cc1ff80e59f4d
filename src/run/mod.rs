//! What happens between a plan and a line of the summary, whichever command or test started the run.
//!
//! [`plan`] lists the trials. [`ready`] finds what would keep them from beginning. [`opening`] makes the run's folder, takes
//! its lock and copies the skills. [`scheduler`] runs the trials side by side, as fast as [`pace`] and [`budget`] allow.
//! [`trial`] gets each to its outcome: [`measure`] prepares a room, has [`agent_run`] run the agent in it, grades the evidence
//! with the built-in checks and [`own_check`], and asks the [`judge`]; a recording skips the agent and goes through
//! [`regrade`].
//!
//! A comparison has [`pairing`], each with modes and perhaps a [`skill_version`] of its own; [`pairs`] runs a trial of each arm at
//! a time until [`decide`](crate::decide) has an answer.
//!
//! Everything that happens is an event. The progress file, [`progress_files`] (the summary) and the terminal read the same
//! events. [`promote`] turns results into recordings, [`import`] what other runners left into runs.

mod agent_run;
mod budget;
mod changes;
pub mod check_program;
pub mod context;
pub mod crate_harness;
pub mod digests;
pub mod history;
pub mod import;
mod judge;
mod live;
mod measure;
pub mod opening;
pub mod own_check;
mod pace;
pub mod pairing;
pub mod pairs;
pub mod plan;
mod progress_files;
pub mod promote;
pub mod ready;
pub mod regrade;
pub mod review;
pub mod rubric;
pub mod scheduler;
mod silence;
pub mod skill_texts;
pub mod skill_version;
mod slots;
mod stored_trial;
pub mod trial;
mod trial_queue;
