//! codex's rollout file: everything that went to and from the model, one JSON object a line.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::code::CodeCalls;
use super::events::{RolloutError, RolloutFacts};
use super::item::CompletedItem;
use super::listing;
use super::tokens::CodexTokens;
use crate::agent::lenient;
use crate::agent::skill_calls::{SkillCalls, texts};
use crate::agent::turns::TurnSign;
use crate::trace::{Mechanism, Moment, OfferedSkills, OpenCall, OpenCalls, Step, TraceBuilder};

#[derive(Deserialize)]
pub(super) struct RolloutLine<'a> {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "lenient::option")]
    timestamp: Option<String>,
    #[serde(borrow)]
    pub(super) payload: &'a RawValue,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RolloutPayload {
    #[serde(rename = "type")]
    kind: Option<String>,
    role: Option<String>,
    /// Of thoughts that were encrypted it is null.
    content: Option<Vec<RolloutContent>>,
    /// Of thoughts: what may be shown of them.
    #[serde(deserialize_with = "lenient::or_default")]
    summary: Vec<RolloutContent>,
    #[serde(deserialize_with = "lenient::option")]
    cli_version: Option<String>,
    #[serde(deserialize_with = "lenient::option")]
    model: Option<String>,
    name: Option<String>,
    namespace: Option<String>,
    /// A text, or of a search for tools an object.
    arguments: Value,
    input: Option<String>,
    call_id: Option<String>,
    /// The thread's own id, in its first line.
    #[serde(deserialize_with = "lenient::option")]
    id: Option<String>,
    /// The thread that started it, in the first line of a sub-agent's.
    #[serde(deserialize_with = "lenient::option")]
    parent_thread_id: Option<String>,
    /// The name by which its parent knows it, there.
    #[serde(deserialize_with = "lenient::option")]
    agent_path: Option<String>,
    output: Value,
    /// Those that a search for tools found.
    tools: Value,
    #[serde(deserialize_with = "lenient::option")]
    usage: Option<CodexTokens>,
    /// Of a task that is complete, how long it took.
    #[serde(deserialize_with = "lenient::option")]
    duration_ms: Option<u64>,
    error: Value,
    codex_error_info: Value,
    /// Of an item that is complete.
    #[serde(deserialize_with = "lenient::or_default")]
    item: CompletedItem,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RolloutContent {
    text: String,
}

/// The tools with which models run shell commands, in the versions of codex so far.
const SHELL_TOOLS: [&str; 5] = ["exec_command", "shell_command", "shell", "local_shell", "container.exec"];

/// Lines that tell nothing of what the agent did, and that its model did not write: what else is offered, and what others
/// told it.
const ASIDE: [&str; 4] = ["compaction", "ghost_snapshot", "additional_tools", "agent_message"];

/// How a skill begins that codex put into the conversation.
pub(super) const SKILL: &str = "<skill>\n<name>";

/// Lines that are a call, by their type.
const CALLS: [&str; 4] = ["function_call", "custom_tool_call", "local_shell_call", TOOL_SEARCH];

/// A search for tools, which names no tool.
const TOOL_SEARCH: &str = "tool_search_call";

/// Lines that are the answer to a call.
const ANSWERS: [&str; 3] = ["function_call_output", "custom_tool_call_output", "tool_search_output"];

/// The tool that starts a sub-agent, behind its namespace.
const SPAWN: &str = "spawn_agent";

/// The tool that waits for sub-agents.
const WAIT: &str = "wait_agent";

/// What a line says of the model's calls.
pub(super) fn signs(line: &[u8]) -> Vec<TurnSign> {
    let sign = || {
        let line = serde_json::from_slice::<RolloutLine<'_>>(line).ok().filter(|line| line.kind == "response_item")?;
        let RolloutPayload { kind, call_id, .. } = serde_json::from_str(line.payload.get()).ok()?;
        let (kind, call) = (kind?, call_id?);
        if CALLS.contains(&kind.as_str()) {
            return Some(TurnSign::Called { call, answer: None });
        }
        ANSWERS.contains(&kind.as_str()).then_some(TurnSign::Answered(call))
    };
    sign().into_iter().collect()
}

/// Reads the rollout of one run, or those of its sub-agents, one behind the other.
pub(super) struct RolloutDecoder<'a, 's> {
    skills: &'a mut SkillCalls<'s>,
    /// Whether it is those of sub-agents.
    of_sub_agents: bool,
    /// The sub-agent whose rollout it is.
    thread: String,
    /// Whether what is told is its parent's conversation.
    copied: bool,
    /// How deep each sub-agent stands below the agent.
    depths: HashMap<String, u32>,
    /// The answer of the model that is being told.
    turn: Option<usize>,
    /// Calls without an answer yet.
    open: OpenCalls,
    /// Calls of MCP servers' tools without an answer yet that have ended, and whether they failed.
    mcp: HashMap<String, bool>,
    /// What the model's code did.
    code: CodeCalls,
    /// What it has told.
    told: RolloutFacts,
}

