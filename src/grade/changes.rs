//! Whether what happened to the skills in mid-session came before the model.

use crate::cases::case::Change;
use crate::grade::checks::{CHANGES_SEEN, Grader};
use crate::trial::evidence::ChangeMeta;
use crate::trial::outcome::{Goal, Status};
use crate::trial::trace::Seen;

impl Grader<'_> {
    pub(super) fn changes_seen(&mut self) {
        let asked = self.case.during.iter().filter(|change| change.expect_seen);
        let found: Vec<(Status, String)> = asked.map(|change| self.change(change)).collect();
        let has = |status| found.iter().any(|(found, _)| *found == status);
        let status = [Status::Fail, Status::Unknown].into_iter().find(|status| has(*status)).unwrap_or(Status::Pass);
        let evidence: Vec<String> = found.into_iter().map(|(_, told)| told).collect();
        let expected = "what happens to the skills comes before the model";
        self.check(CHANGES_SEEN, Goal::Process, status, expected, evidence.join("; "));
    }

    /// What became of a change that the case asks for: whether its model saw it.
    fn change(&self, asked: &Change) -> (Status, String) {
        let asked = ChangeMeta::from(asked);
        let what = |change: &ChangeMeta| (change.after_turn, change.kind, change.skill.clone(), change.folder.clone());
        let Some(change) = self.evidence.meta.changes.iter().find(|change| what(change) == what(&asked)) else {
            return (
                Status::Unknown,
                format!("`{}` not {}: it was no part of this trial", asked.skill, asked.kind.done()),
            );
        };
        let told = change.told();
        if change.made_ms.is_none() {
            return (Status::Unknown, told);
        }
        let how = match change.seen {
            Some(Seen::List) => "the agent told its model",
            Some(Seen::Text) => "its text came before the model",
            Some(Seen::Missed) => "a call that was to load it failed",
            seen => {
                return match self.in_doubt(change, seen) {
                    Some(why) => (Status::Unknown, format!("{told}: not seen, but {why}")),
                    None => (Status::Fail, format!("{told}: not seen")),
                };
            }
        };
        (Status::Pass, format!("{told}: {how}"))
    }

    /// Why a change may have come before the model although the evidence does not show it, or could not.
    fn in_doubt(&self, change: &ChangeMeta, seen: Option<Seen>) -> Option<String> {
        let (meta, trace) = (self.evidence.meta, self.evidence.trace);
        if seen != Some(Seen::No) {
            return Some("it has no text or description that was not there before".to_owned());
        }
        if let Some(gap) = trace.gap() {
            return Some(gap);
        }
        if !trace.ended() || trace.stopped.is_some() {
            return Some("the agent did not come to its end".to_owned());
        }
        // The request for the next answer may have been on its way.
        if change.turns_after.unwrap_or_default() == 0 {
            return Some("the model was not surely asked again afterwards".to_owned());
        }
        if meta.delivery.mcp() {
            match change.asked.as_deref() {
                // It was told that there is something new, and took no notice.
                Some([]) => {}
                Some(lists) => {
                    let lists = lists.join(" and ");
                    let and = "and what it showed its model of that is in no evidence";
                    return Some(format!("the agent asked the MCP server for its {lists} anew, {and}"));
                }
                None => return Some("what its MCP server tells a model is in no agent's evidence".to_owned()),
            }
        }
        trace.offered.is_none().then(|| "the evidence does not show which skills were offered".to_owned())
    }
}
