//! The JSON lines of an agent, whatever says what a line says: rules in the settings, or a function of the user's harness.

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

use crate::agent::custom;
use crate::agent::recorder::{AgentEvent, CallEnding, texts};
use crate::agent::refusal::{Refusal, refused};
use crate::agent::stream::LineReader;
use crate::profile::custom::{CustomAgent, EventField, EventMeaning, EventRule, FieldCondition, Protocol};
use crate::settings::ToolNames;
use crate::text::cut;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{Usage, excerpt, spoken};

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
        Protocol::Rust => events_by_function(&agent.description.name, line),
        _ => events_by_rules(agent, line),
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
        self.first.extend(custom::said_of_offer(line));
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

// What a line of an agent's output says, as those say it who describe the agent: by rules in the settings, or in Rust.

/// One thing that a line of an agent's output says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// The agent's version, such as `1.4.0`.
    Version(String),
    /// The model that answers, by its provider's name.
    Model(String),
    /// The model says this. Pieces in a row are one message.
    Message {
        /// The whole message, or the piece as it is, with its spaces.
        text: String,
        /// Whether the text is a piece.
        is_piece: bool,
    },
    /// The model thinks this. Pieces in a row are one thought.
    Thought {
        /// The whole thought, or the piece as it is, with its spaces.
        text: String,
        /// Whether the text is a piece.
        is_piece: bool,
    },
    /// The model calls a tool.
    ToolCall {
        /// The id that its result has. No other call of the trial has it.
        id: String,
        /// The tool's name, as in `[agents.NAME.tools]`.
        name: String,
        /// The arguments, an object. `path` is a file, `command` that of a shell, `name` a skill.
        input: Value,
    },
    /// A tool has answered. A call that never is makes it unknown what the model saw.
    ToolResult {
        /// The id of its call.
        id: String,
        /// What the model gets, whole. A skill whose text is in it is activated.
        output: String,
        /// Whether the call failed, or was not allowed.
        failed: bool,
        /// The exit status of a shell command.
        exit_code: Option<i64>,
    },
    /// The tokens of one request to the model.
    Usage {
        /// Tokens, the cached ones among those of the input.
        usage: Usage,
        /// The request's id, if several lines report the same request: each id counts once.
        request: Option<String>,
    },
    /// The tokens of all requests of the session so far.
    TotalUsage(Usage),
    /// The provider refused, or failed, and the agent gave up: the trial is an error.
    Error {
        /// Its message.
        text: String,
        /// The status of HTTP. It says whether the trial is run again.
        status: Option<u64>,
    },
    /// The agent has answered the user's message. A trial without this is an error, and so is one whose program does not exit
    /// with status 0.
    Done,
    /// The line says something that is not known, such as a call. What it may say is unknown: a check that something did not
    /// happen does not pass.
    Unknown,
}

// What a JSON line says by the rules in the user's description.

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
        value_at(self.line, path, self.element)
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
fn value_at<'v>(line: &'v Value, path: &str, element: usize) -> Option<&'v Value> {
    line.pointer(&path.replacen("/*", &format!("/{element}"), 1))
}

