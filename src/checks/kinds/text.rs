//! The final message holds a text, or does not.

use std::sync::Arc;

use crate::checks::pattern::{Pattern, Style};
use crate::checks::{Ask, CheckAnswer, CheckField, CheckKind, Field, FieldForm, FieldValue, Presence, Subject};
use crate::text::redact::is_masked;
use crate::trace::excerpt;
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::{EventPart, EventRef, Span};

/// What is found if the agent said nothing at its end.
pub(super) const NO_MESSAGE: &str = "no final message";

/// Most places that one check marks.
const MAX_SPANS: usize = 50;

pub(in crate::checks) static OUTPUT_CONTAINS: CheckKind =
    kind("output-contains", "expected_output", "expectedOutput", FieldForm::Pattern(Style::Literal), present);

pub(in crate::checks) static OUTPUT_MATCHES: CheckKind = kind(
    "output-matches",
    "expected_output_pattern",
    "expectedOutputPattern",
    FieldForm::Pattern(Style::Exact),
    present,
);

pub(in crate::checks) static MUST_INCLUDE: CheckKind =
    kind("must-include", "must_include", "mustInclude", FieldForm::Patterns, present);

pub(in crate::checks) static MUST_NOT_INCLUDE: CheckKind =
    kind("must-not-include", "must_not_include", "mustNotInclude", FieldForm::Patterns, absent);

type MakeTextAsk = fn(FieldValue) -> Option<Arc<dyn Ask>>;

const fn kind(
    id: &'static str,
    column: &'static str,
    key: &'static str,
    form: FieldForm,
    ask: MakeTextAsk,
) -> CheckKind {
    let field = Some(CheckField { field: Field { column, key, form }, ask });
    CheckKind { id, goal: Goal::Outcome, asks_for_skill: false, field }
}

fn present(value: FieldValue) -> Option<Arc<dyn Ask>> {
    text(value, Presence::Present)
}

fn absent(value: FieldValue) -> Option<Arc<dyn Ask>> {
    text(value, Presence::Absent)
}

fn text(value: FieldValue, wanted: Presence) -> Option<Arc<dyn Ask>> {
    let FieldValue::Pattern(pattern) = value else { return None };
    Some(Arc::new(TextCheck { pattern, wanted }))
}

#[derive(Debug)]
struct TextCheck {
    pattern: Pattern,
    wanted: Presence,
}

impl Ask for TextCheck {
    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let regex = match self.pattern.compile() {
            Ok(regex) => regex,
            Err(error) => {
                return Some(CheckAnswer::new(Status::Unknown, "a pattern that compiles", error.to_string()));
            }
        };
        let verb = match (self.pattern.style, self.wanted) {
            (Style::Literal, Presence::Present) => "contains",
            (_, Presence::Present) => "matches",
            (_, Presence::Absent) => "does not match",
        };
        let expected = format!("the final message {verb} {:?}", self.pattern.text);
        let message = subject.final_text();
        let hits: Vec<std::ops::Range<usize>> =
            message.into_iter().flat_map(|text| regex.find_iter(text).map(|hit| hit.range())).take(MAX_SPANS).collect();
        let (status, found) = match (message, hits.first(), self.wanted) {
            (None, _, Presence::Present) => (subject.silent(), NO_MESSAGE.to_owned()),
            (None, _, Presence::Absent) => (Status::Unknown, NO_MESSAGE.to_owned()),
            (Some(_), Some(_), Presence::Present) => (Status::Pass, "it does".to_owned()),
            // The evidence is masked before it is graded.
            (Some(text), None, _) if is_masked(text) => {
                (Status::Unknown, format!("not found, but a secret in it is masked: {}", excerpt(text)))
            }
            (Some(text), None, Presence::Present) => (Status::Fail, format!("it does not: {}", excerpt(text))),
            (Some(text), Some(hit), Presence::Absent) => {
                (Status::Fail, format!("found {:?}", excerpt(&text[hit.clone()])))
            }
            (Some(_), None, Presence::Absent) => (Status::Pass, "not found".to_owned()),
        };
        let marks = hits.into_iter().filter(|hit| !hit.is_empty());
        let mut spans: Vec<Span> = marks.map(|hit| Span::of_text(EventRef::Answer, EventPart::Text, hit)).collect();
        if spans.is_empty() {
            spans.push(subject.final_event().into());
        }
        Some(CheckAnswer::new(status, expected, found).with(spans))
    }

    fn text(&self) -> Option<(&Pattern, Presence)> {
        Some((&self.pattern, self.wanted))
    }
}
