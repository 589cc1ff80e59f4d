//! The lines of Copilot's output and of its session file: `{"type", "data", "timestamp"}`. Both have the conversation; each
//! has kinds that the other lacks.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::agent::agent_event::{AgentEvent, CallEnding};
use crate::agent::field::{named, text, usage};
use crate::agent::refusal::Refusal;
use crate::agent::skill_list;
use crate::agent::stream::LineReader;
use crate::agent::turns::TurnSign;
use crate::trace::Usage;
use crate::trace::trouble::Trouble;

/// The keys of the tokens of a request.
const TOKENS: [&str; 5] = ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens", "reasoningTokens"];

/// The tool with which the model loads a skill.
const SKILL_TOOL: &str = "skill";

/// Kinds of lines that say nothing about the trial that others do not.
const QUIET: [&str; 14] = [
    "user.message",
    "model.call_finished",
    "model.call_final_result",
    "assistant.turn_start",
    "assistant.turn_end",
    "assistant.idle",
    "assistant.message_start",
    "assistant.message_delta",
    "assistant.turn_retry",
    "skill.context_delivered_ref",
    "skill.invoked",
    "tool.execution_partial_result",
    "tool.execution_progress",
    "tool.shell_output",
];

#[derive(Default)]
pub struct CopilotLines {
    /// What the session file says before all else.
    first: Vec<AgentEvent>,
    /// Whether `first` has the list of skills that the model saw.
    has_list: bool,
    /// Whether the model was asked.
    has_asked: bool,
    /// The tokens of each request, by its id.
    usage: HashMap<String, Usage>,
    /// The texts that Copilot put into the conversation when the model called the tool for skills, by name.
    texts: HashMap<String, String>,
    /// The skills of the calls of that tool, by the call's id.
    called: HashMap<String, String>,
}

impl LineReader for CopilotLines {
    fn session(&mut self, line: &Value) {
        let data = &line["data"];
        match line["type"].as_str() {
            Some("session.start") => self.first.extend(text(data, "copilotVersion").map(AgentEvent::Version)),
            Some("system.message") => {
                if let (Some(list), false) =
                    (data["content"].as_str().and_then(skill_list::unescaped_within), self.has_list)
                {
                    self.has_list = true;
                    self.first.push(AgentEvent::Offered(list));
                }
            }
            Some("session.usage_record") => {
                if let Some(id) = text(&data["usage"], "apiCallId") {
                    self.usage.insert(id, usage(&data["usage"], TOKENS));
                }
            }
            Some("skill.invoked") => self.texts.extend(text(data, "name").zip(text(data, "content"))),
            _ => {}
        }
    }

    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        let data = &line["data"];
        let mut said = std::mem::take(&mut self.first);
        said.extend(answers_so_far(line).map(AgentEvent::Counted));
        match line["type"].as_str()? {
            // Without the list that the model saw, what was offered is unknown.
            "session.skills_loaded" if self.has_list => said.push(AgentEvent::CallableByUser(callable(data))),
            "session.mcp_servers_loaded" => said.extend(servers(data)),
            // A server that connects after the first request was not offered to it.
            "session.mcp_server_status_changed" if !self.has_asked => {
                let state = text(data, "serverName").zip(text(data, "status"));
                said.extend(
                    state.filter(|(_, state)| state != "disabled").map(|(name, state)| AgentEvent::Server(name, state)),
                );
            }
            "model.call_start" => {
                self.has_asked = true;
                said.extend(text(data, "model").map(AgentEvent::Model));
                said.push(AgentEvent::Asks);
            }
            "model.call_failure" => said.push(AgentEvent::AsksAgain(refusal(data, "errorMessage"), None)),
            "session.error" => said.push(AgentEvent::Refused(refusal(data, "message"))),
            "session.info" | "session.warning" => said.extend(text(data, "message").map(AgentEvent::Notice)),
            "assistant.reasoning" => said.extend(text(data, "content").map(AgentEvent::Thought)),
            "assistant.message" => {
                said.push(AgentEvent::Answers(text(data, "apiCallId").and_then(|id| self.usage.get(&id).copied())));
                if !data["content"].is_string() {
                    said.push(AgentEvent::Lost("a message of the agent".to_owned()));
                }
                said.extend(text(data, "content").filter(|text| !text.is_empty()).map(AgentEvent::Message));
            }
            "tool.execution_start" => {
                let skill = named(&data["arguments"], "skill").filter(|_| data["toolName"] == SKILL_TOOL);
                self.called.extend(text(data, "toolCallId").zip(skill));
                said.push(AgentEvent::or_gap(call(data), "a call of the model"));
            }
            "tool.execution_complete" => {
                let skill = text(data, "toolCallId").and_then(|id| self.called.remove(&id));
                let content = skill.as_ref().and_then(|skill| self.texts.get(skill).cloned());
                // Without the session file nothing shows the texts.
                if skill.is_some() && content.is_none() && !self.texts.is_empty() && data["success"] == true {
                    said.push(AgentEvent::Lost("the text of a skill that the model called".to_owned()));
                }
                said.extend(skill.zip(content).map(|(skill, text)| AgentEvent::Injected { skill, text }));
                said.push(AgentEvent::or_gap(answer(data), "the result of a call"));
            }
            "agent.interrupted" | "abort" => said.push(AgentEvent::Interrupted),
            "result" if line["exitCode"] == 0 => said.push(AgentEvent::Done),
            "result" => {}
            "session.compaction_start" => said.push(AgentEvent::MayAsk),
            kind if QUIET.contains(&kind) || kind.starts_with("session.") => {}
            _ => return None,
        }
        Some(said)
    }

    fn sub_agent(line: &Value) -> Option<&str> {
        line.get("agentId")?.as_str()
    }
}