/// A text as it is, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn holds(conditions: &[FieldCondition], line: &Value, element: usize) -> bool {
    conditions.iter().all(|FieldCondition { path, is }| {
        let value = value_at(line, path, element).filter(|value| !value.is_null());
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
fn events_by_rules(agent: &CustomAgent, line: &Value) -> Vec<Result<StreamEvent, Trouble>> {
    let rules = agent.description.events.iter();
    let mut found = rules.flat_map(|rule| matches(agent, rule, line)).peekable();
    if found.peek().is_none() {
        return vec![Ok(StreamEvent::Unknown)];
    }
    found.filter_map(|found| found.event().transpose()).collect()
}

// What a JSON line says by a function of the user's harness. A function that fails or panics makes the trial an error.

/// Says what a line says: nothing, one thing or several, in their order.
pub type ReadLine = dyn Fn(&Value) -> Result<Vec<StreamEvent>, Box<dyn Error + Send + Sync>> + Send + Sync;

/// The functions of this process, by the names of their agents. Traces are read in many places, far from the harness.
static FUNCTIONS: RwLock<BTreeMap<String, Arc<ReadLine>>> = RwLock::new(BTreeMap::new());

/// From now on, this function reads the lines of the agent with this name in the settings.
pub fn read_in_rust(agent: String, read: Arc<ReadLine>) {
    FUNCTIONS.write().unwrap_or_else(PoisonError::into_inner).insert(agent, read);
}

/// Whether this process has a function for this agent.
pub fn is_read_here(agent: &str) -> bool {
    function(agent).is_ok()
}

/// The function for this agent; without one, this is not the user's harness.
pub(super) fn function(agent: &str) -> Result<Arc<ReadLine>, Trouble> {
    FUNCTIONS.read().unwrap_or_else(PoisonError::into_inner).get(agent).cloned().ok_or_else(|| {
        let why = format!(
            "what the agent `{agent}` prints is read in Rust, by `Harness::agent`, which this program does not have; run \
             `cargo test`"
        );
        Trouble::new(TroubleKind::CouldNotStart, why)
    })
}

/// What a line says.
fn events_by_function(agent: &str, line: &Value) -> Vec<Result<StreamEvent, Trouble>> {
    let wrong = |what: &str| {
        let line = excerpt(&line.to_string());
        Trouble::new(
            TroubleKind::Files,
            format!("the harness cannot read a line of `{agent}`: {what}; the line: {line}"),
        )
    };
    let read = match function(agent) {
        Ok(read) => read,
        Err(trouble) => return vec![Err(trouble)],
    };
    match catch_unwind(AssertUnwindSafe(|| read(line))) {
        Ok(Ok(events)) => events.into_iter().map(Ok).collect(),
        Ok(Err(error)) => vec![Err(wrong(&error.to_string()))],
        Err(_) => vec![Err(wrong("its function panicked"))],
    }
}

// What both protocols leave open: when the model is asked, when its answer begins, and what its text is if it comes in pieces.

/// What the model has said since it was asked.
#[derive(Clone, Copy, Default, PartialEq)]
enum AnswerState {
    #[default]
    Nothing,
    /// It is in an answer.
    Begun,
    /// A tool has answered, and the next answer has not begun.
    Between,
}

/// The answer of the model so far.
#[derive(Default)]
pub(super) struct AnswerSoFar {
    /// Whether the model got the user's message.
    is_asked: bool,
    answers: AnswerState,
    /// Whether the tokens of this answer are known.
    is_counted: bool,
    /// The last message, if it is the program's about its provider.
    refusal: Option<String>,
    /// The pieces of the message and of the thought that are not complete.
    text: String,
    thought: String,
}

impl AnswerSoFar {
    /// One whose model has said something already.
    pub(super) fn begun() -> Self {
        Self { is_asked: true, answers: AnswerState::Between, ..Self::default() }
    }

    fn asked(&mut self, said: &mut Vec<AgentEvent>) {
        if !std::mem::replace(&mut self.is_asked, true) {
            said.push(AgentEvent::Asks);
        }
    }

    /// Notes that the model says something.
    pub(super) fn begin(&mut self, said: &mut Vec<AgentEvent>) {
        self.asked(said);
        if std::mem::replace(&mut self.answers, AnswerState::Begun) != AnswerState::Begun {
            self.is_counted = false;
            said.push(AgentEvent::Answers(None));
        }
    }

    /// Notes a message or a thought, or a piece of it. Blanks alone are no word of the model.
    pub(super) fn says(&mut self, text: &str, is_thought: bool, is_piece: bool, said: &mut Vec<AgentEvent>) {
        if !text.trim().is_empty() {
            self.begin(said);
        }
        if is_thought || !is_piece {
            self.end_text(said);
        }
        if !is_thought || !is_piece {
            self.end_thought(said);
        }
        (if is_thought { &mut self.thought } else { &mut self.text }).push_str(text);
        if !is_piece {
            self.end_pieces(said);
        }
    }

    /// Notes a message that begins as one of `errors`, which the program itself writes if its provider refuses. A later message
    /// takes that back. Of a piece nobody knows whether it begins a message or belongs to the one before.
    pub(super) fn may_be_refusal(&mut self, text: &str, is_piece: bool, errors: &[String]) {
        let before = if is_piece { self.text.as_str() } else { "" };
        let whole = || before.chars().chain(text.chars()).skip_while(|character| character.is_whitespace());
        let begins = |start: &String| {
            text.trim_start().starts_with(start) || whole().take(start.chars().count()).eq(start.chars())
        };
        if !text.trim().is_empty() {
            self.refusal = errors.iter().any(begins).then(|| whole().collect());
        }
    }

    /// Notes the tokens of a request.
    pub(super) fn costs(&mut self, usage: Usage, said: &mut Vec<AgentEvent>) {
        self.asked(said);
        let is_of_this = self.answers == AnswerState::Begun && !self.is_counted;
        (self.answers, self.is_counted) = (AnswerState::Begun, true);
        said.push(if is_of_this { AgentEvent::Spent(usage) } else { AgentEvent::Answers(Some(usage)) });
    }

    /// Notes that the model calls a tool.
    pub(super) fn calls(&mut self, said: &mut Vec<AgentEvent>) {
        self.begin(said);
        self.end_pieces(said);
    }

    /// Notes that a tool has answered: what the model says next is another answer.
    pub(super) fn tool_answered(&mut self) {
        self.answers = AnswerState::Between;
    }

    /// Notes that the agent is done with the user's message; `has_reason` says whether it gave a reason to end without a word.
    /// Returns whether it is, and its provider did not refuse.
    pub(super) fn done(&mut self, has_reason: bool, said: &mut Vec<AgentEvent>) -> bool {
        self.end_pieces(said);
        self.asked(said);
        self.is_asked = false;
        let refusal = self.refusal.take();
        let refused = refusal.as_deref().map(|message| {
            let refusal = Refusal { message, ..Refusal::default() };
            Trouble::new(refusal.kind(), excerpt(message))
        });
        // Some agents end so if their provider fails.
        let is_silent = std::mem::take(&mut self.answers) == AnswerState::Nothing && !has_reason;
        let silent =
            is_silent.then(|| Trouble::new(TroubleKind::Provider, "it ended its turn without a word of its model"));
        let trouble = refused.or(silent);
        let is_done = trouble.is_none();
        said.extend(trouble.map(AgentEvent::Refused));
        is_done
    }

    /// Says what is complete, because something else follows.
    fn end_pieces(&mut self, said: &mut Vec<AgentEvent>) {
        self.end_thought(said);
        self.end_text(said);
    }

    fn end_text(&mut self, said: &mut Vec<AgentEvent>) {
        let text = std::mem::take(&mut self.text);
        said.extend(spoken(text).map(AgentEvent::Message));
    }

    fn end_thought(&mut self, said: &mut Vec<AgentEvent>) {
        let thought = std::mem::take(&mut self.thought);
        said.extend(Some(thought).filter(|thought| !thought.is_empty()).map(AgentEvent::Thought));
    }
}

/// The tool of the skills' MCP server that an agent calls by this name, as every agent names it: agents put the server's name
/// in the tool's name or title in many ways. Without the name of a skill in the input, only the answer can tell.
pub(super) fn served(tool: &str, input: &Value, names: &ToolNames) -> Option<String> {
    let plain = |text: &str| text.to_lowercase().replace('-', "_");
    let rest = plain(tool).replacen(&plain(&names.server), "", 1);
    let has_skill = ["name", "skill"].iter().any(|key| input.get(key).is_some_and(Value::is_string));
    if rest.len() == tool.len() || !has_skill {
        return None;
    }
    let found = [(&names.resource, names.resource_tool()), (&names.skill, names.skill_tool())];
    found.into_iter().find(|(name, _)| rest.contains(&plain(name))).map(|(_, whole)| whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether an agent whose model says these pieces is done without trouble.
    fn is_done(pieces: &[&str]) -> bool {
        let (mut answer, mut said) = (AnswerSoFar::default(), Vec::new());
        for piece in pieces {
            answer.may_be_refusal(piece, true, &["Error: ".to_owned()]);
            answer.says(piece, false, true, &mut said);
        }
        answer.done(false, &mut said)
    }

    #[test]
    fn a_refusal_in_pieces_is_one_and_so_is_a_turn_without_a_word() {
        assert!(!is_done(&["Error", ": 401", " refused"]) && !is_done(&["\n", "Error: 401"]) && !is_done(&[]));
        assert!(is_done(&["An ", "Error: x", " was there"]) && is_done(&["Hello"]));
    }

    #[test]
    fn a_blank_message_is_no_word() {
        for text in ["", "  \n"] {
            let (mut answer, mut said) = (AnswerSoFar::default(), Vec::new());
            answer.says(text, false, false, &mut said);
            assert!(!answer.done(false, &mut said) && !is_done(&[text, text]), "{text:?}");
            assert!(is_done(&[text, "Hello", text]), "{text:?}");
        }
    }
}
