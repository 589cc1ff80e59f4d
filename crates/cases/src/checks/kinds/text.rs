//! Texts that the agent wrote or read contain something, or do not.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value as Json;

use crate::checks::field::{ListForm, ListedCheck, test_of};
use crate::checks::pattern::{Pattern, Style};
use crate::checks::schema::Schema;
use crate::checks::text_test::{MAX_SPANS, TextResult, TextTest, TextWant, json_text};
use crate::checks::{
    CaseCheck, CheckAnswer, CheckKind, Condition, FieldForm, FieldValue, GradingInput, InvalidCheck, Presence,
    WrittenCheck,
};
use crate::skill::slug;
use crate::text::name::RelativePath;
use crate::text::word_enum::word_enum;
use crate::trace::{Step, excerpt, kept_part};
use crate::trial::evidence::Reading;
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::{EventPart, EventRef, Span};

/// The option that there is a final message.
const EXISTS: &str = "exists";

pub(in crate::checks) static OUTPUT_CONTAINS: CheckKind = CheckKind::new("output-contains", Goal::Outcome)
    .by(Reading::Answer)
    .with_field("expected_output", "expectedOutput", FieldForm::Pattern(Style::Literal), required);

pub(in crate::checks) static OUTPUT_MATCHES: CheckKind = CheckKind::new("output-matches", Goal::Outcome)
    .by(Reading::Answer)
    .with_field("expected_output_pattern", "expectedOutputPattern", FieldForm::Pattern(Style::Exact), required);

pub(in crate::checks) static MUST_INCLUDE: CheckKind = CheckKind::new("must-include", Goal::Outcome)
    .by(Reading::Answer)
    .with_field("must_include", "mustInclude", FieldForm::Patterns, required);

pub(in crate::checks) static MUST_NOT_INCLUDE: CheckKind = CheckKind::new("must-not-include", Goal::Outcome)
    .by(Reading::Answer)
    .with_field("must_not_include", "mustNotInclude", FieldForm::Patterns, forbidden);

pub(in crate::checks) static TEXT: CheckKind =
    CheckKind::new("text", Goal::Outcome).by(Reading::Answer).in_list(&ListForm {
        key: "text",
        form: FieldForm::Choice(&TextPlace::WORDS),
        options: &[("not", FieldForm::Flag), (EXISTS, FieldForm::Flag)],
        tests: true,
        ask: listed,
    });

word_enum! {
    /// Which texts of a trial are searched.
    #[derive(Default)]
    pub enum TextPlace {
        /// The final message.
        #[default]
        Final = "final",
        /// Every message of the agent.
        Messages = "messages",
        /// What commands and tools answered.
        Tools = "tools",
        /// All of these.
        All = "all",
    }
}

/// The texts in this place pass this test: one of them does, or none does if the test is negated.
pub fn text(place: TextPlace, test: TextTest) -> CaseCheck {
    CaseCheck::implied(&TEXT, TextCheck { place, test })
}

/// There is a final message.
pub fn final_message() -> CaseCheck {
    text(TextPlace::Final, TextTest::new(TextWant::Present))
}

fn listed(check: &ListedCheck) -> Result<Arc<dyn Condition>, InvalidCheck> {
    let place = check.text("text").and_then(TextPlace::named).unwrap_or_default();
    let test = match (test_of(check)?, check.flag(EXISTS)) {
        (Some(test), None) => test,
        (None, Some(true)) if place == TextPlace::Final && !check.is("not") => TextTest::new(TextWant::Present),
        (_, Some(_)) => {
            let help = r#"write {"text": "final", "exists": true}, and what the text must be as another check"#;
            return Err(InvalidCheck::new(EXISTS, "`exists` says only that there is a final message", help));
        }
        (None, None) => {
            let help = r#"say what the text must be, as in {"text": "final", "contains": "Ada"}"#;
            return Err(InvalidCheck::new("text", "this check asks for nothing", help));
        }
    };
    Ok(Arc::new(TextCheck { place, test }))
}

fn required(value: FieldValue) -> Option<Arc<dyn Condition>> {
    ask(value, false)
}

fn forbidden(value: FieldValue) -> Option<Arc<dyn Condition>> {
    ask(value, true)
}

fn ask(value: FieldValue, negated: bool) -> Option<Arc<dyn Condition>> {
    let FieldValue::Pattern(pattern) = value else { return None };
    Some(Arc::new(TextCheck { place: TextPlace::Final, test: TextTest { negated, ..pattern.into() } }))
}

#[derive(Debug, Serialize)]
struct TextCheck {
    place: TextPlace,
    test: TextTest,
}

