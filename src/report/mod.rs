//! Results as text and drawings. Nothing here reads the disk.

#[cfg(feature = "program")]
pub mod calibration;
pub mod compared;
#[cfg(feature = "program")]
pub mod comparison;
#[cfg(feature = "program")]
pub mod coverage;
#[cfg(feature = "program")]
pub mod diagnosis;
pub mod diagnostics;
#[cfg(feature = "program")]
pub mod estimate;
pub mod export;
#[cfg(feature = "program")]
pub mod gate;
#[cfg(feature = "program")]
pub mod github;
#[cfg(feature = "program")]
pub mod html;
#[cfg(feature = "program")]
pub mod json;
#[cfg(feature = "program")]
pub mod judges;
#[cfg(feature = "program")]
pub mod junit;
pub mod listing;
pub mod markdown;
#[cfg(feature = "program")]
pub mod models;
pub mod paint;
pub mod progress;
pub mod rate;
#[cfg(feature = "program")]
pub mod run_status;
pub mod session;
#[cfg(feature = "program")]
pub mod show;
pub mod table;
pub mod timeline;
#[cfg(feature = "program")]
pub mod trend;
pub mod trial;
pub mod triggering;
#[cfg(feature = "program")]
pub mod verification;

/// The formats in which the results of a run can be written.
#[cfg(feature = "program")]
pub static EXPORTS: &[&export::Export] = &[
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
