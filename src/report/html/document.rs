//! A trial as the page shows it once it is opened.

use serde::Serialize;

use crate::grade::rubric::Judgement;
use crate::report::trial::{goal, scripted};
use crate::results::timeline::{CheckFinding, EventPart, Timeline, TimelineEvent};
use crate::settings::Isolation;
use crate::trial::evidence::Evidence;
use crate::trial::outcome::{CheckResult, Grade, Metrics};

/// A file that the agent made or changed.
#[derive(Debug, Default, Serialize)]
pub struct WrittenFile {
    /// Below the workspace.
    pub path: String,
    /// In bytes.
    pub size: u64,
    /// What the fixture had in its place; absent where it had nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What it holds; absent where that is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Why its content is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What the judge was asked and answered.
#[derive(Debug, Serialize)]
pub struct JudgeDialogue {
    /// What it was asked; absent where that is no longer known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// What it answered.
    pub judgement: Judgement,
}

/// A trial.
#[derive(Debug, Serialize)]
pub struct TrialDocument<'a> {
    run: &'a str,
    skill: &'a str,
    case: &'a str,
    mode: &'a str,
    trial: u32,
    verdict: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scripted: Option<String>,
    facts: Vec<(&'static str, String)>,
    checks: Vec<LocatedCheck<'a>>,
    entries: &'a [TimelineEvent],
    dropped: u64,
    metrics: &'a Metrics,
    files: Vec<WrittenFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judge: Option<JudgeDialogue>,
    folder: String,
    commands: Vec<(&'static str, String)>,
}

/// A check with where it looked.
#[derive(Debug, Serialize)]
struct LocatedCheck<'a> {
    #[serde(flatten)]
    check: &'a CheckResult,
    about: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pieces: Vec<Highlight>,
}

/// A piece of text to highlight.
#[derive(Debug, Serialize)]
struct Highlight {
    entry: usize,
    part: String,
    /// In UTF-16 units, as JavaScript counts.
    from: usize,
    to: usize,
}

impl<'a> TrialDocument<'a> {
    /// The document of a trial kept in `folder`, as people write that path; `commands` show and repeat it.
    #[must_use]
    pub fn new(
        commands: Vec<(&'static str, String)>,
        evidence: &'a Evidence<'a>,
        grade: &'a Grade,
        timeline: &'a Timeline,
        files: Vec<WrittenFile>,
        judge: Option<JudgeDialogue>,
        folder: String,
    ) -> Self {
        let meta = evidence.meta;
        let checks = grade.checks.iter().zip(&timeline.findings);
        Self {
            run: &meta.run_id,
            skill: &meta.skill.slug,
            case: &meta.case.id,
            mode: &meta.mode,
            trial: meta.trial,
            verdict: grade.verdict.as_str(),
            trouble: grade.trouble.as_ref().map(ToString::to_string),
            scripted: meta.scripted.as_deref().map(scripted),
            facts: facts(evidence),
            checks: checks.map(|(check, finding)| looked(check, finding, &timeline.entries)).collect(),
            entries: &timeline.entries,
            dropped: timeline.dropped,
            metrics: &grade.metrics,
            files,
            judge,
            folder,
            commands,
        }
    }
}

fn facts(evidence: &Evidence<'_>) -> Vec<(&'static str, String)> {
    let meta = evidence.meta;
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
    facts.extend(meta.commit.clone().map(|commit| ("skills of the commit", commit)));
    facts.extend(meta.changes.iter().map(|change| ("during the session", change.summary())));
    facts.extend(meta.not_enforced.iter().map(|open| ("not enforced", open.clone())));
    facts
}

fn looked<'a>(check: &'a CheckResult, finding: &CheckFinding, entries: &[TimelineEvent]) -> LocatedCheck<'a> {
    let pieces = finding.pieces.iter().filter_map(|piece| {
        let texts = entries.get(piece.entry)?.what.texts();
        let text = texts.into_iter().find(|(part, _)| *part == piece.part)?.1;
        let units = |bytes: usize| Some(text.get(..bytes)?.encode_utf16().count());
        let (from, to) = (units(piece.bytes.start)?, units(piece.bytes.end)?);
        Some(Highlight { entry: piece.entry, part: part(piece.part), from, to })
    });
    LocatedCheck { check, about: goal(check.goal), entry: finding.entry, pieces: pieces.collect() }
}

fn part(part: EventPart) -> String {
    match part {
        EventPart::Text => "text".to_owned(),
        EventPart::Name => "name".to_owned(),
        EventPart::Input => "input".to_owned(),
        EventPart::Output => "output".to_owned(),
        EventPart::Path(at) => format!("path{at}"),
    }
}
