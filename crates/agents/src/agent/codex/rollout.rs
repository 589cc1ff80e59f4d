//! codex's rollout file: everything that went to and from the model, one JSON object per line.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::calls_skill;
use super::wire::{CodexTokens, CompletedItem, McpCall, RanCommand, RolloutError, RolloutLine, RolloutPayload};
use crate::agent::interface::TurnSign;
use crate::agent::recorder::{EndedCall, ToolUse, TraceRecorder, texts};
use crate::lint::SkillList;
use crate::profile::AgentKind;
use crate::skill::{Skill, slug};
use crate::text::redact::Masked;
use crate::trace::{Mechanism, Moment, OfferedSkills, OpenCall, OpenCalls, Step, Usage, excerpt, shell, spoken};

/// The tools with which models run shell commands, in the versions of codex so far.
const SHELL_TOOLS: &[&str] = AgentKind::Codex.profile().tools.shells;

/// Lines that the model did not write and that do not show what the agent did.
const IGNORED: [&str; 4] = ["compaction", "ghost_snapshot", "additional_tools", "agent_message"];

/// The start of a skill that codex put into the conversation.
pub(super) const SKILL: &str = "<skill>\n<name>";

/// The types of lines that are a call.
const CALLS: [&str; 4] = ["function_call", "custom_tool_call", "local_shell_call", TOOL_SEARCH];

/// How codex answers a call of a tool that it does not have.
const UNSUPPORTED: &str = AgentKind::Codex.profile().tools.lacks[0];

/// A search for tools, which has no tool's name.
const TOOL_SEARCH: &str = "tool_search_call";

/// The types of lines that are the answer to a call.
const ANSWERS: [&str; 3] = ["function_call_output", "custom_tool_call_output", "tool_search_output"];

/// Whether a line of another kind may be an item of the conversation, by its payload's type.
pub(super) fn may_be_item(kind: Option<&str>) -> bool {
    kind.is_some_and(|kind| {
        ["message", "reasoning"].contains(&kind) || kind.ends_with("_call") || kind.ends_with("_output")
    })
}

/// What a line says about the model's calls.
pub(super) fn turn_sign(line: &[u8]) -> Option<TurnSign> {
    let line = serde_json::from_slice::<RolloutLine<'_>>(line).ok().filter(|line| line.kind == "response_item")?;
    let RolloutPayload { kind, call_id, .. } = serde_json::from_str(line.payload.get()).ok()?;
    let (kind, call) = (kind?, call_id?);
    if CALLS.contains(&kind.as_str()) {
        return Some(TurnSign::Called { call, answer: None });
    }
    ANSWERS.contains(&kind.as_str()).then_some(TurnSign::Answered(call))
}

/// What a rollout reported, so that the events need not report it again.
#[derive(Debug, Default)]
pub(super) struct RolloutFacts {
    /// Whether it has messages and commands.
    pub conversation: bool,
    /// The skills that the prompt calls.
    called: Vec<String>,
    pub shell_calls: Vec<RanCommand>,
    /// How many calls of tools of MCP servers ended; old recordings have none.
    pub mcp_calls: usize,
    pub thoughts: bool,
    /// The last message of the agent itself.
    pub last_message: Option<String>,
    pub error: Option<RolloutError>,
    /// The errors with which sub-agents ended, by sub-agent.
    pub refused: BTreeMap<String, RolloutError>,
    /// The sub-agents that were started, by id or name.
    pub spawned: Vec<String>,
    /// The sub-agents with a rollout, by id and by name.
    pub threads: Vec<String>,
    /// What the requests of sub-agents took.
    pub usage: Usage,
    /// The last tool that did not answer.
    pub unanswered: Option<String>,
}

