//! Suggests the next command, on standard error: standard output is for the results.

use std::io::Write;

use crate::cases::case::FoundCase;
use crate::cli::output::stderr;
use crate::report::diagnostics::counted;
use crate::text::escape;

pub fn next(step: &str) {
    // If standard error is closed, nobody waits.
    let _ = writeln!(stderr(), "next: {}", escape::line(step));
}

/// Suggests `generate` if any of these cases are built in.
pub fn after_built_in<'a>(cases: impl IntoIterator<Item = &'a FoundCase>) {
    let mut built_in = cases.into_iter().filter(|found| found.format().is_built_in());
    let Some(first) = built_in.next() else { return };
    next(&format!(
        "skill-evals generate --skill {} writes cases to edit: {} here were built in, of skills without any",
        escape::word(&first.skill),
        counted(built_in.count() + 1, "case")
    ));
}
