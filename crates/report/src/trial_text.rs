//! A trial as text: what a failing test prints.

use std::fmt::Write;
use std::path::Path;

use crate::cases::case::FoundCase;
use crate::diagnostics;
use crate::diagnostics::counted;
use crate::paint::{Paint, Tone};
use crate::settings::Isolation;
use crate::store::{self, TrialOwner};
use crate::text::diagnostic::Diagnostic;
use crate::text::diagnostic::shown_path;
use crate::text::escape;
use crate::trial::evidence::Meta;
use crate::trial::id::TrialId;
use crate::trial::input_file::MockCalls;
use crate::trial::network::NetworkMeta;
use crate::trial::outcome::{CheckResult, Grade, Judged, Outcome, Score, Status, TrialError, TroubleKind, Verdict};

/// Why a test without a recording is ignored in replay.
pub const NO_RECORDING: &str = "no recording; SKILL_EVALS_LIVE=1 runs the agent";

/// Why a test without a recording fails in replay.
pub const RECORDINGS_REQUIRED: &str =
    "  required    by `require_recordings`: in evals/evals.toml, SKILL_EVALS_REQUIRE_RECORDINGS, or since CI is set\n";

/// A note on a trial whose case has a rubric and whose recording has no judge's answer.
const NOT_JUDGED: &str = "graded without the rubric: the recording holds no judge's answer";

/// A failed trial and its failed checks, on a line.
pub fn failed(outcome: &Outcome, paint: Paint) -> String {
    let failed = outcome.grade.named_checks().into_iter().filter(|(_, check)| check.status == Status::Fail);
    let checks: Vec<String> = failed.map(|(name, _)| name).collect();
    format!("{}  {}\n", headline(outcome, paint), escape::line(&checks.join(", ")))
}

/// A trial that could not be measured for a reason that was printed for another trial, on a line.
pub fn as_above(outcome: &Outcome, paint: Paint) -> String {
    format!("{} (as above)\n", headline(outcome, paint))
}

/// A passed trial, on a line.
pub fn passed(outcome: &Outcome, paint: Paint) -> String {
    let judged = match &outcome.grade.judged {
        Some(Judged::NotRecorded) => format!(" ({NOT_JUDGED})"),
        Some(Judged::Asked { score: Some(score), .. }) => format!(" (rubric: {score:.0} of 100)"),
        _ => String::new(),
    };
    format!("{}{judged}\n", headline(outcome, paint))
}

pub fn headline(outcome: &Outcome, paint: Paint) -> String {
    format!("{}: {}", escape::line(&outcome.id.to_string()), verdict(&outcome.grade, paint))
}

/// A verdict, whether it is about a part of the case, and the score.
pub fn verdict(grade: &Grade, paint: Paint) -> String {
    let partial = if grade.unsupported.is_empty() { "" } else { " in part" };
    let score = score(grade).map_or_else(String::new, |score| format!(", score {score}"));
    format!("{}{partial}{score}", paint.on(grade.verdict.into(), grade.verdict.as_str()))
}

/// `0.67 (at least 0.8 passes)`; `None` if the case gives its checks no weights.
pub fn score(grade: &Grade) -> Option<String> {
    let Score { value, open, least, .. } = grade.score?;
    let highest = if open > 0.0 { format!(" to {}", two_digits(value + open)) } else { String::new() };
    let least = least.map_or_else(String::new, |least| format!(" (at least {least} passes)"));
    Some(format!("{}{highest}{least}", two_digits(value)))
}

/// A share with two digits, without zeros at the end. Only a whole share is 1.
pub fn two_digits(share: f64) -> String {
    let rounded = (share * 100.0).round() / 100.0;
    let is_less = rounded >= 1.0 && share < 1.0 - 1e-9;
    format!("{}", if is_less { 0.99 } else { rounded })
}

pub fn about(check: &CheckResult) -> String {
    let weight = check.weight.map_or_else(String::new, |weight| format!(", weight {}", two_digits(weight.amount)));
    format!("{}{weight}", check.goal)
}

/// Graded trials of a case in a mode, for the reader of a failing test: the checks that did not pass, their evidence, and
/// where to look. Trials with equal results share a block, which has their number.
pub fn graded<'a>(
    root: &Path,
    case: &FoundCase,
    outcomes: impl IntoIterator<Item = &'a Outcome>,
    paint: Paint,
) -> Vec<String> {
    let mut blocks: Vec<(String, Vec<&Outcome>)> = Vec::new();
    for outcome in outcomes {
        let text = findings(case, outcome, paint);
        match blocks.iter_mut().find(|(known, _)| *known == text) {
            Some((_, equal)) => equal.push(outcome),
            None => blocks.push((text, vec![outcome])),
        }
    }
    blocks.iter().filter_map(|(text, equal)| block(root, text, equal, paint)).collect()
}

