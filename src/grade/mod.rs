//! Decides what a trial came to, from its evidence alone. Reads no disk and starts nothing.

mod changes;
pub mod checks;
mod delivered;
mod message;
pub mod rubric;
pub mod session;
pub mod share;
