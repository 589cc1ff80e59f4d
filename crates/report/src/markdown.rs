//! Results as Markdown: a summary (the content of `summary.md`) and a comparison.

use std::fmt::Write;

use crate::export::{Export, ExportKind};
use crate::paint::Paint;
use crate::results::compared::ComparisonResults;
use crate::results::summary::{Summary, TrialCounts};
use crate::text::escape;
use crate::trial::id::CaseInMode;
use crate::trial::outcome::NotRun;
use crate::trial::outcome::Verdict;
use crate::{compared, rate, table, trial_text};

pub static EXPORT: Export = Export {
    name: "markdown",
    about: "Print the results as Markdown",
    kind: ExportKind::Output(|results| Ok(summary(results.summary))),
};

/// A comparison as part of a page: its result, then the figures as code.
pub fn comparison(compared: &ComparisonResults, lacks: Option<&str>) -> String {
    let text = compared::render(compared, Paint::Plain);
    let (answer, figures) = text.split_once('\n').unwrap_or((&text, ""));
    let results: Vec<&str> = compared.comparison.results.iter().map(|result| result.as_str()).collect();
    let title = if compared.unchanged { "unchanged".to_owned() } else { results.join(", ") };
    let lacks = lacks.map(|why| format!("> Incomplete: {}\n\n", escape::markdown(why))).unwrap_or_default();
    format!("# {title}\n\n{lacks}{}\n\n{}", escape::markdown(answer), code(figures))
}

pub fn summary(summary: &Summary) -> String {
    let mut text = String::new();
    let closing = table::closing(summary, Paint::Plain);
    let (cases, trials) = closing.split_once('\n').unwrap_or((&closing, ""));
    let _ = writeln!(text, "# {}: {cases}\n\n{}; {trials}\n", answer(summary), summary.runs.join(", "));
    for by in &summary.scripted {
        let _ = writeln!(text, "> Note: {}.\n", escape::markdown(&trial_text::scripted(by)));
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
        let details = escape::markdown(&table::why(counts));
        let _ = writeln!(text, "| {skill}/{case} | {mode} | {passed} | {share} | {details} |");
    }
    let triggering = table::triggering(summary);
    if !triggering.is_empty() {
        let _ = write!(text, "\n## Triggering\n\n{}", code(&triggering));
    }
    text
}

fn answer(summary: &Summary) -> &'static str {
    let not_run = summary.not_run.keys().any(|why| *why != NotRun::NotRecorded);
    let lost = summary.cases_with(Verdict::Error) + summary.cases_with(Verdict::Unscored);
    if summary.cases_with(Verdict::Fail) > 0 {
        "failed"
    } else if not_run || lost > 0 || summary.total.ended() == 0 {
        "not measured"
    } else {
        "passed"
    }
}

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
