//! The events that `codex exec --json` prints, one JSON object per line.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::rollout::{CODE, RolloutFacts};
use super::wire::{CodexTokens, RanCommand, RolloutError, mcp_tool};
use crate::agent::field::Lenient;
use crate::agent::interface::WorkOwner;
use crate::agent::recorder::{EndedCall, ToolUse, TraceRecorder, texts};
use crate::agent::refusal::{refused, wait_in};
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{AgentProgress, OpenCall, OpenCalls, Step, StopReason, Usage, WaitingFor, excerpt, shell};
use crate::trial::evidence::digest;

#[derive(Deserialize)]
struct EventLine {
    #[serde(rename = "type")]
    kind: String,
    item: Option<EventItem>,
    usage: Lenient<CodexTokens>,
    message: Lenient<String>,
    error: Lenient<ErrorMessage>,
}

#[derive(Deserialize)]
struct ErrorMessage {
    message: Option<String>,
}

#[derive(Deserialize)]
struct EventItem {
    #[serde(rename = "type")]
    kind: String,
    id: Lenient<String>,
    text: Option<String>,
    message: Lenient<String>,
    command: Option<String>,
    aggregated_output: Option<String>,
    exit_code: Lenient<i64>,
    changes: Lenient<Vec<FileChange>>,
    server: Option<String>,
    tool: Option<String>,
    arguments: Option<Value>,
    result: Option<Value>,
    error: Option<Value>,
    status: Lenient<String>,
    query: Lenient<String>,
    prompt: Lenient<String>,
    /// The sub-agents that a call started.
    receiver_thread_ids: Lenient<Vec<String>>,
}

impl EventItem {
    /// Whether it is the call that waits for sub-agents.
    fn waits_for_agents(&self) -> bool {
        self.kind == "collab_tool_call" && self.tool.as_deref() == Some("wait")
    }

    fn changed_paths(self) -> Vec<String> {
        self.changes.0.into_iter().flatten().map(|change| change.path).collect()
    }
}

#[derive(Deserialize)]
struct FileChange {
    path: String,
}

/// The start of an event; the rest may have another shape.
#[derive(Deserialize)]
struct EventHead {
    #[serde(rename = "type")]
    kind: String,
}

/// What the agent does, by this event.
pub(super) fn describe(line: &[u8]) -> Option<String> {
    let event: EventLine = serde_json::from_slice(line).ok()?;
    let words = match (event.kind.as_str(), event.item) {
        ("turn.started", _) => "asked the model".to_owned(),
        ("item.started" | "item.updated" | "item.completed", Some(item)) => match item.kind.as_str() {
            "agent_message" => format!("says: {}", item.text?),
            "reasoning" => "thinks".to_owned(),
            "command_execution" => match item.exit_code.0 {
                Some(code) => format!("ran ({code}): {}", item.command?),
                None => format!("runs: {}", item.command?),
            },
            "mcp_tool_call" => format!("calls {}/{}", item.server?, item.tool?),
            "collab_tool_call" => format!("calls {}", item.tool?),
            "file_change" => format!("writes {}", item.changed_paths().join(", ")),
            "web_search" => format!("searches: {}", item.query.0?),
            _ => return None,
        },
        ("turn.completed", _) => "is done".to_owned(),
        ("turn.failed", _) => "failed".to_owned(),
        ("error", _) => event.message.0?,
        _ => return None,
    };
    Some(excerpt(&words))
}

/// Whose work a line shows. The start of a call is the model's work; its end is not.
pub(super) fn work_owner(line: &[u8]) -> WorkOwner {
    let Ok(event) = serde_json::from_slice::<EventLine>(line) else { return WorkOwner::Other };
    match (event.kind.as_str(), event.item.as_ref().map(|item| item.kind.as_str())) {
        ("item.started", Some(kind)) if kind != "error" => WorkOwner::Model,
        ("item.completed", Some("agent_message" | "reasoning")) => WorkOwner::Model,
        ("turn.completed", _) => WorkOwner::End,
        ("error", _) if event.message.0.as_deref().is_some_and(is_unreachable) => {
            WorkOwner::Unreachable(Duration::ZERO)
        }
        _ => WorkOwner::Other,
    }
}

