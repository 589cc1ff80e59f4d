//! The events that `codex exec --json` prints, one JSON object a line.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::code::CODE;
use super::item::mcp_tool;
use super::tokens::{CodexTokens, plus};
use crate::agent::interface::WorkOwner;
use crate::agent::lenient;
use crate::agent::refusal::{Refusal, retry_after};
use crate::agent::skill_calls::{self, SkillCalls};
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{AgentProgress, OpenCall, OpenCalls, Step, StopReason, TraceBuilder, Usage, WaitingFor, excerpt};

#[derive(Deserialize)]
struct EventLine {
    #[serde(rename = "type")]
    kind: String,
    item: Option<EventItem>,
    #[serde(default, deserialize_with = "lenient::option")]
    usage: Option<CodexTokens>,
    #[serde(default, deserialize_with = "lenient::option")]
    message: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    error: Option<ErrorMessage>,
}

#[derive(Deserialize)]
struct ErrorMessage {
    message: Option<String>,
}

#[derive(Deserialize)]
struct EventItem {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    id: String,
    text: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    message: Option<String>,
    command: Option<String>,
    aggregated_output: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    exit_code: Option<i64>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    changes: Vec<FileChange>,
    server: Option<String>,
    tool: Option<String>,
    arguments: Option<serde_json::Value>,
    result: Option<serde_json::Value>,
    error: Option<serde_json::Value>,
    #[serde(default, deserialize_with = "lenient::option")]
    status: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    query: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    prompt: Option<String>,
    /// Sub-agents.
    #[serde(default, deserialize_with = "lenient::or_default")]
    receiver_thread_ids: Vec<String>,
}

#[derive(Deserialize)]
struct FileChange {
    path: String,
}

/// The start of an event, of which the rest may be of another shape.
#[derive(Deserialize)]
struct EventHead {
    #[serde(rename = "type")]
    kind: String,
}

/// What an event says that the agent does.
pub(super) fn describe(line: &[u8]) -> Option<String> {
    let event: EventLine = serde_json::from_slice(line).ok()?;
    let words = match (event.kind.as_str(), event.item) {
        ("turn.started", _) => "asked the model".to_owned(),
        ("item.started" | "item.updated" | "item.completed", Some(item)) => match item.kind.as_str() {
            "agent_message" => format!("says: {}", item.text?),
            "reasoning" => "thinks".to_owned(),
            "command_execution" => match item.exit_code {
                Some(code) => format!("ran ({code}): {}", item.command?),
                None => format!("runs: {}", item.command?),
            },
            "mcp_tool_call" => format!("calls {}/{}", item.server?, item.tool?),
            "collab_tool_call" => format!("calls {}", item.tool?),
            "file_change" => {
                let paths: Vec<String> = item.changes.into_iter().map(|change| change.path).collect();
                format!("writes {}", paths.join(", "))
            }
            "web_search" => format!("searches: {}", item.query?),
            _ => return None,
        },
        ("turn.completed", _) => "is done".to_owned(),
        ("turn.failed", _) => "failed".to_owned(),
        ("error", _) => event.message?,
        _ => return None,
    };
    Some(excerpt(&words))
}

/// Whose work a line shows: a call that begins is an answer of the model, a call's end is not.
pub(super) fn work(line: &[u8]) -> WorkOwner {
    let Ok(event) = serde_json::from_slice::<EventLine>(line) else { return WorkOwner::Other };
    match (event.kind.as_str(), event.item) {
        ("item.started", Some(item)) if item.kind != "error" => WorkOwner::Model,
        ("item.completed", Some(item)) if matches!(item.kind.as_str(), "agent_message" | "reasoning") => {
            WorkOwner::Model
        }
        ("turn.completed", _) => WorkOwner::End,
        _ => WorkOwner::Other,
    }
}

