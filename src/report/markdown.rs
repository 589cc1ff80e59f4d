//! A summary as Markdown: the content of `summary.md`.

use std::fmt::Write;

use crate::report::{table, trial};
use crate::results::summary::{CaseInMode, Counts, Summary};
use crate::text::safe;

/// The summary as a page.
#[must_use]
pub fn summary(summary: &Summary) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "# {}\n\n{}\n", summary.runs.join(", "), table::closing(summary));
    for by in &summary.scripted {
        let _ = writeln!(text, "> Note: {}.\n", cell(&trial::scripted(by)));
    }
    groups(&mut text, "mode", summary.modes.iter());
    groups(&mut text, "skill", summary.skills.iter());
    text.push_str("## Cases\n\n| case | mode | passed | what did not |\n| --- | --- | ---: | --- |\n");
    for (key, counts) in table::worst_first(summary) {
        let CaseInMode { skill, case, mode } = key;
        let passed = table::passed(counts);
        let _ = writeln!(text, "| {skill}/{case} | {mode} | {passed} | {} |", cell(&table::why(counts)));
    }
    text
}

fn groups<'a>(text: &mut String, what: &str, groups: impl Iterator<Item = (&'a String, &'a Counts)>) {
    let _ = writeln!(
        text,
        "| {what} | passed | failed | errors | unscored | tokens | cost |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    for (name, counts) in groups {
        let Counts { passed, failed, errors, unscored, spent, .. } = counts;
        let (tokens, cost) = (table::tokens(spent), table::cost(spent));
        let tokens = tokens.trim_end_matches(" tokens");
        let _ = writeln!(text, "| {name} | {passed} | {failed} | {errors} | {unscored} | {tokens} | {cost} |");
    }
    text.push('\n');
}

/// Text that stays within its cell.
fn cell(text: &str) -> String {
    safe::markdown(text)
}
