//! The lines that `claude --output-format stream-json` prints, from the CLI and under the Agent SDK.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use serde_json::Value;

use super::session::{
    AttachmentFacts, BODY, FinishedTask, Forks, SessionFacts, SubAgents, TranscriptLine, skill_of_body,
    slug_without_plugin,
};
use super::wire::{
    Assistant, ControlRequest, InitLine, LineHead, MessageBlock, MessageContent, MessageLine, ModelMessage, RateLimit,
    ResultLine, Retry, ToolInput, parse,
};
use crate::agent::claude::session;
use crate::agent::field::Lenient;
use crate::agent::interface::WorkOwner;
use crate::agent::recorder::{EndedCall, ToolUse, TraceRecorder, texts};
use crate::agent::refusal::Refusal;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{
    AgentProgress, Mechanism, Moment, OfferedMcp, OfferedSkills, OpenCall, OpenCalls, Step, StopReason, WaitingFor,
    excerpt, spoken,
};

/// The tool with which the model loads a skill.
const SKILL_TOOL: &str = "Skill";

/// The tool with which the model gives an answer that follows a schema.
const STRUCTURED: &str = "StructuredOutput";

/// Reads the lines of one run. `by` is the name of the sub-agent of a line or call; it is empty for the agent itself.
pub(super) struct StreamDecoder<'a, 's> {
    recorder: &'a mut TraceRecorder<'s>,
    /// When each line was written, by its id, if the session file shows it.
    times: HashMap<String, String>,
    /// The ids of the agent's answers, if the session file shows them.
    turn_ends: HashSet<String>,
    attachments: AttachmentFacts,
    open: OpenCalls<ToolInput>,
    /// The last message of the agent and of each sub-agent, if claude wrote it and not the model.
    synthetic: BTreeMap<String, SyntheticMessage>,
    sub_agents: SubAgents,
    /// Set when claude is being ended and answers open calls itself: whether it waited for a sub-agent then.
    interrupted_in_sub_agent: Option<bool>,
    /// The last tool of a hidden sub-agent in whose place claude answered.
    interrupted_tool: Option<String>,
    /// The id of the model's current answer.
    answer_id: Option<String>,
    /// What the session says that claude met at its provider's address.
    met: Option<String>,
    /// The last retry, until the model answers.
    retry: Option<Retry>,
    /// When the limit ends that the provider last refused by, if claude reports that.
    limit_ends: Option<Timestamp>,
    /// Whether there was a result.
    has_result: bool,
    /// The last text of the agent itself.
    last_text: Option<String>,
    /// Whether its answer follows a schema.
    is_structured: bool,
    /// The skills whose texts came into the conversation.
    bodies: Vec<String>,
    /// The ids of all calls so far.
    calls: HashSet<String>,
    /// The calls that claude says that it did not allow: their ids and tools.
    denied: Vec<(String, String)>,
}

impl<'a, 's> StreamDecoder<'a, 's> {
    pub(super) fn new(recorder: &'a mut TraceRecorder<'s>, facts: SessionFacts, forks: Forks) -> Self {
        Self {
            recorder,
            times: facts.times,
            turn_ends: facts.turn_ends,
            attachments: facts.attachments,
            met: facts.met,
            open: OpenCalls::default(),
            synthetic: BTreeMap::new(),
            sub_agents: SubAgents::new(forks),
            interrupted_in_sub_agent: None,
            interrupted_tool: None,
            answer_id: None,
            retry: None,
            limit_ends: None,
            has_result: false,
            last_text: None,
            is_structured: false,
            bodies: facts.bodies,
            calls: HashSet::new(),
            denied: Vec::new(),
        }
    }

