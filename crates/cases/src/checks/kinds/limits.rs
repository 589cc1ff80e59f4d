//! Maximum cost and time, and maximum numbers of turns, tokens and effective commands.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::checks::kinds::calls;
use crate::checks::{
    CaseCheck, CheckAnswer, CheckKind, Condition, FieldForm, FieldValue, GradingInput, InvalidCheck, ListForm, MakeAsk,
    WrittenCheck,
};
use crate::trial::evidence::Reading;
use crate::trial::outcome::AttemptCost;
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::EventRef;

pub(in crate::checks) static MAX_COST: CheckKind = CheckKind::new("max-cost-usd", Goal::Efficiency)
    .by(Reading::Tokens)
    .with_field("max_cost_usd", "maxCostUsd", FieldForm::Amount, |value| match value {
        FieldValue::Amount(most) => Some(Arc::new(Limit::Cost(most))),
        _ => None,
    });

pub(in crate::checks) static MAX_SECONDS: CheckKind = number("max-seconds", "max_seconds", "maxSeconds", |value| {
    Some(Arc::new(Limit::Seconds(Duration::from_secs(value.number()?))))
});

pub(in crate::checks) static MAX_COMMANDS: CheckKind =
    number("max-commands", "max_commands", "maxCommands", |value| Some(Arc::new(Limit::Commands(value.number()?))))
        .by(Reading::Commands);

pub(in crate::checks) static MAX_INPUT: CheckKind =
    number("max-input-tokens", "max_input_tokens", "maxInputTokens", |value| of_tokens(&value, TokenScope::Input))
        .by(Reading::Tokens);

pub(in crate::checks) static MAX_OUTPUT: CheckKind =
    number("max-output-tokens", "max_output_tokens", "maxOutputTokens", |value| of_tokens(&value, TokenScope::Output))
        .by(Reading::Tokens);

pub(in crate::checks) static MAX_TOTAL: CheckKind =
    number("max-total-tokens", "max_total_tokens", "maxTotalTokens", |value| of_tokens(&value, TokenScope::Total))
        .by(Reading::Tokens);

pub(in crate::checks) static MAX_TURNS: CheckKind = CheckKind::new("max-turns", Goal::Efficiency).in_list(&ListForm {
    key: "maxTurns",
    form: FieldForm::LIMIT,
    options: &[],
    tests: false,
    ask: |check| match check.number("maxTurns") {
        Some(most) => Ok(Arc::new(Limit::Turns(most))),
        None => Err(InvalidCheck::new("maxTurns", "`maxTurns` has no number", "write a number")),
    },
});

const fn number(id: &'static str, column: &'static str, key: &'static str, ask: MakeAsk) -> CheckKind {
    CheckKind::new(id, Goal::Efficiency).with_field(column, key, FieldForm::LIMIT, ask)
}

fn of_tokens(value: &FieldValue, counted: TokenScope) -> Option<Arc<dyn Condition>> {
    Some(Arc::new(Limit::Tokens { most: value.number()?, counted }))
}

/// At most this cost in dollars.
pub fn max_cost(most: f64) -> CaseCheck {
    CaseCheck::implied(&MAX_COST, Limit::Cost(most))
}

/// At most this duration.
pub fn max_duration(most: Duration) -> CaseCheck {
    CaseCheck::implied(&MAX_SECONDS, Limit::Seconds(most))
}

/// At most this many turns.
pub fn max_turns(most: u64) -> CaseCheck {
    CaseCheck::implied(&MAX_TURNS, Limit::Turns(most))
}

/// At most this many effective commands, by no field of the case.
pub fn max_commands(most: u64) -> CaseCheck {
    CaseCheck::implied(&MAX_COMMANDS, Limit::Commands(most))
}

/// At most this many tokens, input and output together.
pub fn max_total_tokens(most: u64) -> CaseCheck {
    CaseCheck::implied(&MAX_TOTAL, Limit::Tokens { most, counted: TokenScope::Total })
}

/// At most this much of something.
#[derive(Debug, Serialize)]
enum Limit {
    /// In dollars.
    Cost(f64),
    Seconds(Duration),
    Turns(u64),
    Commands(u64),
    Tokens {
        most: u64,
        counted: TokenScope,
    },
}

