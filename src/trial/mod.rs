//! What a trial is and what it leaves: its id, its evidence, its outcome, and the records a run keeps of it.

pub mod event;
pub mod evidence;
pub mod id;
pub mod outcome;
pub mod run_record;
pub mod sandbox;
pub mod span;
pub mod spent;
