//! Runs trials, from the plan to their outcomes, whichever command or test started the run.
//!
//! [`plan`] lists the trials. [`preflight`] finds what keeps them from beginning. [`open_run`] creates the run's directory, takes
//! its lock and copies the skills. [`scheduler`] runs trials at the same time, as fast as `pace` and `budget` allow.
//! [`trial`] gets each to its outcome: `live_trial` prepares a trial environment, `agent_run` runs the agent in it until its
//! end, or until the trial is `settled`, `user_messages` has what its user says next, [`programs`] runs scripts that answer
//! checks, [`regrade`] grades the evidence with the checks of the case and [`custom_check`], and `judge` asks the judge. A
//! recording only needs [`regrade`].
//!
//! A comparison has a [`pairing`] of cases, and perhaps a [`skill_version`] for a side: a commit, which is a [`read_tree`] as the
//! working tree is. [`pairs`] runs a trial of each side
//! at a time until [`decide`](crate::decide) has an answer. [`kept`] are trials of earlier comparisons.
//!
//! Everything that happens is an event. The progress file, `progress_files` (the summary) and the terminal read the same
//! events. [`record`] makes recordings of results, [`import`] makes runs of what other runners left,
//! and [`merge`] makes one run of shards. [`verify`] runs checks against trials that no agent ran.
#![allow(clippy::must_use_candidate, reason = "hidden from users")]

mod agent_run;
pub mod budget;
pub mod calibration;
pub mod case_digests;
pub mod change_locations;
pub mod changed_skills;
mod changes;
mod contents;
pub mod context;
pub mod custom_check;
pub mod digests;
pub mod history;
pub mod ignored;
pub mod import;
mod judge;
pub mod kept;
pub mod kept_store;
mod leads;
pub mod live;
mod live_trial;
pub mod merge;
mod mocked;
pub mod open_run;
pub mod other_changes;
mod pace;
pub mod pairing;
pub mod pairs;
pub mod plan;
mod player;
pub mod preflight;
pub mod problems;
mod program_runner;
pub mod programs;
mod progress_files;
pub mod question;
pub mod read_tree;
pub mod record;
pub mod regrade;
pub mod review;
pub mod same_contents;
pub mod scheduler;
pub mod setting_parts;
mod settled;
mod setup;
pub mod shared_contents;
mod silence;
pub mod skill_texts;
pub mod skill_version;
mod slots;
pub mod stored_trial;
pub mod stubs;
pub mod trial;
mod trial_queue;
mod user_messages;
pub mod user_session;
pub mod variants;
pub mod verify;