/// Whether codex announces that it tries again since it met nobody.
fn is_unreachable(message: &str) -> bool {
    refused(None, message).kind == TroubleKind::Unreachable
}

/// Reads the events of one run, after the rollouts.
pub(super) struct EventDecoder<'a, 's> {
    recorder: &'a mut TraceRecorder<'s>,
    /// What the rollout reported.
    facts: RolloutFacts,
    /// The sum over the turns; `None` after a turn with an unreadable number.
    usage: Option<Usage>,
    open: OpenCalls,
    /// Why it met nobody, if it did not go on since.
    unreachable: Option<String>,
    /// A digest of the line before.
    last_line: String,
    /// The commands that ended. A rollout with a conversation must have them, too.
    commands: Vec<RanCommand>,
    /// How many calls of tools of MCP servers ended. A rollout with such calls must have them, too.
    mcp_calls: usize,
}

impl<'a, 's> EventDecoder<'a, 's> {
    pub(super) fn new(recorder: &'a mut TraceRecorder<'s>, facts: RolloutFacts) -> Self {
        let usage = Some(Usage::default());
        let (open, last_line, commands) = (OpenCalls::default(), String::new(), Vec::new());
        Self { recorder, facts, usage, open, unreachable: None, last_line, commands, mcp_calls: 0 }
    }

    pub(super) fn line(&mut self, line: &[u8]) {
        let trace = &mut self.recorder.trace;
        let digest = digest(line);
        let is_again = std::mem::replace(&mut self.last_line, digest.clone()) == digest;
        let Ok(event) = serde_json::from_slice::<EventLine>(line) else {
            match serde_json::from_slice::<EventHead>(line) {
                Ok(EventHead { kind }) => {
                    trace.unknown(&format!("{kind} of another shape"));
                    trace.lose_output(&format!("{kind} of another shape"));
                }
                Err(_) => trace.damaged_output(line),
            }
            return;
        };
        // A notice, or a plan that did not change, may come twice.
        if is_again && ["item.completed", "turn.completed"].contains(&event.kind.as_str()) {
            return trace.lose("a line that comes twice");
        }
        if event.kind != "error" {
            self.unreachable = None;
        }
        match (event.kind.as_str(), event.item) {
            ("thread.started" | "turn.started", _) => {
                if trace.started() {
                    // A resumed session counts the tokens of its whole thread at its end.
                    self.usage = Some(Usage::default());
                    trace.usage = None;
                }
                trace.waiting = WaitingFor::Model;
            }
            // An item `error` may precede everything that the model says.
            ("item.started" | "item.updated", Some(item)) if item.kind != "error" => self.item_started(item),
            ("item.completed", Some(item)) => self.item_completed(item),
            ("item.started" | "item.updated" | "item.completed", item) => {
                if item.is_none() {
                    trace.lose("an event without its item");
                }
            }
            ("turn.completed", _) => {
                trace.message_answered();
                trace.waiting = WaitingFor::Nothing;
                // A number that is not reported is not 0.
                let is_whole = |tokens: &CodexTokens| tokens.input_tokens.is_some() && tokens.output_tokens.is_some();
                let tokens = event.usage.0.filter(is_whole);
                self.usage = self.usage.zip(tokens).map(|(sum, tokens)| sum.plus(tokens.usage()));
                trace.usage = self.usage;
            }
            ("turn.failed", _) => {
                trace.waiting = WaitingFor::Nothing;
                let message = event.error.0.and_then(|error| error.message);
                self.turn_failed(&message.unwrap_or_else(|| "no reason given".to_owned()));
            }
            // The announcement of a retry; the end of the turn shows the result.
            ("error", _) => {
                let message = event.message.0.unwrap_or_default();
                self.unreachable = is_unreachable(&message).then(|| message.clone());
                trace.push(Step::Notice(message));
            }
            (other, _) => trace.unknown_event(other, line),
        }
    }

