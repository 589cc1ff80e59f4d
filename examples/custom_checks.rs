//! A harness with cases and checks of its own: what stands in a `tests/skill_evals.rs` with `harness = false`.
//!
//! `cargo test` runs the checks with every trial. So do `skill-evals run`, `grade`, `record` and the others: they find the
//! harness, have cargo build it, and ask it about each trial.

use skill_evals::harness::{Check, Finding, Harness};

fn main() -> std::process::ExitCode {
    let says_done = Check::new("says-done", |trial| {
        let said = trial.final_text().unwrap_or_default();
        // Whatever a check prints is shown on standard error.
        print!("says-done looks at {said:?} ");
        Ok(Finding::of(said.contains("Done"), format!("it said {said:?}")))
    });
    let report_is_short = Check::new("report-is-short", |trial| {
        if !trial.has("report.md") {
            return Ok(Finding::NotAsked);
        }
        // A file whose content a recording lacks makes the check unknown.
        let report = trial.read("report.md")?;
        Ok(Finding::of(report.len() < 20, format!("{} bytes", report.len())))
    });
    Harness::new().check(says_done.expecting("a final message that says \"Done\"")).check(report_is_short).main()
}
