//! The skill under test is activated, or is not.

use crate::checks::{Ask, Check, CheckAnswer, CheckKind, Subject};
use crate::settings::ActivationRule;
use crate::trace::{Activation, Marked, Mechanism};
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::{EventRef, Span};

/// The check that the skill under test was activated.
pub const TRIGGERED: &str = "triggered";

/// The check that it was not.
pub const NOT_TRIGGERED: &str = "not-triggered";

pub(in crate::checks) static TRIGGERED_KIND: CheckKind =
    CheckKind { id: TRIGGERED, goal: Goal::Process, asks_for_skill: true, field: None };

pub(in crate::checks) static NOT_TRIGGERED_KIND: CheckKind =
    CheckKind { id: NOT_TRIGGERED, goal: Goal::Process, asks_for_skill: true, field: None };

/// The check that every case makes, by what it says of the skill under test.
#[must_use]
pub fn triggers(should: bool) -> Check {
    Check::implied(if should { &TRIGGERED_KIND } else { &NOT_TRIGGERED_KIND }, TriggerCheck { should })
}

#[derive(Debug)]
struct TriggerCheck {
    should: bool,
}

impl Ask for TriggerCheck {
    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let trace = subject.evidence.trace;
        let (own, others): (Vec<&Activation>, Vec<&Activation>) =
            trace.activations.iter().partition(|activation| subject.is_under_test(&activation.skill));
        let happened = own.iter().any(|hit| counts(subject, hit.how));
        if own.is_empty() && subject.evidence.is_offer_unseen() {
            return None;
        }
        let mut found = own.iter().map(|hit| describe(hit)).collect::<Vec<_>>().join("; ");
        if own.is_empty() {
            found.push_str("not activated");
        } else if !happened {
            found = format!("{found}, not loaded by the {}", own_mechanisms(subject).join(" or the "));
        }
        if !others.is_empty() {
            let others: Vec<String> = others
                .iter()
                .map(|activation| format!("`{}` ({})", activation.skill, activation.how.as_str()))
                .collect();
            found = format!("{found}; other skills activated: {}", others.join(", "));
        }
        if own.is_empty() && !trace.inspections.is_empty() {
            found = format!("{found}; looked at skills without activating: {}", trace.inspections.join("; "));
        }
        let mut expected = format!("`{}` {}activated", subject.skill.name, if self.should { "" } else { "not " });
        if subject.activation == ActivationRule::Tool {
            expected = format!("{expected} ({} or injected)", own_mechanisms(subject).join(", "));
        }
        let is_it = |call: &&Activation| subject.is_under_test(&call.skill) && counts(subject, call.how);
        let answer = match trace.failed_loads.iter().find(is_it).filter(|_| !happened) {
            // It was wanted, and what would have become of it nobody knows.
            Some(call) => {
                let found = format!("{found}; a call that was to load it failed: {}", call.evidence);
                CheckAnswer::new(Status::Unknown, expected, found)
            }
            None => subject.happened(happened, self.should, expected, found),
        };
        let event = decided_by(subject, answer.status, happened);
        Some(answer.at(event))
    }
}

/// Whether what came so makes the skill active by the rule of the case.
fn counts(subject: &Subject<'_>, how: Mechanism) -> bool {
    // Nothing but reading is open to what was not made for skills.
    let is_own = || how != Mechanism::ReadSkillFile || own_mechanisms(subject).contains(&how.as_str());
    subject.activation == ActivationRule::Content || is_own()
}

/// How the agent's models load a skill that is offered as the mode says, in words.
fn own_mechanisms(subject: &Subject<'_>) -> Vec<&'static str> {
    let (delivery, trace) = (subject.evidence.meta.delivery, subject.evidence.trace);
    let native = delivery.native().then_some(trace.loads_by);
    let by_mcp = delivery.mcp().then_some(Mechanism::McpTool);
    native.into_iter().chain(by_mcp).map(Mechanism::as_str).collect()
}

fn describe(hit: &Activation) -> String {
    format!("{} ({}){}", hit.how.as_str(), hit.evidence, seen_part(hit.seen))
}

/// How much of a file was seen, if that is less than all of it.
pub(super) fn seen_part(seen: Option<f64>) -> String {
    match seen {
        Some(share) if (0.01..0.99).contains(&share) => format!(", {:.0} % of it seen", share * 100.0),
        _ => String::new(),
    }
}

/// The activation, else the call that failed, else a look at skills, else the offer.
fn decided_by(subject: &Subject<'_>, status: Status, happened: bool) -> Span {
    let trace = subject.evidence.trace;
    let injected =
        |activation: &Activation| activation.how == Mechanism::Injected && subject.is_under_test(&activation.skill);
    if trace.activations.iter().any(injected) {
        return EventRef::Injected.into();
    }
    let decides = |one: &Activation| subject.is_under_test(&one.skill) && (!happened || counts(subject, one.how));
    let is_own = |list: &[Activation], at: usize| list.get(at).is_some_and(decides);
    let activation = |what| matches!(what, Marked::Activation(at) if is_own(&trace.activations, at));
    let failed_load = |what| matches!(what, Marked::FailedLoad(at) if is_own(&trace.failed_loads, at));
    let look = |what| matches!(what, Marked::Inspection(_));
    let step = subject.marked(activation).or_else(|| subject.marked(failed_load)).or_else(|| subject.marked(look));
    match step {
        Some(step) => Span::of_call(&trace.steps, step),
        // That nothing loaded it is what was found; the offer is what there is to see.
        None if status == Status::Unknown => EventRef::End.into(),
        None => EventRef::Offered.into(),
    }
}
