//! A trial: its id, its evidence, its outcome, and the records that a run keeps of it.

pub mod agent_meta;
pub mod event;
pub mod evidence;
pub mod id;
pub mod input_file;
pub mod network;
pub mod outcome;
pub mod quarantine;
pub mod run_record;
pub mod shard;
pub mod span;
pub mod witness;
pub mod workspace_file;