/// Reads the events of one run.
pub(super) struct EventDecoder<'a, 's> {
    skills: &'a mut SkillCalls<'s>,
    /// What the rollout has told already.
    told: RolloutFacts,
    /// The sum over the turns; nothing once one of them was unreadable.
    usage: Option<Usage>,
    /// Calls under way.
    open: OpenCalls,
    /// Commands that the rollout has to tell of.
    commands: usize,
    /// Calls of MCP servers' tools that it has to tell of.
    mcp_calls: usize,
}

/// An error as a rollout has it.
#[derive(Clone, Debug, Default)]
pub(super) struct RolloutError {
    /// Its kind, as codex names it.
    pub code: Option<String>,
    /// The HTTP status behind it.
    pub status: Option<u64>,
    /// In words.
    pub message: String,
}

impl RolloutError {
    /// What kind of refusal it is, told in these words.
    fn kind(&self, message: &str) -> TroubleKind {
        Refusal { status: self.status, code: self.code.as_deref(), message, retried: None }.kind()
    }

    /// Why the model's turn ended short, where that is its own doing.
    fn stop(&self, message: &str) -> Option<StopReason> {
        stop(self.code.as_deref(), message)
    }
}

/// What the rollout has told, and the events need not tell again.
#[derive(Debug, Default)]
pub(super) struct RolloutFacts {
    /// Messages and commands.
    pub conversation: bool,
    /// How many calls of the shell are among them.
    pub shell_calls: usize,
    /// How many calls of MCP servers' tools have ended; none in recordings that do not have them.
    pub mcp_calls: usize,
    /// The model's thoughts.
    pub thoughts: bool,
    /// The last error that codex told of.
    pub error: Option<RolloutError>,
    /// Of sub-agents, the errors that were their last word, by their ids.
    pub refused: BTreeMap<String, RolloutError>,
    /// Sub-agents that were started, by their ids or names.
    pub spawned: Vec<String>,
    /// The sub-agents whose rollouts these were, by both.
    pub threads: Vec<String>,
    /// What their requests took.
    pub usage: Usage,
    /// The tool that was waited for last and did not answer.
    pub unanswered: Option<String>,
}

impl<'a, 's> EventDecoder<'a, 's> {
    pub(super) fn new(skills: &'a mut SkillCalls<'s>, told: RolloutFacts) -> Self {
        Self { skills, told, usage: Some(Usage::default()), open: OpenCalls::default(), commands: 0, mcp_calls: 0 }
    }

    pub(super) fn line(&mut self, trace: &mut TraceBuilder, line: &[u8]) {
        let Ok(event) = serde_json::from_slice::<EventLine>(line) else {
            match serde_json::from_slice::<EventHead>(line) {
                Ok(EventHead { kind }) => {
                    trace.unknown(&format!("{kind} of another shape"));
                    trace.lose(&format!("{kind} of another shape"));
                }
                Err(_) => trace.damaged_lines += 1,
            }
            return;
        };
        match event.kind.as_str() {
            "thread.started" | "turn.started" => {
                trace.reached(AgentProgress::Started);
                trace.waiting = WaitingFor::Model;
            }
            "item.started" | "item.updated" => {
                // An `error` item may come before the model says anything.
                if let Some(item) = event.item.filter(|item| item.kind != "error") {
                    trace.reached(AgentProgress::Answering);
                    let waits = |tool: &String| item.kind == "collab_tool_call" && tool == "wait";
                    let waits_for_agents = item.tool.as_ref().is_some_and(waits);
                    let tool = match item.kind.as_str() {
                        "command_execution" => Some("shell".to_owned()),
                        "mcp_tool_call" => item.tool,
                        _ => item.tool.filter(|_| waits_for_agents),
                    };
                    if let Some(tool) = tool {
                        let (by, input) = (String::new(), String::new());
                        self.open.made(trace, OpenCall { by, id: item.id, tool, input, waits_for_agents, more: () });
                    }
                    self.wait(trace);
                }
            }
            "item.completed" => {
                if let Some(item) = event.item {
                    self.item(trace, item, line);
                }
            }
            "turn.completed" => {
                trace.reached(AgentProgress::Done);
                trace.waiting = WaitingFor::Nothing;
                let told = event.usage.filter(CodexTokens::are_whole);
                self.usage = self.usage.zip(told).map(|(sum, tokens)| tokens.added_to(sum));
                trace.usage = self.usage;
            }
            "turn.failed" => {
                let message =
                    event.error.and_then(|error| error.message).unwrap_or_else(|| "no reason given".to_owned());
                trace.waiting = WaitingFor::Nothing;
                self.failed(trace, &message);
            }
            // Retries are announced so; what becomes of them the turn's end says.
            "error" => trace.push(Step::Notice(event.message.unwrap_or_default())),
            other => trace.unknown_event(other, line),
        }
    }

