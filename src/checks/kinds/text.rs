//! The final message contains a text, or does not.

use std::ops::Range;
use std::sync::Arc;

use crate::checks::pattern::{Pattern, Style};
use crate::checks::{Ask, CheckAnswer, CheckKind, FieldForm, FieldValue, Presence, Subject};
use crate::text::redact::is_masked;
use crate::trace::excerpt;
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::{EventPart, EventRef, Span};

/// The finding without a final message.
pub(super) const NO_MESSAGE: &str = "no final message";

/// Maximum number of matches that one check marks.
const MAX_SPANS: usize = 50;

pub(in crate::checks) static OUTPUT_CONTAINS: CheckKind = CheckKind::new("output-contains", Goal::Outcome).with_field(
    "expected_output",
    "expectedOutput",
    FieldForm::Pattern(Style::Literal),
    required,
);

pub(in crate::checks) static OUTPUT_MATCHES: CheckKind = CheckKind::new("output-matches", Goal::Outcome).with_field(
    "expected_output_pattern",
    "expectedOutputPattern",
    FieldForm::Pattern(Style::Exact),
    required,
);

pub(in crate::checks) static MUST_INCLUDE: CheckKind = CheckKind::new("must-include", Goal::Outcome).with_field(
    "must_include",
    "mustInclude",
    FieldForm::Patterns,
    required,
);

pub(in crate::checks) static MUST_NOT_INCLUDE: CheckKind = CheckKind::new("must-not-include", Goal::Outcome)
    .with_field("must_not_include", "mustNotInclude", FieldForm::Patterns, forbidden);

fn required(value: FieldValue) -> Option<Arc<dyn Ask>> {
    ask(value, Presence::Present)
}

fn forbidden(value: FieldValue) -> Option<Arc<dyn Ask>> {
    ask(value, Presence::Absent)
}

fn ask(value: FieldValue, presence: Presence) -> Option<Arc<dyn Ask>> {
    let FieldValue::Pattern(pattern) = value else { return None };
    Some(Arc::new(TextCheck { pattern, presence }))
}

#[derive(Debug)]
struct TextCheck {
    pattern: Pattern,
    presence: Presence,
}

impl Ask for TextCheck {
    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let regex = match self.pattern.compile() {
            Ok(regex) => regex,
            Err(error) => {
                return Some(CheckAnswer::new(Status::Unknown, "a pattern that compiles", error.to_string()));
            }
        };
        let verb = match (self.pattern.style, self.presence) {
            (Style::Literal, Presence::Present) => "contains",
            (_, Presence::Present) => "matches",
            (_, Presence::Absent) => "does not match",
        };
        let expected = format!("the final message {verb} {:?}", self.pattern.text);
        let message = subject.final_text();
        let mut matches: Vec<Range<usize>> = Vec::new();
        if let Some(text) = message {
            matches.extend(regex.find_iter(text).map(|found| found.range()).take(MAX_SPANS));
        }
        let (status, found) = match (message, matches.first(), self.presence) {
            (None, _, Presence::Present) => (subject.silent(), NO_MESSAGE.to_owned()),
            (None, _, Presence::Absent) => (Status::Unknown, NO_MESSAGE.to_owned()),
            (Some(_), Some(_), Presence::Present) => (Status::Pass, "it does".to_owned()),
            // The evidence is masked before it is graded.
            (Some(text), None, _) if is_masked(text) => {
                (Status::Unknown, format!("not found, but a secret in it is masked: {}", excerpt(text)))
            }
            (Some(text), None, Presence::Present) => (Status::Fail, format!("it does not: {}", excerpt(text))),
            (Some(text), Some(range), Presence::Absent) => {
                (Status::Fail, format!("found {:?}", excerpt(&text[range.clone()])))
            }
            (Some(_), None, Presence::Absent) => (Status::Pass, "not found".to_owned()),
        };
        let marked = matches.into_iter().filter(|range| !range.is_empty());
        let mut spans: Vec<Span> =
            marked.map(|range| Span::of_text(EventRef::Answer, EventPart::Text, range)).collect();
        if spans.is_empty() {
            spans.push(subject.final_event().into());
        }
        Some(CheckAnswer::new(status, expected, found).with(spans))
    }

    fn forbids(&self) -> bool {
        self.presence == Presence::Absent
    }

    fn text(&self) -> Option<(&Pattern, Presence)> {
        Some((&self.pattern, self.presence))
    }
}
