//! Builds a trace: the decoders of agents report one event after another to a [`TraceBuilder`].

use std::collections::HashSet;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Activation, AgentProgress, Mechanism, Resource, Step, Trace, Usage, WaitingFor, excerpt, spoken};
use crate::text;
use crate::text::redact::Masked;
use crate::trace::shell;

/// Maximum number of steps. [`Trace::steps_dropped`] counts the rest.
const MAX_STEPS: usize = 5_000;

/// Maximum number of inspections, denials and failed loads, and of the paths of a file change.
const MAX_NOTES: usize = 100;

/// A trace that is not complete yet. Its size is bounded. [`TraceBuilder::finish`] returns the trace.
#[derive(Debug, Default)]
pub struct TraceBuilder {
    trace: Trace,
    /// The moment of the next step.
    pub now: Moment,
    /// The step of the next mark. `None` means the next step.
    pub at: Option<usize>,
    /// The tools of calls without an answer.
    unanswered: Vec<String>,
    turns: ModelTurns,
}

/// How often the model of the agent itself was asked, and why.
#[derive(Debug, Default)]
struct ModelTurns {
    answers: usize,
    /// How many there are at least by the agent's own count.
    counted: usize,
    with_calls: usize,
    /// Whether the last answer has a call.
    has_call: bool,
    /// Whether the agent may ask again without a call or a message: retries, compaction, hooks.
    may_ask: bool,
}

impl Deref for TraceBuilder {
    type Target = Trace;

    fn deref(&self) -> &Trace {
        &self.trace
    }
}

impl DerefMut for TraceBuilder {
    fn deref_mut(&mut self) -> &mut Trace {
        &mut self.trace
    }
}

impl TraceBuilder {
    /// A trace of an agent whose models load its own skills by this mechanism.
    pub fn new(loads_by: Mechanism) -> Self {
        Self { trace: Trace { loads_by, ..Trace::default() }, ..Self::default() }
    }

    /// Returns the trace.
    pub fn finish(mut self) -> Trace {
        // An agent that was ended may have been ended in the middle of a call.
        if self.ended() {
            for tool in std::mem::take(&mut self.unanswered) {
                self.lose(&format!("what a call of `{tool}` returned"));
            }
        }
        let ModelTurns { answers, counted, with_calls, may_ask, .. } = self.turns;
        let answers = answers.max(counted);
        let reasons = 1 + self.follow_ups_at.len() + with_calls;
        if !may_ask && answers > reasons {
            self.lose(&format!("why the model was asked {answers} times: {with_calls} of its answers have calls"));
        }
        self.trace
    }

    /// Reports a call of this tool that nobody answered.
    pub(super) fn unanswered(&mut self, tool: &str) {
        if self.unanswered.len() < MAX_NOTES {
            self.unanswered.push(tool.to_owned());
        }
    }

    /// Reports that the model of the agent itself answered. Its calls may be reported before or after that.
    pub fn model_answered(&mut self) {
        self.turns.answers += 1;
        self.turns.has_call = false;
    }

    /// Reports that the model of the agent itself answered at least so often, as the agent counts it: a line of an answer may be lost.
    pub fn model_counted(&mut self, answers: u64) {
        self.turns.counted = self.turns.counted.max(usize::try_from(answers).unwrap_or(usize::MAX));
    }

    /// Reports that the model of the agent itself made a call.
    pub fn model_called(&mut self) {
        self.turns.with_calls += usize::from(!std::mem::replace(&mut self.turns.has_call, true));
    }

    /// Reports that the agent may ask its model without a call of it or a message of the user.
    pub fn may_ask(&mut self) {
        self.turns.may_ask = true;
    }

    /// Reports that the agent got at least this far.
    pub fn reached(&mut self, progress: AgentProgress) {
        self.progress = self.progress.max(progress);
    }

    /// Reports that the agent is done with a message of the user. Without a final message it has not answered.
    pub fn message_answered(&mut self) {
        self.reached(AgentProgress::Done);
        self.messages_answered += u64::from(self.final_message.is_some());
    }

    /// Reports the agent's last message so far. One of blanks alone is none, and the one before stays the last. Without a text, the
    /// message could not be read.
    pub fn says_last(&mut self, text: Option<String>) {
        if text.is_none() {
            self.lose("a message of the agent");
        }
        self.answer_unread = text.is_none();
        let before = self.final_message.take().filter(|_| text.is_some());
        self.final_message = text.and_then(spoken).or(before);
    }

    /// Reports that the agent started to work. Returns whether that is in answer to a further message of the user.
    pub fn started(&mut self) -> bool {
        let again = self.progress == AgentProgress::Done;
        if again {
            self.progress = AgentProgress::Started;
            (self.final_message, self.answer_unread) = (None, false);
        }
        self.reached(AgentProgress::Started);
        again
    }

