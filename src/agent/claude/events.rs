//! The lines that `claude --output-format stream-json` prints, from the CLI and under the Agent SDK alike.

use std::collections::{BTreeMap, HashMap};

use super::ending::{SyntheticMessage, stop};
use super::forks::{self, Forks};
use super::listing::AttachmentFacts;
use super::session::{BODY, SessionFacts};
use super::sub_agents::{self, FinishedTask, SubAgents};
use super::wire::{
    Assistant, Block, ControlRequest, InitLine, LineHead, RateLimit, ResultLine, Retry, ToolInput, User, UserLine,
    as_usage, by_model,
};
use crate::agent::refusal::Refusal;
use crate::agent::skill_calls::{SkillCalls, texts};
use crate::skill::USER_ONLY;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{
    Activation, AgentProgress, Mechanism, Moment, OfferedMcp, OfferedSkills, OpenCall, OpenCalls, Step, TraceBuilder,
    WaitingFor, excerpt,
};

/// The tool with which the model loads a skill.
const SKILL_TOOL: &str = "Skill";

/// How claude answers a call in the tool's place while it is being ended.
const INTERRUPTED: [&str; 2] = ["[Request interrupted by user", "The user doesn't want to proceed with this tool use."];

/// How claude stood when it began to be ended.
#[derive(Clone, Copy)]
struct InterruptedState {
    /// Whether it waited for a sub-agent.
    in_sub_agent: bool,
}

/// Reads the lines of one run.
pub(super) struct StreamDecoder<'a, 's> {
    skills: &'a mut SkillCalls<'s>,
    /// When each line was written, by its id, where the session file tells.
    times: HashMap<String, String>,
    /// What of the skills the model was shown at the start, where the session file tells.
    listed: AttachmentFacts,
    /// Calls without an answer yet.
    open: OpenCalls<ToolInput>,
    /// The agent's last word, where it is claude's and not the model's.
    synthetic: Option<SyntheticMessage>,
    /// The sub-agents whose last word is an error that claude tells in the model's place, by the calls that started them.
    refused: BTreeMap<String, SyntheticMessage>,
    sub_agents: SubAgents,
    /// Once claude is being ended, and answers the calls under way itself: what it was waiting for.
    interrupted: Option<InterruptedState>,
    /// The tool in whose place it answered last, of a sub-agent that standard output does not show.
    cut: Option<String>,
    /// The answer of the model that is being told, by its id.
    answer: Option<String>,
    /// Why claude asks again, until the model answers.
    retry: Option<Retry>,
}

impl<'a, 's> StreamDecoder<'a, 's> {
    pub(super) fn new(
        skills: &'a mut SkillCalls<'s>,
        SessionFacts { times, listed }: SessionFacts,
        forks: Forks,
    ) -> Self {
        let sub_agents = SubAgents::with(forks);
        Self {
            skills,
            times,
            listed,
            open: OpenCalls::default(),
            synthetic: None,
            refused: BTreeMap::new(),
            sub_agents,
            interrupted: None,
            cut: None,
            answer: None,
            retry: None,
        }
    }

    pub(super) fn line(&mut self, trace: &mut TraceBuilder, line: &[u8]) {
        let Ok(head) = serde_json::from_slice::<LineHead>(line) else {
            trace.damaged_lines += 1;
            return;
        };
        let parent = head.parent_tool_use_id.as_deref();
        let time = head.timestamp.or_else(|| self.times.get(head.uuid.as_deref()?).cloned());
        self.skills.at(time.as_deref());
        trace.now = Moment { began: None, ended: time, depth: u32::from(parent.is_some()) };
        if let Some(parent) = parent {
            self.sub_agents.shown(head.uuid, parent);
        }
        let subtype = head.subtype.as_deref().unwrap_or_default();
        let read = match (head.kind.as_str(), subtype) {
            ("system", "init") => parse(line).map(|init| self.init(trace, init)),
            ("system", "api_retry") => parse(line).map(|retry: Retry| {
                trace.push(Step::Notice(retry.to_string()));
                self.retry = Some(retry);
            }),
            ("system", "task_started") => parse(line).map(|task| self.sub_agents.begun(task)),
            ("system", "task_notification") => parse(line).map(|task| self.task_ended(&task)),
            ("assistant", _) => parse(line).map(|message| self.assistant(trace, message, parent)),
            ("user", _) => parse(line).map(|message| self.user(trace, message, parent)),
            ("result", _) => parse(line).map(|result| self.result(trace, result)),
            ("control_request", _) => parse(line).map(|request| Self::asked(trace, &request)),
            ("rate_limit_event", _) => parse(line).map(|limit| Self::rate_limit(trace, &limit)),
            // Steps on the way, and the other half of the dialogue.
            ("control_response" | "control_cancel_request" | "keep_alive" | "stream_event" | "tool_progress", _)
            | (
                "system",
                "status"
                | "compact_boundary"
                | "hook_started"
                | "hook_progress"
                | "hook_response"
                | "task_updated"
                | "task_progress"
                | "session_state_changed"
                | "model_refusal_no_fallback",
            ) => Some(()),
            ("system", other) => {
                trace.unknown(&format!("system {other}"));
                Some(())
            }
            (other, _) => {
                trace.unknown_event(other, line);
                Some(())
            }
        };
        if read.is_none() {
            unreadable(trace, &head.kind);
        }
        trace.now = Moment::default();
    }

