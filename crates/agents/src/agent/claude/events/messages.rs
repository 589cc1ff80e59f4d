//! The messages of a run: what the model says and calls, and what it is answered.

use super::super::ending::SyntheticMessage;
use super::super::session::{BODY, skill_of_body};
use super::super::sub_agents;
use super::super::wire::{Assistant, Block, MessageContent, ModelMessage, ToolInput};
use super::{SKILL_TOOL, StreamDecoder};
use crate::agent::lenient::Lenient;
use crate::agent::recorder::{EndedCall, ToolUse, texts};
use crate::trace::{AgentProgress, OpenCall, spoken};

/// The ends of the model's answers after which claude asks for the rest.
const UNFINISHED: [&str; 2] = ["max_tokens", "pause_turn"];

/// The starts of claude's own answers to calls that it drops because it is ended.
const INTERRUPTED: [&str; 2] = ["[Request interrupted by user", "The user doesn't want to proceed with this tool use."];

impl StreamDecoder<'_, '_> {
    pub(super) fn assistant(&mut self, line: Assistant, by: &str) {
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
    fn blocks(&mut self, content: Option<MessageContent>) -> Vec<Block> {
        let trace = &mut self.recorder.trace;
        match &content {
            None => trace.lose("a message without content"),
            Some(content) if content.is_full() => trace.lose("a message of more parts than are read"),
            Some(_) => {}
        }
        content.map(|content| content.0).unwrap_or_default()
    }

    pub(super) fn call(&mut self, block: Block, by: &str) {
        if by.is_empty() {
            self.recorder.trace.model_called();
        }
        let mut call = block.call(by);
        self.calls.insert(call.id.clone());
        // A skill may run as a sub-agent, too.
        let is_fork =
            call.tool == SKILL_TOOL && call.more.skill().is_some_and(|skill| self.sub_agents.forks.has(skill));
        call.waits_for_agents = is_fork || sub_agents::TOOLS.contains(&call.tool.as_str());
        if let Ok(input) = serde_json::from_str(&call.input) {
            self.recorder.wrote(&texts(&input));
        }
        self.open.made(&mut self.recorder.trace, call);
    }

    pub(super) fn user(&mut self, message: ModelMessage, by: &str) {
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

    pub(super) fn answer(&mut self, block: Block, by: &str) {
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
    pub(super) fn ended(&mut self, call: OpenCall<ToolInput>, output: Option<String>, failed: bool) {
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