    /// Reports that the user's next message comes here.
    pub fn followed_up(&mut self) {
        let steps = self.steps.len();
        if self.follow_ups_at.len() < MAX_NOTES {
            self.follow_ups_at.push(steps);
        }
    }

    /// Reports the input of a model request. The first one has the system prompt, the tools, every skill list and the prompt.
    /// Its size in two modes shows what another skill list costs.
    pub fn first_request(&mut self, input_tokens: u64) {
        self.first_input_tokens.get_or_insert(input_tokens);
    }

    /// Adds a step. Its texts are cut to [`MAX_TEXT`](super::MAX_TEXT), since a stored stream is masked.
    pub fn push(&mut self, step: Step) {
        if self.steps.len() >= MAX_STEPS {
            self.steps_dropped += 1;
            return;
        }
        let now = self.now.clone();
        self.moments.push(now);
        let cut = |text: String| Masked::stored(text).cut();
        self.steps.push(match step {
            Step::Message(text) => Step::Message(cut(text)),
            Step::Thinking(text) => Step::Thinking(cut(text)),
            Step::Command { command, exit_code, output } => {
                Step::Command { command: cut(command), exit_code, output: cut(output) }
            }
            Step::Tool { name, input, output, failed } => {
                Step::Tool { name: cut(name), input: cut(input), output: cut(output), failed }
            }
            Step::FileChange(paths) => Step::FileChange(paths.into_iter().take(MAX_NOTES).map(cut).collect()),
            Step::Notice(text) => Step::Notice(cut(text)),
        });
    }

    /// Adds the model's thoughts if they are reported.
    pub fn thought(&mut self, text: Option<String>) {
        if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
            self.push(Step::Thinking(text));
        }
    }

    /// Reports an answer of the model that began at `step`.
    pub fn answered(&mut self, step: usize, usage: Usage) {
        self.usage_of_requests = self.usage_of_requests.plus(usage);
        let (input_tokens, output_tokens) =
            (usage.input_tokens, Some(usage.output_tokens).filter(|tokens| *tokens > 0));
        if self.requests.len() < MAX_STEPS {
            self.requests.push(Request { step, input_tokens, output_tokens });
        }
    }

    fn mark(&mut self, what: Marked) {
        let step = self.at.unwrap_or(self.steps.len());
        self.marks.push(Mark { step, what });
    }

    /// Marks the last call of this tool with this input as failed.
    pub fn failed(&mut self, tool: &str, call: &str) {
        for step in self.steps.iter_mut().rev() {
            if let Step::Tool { name, input, failed, .. } = step
                && name == tool
                && input == call
            {
                *failed = true;
                return;
            }
        }
    }

    /// Reports an activation. Each skill and mechanism is stored once.
    pub fn activate(&mut self, skill: &str, how: Mechanism, evidence: &str) {
        let is_known = self.activations.iter().any(|known| known.skill == skill && known.how == how);
        if self.activations.len() < MAX_STEPS && !is_known {
            self.mark(Marked::Activation(self.activations.len()));
            let evidence = excerpt(evidence);
            self.activations.push(Activation { skill: skill.to_owned(), how, evidence, seen: None });
        }
    }

    /// Reports a loaded resource. Each file is stored once.
    pub fn load(&mut self, skill: &str, path: &str, evidence: &str) {
        let is_known = self.resources.iter().any(|known| known.skill == skill && known.path == path);
        if self.resources.len() < MAX_STEPS && !is_known {
            self.mark(Marked::Resource(self.resources.len()));
            let evidence = excerpt(evidence);
            self.resources.push(Resource { skill: skill.to_owned(), path: path.to_owned(), evidence, seen: None });
        }
    }

    /// Reports an inspection of skill files that was not an activation.
    pub fn inspect(&mut self, evidence: &str) {
        if self.inspections.len() < MAX_NOTES {
            self.mark(Marked::Inspection(self.inspections.len()));
            self.inspections.push(excerpt(evidence));
        }
    }

    /// Reports a call of this tool that the agent did not allow.
    pub fn deny(&mut self, tool: &str, input: &str) {
        if self.denials.len() < MAX_NOTES {
            self.at = self.call(tool, input).or(self.at);
            self.mark(Marked::Denial(self.denials.len()));
            self.at = None;
            self.denials.push(excerpt(&format!("{tool} {input}")));
        }
    }

    /// Reports a shell command that has ended.
    pub fn command(&mut self, command: String, exit_code: Option<i64>, output: String) {
        self.commands += 1;
        let offered = self.offered.as_ref().map(|offered| offered.native.as_slice());
        if shell::is_effective(&command, offered) {
            self.effective_commands += 1;
        }
        if exit_code == Some(0) {
            self.shell_trouble = None;
        } else if let Some(why) = shell::why_not_started(&command, &output) {
            self.shell_trouble = Some(format!("the agent's shell did not start: {}", excerpt(why)));
        }
        self.push(Step::Command { command, exit_code, output });
    }

    /// Reports a call that should have loaded a skill and failed.
    pub fn failed_load(&mut self, skill: &str, how: Mechanism, evidence: &str) {
        if self.failed_loads.len() < MAX_NOTES {
            self.mark(Marked::FailedLoad(self.failed_loads.len()));
            let evidence = excerpt(evidence);
            self.failed_loads.push(Activation { skill: skill.to_owned(), how, evidence, seen: None });
        }
    }

    /// Reports a part of the stream that could not be read.
    pub fn lose(&mut self, what: &str) {
        if self.lost.len() < 20 && !self.lost.iter().any(|known| known == what) {
            self.lost.push(excerpt(what));
        }
    }

    /// Reports that something of the agent's output cannot be read. It may have been a message: until the next one, the last message is
    /// not known.
    pub fn lose_output(&mut self, what: &str) {
        self.lose(what);
        self.answer_unread = true;
    }

    /// As [`lose_output`](Self::lose_output), of a line that is not JSON or too long.
    pub fn damaged_output(&mut self, line: &[u8]) {
        self.damaged(line);
        self.answer_unread = true;
    }

    /// Counts an event with an unknown type. If `line`, the event, may hold a skill, a call of a tool or a command, it may
    /// decide a check, so it is reported as lost.
    pub fn unknown_event(&mut self, kind: &str, line: &[u8]) {
        self.unknown(kind);
        if serde_json::from_slice(line).is_ok_and(|line| may_hold_call(&line)) {
            self.lose(&format!("an event `{kind}`"));
        }
    }

    /// Counts an unknown item, block or the like: what it says may decide a check.
    pub fn unknown_item(&mut self, kind: &str) {
        self.unknown(kind);
        self.lose(kind);
    }

    /// Counts an event with an unknown type.
    pub fn unknown(&mut self, kind: &str) {
        let kind = text::cut::start(kind, 80);
        if self.unknown_events.len() < 200 || self.unknown_events.contains_key(&kind) {
            *self.unknown_events.entry(kind).or_default() += 1;
        }
    }
}

