//! Maximum cost, time and number of turns.

use std::sync::Arc;
use std::time::Duration;

use crate::checks::{
    Ask, Check, CheckAnswer, CheckKind, FieldForm, FieldValue, InvalidCheck, ListForm, Subject, WrittenCheck,
};
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::EventRef;
use crate::trial::spent::AttemptCost;

pub(in crate::checks) static MAX_COST: CheckKind = CheckKind::new("max-cost-usd", Goal::Efficiency).with_field(
    "max_cost_usd",
    "maxCostUsd",
    FieldForm::Amount,
    |value| match value {
        FieldValue::Amount(most) => Some(Arc::new(MaxCost(most))),
        _ => None,
    },
);

pub(in crate::checks) static MAX_SECONDS: CheckKind = CheckKind::new("max-seconds", Goal::Efficiency).with_field(
    "max_seconds",
    "maxSeconds",
    FieldForm::LIMIT,
    |value| Some(Arc::new(MaxSeconds(Duration::from_secs(value.number()?)))),
);

pub(in crate::checks) static MAX_TURNS: CheckKind = CheckKind::new("max-turns", Goal::Efficiency).in_list(&ListForm {
    key: "maxTurns",
    form: FieldForm::LIMIT,
    options: &[],
    tests: false,
    ask: |check| match check.number("maxTurns") {
        Some(most) => Ok(Arc::new(MaxTurns(most))),
        None => Err(InvalidCheck::new("maxTurns", "`maxTurns` has no number", "write a number")),
    },
});

/// At most this cost in dollars.
pub fn max_cost(most: f64) -> Check {
    Check::implied(&MAX_COST, MaxCost(most))
}

/// At most this duration.
pub fn max_duration(most: Duration) -> Check {
    Check::implied(&MAX_SECONDS, MaxSeconds(most))
}

/// At most this many turns.
pub fn max_turns(most: u64) -> Check {
    Check::implied(&MAX_TURNS, MaxTurns(most))
}

#[derive(Debug)]
struct MaxCost(f64);

impl Ask for MaxCost {
    fn written(&self) -> Option<WrittenCheck> {
        Some(WrittenCheck::new(self.0))
    }

    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let (meta, trace) = (subject.evidence.meta, subject.evidence.trace);
        // An agent that did not report the sum took at least this.
        let usage = trace.usage.unwrap_or(trace.usage_of_requests);
        let cost = AttemptCost::by(meta.agent.kind, &meta.agent.models(), Some(&usage), subject.prices).cost_usd;
        let expected = format!("at most ${}", self.0);
        let answer = match (cost, trace.usage) {
            (Some(cost), _) if cost > self.0 => CheckAnswer::new(Status::Fail, expected, format!("${cost:.4}")),
            (Some(cost), Some(_)) => subject.proved(false, false, expected, format!("${cost:.4}")),
            (None, Some(_)) => {
                let found = "the price of the model is unknown; set it under [prices] in evals/evals.toml";
                CheckAnswer::new(Status::Unknown, expected, found)
            }
            (_, None) => CheckAnswer::new(Status::Unknown, expected, "the agent reported no usage"),
        };
        Some(answer.at(EventRef::End))
    }

    fn forbids(&self) -> bool {
        true
    }

    fn settled_by(&self) -> Option<Status> {
        Some(Status::Fail)
    }
}

#[derive(Debug)]
struct MaxSeconds(Duration);

impl Ask for MaxSeconds {
    fn written(&self) -> Option<WrittenCheck> {
        (self.0.subsec_nanos() == 0).then(|| WrittenCheck::new(self.0.as_secs()))
    }

    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let (meta, expected) = (subject.evidence.meta, format!("at most {} s", self.0.as_secs_f64()));
        if meta.is_user_session() {
            let found = "a session does not show how long it took";
            return Some(CheckAnswer::new(Status::Unknown, expected, found).at(EventRef::End));
        }
        let took = Duration::from_millis(meta.ending.duration_ms);
        let found = format!("{:.1} s", took.as_secs_f64());
        Some(subject.at_end(took <= self.0, expected, found).at(EventRef::End))
    }

    fn forbids(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct MaxTurns(u64);

impl Ask for MaxTurns {
    fn written(&self) -> Option<WrittenCheck> {
        Some(WrittenCheck::new(self.0))
    }

    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let expected = format!("at most {} turns", self.0);
        let trace = subject.evidence.trace;
        // An agent that counts no turns reports each answer of its model.
        let answers = Some(trace.requests.len() as u64).filter(|answers| *answers > 0);
        let answer = match trace.turns.or(answers) {
            Some(turns) => subject.at_end(turns <= self.0, expected, format!("{turns} turns")),
            None => CheckAnswer::new(Status::Unknown, expected, "the agent did not report its turns"),
        };
        Some(answer.at(EventRef::End))
    }

    fn forbids(&self) -> bool {
        true
    }
}
