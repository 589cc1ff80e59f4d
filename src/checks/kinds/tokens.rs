//! At most so many tokens.

use std::sync::Arc;

use crate::checks::{Answer, Ask, CheckField, Field, Form, Kind, Subject, Value};
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::EventRef;

pub(in crate::checks) static MAX_INPUT: Kind =
    kind("max-input-tokens", "max_input_tokens", "maxInputTokens", |value| ask(&value, Counted::Input));

pub(in crate::checks) static MAX_OUTPUT: Kind =
    kind("max-output-tokens", "max_output_tokens", "maxOutputTokens", |value| ask(&value, Counted::Output));

pub(in crate::checks) static MAX_TOTAL: Kind =
    kind("max-total-tokens", "max_total_tokens", "maxTotalTokens", |value| ask(&value, Counted::Total));

/// Which tokens count.
#[derive(Clone, Copy, Debug)]
enum Counted {
    /// Cached ones included.
    Input,
    /// Reasoning included.
    Output,
    /// Both.
    Total,
}

type MakeAsk = fn(Value) -> Option<Arc<dyn Ask>>;

const fn kind(id: &'static str, column: &'static str, key: &'static str, ask: MakeAsk) -> Kind {
    let field = Some(CheckField { field: Field { column, key, form: Form::LIMIT }, ask });
    Kind { id, goal: Goal::Efficiency, asks_for_skill: false, field }
}

fn ask(value: &Value, counted: Counted) -> Option<Arc<dyn Ask>> {
    let Value::Number(most) = *value else { return None };
    Some(Arc::new(MaxTokens { most, counted }))
}

#[derive(Debug)]
struct MaxTokens {
    most: u64,
    counted: Counted,
}

impl Ask for MaxTokens {
    fn evaluate(&self, subject: &Subject<'_>) -> Option<Answer> {
        let usage = subject.evidence.trace.usage;
        let (what, used) = match self.counted {
            Counted::Input => ("input", usage.map(|usage| usage.input_tokens)),
            Counted::Output => ("output", usage.map(|usage| usage.output_tokens)),
            Counted::Total => ("total", usage.map(|usage| usage.total_tokens())),
        };
        let expected = format!("at most {} {what} tokens", self.most);
        let answer = match used {
            Some(used) => subject.happened(used > self.most, false, expected, format!("{used} {what} tokens")),
            None => Answer::new(Status::Unknown, expected, "the agent reported no usage"),
        };
        Some(answer.at(EventRef::End))
    }
}