    pub(super) fn line(&mut self, line: &[u8]) {
        let (head, message) = match parse::<MessageLine>(line) {
            Some(line) => line.split(),
            // The message has another shape than messages have.
            None => match parse(line) {
                Some(head) => (head, None),
                None => return self.recorder.trace.damaged_output(line),
            },
        };
        let by = head.parent_tool_use_id.0.unwrap_or_default();
        let time = head.timestamp.0.or_else(|| self.times.get(head.uuid.0.as_deref()?).cloned());
        self.recorder.set_time(time.as_deref());
        self.recorder.trace.now =
            Moment { began: None, ended: time, depth: u32::from(!by.is_empty()), ..Moment::default() };
        let ends_turn = head.uuid.0.as_ref().is_some_and(|id| self.turn_ends.contains(id));
        if !by.is_empty() {
            self.sub_agents.shown(head.uuid.0, &by);
        }
        let read = match (head.kind.as_str(), head.subtype.0.as_deref().unwrap_or_default()) {
            ("system", subtype) => self.system(subtype, line),
            ("assistant", _) => message.map(|line| self.assistant(line, &by)),
            ("user", _) => message.map(|line| self.user(line.message, &by)),
            ("result", _) => parse(line).map(|result| self.result(result)),
            ("control_request", _) => parse(line).map(|ControlRequest { request }| {
                let tool = request.tool_name.0.unwrap_or_default();
                self.notice(format!("claude asked: {} {tool}", request.subtype.0.unwrap_or_default()));
            }),
            ("rate_limit_event", _) => parse(line).map(|limit| self.limited(limit)),
            // Progress, and our side of the dialogue.
            ("control_response" | "control_cancel_request" | "keep_alive" | "stream_event" | "tool_progress", _) => {
                Some(())
            }
            (other, _) => {
                self.recorder.trace.unknown_event(other, line);
                Some(())
            }
        };
        if ends_turn {
            self.sub_agents.agent_answered();
        }
        self.after_line(&head.kind, read);
    }

    fn system(&mut self, subtype: &str, line: &[u8]) -> Option<()> {
        match subtype {
            "init" => self.init(parse(line)?),
            "api_retry" => {
                let retry: Retry = parse(line)?;
                self.notice(retry.to_string());
                self.recorder.trace.may_ask();
                self.retry = Some(retry);
            }
            "task_started" => {
                self.recorder.trace.may_ask();
                self.sub_agents.task_started(parse(line)?);
            }
            "task_notification" => self.task_ended(&parse(line)?),
            "compact_boundary" | "hook_started" | "hook_progress" | "hook_response" => self.recorder.trace.may_ask(),
            // Progress.
            "status"
            | "task_updated"
            | "task_progress"
            | "session_state_changed"
            | "background_tasks_changed"
            // The commands that a user may type: a server's prompts may come late.
            | "commands_changed"
            | "permission_denied"
            | "model_refusal_no_fallback" => {}
            other => {
                let mut fields: BTreeMap<String, Value> = parse(line)?;
                // Its name alone says nothing.
                fields.remove("subtype");
                let rest = serde_json::to_vec(&fields).ok()?;
                self.recorder.trace.unknown_event(&format!("system {other}"), &rest);
            }
        }
        Some(())
    }

    /// Reads a line of a sub-agent's own file, after all of standard output.
    pub(super) fn sub_agents_line(&mut self, line: &[u8]) {
        let (Some(head), Some(own)) = (parse::<LineHead>(line), parse::<TranscriptLine>(line)) else {
            self.recorder.trace.damaged(line);
            return;
        };
        // Standard output may show the body that a fork began with, under a name that is not the sub-agent's.
        self.forked(own.agent());
        let Some(by) = self.sub_agents.line(own, head.uuid.0.as_deref()) else { return };
        let depth = 1 + u32::from(self.sub_agents.is_nested(&by));
        self.recorder.set_time(head.timestamp.0.as_deref());
        self.recorder.trace.now = Moment { began: None, ended: head.timestamp.0, depth, ..Moment::default() };
        // Standard output showed what the agent waited for.
        let waiting = self.recorder.trace.waiting.clone();
        let read = match head.kind.as_str() {
            "assistant" => parse(line).map(|message| self.assistant(message, &by)),
            "user" => parse(line).map(|line: Assistant| self.user(line.message, &by)),
            // claude's own notes.
            _ => Some(()),
        };
        self.after_line(&head.kind, read);
        self.recorder.trace.waiting = waiting;
    }

