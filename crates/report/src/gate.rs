//! The answer of a gate: for a terminal, and as a comment on a pull request.

use std::fmt::Write;

use crate::compared;
use crate::decide::Rule;
use crate::decide::result::CompareResult;
use crate::diagnostics::counted;
use crate::lint;
use crate::paint::{Paint, Tone};
use crate::rate::{self, fraction};
use crate::results::compared::ComparisonResults;
use crate::results::gate::{DifferenceKind, GateAnswer, GateResults, SkillEdit};
use crate::results::summary::CaseCounts;
use crate::table;
use crate::text::diagnostic::Severity;
use crate::text::{cut, escape};
use crate::trial::run_record::FailedCheck;
use crate::trial::shard::Shard;

/// How a comment is found again, to be updated in place.
const MARKER: &str = "<!-- skill-evals -->";

/// Before a line that belongs to the one above it.
const INDENT: &str = "  ";

/// The most rows of a list; others are counted.
const MAX_ROWS: usize = 20;

/// The most bytes behind the fold of a comment. GitHub refuses a comment of more than 65,536 characters.
const MOST_BYTES: usize = 55_000;

/// What differs from the base, and the cases that this compares.
pub fn changes(results: &GateResults, cases: &[String]) -> String {
    let mut text = changed_lines(results).join("\n") + "\n";
    if cases.is_empty() {
        text.push_str("nothing to compare\n");
    } else {
        let _ = writeln!(text, "to compare: {}", cut::names(cases, MAX_ROWS));
    }
    text
}

