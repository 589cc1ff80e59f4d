//! The normal form of a trace: what an agent's own event stream tells, whichever agent wrote it.
//!
//! Decoders in [`agent`](crate::agent) turn vendor events into this. It is bounded: a stream of any length gives a
//! trace of at most some megabytes, and what did not fit is counted.

pub mod change;
pub mod described;
mod ending;
pub mod exposure;
mod place;
pub mod shell;
pub mod trouble;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::text::cut;
use crate::trace::described::Described;
use crate::trace::trouble::Trouble;
pub use ending::{Stop, Waiting};
pub use place::{Mark, Marked, Moment, Request, Seen, Turn};

/// Most steps kept; the rest is counted in [`Trace::steps_dropped`].
const MAX_STEPS: usize = 5_000;

/// Most bytes kept of any one text in a step.
pub const MAX_TEXT: usize = 4_096;

/// What an agent's event stream tells.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Trace {
    /// The agent's version, as it says.
    pub agent_version: Option<String>,
    /// The model, as the agent says.
    pub model: Option<String>,
    /// How the agent has its models load the skills in its own folder.
    pub loads_by: Mechanism,
    /// The skills that the agent offered to the model; `None` where the evidence does not show it.
    pub offered: Option<Offered>,
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// When each of `steps` happened, and who took it.
    pub moments: Vec<Moment>,
    /// The answers of the model, in order, where the agent tells of them one by one.
    pub requests: Vec<Request>,
    /// At which steps the activations, resources and the like below were seen.
    pub marks: Vec<Mark>,
    /// Steps that did not fit.
    pub steps_dropped: u64,
    /// Skills that became active, in order, each mechanism once.
    pub activations: Vec<Activation>,
    /// Resources of skills that were loaded, in order, each once.
    pub resources: Vec<Resource>,
    /// Looks at skills that brought no text of theirs: at their files, and at what a search or a list showed of them.
    pub explorations: Vec<String>,
    /// Tool calls that the agent did not allow.
    pub denials: Vec<String>,
    /// Whether the changes to the skills in mid-session came before the model, by their places in the case's list; only of
    /// those that the trace was read for.
    pub changes_seen: BTreeMap<usize, Seen>,
    /// Shell commands run.
    pub commands: u64,
    /// Shell commands that did more than open a SKILL.md or look around.
    pub effective_commands: u64,
    /// Commands that may have run beside those: the model's code may run some of which its agent tells nothing.
    pub untold_commands: u64,
    /// The agent's last message.
    pub final_message: Option<String>,
    /// Tokens and cost, where the agent told.
    pub usage: Option<Usage>,
    /// The same by model; empty where the agent does not tell.
    pub models: BTreeMap<String, Usage>,
    /// What the model read before it said anything; see [`Trace::first_request`].
    pub first_input_tokens: Option<u64>,
    /// Turns, as the agent counts them.
    pub turns: Option<u64>,
    /// How long it took by the agent's own clock, in milliseconds, where it told.
    pub agent_duration_ms: Option<u64>,
    /// Time spent waiting for the model in milliseconds, where the agent told.
    pub api_duration_ms: Option<u64>,
    /// When what is pushed next happened, and who did it.
    pub now: Moment,
    /// The step at which what is noted next was seen; `None` for the step that is pushed next.
    pub at: Option<usize>,
    /// How far the agent got.
    pub progress: Progress,
    /// How often the model has answered.
    pub answers: u64,
    /// What the agent was waiting for when its stream ended.
    pub waiting: Waiting,
    /// Whether that is what it was waiting for when it began to be ended: what it said after that tells nothing.
    pub interrupted: bool,
    /// Why the model's turn ended short, where that is its own doing.
    pub stopped: Option<Stop>,
    /// Calls that were to load a skill and failed, each with the skill's name or folder.
    pub failed_loads: Vec<Activation>,
    /// Why nothing was measured, where the stream says so.
    pub trouble: Option<Trouble>,
    /// Event types that the decoder does not know, with their counts.
    pub unknown_events: BTreeMap<String, u64>,
    /// Lines that are no event: broken JSON, or longer than is read.
    pub damaged_lines: u64,
    /// What could not be read and may have held a call, a command or a skill, in words; each once.
    pub lost: Vec<String>,
}

/// How far the agent got, by its own events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Progress {
    /// No event at all.
    #[default]
    Silent,
    /// It started; the model has not answered.
    Started,
    /// The model has answered.
    Answering,
    /// It said that it is done.
    Done,
}

/// The skills that an agent offered to its model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Offered {
    /// Names in the agent's own catalogue of skills, its built-in ones included.
    pub native: Vec<String>,
    /// Names of skills that a user can call, whether the model may or not; empty where the evidence does not show them.
    #[serde(default)]
    pub by_user: Vec<String>,
    /// What came by MCP; `None` where the evidence does not show it.
    pub mcp: Option<OfferedMcp>,
    /// How much of their descriptions the model was shown, by the skills' slugs; without those of whose descriptions
    /// nothing is known.
    #[serde(default)]
    pub described: BTreeMap<String, Described>,
}

/// What an agent offered to its model by MCP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OfferedMcp {
    /// The servers and what the agent says of each: `connected`, `failed`.
    pub servers: Vec<(String, String)>,
    /// Their tools by the names that the model sees, `mcp__server__tool`.
    pub tools: Vec<String>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// The agent said something.
    Message(String),
    /// The model's thoughts, or its summary of them, where the agent tells.
    Thinking(String),
    /// A shell command ended.
    Command {
        /// The command line.
        command: String,
        /// Its exit status, where there was one.
        exit_code: Option<i64>,
        /// What it printed.
        output: String,
    },
    /// A tool was called.
    Tool {
        /// The tool's name.
        name: String,
        /// Its input as JSON.
        input: String,
        /// What it answered.
        output: String,
        /// Whether it reported an error.
        failed: bool,
    },
    /// Files were changed by the agent's own editing tool.
    FileChange(Vec<String>),
    /// The agent reported something that did not end the run.
    Notice(String),
}

