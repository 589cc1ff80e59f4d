//! Builds a trace: the decoders of agents report one event after another to a [`TraceBuilder`].

use std::ops::{Deref, DerefMut};

use serde_json::Value;

use super::{
    Activation, AgentProgress, Mark, Marked, Mechanism, Moment, Request, Resource, Step, Trace, Usage, excerpt, shell,
    spoken,
};
use crate::text;
use crate::text::redact::Masked;

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
