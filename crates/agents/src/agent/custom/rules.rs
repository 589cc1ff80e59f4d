//! What a JSON line says by the rules in the user's description.

use serde_json::Value;

use super::stream_event::StreamEvent;
use crate::agent::recorder::texts;
use crate::profile::custom::{Condition, CustomAgent, EventField, EventMeaning, EventRule};
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{Usage, excerpt};

/// The value in a condition that stands for any value.
const ANY: &str = "*";

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
    fn needed(&self, field: EventField) -> Result<&'a Value, Trouble> {
        self.at(self.path(field).unwrap_or_default()).ok_or_else(|| self.wrong(field, "which is not"))
    }

    fn text(&self, field: EventField) -> Result<String, Trouble> {
        self.needed(field).map(plain)
    }

    fn number(&self, field: EventField) -> Result<u64, Trouble> {
        self.needed(field)?.as_u64().ok_or_else(|| self.wrong(field, "which is not a number"))
    }

    /// What is wrong with a field of this line.
    fn wrong(&self, field: EventField, what: &str) -> Trouble {
        let (says, name, line) = (self.rule.says, &self.agent.description.name, excerpt(&self.line.to_string()));
        let why = format!(
            "the rule that says \"{says}\" under [agents.{name}] in evals/evals.toml has the `{field}` at {:?}, {what} in this \
             line: {line}",
            self.path(field).unwrap_or_default()
        );
        Trouble::new(TroubleKind::Files, why)
    }

    fn path(&self, field: EventField) -> Option<&'a str> {
        self.rule.fields.iter().find(|(known, _)| *known == field).map(|(_, path)| path.as_str())
    }

    fn usage(&self) -> Result<Usage, Trouble> {
        Ok(Usage {
            input_tokens: self.number(EventField::InputTokens)?,
            cached_input_tokens: self.optional(EventField::CachedTokens).and_then(Value::as_u64).unwrap_or(0),
            output_tokens: self.number(EventField::OutputTokens)?,
            ..Usage::default()
        })
    }

    /// What the rule says of the line; `None` for nothing.
    fn event(&self) -> Result<Option<StreamEvent>, Trouble> {
        let is_piece = self.rule.is_piece;
        Ok(Some(match self.rule.says {
            EventMeaning::Version => StreamEvent::Version(self.text(EventField::Text)?),
            EventMeaning::Model => StreamEvent::Model(self.text(EventField::Text)?),
            EventMeaning::Message => StreamEvent::Message { text: texts(self.needed(EventField::Text)?), is_piece },
            EventMeaning::Thought => StreamEvent::Thought { text: texts(self.needed(EventField::Text)?), is_piece },
            EventMeaning::Call => StreamEvent::ToolCall {
                id: self.text(EventField::Id)?,
                name: self.text(EventField::Name)?,
                input: self.optional(EventField::Input).cloned().unwrap_or_default(),
            },
            EventMeaning::Result => StreamEvent::ToolResult {
                id: self.text(EventField::Id)?,
                output: texts(self.needed(EventField::Output)?),
                failed: !self.rule.failed.is_empty() && holds(&self.rule.failed, self.line, self.element),
                exit_code: self.optional(EventField::ExitCode).and_then(Value::as_i64),
            },
            EventMeaning::Usage => {
                StreamEvent::Usage { usage: self.usage()?, request: self.optional(EventField::Id).map(plain) }
            }
            EventMeaning::Total => StreamEvent::TotalUsage(self.usage()?),
            EventMeaning::Error => StreamEvent::Error {
                text: self.text(EventField::Text)?,
                status: self.optional(EventField::Status).and_then(Value::as_u64),
            },
            EventMeaning::Done => StreamEvent::Done,
            EventMeaning::Nothing => return Ok(None),
        }))
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

/// What a line says; a line that no rule is about is unknown.
pub(super) fn events(agent: &CustomAgent, line: &Value) -> Vec<Result<StreamEvent, Trouble>> {
    let rules = agent.description.events.iter();
    let mut found = rules.flat_map(|rule| matches(agent, rule, line)).peekable();
    if found.peek().is_none() {
        return vec![Ok(StreamEvent::Unknown)];
    }
    found.filter_map(|found| found.event().transpose()).collect()
}
