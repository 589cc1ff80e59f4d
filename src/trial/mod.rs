//! What a trial is and what it leaves: its id, its trace, its evidence, its outcome, and the records a run keeps of it.

pub mod described;
pub mod event;
pub mod evidence;
pub mod exposure;
pub mod id;
pub mod outcome;
pub mod run_record;
pub mod spent;
pub mod trace;
pub mod trouble;
