//! A line of Kimi Code's session files: one file for each agent, whose lines name the agent.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::MAIN;
use crate::agent::agent_event::AgentEvent;
use crate::agent::field::{plain, text, usage, with_cached_input};
use crate::agent::refusal::refused;
use crate::agent::skill_list::recorded_description;
use crate::agent::turns::TurnSign;
use crate::trace::{StopReason, Usage};

/// What comes before the list of skills in the system prompt.
const LIST: &str = "Current available skills:\n";

/// The keys of the tokens of a request.
const TOKENS: [&str; 5] = ["inputOther", "inputCacheRead", "inputCacheCreation", "output", ""];

/// An answer of the model, and the skills whose texts followed its calls.
#[derive(Clone, Default)]
pub(super) struct KimiAnswer {
    pub time: Option<String>,
    pub usage: Option<Usage>,
    pub thoughts: Vec<String>,
    pub text: String,
    pub calls: Vec<KimiCall>,
    /// Whether it reached the most tokens that it may have.
    pub is_cut: bool,
    /// The provider's reason for its end, if it is not whole.
    pub broken: Option<String>,
    pub loaded: Vec<AgentEvent>,
}

#[derive(Clone)]
pub(super) struct KimiCall {
    pub id: String,
    pub tool: String,
    pub input: Value,
}

/// What a session file says about a call's result.
#[derive(Clone, Default)]
pub(super) struct KimiResult {
    pub time: Option<String>,
    pub output: Option<String>,
    pub failed: bool,
    /// Whether Kimi Code no longer waited for it, since it was being ended.
    pub is_dropped: bool,
}

#[derive(Default)]
pub(super) struct AgentLog {
    /// Also the requests without an answer.
    pub answers: Vec<KimiAnswer>,
    pub results: HashMap<String, KimiResult>,
    /// How turns ended early, and how many answers there were before.
    pub endings: Vec<(usize, AgentEvent)>,
    /// Whether the agent is being ended.
    pub is_ending: bool,
}

impl KimiAnswer {
    /// Whether a line of the output shows it.
    pub(super) fn is_shown(&self) -> bool {
        !self.text.is_empty() || !self.calls.is_empty()
    }
}

impl AgentLog {
    pub(super) fn line(&mut self, line: &Value) {
        match line["type"].as_str() {
            Some("context.append_loop_event") => self.event(&line["event"], time(line)),
            Some("usage.record") if line["usageScope"] == "turn" && !self.is_ending => {
                if let Some(answer) = self.answers.last_mut() {
                    (answer.usage, answer.time) = (Some(with_cached_input(usage(&line["usage"], TOKENS))), time(line));
                }
            }
            Some("context.append_message") if line["message"]["origin"]["kind"] == "skill_activation" => {
                let message = &line["message"];
                let skill = text(&message["origin"], "skillName");
                let parts = message["content"].as_array().into_iter().flatten();
                let text: String = parts.filter_map(|part| part["text"].as_str()).collect();
                if let (Some(answer), Some(skill)) = (self.answers.last_mut(), skill) {
                    answer.loaded.push(AgentEvent::Injected { skill, text });
                }
            }
            Some(kind @ ("turn.prompt" | "turn.cancel")) => self.is_ending = kind == "turn.cancel",
            Some("turn.ended") if line["reason"] == "failed" => {
                self.endings.push((self.answers.len(), ending(&line["error"])));
            }
            _ => {}
        }
    }

    fn event(&mut self, event: &Value, time: Option<String>) {
        let kind = event["type"].as_str().unwrap_or_default();
        if kind == "step.begin" {
            return self.answers.push(KimiAnswer::default());
        }
        let Some(answer) = self.answers.last_mut() else { return };
        match kind {
            // The beginning of an answer, and an end that the provider did not give it.
            "content.part" | "step.end" if self.is_ending => {}
            "content.part" => {
                answer.thoughts.extend(text(&event["part"], "think").filter(|thought| !thought.is_empty()));
                answer.text.push_str(event["part"]["text"].as_str().unwrap_or_default());
            }
            "tool.call" => answer.calls.extend(call(event)),
            "tool.result" => {
                let result = &event["result"];
                let (failed, is_dropped) = (result["isError"] == true, self.is_ending);
                let found = KimiResult { time, output: plain(&result["output"]), failed, is_dropped };
                self.results.extend(text(event, "toolCallId").map(|id| (id, found)));
            }
            "step.end" => {
                answer.is_cut = event["finishReason"] == "max_tokens";
                // Without the provider's own reason, or with one that Kimi Code does not know, the stream broke off.
                let known = ["end_turn", "tool_use", "max_tokens", "filtered"];
                let is_known = event["finishReason"].as_str().is_some_and(|reason| known.contains(&reason));
                let reason = event["rawFinishReason"].as_str().unwrap_or("no reason");
                answer.broken = (!is_known || event["rawFinishReason"].is_null()).then(|| reason.to_owned());
            }
            _ => {}
        }
    }
}