impl Condition for TextCheck {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        Some(if self.place == TextPlace::Final { self.of_final(subject) } else { self.of_steps(subject) })
    }

    fn settled_by(&self) -> Option<Status> {
        let settled = if self.test.negated { Status::Fail } else { Status::Pass };
        (self.place != TextPlace::Final).then_some(settled)
    }

    fn forbids(&self) -> bool {
        self.test.negated
    }

    fn written(&self) -> Option<WrittenCheck> {
        let is_bare = self.test.json.is_none() && self.test.want == TextWant::Present;
        WrittenCheck::new(self.place.as_str()).with_flag(EXISTS, is_bare).with_test(&self.test)
    }

    fn text(&self) -> Option<(&Pattern, Presence)> {
        let presence = if self.test.negated { Presence::Absent } else { Presence::Present };
        let pattern = self.test.plain_pattern().filter(|_| self.place == TextPlace::Final);
        pattern.map(|pattern| (pattern, presence))
    }

    fn without_effect(&self) -> Option<String> {
        if self.place == TextPlace::Final { self.test.without_effect() } else { self.test.without_text() }
    }
}

impl TextCheck {
    fn of_final(&self, subject: &GradingInput<'_>) -> CheckAnswer {
        let negated = self.test.negated;
        let expected = format!("the final message {}", self.test.words(negated));
        let text = match subject.final_text() {
            Ok(text) => text,
            Err((status, why)) => {
                let status = if negated { Status::Unknown } else { status };
                return CheckAnswer::new(status, expected, why).at(subject.final_event());
            }
        };
        let (status, found, matches) = match self.test.of(text, false) {
            TextResult::Unknown(why) => (Status::Unknown, why, Vec::new()),
            TextResult::Holds(matches) if !negated => (Status::Pass, "it does".to_owned(), matches),
            TextResult::Holds(matches) => {
                let part = matches.first().map_or(text, |range| &text[range.clone()]);
                (Status::Fail, format!("found {:?}", excerpt(part)), matches)
            }
            TextResult::Differs(_) if negated => (Status::Pass, "not found".to_owned(), Vec::new()),
            TextResult::Differs(why) => (Status::Fail, why, Vec::new()),
        };
        let marked = matches.into_iter().filter(|range| !range.is_empty());
        let mut spans: Vec<Span> =
            marked.map(|range| Span::of_text(EventRef::Answer, EventPart::Text, range)).collect();
        if spans.is_empty() {
            spans.push(subject.final_event().into());
        }
        CheckAnswer::new(status, expected, found).with(spans)
    }

    fn of_steps(&self, subject: &GradingInput<'_>) -> CheckAnswer {
        let (one, none) = match self.place {
            TextPlace::Messages => ("a message of the agent", "no message of the agent"),
            TextPlace::Tools => ("an output of a tool", "no output of a tool"),
            TextPlace::All | TextPlace::Final => ("a message or output", "no message or output"),
        };
        let expected = format!("{} {}", if self.test.negated { none } else { one }, self.test.words(false));
        let texts = self.texts(subject);
        let count = texts.len();
        let (mut spans, mut found, mut doubt) = (Vec::new(), None, self.doubt(subject));
        for (event, part, text) in texts {
            // A final message is whole.
            let (text, is_cut) = if event == EventRef::Answer { (text, false) } else { kept_part(text) };
            match self.test.of(text, is_cut) {
                TextResult::Holds(matches) => {
                    let first = matches.first().map_or(text, |range| &text[range.clone()]);
                    found.get_or_insert_with(|| format!("found {:?}", excerpt(first)));
                    if matches.is_empty() {
                        spans.push(event.into());
                    }
                    spans.extend(matches.into_iter().map(|range| Span::of_text(event, part, range)));
                }
                TextResult::Unknown(why) => doubt = doubt.or(Some(why)),
                TextResult::Differs(_) => {}
            }
        }
        spans.truncate(MAX_SPANS);
        let is_found = found.is_some();
        let found = found.unwrap_or_else(|| format!("not in any of {count}"));
        let answer = match doubt.filter(|_| !is_found) {
            Some(doubt) => CheckAnswer::new(Status::Unknown, expected, format!("{found}; {doubt}")),
            None => subject.proved(is_found, !self.test.negated, expected, found),
        };
        if spans.is_empty() { answer.at(EventRef::End) } else { answer.with(spans) }
    }

