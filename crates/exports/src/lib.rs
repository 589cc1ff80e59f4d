#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
//! Results as files for people and programs: HTML, JUnit, JSON, CSV, OpenTelemetry and the formats of other tools.
//!
//! Pure: a format gets results and returns text. Each is a module with an [`Export`] and a line in [`EXPORTS`].
//!
//! Read [`EXPORTS`], one short format such as [`csv`], then [`html`].

pub mod atif;
pub mod csv;
pub mod github;
pub mod html;
pub mod junit;
pub mod otlp;
pub mod promptfoo;
pub mod skill_creator;

use skill_evals_cases::grade;
use skill_evals_evidence::{settings, text, trace, trial};
use skill_evals_report as report;
use skill_evals_results::results;
use skill_evals_stats::{decide, stats};

use crate::report::export::{Export, ExportKind};
use crate::text::escape;

/// A summary as one JSON document, the content of `summary.json`.
static JSON: Export = Export {
    name: "json",
    about: "Print the results as one JSON document",
    kind: ExportKind::Output(|results| {
        let text = serde_json::to_string_pretty(results.summary)?;
        Ok(escape::json(&text).into_owned() + "\n")
    }),
};

/// The formats in which the results of a run can be written.
pub static EXPORTS: &[&Export] = &[
    &junit::EXPORT,
    &report::markdown::EXPORT,
    &JSON,
    &github::EXPORT,
    &csv::EXPORT,
    &skill_creator::EXPORT,
    &promptfoo::EXPORT,
    &atif::EXPORT,
    &otlp::EXPORT,
];