fn call(event: &Value) -> Option<KimiCall> {
    Some(KimiCall { id: text(event, "toolCallId")?, tool: text(event, "name")?, input: event["args"].clone() })
}

/// The time of a line, which has milliseconds.
fn time(line: &Value) -> Option<String> {
    Some(jiff::Timestamp::from_millisecond(line["time"].as_i64()?).ok()?.to_string())
}

/// How a turn ended that did not end by itself.
fn ending(error: &Value) -> AgentEvent {
    let code = error["code"].as_str().unwrap_or_default();
    match code {
        "provider.filtered" => return AgentEvent::Stopped(StopReason::Refusal),
        "loop.max_steps_exceeded" => return AgentEvent::Stopped(StopReason::MaxTurns),
        _ => {}
    }
    // Without a login, Kimi Code does not ask.
    let known = (code == "provider.auth_error").then_some(401);
    let status = error["details"]["statusCode"].as_u64().or(known);
    AgentEvent::Refused(refused(status, error["message"].as_str().unwrap_or("no reason given")))
}

/// The agent that a line is about.
pub(super) fn agent(line: &Value) -> &str {
    line["agentId"].as_str().unwrap_or_default()
}

/// The skills in the list of a system prompt: a line for each, `- name: description`, below headings.
pub(super) fn offered(line: &Value) -> Vec<(String, String)> {
    let prompt = line["systemPrompt"].as_str().unwrap_or_default();
    // Instructions of the workspace come before it.
    let list = prompt.rsplit_once(LIST).map_or("", |(_, list)| list);
    let lines = list.lines().take_while(|line| !line.is_empty());
    let mut skills: Vec<(String, String)> = Vec::new();
    for line in lines {
        let entry = line.strip_prefix("- ").and_then(|entry| entry.split_once(": "));
        skills.extend(entry.map(|(name, text)| (name.to_owned(), text.to_owned())));
    }
    skills
}

/// What a line of the session file says about the model's calls.
pub(super) fn turn_signs(line: &Value) -> Vec<TurnSign> {
    let event = &line["event"];
    let id = || text(event, "toolCallId");
    let sign = match event["type"].as_str() {
        Some("tool.call") => id().map(|call| TurnSign::Called { call, answer: text(event, "stepUuid") }),
        Some("tool.result") => id().map(TurnSign::Answered),
        _ => None,
    };
    sign.into_iter().collect()
}

/// A line of the session file as a recording stores it.
pub(super) fn slim(line: Value, skills_of_case: &[&str]) -> Option<Value> {
    let (kind, time) = (&line["type"], &line["time"]);
    match kind.as_str()? {
        "profile.bind" if agent(&line) == MAIN => {
            let entry = |(name, text): (String, String)| {
                format!("- {name}: {}\n", recorded_description(&name, &text, skills_of_case))
            };
            let list: String = offered(&line).into_iter().map(entry).collect();
            Some(json!({ "type": kind, "agentId": MAIN, "systemPrompt": format!("{LIST}{list}") }))
        }
        "llm.request" => Some(json!({ "type": kind, "agentId": agent(&line), "model": line["model"] })),
        "mcp.tools_discovered" => Some(json!({ "type": kind, "serverName": line["serverName"] })),
        "context.append_message" if line["message"]["origin"]["kind"] != "skill_activation" => None,
        "context.append_loop_event" => {
            let mut event = line["event"].clone();
            event.as_object_mut()?.retain(|key, _| {
                ["type", "part", "toolCallId", "name", "args", "result", "finishReason", "rawFinishReason", "stepUuid"]
                    .contains(&key.as_str())
            });
            Some(json!({ "type": kind, "agentId": agent(&line), "event": event, "time": time }))
        }
        "turn.prompt" => Some(json!({ "type": kind, "agentId": agent(&line) })),
        "servers" | "usage.record" | "turn.cancel" | "turn.ended" | "subagent.spawned" | "context.append_message" => {
            Some(line)
        }
        _ => None,
    }
}
