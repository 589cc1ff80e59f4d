//! What a check looks at, and what it answers.

use serde_json::Value;

use crate::settings::ActivationRule;
use crate::skill::Skill;
use crate::trace::Marked;
use crate::trial::evidence::Evidence;
use crate::trial::outcome::Status;
use crate::trial::span::{EventRef, Span};

/// A trial to be checked.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The skill under test.
    pub skill: &'a Skill,
    /// The content of the case's output schema.
    pub schema: Option<&'a Value>,
    /// What counts as an activation of the skill.
    pub activation: ActivationRule,
    /// What the trial left behind.
    pub evidence: &'a Evidence<'a>,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckAnswer {
    /// Pass, fail or unknown.
    pub status: Status,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// The events that decided it, the one to look at first.
    pub spans: Vec<Span>,
}

impl CheckAnswer {
    /// A pass if `holds`, else a failure.
    pub fn holds(holds: bool, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(if holds { Status::Pass } else { Status::Fail }, expected, found)
    }

    /// An answer that points to no event yet.
    pub fn new(status: Status, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { status, expected: expected.into(), found: found.into(), spans: Vec::new() }
    }

    /// The same, decided by an event.
    #[must_use]
    pub fn at(mut self, event: impl Into<Span>) -> Self {
        self.spans.push(event.into());
        self
    }

    /// The same, decided by these events.
    #[must_use]
    pub fn with(mut self, spans: impl IntoIterator<Item = Span>) -> Self {
        self.spans.extend(spans);
        self
    }
}

impl Subject<'_> {
    /// The final message, if it says anything.
    pub fn final_text(&self) -> Option<&str> {
        self.evidence.final_text.filter(|text| !text.trim().is_empty())
    }

    /// The final message as an event; the end of the process if there is no message.
    pub fn final_event(&self) -> EventRef {
        if self.final_text().is_some() { EventRef::Answer } else { EventRef::End }
    }

    /// What it means that something is not there at the end: nothing if the agent did not finish.
    pub fn missing(&self) -> Status {
        if self.evidence.trace.ended() { Status::Fail } else { Status::Unknown }
    }

    /// What it means that there is no final message: it may be in what could not be read.
    pub fn silent(&self) -> Status {
        if self.evidence.trace.gap().is_some() { Status::Unknown } else { self.missing() }
    }

    /// The answer about something that may have happened, and `should` have happened or not. That it did is certain. That it
    /// did not is certain only if the evidence is whole and reaches the agent's end.
    pub fn happened(&self, happened: bool, should: bool, expected: String, found: String) -> CheckAnswer {
        let trace = self.evidence.trace;
        let doubt = match trace.gap() {
            _ if happened => None,
            Some(gap) => Some(gap),
            None if !trace.ended() => Some("the agent did not finish".to_owned()),
            None if should && trace.offered.is_none() => Some("whether the skill was offered is not known".to_owned()),
            None => None,
        };
        match doubt {
            Some(doubt) => CheckAnswer::new(Status::Unknown, expected, format!("{found}; {doubt}")),
            None => CheckAnswer::holds(happened == should, expected, found),
        }
    }

    /// Whether a name is that of the skill under test.
    pub fn is_under_test(&self, name: &str) -> bool {
        crate::skill::slug(name) == self.skill.slug
    }

    /// The first step at which this was noted.
    pub fn marked(&self, is_it: impl Fn(Marked) -> bool) -> Option<usize> {
        let trace = self.evidence.trace;
        let mark = trace.marks.iter().filter(|mark| is_it(mark.what)).map(|mark| mark.step).min();
        mark.map(|step| step.min(trace.steps.len().saturating_sub(1)))
    }
}