    fn texts<'a>(&self, subject: &GradingInput<'a>) -> Vec<(EventRef, EventPart, &'a str)> {
        let wants = |place| self.place == TextPlace::All || self.place == place;
        let mut texts = Vec::new();
        for (at, step) in subject.evidence.trace.steps.iter().enumerate() {
            let part = match step {
                Step::Message(_) if wants(TextPlace::Messages) => EventPart::Text,
                Step::Command { .. } | Step::Tool { .. } if wants(TextPlace::Tools) => EventPart::Output,
                _ => continue,
            };
            let of_step = step.texts().into_iter().find(|(of_step, _)| *of_step == part);
            texts.extend(of_step.map(|(_, text)| (EventRef::Step(at), part, text)));
        }
        // The step of a long final message holds only its start.
        let last = subject.final_text().ok().filter(|_| wants(TextPlace::Messages));
        texts.extend(last.map(|text| (EventRef::Answer, EventPart::Text, text)));
        texts
    }

    /// Why the trace may lack a text.
    fn doubt(&self, subject: &GradingInput<'_>) -> Option<String> {
        let trace = subject.evidence.trace;
        if trace.steps_dropped > 0 {
            return Some(format!("the trace lacks {} events", trace.steps_dropped));
        }
        let is_silent = |step: &&Step| matches!(step, Step::Tool { output, .. } if output.is_empty());
        match trace.steps.iter().find(is_silent) {
            Some(Step::Tool { name, .. }) if self.place != TextPlace::Messages => {
                Some(format!("the answer of the tool `{name}` is not in the trace"))
            }
            _ => None,
        }
    }
}

// The content of a final message that is JSON.

pub(in crate::checks) static OUTPUT_SCHEMA: CheckKind =
    CheckKind::new("output-schema", Goal::Style).by(Reading::Answer);

pub(in crate::checks) static INVOKED_SKILLS: CheckKind =
    CheckKind::new("invoked-skills", Goal::Style).about_skill().by(Reading::Answer);

/// The final message is JSON that follows the schema at `path`.
pub fn output_schema(path: RelativePath) -> CaseCheck {
    CaseCheck::implied(&OUTPUT_SCHEMA, MatchesSchema { path })
}

/// The final message's `invoked_skills` names the skill under test, or does not.
pub fn invoked_skills(should: bool) -> CaseCheck {
    CaseCheck::implied(&INVOKED_SKILLS, InvokedSkills { should })
}

#[derive(Debug, Serialize)]
struct MatchesSchema {
    path: RelativePath,
}

#[derive(Debug, Serialize)]
struct InvokedSkills {
    should: bool,
}

/// The final message as JSON; else the status of the check and the reason.
fn json(subject: &GradingInput<'_>) -> Result<Json, (Status, String)> {
    let text = subject.final_text()?;
    serde_json::from_str(json_text(text))
        .map_err(|error| (Status::Fail, format!("the final message is not JSON: {error}")))
}

impl Condition for MatchesSchema {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let (status, found) = match subject.schema {
            Some(schema) => follows(subject, schema),
            None => (Status::Unknown, "the schema could not be read".to_owned()),
        };
        let expected = format!("the final message follows {}", self.path);
        Some(CheckAnswer::new(status, expected, found).at(subject.final_event()))
    }
}

fn follows(subject: &GradingInput<'_>, schema: &Json) -> (Status, String) {
    let schema = match Schema::new(schema.clone()) {
        Ok(schema) => schema,
        Err(why) => return (Status::Unknown, format!("the schema {why}")),
    };
    let problems = match json(subject) {
        Ok(answer) => schema.problems(&answer, 5),
        Err(not_json) => return not_json,
    };
    match problems {
        Ok(problems) if problems.is_empty() => (Status::Pass, "it does".to_owned()),
        Ok(problems) => (Status::Fail, problems.join("; ")),
        Err(why) => (Status::Unknown, format!("the schema {why}")),
    }
}

impl Condition for InvokedSkills {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let name = &subject.skill.name;
        let expected = format!("`invoked_skills` {} `{name}`", if self.should { "names" } else { "does not name" });
        let (status, found) = match json(subject) {
            Err(why) => why,
            Ok(answer) => match answer.get("invoked_skills").and_then(Json::as_array) {
                None => (Status::Fail, "the final message has no list `invoked_skills`".to_owned()),
                Some(list) if !list.iter().all(Json::is_string) => {
                    (Status::Fail, format!("`invoked_skills` holds an invalid name: {}", Json::Array(list.clone())))
                }
                Some(list) => {
                    // `$name` and `Name` name the same skill as `name`.
                    let named = list.iter().filter_map(Json::as_str).any(|found| slug(found) == subject.skill.slug);
                    let status = if named == self.should { Status::Pass } else { Status::Fail };
                    (status, format!("invoked_skills: {}", Json::Array(list.clone())))
                }
            },
        };
        Some(CheckAnswer::new(status, expected, found).at(subject.final_event()))
    }
}
