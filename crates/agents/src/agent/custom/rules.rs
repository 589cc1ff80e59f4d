//! The JSON lines of an agent, read by the rules in the user's description.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::answer::{AnswerSoFar, served};
use super::offer;
use crate::agent::agent_event::{AgentEvent, CallEnding};
use crate::agent::recorder::texts;
use crate::agent::refusal::refused;
use crate::agent::stream::LineReader;
use crate::profile::custom::{Condition, CustomAgent, EventField, EventMeaning, EventRule};
use crate::settings::ToolNames;
use crate::text::cut;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{Usage, excerpt};

/// The value in a condition that stands for any value.
const ANY: &str = "*";

pub(super) struct RuleLines<'a> {
    agent: &'a CustomAgent,
    names: &'a ToolNames,
    /// What is said before all else.
    first: Vec<AgentEvent>,
    answer: AnswerSoFar,
    /// The ids of the requests whose tokens are counted.
    counted: HashSet<String>,
    /// The calls that are not answered, with their tools.
    open: BTreeMap<String, String>,
}

/// A rule that is about a line.
struct RuleMatch<'a> {
    agent: &'a CustomAgent,
    rule: &'a EventRule,
    line: &'a Value,
    /// The index for `*`.
    element: usize,
}

impl<'a> RuleMatch<'a> {
    fn at(&self, path: &str) -> Option<&'a Value> {
        at(self.line, path, self.element)
    }

    /// The value of a field; `None` if the rule has none.
    fn optional(&self, field: EventField) -> Option<&'a Value> {
        self.at(self.path(field)?).filter(|value| !value.is_null())
    }

    /// The value of a field that the line must have.
    fn needed(&self, field: EventField) -> Result<&'a Value, AgentEvent> {
        self.at(self.path(field).unwrap_or_default()).ok_or_else(|| self.wrong(field, "which is not"))
    }

    fn text(&self, field: EventField) -> Result<String, AgentEvent> {
        self.needed(field).map(plain)
    }

    fn number(&self, field: EventField) -> Result<u64, AgentEvent> {
        self.needed(field)?.as_u64().ok_or_else(|| self.wrong(field, "which is not a number"))
    }

    /// What is wrong with a field of this line.
    fn wrong(&self, field: EventField, what: &str) -> AgentEvent {
        let (says, name, line) = (self.rule.says, &self.agent.description.name, excerpt(&self.line.to_string()));
        let why = format!(
            "the rule that says \"{says}\" under [agents.{name}] in evals/evals.toml has the `{field}` at {:?}, {what} in this \
             line: {line}",
            self.path(field).unwrap_or_default()
        );
        AgentEvent::Refused(Trouble::new(TroubleKind::Files, why))
    }

    fn path(&self, field: EventField) -> Option<&'a str> {
        self.rule.fields.iter().find(|(known, _)| *known == field).map(|(_, path)| path.as_str())
    }

    fn usage(&self) -> Result<Usage, AgentEvent> {
        Ok(Usage {
            input_tokens: self.number(EventField::InputTokens)?,
            cached_input_tokens: self.optional(EventField::CachedTokens).and_then(Value::as_u64).unwrap_or(0),
            output_tokens: self.number(EventField::OutputTokens)?,
            ..Usage::default()
        })
    }
}

/// The value at a path in which `*` is this element.
fn at<'v>(line: &'v Value, path: &str, element: usize) -> Option<&'v Value> {
    line.pointer(&path.replacen("/*", &format!("/{element}"), 1))
}

/// A text as it is, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn holds(conditions: &[Condition], line: &Value, element: usize) -> bool {
    conditions.iter().all(|Condition { path, is }| {
        let value = at(line, path, element).filter(|value| !value.is_null());
        value.is_some_and(|value| is.iter().any(|wanted| wanted == ANY || *wanted == plain(value)))
    })
}

/// Where a rule is about a line: once, or for each element of the list that its paths have `*` for.
fn matches<'a>(agent: &'a CustomAgent, rule: &'a EventRule, line: &'a Value) -> impl Iterator<Item = RuleMatch<'a>> {
    let conditions = rule.when.iter().map(|condition| &condition.path);
    let mut paths = conditions.chain(rule.fields.iter().map(|(_, path)| path));
    let list = paths.find_map(|path| path.split_once("/*")).map(|(list, _)| list);
    let elements = list.map_or(1, |list| line.pointer(list).and_then(Value::as_array).map_or(0, Vec::len));
    let all = (0..elements).map(move |element| RuleMatch { agent, rule, line, element });
    all.filter(|found| holds(&found.rule.when, found.line, found.element))
}

/// Whether the rules say that a line says nothing.
pub(super) fn says_nothing(agent: &CustomAgent, line: &Value) -> bool {
    let mut found =
        agent.description.events.iter().filter(|rule| matches(agent, rule, line).next().is_some()).peekable();
    found.peek().is_some() && found.all(|rule| rule.says == EventMeaning::Nothing)
}

