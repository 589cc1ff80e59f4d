//! A trial's data as the page shows it when the trial is opened.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::prose;
use crate::grade::rubric::Judgment;
use crate::report::trial_text::{facts, scripted};
use crate::results::timeline::{CheckFinding, EventKind, EventPart, Timeline, TimelineEvent};
use crate::trial::evidence::Evidence;
use crate::trial::id::TrialId;
use crate::trial::outcome::{CheckResult, Grade, Metrics, Verdict};
use crate::trial::workspace_file::WrittenFile;

#[derive(Debug, Serialize)]
pub struct JudgeDialogue {
    /// Absent if the template, the case or the skill changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    pub judgment: Judgment,
}

#[derive(Debug, Serialize)]
pub struct TrialDocument<'a> {
    run: &'a str,
    #[serde(flatten)]
    id: TrialId,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scripted: Option<String>,
    facts: Vec<(&'static str, String)>,
    checks: Vec<LocatedCheck<'a>>,
    entries: &'a [TimelineEvent],
    /// The final messages that are Markdown, by the place of their event.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    answers: BTreeMap<usize, Vec<Value>>,
    dropped: u64,
    metrics: &'a Metrics,
    files: Vec<WrittenFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judge: Option<JudgeDialogue>,
    folder: String,
    commands: Vec<(&'static str, String)>,
}

/// A check with the events that decided it.
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

#[derive(Debug, Serialize)]
struct Highlight {
    entry: usize,
    part: String,
    /// In UTF-16 units, as JavaScript counts.
    from: usize,
    to: usize,
}

impl<'a> TrialDocument<'a> {
    /// `commands` show and repeat the trial; `folder` is its directory, as a reader would write it.
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
            id: meta.id(),
            verdict: grade.verdict,
            trouble: grade.trouble.as_ref().map(ToString::to_string),
            scripted: meta.scripted.as_deref().map(scripted),
            facts: facts(meta, grade),
            checks: checks.map(|(check, finding)| located(check, finding, timeline)).collect(),
            entries: &timeline.entries,
            answers: answers(timeline),
            dropped: timeline.dropped,
            metrics: &grade.metrics,
            files,
            judge,
            folder,
            commands,
        }
    }
}

fn answers(timeline: &Timeline) -> BTreeMap<usize, Vec<Value>> {
    let mut answers = BTreeMap::new();
    for (at, event) in timeline.entries.iter().enumerate() {
        if let EventKind::Said { text, answer: true } = &event.what {
            answers.extend(prose::tree(text).map(|nodes| (at, nodes)));
        }
    }
    answers
}

fn located<'a>(check: &'a CheckResult, finding: &CheckFinding, timeline: &Timeline) -> LocatedCheck<'a> {
    let mut pieces = Vec::new();
    for piece in &finding.pieces {
        let Some(text) = timeline.text_of(piece) else { continue };
        let [from, to] = [piece.bytes.start, piece.bytes.end]
            .map(|bytes| text.get(..bytes).map(|before| before.encode_utf16().count()));
        if let (Some(from), Some(to)) = (from, to) {
            pieces.push(Highlight { entry: piece.entry, part: part(piece.part), from, to });
        }
    }
    LocatedCheck { check, about: check.goal.as_str(), entry: finding.entry, pieces }
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