    /// Notes what is waited for: a call under way, else the model, which goes on behind a call and behind a message that
    /// was not the last. What sub-agents are at tell their rollouts.
    fn wait(&self, trace: &mut TraceBuilder) {
        let call = self.open.last(|call| !call.waits_for_agents);
        trace.waiting = call.map_or(WaitingFor::Model, |call| WaitingFor::Tool(call.tool.clone()));
    }

    /// Adds what only the rollouts of sub-agents tell.
    pub(super) fn finish(self, trace: &mut TraceBuilder, by_sub_agents: &RolloutFacts) {
        if self.commands > self.told.shell_calls {
            trace.lose("a command that the events tell of and the rollout does not");
        }
        if self.mcp_calls > self.told.mcp_calls {
            trace.lose("a call of an MCP server's tool that the events tell of and the rollout does not");
        }
        let spawned = self.told.spawned.iter().chain(&by_sub_agents.spawned);
        if !spawned.into_iter().all(|id| by_sub_agents.threads.contains(id)) {
            trace.lose("what a sub-agent did: its rollout is missing");
            trace.usage = None;
        }
        // Of what sub-agents took nothing says by which model.
        let model = trace.model.clone().filter(|_| by_sub_agents.threads.is_empty());
        if let (Some(usage), Some(model)) = (trace.usage, model) {
            trace.models.insert(model, usage);
        }
        trace.usage = trace.usage.map(|usage| plus(usage, by_sub_agents.usage));
        // A sub-agent that was refused did not do its part, whatever the agent made of that.
        let mut errors = by_sub_agents.refused.values();
        if let Some(error) = errors.find(|error| error.stop(&error.message).is_none()) {
            let RolloutError { code, message, .. } = error;
            let words = if message.is_empty() { code.as_deref().unwrap_or_default() } else { message };
            let trouble = || Trouble::new(error.kind(message), format!("a sub-agent was refused: {words}"));
            trace.trouble.get_or_insert_with(trouble);
        }
        // Of calls of some tools the events tell nothing: of code, and of the tool that sleeps.
        if self.told.conversation {
            trace.reached(AgentProgress::Answering);
        }
        let waits_for_agents = self.open.last(|call| call.waits_for_agents).is_some();
        let by_sub_agent = by_sub_agents.unanswered.as_ref().filter(|_| waits_for_agents);
        if let (WaitingFor::Model, Some(tool)) = (&trace.waiting, self.told.unanswered.as_ref().or(by_sub_agent)) {
            trace.waiting = WaitingFor::Tool(tool.clone());
        }
    }

    /// Notes why a turn failed.
    fn failed(&self, trace: &mut TraceBuilder, message: &str) {
        let unknown = RolloutError::default();
        let error = self.told.error.as_ref().unwrap_or(&unknown);
        match error.stop(message) {
            // A first request that is too long is not the model's own doing: it has said nothing yet.
            Some(stop) if stop != StopReason::ContextWindow || trace.progress >= AgentProgress::Answering => {
                trace.stopped = Some(stop);
            }
            _ => {
                let trouble = Trouble::new(error.kind(message), format!("turn.failed: {message}"));
                trace.trouble = Some(trouble.after(retry_after(message)));
            }
        }
    }