/// Reads the rollout of a run, or the rollouts of its sub-agents one after the other.
pub(super) struct RolloutDecoder<'a, 's> {
    pub recorder: &'a mut TraceRecorder<'s>,
    of_sub_agents: bool,
    thread: String,
    /// Whether the agent has answered the last message of the user.
    completed: bool,
    /// Whether the current lines are a copy of the parent's conversation.
    copied: bool,
    /// How deep each sub-agent is under the agent.
    depths: HashMap<String, u32>,
    /// The first step of the current answer of the model.
    turn: Option<usize>,
    open: OpenCalls,
    /// The completed items so far.
    items: HashSet<String>,
    /// The calls of tools of MCP servers that have ended and have no answer yet, and whether they failed.
    mcp_failures: HashMap<String, bool>,
    code: CodeCalls,
    facts: RolloutFacts,
}

impl<'a, 's> RolloutDecoder<'a, 's> {
    pub(super) fn new(recorder: &'a mut TraceRecorder<'s>, of_sub_agents: bool) -> Self {
        Self {
            recorder,
            of_sub_agents,
            thread: String::new(),
            completed: false,
            copied: false,
            depths: HashMap::new(),
            turn: None,
            open: OpenCalls::default(),
            items: HashSet::new(),
            mcp_failures: HashMap::new(),
            code: CodeCalls::default(),
            facts: RolloutFacts::default(),
        }
    }