    fn item_started(&mut self, item: EventItem) {
        let trace = &mut self.recorder.trace;
        trace.reached(AgentProgress::Answering);
        let waits_for_agents = item.waits_for_agents();
        let tool = match item.kind.as_str() {
            "command_execution" => Some("shell".to_owned()),
            "mcp_tool_call" => item.tool,
            _ => item.tool.filter(|_| waits_for_agents),
        };
        if let Some(tool) = tool {
            let (by, input) = (String::new(), String::new());
            self.open.made(
                trace,
                OpenCall { by, id: item.id.0.unwrap_or_default(), tool, input, waits_for_agents, more: () },
            );
        }
        self.update_waiting();
    }

    /// Sets what the agent waits for: an open call, else the model. It waits for the model after a message, too, unless the
    /// turn ends. The rollouts of sub-agents show what those wait for.
    fn update_waiting(&mut self) {
        let call = self.open.last(|call| !call.waits_for_agents);
        self.recorder.trace.waiting = call.map_or(WaitingFor::Model, |call| WaitingFor::Tool(call.tool.clone()));
    }

    fn turn_failed(&mut self, message: &str) {
        let error = self.facts.error.clone().unwrap_or_default();
        let trace = &mut self.recorder.trace;
        match error.stop_reason(message) {
            // If the first request is too long, the model has not done anything.
            Some(reason) if reason != StopReason::ContextWindow || trace.progress >= AgentProgress::Answering => {
                trace.stopped = Some(reason);
            }
            _ => {
                let trouble = Trouble::new(error.kind(message), format!("turn.failed: {message}"));
                trace.trouble = Some(trouble.after(wait_in(message)));
            }
        }
    }

    fn item_completed(&mut self, item: EventItem) {
        if item.kind != "error" {
            self.recorder.trace.reached(AgentProgress::Answering);
            let id = item.id.0.as_deref().unwrap_or_default();
            let _ = self.open.ended(&mut self.recorder.trace, "", id);
            self.update_waiting();
        }
        if item.kind == "command_execution" {
            let command = shell::passed_script(item.command.as_deref().unwrap_or_default());
            self.commands.push(RanCommand::new(command, item.aggregated_output.as_deref()));
        }
        self.mcp_calls += usize::from(item.kind == "mcp_tool_call");
        let trace = &mut self.recorder.trace;
        match item.kind.as_str() {
            "agent_message" => {
                if !self.facts.conversation {
                    trace.answers += 1;
                    trace.push(Step::Message(item.text.clone().unwrap_or_default()));
                }
                trace.says_last(item.text);
            }
            "command_execution" if !self.facts.conversation => {
                let (command, exit_code) = (item.command, item.exit_code.0);
                self.recorder.wrote(command.as_deref().unwrap_or_default());
                let output = item.aggregated_output;
                let call = EndedCall { tool: String::new(), input: String::new(), output, failed: false };
                self.recorder.ended(call, ToolUse::Shell { command, exit_code });
            }
            "mcp_tool_call" if self.facts.mcp_calls == 0 => self.mcp_call(item),
            "collab_tool_call" => {
                let name = item.tool.unwrap_or_default();
                let failed = item.status.0.as_deref() == Some("failed");
                if name == "spawn_agent" && !failed {
                    self.facts.spawned.extend(item.receiver_thread_ids.0.into_iter().flatten());
                }
                if !self.facts.conversation {
                    let input = item.prompt.0.unwrap_or_default();
                    trace.push(Step::Tool { name, input, output: String::new(), failed });
                }
            }
            "file_change" => trace.push(Step::FileChange(item.changed_paths())),
            "error" => trace.push(Step::Notice(item.message.0.unwrap_or_default())),
            "web_search" => {
                let input = item.query.0.unwrap_or_default();
                trace.push(Step::Tool { name: "web_search".to_owned(), input, output: String::new(), failed: false });
            }
            "reasoning" if !self.facts.thoughts => trace.thought(item.text),
            "command_execution" | "mcp_tool_call" | "reasoning" | "todo_list" => {}
            other => {
                trace.unknown(&format!("item {other}"));
                trace.lose_output(&format!("item {other}"));
            }
        }
    }