/// The keys whose values are types or names.
const NAMING: [&str; 6] = ["type", "subtype", "kind", "event", "name", "method"];

/// Whether an event may hold a skill, a call of a tool or a command: the name of a field says so, or a type. What is said in a
/// text does not count.
fn may_hold_call(event: &Value) -> bool {
    let says_so = |word: &str| {
        let word = word.to_lowercase();
        word == "cmd" || ["skill", "tool", "command"].into_iter().any(|part| word.contains(part))
    };
    match event {
        Value::Array(list) => list.iter().any(may_hold_call),
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            let is_named_so = NAMING.contains(&name.as_str()) && value.as_str().is_some_and(says_so);
            says_so(name) || is_named_so || may_hold_call(value)
        }),
        _ => false,
    }
}

// Tool calls that have no answer yet, of an agent and its sub-agents.

/// Maximum number of open calls.
const MAX_OPEN: usize = 1_000;

/// Maximum number of answered calls that are known.
const MAX_ANSWERED: usize = 200_000;

/// A call without an answer.
#[derive(Debug)]
pub struct OpenCall<T = ()> {
    /// The sub-agent that made the call. Empty for the agent itself. Ids are unique per sub-agent.
    pub by: String,
    /// The agent's id of the call.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The input, as the trace stores it.
    pub input: String,
    /// Whether the call waits for sub-agents, and so for their models.
    pub waits_for_agents: bool,
    /// Further data of the decoder.
    pub more: T,
}

/// The open calls in order, each with the moment when it was made. What does not fit together is a gap of the trace: a call without
/// an answer at the agent's end, an answer without a call, two calls with one id.
#[derive(Debug)]
pub struct OpenCalls<T = ()> {
    open: Vec<(OpenCall<T>, Moment)>,
    /// The calls that were answered, by who made them and their ids.
    answered: HashSet<(String, String)>,
}

impl<T> Default for OpenCalls<T> {
    fn default() -> Self {
        Self { open: Vec::new(), answered: HashSet::new() }
    }
}

