//! What may be done next, for people: on standard error, since standard output is for what was asked.

use std::io::{self, Write};

use skill_evals::cases::case::FoundCase;
use skill_evals::report::diagnostics::counted;
use skill_evals::text::safe;

/// Prints a step that may be next.
pub fn next(step: &str) {
    // Where standard error is closed nobody waits for it.
    let _ = writeln!(io::stderr(), "next: {}", safe::line(step));
}

/// Prints how to get cases of one's own, where some of these are built in.
pub fn after_built_in<'a>(cases: impl IntoIterator<Item = &'a FoundCase>) {
    let mut built_in = cases.into_iter().filter(|found| found.format().files.is_none());
    let Some(first) = built_in.next() else { return };
    let count = counted(built_in.count() + 1, "case");
    next(&format!(
        "skill-evals generate --skill {} writes cases to edit: {count} here were built in, of skills without any",
        safe::word(&first.skill)
    ));
}
