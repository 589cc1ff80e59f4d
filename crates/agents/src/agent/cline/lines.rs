//! The lines of Cline's output: its own, `{"type", "ts", …}`, and those of our script, `{"type": "evidence", "kind", …}`.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::agent_event::{AgentEvent, CallEnding};
use crate::agent::field::{served, text, usage};
use crate::agent::refusal::refused;
use crate::agent::stream::LineReader;
use crate::trace::StopReason;
use crate::trace::trouble::Trouble;

/// How the text of a skill begins that was loaded. An unknown name is not an error, either.
const LOADED: &str = "<command-name>";

/// Cline's words after the last answer that reached the most tokens that it may have.
const TOO_LONG: &str = "Model reached the maximum output token limit";

/// How Cline's reason ends if it stopped a model that made one call again and again.
const LOOP: &str = "stopping to avoid a loop.";

/// The keys of the tokens of a request.
const TOKENS: [&str; 5] = ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens", ""];

#[derive(Default)]
pub struct ClineLines {
    /// The version and the model, until the first line.
    first: Vec<AgentEvent>,
    /// The HTTP status with which the last request was refused.
    refused: Option<u64>,
    /// How long the provider asked to wait then.
    wait: Option<Duration>,
    /// Whether the present answer has begun.
    answers: bool,
    /// The names of the MCP servers, which begin the names of their tools.
    servers: Vec<String>,
    /// How many parts a call has, by its id.
    parts: HashMap<String, usize>,
    /// Why the model ended with its last answer, if it did.
    stopped: Option<StopReason>,
    /// Whether the run has ended.
    has_ended: bool,
}

impl LineReader for ClineLines {
    const SHOWS_REQUESTS: bool = true;

    fn session(&mut self, line: &Value) {
        self.first.extend(text(line, "version").map(AgentEvent::Version));
        self.first.extend(text(line, "model").map(AgentEvent::Model));
    }

    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        let mut said = std::mem::take(&mut self.first);
        match line["type"].as_str()? {
            "evidence" => self.evidence(line, &mut said)?,
            "agent_event" => self.event(&line["event"], &mut said)?,
            "run_result" => self.ends(line, &mut said),
            "run_aborted" if self.stopped == Some(StopReason::Loop) => {}
            "run_aborted" => said.push(AgentEvent::Interrupted),
            // Cline repeats here why it ended, if it started.
            "error" if self.has_ended => {}
            "error" => said.push(AgentEvent::Refused(self.trouble(&line["message"]))),
            "hook_event" => {}
            _ => return None,
        }
        Some(said)
    }

    fn time<'a>(&'a self, line: &'a Value) -> Option<&'a str> {
        line.get("ts")?.as_str()
    }
}

impl ClineLines {
    fn evidence(&mut self, line: &Value, said: &mut Vec<AgentEvent>) -> Option<()> {
        let names = |key: &str| line[key].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        match line["kind"].as_str() {
            Some("request") => {
                (self.refused, self.wait, self.answers, self.stopped) = (None, None, false, None);
                if line["skills"].is_array() {
                    said.push(AgentEvent::Offered(names("skills").map(|name| (name, String::new())).collect()));
                }
                self.servers.extend(names("servers"));
                said.extend(names("servers").map(|name| AgentEvent::Server(name, "connected".to_owned())));
                said.push(AgentEvent::Asks);
            }
            Some("refused") => {
                self.refused = line["status"].as_u64();
                let message = self.refused.map(|status| format!("the provider answered with {status}"));
                let message = text(line, "message").or(message).unwrap_or_default();
                self.wait = line["wait"].as_u64().map(Duration::from_secs);
                said.push(AgentEvent::AsksAgain(refused(self.refused, &message), self.wait));
            }
            Some("answered") => {
                let end = text(line, "end").filter(|end| is_refusal(end));
                self.stopped = end.as_ref().map(|_| StopReason::Refusal);
                said.extend(end.map(|end| AgentEvent::Notice(format!("the answer ended with {end}"))));
            }
            _ => return None,
        }
        Some(())
    }

    fn event(&mut self, event: &Value, said: &mut Vec<AgentEvent>) -> Option<()> {
        let content = event["contentType"].as_str();
        match (event["type"].as_str(), content) {
            (Some("content_start"), Some("tool")) => self.called(event, said),
            (Some("content_end"), Some("tool")) => self.answered(event, said),
            (Some("iteration_start"), _) => self.answers = false,
            (Some("content_start"), Some("text" | "reasoning")) if !self.answers => {
                self.answers = true;
                said.push(AgentEvent::Answers(None));
            }
            (Some("usage"), _) => {
                let is_known = std::mem::replace(&mut self.answers, true);
                let usage = usage(event, TOKENS);
                said.push(if is_known { AgentEvent::Spent(usage) } else { AgentEvent::Answers(Some(usage)) });
            }
            (Some("content_end"), Some("text")) if event["text"].is_string() => {
                said.extend(spoken(event, "text").map(AgentEvent::Message));
            }
            (Some("content_end"), Some("reasoning")) => {
                said.extend(spoken(event, "reasoning").map(AgentEvent::Thought));
            }
            (Some("error"), _) if event["error"]["message"].as_str().is_some_and(|why| why.ends_with(LOOP)) => {
                self.stopped = Some(StopReason::Loop);
                said.push(AgentEvent::Stopped(StopReason::Loop));
            }
            (Some("notice"), _) => said.extend(text(event, "message").map(AgentEvent::Notice)),
            (Some("content_start"), Some("text" | "reasoning"))
            | (Some("content_update" | "done" | "error" | "iteration_end"), _) => {}
            (Some("content_start" | "content_end"), _) => {
                said.push(AgentEvent::Lost(format!("a part `{}` of an answer", content.unwrap_or("without a type"))));
            }
            (Some(_), _) => return None,
            (None, _) => said.push(AgentEvent::Lost("what an event says".to_owned())),
        }
        Some(())
    }

