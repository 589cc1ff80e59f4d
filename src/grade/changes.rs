//! Whether what happened to the skills in mid-session came before the model.

use crate::cases::case::ChangeKind;
use crate::cases::skill::slug;
use crate::grade::checks::{CHANGES_SEEN, Grader};
use crate::trial::evidence::ChangeMeta;
use crate::trial::outcome::{Goal, Status};
use crate::trial::trace::SeenBy;

impl Grader<'_> {
    pub(super) fn changes_seen(&mut self) {
        let changes = self.evidence.meta.changes.iter().zip(&self.case.during).enumerate();
        let asked = changes.filter(|(_, (_, of_case))| of_case.expect_seen);
        let found: Vec<(Status, String)> = asked.map(|(number, (change, _))| self.change(number, change)).collect();
        let has = |status| found.iter().any(|(found, _)| *found == status);
        let status = [Status::Fail, Status::Unknown].into_iter().find(|status| has(*status)).unwrap_or(Status::Pass);
        let evidence: Vec<String> = found.into_iter().map(|(_, told)| told).collect();
        let expected = "what happens to the skills comes before the model";
        self.check(CHANGES_SEEN, Goal::Process, status, expected, evidence.join("; "));
    }

    /// What became of a change: whether its model saw it.
    fn change(&self, number: usize, change: &ChangeMeta) -> (Status, String) {
        let told = change.told();
        if change.made_ms.is_none() {
            return (Status::Unknown, told);
        }
        match (self.came_by(number, change), self.in_doubt(change)) {
            (Some(how), _) => (Status::Pass, format!("{told}: {how}")),
            (None, Some(why)) => (Status::Unknown, format!("{told}: not seen, but {why}")),
            (None, None) => (Status::Fail, format!("{told}: not seen")),
        }
    }

    /// How it came before the model, if it did.
    fn came_by(&self, number: usize, change: &ChangeMeta) -> Option<&'static str> {
        let trace = self.evidence.trace;
        let seen = |by| trace.changes_seen.get(&number).is_some_and(|ways| ways.contains(&by));
        let of_it = |name: &str| slug(name) == change.skill;
        if seen(SeenBy::List) {
            return Some("the agent told its model");
        }
        // A skill without a text to know it by was loaded all the same.
        let loaded = change.kind == ChangeKind::Add && trace.activations.iter().any(|one| of_it(&one.skill));
        if seen(SeenBy::Text) || loaded {
            return Some("its text came before the model");
        }
        let missed = change.kind == ChangeKind::Remove && trace.failed_loads.iter().any(|call| of_it(&call.skill));
        missed.then_some("a call that was to load it failed")
    }

    /// Why a change may have come before the model although the evidence does not show it.
    fn in_doubt(&self, change: &ChangeMeta) -> Option<String> {
        let (meta, trace) = (self.evidence.meta, self.evidence.trace);
        if let Some(gap) = trace.gap() {
            return Some(gap);
        }
        if !trace.ended() || trace.stopped.is_some() {
            return Some("the agent did not come to its end".to_owned());
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