impl RolloutPayload {
    /// The error that it tells of, if any. Its kind is a word, or an object with the word as its key and the HTTP status in it.
    fn told_error(&self) -> Option<RolloutError> {
        let info = self.error.get("codex_error_info").unwrap_or(&self.codex_error_info);
        let object = info.as_object().and_then(|object| object.iter().next());
        let code = info.as_str().or_else(|| object.map(|(key, _)| key.as_str()))?;
        let status = object.and_then(|(_, value)| value.get("http_status_code")?.as_u64());
        let message = self.error.get("message").and_then(Value::as_str).unwrap_or_default();
        Some(RolloutError { code: Some(code.to_owned()), status, message: message.to_owned() })
    }
}

impl<'a, 's> RolloutDecoder<'a, 's> {
    pub(super) fn new(skills: &'a mut SkillCalls<'s>) -> Self {
        Self {
            skills,
            of_sub_agents: false,
            thread: String::new(),
            copied: false,
            depths: HashMap::new(),
            turn: None,
            open: OpenCalls::default(),
            mcp: HashMap::new(),
            code: CodeCalls::default(),
            told: RolloutFacts::default(),
        }
    }

    pub(super) fn of_sub_agents(skills: &'a mut SkillCalls<'s>) -> Self {
        Self { of_sub_agents: true, ..Self::new(skills) }
    }