impl<'a> RuleLines<'a> {
    pub(super) fn new(agent: &'a CustomAgent, names: &'a ToolNames) -> Self {
        let hides = "calls of tools: the description of the agent has no rules for calls and results";
        let first = if agent.shows_calls() { Vec::new() } else { vec![AgentEvent::Lost(hides.to_owned())] };
        Self { agent, names, first, answer: AnswerSoFar::default(), counted: HashSet::new(), open: BTreeMap::new() }
    }

    /// A reader of a line by itself.
    pub(super) fn in_between(agent: &'a CustomAgent, names: &'a ToolNames) -> Self {
        Self { first: Vec::new(), answer: AnswerSoFar::begun(), ..Self::new(agent, names) }
    }

    fn says(&mut self, found: &RuleMatch<'_>, said: &mut Vec<AgentEvent>) -> Result<(), AgentEvent> {
        match found.rule.says {
            EventMeaning::Version => said.push(AgentEvent::Version(found.text(EventField::Text)?)),
            EventMeaning::Model => said.push(AgentEvent::Model(found.text(EventField::Text)?)),
            EventMeaning::Message | EventMeaning::Thought => {
                let is_thought = found.rule.says == EventMeaning::Thought;
                let text = texts(found.needed(EventField::Text)?);
                if !is_thought {
                    self.answer.may_be_refusal(&text, found.rule.is_piece, &self.agent.description.errors);
                }
                self.answer.says(&text, is_thought, found.rule.is_piece, said);
            }
            EventMeaning::Call => {
                let (id, name) = (found.text(EventField::Id)?, found.text(EventField::Name)?);
                let input = found.optional(EventField::Input).cloned().unwrap_or_default();
                // Some agents have it as the text that the model wrote.
                let input = input.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or(input);
                self.answer.calls(said);
                let tool = served(&name, &input, self.names).unwrap_or(name);
                if let Some(before) = self.open.insert(id.clone(), tool.clone()) {
                    said.push(AgentEvent::Lost(format!("a call of `{before}`: another one has its id")));
                }
                said.push(AgentEvent::Called { id, tool, input });
            }
            EventMeaning::Result => {
                let (id, output) = (found.text(EventField::Id)?, texts(found.needed(EventField::Output)?));
                let has_failed = !found.rule.failed.is_empty() && holds(&found.rule.failed, found.line, found.element);
                let ending = if has_failed { CallEnding::Failed } else { CallEnding::Done };
                let exit_code = found.optional(EventField::ExitCode).and_then(Value::as_i64);
                self.answer.tool_answered();
                if self.open.remove(&id).is_none() {
                    said.push(AgentEvent::Lost(format!("the call that a result is of: {id}")));
                }
                said.push(AgentEvent::Answered { id, output, ending, exit_code });
            }
            EventMeaning::Usage => {
                let usage = found.usage()?;
                let id = found.optional(EventField::Id).map(plain);
                if id.is_none_or(|id| self.counted.insert(id)) {
                    self.answer.costs(usage, said);
                }
            }
            EventMeaning::Total => said.push(AgentEvent::Total(found.usage()?)),
            EventMeaning::Error => {
                let message = found.text(EventField::Text)?;
                let status = found.optional(EventField::Status).and_then(Value::as_u64);
                said.push(AgentEvent::Refused(refused(status, &message)));
            }
            EventMeaning::Done => {
                let unseen = std::mem::take(&mut self.open).into_values();
                said.extend(unseen.map(|tool| AgentEvent::Lost(format!("what a call of `{tool}` returned"))));
                if self.answer.done(false, said) {
                    said.push(AgentEvent::Done);
                }
            }
            EventMeaning::Nothing => {}
        }
        Ok(())
    }
}

impl LineReader for RuleLines<'_> {
    fn session(&mut self, line: &Value) {
        self.first.extend(offer::said(line));
    }

    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        let mut said = Vec::new();
        let mut is_known = false;
        let agent = self.agent;
        for found in agent.description.events.iter().flat_map(|rule| matches(agent, rule, line)) {
            is_known = true;
            if let Err(wrong) = self.says(&found, &mut said) {
                said.push(wrong);
            }
        }
        if !is_known {
            said.push(AgentEvent::Lost(format!("lines that no rule is about: {}", Self::kind(line))));
        }
        let first = std::mem::take(&mut self.first);
        Some(first.into_iter().chain(said).collect())
    }

    /// Its type, else its start.
    fn kind(line: &Value) -> String {
        let start = || cut::start(&line.to_string(), 60);
        line.get("type").and_then(Value::as_str).map_or_else(start, |kind| format!("those of the type `{kind}`"))
    }
}