    /// Reads a line of a sub-agent's own file, behind all of standard output.
    pub(super) fn sub_agents_line(&mut self, trace: &mut TraceBuilder, line: &[u8]) {
        let (Ok(head), Ok(own)) = (serde_json::from_slice::<LineHead>(line), serde_json::from_slice(line)) else {
            trace.damaged_lines += 1;
            return;
        };
        let Some(parent) = self.sub_agents.line(own, head.uuid.as_deref()) else { return };
        self.forked(trace, &parent);
        let depth = 1 + u32::from(self.sub_agents.is_nested(&parent));
        self.skills.at(head.timestamp.as_deref());
        trace.now = Moment { began: None, ended: head.timestamp, depth };
        // Standard output has said what was waited for.
        let waiting = trace.waiting.clone();
        let read = match head.kind.as_str() {
            "assistant" => parse(line).map(|message| self.assistant(trace, message, Some(&parent))),
            "user" => parse(line).map(|message| self.user(trace, message, Some(&parent))),
            // What claude notes for itself.
            _ => Some(()),
        };
        if read.is_none() {
            unreadable(trace, &head.kind);
        }
        (trace.now, trace.waiting) = (Moment::default(), waiting);
    }

    /// Notes the skill with which this sub-agent began where no call of a model accounts for it: the prompt called it.
    fn forked(&mut self, trace: &mut TraceBuilder, agent: &str) {
        let Some(skill) = self.sub_agents.forks.of(agent).map(str::to_owned) else { return };
        let is_it = |asked: &str| forks::own_slug(asked) == forks::own_slug(&skill);
        let asks_for =
            |call: &OpenCall<ToolInput>| call.tool == SKILL_TOOL && call.more.asked_skill().is_some_and(is_it);
        let called = |known: &Activation| known.how != Mechanism::ReadSkillFile && is_it(&known.skill);
        let by_model = trace.activations.iter().any(called) || self.open.last(asks_for).is_some();
        if !by_model {
            self.sub_agents.forks.called_by_user(agent);
            trace.activate(&skill, Mechanism::Injected, &format!("the prompt called /{skill}"));
        }
    }

    fn init(&self, trace: &mut TraceBuilder, init: InitLine) {
        trace.reached(AgentProgress::Started);
        if self.interrupted.is_none() {
            trace.waiting = WaitingFor::Model;
        }
        trace.agent_version = init.claude_code_version;
        trace.model = init.model;
        let tools = init.tools.0.into_iter().filter(|tool| tool.starts_with("mcp__")).collect();
        let servers = init.mcp_servers.0.into_iter().map(|server| (server.name, server.status)).collect();
        // What comes first are the skills that a user can call; the session file has those that the model is offered.
        let native = self.listed.names.clone().unwrap_or_else(|| init.skills.0.clone());
        let (mcp, described) = (Some(OfferedMcp { servers, tools }), self.listed.described.clone());
        trace.offered = Some(OfferedSkills { native, by_user: init.skills.0, mcp, described });
    }

