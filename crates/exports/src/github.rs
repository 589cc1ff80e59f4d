//! Results as workflow commands of GitHub Actions: annotations of what a change touched, or of the row of the case. What makes
//! a job fail is an error. <https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands>

use std::collections::BTreeMap;

use crate::decide::CaseChange;
use crate::report::compared;
use crate::report::export::{ChangeLocations, Export, ExportKind, FileLine, Results};
use crate::report::paint::Paint;
use crate::report::rate::fraction;
use crate::report::{markdown, table};
use crate::results::compared::ComparisonResults;
use crate::results::gate::{GateAnswer, GateResults};
use crate::results::summary::CaseCounts;
use crate::text::{cut, escape};
use crate::trial::id::CaseInMode;
use crate::trial::outcome::NotRun;
use crate::trial::outcome::Verdict;

pub static EXPORT: Export = Export {
    name: "github",
    about: "In GitHub Actions: annotate each case that did not pass, and add the summary to the job",
    kind: ExportKind::Job { render: |results| Ok(annotations(results)), page: markdown::summary },
};

// How GitHub shows an annotation: an error is a reason why the job fails.
const ERROR: &str = "error";
const WARNING: &str = "warning";
const NOTICE: &str = "notice";

/// An annotation of each case that did not pass, and one for all cases that did not run for the same reason.
fn annotations(results: &Results<'_>) -> String {
    let (summary, locations) = (results.summary, (results.locations)());
    // Without any trial, a command fails because recordings are missing.
    let needs_recordings = results.needs_recordings || summary.total.ended() == 0;
    let mut text = String::new();
    let mut not_run: BTreeMap<String, Vec<(&CaseInMode, &CaseCounts)>> = BTreeMap::new();
    for (case, counts) in summary.cases.iter().filter(|(_, counts)| counts.verdict() != Some(Verdict::Pass)) {
        if counts.verdict().is_none() {
            let reasons = counts.not_run.keys().map(NotRun::text).collect::<Vec<_>>().join(", ");
            not_run.entry(reasons).or_default().push((case, counts));
        } else {
            let level = if counts.excused().is_some() { NOTICE } else { ERROR };
            text.push_str(&annotation(level, locations.of_case(&name(case)), &case_message(case, counts)));
        }
    }
    for (reasons, cases) in not_run {
        let Some((first, counts)) = cases.first() else { continue };
        let is_unrecorded = counts.not_run.keys().all(|why| *why == NotRun::NotRecorded);
        let level = if is_unrecorded && !needs_recordings { WARNING } else { ERROR };
        let names: Vec<String> = cases.iter().map(|(case, _)| name(case)).collect();
        let message = match cases.as_slice() {
            [_] => case_message(first, counts),
            all => format!("{} cases did not run ({reasons}): {}", all.len(), cut::names(&names, MAX_NAMES)),
        };
        text.push_str(&annotation(level, locations.of_case(&name(first)), &message));
    }
    text
}

/// The most cases that an annotation names; others are counted.
const MAX_NAMES: usize = 20;

/// The result of a comparison, why it lacks something, and a line for each broken case that it names. `fails` says whether the job
/// fails because of it.
pub fn comparison(
    compared: &ComparisonResults,
    fails: bool,
    lacks: Option<&str>,
    locations: &ChangeLocations,
) -> String {
    let level = if fails { ERROR } else { NOTICE };
    let lacks = lacks.map(|why| not_measured(why, locations));
    let mut text = lacks.unwrap_or_default();
    let answer = [vec![compared::sentence(compared, Paint::Plain)], compared::behind(compared)].concat().join("\n");
    text += &annotation(level, locations.only_skill(), &answer);
    let comparison = &compared.comparison;
    let is_named = |case: &&CaseChange| compared::named_broken(comparison).any(|name| *name == case.case);
    for case in comparison.cases.iter().filter(is_named) {
        let (before, after) = (fraction(case.baseline.rate), fraction(case.candidate.rate));
        let location = locations.of_change(&case.case);
        let what = compared::broke(comparison);
        text.push_str(&annotation(level, location, &format!("{} {what}: {before} → {after} passed", case.case)));
    }
    text
}

