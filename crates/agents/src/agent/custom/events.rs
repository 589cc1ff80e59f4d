//! The JSON lines of an agent, whatever says what a line says: rules in the settings, or a function of the user's harness.

use std::collections::HashSet;

use serde_json::Value;

use super::answer::{AnswerSoFar, served};
use super::stream_event::StreamEvent;
use super::{offer, rules, rust};
use crate::agent::agent_event::{AgentEvent, CallEnding};
use crate::agent::refusal::refused;
use crate::agent::stream::LineReader;
use crate::profile::custom::{CustomAgent, Protocol};
use crate::settings::ToolNames;
use crate::text::cut;
use crate::trace::trouble::Trouble;

pub(super) struct EventLines<'a> {
    agent: &'a CustomAgent,
    names: &'a ToolNames,
    /// What is said before all else.
    first: Vec<AgentEvent>,
    answer: AnswerSoFar,
    /// The ids of the requests whose tokens are counted.
    counted: HashSet<String>,
    /// The ids of the calls that are not answered.
    open: HashSet<String>,
}

/// What a line says.
fn events(agent: &CustomAgent, line: &Value) -> Vec<Result<StreamEvent, Trouble>> {
    match agent.description.protocol {
        Protocol::Rust => rust::events(&agent.description.name, line),
        _ => rules::events(agent, line),
    }
}

/// Whether a line is known to say nothing.
pub(super) fn says_nothing(agent: &CustomAgent, line: &Value) -> bool {
    events(agent, line).is_empty()
}

impl<'a> EventLines<'a> {
    pub(super) fn new(agent: &'a CustomAgent, names: &'a ToolNames) -> Self {
        let hides = match agent.description.protocol {
            Protocol::Rust => super::MAY_HIDE_CALLS,
            _ => "calls of tools: the description of the agent has no rules for calls and results",
        };
        let first = if agent.shows_calls() { Vec::new() } else { vec![AgentEvent::Lost(hides.to_owned())] };
        Self { agent, names, first, answer: AnswerSoFar::default(), counted: HashSet::new(), open: HashSet::new() }
    }

    /// A reader of a line by itself.
    pub(super) fn in_between(agent: &'a CustomAgent, names: &'a ToolNames) -> Self {
        Self { first: Vec::new(), answer: AnswerSoFar::begun(), ..Self::new(agent, names) }
    }

    fn says(&mut self, event: StreamEvent, line: &Value, said: &mut Vec<AgentEvent>) {
        match event {
            StreamEvent::Version(version) => said.push(AgentEvent::Version(version)),
            StreamEvent::Model(model) => said.push(AgentEvent::Model(model)),
            StreamEvent::Message { text, is_piece } => {
                self.answer.may_be_refusal(&text, is_piece, &self.agent.description.errors);
                self.answer.says(&text, false, is_piece, said);
            }
            StreamEvent::Thought { text, is_piece } => self.answer.says(&text, true, is_piece, said),
            StreamEvent::ToolCall { id, name, input } => {
                // Some agents have it as the text that the model wrote.
                let input = input.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or(input);
                self.answer.calls(said);
                let tool = served(&name, &input, self.names).unwrap_or(name);
                // Two calls may be equal.
                if !self.open.insert(id.clone()) {
                    said.push(AgentEvent::Lost(format!("a call of `{tool}`: another one has its id")));
                }
                said.push(AgentEvent::Called { id, tool, input });
            }
            StreamEvent::ToolResult { id, output, failed, exit_code } => {
                self.answer.tool_answered();
                self.open.remove(&id);
                let ending = if failed { CallEnding::Failed } else { CallEnding::Done };
                said.push(AgentEvent::Answered { id, output: Some(output), ending, exit_code });
            }
            StreamEvent::Usage { usage, request } => {
                if request.is_none_or(|request| self.counted.insert(request)) {
                    self.answer.costs(usage, said);
                }
            }
            StreamEvent::TotalUsage(usage) => said.push(AgentEvent::Total(usage)),
            StreamEvent::Error { text, status } => said.push(AgentEvent::Refused(refused(status, &text))),
            StreamEvent::Done => {
                if self.answer.done(false, said) {
                    said.push(AgentEvent::Done);
                }
            }
            StreamEvent::Unknown => {
                let lines = match self.agent.description.protocol {
                    Protocol::Rust => "lines that the harness does not know",
                    _ => "lines that no rule is about",
                };
                said.push(AgentEvent::Lost(format!("{lines}: {}", Self::kind(line))));
            }
        }
    }
}

impl LineReader for EventLines<'_> {
    fn session(&mut self, line: &Value) {
        self.first.extend(offer::said(line));
    }

    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        let mut said = std::mem::take(&mut self.first);
        for event in events(self.agent, line) {
            match event {
                Ok(event) => self.says(event, line, &mut said),
                Err(wrong) => said.push(AgentEvent::Refused(wrong)),
            }
        }
        Some(said)
    }

    /// Its type, else its start.
    fn kind(line: &Value) -> String {
        let start = || cut::start(&line.to_string(), 60);
        line.get("type").and_then(Value::as_str).map_or_else(start, |kind| format!("those of the type `{kind}`"))
    }
}
