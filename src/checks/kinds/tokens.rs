//! Maximum number of tokens.

use std::sync::Arc;

use crate::checks::{Ask, Check, CheckAnswer, CheckKind, FieldForm, FieldValue, Subject, WrittenCheck};
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::EventRef;

pub(in crate::checks) static MAX_INPUT: CheckKind = CheckKind::new("max-input-tokens", Goal::Efficiency).with_field(
    "max_input_tokens",
    "maxInputTokens",
    FieldForm::LIMIT,
    |value| ask(&value, TokenScope::Input),
);

pub(in crate::checks) static MAX_OUTPUT: CheckKind = CheckKind::new("max-output-tokens", Goal::Efficiency).with_field(
    "max_output_tokens",
    "maxOutputTokens",
    FieldForm::LIMIT,
    |value| ask(&value, TokenScope::Output),
);

pub(in crate::checks) static MAX_TOTAL: CheckKind = CheckKind::new("max-total-tokens", Goal::Efficiency).with_field(
    "max_total_tokens",
    "maxTotalTokens",
    FieldForm::LIMIT,
    |value| ask(&value, TokenScope::Total),
);

/// A maximum number of tokens, input and output together.
pub fn max_total_tokens(most: u64) -> Check {
    Check::implied(&MAX_TOTAL, MaxTokens { most, counted: TokenScope::Total })
}

/// Which tokens count.
#[derive(Clone, Copy, Debug)]
enum TokenScope {
    /// Cached ones included.
    Input,
    /// Reasoning included.
    Output,
    /// Both.
    Total,
}

fn ask(value: &FieldValue, counted: TokenScope) -> Option<Arc<dyn Ask>> {
    Some(Arc::new(MaxTokens { most: value.number()?, counted }))
}

#[derive(Debug)]
struct MaxTokens {
    most: u64,
    counted: TokenScope,
}

impl Ask for MaxTokens {
    fn written(&self) -> Option<WrittenCheck> {
        Some(WrittenCheck::new(self.most))
    }

    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let trace = subject.evidence.trace;
        // An agent that did not report the sum took at least this.
        let usage = trace.usage.unwrap_or(trace.usage_of_requests);
        let (name, used) = match self.counted {
            TokenScope::Input => ("input", usage.input_tokens),
            TokenScope::Output => ("output", usage.output_tokens),
            TokenScope::Total => ("total", usage.total_tokens()),
        };
        let expected = format!("at most {} {name} tokens", self.most);
        let exceeds = used > self.most;
        let answer = match trace.usage {
            Some(_) => subject.happened(exceeds, false, expected, format!("{used} {name} tokens")),
            None if exceeds => CheckAnswer::new(Status::Fail, expected, format!("at least {used} {name} tokens")),
            None => CheckAnswer::new(Status::Unknown, expected, "the agent reported no usage"),
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
