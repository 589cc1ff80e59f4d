//! The lines of OpenCode's output: those of our plugin, `{"type": "evidence", "kind", …}`, in the order of what happened, and
//! OpenCode's own, which come later and say less.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::Value;

use crate::agent::agent_event::{AgentEvent, CallEnding};
use crate::agent::field::{self, served, text, with_cached_input};
use crate::agent::refusal::refused;
use crate::agent::skill_list;
use crate::agent::stream::LineReader;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{StopReason, Usage};

/// How an error begins that says that a rule of ours does not allow a call.
const DENIED: &str = "The user has specified a rule which prevents you";

/// What OpenCode writes before the directory of a skill that the user called.
const BASE: &str = "Base directory for this skill: ";

/// The kinds of parts of a message that say nothing of what the model did.
const QUIET: [&str; 6] = ["agent", "file", "patch", "retry", "snapshot", "subtask"];

#[derive(Default)]
pub struct OpenCodeLines {
    /// The ids of all calls so far.
    calls: HashSet<String>,
    /// The names of the MCP servers, which begin the names of their tools.
    servers: Vec<String>,
}

impl LineReader for OpenCodeLines {
    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        match line["type"].as_str()? {
            "evidence" => {}
            // It comes after the lines of our plugin.
            "tool_use" if text(&line["part"], "id").is_some_and(|id| !self.calls.contains(&id)) => {
                return Some(vec![AgentEvent::Lost("a call that only OpenCode's own line shows".to_owned())]);
            }
            "step_start" | "text" | "tool_use" | "step_finish" | "reasoning" => return Some(Vec::new()),
            "error" => return Some(vec![error(&line["error"])]),
            _ => return None,
        }
        let said = match line["kind"].as_str()? {
            "request" => self.request(line),
            "session.created" if line["info"].get("parentID").is_some() => Vec::new(),
            "session.created" => text(&line["info"], "version").map(AgentEvent::Version).into_iter().collect(),
            "session.status" if line["status"]["type"] == "busy" => Vec::new(),
            "session.status" if line["status"]["type"] == "idle" && line.get("agent").is_some() => Vec::new(),
            "session.status" => vec![AgentEvent::or_gap(status(line), "the state of the session")],
            "session.error" => vec![error(&line["error"])],
            "message.part.updated" => self.part(line),
            _ => return None,
        };
        Some(said)
    }

    fn sub_agent(line: &Value) -> Option<&str> {
        line.get("agent")?.as_str()
    }
}

impl OpenCodeLines {
    fn request(&mut self, line: &Value) -> Vec<AgentEvent> {
        let by_sub_agent = Self::sub_agent(line).is_some();
        let model = text(line, "model").filter(|_| !by_sub_agent);
        let mut said: Vec<AgentEvent> = model.map(AgentEvent::Model).into_iter().collect();
        said.extend(skill_list::pairs(&line["skills"]).map(AgentEvent::Offered));
        self.servers.clear();
        for (name, server) in line["servers"].as_object().into_iter().flatten() {
            self.servers.push(name.clone());
            said.extend(text(server, "status").map(|status| AgentEvent::Server(name.clone(), status)));
        }
        said.push(AgentEvent::Asks);
        said
    }

    fn part(&mut self, line: &Value) -> Vec<AgentEvent> {
        let part = &line["part"];
        let words = text(part, "text").filter(|text| !text.is_empty());
        match part["type"].as_str() {
            Some("text") if line["byUser"] == true => words.and_then(called_by_user).into_iter().collect(),
            Some("text") if part["text"].is_string() => words.map(AgentEvent::Message).into_iter().collect(),
            Some("reasoning") => words.map(AgentEvent::Thought).into_iter().collect(),
            Some("step-start") => vec![AgentEvent::Answers(None)],
            Some("step-finish") => {
                std::iter::once(AgentEvent::Spent(usage(&part["tokens"]))).chain(stop(part)).collect()
            }
            Some("tool") => {
                let said = self.call(part);
                said.unwrap_or_else(|| vec![AgentEvent::Lost("a call of the model".to_owned())])
            }
            Some("compaction") => vec![AgentEvent::MayAsk],
            Some(kind) if QUIET.contains(&kind) => Vec::new(),
            kind => vec![AgentEvent::Lost(format!("a part `{}` of a message", kind.unwrap_or("without a type")))],
        }
    }