    /// Notes a line of which only the kind could be read.
    fn after_line(&mut self, kind: &str, read: Option<()>) {
        let trace = &mut self.recorder.trace;
        trace.now = Moment::default();
        if read.is_none() {
            let what = format!("{kind} of another shape");
            trace.unknown(&what);
            // These have the calls, their answers and the end.
            if ["assistant", "user", "result"].contains(&kind) {
                trace.lose(&what);
            }
        }
    }

    fn limited(&mut self, RateLimit { rate_limit_info }: RateLimit) {
        let limit = rate_limit_info.0.unwrap_or_default();
        let status = limit.status.0.unwrap_or_else(|| "unknown".to_owned());
        if status == "rejected" {
            self.limit_ends = limit.resets_at.0.and_then(|at| Timestamp::from_second(at).ok());
        }
        if status != "allowed" {
            self.notice(format!("rate limit: {status}"));
        }
    }

    fn notice(&mut self, text: String) {
        self.recorder.trace.push(Step::Notice(text));
    }

    /// Records the skill with which this sub-agent began, if no call of a model explains it: the prompt called the skill.
    fn forked(&mut self, agent: &str) {
        let Some(skill) = self.sub_agents.forks.skill_of(agent).map(str::to_owned) else { return };
        let slug = slug_without_plugin(&skill);
        let has_call = self.open.last(|call| {
            call.tool == SKILL_TOOL && call.more.skill().is_some_and(|skill| slug_without_plugin(skill) == slug)
        });
        let was_called = self.recorder.trace.activations.iter().any(|activation| {
            activation.how != Mechanism::ReadSkillFile && slug_without_plugin(&activation.skill) == slug
        });
        if !was_called && has_call.is_none() {
            self.sub_agents.forks.called_by_user(agent);
            self.recorder.trace.activate(&skill, Mechanism::Injected, &format!("the prompt called /{skill}"));
        }
    }

    fn init(&mut self, init: InitLine) {
        let trace = &mut self.recorder.trace;
        if trace.started() {
            self.last_text = None;
            trace.followed_up();
            // The next result counts the tokens of the whole session.
            (trace.usage, trace.models) = (None, BTreeMap::new());
        }
        if self.interrupted_in_sub_agent.is_none() {
            trace.waiting = WaitingFor::Model;
        }
        trace.agent_version = init.claude_code_version.0;
        trace.model = init.model.0;
        let tools = init.tools.0.iter().filter(|tool| tool.starts_with("mcp__")).cloned().collect();
        let servers = init.mcp_servers.0.into_iter().map(|server| (server.name, server.status)).collect();
        // The line lists the skills that a user can call; the session file lists those that the model was shown.
        let AttachmentFacts { names, by_plugin, described } = self.attachments.clone();
        let mcp = Some(OfferedMcp { servers, tools });
        let unseen = names.is_none();
        let native = names.unwrap_or_else(|| init.skills.0.clone());
        trace.offered = Some(OfferedSkills { native, by_plugin, by_user: init.skills.0, mcp, described, unseen });
        if init.tools.0.iter().any(|tool| tool == STRUCTURED) {
            // claude asks again for an answer by this tool.
            trace.may_ask();
            self.is_structured = true;
        }
        self.recorder.tools.listed(init.tools.0);
    }

    /// Sets what the agent or sub-agent waits for: the answer to its last open call, else the model. A call that starts a
    /// sub-agent waits for that sub-agent's model.
    fn update_waiting(&mut self, by: &str) {
        if self.interrupted_in_sub_agent.is_none() {
            self.recorder.trace.waiting = self.open.waiting(by);
        }
    }

