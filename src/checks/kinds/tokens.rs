//! At most so many tokens.

use std::sync::Arc;

use crate::checks::{Ask, CheckAnswer, CheckField, CheckKind, Field, FieldForm, FieldValue, Subject};
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::EventRef;

pub(in crate::checks) static MAX_INPUT: CheckKind =
    kind("max-input-tokens", "max_input_tokens", "maxInputTokens", |value| ask(&value, TokenScope::Input));

pub(in crate::checks) static MAX_OUTPUT: CheckKind =
    kind("max-output-tokens", "max_output_tokens", "maxOutputTokens", |value| ask(&value, TokenScope::Output));

pub(in crate::checks) static MAX_TOTAL: CheckKind =
    kind("max-total-tokens", "max_total_tokens", "maxTotalTokens", |value| ask(&value, TokenScope::Total));

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

type MakeTokensAsk = fn(FieldValue) -> Option<Arc<dyn Ask>>;

const fn kind(id: &'static str, column: &'static str, key: &'static str, ask: MakeTokensAsk) -> CheckKind {
    let field = Some(CheckField { field: Field { column, key, form: FieldForm::LIMIT }, ask });
    CheckKind { id, goal: Goal::Efficiency, asks_for_skill: false, field }
}

fn ask(value: &FieldValue, counted: TokenScope) -> Option<Arc<dyn Ask>> {
    let FieldValue::Number(most) = *value else { return None };
    Some(Arc::new(MaxTokens { most, counted }))
}

#[derive(Debug)]
struct MaxTokens {
    most: u64,
    counted: TokenScope,
}

impl Ask for MaxTokens {
    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let usage = subject.evidence.trace.usage;
        let (what, used) = match self.counted {
            TokenScope::Input => ("input", usage.map(|usage| usage.input_tokens)),
            TokenScope::Output => ("output", usage.map(|usage| usage.output_tokens)),
            TokenScope::Total => ("total", usage.map(|usage| usage.total_tokens())),
        };
        let expected = format!("at most {} {what} tokens", self.most);
        let answer = match used {
            Some(used) => subject.happened(used > self.most, false, expected, format!("{used} {what} tokens")),
            None => CheckAnswer::new(Status::Unknown, expected, "the agent reported no usage"),
        };
        Some(answer.at(EventRef::End))
    }
}
