//! Changes to the skills during a session enter the model's context.

use serde::Serialize;

use crate::checks::{CaseCheck, CheckAnswer, CheckKind, Condition, GradingInput};
use crate::trace::ChangeVisibility;
use crate::trace::change::ChangeMeta;
use crate::trace::change::SkillChange;
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::EventRef;

pub(in crate::checks) static SEEN: CheckKind = CheckKind::new("changes-seen", Goal::Process).about_skill();

/// The check that the changes enter the model's context that are expected to; `None` if none is.
pub fn changes_seen(changes: &[SkillChange]) -> Option<CaseCheck> {
    let expected: Vec<SkillChange> = changes.iter().filter(|change| change.expect_seen).cloned().collect();
    (!expected.is_empty()).then(|| CaseCheck::implied(&SEEN, ChangesSeen(expected)))
}

#[derive(Debug, Serialize)]
struct ChangesSeen(Vec<SkillChange>);

impl Condition for ChangesSeen {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let (statuses, found): (Vec<Status>, Vec<String>) =
            self.0.iter().map(|change| outcome_of(subject, change)).unzip();
        let status = [Status::Fail, Status::Unknown].into_iter().find(|status| statuses.contains(status));
        let status = status.unwrap_or(Status::Pass);
        let expected = "the changed skills enter the model's context";
        Some(CheckAnswer::new(status, expected, found.join("; ")).at(EventRef::Offered))
    }
}

/// Whether a change that the case expects entered the model's context.
fn outcome_of(subject: &GradingInput<'_>, expected: &SkillChange) -> (Status, String) {
    let expected = ChangeMeta::from(expected);
    let mut changes = subject.evidence.meta.changes.iter();
    let Some(change) = changes.find(|change| {
        (change.after_turn, change.kind) == (expected.after_turn, expected.kind)
            && (&change.skill, &change.folder) == (&expected.skill, &expected.folder)
    }) else {
        let what = format!("`{}` not {}: it was not part of this trial", expected.skill, expected.kind.done());
        return (Status::Unknown, what);
    };
    let told = change.summary();
    if change.made_ms.is_none() {
        return (Status::Unknown, told);
    }
    let how = match change.seen {
        Some(ChangeVisibility::List) => "the agent told its model",
        Some(ChangeVisibility::Text) => "its text entered the model's context",
        Some(ChangeVisibility::Missed) => "a call that was to load it failed",
        seen => {
            return match in_doubt(subject, change, seen) {
                Some(why) => (Status::Unknown, format!("{told}: not seen, but {why}")),
                None => (Status::Fail, format!("{told}: not seen")),
            };
        }
    };
    (Status::Pass, format!("{told}: {how}"))
}

/// Why a change may have entered the model's context although the evidence does not show it.
fn in_doubt(subject: &GradingInput<'_>, change: &ChangeMeta, seen: Option<ChangeVisibility>) -> Option<String> {
    let (meta, trace) = (subject.evidence.meta, subject.evidence.trace);
    if seen != Some(ChangeVisibility::No) {
        return Some("it has no text or description that was not there before".to_owned());
    }
    if let Some(gap) = subject.evidence.gap() {
        return Some(gap);
    }
    if !trace.ended() || trace.stopped.is_some() {
        return Some("the agent did not finish".to_owned());
    }
    // The request for the next answer may have been sent before the change.
    if change.turns_after.unwrap_or_default() == 0 {
        return Some("the model was not surely asked again afterwards".to_owned());
    }
    if meta.delivery.mcp() {
        match change.asked.as_deref() {
            // The server reported the change, and the agent asked for no list.
            Some([]) => {}
            Some(lists) => {
                let lists = lists.join(" and ");
                let and = "and what it showed its model of that is in no evidence";
                return Some(format!("the agent asked the MCP server for its {lists} again, {and}"));
            }
            None => return Some("what its MCP server tells a model is in no agent's evidence".to_owned()),
        }
    }
    trace.offered.is_none().then(|| "the evidence does not show which skills were offered".to_owned())
}
