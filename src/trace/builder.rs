//! How a trace is made: decoders of agents tell a [`TraceBuilder`] what happened, one thing behind the other.

use std::ops::{Deref, DerefMut};

use super::{
    Activation, AgentProgress, Mark, Marked, Mechanism, Moment, Request, Resource, Step, Trace, cut, excerpt, shell,
};
use crate::text;

/// Most steps kept; the rest is counted in [`Trace::steps_dropped`].
const MAX_STEPS: usize = 5_000;

/// A trace in the making. What is kept of it is bounded, whatever it is told; [`TraceBuilder::finish`] gives the trace.
#[derive(Debug, Default)]
pub struct TraceBuilder {
    trace: Trace,
    /// When what is pushed next happened, and who did it.
    pub now: Moment,
    /// The step at which what is noted next was seen; `None` for the step that is pushed next.
    pub at: Option<usize>,
}

/// The trace so far.
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
    /// A trace of an agent that has its models load the skills in its own folder so.
    #[must_use]
    pub fn new(loads_by: Mechanism) -> Self {
        Self { trace: Trace { loads_by, ..Trace::default() }, ..Self::default() }
    }

    /// The trace, with all that it was told.
    #[must_use]
    pub fn finish(self) -> Trace {
        self.trace
    }

    /// Notes that the agent got at least this far.
    pub fn reached(&mut self, progress: AgentProgress) {
        self.progress = self.progress.max(progress);
    }

    /// Notes what a model request read: of the first one it is the system prompt, the tools, every catalogue of skills
    /// and the prompt, so that the same case in two modes tells what one catalogue more costs.
    pub fn first_request(&mut self, input_tokens: u64) {
        self.first_input_tokens.get_or_insert(input_tokens);
    }

    /// Adds a step, its texts cut to [`MAX_TEXT`](super::MAX_TEXT).
    pub fn push(&mut self, step: Step) {
        if self.steps.len() >= MAX_STEPS {
            self.steps_dropped += 1;
            return;
        }
        let now = self.now.clone();
        self.moments.push(now);
        self.steps.push(match step {
            Step::Message(text) => Step::Message(cut(text)),
            Step::Thinking(text) => Step::Thinking(cut(text)),
            Step::Command { command, exit_code, output } => {
                Step::Command { command: cut(command), exit_code, output: cut(output) }
            }
            Step::Tool { name, input, output, failed } => {
                Step::Tool { name: cut(name), input: cut(input), output: cut(output), failed }
            }
            Step::FileChange(mut paths) => {
                paths.truncate(100);
                Step::FileChange(paths.into_iter().map(cut).collect())
            }
            Step::Notice(text) => Step::Notice(cut(text)),
        });
    }

    /// Adds what the model thought, where anything of it is told.
    pub fn thought(&mut self, text: Option<String>) {
        if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
            self.push(Step::Thinking(text));
        }
    }

    /// Notes an answer of the model that began at `step`.
    pub fn answered(&mut self, step: usize, input_tokens: u64, output_tokens: Option<u64>) {
        if self.requests.len() < MAX_STEPS {
            self.requests.push(Request { step, input_tokens, output_tokens });
        }
    }

    /// Notes where what was noted last was seen.
    fn mark(&mut self, what: Marked) {
        let step = self.at.unwrap_or(self.steps.len());
        self.marks.push(Mark { step, what });
    }

    /// Marks the last call of this tool with this input as failed.
    pub fn failed(&mut self, tool: &str, call: &str) {
        let is_it = |step: &&mut Step| matches!(step, Step::Tool { name, input, .. } if name == tool && input == call);
        if let Some(Step::Tool { failed, .. }) = self.steps.iter_mut().rev().find(is_it) {
            *failed = true;
        }
    }

    /// Notes an activation, each skill and mechanism once.
    pub fn activate(&mut self, skill: &str, how: Mechanism, evidence: &str) {
        if self.activations.len() < MAX_STEPS
            && !self.activations.iter().any(|known| known.skill == skill && known.how == how)
        {
            let evidence = excerpt(evidence);
            self.mark(Marked::Activation(self.activations.len()));
            self.activations.push(Activation { skill: skill.to_owned(), how, evidence, seen: None });
        }
    }

    /// Notes a loaded resource, each file once.
    pub fn load(&mut self, skill: &str, path: &str, evidence: &str) {
        if self.resources.len() < MAX_STEPS
            && !self.resources.iter().any(|known| known.skill == skill && known.path == path)
        {
            let evidence = excerpt(evidence);
            self.mark(Marked::Resource(self.resources.len()));
            self.resources.push(Resource { skill: skill.to_owned(), path: path.to_owned(), evidence, seen: None });
        }
    }

    /// Notes a look at skill files that was no activation.
    pub fn explore(&mut self, evidence: &str) {
        if self.inspections.len() < 100 {
            self.mark(Marked::Exploration(self.inspections.len()));
            self.inspections.push(excerpt(evidence));
        }
    }

    /// Notes a call of this tool that the agent did not allow.
    pub fn deny(&mut self, tool: &str, input: &str) {
        if self.denials.len() < 100 {
            self.at = self.call(tool, input).or(self.at);
            self.mark(Marked::Denial(self.denials.len()));
            self.at = None;
            self.denials.push(excerpt(&format!("{tool} {input}")));
        }
    }

    /// Notes a shell command that has ended: counts it, and what it touched of the skills.
    pub fn command(&mut self, command: String, exit_code: Option<i64>, output: String) {
        self.commands += 1;
        let offered = self.offered.as_ref().map(|offered| offered.native.as_slice());
        if shell::is_effective(&command, offered) {
            self.effective_commands += 1;
        }
        self.push(Step::Command { command, exit_code, output });
    }

    /// Notes a call that was to load a skill and failed.
    pub fn failed_load(&mut self, skill: &str, how: Mechanism, evidence: &str) {
        if self.failed_loads.len() < 100 {
            let evidence = excerpt(evidence);
            self.mark(Marked::FailedLoad(self.failed_loads.len()));
            self.failed_loads.push(Activation { skill: skill.to_owned(), how, evidence, seen: None });
        }
    }

    /// Notes that something may have been in the stream which could not be read.
    pub fn lose(&mut self, what: &str) {
        if self.lost.len() < 20 && !self.lost.iter().any(|known| known == what) {
            self.lost.push(excerpt(what));
        }
    }

    /// Counts an event of a type that the decoder does not know. `line` is the event: where it speaks of a skill, a
    /// tool or a command, something that decides a check may be in it.
    pub fn unknown_event(&mut self, kind: &str, line: &[u8]) {
        self.unknown(kind);
        let speaks_of = |word: &[u8]| line.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
        if [&b"skill"[..], b"tool", b"command", b"\"cmd"].into_iter().any(speaks_of) {
            self.lose(&format!("an event `{kind}`"));
        }
    }

    /// Counts an event of a type that the decoder does not know.
    pub fn unknown(&mut self, kind: &str) {
        let kind = text::cut::start(kind, 80);
        if self.unknown_events.len() < 200 || self.unknown_events.contains_key(&kind) {
            *self.unknown_events.entry(kind).or_default() += 1;
        }
    }
}

/// The answer of the model that is being told, from its first step on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnBuilder(Option<usize>);

impl TurnBuilder {
    /// The model said or called something; `step` is the next step there will be.
    pub fn begins(&mut self, step: usize) {
        self.0.get_or_insert(step);
    }

    /// The answer is told to its end. Returns where it began: `step`, where nothing of it was told.
    pub fn ends(&mut self, step: usize) -> usize {
        self.0.take().unwrap_or(step)
    }
}