    pub(super) fn line(&mut self, line: &[u8]) {
        let Ok(RolloutLine { kind, timestamp, payload: raw }) = serde_json::from_slice::<RolloutLine<'_>>(line) else {
            self.recorder.trace.damaged(line);
            return;
        };
        let Ok(payload) = serde_json::from_str::<RolloutPayload>(raw.get()) else {
            // Lines of other kinds may have payloads of any shape. Only the conversation counts.
            if kind == "response_item" {
                self.recorder.trace.lose("a response_item of another shape");
            }
            return;
        };
        let depth = self.depths.get(&self.thread).copied().unwrap_or(u32::from(self.of_sub_agents));
        self.recorder.set_time(timestamp.0.as_deref());
        self.recorder.trace.now = Moment { began: None, ended: timestamp.0, depth, ..Moment::default() };
        match (kind.as_str(), payload.kind.as_deref()) {
            ("session_meta", _) if self.of_sub_agents => self.sub_agent(payload),
            ("session_meta", _) => {
                self.recorder.trace.agent_version = payload.cli_version.0.filter(|version| !version.is_empty());
            }
            ("token_usage_record", _) => self.tokens(payload.usage.0.as_ref()),
            ("turn_context", _) if !self.of_sub_agents => {
                let model = payload.model.0.or(self.recorder.trace.model.take());
                self.recorder.trace.model = model;
            }
            ("event_msg", Some("error" | "task_complete" | "stream_error")) => self.error(&payload),
            ("event_msg", Some("item_completed")) => self.item(payload.item.0.unwrap_or_default()),
            ("response_item", Some(_)) => {
                if std::mem::take(&mut self.completed) {
                    self.recorder.trace.followed_up();
                }
                self.response(payload);
            }
            ("response_item", None) => self.recorder.trace.lose("a response_item without a type"),
            ("compacted", _) => self.recorder.trace.may_ask(),
            ("event_msg" | "turn_context", _) => {}
            (other, kind) if may_be_item(kind) => self.recorder.trace.lose(&format!("a line `{other}`")),
            _ => {}
        }
    }

    fn response(&mut self, payload: RolloutPayload) {
        let kind = payload.kind.clone().unwrap_or_default();
        let is_by_model = payload.role.as_deref().is_none_or(|role| role == "assistant")
            && !kind.ends_with("_output")
            && !IGNORED.contains(&kind.as_str());
        if is_by_model {
            self.turn.get_or_insert(self.recorder.trace.steps.len());
            self.facts.refused.remove(&self.thread);
        }
        match kind.as_str() {
            "message" => self.message(&payload),
            "reasoning" => self.thought(payload),
            // The task of a sub-agent: the copy of its parent's conversation ends.
            "agent_message" => self.copied = false,
            "web_search_call" => {}
            "compaction" => self.recorder.trace.may_ask(),
            kind if CALLS.contains(&kind) => self.call(payload),
            kind if ANSWERS.contains(&kind) => self.answer(&payload),
            kind if IGNORED.contains(&kind) => {}
            other => self.recorder.trace.unknown_item(&format!("response_item {other}")),
        }
    }

    /// The first line of a sub-agent's rollout. The same line of its parent follows if the sub-agent has a copy of its
    /// parent's conversation.
    fn sub_agent(&mut self, first: RolloutPayload) {
        self.copied = true;
        if let (Some(id), Some(parent)) = (first.id.0, first.parent_thread_id.0)
            && !self.facts.threads.contains(&id)
        {
            self.copied = false;
            self.facts.threads.extend([Some(id.clone()), first.agent_path.0].into_iter().flatten());
            let parent_depth = self.depths.get(&parent).copied().unwrap_or(0);
            self.depths.insert(id.clone(), parent_depth.saturating_add(1));
            self.thread = id;
        }
    }

    /// Records what an answer of the model took.
    fn tokens(&mut self, tokens: Option<&CodexTokens>) {
        let trace = &mut self.recorder.trace;
        if !self.of_sub_agents {
            trace.answers += 1;
            trace.model_answered();
        }
        let Some(tokens) = tokens else { return };
        let usage = tokens.usage();
        let step = self.turn.take().unwrap_or(trace.steps.len());
        trace.answered(step, usage);
        if self.of_sub_agents {
            self.facts.usage = self.facts.usage.plus(usage);
        } else {
            trace.first_request(usage.input_tokens);
        }
    }

    /// Keeps an error, and how long the task took. A sub-agent's error counts only if its model does not answer after it.
    fn error(&mut self, payload: &RolloutPayload) {
        let error = payload.reported_error();
        if !self.of_sub_agents {
            let trace = &mut self.recorder.trace;
            if let Some(duration_ms) = payload.duration_ms.0 {
                let before = trace.agent_duration_ms.filter(|_| !trace.follow_ups_at.is_empty());
                trace.agent_duration_ms = Some(before.unwrap_or(0) + duration_ms);
            }
            self.completed = payload.kind.as_deref() == Some("task_complete");
            self.facts.error = error.or(self.facts.error.take());
        } else if let Some(error) = error {
            self.facts.refused.insert(self.thread.clone(), error);
        }
    }

    /// Records a command of the model's code, and whether a call of an MCP server's tool failed.
    fn item(&mut self, item: CompletedItem) {
        let id = item.id.0.clone().map(|id| self.unique_id(&id));
        if id.is_some_and(|id| !self.items.insert(id)) {
            return;
        }
        if let Some(call) = item.mcp_call() {
            self.facts.mcp_calls += 1;
            if item.is_by_code() {
                self.code.called_mcp(call, self.recorder.trace.steps.len());
            } else {
                self.mcp_failures.insert(self.unique_id(&item.id.0.unwrap_or_default()), call.failed);
            }
        } else if item.is_command_by_code() {
            let command = script(&item.command.0.unwrap_or_default());
            if !self.of_sub_agents {
                let printed = item.aggregated_output.0.as_deref();
                self.facts.shell_calls.push(RanCommand::new(command.clone(), printed));
            }
            self.code.ran(&command);
            self.recorder.scripts_ran(&command, item.exit_code.0);
            let output = item.aggregated_output.0.unwrap_or_default();
            self.recorder.trace.command(command, item.exit_code.0, output);
        }
    }

    /// Records the model's thoughts, or its summary of them.
    fn thought(&mut self, payload: RolloutPayload) {
        let parts = payload.summary.0.into_iter().chain(payload.content).flatten();
        let texts: Vec<String> = parts.filter_map(|part| part.text().ok().map(str::to_owned)).collect();
        self.facts.thoughts = true;
        self.recorder.trace.thought(Some(texts.join("\n\n")));
    }

    fn message(&mut self, payload: &RolloutPayload) {
        if payload.content.is_none() {
            self.recorder.trace.lose("a message without content");
        }
        for part in payload.content.iter().flatten() {
            let text = match part.text() {
                Ok(text) => text,
                Err(kind) => {
                    self.recorder.trace.lose(&format!("a part `{kind}` of a message"));
                    continue;
                }
            };
            match payload.role.as_deref() {
                Some("developer") if !self.of_sub_agents => {
                    if let Some(list) = skill_list_in(text) {
                        let native = listed_skills(list).map(|(name, _)| name.to_owned()).collect();
                        let described = self.recorder.listed(listed_skills(list));
                        let offered = OfferedSkills { native, described, ..OfferedSkills::default() };
                        self.recorder.trace.offered = Some(offered);
                    }
                }
                Some("user") => {
                    if let Some((name, _)) = text.strip_prefix(SKILL).and_then(|body| body.split_once("</name>"))
                        // A prompt may have the tags, but not the skill's text.
                        && self.recorder.injected(name, text)
                    {
                        let evidence = "codex put the skill into the conversation";
                        self.recorder.trace.activate(name, Mechanism::Injected, evidence);
                    } else if !self.of_sub_agents {
                        self.calls_skills(text);
                    }
                }
                Some("assistant") => {
                    self.facts.conversation = true;
                    self.recorder.message(text);
                    if !self.of_sub_agents {
                        self.facts.last_message = spoken(text.to_owned()).or(self.facts.last_message.take());
                    }
                }
                Some("developer" | "system") => {}
                role => self.recorder.trace.lose(&format!("a message of `{}`", role.unwrap_or("nobody"))),
            }
        }
        // There is always a developer message. If none has the list, codex offered no skills.
        if payload.role.as_deref() == Some("developer") && !self.of_sub_agents {
            self.recorder.trace.offered.get_or_insert_default();
        }
    }

    /// Notes the skills that a message of the user calls: codex puts their texts into the conversation.
    fn calls_skills(&mut self, text: &str) {
        let offered = self.recorder.trace.offered.iter().flat_map(|offered| &offered.native);
        let called: Vec<String> = offered.filter(|name| calls_skill(text, name)).cloned().collect();
        self.facts.called.extend(called);
    }

    fn call(&mut self, payload: RolloutPayload) {
        self.facts.conversation = true;
        // These have no name, and the shell's input is in another field.
        let is_shell = payload.kind.as_deref() == Some("local_shell_call");
        let is_search = payload.kind.as_deref() == Some(TOOL_SEARCH);
        let of_kind = || is_shell.then_some("shell").or(is_search.then_some("tool_search")).map(str::to_owned);
        let name = payload.name.or_else(of_kind);
        let input = match payload.arguments {
            Value::Null => payload.input.or_else(|| is_shell.then(String::new)),
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        };
        let (Some(id), Some(name), Some(input)) = (payload.call_id, name, input) else {
            return self.recorder.trace.lose("a call without an id, a name or an input");
        };
        let tool = payload.namespace.map_or(name.clone(), |namespace| format!("{namespace}__{name}"));
        if !self.of_sub_agents {
            self.recorder.trace.model_called();
        }
        if !self.copied {
            self.code.called(&tool, &input);
        }
        let call = OpenCall { by: self.thread.clone(), id, tool, input, waits_for_agents: false, more: () };
        self.open.made(&mut self.recorder.trace, call);
    }

    fn answer(&mut self, payload: &RolloutPayload) {
        let Some(call_id) = payload.call_id.as_deref() else { return };
        let id = self.unique_id(call_id);
        let Some(call) = self.open.answered(&mut self.recorder.trace, &self.thread, call_id) else {
            return self.code.notified(self.recorder, &id, &output_text(&payload.output).unwrap_or_default());
        };
        let output = match &payload.tools {
            Value::Null => output_text(&payload.output),
            tools => Some(texts(tools)),
        };
        if call.tool.ends_with("spawn_agent") {
            let answer: Value = serde_json::from_str(output.as_deref().unwrap_or_default()).unwrap_or_default();
            // Models that write code know their sub-agents by name.
            let name = answer.get("agent_id").or_else(|| answer.get("task_name"));
            self.facts.spawned.extend(name.and_then(Value::as_str).map(str::to_owned));
        }
        let mcp_failed = self.mcp_failures.remove(&id);
        if CodeCalls::is_code(&call.tool) {
            let ended = EndedCall { tool: call.tool, input: call.input, output, failed: false };
            return self.code.answered(self.recorder, id, ended);
        }
        self.ended(call, output, mcp_failed);
    }

    /// A call's id, unique among all sub-agents.
    fn unique_id(&self, id: &str) -> String {
        format!("{}/{id}", self.thread)
    }

    /// Records a call with its answer, if it has one. `mcp_failed` says whether a call of an MCP server's tool failed, if
    /// that is known.
    fn ended(&mut self, call: OpenCall, output: Option<String>, mcp_failed: Option<bool>) {
        let OpenCall { tool, input, .. } = call;
        let is_unsupported = output.as_deref().is_none_or(|output| output.starts_with(UNSUPPORTED));
        let failed = mcp_failed.unwrap_or(is_unsupported);
        if SHELL_TOOLS.contains(&tool.as_str()) {
            let Some(command) = command_line(&input) else {
                let call = EndedCall { tool, input, output, failed };
                return self.recorder.ended(call, ToolUse::Shell { command: None, exit_code: None });
            };
            self.recorder.wrote(&command);
            let is_running = output.as_ref().is_some_and(|output| output.contains("session ID"));
            let exit_code = output.as_deref().and_then(exit_code);
            let printed = |output: String| match output.split_once("Output:\n") {
                Some((_, printed)) => printed.to_owned(),
                None => output,
            };
            let output = output.map(printed);
            let printed = output.as_deref().filter(|_| !is_running);
            self.facts.shell_calls.push(RanCommand::new(shell::passed_script(&command), printed));
            // Standard output reports a patch by a shell command as a change of files.
            if !command.trim_start().starts_with("apply_patch") {
                let call = EndedCall { tool, input, output, failed };
                self.recorder.ended(call, ToolUse::Shell { command: Some(command), exit_code });
            }
        } else if self.of_sub_agents || mcp_failed.is_some() || !tool.starts_with("mcp__") {
            self.recorder.wrote(&input);
            self.recorder.ended(EndedCall { tool, input, output, failed }, ToolUse::Other);
        } else {
            // An old recording: only the events report whether the call failed.
            let output = output.unwrap_or_default();
            self.recorder.trace.push(Step::Tool { name: tool, input, output, failed });
        }
    }

    /// Records the calls without an answer. Returns what the rollout reported.
    pub(super) fn finish(mut self) -> RolloutFacts {
        while let Some(call) = self.open.take_unanswered(&mut self.recorder.trace) {
            if !call.tool.ends_with("wait_agent") {
                let is_shell = SHELL_TOOLS.contains(&call.tool.as_str());
                self.facts.unanswered = Some(if is_shell { "shell".to_owned() } else { call.tool.clone() });
            }
            self.ended(call, Some(String::new()), None);
        }
        self.code.finish(self.recorder);
        let trace = &mut self.recorder.trace;
        for skill in std::mem::take(&mut self.facts.called) {
            if !trace.activations.iter().any(|activation| activation.skill == skill) {
                trace.lose(&format!("the text of the skill `{skill}`, which the prompt calls"));
            }
        }
        self.facts
    }
}

