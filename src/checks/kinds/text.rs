//! The final message holds a text, or does not.

use std::sync::Arc;

use crate::checks::pattern::{Pattern, Style};
use crate::checks::{Answer, Ask, CheckField, Field, Form, Kind, Subject, Value, Wanted};
use crate::text::redact::is_masked;
use crate::trace::excerpt;
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::{EventRef, Part, Span};

/// What is found if the agent said nothing at its end.
pub(super) const NO_MESSAGE: &str = "no final message";

/// Most places that one check marks.
const MAX_SPANS: usize = 50;

pub(in crate::checks) static OUTPUT_CONTAINS: Kind =
    kind("output-contains", "expected_output", "expectedOutput", Form::Pattern(Style::Literal), present);

pub(in crate::checks) static OUTPUT_MATCHES: Kind =
    kind("output-matches", "expected_output_pattern", "expectedOutputPattern", Form::Pattern(Style::Exact), present);

pub(in crate::checks) static MUST_INCLUDE: Kind =
    kind("must-include", "must_include", "mustInclude", Form::Patterns, present);

pub(in crate::checks) static MUST_NOT_INCLUDE: Kind =
    kind("must-not-include", "must_not_include", "mustNotInclude", Form::Patterns, absent);

type MakeAsk = fn(Value) -> Option<Arc<dyn Ask>>;

const fn kind(id: &'static str, column: &'static str, key: &'static str, form: Form, ask: MakeAsk) -> Kind {
    let field = Some(CheckField { field: Field { column, key, form }, ask });
    Kind { id, goal: Goal::Outcome, asks_for_skill: false, field }
}

fn present(value: Value) -> Option<Arc<dyn Ask>> {
    text(value, Wanted::Present)
}

fn absent(value: Value) -> Option<Arc<dyn Ask>> {
    text(value, Wanted::Absent)
}

fn text(value: Value, wanted: Wanted) -> Option<Arc<dyn Ask>> {
    let Value::Pattern(pattern) = value else { return None };
    Some(Arc::new(Text { pattern, wanted }))
}

#[derive(Debug)]
struct Text {
    pattern: Pattern,
    wanted: Wanted,
}

impl Ask for Text {
    fn evaluate(&self, subject: &Subject<'_>) -> Option<Answer> {
        let regex = match self.pattern.compile() {
            Ok(regex) => regex,
            Err(error) => {
                return Some(Answer::new(Status::Unknown, "a pattern that compiles", error.to_string()));
            }
        };
        let verb = match (self.pattern.style, self.wanted) {
            (Style::Literal, Wanted::Present) => "contains",
            (_, Wanted::Present) => "matches",
            (_, Wanted::Absent) => "does not match",
        };
        let expected = format!("the final message {verb} {:?}", self.pattern.text);
        let message = subject.final_text();
        let hits: Vec<std::ops::Range<usize>> =
            message.into_iter().flat_map(|text| regex.find_iter(text).map(|hit| hit.range())).take(MAX_SPANS).collect();
        let (status, found) = match (message, hits.first(), self.wanted) {
            (None, _, Wanted::Present) => (subject.silent(), NO_MESSAGE.to_owned()),
            (None, _, Wanted::Absent) => (Status::Unknown, NO_MESSAGE.to_owned()),
            (Some(_), Some(_), Wanted::Present) => (Status::Pass, "it does".to_owned()),
            // The evidence is masked before it is graded.
            (Some(text), None, _) if is_masked(text) => {
                (Status::Unknown, format!("not found, but a secret in it is masked: {}", excerpt(text)))
            }
            (Some(text), None, Wanted::Present) => (Status::Fail, format!("it does not: {}", excerpt(text))),
            (Some(text), Some(hit), Wanted::Absent) => {
                (Status::Fail, format!("found {:?}", excerpt(&text[hit.clone()])))
            }
            (Some(_), None, Wanted::Absent) => (Status::Pass, "not found".to_owned()),
        };
        let marks = hits.into_iter().filter(|hit| !hit.is_empty());
        let mut spans: Vec<Span> = marks.map(|hit| Span::of_text(EventRef::Answer, Part::Text, hit)).collect();
        if spans.is_empty() {
            spans.push(subject.final_event().into());
        }
        Some(Answer::new(status, expected, found).with(spans))
    }

    fn text(&self) -> Option<(&Pattern, Wanted)> {
        Some((&self.pattern, self.wanted))
    }
}
