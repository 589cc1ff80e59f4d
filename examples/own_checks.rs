//! A harness with checks of its own: what stands in a `tests/skill_evals.rs` with `harness = false`.
//!
//! `cargo test` runs them with every trial. So do `skill-evals run`, `grade`, `record` and the others: they find the
//! harness, have cargo build it, and ask it about each trial.

use skill_evals::harness::{Finding, Harness};

fn main() -> std::process::ExitCode {
    Harness::new()
        .check_that("says-done", "a final message that says \"Done\"", |trace, _workspace| {
            let said = trace.final_message.as_deref().unwrap_or_default();
            // Whatever a check prints is shown on standard error.
            print!("says-done looks at {said:?} ");
            Finding::of(said.contains("Done"), format!("it said {said:?}"))
        })
        .check("report-is-short", |_trace, workspace| match workspace.read("report.md") {
            Ok(report) => Finding::of(report.len() < 20, format!("{} bytes", report.len())),
            Err(_) if workspace.has("report.md") => Finding::Unknown("its content was not kept".to_owned()),
            Err(_) => Finding::NotAsked,
        })
        .main()
}
