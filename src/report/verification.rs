//! The result of checking checks, in lines of 80 columns.

use std::fmt::Write;

use crate::report::diagnostics::counted;
use crate::results::verification::{FaultKind, Verification};
use crate::text::{cut, safe};

/// The longest line.
const COLUMNS: usize = 80;

pub fn render(verification: &Verification) -> String {
    let Verification { cases, checks, solutions, unreadable, faults, not_enforced } = verification;
    let mut text = String::new();
    for fault in faults {
        line(&mut text, 0, &fault.to_string());
        line(&mut text, 2, &fault.place.to_string());
        line(&mut text, 2, &fault.found);
        for words in wrapped(&format!("help: {}", fault.help)) {
            line(&mut text, 2, &words);
        }
        text.push('\n');
    }
    for case in unreadable {
        line(&mut text, 0, &format!("{case} cannot be read: `skill-evals lint --check-evals` says why"));
    }
    for open in not_enforced {
        for words in wrapped(&format!("not enforced: {open}")) {
            line(&mut text, 0, &words);
        }
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

fn line(text: &mut String, indent: usize, words: &str) {
    let _ = writeln!(text, "{:indent$}{}", "", cut::start(&safe::line(words), COLUMNS - indent - 1));
}

/// The words of `text` in lines that fit.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let length = lines.last().map_or(0, |line| line.chars().count());
        if length > 0 && length + 1 + word.chars().count() > COLUMNS - 4 {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
