//! A trial in words: what a failing test prints.

use std::fmt::Write;
use std::path::Path;

use crate::cases::case::FoundCase;
use crate::report::diagnostics;
use crate::report::paint::{Paint, Tone};
use crate::store::{self, TrialOwner};
use crate::text::diagnostic::shown_path;
use crate::text::safe;
use crate::trial::id::TrialId;
use crate::trial::outcome::{Goal, Judged, NoOutcome, Outcome, Status, Verdict};

/// Why a test without a recording is ignored in replay.
pub const NO_RECORDING: &str = "no recording; SKILL_EVALS_LIVE=1 runs the agent";

/// Why a test without a recording fails in replay.
pub const RECORDINGS_REQUIRED: &str =
    "  required    by `require_recordings`: in evals/evals.toml, SKILL_EVALS_REQUIRE_RECORDINGS, or since CI is set\n";

/// What is said of a recording whose case wants a judge, and that holds no answer of one.
pub const NOT_JUDGED: &str = "graded without the rubric: the recording holds no judge's answer";

/// A trial that failed, on a line: its id, and the checks that did.
#[must_use]
pub fn failed(outcome: &Outcome, paint: Paint) -> String {
    let failed = outcome.grade.named_checks().into_iter().filter(|(_, check)| check.status == Status::Fail);
    let checks: Vec<String> = failed.map(|(name, _)| name).collect();
    format!("{}  {}\n", headline(outcome, paint), safe::line(&checks.join(", ")))
}

/// A trial that measured nothing for a reason that was told of another, on a line.
#[must_use]
pub fn as_above(outcome: &Outcome, paint: Paint) -> String {
    format!("{} (as above)\n", headline(outcome, paint))
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

/// Graded trials of a case in a mode, for the reader of a failing test: which checks did not pass, on what evidence, and
/// where to look. Those that differ in nothing are one block, which says how many they are.
#[must_use]
pub fn graded<'a>(
    root: &Path,
    found: &FoundCase,
    outcomes: impl IntoIterator<Item = &'a Outcome>,
    paint: Paint,
) -> Vec<String> {
    let mut blocks: Vec<(String, Vec<&Outcome>)> = Vec::new();
    for outcome in outcomes {
        let text = findings(found, outcome, paint);
        match blocks.iter_mut().find(|(known, _)| *known == text) {
            Some((_, alike)) => alike.push(outcome),
            None => blocks.push((text, vec![outcome])),
        }
    }
    blocks.iter().filter_map(|(text, alike)| block(root, text, alike, paint)).collect()
}

/// Trials that came to the same, under the name of the first.
fn block(root: &Path, findings: &str, alike: &[&Outcome], paint: Paint) -> Option<String> {
    let (first, others) = alike.split_first()?;
    let times = if others.is_empty() { String::new() } else { format!("{}× ", alike.len()) };
    let mut text = format!("{times}{}{findings}", headline(first, paint));
    let others: Vec<String> = others.iter().map(|outcome| outcome.id.number.to_string()).collect();
    let beside = if others.is_empty() { String::new() } else { format!(" (and {} next to it)", others.join(", ")) };
    line(&mut text, "look into", &format!("{}{beside}", shown_path(root, &first.folder).display()));
    if let Some(place) = store::place(root, &first.folder) {
        let run = if let TrialOwner::Run(run) = &place { Some(run.as_str()) } else { None };
        line(&mut text, "show it", &show_command(&first.id, run));
    }
    if first.grade.judged == Some(Judged::NotRecorded) {
        line(&mut text, "note", NOT_JUDGED);
    }
    if let Some(by) = &first.scripted {
        line(&mut text, "note", &scripted(by));
    }
    Some(text)
}