/// Trials with equal results, under the name of the first.
fn block(root: &Path, findings: &str, outcomes: &[&Outcome], paint: Paint) -> Option<String> {
    let (first, others) = outcomes.split_first()?;
    let times = if others.is_empty() { String::new() } else { format!("{}× ", outcomes.len()) };
    let mut text = format!("{times}{}{findings}", headline(first, paint));
    let numbers: Vec<String> = others.iter().map(|outcome| outcome.id.number.to_string()).collect();
    let others = if others.is_empty() { String::new() } else { format!(" (and {} next to it)", numbers.join(", ")) };
    line(&mut text, "look into", &format!("{}{others}", shown_path(root, &first.folder).display()));
    if let Some(owner) = store::place(root, &first.folder) {
        let run = if let TrialOwner::Run(run) = &owner { Some(run.as_str()) } else { None };
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

/// The result of a trial, after the verdict of the headline.
fn findings(case: &FoundCase, outcome: &Outcome, paint: Paint) -> String {
    let mut text = result(&outcome.grade, paint);
    line(&mut text, "case", &format!("{}:{}", case.file.display(), case.line));
    text
}

/// A grade, after its verdict: why nothing was measured, the checks that did not pass, and the names of those that did.
pub fn result(grade: &Grade, paint: Paint) -> String {
    let mut text = match grade.verdict {
        Verdict::Error => " (nothing was measured)\n",
        Verdict::Unscored if grade.score.is_some() => " (no usable answer from the judge)\n",
        Verdict::Unscored => " (the evidence passed; no usable answer from the judge)\n",
        Verdict::Pass | Verdict::Fail => "\n",
    }
    .to_owned();
    if let Some(trouble) = &grade.trouble {
        toned(&mut text, paint, Tone::Broken, "why", &trouble.to_string());
    }
    // Of an agent that did not get that far, no check shows anything.
    let is_unseen = grade.verdict == Verdict::Error
        && grade.trouble.as_ref().is_some_and(|trouble| trouble.kind != TroubleKind::Unobservable);
    let (mut passed, mut unseen) = (Vec::new(), Vec::new());
    for (name, check) in grade.named_checks() {
        let (label, tone) = match check.status {
            Status::Fail => ("failed", Tone::Bad),
            Status::Unknown if is_unseen => {
                unseen.push(name);
                continue;
            }
            Status::Unknown => ("unknown", Tone::Broken),
            Status::Pass => {
                // What a check expects distinguishes it from others of the same name.
                let which = if name == check.id { String::new() } else { format!(" ({})", check.expected) };
                passed.push(format!("{name}{which}"));
                continue;
            }
        };
        toned(&mut text, paint, tone, label, &format!("{name} ({})", about(check)));
        line(&mut text, "  expected", &check.expected);
        line(&mut text, "  found", &check.found);
    }
    if !unseen.is_empty() {
        toned(&mut text, paint, Tone::Broken, "unknown", &unseen.join(", "));
    }
    if !passed.is_empty() {
        toned(&mut text, paint, Tone::Good, "passed", &passed.join(", "));
    }
    text
}

/// The command that shows a trial of a run, or a recording.
pub fn show_command(id: &TrialId, run: Option<&str>) -> String {
    // Without a number, `show` chooses the first trial that failed.
    let number = if id.number == 1 { "/1" } else { "" };
    let source = run.map_or_else(|| "--recording".to_owned(), |run| format!("--run {run}"));
    format!("skill-evals show {} {source}", escape::word(&format!("{id}{number}")))
}

/// The commands that show a trial of a run, or a recording, and run it again. `has_mode` says whether the settings have its
/// mode: a side of a comparison may have a mode of its own.
pub fn again(id: &TrialId, run: Option<&str>, has_mode: bool) -> Vec<(&'static str, String)> {
    let mut commands = vec![("show in a terminal", show_command(id, run))];
    if has_mode {
        let case = escape::word(&format!("{}/{}", id.skill, id.case));
        commands.push(("run again", format!("skill-evals run --case {case} --mode {}", escape::word(&id.mode))));
        commands.push(("run again and record", RerunCommand::default().record_again(id)));
    } else if let Some(run) = run {
        commands.push(("result of the comparison", format!("skill-evals compare {}", escape::word(run))));
    }
    commands
}

/// The note that every report has if a mock model gave the answers.
pub fn scripted(by: &str) -> String {
    format!("a mock model ({by}) gave the answers; they say nothing about a real model")
}

pub fn line(text: &mut String, label: &str, value: &str) {
    let _ = writeln!(text, "  {label:<12}{}", escape::line(value));
}

/// A line with a colored label.
/// The note that trials ran only a part of their cases; `None` if none did.
pub fn in_part(trials: u64) -> Option<String> {
    (trials > 0).then(|| {
        let trials = counted(trials, "trial");
        format!("{trials} ran only in part (`partial = true`): their cases also ask for something unsupported")
    })
}

fn toned(text: &mut String, paint: Paint, tone: Tone, label: &str, value: &str) {
    let _ = writeln!(text, "  {}{}", paint.on(tone, &format!("{label:<12}")), escape::line(value));
}

/// What reports say of every trial.
pub fn facts(meta: &Meta, grade: &Grade) -> Vec<(&'static str, String)> {
    let agent = format!("{} {}", meta.agent.kind.as_str(), meta.agent.version.as_deref().unwrap_or_default());
    let mut facts = vec![
        ("agent", agent.trim_end().to_owned()),
        ("model", meta.agent.model.clone().unwrap_or_else(|| "unknown".to_owned())),
        ("skills", meta.delivery.as_str().to_owned()),
        ("sandbox", meta.case.sandbox.as_str().to_owned()),
        ("isolation", meta.isolation.map_or("not recorded", Isolation::as_str).to_owned()),
        ("started", meta.started.clone()),
        ("run", meta.run_id.clone()),
    ];
    facts.extend(meta.setup.iter().map(|setup| ("setup", setup.to_string())));
    facts.extend(meta.commit.clone().map(|commit| ("skills of the commit", commit)));
    facts.extend(meta.changes.iter().map(|change| ("during the session", change.summary())));
    facts.extend(meta.not_enforced.iter().chain(&grade.not_enforced).map(|open| ("not enforced", open.clone())));
    facts.extend(meta.network.iter().flat_map(network));
    facts.extend(meta.mocks.iter().flat_map(calls_of_mocks));
    facts.extend(score(grade).map(|score| ("score", score)));
    facts.extend(grade.unsupported.iter().map(|part| ("unsupported", part.clone())));
    facts
}

/// What was asked of a limited network, and what was refused.
pub(crate) fn network(network: &NetworkMeta) -> Vec<(&'static str, String)> {
    let NetworkMeta {
        reach, requests, model_requests, model_unread, prompts_shared, refused, faults, kept_out, ..
    } = network;
    let to_model = model_requests + model_unread.values().sum::<u64>();
    let mut summary = format!("{reach}: {}, {to_model} to the model", counted(*requests, "request"));
    for (why, times) in model_unread {
        let _ =
            write!(summary, ", of which {times} cannot be read ({why}) and say nothing about what the agent prints");
    }
    if *prompts_shared > 0 {
        let _ = write!(summary, ", {prompts_shared} with the cache key of all trials with this prompt");
    }
    if network.refusals() > 0 {
        let _ = write!(summary, ", {} refused", network.refusals());
    }
    for (status, times) in faults {
        let _ = write!(summary, ", {times} answered with {status}");
    }
    if !kept_out.is_empty() {
        let _ = write!(summary, "; kept outside: {}", kept_out.join(", "));
    }
    let named = refused.iter().take(MOST_UNANSWERED).map(|request| ("refused", request.to_string()));
    let more = network.refusals() - refused.iter().take(MOST_UNANSWERED).map(|request| request.times).sum::<u64>();
    let more = (more > 0).then(|| ("refused", format!("{more} more")));
    std::iter::once(("network", summary)).chain(named).chain(more).collect()
}

/// The calls that were answered, and those that no mock answered.
pub(crate) fn calls_of_mocks(record: &MockCalls) -> Vec<(&'static str, String)> {
    let passed = record.calls.iter().filter(|call| call.passed_through).count();
    let answered = record.calls.iter().filter(|call| call.answered).count() - passed;
    let by_program = if passed == 0 { String::new() } else { format!(", {passed} by the real program") };
    let mut facts = vec![("mocks", format!("{} answered from files{by_program}", counted(answered as u64, "call")))];
    let unanswered = record.unanswered();
    let more = unanswered.len().saturating_sub(MOST_UNANSWERED);
    facts.extend(unanswered.into_iter().take(MOST_UNANSWERED).map(|(call, times)| {
        let times = if times == 1 { String::new() } else { format!(" ({times} times)") };
        ("no answer", format!("{call}{times}"))
    }));
    facts.extend((more > 0).then(|| ("no answer", format!("{more} more"))));
    facts.extend(
        (record.lost > 0).then(|| ("mocks", format!("{} of the record cannot be read", counted(record.lost, "part")))),
    );
    facts
}

/// How many calls without an answer are named, and requests that were refused.
const MOST_UNANSWERED: usize = 10;

/// How a reader runs a trial again: with the program, or with a harness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RerunCommand {
    /// `skill-evals run`, with the `--model` that was chosen.
    Program(Option<String>),
    /// The command that runs the harness, without arguments of the test.
    Harness(String),
}

impl Default for RerunCommand {
    fn default() -> Self {
        Self::Program(None)
    }
}

impl RerunCommand {
    fn record_again(&self, id: &TrialId) -> String {
        let TrialId { skill, case, mode, .. } = id;
        match self {
            Self::Program(model) => {
                let case = escape::word(&format!("{skill}/{case}"));
                let model =
                    model.as_ref().map_or_else(String::new, |model| format!(" --model {}", escape::word(model)));
                format!("skill-evals run --case {case} --mode {mode}{model} --record")
            }
            Self::Harness(command) => format!(
                "SKILL_EVALS_LIVE=1 SKILL_EVALS_RECORD=1 SKILL_EVALS_MODE={mode} {command} --exact {}",
                id.test_name()
            ),
        }
    }
}

/// What a case asks for and this program does not do, on a line.
pub fn unsupported(problems: &[Diagnostic]) -> String {
    let parts: Vec<String> =
        problems.iter().map(|problem| format!("{} ({})", problem.message, problem.place)).collect();
    escape::line(&parts.join("; "))
}

/// A trial without an outcome, for the reason that was printed for another one: without what to do.
pub fn not_graded_either(id: &TrialId, problem: &TrialError, paint: Paint) -> String {
    let name = escape::line(&id.to_string());
    match problem {
        TrialError::Stale { changed, .. } => {
            let stale = paint.on(Tone::Broken, "the recording is stale");
            format!("{name}: {stale} ({})\n", escape::line(&changed.join(", ")))
        }
        TrialError::BadCase(problems) => {
            let places: Vec<String> = problems.iter().map(|problem| problem.place.to_string()).collect();
            let wrong = paint.on(Tone::Broken, "the case is wrong");
            format!("{name}: {wrong} (as above: {})\n", escape::line(&places.join(", ")))
        }
        problem => not_graded(id, problem, &RerunCommand::default(), paint).lines().take(1).collect::<String>() + "\n",
    }
}

/// A trial without an outcome: the problem, and what to do.
pub fn not_graded(id: &TrialId, problem: &TrialError, rerun_command: &RerunCommand, paint: Paint) -> String {
    let name = escape::line(&id.to_string());
    match problem {
        TrialError::BadCase(problems) => diagnostics::render(problems, paint),
        TrialError::NotOpened(problem) => {
            let said = Some(problem.said()).filter(|said| !said.is_empty());
            let said = said.map_or_else(String::new, |said| format!("{name}: {}\n", escape::block(said)));
            said + &diagnostics::render(problem.files(), paint)
        }
        TrialError::Unsupported(problems) => format!("{name}: not run: {}\n", unsupported(problems)),
        TrialError::NotRecorded => {
            let why = if matches!(rerun_command, RerunCommand::Harness(_)) { NO_RECORDING } else { "no recording" };
            let mut text = format!("{name}: {why}\n");
            line(&mut text, "record it", &rerun_command.record_again(id));
            text
        }
        TrialError::Unreadable(why) => format!("{name}: {}\n", escape::block(why)),
        TrialError::NotRun(why) => format!("{name}: not run: {}\n", escape::block(&why.to_string())),
        TrialError::Stale { folder, changed } => {
            let mut text = format!("{name}: {}\n", paint.on(Tone::Broken, "the recording is stale"));
            line(&mut text, "changed", &changed.join(", "));
            line(&mut text, "recording", &folder.display().to_string());
            line(&mut text, "what to do", "measure it again with the agent, and record that:");
            line(&mut text, "", &rerun_command.record_again(id));
            text
        }
    }
}