/// The command in a shell tool's input: `{"cmd": "…"}` or `{"command": "…" | ["bash", "-lc", "…"]}`.
fn command_line(input: &str) -> Option<String> {
    let value: Value = serde_json::from_str(input).ok()?;
    Some(match value.get("cmd").or_else(|| value.get("command"))? {
        Value::String(text) => text.clone(),
        Value::Array(words) => {
            let words: Vec<String> = words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            script(&words)
        }
        _ => return None,
    })
}

/// The script of a command that starts a shell; otherwise the command.
fn script(words: &[String]) -> String {
    match words {
        [_, flags, script] if flags.starts_with('-') && flags.contains('c') => script.clone(),
        _ => words.join(" "),
    }
}

/// The text of an output; `None` if there is none.
fn output_text(output: &Value) -> Option<String> {
    Some(match output {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect::<Vec<_>>().join("\n")
        }
        Value::Null => return None,
        other => other.get("content").and_then(Value::as_str).map_or_else(|| other.to_string(), str::to_owned),
    })
}

/// The 3 of "Process exited with code 3".
fn exit_code(output: &str) -> Option<i64> {
    let rest = output.split_once("exited with code ").or_else(|| output.split_once("Exit code: "))?.1;
    let digits: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '-').collect();
    digits.parse().ok()
}

