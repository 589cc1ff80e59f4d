//! What a reader sees: words and drawings made from values, never from the disk.

pub mod compared;
pub mod comparison;
pub mod diagnostics;
pub mod estimate;
pub mod github;
#[cfg(feature = "program")]
pub mod html;
pub mod judges;
#[cfg(feature = "program")]
pub mod junit;
pub mod listing;
pub mod markdown;
pub mod over_time;
pub mod paint;
pub mod progress;
pub mod rate;
pub mod session;
pub mod show;
pub mod standing;
pub mod table;
pub mod timeline;
pub mod trial;
pub mod triggering;