    fn call(&mut self, part: &Value) -> Option<Vec<AgentEvent>> {
        // The id of the call is the provider's, which may give it again to a sub-agent.
        let (id, state) = (text(part, "id")?, &part["state"]);
        let tool = text(part, "tool")?;
        // This is how OpenCode stores a call of a tool that the model does not have.
        let is_unknown = tool == "invalid";
        let mut said = Vec::new();
        if self.calls.insert(id.clone()) {
            let named = if is_unknown { text(&state["input"], "tool") } else { served(&tool, &self.servers, "", "_") };
            let tool = named.unwrap_or(tool);
            said.push(AgentEvent::Called { id: id.clone(), tool, input: state["input"].clone() });
        }
        let error = state["error"].as_str();
        let ending = match state["status"].as_str()? {
            "completed" if !is_unknown => CallEnding::Done,
            "error" if error.is_some_and(|error| error.starts_with(DENIED)) => CallEnding::Denied,
            "completed" | "error" => CallEnding::Failed,
            "pending" | "running" => return Some(said),
            _ => return None,
        };
        let output = error.or_else(|| state["output"].as_str()).map(str::to_owned);
        said.push(AgentEvent::Answered { id, output, ending, exit_code: state["metadata"]["exit"].as_i64() });
        Some(said)
    }
}

/// The skill whose text OpenCode put into the user's message.
fn called_by_user(text: String) -> Option<AgentEvent> {
    let directory = text.split_once(BASE)?.1.lines().next()?;
    let skill = directory.rsplit('/').next()?.to_owned();
    Some(AgentEvent::CalledByUser { skill, text })
}

fn status(line: &Value) -> Option<AgentEvent> {
    let status = &line["status"];
    match status["type"].as_str()? {
        "retry" => {
            let message = text(status, "message").unwrap_or_default();
            // OpenCode does not say the status. It asks again if it was not reached, and after refusals for now.
            let unreached = message.starts_with("Cannot connect");
            let why =
                if unreached { Trouble::new(TroubleKind::Provider, message) } else { refused(Some(429), &message) };
            Some(AgentEvent::AsksAgain(why, status["wait"].as_u64().map(Duration::from_millis)))
        }
        "idle" if line.get("agent").is_none() => Some(AgentEvent::Done),
        _ => None,
    }
}

fn error(error: &Value) -> AgentEvent {
    let (name, data) = (error["name"].as_str().unwrap_or_default(), &error["data"]);
    let message = data["message"].as_str().unwrap_or(name);
    match name {
        "MessageAbortedError" => AgentEvent::Interrupted,
        "ContentFilterError" => AgentEvent::Stopped(StopReason::Refusal),
        "MessageOutputLengthError" => AgentEvent::Stopped(StopReason::MaxTokens),
        "ContextOverflowError" => AgentEvent::Stopped(StopReason::ContextWindow),
        "ProviderAuthError" => AgentEvent::Refused(Trouble::new(TroubleKind::Login, message)),
        _ => AgentEvent::Refused(refused(data["statusCode"].as_u64(), message)),
    }
}

/// Why the model ended its answer early.
fn stop(part: &Value) -> Option<AgentEvent> {
    match part["reason"].as_str()? {
        "length" => Some(AgentEvent::Stopped(StopReason::MaxTokens)),
        "content-filter" => Some(AgentEvent::Stopped(StopReason::Refusal)),
        _ => None,
    }
}

fn usage(tokens: &Value) -> Usage {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let usage = field::usage(tokens, ["input", "", "", "output", "reasoning"]);
    with_cached_input(Usage {
        cached_input_tokens: count(&tokens["cache"]["read"]),
        cache_write_input_tokens: count(&tokens["cache"]["write"]),
        output_tokens: usage.output_tokens.saturating_add(usage.reasoning_output_tokens),
        ..usage
    })
}