    /// Notes the end of a task. If a task is stopped while its call waits for it, the model did not stop it.
    fn task_ended(&mut self, task: &FinishedTask) {
        self.sub_agents.task_ended(task);
        let call_id = task.tool_use_id.0.as_deref().unwrap_or_default();
        if matches!(task.status.0.as_deref(), Some("stopped" | "killed"))
            && !call_id.is_empty()
            && self.open.last(|call| call.id == call_id).is_some()
        {
            self.interrupt();
        }
    }

    /// Notes that claude is being ended: what it waits for now is what it waited for.
    fn interrupt(&mut self) {
        let in_sub_agent = self.waits_for_sub_agent();
        self.interrupted_in_sub_agent.get_or_insert(in_sub_agent);
    }

    /// Whether the agent's own last open call started a sub-agent, or one runs in the background of its answer.
    fn waits_for_sub_agent(&self) -> bool {
        self.sub_agents.are_waited_for()
            || self.open.last(|call| call.by.is_empty()).is_some_and(|call| call.waits_for_agents)
    }

    fn result(&mut self, result: ResultLine) {
        let synthetic = self.synthetic.remove("").filter(|synthetic| !synthetic.text.is_empty());
        let retried = self.retried_status();
        let trace = &mut self.recorder.trace;
        // Of what came since the last result: a message, or the end of a task in the background. Everything else is of the
        // whole session.
        let is_first = !std::mem::replace(&mut self.has_result, true);
        let sum = |before: Option<u64>, now: Option<u64>| if is_first { now } else { Some(before? + now?) };
        trace.turns = sum(trace.turns, result.num_turns.0);
        trace.agent_duration_ms = sum(trace.agent_duration_ms, result.duration_ms.0);
        trace.api_duration_ms = result.duration_api_ms.0;
        trace.models = result.usage_by_model();
        trace.usage = result.usage().or(trace.usage);
        for denial in result.permission_denials.0.into_iter().flat_map(|denials| denials.0) {
            let Some(tool) = denial.tool.0 else {
                trace.lose("which tool was not allowed");
                continue;
            };
            trace.deny(&tool, denial.input.as_deref().map_or("", |raw| raw.get()));
            self.denied.extend(denial.call.0.map(|id| (id, tool)));
        }
        if self.interrupted_in_sub_agent.is_none() {
            trace.waiting = WaitingFor::Nothing;
        }
        self.sub_agents.agent_answered();
        // A skill that forks is called like a command: claude repeats the sub-agent's answer in the model's place.
        let is_of_fork = result.local_command.0.is_some() && !trace.models.is_empty();
        let said = result.result.clone();
        let (text, subtype) = (result.result.unwrap_or_default(), result.subtype.0.unwrap_or_default());
        if let Some(stop) = stop_reason(&subtype, result.stop_reason.0.as_deref(), synthetic.as_ref()) {
            trace.stopped = Some(stop);
        } else if result.is_error.unwrap_or(false) {
            // claude calls a turn that the API refused a success.
            let subtype = if subtype == "success" { String::new() } else { subtype };
            let status = result.api_error_status.0.map(|status| status.to_string()).unwrap_or_default();
            let errors = result.errors.0.unwrap_or_default().0.join("; ");
            let mut words = vec![status.as_str(), &subtype, text.trim(), &errors];
            words.retain(|part| !part.is_empty());
            let words = words.join(" ");
            let code = synthetic.as_ref().and_then(|synthetic| synthetic.error.as_deref());
            let refusal = Refusal { status: result.api_error_status.0, code, message: &text, retried };
            let what = format!("the result is an error: {}", excerpt(&words));
            trace.trouble = Some(Trouble::new(refusal.kind(), what));
        } else if let Some(synthetic) = synthetic.filter(|_| !is_of_fork) {
            // claude reports a limit of the account like an answer, with exit code 0.
            trace.trouble = Some(synthetic.trouble("claude answered in the model's place"));
        } else {
            // The answer is in a message, too, unless it is that of a tool or of a sub-agent.
            let may_differ = is_of_fork || self.is_structured || text.trim().is_empty();
            let is_other = |last: &String| !text.trim().ends_with(last.trim());
            let is_read = may_differ || !self.last_text.as_ref().is_some_and(is_other);
            trace.says_last(said.filter(|_| is_read));
            trace.message_answered();
        }
    }