/// Which tokens count.
#[derive(Clone, Copy, Debug, Serialize)]
enum TokenScope {
    /// Cached ones included.
    Input,
    /// Reasoning included.
    Output,
    Total,
}

impl Condition for Limit {
    fn written(&self) -> Option<WrittenCheck> {
        match self {
            Self::Cost(most) => Some(WrittenCheck::new(*most)),
            Self::Seconds(most) => (most.subsec_nanos() == 0).then(|| WrittenCheck::new(most.as_secs())),
            Self::Turns(most) | Self::Commands(most) | Self::Tokens { most, .. } => Some(WrittenCheck::new(*most)),
        }
    }

    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        Some(match *self {
            Self::Commands(most) => calls::answer_command(subject, most),
            Self::Cost(most) => cost(subject, most).at(EventRef::End),
            Self::Seconds(most) => time(subject, most).at(EventRef::End),
            Self::Turns(most) => turns(subject, most).at(EventRef::End),
            Self::Tokens { most, counted } => tokens(subject, most, counted).at(EventRef::End),
        })
    }

    fn forbids(&self) -> bool {
        true
    }

    fn settled_by(&self) -> Option<Status> {
        let is_known_at_end = matches!(self, Self::Seconds(_) | Self::Turns(_));
        (!is_known_at_end).then_some(Status::Fail)
    }
}

fn cost(subject: &GradingInput<'_>, most: f64) -> CheckAnswer {
    let (meta, trace) = (subject.evidence.meta, subject.evidence.trace);
    // An agent that did not report the sum took at least this.
    let usage = trace.usage.unwrap_or(trace.usage_of_requests);
    let cost = AttemptCost::by(meta.agent.kind, &meta.agent.models(), Some(&usage), subject.prices).cost_usd;
    let expected = format!("at most ${most}");
    match (cost, trace.usage) {
        (Some(cost), _) if cost > most => CheckAnswer::new(Status::Fail, expected, format!("${cost:.4}")),
        (Some(cost), Some(_)) => subject.proved(false, false, expected, format!("${cost:.4}")),
        (None, Some(_)) => {
            let found = "the price of the model is unknown; set it under [prices] in evals/evals.toml";
            CheckAnswer::new(Status::Unknown, expected, found)
        }
        (_, None) => CheckAnswer::new(Status::Unknown, expected, "the agent reported no usage"),
    }
}

fn time(subject: &GradingInput<'_>, most: Duration) -> CheckAnswer {
    let (meta, expected) = (subject.evidence.meta, format!("at most {} s", most.as_secs_f64()));
    if meta.is_user_session() {
        let found = "a session does not show how long it took";
        return CheckAnswer::new(Status::Unknown, expected, found);
    }
    let counted = Duration::from_millis(meta.ending.counted_ms());
    subject.at_end(counted <= most, expected, meta.ending.took())
}

fn turns(subject: &GradingInput<'_>, most: u64) -> CheckAnswer {
    let expected = format!("at most {most} turns");
    let trace = subject.evidence.trace;
    // An agent that counts no turns reports each answer of its model.
    let answers = Some(trace.requests.len() as u64).filter(|answers| *answers > 0);
    match trace.turns.or(answers) {
        Some(turns) => subject.at_end(turns <= most, expected, format!("{turns} turns")),
        None => CheckAnswer::new(Status::Unknown, expected, "the agent did not report its turns"),
    }
}

fn tokens(subject: &GradingInput<'_>, most: u64, counted: TokenScope) -> CheckAnswer {
    let trace = subject.evidence.trace;
    // An agent that did not report the sum took at least this.
    let usage = trace.usage.unwrap_or(trace.usage_of_requests);
    let (name, used) = match counted {
        TokenScope::Input => ("input", usage.input_tokens),
        TokenScope::Output => ("output", usage.output_tokens),
        TokenScope::Total => ("total", usage.total_tokens()),
    };
    let expected = format!("at most {most} {name} tokens");
    let exceeds = used > most;
    match trace.usage {
        Some(_) => subject.happened(exceeds, false, expected, format!("{used} {name} tokens")),
        None if exceeds => CheckAnswer::new(Status::Fail, expected, format!("at least {used} {name} tokens")),
        None => CheckAnswer::new(Status::Unknown, expected, "the agent reported no usage"),
    }
}
