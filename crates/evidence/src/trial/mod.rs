//! A trial: its id, its evidence, its outcome, and the records that a run keeps of it.

pub mod agent_meta;
pub mod answer;
pub mod current;
pub mod event;
pub mod evidence;
pub mod history;
pub mod id;
pub mod input_file;
pub mod mock;
pub mod not_run;
pub mod outcome;
pub mod reading;
pub mod run_choices;
pub mod run_record;
pub mod sandbox;
pub mod setup;
pub mod shard;
pub mod span;
pub mod spent;
pub mod user;
pub mod variants;
pub mod workspace_file;