    /// A call of an MCP server's tool for which the rollout does not report whether it failed.
    fn mcp_call(&mut self, item: EventItem) {
        let name = mcp_tool(&item.server.unwrap_or_default(), &item.tool.unwrap_or_default());
        let failed = item.status.0.as_deref() == Some("failed") || item.error.as_ref().is_some_and(|e| !e.is_null());
        let input = item.arguments.map(|value| value.to_string()).unwrap_or_default();
        let output = item.result.or(item.error).unwrap_or_default();
        let trace = &mut self.recorder.trace;
        trace.at = trace.call(&name, &input);
        let wrote_code = trace.steps.iter().any(|step| matches!(step, Step::Tool { name, .. } if name == CODE));
        if trace.at.is_none() && wrote_code {
            self.recorder.called_by_code(&name, &input, failed);
        } else {
            self.recorder.tool_answered(&name, &input, &texts(&output), failed);
        }
        let trace = &mut self.recorder.trace;
        trace.at = None;
        if !self.facts.conversation {
            let output = if output.is_null() { String::new() } else { output.to_string() };
            trace.push(Step::Tool { name, input, output, failed });
        } else if failed {
            trace.failed(&name, &input);
        }
    }

    /// Adds what only the rollouts of sub-agents report.
    pub(super) fn finish(self, sub_agents: &RolloutFacts) {
        let (trace, facts) = (&mut self.recorder.trace, &self.facts);
        let lacks_command = self.commands.len() > facts.shell_calls.len();
        let lacks_call = self.mcp_calls > facts.mcp_calls;
        let lacks_answer = !facts.conversation && trace.progress >= AgentProgress::Answering;
        // Without a version it is not a rollout of codex itself.
        if lacks_answer && trace.agent_version.is_some() && trace.final_message.is_some() {
            trace.lose("what the rollout has after its start");
        }
        trace.session_lags = lacks_command || lacks_call || lacks_answer;
        if lacks_command && facts.conversation {
            trace.lose("a command that the events tell of and the rollout does not");
        }
        if let Some(command) =
            self.commands.iter().find(|command| facts.conversation && !command.is_among(&facts.shell_calls))
        {
            let what = &command.command;
            trace.lose(&format!("what a command printed: the events and the rollout say different things of {what}"));
        }
        match (&trace.final_message, &facts.last_message) {
            (Some(of_events), Some(of_rollout)) if of_events.trim() != of_rollout.trim() => trace.says_last(None),
            (None, Some(_)) => trace.answer_unread = true,
            _ => {}
        }
        if lacks_call && facts.mcp_calls > 0 {
            trace.lose("a call of an MCP server's tool that the events tell of and the rollout does not");
        }
        if !facts.spawned.iter().chain(&sub_agents.spawned).all(|id| sub_agents.threads.contains(id)) {
            trace.lose("what a sub-agent did: its rollout is missing");
            trace.usage = None;
        }
        if let Some(usage) = trace.usage {
            // Nothing shows which models the sub-agents used.
            if let Some(model) = trace.model.clone().filter(|_| sub_agents.threads.is_empty()) {
                trace.models.insert(model, usage);
            }
            trace.usage = Some(usage.plus(sub_agents.usage));
        }
        // It would have tried again until it was ended.
        if let Some(why) = self.unreachable.filter(|_| !trace.ended()) {
            trace.trouble.get_or_insert(Trouble::new(TroubleKind::Unreachable, why));
        }
        // A refused sub-agent did not do its part, whatever the agent made of that.
        if let Some(error) = sub_agents.refused.values().find(|error| error.stop_reason(&error.message).is_none()) {
            let RolloutError { code, message, .. } = error;
            let words = if message.is_empty() { code.as_deref().unwrap_or_default() } else { message };
            let trouble = Trouble::new(error.kind(message), format!("a sub-agent was refused: {words}"));
            trace.trouble.get_or_insert(trouble);
        }
        // The events do not report calls of some tools: code, and the tool that sleeps.
        if facts.conversation {
            trace.reached(AgentProgress::Answering);
        }
        let waits_for_agents = self.open.last(|call| call.waits_for_agents).is_some();
        let sub_agents_tool = sub_agents.unanswered.as_ref().filter(|_| waits_for_agents);
        if let (WaitingFor::Model, Some(tool)) = (&trace.waiting, facts.unanswered.as_ref().or(sub_agents_tool)) {
            trace.waiting = WaitingFor::Tool(tool.clone());
        }
    }
}