// What the model's code did. Recent models write JavaScript that calls the tools, and see only what the code prints.

/// The tool with which a model runs its own code.
pub(super) const CODE: &str = "functions__exec";

/// The tool with which it waits for code that takes longer.
const WAIT: &str = "functions__wait";

/// The tools with which code runs shell commands.
const SHELLS: [&str; 3] = ["exec_command", "shell_command", "local_shell"];

/// How a part of the code begins that may run more than once, without white space.
const REPEATS: [&str; 6] = ["for(", "forawait(", "while(", "do{", "=>", "function"];

/// What the code of a model and its sub-agents did.
#[derive(Debug, Default)]
struct CodeCalls {
    /// Calls with an answer, by id.
    answered: HashMap<String, AnsweredCall>,
    /// Calls of tools of MCP servers, each with the code's step.
    mcp_calls: Vec<(McpCall, usize)>,
    /// Commands since the last answer.
    new_commands: Vec<String>,
    /// How many commands the code may have run.
    possible_commands: u64,
    /// How many commands codex reported.
    reported_commands: u64,
}

#[derive(Debug)]
struct AnsweredCall {
    /// The code, and the commands that it ran.
    call: String,
    evidence: String,
    step: usize,
}

impl CodeCalls {
    /// Whether this tool runs code, or waits for code.
    fn is_code(tool: &str) -> bool {
        [CODE, WAIT].contains(&tool)
    }

