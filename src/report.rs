//! What a reader sees: words and drawings made from values, never from the disk.

pub mod comparison;
pub mod diagnostics;
pub mod listing;
pub mod progress;
pub mod session;
pub mod trial;