/// What differs from the base, each with its consequence.
fn changed_lines(results: &GateResults) -> Vec<String> {
    let base = escape::line(&results.base);
    if results.compares_nothing {
        return vec![format!(
            "nothing compared: {base} is the commit that is checked out, and nothing that is read differs from it"
        )];
    }
    let mut lines = vec![changed_skills(&base, results)];
    lines.extend(results.warning.as_deref().map(escape::line));
    if results.skills > 1 && results.changed.iter().any(|skill| skill.edit.changes_descriptions()) {
        let near = if results.neighbors > 0 { ", the nearest skills are compared too" } else { "" };
        lines.push(format!(
            "descriptions changed: recordings of other skills were made with the old ones and still count{near}"
        ));
    }
    let has = |edit| results.changed.iter().any(|skill| skill.edit == edit);
    if has(SkillEdit::Added) {
        let renamed = if has(SkillEdit::Removed) { "; a renamed skill is a removed and a new one" } else { "" };
        lines.push(format!(
            "a new skill has no base to compare with: `skill-evals run --record` records its cases, and replay checks them from \
             then on{renamed}"
        ));
    } else if has(SkillEdit::Removed) {
        lines.push("a removed skill has nothing to compare with".to_owned());
    }
    if let Some(first) = results.without_cases.first() {
        lines.push(format!(
            "nothing measures {}, without a case: `skill-evals generate --skill {first}` drafts some",
            cut::names(&results.without_cases, MAX_ROWS)
        ));
    }
    let versions = results.other_versions();
    if !versions.is_empty() {
        let ran = results.run.iter().flat_map(|run| &run.versions).map(String::as_str).collect::<Vec<_>>().join(", ");
        lines.push(format!(
            "agent version changed: recordings are of {}, trials of {ran}; recordings stay as they are, kept trials of another \
             version are not used",
            versions.join(", ")
        ));
    }
    for kind in DifferenceKind::ALL {
        let of_kind = results.others.iter().filter(|other| other.kind == kind);
        let names: Vec<String> = of_kind.map(|other| escape::line(&other.name)).collect();
        if !names.is_empty() {
            let (what, effect) = kind.meaning();
            lines.push(format!("{what}: {}; {effect}", cut::names(&names, MAX_ROWS)));
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
    format!("{count} {differ} from {base}: {}", cut::names(&names, MAX_ROWS))
}

/// The answer with its reasons, for a terminal.
pub fn render(results: &GateResults, paint: Paint) -> String {
    let mut text = format!("\n{}\n", changed_lines(results).join("\n"));
    let _ = writeln!(text, "{}", took(results));
    for line in reasons(results, paint) {
        let _ = writeln!(text, "{line}");
    }
    // Next to the answer, where a reader looks first: what broke, and by what.
    let broken = results.compared.iter().flat_map(|found| &found.comparison.broken);
    for name in broken.take(MAX_LEADS) {
        let counts = results.run.as_ref().and_then(|run| run.reasons.get(name));
        let Lead { what, details } = Lead::of_case(name.clone(), counts);
        let _ = writeln!(text, "{INDENT}{}", paint.on(Tone::Bad, &escape::line(&what)));
        for detail in details {
            let _ = writeln!(text, "{INDENT}{INDENT}{}", cut::start(&escape::line(&detail), WIDTH));
        }
    }
    let answer = results.answer();
    let tone = match answer {
        GateAnswer::Passed => Tone::Good,
        GateAnswer::Failed => Tone::Bad,
        GateAnswer::NotMeasured | GateAnswer::NothingCompared => Tone::Broken,
        GateAnswer::Undecided | GateAnswer::NeedsAgent => Tone::Open,
    };
    let _ = writeln!(text, "gate: {}", paint.on(tone, answer.as_str()));
    text
}

/// What a shard of the gate did. It has no answer of its own.
pub fn shard(results: &GateResults, shard: Shard, fails: bool) -> String {
    let mut text = format!("\n{}\n", changed_lines(results).join("\n"));
    if fails {
        let _ = writeln!(text, "{}\nnot compared: this fails the gate", reasons(results, Paint::Plain).join("\n"));
        return text;
    }
    let Some(run) = &results.run else {
        let _ = writeln!(text, "shard {shard}: nothing to compare");
        return text;
    };
    let _ = writeln!(text, "{}", took(results));
    for why in results.ended_early.iter().cloned().chain(results.lost()) {
        let _ = writeln!(text, "{}", escape::line(&why));
    }
    let id = Shard::of_run(&run.id).map_or(run.id.as_str(), |(id, _)| id);
    let _ = writeln!(text, "shard {shard} has run: `skill-evals gate --merge {id}` answers once all have");
    text
}

/// What each part of the gate found, in lines: lint, recordings, comparison.
fn reasons(results: &GateResults, paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    for problem in results.problems.iter().take(MAX_ROWS) {
        lines.push(format!("lint: {}", escape::line(&problem.to_string())));
    }
    let shown: usize = results.problems.iter().take(MAX_ROWS).map(|problem| 1 + problem.more).sum();
    let more = lint::count(&results.problems, Severity::Error).saturating_sub(shown);
    if more > 0 {
        lines.push(format!("lint: {more} more; `skill-evals lint` lists them"));
    }
    if let Some(first) = results.older_problems.first() {
        let (count, first) = (lint::count(&results.older_problems, Severity::Error), escape::line(&first.to_string()));
        lines.push(format!(
            "lint: {} the base has too, which this gate does not fail on; the first: {first}",
            counted(count, "error")
        ));
    }
    for (case, counts) in results.failing().take(MAX_ROWS) {
        let why = escape::line(&table::why(counts));
        lines.push(format!("recorded case fails: {}/{}/{}: {why}", case.skill, case.case, case.mode));
    }
    lines.extend(table::in_quarantine(&results.replayed).iter().map(|line| escape::line(line)));
    let uncompared = results.quarantined.iter().take(MAX_ROWS);
    lines.extend(
        uncompared
            .map(|(case, until)| escape::line(&format!("{case} is in quarantine {until}, so it is not compared"))),
    );
    lines.push(recordings(results));
    if results.waives_recordings && results.unrecorded() + results.stale() == 0 {
        lines.push(
            "every case has a recording: the line `require_recordings = false` of evals/evals.toml can go".to_owned(),
        );
    }
    match &results.compared {
        Some(found) => {
            lines.push(compared::sentence(found, paint));
            lines.extend(compared::behind(found).iter().map(|line| format!("{INDENT}{line}")));
            let harm = found.comparison.results.iter().filter(|result| CompareResult::HARM.contains(result));
            let passed = harm.filter(|result| !results.fails.contains(result));
            lines.extend(passed.map(|result| format!("{}, which this gate does not fail on", result.as_str())));
            lines.extend(compared::kept(found));
            lines.extend(promise(&found.rule));
        }
        None if results.changed.is_empty() || results.left_to_compare.is_some() => {}
        None => lines.push("not compared with the base".to_owned()),
    }
    let not_needed = results.not_needed();
    if !not_needed.is_empty() {
        let cases = escape::line(&cut::names(&not_needed, MAX_ROWS));
        lines.push(format!("not run on both sides, since the result was reached: {cases}"));
    }
    lines.extend(results.not_measured().iter().chain(&results.not_compared()).map(|why| escape::line(why)));
    lines.extend(results.needs_agent().iter().map(|what| format!("an agent has to measure: {}", escape::line(what))));
    lines
}

/// How surely a gate of a year answers, if its settings promise that for all gates of a year together.
pub fn promise(rule: &Rule) -> Option<String> {
    let of_all = Rule::default().alpha;
    let gates = (of_all / rule.alpha).round();
    let percent = rate::points(of_all);
    (gates > 1.0)
        .then(|| format!("the chance of any false alarm in {gates} gates like this one is {percent} % at most"))
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

/// What the comparison took: commit, agents, trials, time and cost.
fn took(results: &GateResults) -> String {
    let commit = results.commit.as_deref().unwrap_or("unknown");
    let Some(run) = &results.run else { return format!("commit {commit}, cost: nothing, no agent was started") };
    let agents: Vec<String> = run.agents.iter().map(|agent| escape::line(agent)).collect();
    if run.trials == 0 {
        let known = [format!("commit {commit}")].into_iter().chain(agents).collect::<Vec<_>>().join(", ");
        return format!("{known}, cost: nothing, no agent was started");
    }
    let limit = run.max_cost_usd.map(|limit| format!(" of at most {}", table::dollars(limit))).unwrap_or_default();
    format!(
        "commit {commit}, {}, {} in {}, cost: {}{limit}, {}",
        agents.join(", "),
        counted(run.trials, "trial"),
        table::clock(run.time),
        table::cost(&run.spent),
        table::tokens(&run.spent)
    )
}

/// Where people find what a job of CI did: its page, and the report that it uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CiPages {
    pub job: String,
    pub report: String,
}

/// The comment: what broke in lines of at most `WIDTH` characters, and the rest folded. Always under 60 KB. What ran on CI is on its
/// `pages`: nobody else has the run.
pub fn markdown(results: &GateResults, pages: Option<&CiPages>) -> String {
    let mut leads = leads(results);
    let more = leads.len().saturating_sub(MAX_LEADS);
    leads.truncate(MAX_LEADS);
    let mut page = format!("{MARKER}\n## skill-evals: {}", results.answer().as_str());
    let mut leads = leads.into_iter();
    if let Some(Lead { what, details }) = leads.next() {
        let _ = writeln!(page, ": {}\n", short(&what));
        for line in details {
            _ = writeln!(page, "- {}", short(&line));
        }
    } else {
        page.push('\n');
    }
    for Lead { what, details } in leads {
        let _ = writeln!(page, "\n**{}**\n", short(&what));
        for line in details {
            _ = writeln!(page, "- {}", short(&line));
        }
    }
    if more > 0 {
        let _ = writeln!(page, "\nand {more} more");
    }
    let links = pages.map(|CiPages { job, report }| {
        let report = results.run.as_ref().map(|_| format!(" · [report.html]({report})")).unwrap_or_default();
        format!("\n[job]({job}){report}\n")
    });
    page.extend(links);
    let end = "\n</details>\n";
    page + "\n<details><summary>What changed, what ran, all figures</summary>\n\n"
        + &within(folded(results, pages), MOST_BYTES)
        + end
}

/// Everything behind the answer.
fn folded(results: &GateResults, pages: Option<&CiPages>) -> String {
    let mut page = String::new();
    for line in changed_lines(results) {
        let _ = writeln!(page, "{}\n", cell(&line));
    }
    for line in reasons(results, Paint::Plain) {
        let text = line.trim_start_matches(INDENT);
        let _ = writeln!(page, "{}- {}", &line[..line.len() - text.len()], cell(text));
    }
    let base = results.base.split(' ').next().unwrap_or_default();
    let here = results.run.as_ref().filter(|_| pages.is_none());
    let see = here.map(|run| format!("to see its trials: `skill-evals report {}`; ", run.id));
    let again = escape::code(&format!("skill-evals gate {}", escape::word(base)));
    let _ = writeln!(page, "\n{}\n\n{}to run it again: {again}", cell(&took(results)), see.unwrap_or_default());
    if let Some(found) = results.compared.as_ref().filter(|found| !found.unchanged) {
        skills(&mut page, results);
        broken(&mut page, results, found);
        moved(&mut page, found);
        page.push_str("\nAll figures:\n\n");
        // Indented by four it is code: nothing in it is Markdown.
        for line in compared::render(found, Paint::Plain).lines().take(60) {
            page.extend(["    ".to_owned(), line.chars().take(300).collect(), "\n".to_owned()]);
        }
        page.extend(compared::mean_of_broke(found).map(|line| format!("      {line}\n")));
    }
    page
}

/// A reason for the answer: what broke with its rates, and the check that failed with what it expected and found.
struct Lead {
    what: String,
    details: Vec<String>,
}

impl Lead {
    fn of(what: String) -> Self {
        Self { what, details: Vec::new() }
    }

    /// A case, with the check that failed in it.
    fn of_case(what: String, counts: Option<&CaseCounts>) -> Self {
        let Some(first) = counts.and_then(|counts| counts.findings.first()) else {
            return Self { what, details: counts.map(table::why).into_iter().collect() };
        };
        let FailedCheck { check, expected, found } = first;
        let details = vec![format!("check {check}"), format!("expected: {expected}"), format!("found: {found}")];
        Self { what, details }
    }
}

/// The reasons for the answer, what broke first.
fn leads(results: &GateResults) -> Vec<Lead> {
    let mut leads = Vec::new();
    let counts_of = |name: &str| results.run.as_ref().and_then(|run| run.reasons.get(name));
    if let Some(found) = results.compared.as_ref().filter(|found| !found.unchanged) {
        let comparison = &found.comparison;
        for name in &comparison.broken {
            let case = comparison.cases.iter().find(|case| case.case == *name);
            let rates =
                case.map(|case| format!(", {} → {}", fraction(case.baseline.rate), fraction(case.candidate.rate)));
            let what = compared::broke(comparison);
            leads.push(Lead::of_case(format!("{name} {what}{}", rates.unwrap_or_default()), counts_of(name)));
        }
        if leads.is_empty() {
            leads.push(Lead::of(compared::sentence(found, Paint::Plain)));
        }
    }
    let fails = results.failing().map(|(case, counts)| {
        Lead::of_case(format!("{}/{} fails in its recording", case.skill, case.case), Some(counts))
    });
    let mut others: Vec<Lead> = fails.collect();
    others.extend(results.problems.iter().map(|problem| {
        let place = format!("{}:{}", problem.place.path.display(), problem.place.line.max(1));
        Lead { what: format!("lint: {}", problem.code), details: vec![problem.message.clone(), place] }
    }));
    let unmeasured = [results.not_measured(), results.needs_agent()].concat();
    others.extend(unmeasured.into_iter().map(Lead::of));
    if results.answer() == GateAnswer::NothingCompared {
        others.extend(results.not_compared().into_iter().map(Lead::of));
    }
    // What broke leads, but "no harm seen" is not why a gate fails.
    let breaks = results
        .compared
        .as_ref()
        .is_some_and(|found| found.comparison.results.iter().any(|result| results.fails.contains(result)));
    if breaks || others.is_empty() {
        leads.extend(others);
        leads
    } else {
        others.extend(leads);
        others
    }
}

/// The characters that a phone shows on a line, or a few.
const WIDTH: usize = 76;

/// The most reasons in front of the fold.
const MAX_LEADS: usize = 5;

/// A text of a line as Markdown.
fn short(text: &str) -> String {
    cell(&cut::start(&escape::line(text), WIDTH))
}

/// The beginning of a text, in whole lines.
fn within(text: String, most: usize) -> String {
    const CUT: &str = "\n(cut here: report.html has the rest)\n";
    if text.len() <= most {
        return text;
    }
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        if kept.len() + line.len() + CUT.len() > most {
            break;
        }
        kept.push_str(line);
    }
    kept + CUT
}

/// An answer for each changed skill, if several were compared.
fn skills(page: &mut String, results: &GateResults) {
    let rates = results.skill_rates();
    if rates.len() < 2 {
        return;
    }
    let has_looks = rates.iter().any(|skill| skill.looked > 0);
    let (alone, line) = if has_looks { (" this alone |", " ---: |") } else { ("", "") };
    let _ = writeln!(page, "\n| skill | base | this |{alone} answer |\n| --- | ---: | ---: |{line} --- |");
    for skill in rates.iter().take(MAX_ROWS) {
        let answer = if skill.broke { "broke" } else { "no case broke" };
        let _ = writeln!(
            page,
            "| {} | {} | {} |{} {answer} |",
            cell(&skill.slug),
            fraction(skill.base),
            fraction(skill.this),
            if has_looks { format!(" {0}/{0} |", skill.looked) } else { String::new() }
        );
    }
    let more = rates.len().saturating_sub(MAX_ROWS);
    if more > 0 {
        let _ = writeln!(page, "\n{more} more skills were compared.");
    }
}

/// The broken cases, each with its rates, and the failed check with what it expected and found.
fn broken(page: &mut String, results: &GateResults, found: &ComparisonResults) {
    let broken = &found.comparison.broken;
    for name in broken.iter().take(MAX_ROWS) {
        let case = found.comparison.cases.iter().find(|case| case.case == *name);
        let rates = case.map(|case| format!(" {} → {}", fraction(case.baseline.rate), fraction(case.candidate.rate)));
        let why = results.run.as_ref().and_then(|run| run.reasons.get(name)).map(table::reason);
        let why = why.map(|why| format!(": {}", cell(&why))).unwrap_or_default();
        let _ = writeln!(page, "- {}{}{why}", cell(name), rates.unwrap_or_default());
    }
    let more = broken.len().saturating_sub(MAX_ROWS);
    if more > 0 {
        let _ = writeln!(page, "- {more} more cases broke");
    }
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
        let evidence = match compared::changed(case) {
            Some(changed) => changed,
            None if found.comparison.broken.contains(&case.case) => compared::broke(&found.comparison).to_owned(),
            None => "may be noise".to_owned(),
        };
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
    let mut cell = String::new();
    for c in escape::markdown(&text).chars() {
        cell.push(c);
        let end = cell.get(cell.len().saturating_sub(3)..).unwrap_or_default().to_ascii_lowercase();
        // A mention, a number of an issue, and the beginnings of addresses.
        if matches!(c, '@' | '#') || end == "www" || end == "gh-" {
            cell.push('\u{200b}');
        }
    }
    cell.replace("://", ":\u{200b}//")
}

#[cfg(test)]
mod tests {

    use crate::decide::{CaseCount, Rule};
    use crate::results::compared as results;
    use crate::results::gate::{ComparedRun, OtherChange, SkillDifference};
    use crate::results::side_results::SideResults;
    use crate::stats::proportion::Rate;

    use super::*;

    /// A side in which each of 500 cases with long names passed this number of ten trials.
    fn side(passed: u64) -> SideResults {
        let count = CaseCount { rate: Rate::new(passed, 10), not_measured: 0 };
        let name = |number: u32| format!("tidy/c{number}-{}", "ü".repeat(100));
        SideResults { counts: (0..500).map(|number| (name(number), count)).collect(), ..SideResults::default() }
    }

    #[test]
    fn text_of_others_neither_notifies_nor_links() {
        let text = cell("@all closes #1 GH-2 www.x.org WWW.x.org http://x.org");
        for live in ["@a", "#1", "GH-2", "www.", "WWW.", "://"] {
            assert!(!text.contains(live), "{live}: {text}");
        }
    }

    #[test]
    fn a_comment_of_500_broken_cases_with_long_texts_stays_under_60_kb() {
        let labels = ("the skills of main".to_owned(), "the working tree".to_owned());
        let found = results::stored(labels, &side(10), &side(0), Rule::default());
        let long = "@|<!-- ü".repeat(2_000);
        let mut counts = CaseCounts::default();
        counts.findings.push(FailedCheck { check: "must-include".into(), expected: long.clone(), found: long.clone() });
        let reasons = found.comparison.broken.iter().map(|name| (name.clone(), counts.clone())).collect();
        let names = |number: u32| format!("tidy/new{number}");
        let results = GateResults {
            base: "main (131dc1a3b2c4)".to_owned(),
            skills: 1,
            changed: vec![SkillDifference { slug: "tidy".into(), edit: SkillEdit::Body }],
            others: (0..500).map(|n| OtherChange { kind: DifferenceKind::CaseAdded, name: names(n) + &long }).collect(),
            compared: Some(found),
            run: Some(ComparedRun { id: "r".into(), reasons, ..ComparedRun::default() }),
            fails: vec![crate::decide::result::CompareResult::Broke],
            ended_early: Some(long),
            ..GateResults::default()
        };
        let page = markdown(&results, None);
        assert!(page.len() < 60_000, "{}", page.len());
        for words in ["## skill-evals: failed", "tidy/c0", "to run it again: `skill-evals gate main`"] {
            assert!(page.contains(words), "{words}: {page}");
        }
    }
}
