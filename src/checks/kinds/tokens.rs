//! Maximum number of tokens.

use std::sync::Arc;

use crate::checks::{Ask, CheckAnswer, CheckKind, FieldForm, FieldValue, Subject};
use crate::trace::Usage;
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::EventRef;

pub(in crate::checks) static MAX_INPUT: CheckKind = CheckKind::new("max-input-tokens", Goal::Efficiency).with_field(
    "max_input_tokens",
    "maxInputTokens",
    FieldForm::LIMIT,
    |value| ask(&value, "input", |usage| usage.input_tokens),
);

pub(in crate::checks) static MAX_OUTPUT: CheckKind = CheckKind::new("max-output-tokens", Goal::Efficiency).with_field(
    "max_output_tokens",
    "maxOutputTokens",
    FieldForm::LIMIT,
    |value| ask(&value, "output", |usage| usage.output_tokens),
);

pub(in crate::checks) static MAX_TOTAL: CheckKind = CheckKind::new("max-total-tokens", Goal::Efficiency).with_field(
    "max_total_tokens",
    "maxTotalTokens",
    FieldForm::LIMIT,
    |value| ask(&value, "total", Usage::total_tokens),
);

fn ask(value: &FieldValue, name: &'static str, count: fn(&Usage) -> u64) -> Option<Arc<dyn Ask>> {
    let FieldValue::Number(most) = *value else { return None };
    Some(Arc::new(MaxTokens { most, name, count }))
}

#[derive(Debug)]
struct MaxTokens {
    most: u64,
    /// Which tokens count, in a word.
    name: &'static str,
    count: fn(&Usage) -> u64,
}

impl Ask for MaxTokens {
    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let Self { most, name, count } = self;
        let expected = format!("at most {most} {name} tokens");
        let answer = match subject.evidence.trace.usage.as_ref().map(count) {
            Some(used) => subject.happened(used > *most, false, expected, format!("{used} {name} tokens")),
            None => CheckAnswer::new(Status::Unknown, expected, "the agent reported no usage"),
        };
        Some(answer.at(EventRef::End))
    }
}