    /// The model called this tool, maybe to run code.
    pub(super) fn called(&mut self, tool: &str, input: &str) {
        if tool == CODE {
            self.possible_commands = self.possible_commands.saturating_add(possible_commands(input));
        }
    }

    /// The code ran a command.
    pub(super) fn ran(&mut self, command: &str) {
        self.reported_commands += 1;
        self.new_commands.push(command.to_owned());
    }

    /// The call with this id was answered.
    pub(super) fn answered(
        &mut self,
        recorder: &mut TraceRecorder<'_>,
        id: String,
        EndedCall { tool: name, input, output, .. }: EndedCall,
    ) {
        let output = recorder.read(&name, output);
        let call = format!("{input}\n{}", std::mem::take(&mut self.new_commands).join("\n"));
        let evidence = format!("{name} {}", excerpt(&input));
        recorder.wrote(&input);
        recorder.shown(&call, &evidence, &output, true);
        self.answered.insert(id, AnsweredCall { call, evidence, step: recorder.trace.steps.len() });
        let failed = output.starts_with("unsupported call");
        recorder.trace.push(Step::Tool { name, input, output, failed });
    }

    /// The code called `notify`: the model sees the text with the call's answer. Each text is a line with the call's id.
    pub(super) fn notified(&self, recorder: &mut TraceRecorder<'_>, id: &str, text: &str) {
        let Some(AnsweredCall { call, evidence, step }) = self.answered.get(id) else { return };
        recorder.trace.at = Some(*step);
        recorder.shown(call, evidence, text, true);
        recorder.trace.at = None;
        if let Some(Step::Tool { output, .. }) = recorder.trace.steps.get_mut(*step) {
            *output = Masked::stored(format!("{output}\n{text}")).cut();
        }
    }

    /// The code called a tool of an MCP server at this step.
    fn called_mcp(&mut self, call: McpCall, step: usize) {
        self.mcp_calls.push((call, step));
    }

