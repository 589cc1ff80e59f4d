//! Runs trials, from the plan to their outcomes, whichever command or test started the run.
//!
//! [`plan`] lists the trials, in those of the recordings ([`recorded_modes`]) or of an agent that is here ([`default_modes`]) if nobody chose others, and a [`planned`] run has one. [`preflight`] finds what keeps it from beginning. Then it is
//! [`started`], and no choice changes any more. [`open_run`] creates its directory, takes its lock and copies the skills. [`scheduler`]
//! runs trials at the same time, as fast as [`rate_limiter`] and its budget allow.
//! [`trial`] gets each to its outcome: `live_trial` prepares a trial environment, runs the agent until its end or until the verdict
//! is settled (`agent_run`), and `user_messages` has what its user says next. [`programs`] runs scripts that answer checks,
//! [`regrade`] grades the evidence with the checks of the case and [`custom_check`], and `judge` asks the judge. A recording only
//! needs its grade.
//!
//! A comparison is of [`pairs`] of cases, and perhaps of a [`skill_version`]: a commit, which is read as the working tree is. A
//! trial of each side runs at a time until [`decide`](crate::decide) has an answer. [`kept`] are trials of earlier comparisons.
//!
//! Everything that happens is an event. The progress file, the summary of the [`started`] run and the terminal read
//! the same events. [`record`] makes recordings of results, [`rename_recordings`] follows cases that get another name, [`import`] makes runs of what other runners left,
//! and [`merge`] makes one run of shards. [`verify`] runs checks against trials that no agent ran.
#![allow(clippy::must_use_candidate, reason = "hidden from users")]

mod agent_run;
pub mod calibration;
pub mod case_digests;
pub mod changed_skills;
pub mod custom_check;
pub mod default_modes;
pub mod digests;
pub mod expected_cost;
pub mod import;
pub mod judge;
pub mod kept;
pub mod kept_store;
pub mod live;
mod live_trial;
pub mod merge;
pub mod open_run;
pub mod pairing;
pub mod pairs;
pub mod plan;
pub mod planned;
pub mod preflight;
mod program_runner;
pub mod programs;
pub mod question;
pub mod rate_limiter;
pub mod record;
pub mod record_mocks;
pub mod recorded_modes;
pub mod regrade;
pub mod rename_recordings;
pub mod replay_model;
pub mod same_contents;
pub mod scheduler;
mod settled;
pub mod shared_contents;
pub mod skill_version;
pub mod started;
pub mod stored_trial;
pub mod stubs;
pub mod trial;
pub mod user_messages;
pub mod user_session;
pub mod variants;
pub mod verify;