    fn item(&mut self, trace: &mut TraceBuilder, item: EventItem, line: &[u8]) {
        if item.kind != "error" {
            trace.reached(AgentProgress::Answering);
            let _ = self.open.answered(trace, "", &item.id);
            self.wait(trace);
        }
        match item.kind.as_str() {
            "agent_message" => {
                let text = item.text.unwrap_or_default();
                if !self.told.conversation {
                    trace.answers += 1;
                    trace.push(Step::Message(text.clone()));
                }
                trace.final_message = Some(text);
            }
            "command_execution" if self.told.conversation => self.commands += 1,
            "command_execution" => {
                let command = item.command.unwrap_or_default();
                let output = item.aggregated_output.unwrap_or_default();
                self.skills.wrote(&command);
                self.skills.command(trace, &command, item.exit_code, &output);
                trace.command(command, item.exit_code, output);
            }
            "mcp_tool_call" if self.told.mcp_calls > 0 => self.mcp_calls += 1,
            "mcp_tool_call" => self.mcp_call(trace, item),
            "collab_tool_call" => {
                let name = item.tool.unwrap_or_default();
                let failed = item.status.as_deref() == Some("failed");
                if name == "spawn_agent" && !failed {
                    self.told.spawned.extend(item.receiver_thread_ids);
                }
                if !self.told.conversation {
                    let input = item.prompt.unwrap_or_default();
                    trace.push(Step::Tool { name, input, output: String::new(), failed });
                }
            }
            "file_change" => trace.push(Step::FileChange(item.changes.into_iter().map(|change| change.path).collect())),
            "error" => trace.push(Step::Notice(item.message.unwrap_or_default())),
            "web_search" => {
                let input = item.query.unwrap_or_default();
                trace.push(Step::Tool { name: "web_search".to_owned(), input, output: String::new(), failed: false });
            }
            "reasoning" if !self.told.thoughts => trace.thought(item.text),
            "reasoning" | "todo_list" => {}
            other => trace.unknown_event(&format!("item {other}"), line),
        }
    }

    /// A call of an MCP server's tool of which the rollout does not tell whether it failed.
    fn mcp_call(&mut self, trace: &mut TraceBuilder, item: EventItem) {
        let name = mcp_tool(&item.server.unwrap_or_default(), &item.tool.unwrap_or_default());
        let failed = item.status.as_deref() == Some("failed") || item.error.as_ref().is_some_and(|e| !e.is_null());
        let input = item.arguments.map(|value| value.to_string()).unwrap_or_default();
        let output = item.result.or(item.error).unwrap_or_default();
        trace.at = trace.call(&name, &input);
        // Of what the model's code was answered only what the code printed came before the model.
        let code = |step: &Step| matches!(step, Step::Tool { name, .. } if name == CODE);
        if trace.at.is_none() && trace.steps.iter().any(code) {
            self.skills.asked_by_code(trace, &name, &input, failed);
        } else {
            self.skills.tool(trace, &name, &input, &skill_calls::texts(&output), failed);
        }
        trace.at = None;
        let output = if output.is_null() { String::new() } else { output.to_string() };
        if !self.told.conversation {
            trace.push(Step::Tool { name, input, output, failed });
        } else if failed {
            trace.failed(&name, &input);
        }
    }
}

/// Whether the model ended its turn short: the provider's reason stands at the end of codex's message.
fn stop(code: Option<&str>, message: &str) -> Option<StopReason> {
    if code == Some("context_window_exceeded") {
        return Some(StopReason::ContextWindow);
    }
    match message.split_once("Incomplete response returned, reason: ")?.1.trim() {
        "content_filter" => Some(StopReason::Refusal),
        "max_output_tokens" | "max_tokens" => Some(StopReason::MaxTokens),
        _ => None,
    }
}