impl<T> OpenCalls<T> {
    /// Adds a call that is made now. If there are too many calls, the trace has a gap.
    pub fn made(&mut self, trace: &mut TraceBuilder, call: OpenCall<T>) {
        if let Some(position) = self.position(&call.by, &call.id) {
            let (known, _) = &self.open[position];
            // A line may come twice.
            if (&known.tool, &known.input) == (&call.tool, &call.input) {
                return;
            }
            let (known, _) = self.open.remove(position);
            trace.lose(&format!("what a call of `{}` returned: another one has its id", known.tool));
        }
        self.answered.remove(&(call.by.clone(), call.id.clone()));
        if self.open.len() < MAX_OPEN {
            self.open.push((call, trace.now.clone()));
        } else {
            trace.steps_dropped += 1;
            trace.lose("more calls at once than are followed");
        }
    }

    fn position(&self, by: &str, id: &str) -> Option<usize> {
        self.open.iter().rposition(|(call, _)| call.id == id && call.by == by)
    }

    /// Removes a call that is answered now. The next step of the trace begins when the call was made. An answer to a call that was
    /// not seen is a gap.
    pub fn answered(&mut self, trace: &mut TraceBuilder, by: &str, id: &str) -> Option<OpenCall<T>> {
        let (key, ended) = ((by.to_owned(), id.to_owned()), self.ended(trace, by, id));
        if ended.is_none() && !self.answered.contains(&key) && self.answered.len() < MAX_ANSWERED {
            trace.lose("a call of which only the answer was seen");
        } else if self.answered.len() < MAX_ANSWERED {
            self.answered.insert(key);
        }
        ended
    }

    /// Removes a call that ends now, if it was seen.
    pub fn ended(&mut self, trace: &mut TraceBuilder, by: &str, id: &str) -> Option<OpenCall<T>> {
        let (call, made) = self.open.remove(self.position(by, id)?);
        trace.now.began = made.ended;
        Some(call)
    }

    /// Removes the first call, which will not be answered. The next step of the trace begins when the call was made, and has
    /// no end.
    pub fn take_unanswered(&mut self, trace: &mut TraceBuilder) -> Option<OpenCall<T>> {
        if self.open.is_empty() {
            trace.now = Moment::default();
            return None;
        }
        let (call, made) = self.open.remove(0);
        trace.unanswered(&call.tool);
        trace.now = Moment { began: made.ended, ended: None, depth: made.depth, ..Moment::default() };
        Some(call)
    }

    /// The last open call for which `is_match` is true.
    pub fn last(&self, is_match: impl Fn(&OpenCall<T>) -> bool) -> Option<&OpenCall<T>> {
        self.open.iter().rev().map(|(call, _)| call).find(|call| is_match(call))
    }

    /// What a sub-agent, or the agent if `by` is empty, waits for: the answer to its last call, else the model.
    pub fn waiting(&self, by: &str) -> WaitingFor {
        match self.last(|call| call.by == by) {
            Some(call) if !call.waits_for_agents => WaitingFor::Tool(call.tool.clone()),
            _ => WaitingFor::Model,
        }
    }
}

// When and at which step something happened. Reports show this; no verdict depends on it.

/// When a step happened, and which agent did it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// When a call began, RFC 3339, if the agent reported it.
    pub began: Option<String>,
    /// When it ended, RFC 3339, if the agent reported it.
    pub ended: Option<String>,
    /// 0 for the agent itself, 1 for its sub-agents, 2 for their sub-agents.
    pub depth: u32,
    /// The tool of a command or of a change of files, by the name that the model sees, if the agent reported it.
    pub tool: Option<String>,
    /// The input of that tool, usually as JSON.
    pub input: Option<String>,
}

/// An answer of the model: its steps and its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its first step.
    pub step: usize,
    /// Input tokens, with cached ones.
    pub input_tokens: u64,
    /// Output tokens, if the agent reported them.
    pub output_tokens: Option<u64>,
}

/// Connects an activation, a resource or the like to the step that showed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The step's index. The number of steps if no step shows it.
    pub step: usize,
    /// What the step showed.
    pub what: Marked,
}

/// What a step showed: an index in a list of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Marked {
    /// In [`Trace::activations`](super::Trace::activations).
    Activation(usize),
    /// In [`Trace::resources`](super::Trace::resources).
    Resource(usize),
    /// In [`Trace::failed_loads`](super::Trace::failed_loads).
    FailedLoad(usize),
    /// In [`Trace::inspections`](super::Trace::inspections).
    Inspection(usize),
    /// In [`Trace::denials`](super::Trace::denials).
    Denial(usize),
}

/// Whether a change to a skill during a session entered the model's context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeVisibility {
    /// Yes, in a skill list.
    List,
    /// Yes, by the skill's text.
    Text,
    /// Yes: a call for a removed skill failed.
    Missed,
    /// No evidence shows it.
    No,
    /// No evidence could show it: the skill has no new text or description.
    Alike,
}