    /// Records which skills the code requested, now that everything it printed is known.
    pub(super) fn finish(self, recorder: &mut TraceRecorder<'_>) {
        for (McpCall { tool, input, failed }, step) in self.mcp_calls {
            recorder.trace.at = Some(step);
            recorder.called_by_code(&tool, &input, failed);
            recorder.trace.at = None;
        }
        let unreported = self.possible_commands.saturating_sub(self.reported_commands);
        recorder.trace.unreported_commands = recorder.trace.unreported_commands.saturating_add(unreported);
    }
}

/// The most commands that code can have run: codex may not report a command whose error looks like a sandbox's. The
/// maximum is unknown (`u64::MAX`) if a part with commands may run more than once.
fn possible_commands(code: &str) -> u64 {
    let code: String = code.split_whitespace().collect();
    let repeat = REPEATS.iter().filter_map(|word| code.find(word)).min().unwrap_or(code.len());
    let mut named = 0;
    let mut called_once = 0;
    for tool in SHELLS {
        named += code.matches(tool).count();
        called_once += code[..repeat].matches(&format!("tools.{tool}(")).count();
    }
    let is_known = named == called_once && !code.contains("tools[");
    if is_known { u64::try_from(named).unwrap_or(u64::MAX) } else { u64::MAX }
}

// The list of skills that codex shows its model, in a message of its own.

/// codex gives the list 2 % of the model's window, in tokens of four bytes; each line takes whole tokens. codex's own skills
/// take 432 of them. Measured with its default window of 272,000 tokens.
pub(super) static LISTINGS: [SkillList; 1] = [SkillList {
    agent: "codex",
    window: "272,000",
    room: 5_440 - 432,
    unit: "tokens",
    takes: |skill: &Skill| {
        let description: usize = skill.description.chars().take(MAX_DESCRIPTION).map(char::len_utf8).sum();
        (LINE_BYTES + skill.name.len() + skill.slug.len() + description).div_ceil(4)
    },
    bare: |_| 0,
    beyond: "it cuts the longest descriptions, and where that is not enough all of them",
}];

/// How many characters of a description codex shows at most.
const MAX_DESCRIPTION: usize = 1_024;

/// The bytes of `- : (file: r0//SKILL.md)` and the line break.
const LINE_BYTES: usize = 26;

/// The tags around the list.
const TAGS: [&str; 2] = ["<skills_instructions>", "</skills_instructions>"];

/// The heading before the entries.
const HEADING: &str = "### Available skills";

/// The list in a message of codex, if it has one.
pub(super) fn skill_list_in(text: &str) -> Option<&str> {
    let list = text.split_once(TAGS[0])?.1;
    Some(list.split_once(TAGS[1]).map_or(list, |(list, _)| list))
}

/// A line `- name: description (file: r1/name/SKILL.md)`.
struct SkillLine<'a> {
    name: &'a str,
    /// As much of the description as codex shows.
    description: &'a str,
    /// `r1/name/SKILL.md)`.
    file: &'a str,
}

fn entries(list: &str) -> impl Iterator<Item = SkillLine<'_>> {
    let list = list.split_once(HEADING).map_or(list, |(_, list)| list);
    list.lines().filter_map(|line| {
        let (entry, file) = line.strip_prefix("- ")?.rsplit_once("(file: ")?;
        let (name, description) = entry.split_once(": ")?;
        Some(SkillLine { name, description, file })
    })
}

/// The names of the skills in a list, each with as much of its description as codex shows.
fn listed_skills(list: &str) -> impl Iterator<Item = (&str, &str)> {
    entries(list).map(|entry| (entry.name, entry.description))
}

/// A list as a recording stores it: only with the descriptions of skills with these slugs.
pub(super) fn slimmed(list: &str, skills: &[&str]) -> String {
    let entries = entries(list).map(|SkillLine { name, description, file }| {
        let description = if skills.contains(&slug(name).as_str()) { description.trim_end() } else { "…" };
        let space = if description.is_empty() { "" } else { " " };
        format!("- {name}: {description}{space}(file: {file}\n")
    });
    let [open, close] = TAGS;
    format!("{open}\n{HEADING}\n{}{close}", entries.collect::<String>())
}