/// How a skill became active: what brought its text before the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Mechanism {
    /// The agent put the skill into the conversation since the prompt named it.
    Injected,
    /// A command or a tool that is not for skills showed the SKILL.md.
    #[default]
    ReadSkillFile,
    /// The model called the agent's own skill tool.
    SkillTool,
    /// The model called the MCP server's skill tool.
    McpTool,
}

impl Mechanism {
    /// The mechanism in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Mechanism::Injected => "injected",
            Mechanism::ReadSkillFile => "read SKILL.md",
            Mechanism::SkillTool => "skill tool",
            Mechanism::McpTool => "MCP tool",
        }
    }
}

/// A skill that became active.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Activation {
    /// The skill's name or folder, as the agent had it.
    pub skill: String,
    /// How.
    pub how: Mechanism,
    /// The command or call, cut short.
    pub evidence: String,
    /// The share of the file that came before the model, from 0 to 1; absent where that cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<f64>,
}

/// A skill's file, other than its SKILL.md, that was loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Resource {
    /// The skill's name or folder, as the agent had it.
    pub skill: String,
    /// The file below the skill's folder.
    pub path: String,
    /// The command or call, cut short.
    pub evidence: String,
    /// The share of the file that came before the model, from 0 to 1; absent where that cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<f64>,
}

/// Tokens and cost of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens read, cached ones included.
    pub input_tokens: u64,
    /// Those of `input_tokens` that came from a cache.
    pub cached_input_tokens: u64,
    /// Those of `input_tokens` that were put into a cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_input_tokens: u64,
    /// Tokens written, reasoning included.
    pub output_tokens: u64,
    /// Those of `output_tokens` that were reasoning.
    pub reasoning_output_tokens: u64,
    /// US dollars, where the agent told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Input and output together.
    #[must_use]
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl Trace {
    /// Notes that the agent got at least this far.
    pub fn reached(&mut self, progress: Progress) {
        self.progress = self.progress.max(progress);
    }

    /// Notes what a model request read: of the first one it is the system prompt, the tools, every catalogue of skills
    /// and the prompt, so that the same case in two modes tells what one catalogue more costs.
    pub fn first_request(&mut self, input_tokens: u64) {
        self.first_input_tokens.get_or_insert(input_tokens);
    }

    /// Adds a step, its texts cut to [`MAX_TEXT`].
    pub fn push(&mut self, step: Step) {
        if self.steps.len() >= MAX_STEPS {
            self.steps_dropped += 1;
            return;
        }
        self.moments.push(self.now.clone());
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

    /// The tokens of the requests that were answered, so far as those are told one by one.
    #[must_use]
    pub fn tokens_of_requests(&self) -> u64 {
        let of = |request: &Request| request.input_tokens.saturating_add(request.output_tokens.unwrap_or(0));
        self.requests.iter().map(of).fold(0, u64::saturating_add)
    }

    /// Notes where what was noted last was seen.
    fn mark(&mut self, what: Marked) {
        let step = self.at.unwrap_or(self.steps.len());
        self.marks.push(Mark { step, what });
    }

    /// The first call of this tool with this input, as a step.
    #[must_use]
    pub fn call(&self, tool: &str, call: &str) -> Option<usize> {
        // Events and session files may write the same JSON in other words.
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        let wanted = value(call);
        let same = |input: &str| input == call || (wanted.is_some() && value(input) == wanted);
        let line = wanted.as_ref().and_then(|wanted| wanted.get("command")?.as_str());
        self.steps.iter().position(|step| match step {
            Step::Tool { name, input, .. } => name == tool && same(input),
            Step::Command { command, .. } => line == Some(command),
            _ => false,
        })
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
        if self.explorations.len() < 100 {
            self.mark(Marked::Exploration(self.explorations.len()));
            self.explorations.push(excerpt(evidence));
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

    /// Whether the skill has become active so far.
    #[must_use]
    pub fn is_active(&self, skill: &str) -> bool {
        self.activations.iter().any(|activation| activation.skill == skill)
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

    /// Why what this trace does not show may have happened all the same; `None` where the trace is whole.
    #[must_use]
    pub fn gap(&self) -> Option<String> {
        match self.damaged_lines {
            0 => (!self.lost.is_empty())
                .then(|| format!("the trace holds what cannot be read: {}", self.lost.join(", "))),
            1 => Some("a line of the trace is damaged".to_owned()),
            lines => Some(format!("{lines} lines of the trace are damaged")),
        }
    }

    /// Whether the agent came to its end, by its own word or since the model's turn ended short.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.progress == Progress::Done || self.stopped.is_some()
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
        let kind = cut::start(kind, 80);
        if self.unknown_events.len() < 200 || self.unknown_events.contains_key(&kind) {
            *self.unknown_events.entry(kind).or_default() += 1;
        }
    }
}

/// `text` cut to [`MAX_TEXT`], saying how much is missing.
#[must_use]
pub fn cut(text: String) -> String {
    match cut::bytes(&text, MAX_TEXT) {
        (_, 0) => text,
        (kept, missing) => format!("{kept}… ({missing} bytes more)"),
    }
}

/// The start of `text` on one line, for evidence.
#[must_use]
pub fn excerpt(text: &str) -> String {
    cut::start(text, 200).replace(char::is_control, " ")
}