    /// The HTTP status that claude retries, if the model has not answered since.
    fn retried_status(&self) -> Option<u64> {
        self.retry.as_ref()?.error_status.0
    }

    /// The tool that a sub-agent waits for, if the agent waits for its sub-agents and standard output does not show that.
    fn hidden_wait(&self) -> Option<WaitingFor> {
        let in_sub_agent = self.interrupted_in_sub_agent.unwrap_or_else(|| self.waits_for_sub_agent());
        if !in_sub_agent && !self.sub_agents.forks.any_by_user() {
            return None;
        }
        let open_tool = self.open.last(|call| self.is_hidden_tool(call)).map(|call| call.tool.clone());
        open_tool.or_else(|| self.interrupted_tool.clone()).map(WaitingFor::Tool)
    }

    /// Whether a sub-agent that is hidden, or that runs in the background, made the call, and the call does not start a
    /// sub-agent.
    fn is_hidden_tool(&self, call: &OpenCall<ToolInput>) -> bool {
        let is_hidden = self.sub_agents.is_hidden(&call.by) || self.sub_agents.are_waited_for();
        !call.by.is_empty() && is_hidden && !call.waits_for_agents
    }

    /// Records the calls without an answer, and concludes how the run ended.
    pub(super) fn finish(mut self) {
        let hidden_wait = self.hidden_wait();
        let trace = &mut self.recorder.trace;
        trace.interrupted = self.interrupted_in_sub_agent.is_some();
        if self.sub_agents.are_hidden() {
            trace.lose("what a sub-agent did: the file in which claude keeps that is missing");
        }
        if trace.waiting == WaitingFor::Nothing && self.sub_agents.are_waited_for() {
            trace.waiting = WaitingFor::Model;
        }
        if let (WaitingFor::Model, Some(hidden_wait)) = (&trace.waiting, hidden_wait) {
            trace.waiting = hidden_wait;
        }
        // A refused sub-agent did not do its part, whatever the agent made of that.
        if let Some((_, refused)) = self.synthetic.iter().find(|(by, message)| !by.is_empty() && message.is_refusal()) {
            trace.trouble.get_or_insert_with(|| refused.trouble("a sub-agent was refused"));
        }
        // An agent that still retried waited for its provider, whatever ended it.
        if let Some(retry) = self.retry.take_if(|_| !trace.ended()) {
            trace.trouble.get_or_insert_with(|| retry.trouble(self.met.as_deref()));
        }
        if let (Some(trouble), Some(ends)) = (&mut trace.trouble, self.limit_ends)
            && trouble.is_refused_for_now()
            && !trouble.detail.contains("resets")
        {
            trouble.detail = format!("{}; the limit resets at {ends}", trouble.detail);
        }
        // claude answers some commands without a model; then nothing was measured. A model that said nothing still read its
        // prompt.
        let has_read = trace.usage.is_some_and(|usage| usage.input_tokens > 0);
        if trace.progress == AgentProgress::Done && trace.answers == 0 && !has_read {
            let trouble = Trouble::new(TroubleKind::NoAnswer, "claude ended without an answer of a model");
            trace.trouble.get_or_insert(trouble);
        }
        while let Some(call) = self.open.take_unanswered(&mut self.recorder.trace) {
            self.ended(call, Some(String::new()), true);
        }
        for (_, tool) in self.denied.iter().filter(|(id, _)| !self.calls.contains(id)) {
            self.recorder.trace.lose(&format!("a call of `{tool}`, which only the list of what was not allowed shows"));
        }
        for skill in self.bodies {
            let is_it = |known: &str| slug_without_plugin(known) == slug_without_plugin(&skill);
            if !self.recorder.trace.activations.iter().any(|activation| is_it(&activation.skill)) {
                self.recorder.trace.lose(&format!("why the text of the skill `{skill}` came into the conversation"));
            }
        }
    }
}

