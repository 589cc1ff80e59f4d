//! The result of checking checks.

use std::fmt::Write;

use crate::diagnostics::counted;
use crate::results::verification::{FaultKind, Verification};
use crate::text::escape;

pub fn render(verification: &Verification) -> String {
    let Verification { cases, checks, solutions, unreadable, faults, not_enforced } = verification;
    let mut text = String::new();
    for fault in faults {
        let [title, place, found] =
            [&fault.to_string(), &fault.place.to_string(), &fault.found].map(|line| escape::line(line));
        let _ = writeln!(text, "{title}\n  {place}\n  {found}\n  help: {}\n", escape::line(&fault.help));
    }
    for case in unreadable {
        let _ = writeln!(text, "{} cannot be read: `skill-evals lint` says why", escape::line(case));
    }
    for open in not_enforced {
        let _ = writeln!(text, "not enforced: {}", escape::line(open));
    }
    let count = |kind| faults.iter().filter(|fault| fault.kind == kind).count();
    let unusable = match count(FaultKind::Unusable) {
        0 => String::new(),
        unusable => format!(", {unusable} unusable"),
    };
    let _ = writeln!(
        text,
        "{} of {} run, {}: {} proving nothing,\n{} wrong, {} without a result, {} never decided{unusable}",
        counted(*checks, "check"),
        counted(*cases, "case"),
        counted(*solutions, "reference solution"),
        count(FaultKind::ProvesNothing),
        count(FaultKind::Wrong),
        count(FaultKind::NoResult),
        count(FaultKind::NeverDecided),
    );
    text
}
