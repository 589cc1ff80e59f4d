//! The lines that the agent's process prints.

use serde::Deserialize;
use serde_json::Value;

use crate::agent::agent_event::{AgentEvent, CallEnding};
use crate::agent::field::{seconds, text};
use crate::agent::refusal::Refusal;
use crate::agent::reset::wait_in;
use crate::agent::skill_list;
use crate::agent::stream::LineReader;
use crate::agent::turns::TurnSign;
use crate::trace::Usage;
use crate::trace::trouble::Trouble;

#[derive(Default)]
pub struct ChatLines;

impl LineReader for ChatLines {
    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        let said = match line["type"].as_str()? {
            "begin" => {
                let offered = text(line, "system").map(|system| offered(&system));
                let offered = AgentEvent::or_gap(offered, "the system prompt");
                let named = |said: fn(String) -> AgentEvent, key| text(line, key).map(said);
                let first = [named(AgentEvent::Version, "version"), named(AgentEvent::Model, "model"), Some(offered)];
                first.into_iter().flatten().collect()
            }
            "message" => vec![AgentEvent::Asks],
            "answer" => answer(line),
            "tool_result" => vec![AgentEvent::or_gap(result(line), "the result of a call")],
            "retry" => vec![AgentEvent::AsksAgain(refusal(line), seconds(&line["wait_s"]))],
            "refused" => vec![AgentEvent::Refused(refusal(line))],
            "stopped" => {
                let reason = Deserialize::deserialize(&line["reason"]).ok().map(AgentEvent::Stopped);
                vec![AgentEvent::or_gap(reason, "why the model stopped")]
            }
            "done" => line["answers"].as_u64().map(AgentEvent::Counted).into_iter().chain([AgentEvent::Done]).collect(),
            _ => return None,
        };
        Some(said)
    }
}

/// The skills in the system prompt. Without a list, none were offered.
fn offered(system: &str) -> AgentEvent {
    AgentEvent::Offered(skill_list::unescaped_within(system).unwrap_or_default())
}

fn answer(line: &Value) -> Vec<AgentEvent> {
    let usage: Option<Usage> = Deserialize::deserialize(&line["usage"]).ok();
    let mut said = vec![AgentEvent::Answers(usage)];
    said.extend(text(line, "thought").map(AgentEvent::Thought));
    said.extend(text(line, "text").map(AgentEvent::Message));
    let call = |call: &Value| {
        Some(AgentEvent::Called { id: text(call, "id")?, tool: text(call, "tool")?, input: call["input"].clone() })
    };
    match line["calls"].as_array() {
        Some(calls) => said.extend(calls.iter().map(|one| AgentEvent::or_gap(call(one), "a call of the model"))),
        None => said.push(AgentEvent::Lost("the calls of an answer".to_owned())),
    }
    said
}

fn result(line: &Value) -> Option<AgentEvent> {
    let ending = if line["failed"] == true { CallEnding::Failed } else { CallEnding::Done };
    Some(AgentEvent::Answered {
        id: text(line, "id")?,
        output: text(line, "output"),
        ending,
        exit_code: line["exit_code"].as_i64(),
    })
}

fn refusal(line: &Value) -> Trouble {
    let (message, code) = (text(line, "message").unwrap_or_default(), text(line, "code"));
    let status = line["status"].as_u64();
    let wait = seconds(&line["retry_after_s"]).or_else(|| wait_in(&message));
    Refusal { status, code: code.as_deref(), message: &message, retried: None }.trouble().after(wait)
}

/// What a line says about the model's calls.
pub(super) fn turn_signs(line: &Value) -> Vec<TurnSign> {
    match line["type"].as_str() {
        Some("answer") => {
            let ids = line["calls"].as_array().into_iter().flatten().filter_map(|call| text(call, "id"));
            ids.map(|call| TurnSign::Called { call, answer: text(line, "timestamp") }).collect()
        }
        Some("tool_result") => text(line, "id").map(TurnSign::Answered).into_iter().collect(),
        _ => Vec::new(),
    }
}