// The messages of a run: what the model says and calls, and what it is answered.

/// The ends of the model's answers after which claude asks for the rest.
const UNFINISHED: [&str; 2] = ["max_tokens", "pause_turn"];

/// The starts of claude's own answers to calls that it drops because it is ended.
const INTERRUPTED: [&str; 2] = ["[Request interrupted by user", "The user doesn't want to proceed with this tool use."];

impl StreamDecoder<'_, '_> {
    fn assistant(&mut self, line: Assistant, by: &str) {
        let message = line.message;
        if message.is_synthetic() {
            let texts: Vec<String> =
                message.content.into_iter().flat_map(|content| content.0).filter_map(|block| block.text).collect();
            let synthetic = SyntheticMessage {
                text: texts.join(" "),
                error: line.error.0,
                stop_reason: message.stop_reason.0,
                retried: self.retried_status(),
                model_answered: self.recorder.trace.answers > 0,
            };
            self.notice(synthetic.text.clone());
            self.synthetic.insert(by.to_owned(), synthetic);
            return;
        }
        self.retry = None;
        self.synthetic.remove(by);
        let trace = &mut self.recorder.trace;
        trace.reached(AgentProgress::Answering);
        trace.answers += 1;
        let is_next = message.id.0.is_some() && message.id.0 != self.answer_id;
        if by.is_empty() && is_next {
            trace.model_answered();
            self.last_text = None;
        }
        if message.stop_reason.0.as_deref().is_some_and(|reason| UNFINISHED.contains(&reason)) {
            trace.may_ask();
        }
        // An answer may have several lines with the same id and usage. Only the input is right: it is the usage at the start.
        if let Some(usage) = &message.usage.0 {
            if by.is_empty() {
                trace.first_request(usage.input());
            }
            if message.id.0.is_none() || is_next {
                trace.answered(trace.steps.len(), usage.of_request());
            }
        }
        self.answer_id = message.id.0.or(self.answer_id.take());
        for block in self.blocks(message.content) {
            match (block.kind.as_str(), &block.text) {
                ("thinking", _) => self.recorder.trace.thought(block.thinking.0),
                ("redacted_thinking", _) => {}
                ("text", Some(text)) => {
                    self.recorder.message(text);
                    if by.is_empty() {
                        self.last_text = spoken(text.clone()).or(self.last_text.take());
                    }
                }
                ("tool_use" | "server_tool_use" | "mcp_tool_use", _) if block.is_call() => self.call(block, by),
                (kind, _) if kind.ends_with("_tool_result") => self.answer(block, by),
                (kind, _) => self.recorder.trace.unknown_item(&format!("a block `{kind}` of the model")),
            }
        }
        self.update_waiting(by);
    }

    /// The blocks of a message.
    fn blocks(&mut self, content: Option<MessageContent>) -> Vec<MessageBlock> {
        let trace = &mut self.recorder.trace;
        match &content {
            None => trace.lose("a message without content"),
            Some(content) if content.is_full() => trace.lose("a message of more parts than are read"),
            Some(_) => {}
        }
        content.map(|content| content.0).unwrap_or_default()
    }

    fn call(&mut self, block: MessageBlock, by: &str) {
        if by.is_empty() {
            self.recorder.trace.model_called();
        }
        let mut call = block.call(by);
        self.calls.insert(call.id.clone());
        // A skill may run as a sub-agent, too.
        let is_fork =
            call.tool == SKILL_TOOL && call.more.skill().is_some_and(|skill| self.sub_agents.forks.has(skill));
        call.waits_for_agents = is_fork || session::TOOLS.contains(&call.tool.as_str());
        if let Ok(input) = serde_json::from_str(&call.input) {
            self.recorder.wrote(&texts(&input));
        }
        self.open.made(&mut self.recorder.trace, call);
    }

