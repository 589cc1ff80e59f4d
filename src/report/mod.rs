//! Results as text and drawings. Nothing here reads the disk.

pub mod compared;
pub mod comparison;
pub mod coverage;
pub mod diagnosis;
pub mod diagnostics;
pub mod estimate;
pub mod export;
pub mod gate;
pub mod github;
#[cfg(feature = "program")]
pub mod html;
#[cfg(feature = "program")]
pub mod json;
pub mod judges;
#[cfg(feature = "program")]
pub mod junit;
pub mod listing;
pub mod markdown;
pub mod models;
pub mod paint;
pub mod progress;
pub mod rate;
pub mod run_status;
pub mod session;
pub mod show;
pub mod table;
pub mod timeline;
pub mod trend;
pub mod trial;
pub mod triggering;
pub mod verification;

/// The formats in which the results of a run can be written.
#[cfg(feature = "program")]
pub static EXPORTS: [&export::Export; 9] = [
    &junit::EXPORT,
    &markdown::EXPORT,
    &json::EXPORT,
    &github::EXPORT,
    &export::csv::EXPORT,
    &export::skill_creator::EXPORT,
    &export::promptfoo::EXPORT,
    &export::atif::EXPORT,
    &export::otlp::EXPORT,
];