    /// A message of the agent, or of the sub-agent that the call `parent` started.
    fn assistant(&mut self, trace: &mut TraceBuilder, line: Assistant, parent: Option<&str>) {
        let message = line.message;
        if message.is_synthetic() {
            let said: Vec<String> = message.content.0.into_iter().filter_map(|block| block.text).collect();
            let said = said.join(" ");
            trace.push(Step::Notice(said.clone()));
            let (retried, answered) = (self.retried(), trace.answers > 0);
            let stop_reason = message.stop_reason;
            let synthetic = SyntheticMessage { retried, answered, said, error: line.error, stop_reason };
            match parent {
                None => self.synthetic = Some(synthetic),
                Some(parent) => _ = self.refused.insert(parent.to_owned(), synthetic),
            }
            return;
        }
        self.retry = None;
        match parent {
            None => self.synthetic = None,
            Some(parent) => _ = self.refused.remove(parent),
        }
        trace.reached(AgentProgress::Answering);
        trace.answers += 1;
        if message.content.is_full() {
            trace.lose("a message of more parts than are read");
        }
        // One message may come in several lines, each with the usage of its start, of which only the input is right.
        if let (None, Some(usage)) = (parent, &message.usage) {
            trace.first_request(usage.input());
        }
        // Every line of one answer has the same id and the same usage.
        if let Some(usage) = message.usage.filter(|_| message.id.is_none() || message.id != self.answer) {
            trace.answered(trace.steps.len(), usage.input(), None);
            self.answer = message.id;
        }
        for block in message.content.0 {
            match block.kind.as_str() {
                "thinking" => trace.thought(block.thinking),
                "text" => {
                    let text = block.text.unwrap_or_default();
                    let by = if parent.is_some() { "(sub-agent) " } else { "" };
                    trace.push(Step::Message(format!("{by}{text}")));
                }
                "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                    self.call(trace, parent, block);
                }
                _ => {}
            }
        }
        self.wait(trace, parent);
    }

    /// Notes what the agent, or its sub-agent `parent`, waits for now: an answer to its last call that has none, else
    /// the model. A call that starts a sub-agent is a wait for that one's model.
    fn wait(&self, trace: &mut TraceBuilder, parent: Option<&str>) {
        if self.interrupted.is_some() {
            return;
        }
        trace.waiting = self.open.waiting(parent.unwrap_or_default());
    }

    /// A task that is stopped while its call waits for it is not stopped by the model.
    fn task_ended(&mut self, task: &FinishedTask) {
        self.sub_agents.ended(task);
        let call = task.tool_use_id.as_str();
        let waits = !call.is_empty() && self.open.last(|open| open.id == call).is_some();
        if waits && matches!(task.status.as_str(), "stopped" | "killed") {
            self.interrupt();
        }
    }

    /// Notes that claude is being ended: what it waits for now is what it was waiting for.
    fn interrupt(&mut self) {
        let in_sub_agent = self.waits_for_sub_agent();
        self.interrupted.get_or_insert(InterruptedState { in_sub_agent });
    }

    /// Whether the agent's own last call without an answer is one that started a sub-agent.
    fn waits_for_sub_agent(&self) -> bool {
        self.open.last(|call| call.by.is_empty()).is_some_and(|call| call.waits_for_agents)
    }

    fn call(&mut self, trace: &mut TraceBuilder, parent: Option<&str>, block: Block) {
        if block.id.is_none() {
            return;
        }
        let mut call = block.call(parent.unwrap_or_default());
        // Also that of a skill which runs as a sub-agent.
        let is_fork = |asked: &str| call.tool == SKILL_TOOL && self.sub_agents.forks.has(asked);
        call.waits_for_agents =
            sub_agents::TOOLS.contains(&call.tool.as_str()) || call.more.asked_skill().is_some_and(is_fork);
        if let Ok(input) = serde_json::from_str(&call.more.raw) {
            self.skills.wrote(&texts(&input));
        }
        self.open.made(trace, call);
    }

    fn user(&mut self, trace: &mut TraceBuilder, line: UserLine, parent: Option<&str>) {
        let User { content } = line.message;
        if content.is_full() {
            trace.lose("a message of more parts than are read");
        }
        // The body of a skill that claude put into the conversation.
        let bodies = content.0.iter().filter_map(|block| block.text.as_deref()).filter(|text| text.starts_with(BODY));
        for body in bodies {
            let folder = body.lines().next().unwrap_or_default();
            let _ = self.skills.injected(folder.rsplit('/').next().unwrap_or_default(), body);
        }
        for block in content.0.into_iter().filter(|block| block.kind == "tool_result") {
            let (by, id) = (parent.unwrap_or_default(), block.tool_use_id.unwrap_or_default());
            let output = block.content.map(|content| content.0).unwrap_or_default();
            let in_its_place = INTERRUPTED.iter().any(|words| output.starts_with(words));
            if in_its_place && self.open.last(|call| call.id == id && call.by == by).is_some() {
                self.interrupt();
            }
            let Some(call) = self.open.answered(trace, by, &id) else { continue };
            if in_its_place && self.is_untold(&call) {
                self.cut = Some(call.tool.clone());
            }
            let failed = block.is_error.unwrap_or(false);
            if parent.is_some() {
                self.sub_agents.called(&call.tool, failed);
            }
            self.ended(trace, call, output, failed);
        }
        self.wait(trace, parent);
    }

    /// Notes a call that was answered, or failed since nobody will.
    fn ended(&mut self, trace: &mut TraceBuilder, call: OpenCall<ToolInput>, output: String, failed: bool) {
        let OpenCall { tool: name, input, more: fields, .. } = call;
        let evidence = || format!("{name} {}", excerpt(&input));
        match name.as_str() {
            "Bash" => {
                let command = fields.command.unwrap_or(input);
                let exit_code = if failed { exit_code(&output) } else { Some(0) };
                self.skills.command(trace, &command, exit_code, &output);
                return trace.command(command, exit_code, output);
            }
            SKILL_TOOL => match fields.asked_skill() {
                // Nobody can know what would have become of it, unless models may not call it at all.
                Some(_) if failed && output.contains(USER_ONLY) => trace.inspect(&evidence()),
                // A skill that could not be loaded was not used; that it was wanted is told.
                Some(skill) if failed && !self.sub_agents.forks.has(skill) => {
                    trace.failed_load(skill, Mechanism::SkillTool, &evidence());
                }
                Some(skill) => trace.activate(skill, Mechanism::SkillTool, &evidence()),
                None => trace.lose("a call of the skill tool that names no skill"),
            },
            "Read" | "NotebookRead" => {
                let path = fields.file_path.unwrap_or_default();
                self.skills.file(trace, &path, &evidence(), failed, &output);
            }
            "Glob" | "Grep" | "LS" => {
                self.skills.shown(trace, &fields.raw, &evidence(), &output, !failed);
            }
            "Write" | "Edit" | "MultiEdit" | "NotebookEdit" if !failed => {
                let path = fields.file_path.or(fields.notebook_path).unwrap_or_default();
                return trace.push(Step::FileChange(vec![path]));
            }
            _ => self.skills.tool(trace, &name, &fields.raw, &output, failed),
        }
        trace.push(Step::Tool { name, input, output, failed });
    }

    fn result(&mut self, trace: &mut TraceBuilder, result: ResultLine) {
        trace.turns = result.num_turns;
        (trace.agent_duration_ms, trace.api_duration_ms) = (result.duration_ms, result.duration_api_ms);
        trace.models = by_model(&result);
        trace.usage = as_usage(&result).or(trace.usage);
        for denial in result.permission_denials.0 {
            trace.deny(&denial.tool_name, denial.tool_input.as_deref().map_or("", |raw| raw.get()));
        }
        let text = result.result.unwrap_or_default();
        let synthetic = self.synthetic.take().filter(|synthetic| !synthetic.said.is_empty());
        if self.interrupted.is_none() {
            trace.waiting = WaitingFor::Nothing;
        }
        self.sub_agents.answered();
        if let Some(stop) = stop(&result.subtype, result.stop_reason.as_deref(), synthetic.as_ref()) {
            trace.stopped = Some(stop);
        } else if result.is_error.unwrap_or(false) {
            let status = result.api_error_status.map(|status| format!("{status} ")).unwrap_or_default();
            let words = [&status, result.subtype.as_str(), " ", &text, " ", &result.errors.0.join("; ")].concat();
            let code = synthetic.as_ref().and_then(|synthetic| synthetic.error.as_deref());
            let (status, retried) = (result.api_error_status, self.retried());
            let kind = Refusal { status, code, message: &text, retried }.kind();
            trace.trouble = Some(Trouble::new(kind, format!("the result is an error: {}", excerpt(&words))));
        } else if let Some(synthetic) = synthetic {
            // A limit of the account is told as an answer like any other, with a good exit status.
            trace.trouble = Some(synthetic.trouble("claude answered in the model's place"));
        } else {
            trace.reached(AgentProgress::Done);
            trace.final_message = Some(text);
        }
    }

    /// The HTTP status that claude retries, if the model has not answered since.
    fn retried(&self) -> Option<u64> {
        self.retry.as_ref()?.error_status
    }

    fn asked(trace: &mut TraceBuilder, line: &ControlRequest) {
        let tool = line.request.tool_name.as_deref().unwrap_or_default();
        trace.push(Step::Notice(format!("claude asked: {} {tool}", line.request.subtype)));
    }

    fn rate_limit(trace: &mut TraceBuilder, line: &RateLimit) {
        let status = line.rate_limit_info.status.as_deref().unwrap_or("unknown");
        if status != "allowed" {
            trace.push(Step::Notice(format!("rate limit: {status}")));
        }
    }

    /// What a sub-agent waits for that standard output does not show, where the agent waits for its sub-agents: a tool of
    /// its own, else nothing but the model.
    fn nested_wait(&self) -> Option<WaitingFor> {
        let in_sub_agent = self.interrupted.map_or_else(|| self.waits_for_sub_agent(), |then| then.in_sub_agent);
        let open = self.open.last(|call| self.is_untold(call)).map(|call| call.tool.clone());
        let in_sub_agent = in_sub_agent || self.sub_agents.forks.any_by_user();
        open.or_else(|| self.cut.clone()).filter(|_| in_sub_agent).map(WaitingFor::Tool)
    }

    /// Whether a call is one of a sub-agent that standard output does not show, to a tool that is no sub-agent.
    fn is_untold(&self, call: &OpenCall<ToolInput>) -> bool {
        !call.by.is_empty() && self.sub_agents.is_untold(&call.by) && !call.waits_for_agents
    }

    /// Notes the calls that nobody answered any more.
    pub(super) fn finish(mut self, trace: &mut TraceBuilder) {
        trace.interrupted = self.interrupted.is_some();
        if self.sub_agents.are_hidden() {
            trace.lose("what a sub-agent did: the file in which claude keeps that is missing");
        }
        if trace.waiting == WaitingFor::Nothing && self.sub_agents.are_waited_for() {
            trace.waiting = WaitingFor::Model;
        }
        if trace.waiting == WaitingFor::Model {
            trace.waiting = self.nested_wait().unwrap_or(WaitingFor::Model);
        }
        // A sub-agent that was refused did not do its part, whatever the agent made of that.
        if let Some(refused) = self.refused.values().find(|refused| refused.is_refusal()) {
            trace.trouble.get_or_insert_with(|| refused.trouble("a sub-agent was refused"));
        }
        // One that was still asking again waited for its provider, however it was ended.
        if let Some(retry) = self.retry.take_if(|_| !trace.ended()) {
            trace.trouble.get_or_insert_with(|| retry.trouble());
        }
        // Where no model was asked, as of a command that claude answers itself, nothing was measured. One that was asked and
        // said nothing read its prompt.
        let read = trace.usage.is_some_and(|usage| usage.input_tokens > 0);
        if trace.progress == AgentProgress::Done && trace.answers == 0 && !read {
            let nobody = || Trouble::new(TroubleKind::NoAnswer, "claude ended without an answer of a model");
            trace.trouble.get_or_insert_with(nobody);
        }
        while let Some(call) = self.open.take_unanswered(trace) {
            self.ended(trace, call, String::new(), true);
        }
    }
}

/// Notes a line of which only the kind could be read.
fn unreadable(trace: &mut TraceBuilder, kind: &str) {
    let what = format!("{kind} of another shape");
    trace.unknown(&what);
    // Calls and their answers are in these, and the end.
    if ["assistant", "user", "result"].contains(&kind) {
        trace.lose(&what);
    }
}

fn parse<'a, T: serde::Deserialize<'a>>(line: &'a [u8]) -> Option<T> {
    serde_json::from_slice(line).ok()
}

/// From "Exit code 3" at the start of what a command printed.
fn exit_code(output: &str) -> Option<i64> {
    let rest = output.trim_start_matches("Error: ").strip_prefix("Exit code ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
