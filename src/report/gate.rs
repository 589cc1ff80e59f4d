//! The answer of a gate: for a terminal, and as a comment on a pull request.

use std::fmt::Write;

use crate::report::compared;
use crate::report::diagnostics::counted;
use crate::report::paint::{Paint, Tone};
use crate::report::rate::fraction;
use crate::report::table;
use crate::results::compared::ComparisonResults;
use crate::results::gate::{ChangeKind, GateAnswer, GateResults, SkillEdit};
use crate::text::safe;

/// How a comment is found again, to be updated in place.
const MARKER: &str = "<!-- skill-evals -->";

/// The most rows of a list; others are counted.
const MAX_ROWS: usize = 20;

/// What differs from the base, and the cases that this compares.
pub fn changes(results: &GateResults, cases: &[String]) -> String {
    let mut text = changed_lines(results).join("\n") + "\n";
    if cases.is_empty() {
        text.push_str("nothing to compare\n");
    } else {
        let _ = writeln!(text, "to compare: {}", listed(cases.iter().map(String::as_str)));
    }
    text
}

/// What differs from the base, each with its consequence.
fn changed_lines(results: &GateResults) -> Vec<String> {
    let base = safe::line(&results.base);
    if results.compares_nothing {
        return vec![format!(
            "nothing compared: {base} is the commit that is checked out, and nothing differs from it"
        )];
    }
    let mut lines = vec![changed_skills(&base, results)];
    let descriptions = results.changed.iter().any(|skill| skill.edit == SkillEdit::Description);
    if descriptions {
        lines.push(
            "descriptions changed: recordings of other skills are aged, the nearest skills are compared too".to_owned(),
        );
    }
    for kind in ChangeKind::ALL {
        let of_kind = results.others.iter().filter(|other| other.kind == kind);
        let names: Vec<String> = of_kind.map(|other| safe::line(&other.name)).collect();
        if !names.is_empty() {
            let (what, effect) = kind.meaning();
            lines.push(format!("{what}: {}; {effect}", listed(names.iter().map(String::as_str))));
        }
    }
    lines
}

fn changed_skills(base: &str, results: &GateResults) -> String {
    let changed = &results.changed;
    if changed.is_empty() {
        return format!("no skill of {} differs from {base}", results.skills);
    }
    let names: Vec<String> = changed.iter().map(|skill| format!("{} ({})", skill.slug, skill.edit.as_str())).collect();
    let differ = if changed.len() == 1 { "differs" } else { "differ" };
    let count = counted(changed.len(), "skill");
    format!("{count} {differ} from {base}: {}", listed(names.iter().map(String::as_str)))
}

fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(MAX_ROWS);
    let shown: Vec<&str> = names.take(MAX_ROWS).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// The answer with its reasons, for a terminal.
pub fn render(results: &GateResults, paint: Paint) -> String {
    let mut text = format!("\n{}\n", changed_lines(results).join("\n"));
    for line in reasons(results, paint) {
        let _ = writeln!(text, "{line}");
    }
    let answer = results.answer();
    let tone = match answer {
        GateAnswer::Passed => Tone::Good,
        GateAnswer::Failed => Tone::Bad,
        GateAnswer::NotMeasured => Tone::Broken,
        GateAnswer::Undecided => Tone::Open,
    };
    let _ = writeln!(text, "gate: {}", paint.on(tone, answer.as_str()));
    text
}

/// What each part of the gate found, in lines: lint, recordings, comparison.
fn reasons(results: &GateResults, paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    for problem in results.problems.iter().take(MAX_ROWS) {
        lines.push(format!("lint: {}", safe::line(&problem.to_string())));
    }
    let more = results.problems.len().saturating_sub(MAX_ROWS);
    if more > 0 {
        lines.push(format!("lint: {more} more; `skill-evals lint --check-evals` lists them"));
    }
    for (case, counts) in results.failing().take(MAX_ROWS) {
        let why = safe::line(&table::why(counts));
        lines.push(format!("recorded case fails: {}/{}/{}: {why}", case.skill, case.case, case.mode));
    }
    lines.push(recordings(results));
    match &results.compared {
        Some(found) => {
            lines.push(compared::sentence(found, paint));
            lines.extend(compared::kept(found));
        }
        None if results.changed.is_empty() => {}
        None => lines.push("not compared with the base".to_owned()),
    }
    lines.extend(results.not_measured().iter().map(|why| safe::line(why)));
    lines
}

/// The state of the recordings in a line.
fn recordings(results: &GateResults) -> String {
    let passed = results.replayed.total.passed;
    let mut parts = vec![format!("{passed} passed"), format!("{} failed", results.replayed.total.failed)];
    let others =
        [("stale", results.stale()), ("aged", results.replayed.aged), ("without a recording", results.unrecorded())];
    parts.extend(others.into_iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!("{count} {what}")));
    format!("recordings: {}", parts.join(", "))
}

/// The comment: the answer, the skills that changed, the cases that moved, and the rest folded. Always under 60 KB.
pub fn markdown(results: &GateResults) -> String {
    let mut page = format!("{MARKER}\n## skill-evals: {}\n\n", results.answer().as_str());
    for line in changed_lines(results) {
        let _ = writeln!(page, "{}\n", cell(&line));
    }
    for line in reasons(results, Paint::Plain) {
        let _ = writeln!(page, "- {}", cell(&line));
    }
    if let Some(found) = results.compared.as_ref().filter(|found| !found.unchanged) {
        moved(&mut page, found);
        let figures = compared::render(found, Paint::Plain);
        page.push_str("\n<details><summary>All figures</summary>\n\n");
        // Indented by four it is code: nothing in it is Markdown.
        figures.lines().take(60).for_each(|line| page.extend(["    ", line, "\n"]));
        page.push_str("\n</details>\n");
    }
    page
}

/// The table of cases whose pass rate differs.
fn moved(page: &mut String, found: &ComparisonResults) {
    let cases = compared::moved_cases(&found.comparison);
    if cases.is_empty() {
        return;
    }
    let _ = writeln!(page, "\n| case | base | this | evidence |\n| --- | ---: | ---: | --- |");
    for case in cases.iter().take(MAX_ROWS) {
        let (base, this) = (fraction(case.baseline.rate), fraction(case.candidate.rate));
        let evidence = compared::changed(case).unwrap_or_else(|| "may be noise".to_owned());
        let _ = writeln!(page, "| {} | {base} | {this} | {evidence} |", cell(&case.case));
    }
    let more = cases.len().saturating_sub(MAX_ROWS);
    if more > 0 {
        let _ = writeln!(page, "\n{more} more cases moved.");
    }
}

/// The page of a gate that has not finished: what an earlier gate found says nothing about this change.
pub fn unfinished() -> String {
    format!("{MARKER}\n## skill-evals: not measured\n\nThe gate did not finish. See the output of the job.\n")
}

/// Text that stays in its line, notifies nobody, links nowhere, and has at most a thousand characters.
fn cell(text: &str) -> String {
    let text: String = text.chars().take(1000).collect();
    safe::markdown(&text).replace('@', "@\u{200b}").replace("://", ":\u{200b}//")
}