    fn user(&mut self, message: ModelMessage, by: &str) {
        for block in self.blocks(message.content) {
            match (block.kind.as_str(), &block.text) {
                // The body of a skill that claude put into the conversation.
                ("text", Some(body)) if body.starts_with(BODY) => {
                    let skill = skill_of_body(body);
                    if self.recorder.injected(skill, body) && by.is_empty() {
                        self.bodies.push(skill.to_owned());
                    }
                    self.recorder.text_of_called_skill(body);
                }
                // claude may have written it, to make the model go on.
                ("text", Some(_)) | ("image" | "document", _) => self.recorder.trace.may_ask(),
                ("tool_result", _) => self.answer(block, by),
                (kind, _) => self.recorder.trace.unknown_item(&format!("a block `{kind}` of the user")),
            }
        }
        self.update_waiting(by);
    }

    fn answer(&mut self, block: MessageBlock, by: &str) {
        let id = block.tool_use_id.unwrap_or_default();
        if let Some(kind) = block.content.as_ref().and_then(|content| content.unknown.as_ref()) {
            self.recorder.trace.unknown_item(&format!("a block `{kind}` of a result"));
        }
        let output = block.content.map(|content| content.text);
        // A command may print the same.
        let failed = match block.is_error {
            None => false,
            Some(Lenient(Some(failed))) => failed,
            Some(Lenient(None)) => {
                self.recorder.trace.lose("whether a call failed");
                false
            }
        };
        let is_interrupted =
            failed && output.as_ref().is_some_and(|output| INTERRUPTED.iter().any(|words| output.starts_with(words)));
        if is_interrupted && self.open.last(|call| call.id == id && call.by == by).is_some() {
            self.interrupt();
        }
        let Some(call) = self.open.answered(&mut self.recorder.trace, by, &id) else { return };
        if is_interrupted && self.is_hidden_tool(&call) {
            self.interrupted_tool = Some(call.tool.clone());
        }
        if !by.is_empty() {
            self.sub_agents.called(&call.tool, failed);
        }
        self.ended(call, output, failed);
    }

    /// Records a call that was answered, or that failed because nobody will answer it.
    fn ended(&mut self, call: OpenCall<ToolInput>, output: Option<String>, failed: bool) {
        let OpenCall { tool, input, more: fields, .. } = call;
        let tool_use = match tool.as_str() {
            "Bash" => ToolUse::Shell {
                exit_code: if failed { exit_code(output.as_deref().unwrap_or_default()) } else { Some(0) },
                command: fields.command.0.and_then(spoken),
            },
            SKILL_TOOL => {
                let skill = fields.skill().map(str::to_owned);
                let loaded = !failed || skill.as_ref().is_some_and(|skill| self.sub_agents.forks.has(skill));
                ToolUse::LoadSkill { skill, loaded }
            }
            "Read" | "NotebookRead" => ToolUse::ReadFile(fields.path()),
            "Glob" | "Grep" | "LS" => ToolUse::SearchFiles,
            "Write" | "Edit" | "MultiEdit" | "NotebookEdit" if !failed => {
                ToolUse::ChangeFiles(fields.path().map(|path| vec![path]))
            }
            _ => ToolUse::Other,
        };
        self.recorder.ended(EndedCall { tool, input, output, failed }, tool_use);
    }
}

