//! The skill under test is activated, or is not.

use serde::Serialize;

use crate::checks::{CaseCheck, CheckAnswer, CheckKind, Condition, GradingInput};
use crate::settings::ActivationRule;
use crate::trace::{Activation, Marked, Mechanism, Trace};
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::{EventRef, Span};

/// The check that the skill under test was activated.
pub const TRIGGERED: &str = "triggered";

/// The check that it was not.
pub const NOT_TRIGGERED: &str = "not-triggered";

pub(in crate::checks) static TRIGGERED_KIND: CheckKind = CheckKind::new(TRIGGERED, Goal::Process).about_skill();

pub(in crate::checks) static NOT_TRIGGERED_KIND: CheckKind = CheckKind::new(NOT_TRIGGERED, Goal::Process).about_skill();

/// The check that every case has.
pub fn triggers(should: bool) -> CaseCheck {
    CaseCheck::implied(if should { &TRIGGERED_KIND } else { &NOT_TRIGGERED_KIND }, TriggerCheck { should })
}

#[derive(Debug, Serialize)]
struct TriggerCheck {
    should: bool,
}

impl Condition for TriggerCheck {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let trace = subject.evidence.trace;
        let (own, others): (Vec<&Activation>, Vec<&Activation>) =
            trace.activations.iter().partition(|activation| subject.is_under_test(&activation.skill));
        let happened = own.iter().any(|activation| counts(subject, activation.how));
        let mut found = own.iter().map(|activation| describe(activation, trace)).collect::<Vec<_>>().join("; ");
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
            // The model asked for the skill, and nobody knows what it would have done with it.
            Some(call) => {
                let found = format!("{found}; a call that was to load it failed: {}", call.evidence);
                CheckAnswer::new(Status::Unknown, expected, found)
            }
            None => subject.happened(happened, self.should, expected, found),
        };
        let event = decided_by(subject, answer.status, happened);
        Some(answer.at(event))
    }

    fn settled_by(&self) -> Option<Status> {
        Some(if self.should { Status::Pass } else { Status::Fail })
    }
}

/// Whether this mechanism activates the skill by the rule of the case.
pub(super) fn counts(subject: &GradingInput<'_>, how: Mechanism) -> bool {
    subject.activation == ActivationRule::Content
        // All other mechanisms were made for skills.
        || how != Mechanism::ReadSkillFile
        || own_mechanisms(subject).contains(&how.as_str())
}

/// The mechanisms by which models load a skill in this mode, in words.
fn own_mechanisms(subject: &GradingInput<'_>) -> Vec<&'static str> {
    let (delivery, trace) = (subject.evidence.meta.delivery, subject.evidence.trace);
    let native = delivery.native().then_some(trace.loads_by);
    let by_mcp = delivery.mcp().then_some(Mechanism::McpTool);
    native.into_iter().chain(by_mcp).map(Mechanism::as_str).collect()
}

fn describe(activation: &Activation, trace: &Trace) -> String {
    let place = trace.activations.iter().position(|known| std::ptr::eq(known, activation));
    let is_it = |what: Marked| matches!(what, Marked::Activation(at) if Some(at) == place);
    let step = trace.marks.iter().find(|mark| is_it(mark.what)).map(|mark| mark.step);
    let message = step.filter(|_| !trace.follow_ups_at.is_empty()).map_or_else(String::new, |step| {
        let earlier = trace.follow_ups_at.iter().filter(|first| **first <= step).count();
        format!(", in answer to message {}", earlier + 1)
    });
    format!("{} ({}){}{message}", activation.how.as_str(), activation.evidence, seen_part(activation.seen))
}

/// The part of a file that was seen, if not all.
pub(super) fn seen_part(seen: Option<f64>) -> String {
    match seen {
        Some(share) if (0.01..0.99).contains(&share) => format!(", {:.0} % of it seen", share * 100.0),
        _ => String::new(),
    }
}

/// The event to look at first: the activation, else the failed call, else an inspection of skills, else the offer.
fn decided_by(subject: &GradingInput<'_>, status: Status, happened: bool) -> Span {
    let trace = subject.evidence.trace;
    let mut own = trace.activations.iter().filter(|activation| subject.is_under_test(&activation.skill));
    if own.any(|activation| activation.how == Mechanism::Injected) {
        return EventRef::Injected.into();
    }
    let decides = |list: &[Activation], at: usize| {
        list.get(at).is_some_and(|call| subject.is_under_test(&call.skill) && (!happened || counts(subject, call.how)))
    };
    let step = subject
        .marked(|what| matches!(what, Marked::Activation(at) if decides(&trace.activations, at)))
        .or_else(|| subject.marked(|what| matches!(what, Marked::FailedLoad(at) if decides(&trace.failed_loads, at))))
        .or_else(|| subject.marked(|what| matches!(what, Marked::Inspection(_))));
    match step {
        Some(step) => Span::of_call(&trace.steps, step),
        // If nothing loaded the skill, the offer is the only event about it.
        None if status == Status::Unknown => EventRef::End.into(),
        None => EventRef::Offered.into(),
    }
}