/// What a trial came to, from behind its verdict on.
fn findings(found: &FoundCase, outcome: &Outcome, paint: Paint) -> String {
    let grade = &outcome.grade;
    let mut text = match grade.verdict {
        Verdict::Error => " (nothing was measured)\n",
        Verdict::Unscored => " (the evidence passed; no usable answer from the judge)\n",
        Verdict::Pass | Verdict::Fail => "\n",
    }
    .to_owned();
    if let Some(trouble) = &grade.trouble {
        toned(&mut text, paint, Tone::Broken, "why", &trouble.to_string());
    }
    let mut passed = Vec::new();
    for (name, check) in grade.named_checks() {
        let (mark, tone) = match check.status {
            Status::Fail => ("failed", Tone::Bad),
            Status::Unknown => ("unknown", Tone::Broken),
            Status::Pass => {
                // One of several of its name says which by what it expected.
                let which = if name == check.id { String::new() } else { format!(" ({})", check.expected) };
                passed.push(format!("{name}{which}"));
                continue;
            }
        };
        toned(&mut text, paint, tone, mark, &format!("{name} ({})", goal(check.goal)));
        line(&mut text, "  expected", &check.expected);
        line(&mut text, "  found", &check.found);
    }
    if !passed.is_empty() {
        toned(&mut text, paint, Tone::Good, "passed", &passed.join(", "));
    }
    line(&mut text, "case", &format!("{}:{}", found.file.display(), found.line));
    text
}

/// The command that shows a trial of a run, or a recording.
#[must_use]
pub fn show_command(id: &TrialId, run: Option<&str>) -> String {
    // The first repeat has no number: without one the first that failed is meant.
    let number = if id.number == 1 { "/1" } else { "" };
    let place = run.map_or_else(|| "--recording".to_owned(), |run| format!("--run {run}"));
    format!("skill-evals show {} {place}", safe::word(&format!("{id}{number}")))
}

/// The commands that show a trial of a run, or a recording, and measure it anew. An arm of a comparison may be in a mode of
/// its own, which no other run has: `has_mode` says that it is one of the settings'.
#[must_use]
pub fn again(id: &TrialId, run: Option<&str>, has_mode: bool) -> Vec<(&'static str, String)> {
    let mut commands = vec![("show it in a terminal", show_command(id, run))];
    if has_mode {
        let case = safe::word(&format!("{}/{}", id.skill, id.case));
        commands.push(("run it again", format!("skill-evals run --case {case} --mode {}", safe::word(&id.mode))));
        commands.push(("run it again and record it", RerunCommand::Program.record_again(id)));
    } else if let Some(run) = run {
        commands.push(("the result of its comparison", format!("skill-evals compare {}", safe::word(run))));
    }
    commands
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

/// How a reader runs something again: by the program, or by a harness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RerunCommand {
    /// `skill-evals run`.
    #[default]
    Program,
    /// The command that runs the harness, as far as its own arguments.
    Harness(String),
}

impl RerunCommand {
    /// The command that measures a trial anew and records what it measured.
    #[must_use]
    pub fn record_again(&self, id: &TrialId) -> String {
        let TrialId { skill, case, mode, .. } = id;
        match self {
            Self::Program => {
                let case = safe::word(&format!("{skill}/{case}"));
                format!("skill-evals run --case {case} --mode {mode} --record")
            }
            Self::Harness(command) => format!(
                "SKILL_EVALS_LIVE=1 SKILL_EVALS_RECORD=1 SKILL_EVALS_MODE={mode} {command} --exact {}",
                id.test_name()
            ),
        }
    }
}

/// A trial without an outcome: what is wrong, and what to do.
#[must_use]
pub fn not_graded(id: &TrialId, problem: &NoOutcome, door: &RerunCommand, paint: Paint) -> String {
    let name = safe::line(&id.to_string());
    match problem {
        NoOutcome::BadCase(problems) => diagnostics::render(problems, paint),
        NoOutcome::NotRecorded => match door {
            RerunCommand::Harness(_) => {
                let mut text = format!("{name}: {NO_RECORDING}\n");
                line(&mut text, "record it", &door.record_again(id));
                text
            }
            RerunCommand::Program => format!("{name}: no recording; leave --replay out, and its agent runs\n"),
        },
        NoOutcome::Unreadable(why) | NoOutcome::NotOpened(why) => format!("{name}: {}\n", safe::block(why)),
        NoOutcome::NotRun(why) => format!("{name}: not run: {}\n", safe::block(&why.to_string())),
        NoOutcome::Stale { folder, changed } => {
            let mut text = format!("{name}: {}\n", paint.on(Tone::Broken, "the recording is stale"));
            line(&mut text, "changed", &changed.join(", "));
            line(&mut text, "recording", &folder.display().to_string());
            line(&mut text, "what to do", "measure it again with the agent, and record that:");
            line(&mut text, "", &door.record_again(id));
            text
        }
    }
}
