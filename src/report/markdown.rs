//! Results as Markdown: a summary (the content of `summary.md`) and a comparison.

use std::fmt::Write;

use crate::report::export::{Export, ExportTarget};
use crate::report::paint::Paint;
use crate::report::{compared, rate, table, trial, triggering};
use crate::results::compared::ComparisonResults;
use crate::results::summary::{Summary, TrialCounts};
use crate::text::safe;
use crate::trial::id::CaseInMode;

/// `--markdown`.
pub static EXPORT: Export = Export {
    name: "markdown",
    about: "Print the results as Markdown",
    target: ExportTarget::Output,
    render: |results| Ok(summary(results.summary)),
};

/// A comparison as part of a page: its result, then the figures as code.
pub fn comparison(results: &ComparisonResults) -> String {
    let text = compared::render(results, Paint::Plain);
    let (answer, figures) = text.split_once('\n').unwrap_or((&text, ""));
    format!("# Compared\n\n{}\n\n{}", safe::markdown(answer), code(figures))
}

/// The summary as a page.
pub fn summary(summary: &Summary) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "# {}\n\n{}\n", summary.runs.join(", "), table::closing(summary, Paint::Plain));
    for by in &summary.scripted {
        let _ = writeln!(text, "> Note: {}.\n", safe::markdown(&trial::scripted(by)));
    }
    for line in table::shown(summary).lines() {
        let _ = writeln!(text, "{line}\n");
    }
    groups(&mut text, "mode", summary.modes.iter());
    groups(&mut text, "skill", summary.skills.iter());
    text.push_str("## Cases\n\n| case | mode | passed | share (95 %) | details |\n| --- | --- | ---: | ---: | --- |\n");
    for (key, counts) in table::worst_first(summary) {
        let CaseInMode { skill, case, mode } = key;
        let (passed, share) = (table::passed(counts), rate::of_case(counts.case_share()).unwrap_or_default());
        let details = safe::markdown(&table::why(counts));
        let _ = writeln!(text, "| {skill}/{case} | {mode} | {passed} | {share} | {details} |");
    }
    let triggering = triggering::triggering(summary);
    if !triggering.is_empty() {
        let _ = write!(text, "\n## Triggering\n\n{}", code(&triggering));
    }
    text
}

/// A table of the groups of this kind.
fn groups<'a>(text: &mut String, kind: &str, groups: impl Iterator<Item = (&'a String, &'a TrialCounts)>) {
    let _ = writeln!(
        text,
        "| {kind} | passed | failed | errors | unscored | tokens | cost |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    for (name, counts) in groups {
        let TrialCounts { passed, failed, errors, unscored, spent, .. } = counts;
        let (tokens, cost) = (table::tokens(spent), table::cost(spent));
        let tokens = tokens.trim_end_matches(" tokens");
        let _ = writeln!(text, "| {name} | {passed} | {failed} | {errors} | {unscored} | {tokens} | {cost} |");
    }
    text.push('\n');
}

/// Lines as an indented code block, in which nothing is Markdown.
fn code(text: &str) -> String {
    text.lines().flat_map(|line| ["    ", line, "\n"]).collect()
}