/// How often the model of the agent itself answered by the end of this line's turn: turns are counted from 0. Only an answer counts.
fn answers_so_far(line: &Value) -> Option<u64> {
    let is_answer = line["type"] == "assistant.message" && CopilotLines::sub_agent(line).is_none();
    let turn: u64 = line["data"]["turnId"].as_str().filter(|_| is_answer)?.parse().ok()?;
    turn.checked_add(1)
}

/// The names of the skills that a user can call.
fn callable(data: &Value) -> Vec<String> {
    let skills = data["skills"].as_array().into_iter().flatten().filter(|skill| skill["userInvocable"] == true);
    skills.filter_map(|skill| text(skill, "name")).collect()
}

fn servers(data: &Value) -> impl Iterator<Item = AgentEvent> {
    let servers = data["servers"].as_array().into_iter().flatten().filter(|server| server["status"] != "disabled");
    servers.filter_map(|server| Some(AgentEvent::Server(text(server, "name")?, text(server, "status")?)))
}

fn refusal(data: &Value, message: &str) -> Trouble {
    let message = data[message].as_str().unwrap_or("no reason given");
    let (status, code) = (data["statusCode"].as_u64(), data["errorType"].as_str());
    Refusal { status, code, message, retried: None }.trouble()
}

fn call(data: &Value) -> Option<AgentEvent> {
    let tool = match (data["mcpServerName"].as_str(), data["mcpToolName"].as_str()) {
        (Some(server), Some(tool)) => format!("mcp__{server}__{tool}"),
        _ => text(data, "toolName")?,
    };
    Some(AgentEvent::Called { id: text(data, "toolCallId")?, tool, input: data["arguments"].clone() })
}

fn answer(data: &Value) -> Option<AgentEvent> {
    let output = data["result"]["content"].as_str().or_else(|| data["error"]["message"].as_str());
    let ending = match (data["success"].as_bool(), data["error"]["code"].as_str()) {
        (Some(true), _) => CallEnding::Done,
        (_, Some("denied")) => CallEnding::Denied,
        _ => CallEnding::Failed,
    };
    Some(AgentEvent::Answered {
        id: text(data, "toolCallId")?,
        output: output.map(str::to_owned),
        ending,
        exit_code: data["shellExecution"]["exitCode"].as_i64(),
    })
}

/// What a line of the session file says about the model's calls.
pub(super) fn turn_sign(line: &Value) -> Option<TurnSign> {
    let data = &line["data"];
    let call = text(data, "toolCallId")?;
    match line["type"].as_str()? {
        "tool.execution_start" => Some(TurnSign::Called { call, answer: text(data, "turnId") }),
        "tool.execution_complete" => Some(TurnSign::Answered(call)),
        _ => None,
    }
}

/// A line of the session file as a recording stores it.
pub(super) fn slim_session(line: &Value, skills_of_case: &[&str]) -> Option<Value> {
    let data = &line["data"];
    let slim = match line["type"].as_str()? {
        "session.start" => json!({ "copilotVersion": data["copilotVersion"] }),
        "session.usage_record" => {
            let keys = [&["apiCallId"][..], &TOKENS].concat();
            json!({ "usage": keys.iter().map(|key| (*key, &data["usage"][key])).collect::<HashMap<_, _>>() })
        }
        "skill.invoked" => json!({ "name": data["name"], "content": data["content"] }),
        "system.message" => json!({ "content": skill_list::recorded(data["content"].as_str()?, skills_of_case)? }),
        _ => return None,
    };
    Some(json!({ "type": line["type"], "data": slim }))
}