/// The 3 of "Exit code 3" at the start of a command's output.
fn exit_code(output: &str) -> Option<i64> {
    let rest = output.trim_start_matches("Error: ").strip_prefix("Exit code ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

// What a line of claude's output shows while the run is active.

/// What the agent does, by this line.
pub(super) fn describe(line: &[u8]) -> Option<String> {
    let head: LineHead = parse(line)?;
    let words = match (head.kind.as_str(), head.subtype.0.as_deref()) {
        ("system", Some("init")) => "asks the model".to_owned(),
        ("system", Some("api_retry")) => parse::<Retry>(line)?.to_string(),
        ("assistant", _) => {
            let block = parse::<Assistant>(line)?.message.content?.0.into_iter().next()?;
            match (block.kind.as_str(), &block.name) {
                ("text", _) => format!("says: {}", block.text?),
                ("thinking", _) => "thinks".to_owned(),
                (_, Some(_)) => {
                    let call = block.call("");
                    let what = call.more.command.0.as_ref().or(call.more.file_path.0.as_ref());
                    format!("{} {}", call.tool, what.unwrap_or(&call.input))
                }
                _ => return None,
            }
        }
        ("result", _) => "is done".to_owned(),
        _ => return None,
    };
    Some(excerpt(&words))
}

/// Whose work a line shows.
pub(super) fn work_owner(line: &[u8]) -> WorkOwner {
    let Some(head) = parse::<LineHead>(line) else { return WorkOwner::Other };
    match (head.kind.as_str(), head.subtype.0.as_deref()) {
        ("assistant", _) => match parse::<Assistant>(line) {
            Some(line) if line.message.is_synthetic() => WorkOwner::Other,
            _ => WorkOwner::Model,
        },
        ("result", _) => WorkOwner::End,
        ("system", Some("api_retry")) => {
            let Some(retry) = parse::<Retry>(line) else { return WorkOwner::Other };
            match retry.delay() {
                wait if retry.is_unreachable() => WorkOwner::Unreachable(wait.unwrap_or_default()),
                wait => wait.map_or(WorkOwner::Other, WorkOwner::Waits),
            }
        }
        _ => WorkOwner::Other,
    }
}

// How claude ends: messages that claude writes in the model's place, and turns that the model ended early.

/// The start of claude's message if the conversation no longer fits.
const TOO_LONG: &str = "Prompt is too long";

/// The start of claude's message if the provider's filter stopped what the model wrote.
const FILTERED: &str = "API Error: 400 Output blocked by content filtering policy";

/// A message that claude wrote in the model's place.
pub(super) struct SyntheticMessage {
    pub text: String,
    /// The kind of error, in claude's word.
    pub error: Option<String>,
    pub stop_reason: Option<String>,
    /// The HTTP status that claude retried before, if any.
    pub retried: Option<u64>,
    /// Whether the model had answered before.
    pub model_answered: bool,
}

impl SyntheticMessage {
    /// Whether it is an error that keeps the model from answering, and not the model's own end.
    pub(super) fn is_refusal(&self) -> bool {
        self.error.is_some() && stop_reason("", None, Some(self)).is_none()
    }

    pub(super) fn trouble(&self, what: &str) -> Trouble {
        let code = self.error.as_deref();
        let refusal = Refusal { status: None, code, message: &self.text, retried: self.retried };
        Trouble::new(refusal.kind(), format!("{what}: {}", excerpt(&self.text)))
    }
}

/// Why the model ended its turn early, if it did.
pub(super) fn stop_reason(
    subtype: &str,
    reason: Option<&str>,
    synthetic: Option<&SyntheticMessage>,
) -> Option<StopReason> {
    let reason = synthetic.and_then(|synthetic| synthetic.stop_reason.as_deref()).or(reason);
    let error = synthetic.and_then(|synthetic| synthetic.error.as_deref());
    match (subtype, reason, error) {
        ("error_max_turns", ..) => return Some(StopReason::MaxTurns),
        ("error_max_budget_usd", ..) => return Some(StopReason::MaxBudget),
        ("error_max_structured_output_retries", ..) => return Some(StopReason::NoStructuredAnswer),
        (_, Some("refusal"), _) => return Some(StopReason::Refusal),
        (_, Some("max_tokens"), _) | (_, _, Some("max_output_tokens")) => return Some(StopReason::MaxTokens),
        (_, Some("model_context_window_exceeded"), _) => return Some(StopReason::ContextWindow),
        _ => {}
    }
    let SyntheticMessage { text, model_answered, .. } = synthetic?;
    if text.starts_with(FILTERED) {
        return Some(StopReason::Refusal);
    }
    // claude has no error code for a prompt that is too long. If the model has not said anything, it is not its doing.
    (*model_answered && text.starts_with(TOO_LONG)).then_some(StopReason::ContextWindow)
}