    pub(super) fn line(&mut self, trace: &mut TraceBuilder, line: &[u8]) {
        let Ok(RolloutLine { kind, timestamp, payload: raw }) = serde_json::from_slice::<RolloutLine<'_>>(line) else {
            trace.damaged_lines += 1;
            return;
        };
        let Ok(payload) = serde_json::from_str::<RolloutPayload>(raw.get()) else {
            // Of the many kinds of lines some have payloads of another shape; only the conversation is looked at.
            if kind == "response_item" {
                trace.lose("a response_item of another shape");
            }
            return;
        };
        let depth = self.depths.get(&self.thread).copied().unwrap_or(u32::from(self.of_sub_agents));
        self.skills.at(timestamp.as_deref());
        trace.now = Moment { began: None, ended: timestamp, depth };
        let by_model = payload.role.as_deref().is_none_or(|role| role == "assistant")
            && payload.kind.as_deref().is_some_and(|kind| !kind.ends_with("_output") && !ASIDE.contains(&kind));
        if kind == "response_item" && by_model {
            self.turn.get_or_insert(trace.steps.len());
            self.told.refused.remove(&self.thread);
        }
        match (kind.as_str(), payload.kind.as_deref()) {
            ("session_meta", _) if self.of_sub_agents => self.sub_agent(payload),
            ("token_usage_record", _) if self.of_sub_agents => {
                if let Some(tokens) = payload.usage {
                    self.answered(trace, &tokens);
                    self.told.usage = tokens.added_to(self.told.usage);
                }
            }
            ("event_msg", Some("error" | "task_complete" | "stream_error")) => {
                let took = payload.duration_ms.filter(|_| !self.of_sub_agents);
                trace.agent_duration_ms = took.or(trace.agent_duration_ms);
                self.error(&payload);
            }
            ("event_msg", Some("item_completed")) => self.item(trace, payload.item),
            ("turn_context" | "event_msg", _) if self.of_sub_agents => {}
            ("session_meta", _) => trace.agent_version = payload.cli_version,
            ("token_usage_record", _) => {
                trace.answers += 1;
                if let Some(tokens) = payload.usage {
                    self.answered(trace, &tokens);
                    trace.first_request(tokens.read());
                }
            }
            ("turn_context", _) => trace.model = payload.model.or(trace.model.take()),
            ("response_item", Some("message")) => self.message(trace, &payload),
            ("response_item", Some(kind)) if CALLS.contains(&kind) => self.call(trace, payload),
            ("response_item", Some(kind)) if ANSWERS.contains(&kind) => self.answer(trace, &payload),
            ("response_item", Some("reasoning")) => self.thought(trace, payload),
            ("response_item", Some("web_search_call")) => {}
            // The task that a sub-agent was given.
            ("response_item", Some("agent_message")) => self.copied = false,
            ("response_item", Some(kind)) if ASIDE.contains(&kind) => {}
            ("response_item", Some(other)) => {
                trace.unknown_event(&format!("response_item {other}"), raw.get().as_bytes());
            }
            _ => {}
        }
    }

    /// A sub-agent's rollout begins; or in it the conversation of its parent that it was given, with its parent's first line.
    fn sub_agent(&mut self, first: RolloutPayload) {
        self.copied = true;
        if let (Some(id), Some(parent)) = (first.id, first.parent_thread_id)
            && !self.told.threads.contains(&id)
        {
            self.copied = false;
            self.told.threads.extend([Some(id.clone()), first.agent_path].into_iter().flatten());
            let above = self.depths.get(&parent).copied().unwrap_or(0);
            self.depths.insert(id.clone(), above.saturating_add(1));
            self.thread = id;
        }
    }

    /// Notes a command that the model's code ran, and how a call of an MCP server's tool ended.
    fn item(&mut self, trace: &mut TraceBuilder, item: CompletedItem) {
        if let Some(call) = item.mcp_call() {
            self.told.mcp_calls += 1;
            if item.is_by_code() {
                self.code.asked(trace, call);
            } else {
                self.mcp.insert(self.own(&item.id), call.failed);
            }
        } else if item.is_run_by_code() {
            self.told.shell_calls += usize::from(!self.of_sub_agents);
            let command = script(&item.command);
            self.code.ran(&command);
            self.skills.ran(trace, &command, item.exit_code);
            trace.command(command, item.exit_code, item.aggregated_output);
        }
    }

    /// Keeps an error: of a sub-agent until its model answers all the same.
    fn error(&mut self, payload: &RolloutPayload) {
        let Some(error) = payload.told_error() else { return };
        if self.of_sub_agents {
            self.told.refused.insert(self.thread.clone(), error);
        } else {
            self.told.error = Some(error);
        }
    }

    /// Notes what an answer of the model took.
    fn answered(&mut self, trace: &mut TraceBuilder, tokens: &CodexTokens) {
        let step = self.turn.take().unwrap_or(trace.steps.len());
        trace.answered(step, tokens.read(), tokens.written());
    }

    /// Keeps the model's thoughts, or its summary of them.
    fn thought(&mut self, trace: &mut TraceBuilder, payload: RolloutPayload) {
        let parts = payload.summary.into_iter().chain(payload.content.unwrap_or_default());
        let texts: Vec<String> = parts.map(|part| part.text).collect();
        self.told.thoughts = true;
        trace.thought(Some(texts.join("\n\n")));
    }

    fn message(&mut self, trace: &mut TraceBuilder, payload: &RolloutPayload) {
        for RolloutContent { text } in payload.content.iter().flatten() {
            match payload.role.as_deref() {
                Some("developer") if !self.of_sub_agents => {
                    if let Some(list) = listing::within(text) {
                        let native = listing::skills(list).map(|(name, _)| name.to_owned()).collect();
                        let described = self.skills.listed(listing::skills(list));
                        trace.offered = Some(OfferedSkills { native, described, ..OfferedSkills::default() });
                    }
                }
                Some("user") => {
                    if let Some(body) = text.strip_prefix(SKILL) {
                        let name = body.split("</name>").next().unwrap_or_default();
                        // A prompt may have the marks, but not the skill.
                        if self.skills.injected(name, text) {
                            trace.activate(name, Mechanism::Injected, "codex put the skill into the conversation");
                        }
                    }
                }
                Some("assistant") => {
                    self.told.conversation = true;
                    let by = if self.of_sub_agents { "(sub-agent) " } else { "" };
                    trace.push(Step::Message(format!("{by}{text}")));
                }
                _ => {}
            }
        }
        // The first developer message with permissions and the like is always there; without the list, no skills.
        if payload.role.as_deref() == Some("developer") && trace.offered.is_none() && !self.of_sub_agents {
            trace.offered = Some(OfferedSkills::default());
        }
    }

    fn call(&mut self, trace: &mut TraceBuilder, payload: RolloutPayload) {
        self.told.conversation = true;
        let Some(id) = payload.call_id else { return };
        let is_search = payload.kind.as_deref() == Some(TOOL_SEARCH);
        let name = payload.name.unwrap_or_else(|| if is_search { "tool_search" } else { "shell" }.to_owned());
        let name = payload.namespace.map_or(name.clone(), |namespace| format!("{namespace}__{name}"));
        let input = match payload.arguments {
            Value::Null => payload.input.unwrap_or_default(),
            Value::String(text) => text,
            other => other.to_string(),
        };
        if !self.copied {
            self.code.called(&name, &input);
        }
        let by = self.thread.clone();
        self.open.made(trace, OpenCall { by, id, tool: name, input, waits_for_agents: false, more: () });
    }

    fn answer(&mut self, trace: &mut TraceBuilder, payload: &RolloutPayload) {
        let Some(call_id) = payload.call_id.as_deref() else { return };
        let id = self.own(call_id);
        let Some(OpenCall { tool: name, input, .. }) = self.open.answered(trace, &self.thread, call_id) else {
            return self.code.said(trace, self.skills, &id, &output_text(&payload.output));
        };
        let output = match &payload.tools {
            Value::Null => output_text(&payload.output),
            tools => texts(tools),
        };
        if name.ends_with(SPAWN) {
            let answer: Value = serde_json::from_str(&output).unwrap_or_default();
            // Models that work by code know their sub-agents by name.
            let name = answer.get("agent_id").or_else(|| answer.get("task_name"));
            self.told.spawned.extend(name.and_then(Value::as_str).map(str::to_owned));
        }
        let mcp = self.mcp.remove(&id);
        if CodeCalls::is(&name) {
            return self.code.answered(trace, self.skills, id, (name, input), output);
        }
        self.ended(trace, &name, input, Some(output), mcp);
    }

    /// A call's id, unique among those of all sub-agents.
    fn own(&self, id: &str) -> String {
        format!("{}/{id}", self.thread)
    }

    /// Notes a call and its answer, where there was one; of one of an MCP server's tool also whether it failed, where that
    /// is known.
    fn ended(
        &mut self,
        trace: &mut TraceBuilder,
        name: &str,
        input: String,
        output: Option<String>,
        mcp: Option<bool>,
    ) {
        if !SHELL_TOOLS.contains(&name) {
            let unsupported = || output.as_deref().is_none_or(|output| output.starts_with("unsupported call"));
            let failed = mcp.unwrap_or_else(unsupported);
            let output = output.unwrap_or_default();
            // Of recordings that do not have it the events tell whether it failed; of sub-agents they tell nothing.
            if self.of_sub_agents || mcp.is_some() || !name.starts_with("mcp__") {
                self.skills.wrote(&input);
                self.skills.tool(trace, name, &input, &output, failed);
            }
            return trace.push(Step::Tool { name: name.to_owned(), input, output, failed });
        }
        self.told.shell_calls += 1;
        let command = command_line(&input);
        self.skills.wrote(&command);
        // A patch applied through the shell is a change of files, and told as such on standard output.
        if command.trim_start().starts_with("apply_patch") {
            return;
        }
        let output = output.unwrap_or_default();
        let exit_code = exit_code(&output);
        let printed = output.split_once("Output:\n").map_or(output.as_str(), |(_, printed)| printed);
        self.skills.command(trace, &command, exit_code, printed);
        trace.command(command, exit_code, printed.to_owned());
    }

    /// Notes the calls that nobody answered any more. Returns what the file has told.
    pub(super) fn finish(mut self, trace: &mut TraceBuilder) -> RolloutFacts {
        while let Some(OpenCall { tool: name, input, .. }) = self.open.take_unanswered(trace) {
            let tool = if SHELL_TOOLS.contains(&name.as_str()) { "shell" } else { name.as_str() };
            if !name.ends_with(WAIT) {
                self.told.unanswered = Some(tool.to_owned());
            }
            self.ended(trace, &name, input, None, None);
        }
        std::mem::take(&mut self.code).finish(trace, self.skills);
        self.told
    }
}

/// The command in a shell tool's input: `{"cmd": "…"}` or `{"command": "…" | ["bash", "-lc", "…"]}`.
fn command_line(input: &str) -> String {
    let value: Value = serde_json::from_str(input).unwrap_or_default();
    match value.get("cmd").or_else(|| value.get("command")) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(words)) => {
            let words: Vec<String> = words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            script(&words)
        }
        _ => input.to_owned(),
    }
}

/// The script in the words of a command, where a shell is given one.
fn script(words: &[String]) -> String {
    match words {
        [_, flags, script] if flags.starts_with('-') && flags.contains('c') => script.clone(),
        _ => words.join(" "),
    }
}

fn output_text(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.get("content").and_then(Value::as_str).map_or_else(|| other.to_string(), str::to_owned),
    }
}

/// From "Process exited with code 3".
fn exit_code(output: &str) -> Option<i64> {
    let rest = output.split_once("exited with code ").or_else(|| output.split_once("Exit code: "))?.1;
    let digits: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '-').collect();
    digits.parse().ok()
}