/// The reasons of a gate, the comparison first: GitHub shows ten annotations of a level for each step.
pub fn gate(results: &GateResults, locations: &ChangeLocations) -> String {
    let mut text = String::new();
    if let Some(compared) = &results.compared {
        let is_bad = compared.comparison.results.iter().any(|result| results.fails.contains(result));
        let fails = is_bad || results.answer() == GateAnswer::Undecided;
        text.push_str(&comparison(compared, fails, None, locations));
    }
    for problem in &results.problems {
        let location = (locations.prefix.join(&problem.place.path), problem.place.line.max(1));
        let more = if problem.more > 0 { format!(" (and {} more)", problem.more) } else { String::new() };
        let message = format!("lint: [{}] {}{more}", problem.code, problem.message);
        text.push_str(&annotation(ERROR, Some(&location), &message));
    }
    for (case, counts) in results.failing() {
        let message = format!("recording: {}", case_message(case, counts));
        text.push_str(&annotation(ERROR, locations.of_case(&name(case)), &message));
    }
    let uncompared = if results.answer() == GateAnswer::NothingCompared { results.not_compared() } else { Vec::new() };
    for why in results.not_measured().iter().chain(&uncompared) {
        text.push_str(&not_measured(why, locations));
    }
    text
}

fn not_measured(why: &str, locations: &ChangeLocations) -> String {
    annotation(ERROR, locations.only_skill(), &format!("incomplete: {why}"))
}

fn name(case: &CaseInMode) -> String {
    format!("{}/{}", case.skill, case.case)
}

/// A case that did not pass: its failed check, what was expected and found.
fn case_message(case: &CaseInMode, counts: &CaseCounts) -> String {
    let excused = counts.excused().map(|until| format!(" (in quarantine {until})")).unwrap_or_default();
    format!("{} in the mode {}{excused}: {}", name(case), case.mode, table::reason(counts))
}

fn annotation(level: &str, location: Option<&FileLine>, text: &str) -> String {
    let location = location.map(|(file, line)| format!(" file={},line={line}", property(&file.to_string_lossy())));
    format!("::{level}{}::{}\n", location.unwrap_or_default(), message(&escape::block(text)))
}

/// Text that neither ends a command nor begins one.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The same for the value of a property.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use crate::results::summary::Summary;
    use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
    use crate::trial::id::TrialId;

    use super::*;

    #[test]
    fn what_fails_a_gate_is_an_error_at_its_place_in_the_git_repository() {
        let place = SourceLocation::file("skills/a/SKILL.md");
        let results = GateResults {
            problems: vec![Diagnostic::new(Code::SkillDescription, place, "there is none:\n100 %")],
            ended_early: Some("interrupted".to_owned()),
            ..GateResults::default()
        };
        let skills = [("a".to_owned(), (PathBuf::from("part/skills/a/SKILL.md"), 3))].into();
        let locations = ChangeLocations { prefix: "part".into(), skills, ..ChangeLocations::default() };
        assert_eq!(
            gate(&results, &locations).lines().collect::<Vec<_>>(),
            [
                "::error file=part/skills/a/SKILL.md,line=1::lint: [skill-description] there is none:%0A100 %25",
                "::error file=part/skills/a/SKILL.md,line=3::incomplete: interrupted"
            ]
        );
    }

    #[test]
    fn cases_that_did_not_run_for_one_reason_are_one_annotation() {
        let mut summary = Summary::default();
        for number in 0..156 {
            let id = TrialId { skill: "a".into(), case: format!("c{number}"), mode: "m".into(), number: 1 };
            let why = if number == 0 { NotRun::Stale } else { NotRun::NotRecorded };
            summary.add_not_run(&id, why);
        }
        let locations = ChangeLocations::default;
        let of =
            |needs_recordings| annotations(&Results { summary: &summary, needs_recordings, locations: &locations });
        let text = of(true);
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.contains("::error::155 cases did not run (no recording): a/c1, a/c10, "), "{text}");
    }

    #[test]
    fn nothing_that_others_wrote_ends_a_command_or_adds_a_property() {
        assert_eq!(message("100 %\n::error::x"), "100 %25%0A::error::x");
        assert_eq!(property("a:b,line=7%"), "a%3Ab%2Cline=7%25");
    }
}
