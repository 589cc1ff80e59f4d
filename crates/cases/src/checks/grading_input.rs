//! The trial that a check looks at, and the answer of the check.

use serde_json::Value;

use crate::checks::PrintedOnce;
use crate::checks::contents::{Contents, Unknown};
use crate::checks::program::{ProgramEnding, ProgramRuns, WorkspaceProgram};
use crate::settings::{ActivationRule, Prices};
use crate::skill::Skill;
use crate::trace::Marked;
use crate::trial::answer::FinalAnswer;
use crate::trial::evidence::Evidence;
use crate::trial::outcome::Status;
use crate::trial::span::{EventRef, Span};

/// The finding without a final message.
const NO_MESSAGE: &str = "no final message";

/// A trial to be checked.
#[derive(Clone, Copy, Debug)]
pub struct GradingInput<'a> {
    /// The skill under test.
    pub skill: &'a Skill,
    /// The content of the case's output schema.
    pub schema: Option<&'a Value>,
    /// What counts as an activation of the skill.
    pub activation: ActivationRule,
    /// The evidence of the trial.
    pub evidence: &'a Evidence<'a>,
    pub contents: &'a dyn Contents,
    /// What tokens cost.
    pub prices: &'a Prices,
    /// The runs of the case's programs; empty while the agent is running.
    pub programs: &'a ProgramRuns,
    /// What the agent printed, once a check has read it.
    pub printed: &'a PrintedOnce,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CheckAnswer {
    /// The name of the result, if that is not the id of the check's kind.
    pub id: Option<String>,
    /// Pass, fail or unknown.
    pub status: Status,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// The share of its weight that it reached, for an answer between pass and fail, 0 to 1.
    pub score: Option<f64>,
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
        Self { id: None, status, expected: expected.into(), found: found.into(), score: None, spans: Vec::new() }
    }

    /// Gives its result a name of its own.
    #[must_use]
    pub fn named(self, id: String) -> Self {
        Self { id: Some(id), ..self }
    }

    /// Adds an event that decided the answer.
    #[must_use]
    pub fn at(mut self, event: impl Into<Span>) -> Self {
        self.spans.push(event.into());
        self
    }

    /// Adds events that decided the answer.
    #[must_use]
    pub fn with(mut self, spans: impl IntoIterator<Item = Span>) -> Self {
        self.spans.extend(spans);
        self
    }
}

impl<'a> GradingInput<'a> {
    /// How a program of the case ended, or why it has no result.
    pub fn ending_of(&self, program: &WorkspaceProgram) -> Result<&ProgramEnding, Unknown> {
        let run = self.programs.get(program).ok_or("it has not run")?;
        run.ending.as_ref().map_err(Clone::clone)
    }

    /// The final message; without one, the status of a check that needs it, and why.
    pub fn final_text(&self) -> Result<&'a str, (Status, String)> {
        match self.evidence.answer() {
            FinalAnswer::Text(text) => Ok(text),
            FinalAnswer::None => Err((self.missing(), NO_MESSAGE.to_owned())),
            FinalAnswer::Unread(why) => Err((Status::Unknown, format!("{NO_MESSAGE} that could be read: {why}"))),
        }
    }

    /// The event of the final message; without a message, the end of the process.
    pub fn final_event(&self) -> EventRef {
        if self.final_text().is_ok() { EventRef::Answer } else { EventRef::End }
    }

    /// The status if something is missing at the end: unknown if the agent did not finish, or could run no command.
    pub fn missing(&self) -> Status {
        if self.unfinished().is_none() { Status::Fail } else { Status::Unknown }
    }

    /// Why the agent may have done more, or would have.
    fn unfinished(&self) -> Option<String> {
        let trace = self.evidence.trace;
        if trace.ended() { trace.shell_trouble.clone() } else { Some("the agent did not finish".to_owned()) }
    }

    /// The answer about something that `should` have happened or not. The evidence proves that it happened; it proves that it
    /// did not happen only if it is complete and reaches the agent's end.
    pub fn proved(&self, happened: bool, should: bool, expected: String, found: String) -> CheckAnswer {
        let doubt = if happened { None } else { self.evidence.gap().or_else(|| self.unfinished()) };
        match doubt {
            Some(doubt) => CheckAnswer::new(Status::Unknown, expected, format!("{found}; {doubt}")),
            None => CheckAnswer::holds(happened == should, expected, found),
        }
    }

    /// The answer about the state at the end: it `holds` there. If the agent did not finish, it may have changed later.
    pub fn at_end(&self, holds: bool, expected: String, found: String) -> CheckAnswer {
        match self.unfinished().filter(|_| holds) {
            Some(doubt) => CheckAnswer::new(Status::Unknown, expected, format!("{found}; {doubt}")),
            None => CheckAnswer::holds(holds, expected, found),
        }
    }

    /// As [`GradingInput::proved`], about something that an agent does only if the skill was offered.
    pub fn happened(&self, happened: bool, should: bool, expected: String, found: String) -> CheckAnswer {
        let answer = self.proved(happened, should, expected, found);
        if answer.status != Status::Fail || !should || self.evidence.trace.offered.is_some() {
            return answer;
        }
        let CheckAnswer { expected, found, .. } = answer;
        CheckAnswer::new(Status::Unknown, expected, format!("{found}; whether the skill was offered is not known"))
    }

    /// Whether a name is that of the skill under test.
    pub fn is_under_test(&self, name: &str) -> bool {
        crate::skill::slug(name) == self.skill.slug
    }

    /// The first step with such a mark.
    pub fn marked(&self, is_it: impl Fn(Marked) -> bool) -> Option<usize> {
        let trace = self.evidence.trace;
        let mark = trace.marks.iter().filter(|mark| is_it(mark.what)).map(|mark| mark.step).min();
        mark.map(|step| step.min(trace.steps.len().saturating_sub(1)))
    }
}