    /// The parts of a call: a tool may run several commands, or read several files.
    fn called(&mut self, event: &Value, said: &mut Vec<AgentEvent>) {
        let (Some(call), Some(tool)) = (text(event, "toolCallId"), text(event, "toolName")) else {
            return said.push(AgentEvent::Lost("a call of the model".to_owned()));
        };
        let inputs = inputs(&event["input"]);
        self.parts.insert(call.clone(), inputs.len());
        let tool = served(&tool, &self.servers, "", "__").unwrap_or(tool);
        said.extend(inputs.into_iter().enumerate().map(|(at, input)| {
            let id = part(&call, at);
            AgentEvent::Called { id, tool: tool.clone(), input }
        }));
    }

    fn answered(&mut self, event: &Value, said: &mut Vec<AgentEvent>) {
        let Some(call) = text(event, "toolCallId") else {
            return said.push(AgentEvent::Lost("the result of a call".to_owned()));
        };
        let is_skill = event["toolName"] == "skills";
        for at in 0..self.parts.remove(&call).unwrap_or(1) {
            let result = event["output"].get(at).unwrap_or(&event["output"]);
            let output = output(result);
            let is_refused = is_skill && !output.as_ref().is_some_and(|output| output.starts_with(LOADED));
            let is_error = result["isError"] == true || result["success"] == false;
            let has_failed = is_refused || is_error || event.get("error").is_some();
            let ending = if has_failed { CallEnding::Failed } else { CallEnding::Done };
            said.push(AgentEvent::Answered {
                id: part(&call, at),
                output,
                ending,
                exit_code: exit_code(event, result),
            });
        }
    }

    fn ends(&mut self, line: &Value, said: &mut Vec<AgentEvent>) {
        self.has_ended = true;
        said.extend(line["iterations"].as_u64().map(AgentEvent::Counted));
        let is_too_long = line["text"].as_str().is_some_and(|text| text.starts_with(TOO_LONG));
        match line["finishReason"].as_str() {
            Some("aborted") if self.stopped == Some(StopReason::Loop) => said.push(AgentEvent::Done),
            Some("aborted") => said.push(AgentEvent::Interrupted),
            Some("completed") => {
                said.extend(self.stopped.map(AgentEvent::Stopped));
                said.push(AgentEvent::Done);
            }
            _ if is_too_long => said.extend([AgentEvent::Stopped(StopReason::MaxTokens), AgentEvent::Done]),
            _ => said.push(AgentEvent::Refused(self.trouble(&line["text"]))),
        }
    }

    fn trouble(&self, message: &Value) -> Trouble {
        refused(self.refused, message.as_str().unwrap_or("no reason given")).after(self.wait)
    }
}

/// Whether an answer ended so because the model refused, in the words of the providers.
fn is_refusal(end: &str) -> bool {
    ["content_filter", "refusal", "safety", "prohibited_content"].contains(&end.to_ascii_lowercase().as_str())
}

fn spoken(event: &Value, key: &str) -> Option<String> {
    text(event, key).filter(|text| !text.is_empty())
}

fn part(call: &str, at: usize) -> String {
    format!("{call} {at}")
}

/// The inputs of the parts of a call, with the keys of a single command or file.
fn inputs(input: &Value) -> Vec<Value> {
    let list = |key: &str| input[key].as_array().filter(|list| !list.is_empty());
    let command = |command: &Value| if command.is_string() { json!({ "command": command }) } else { command.clone() };
    let commands = list("commands").map(|list| list.iter().map(command).collect());
    let file = |file: &Value| if file.is_string() { json!({ "path": file }) } else { file.clone() };
    let files = || list("files").map(|list| list.iter().map(file).collect());
    commands.or_else(files).unwrap_or_else(|| vec![input.clone()])
}

/// What the model sees of a result; `None` without one.
fn output(result: &Value) -> Option<String> {
    let content = result["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
    let content: Vec<&str> = content.collect();
    let parts = ["result", "error", "text"].into_iter().filter_map(|key| result[key].as_str());
    match result {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        _ if !content.is_empty() => Some(content.join("\n")),
        _ => Some(parts.collect::<Vec<_>>().join("\n").trim_start().to_owned()),
    }
}

/// The exit code of a command: Cline says it only if it is not zero.
fn exit_code(event: &Value, result: &Value) -> Option<i64> {
    if event["toolName"] != "run_commands" {
        return None;
    }
    let said = result["error"].as_str().and_then(|error| error.strip_prefix("Command exited with code ")?.parse().ok());
    said.or((result["success"] == true).then_some(0))
}
