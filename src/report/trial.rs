//! A trial in words: what a failing test prints.

use std::fmt::Write;
use std::path::Path;

use crate::cases::case::Found;
use crate::report::diagnostics;
use crate::report::paint::{Paint, Tone};
use crate::text::diagnostic::shown_path;
use crate::text::safe;
use crate::trial::id::TrialId;
use crate::trial::outcome::{Goal, Judged, NoOutcome, Outcome, Status, Verdict};

/// Why a trial without a recording is ignored in replay.
pub const NO_RECORDING: &str = "no recording; SKILL_EVALS_LIVE=1 runs the agent";

/// What is said of a recording whose case wants a judge, and that holds no answer of one.
pub const NOT_JUDGED: &str = "graded without the rubric: the recording holds no judge's answer";

/// A trial that failed, on a line: its id, and the checks that did.
#[must_use]
pub fn failed(outcome: &Outcome, paint: Paint) -> String {
    let failed = outcome.grade.checks.iter().filter(|check| check.status == Status::Fail);
    let checks: Vec<&str> = failed.map(|check| check.id.as_str()).collect();
    format!("{}  {}\n", headline(outcome, paint), safe::line(&checks.join(", ")))
}

/// A trial that passed, on a line.
#[must_use]
pub fn passed(outcome: &Outcome, paint: Paint) -> String {
    let judged = match &outcome.grade.judged {
        Some(Judged::NotRecorded) => format!(" ({NOT_JUDGED})"),
        Some(Judged::Asked { score: Some(score), .. }) => format!(" (rubric: {score:.0} of 100)"),
        _ => String::new(),
    };
    format!("{}{judged}\n", headline(outcome, paint))
}

/// A trial and its verdict.
#[must_use]
pub fn headline(outcome: &Outcome, paint: Paint) -> String {
    let verdict = outcome.grade.verdict;
    format!("{}: {}", safe::line(&outcome.id.to_string()), paint.on(verdict.into(), verdict.as_str()))
}

/// A graded trial, for the reader of a failing test: which checks did not pass, on what evidence, and where to look.
#[must_use]
pub fn graded(root: &Path, found: &Found, outcome: &Outcome, paint: Paint) -> String {
    let grade = &outcome.grade;
    let mut text = headline(outcome, paint);
    match grade.verdict {
        Verdict::Error => text.push_str(" (nothing was measured)"),
        Verdict::Unscored => text.push_str(" (the evidence passed; there is no judge's answer that counts)"),
        Verdict::Pass | Verdict::Fail => {}
    }
    text.push('\n');
    if let Some(trouble) = &grade.trouble {
        toned(&mut text, paint, Tone::Broken, "why", &trouble.to_string());
    }
    for check in grade.not_passed() {
        let (mark, tone) =
            if check.status == Status::Unknown { ("unknown", Tone::Broken) } else { ("failed", Tone::Bad) };
        toned(&mut text, paint, tone, mark, &format!("{} ({})", check.id, goal(check.goal)));
        line(&mut text, "  expected", &check.expected);
        line(&mut text, "  found", &check.evidence);
    }
    let passed = grade.checks.iter().filter(|check| check.status == Status::Pass);
    let passed: Vec<&str> = passed.map(|check| check.id.as_str()).collect();
    if !passed.is_empty() {
        toned(&mut text, paint, Tone::Good, "passed", &passed.join(", "));
    }
    line(&mut text, "case", &format!("{}:{}", found.file.display(), found.line));
    line(&mut text, "look into", &shown_path(root, &outcome.folder).display().to_string());
    if grade.judged == Some(Judged::NotRecorded) {
        line(&mut text, "note", NOT_JUDGED);
    }
    if let Some(by) = &outcome.scripted {
        line(&mut text, "note", &scripted(by));
    }
    text
}

/// What has to be said wherever results of a scripted model are shown.
#[must_use]
pub fn scripted(by: &str) -> String {
    format!("the answers were scripted ({by}); they say nothing about a model")
}

fn line(text: &mut String, label: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  {label:<12}{}", safe::line(value));
}

/// A line whose label is coloured.
fn toned(text: &mut String, paint: Paint, tone: Tone, label: &str, value: &str) {
    let _ = writeln!(text, "  {}{}", paint.on(tone, &format!("{label:<12}")), safe::line(value));
}

/// A goal as a reader sees it.
#[must_use]
pub fn goal(goal: Goal) -> &'static str {
    match goal {
        Goal::Outcome => "outcome",
        Goal::Process => "process",
        Goal::Style => "style",
        Goal::Efficiency => "efficiency",
    }
}

/// How a reader runs something again: by the program, or by `cargo test` with the harness of this name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Door {
    /// `skill-evals run`.
    #[default]
    Program,
    /// `cargo test --test NAME`.
    CargoTest(String),
}

impl Door {
    /// The command that measures a trial anew and records what it measured.
    #[must_use]
    pub fn record_again(&self, id: &TrialId) -> String {
        let TrialId { skill, case, mode, .. } = id;
        match self {
            Self::Program => format!("skill-evals run --case {skill}/{case} --mode {mode} --record"),
            Self::CargoTest(test) => format!(
                "SKILL_EVALS_LIVE=1 SKILL_EVALS_RECORD=1 SKILL_EVALS_MODE={mode} cargo test --test {test} -- --exact {}",
                id.test_name()
            ),
        }
    }
}

/// A trial without an outcome: what is wrong, and what to do.
#[must_use]
pub fn not_graded(id: &TrialId, problem: &NoOutcome, door: &Door, paint: Paint) -> String {
    let name = safe::line(&id.to_string());
    match problem {
        NoOutcome::BadCase(problems) => diagnostics::render(problems, paint),
        NoOutcome::NotRecorded => format!("{name}: {NO_RECORDING}\n"),
        NoOutcome::Unreadable(why) | NoOutcome::NotOpened(why) => format!("{name}: {}\n", safe::block(why)),
        NoOutcome::NotRun(why) => format!("{name}: not run: {}\n", safe::block(&why.to_string())),
        NoOutcome::Stale { folder, changed } => {
            let mut text = format!("{name}: {}\n", paint.on(Tone::Broken, "the recording is stale"));
            line(&mut text, "changed", &changed.join(", "));
            line(&mut text, "recording", &folder.display().to_string());
            line(&mut text, "what to do", "measure it anew with the agent, and record that:");
            line(&mut text, "", &door.record_again(id));
            text
        }
    }
}
