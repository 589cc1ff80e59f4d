//! The lines of our script, `{"type": "evidence", "kind", "agent", …}`. `agent` is the sub-agent whose work the line shows.

use serde_json::{Value, json};

use crate::agent::agent_event::{AgentEvent, CallEnding};
use crate::agent::field::{seconds, text, usage};
use crate::agent::recorder::texts;
use crate::agent::refusal::refused;
use crate::agent::skill_list::{self, recorded_description};
use crate::agent::stream::LineReader;
use crate::trace::trouble::Trouble;
use crate::trace::{StopReason, spoken};

/// How Vibe names the list of skills, which other agents call `available_skills`.
const LIST: &str = "available-skills";

/// The code of the error of what Vibe no longer waits for, since it is being ended: a request, a call.
const CANCELED: &str = "effect_recovery_failed";

/// The code of the error of a call that Vibe did not allow.
const DENIED: &str = "tool_denied";

/// How the id of a call begins that the model's code made.
const BY_CODE: &str = "typescript:";

/// Stands for the result of such a call: the code read it, and the model may not have seen it.
const TO_CODE: &str = "(for the model's code, which may pass it on)";

/// How the text begins of a skill that the user's message calls. The name and `">` follow.
const SKILL: &str = "<skill_content name=\"";

/// The keys of the tokens of a request.
const TOKENS: [&str; 5] =
    ["input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens"];

#[derive(Default)]
pub struct VibeLines {
    /// How the answer to the last request of the agent itself ended, if it was read.
    end: Option<String>,
}

impl LineReader for VibeLines {
    const SHOWS_REQUESTS: bool = true;

    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        let mut said = Vec::new();
        match (line["type"].as_str()?, line["kind"].as_str()) {
            ("evidence", Some("program")) => said.extend(text(line, "version").map(AgentEvent::Version)),
            ("evidence", Some("message")) => said.extend(called_skill(line)),
            ("evidence", Some("request")) => {
                if Self::sub_agent(line).is_none() {
                    self.end = None;
                }
                requests(line, &mut said);
            }
            ("evidence", Some("retry")) => {
                said.push(AgentEvent::AsksAgain(trouble(line, line["status"].as_u64()), seconds(&line["wait"])));
            }
            ("evidence", Some("answer")) => self.answers(line, &mut said),
            // Other calls are known from the model's answers.
            ("evidence", Some("call")) if is_by_code(line) => {
                let (id, name) = text(line, "id").zip(text(line, "tool"))?;
                said.push(AgentEvent::Called { id, tool: tool(&name), input: line["input"].clone() });
            }
            ("evidence", Some("result")) => said.push(AgentEvent::or_gap(result(line), "the result of a call")),
            ("evidence", Some("turn")) if Self::sub_agent(line).is_none() => self.ends(line, &mut said),
            ("evidence", Some("call" | "turn")) => {}
            ("evidence", Some("lost")) => said.extend(text(line, "what").map(AgentEvent::Lost)),
            _ => return None,
        }
        Some(said)
    }

    fn sub_agent(line: &Value) -> Option<&str> {
        line["agent"].as_str()
    }
}

impl VibeLines {
    fn answers(&mut self, line: &Value, said: &mut Vec<AgentEvent>) {
        let error = &line["error"];
        if error["code"] == CANCELED {
            return said.push(AgentEvent::Interrupted);
        }
        if error.is_object() {
            return said.push(AgentEvent::Refused(trouble(error, error["details"]["httpStatus"].as_u64())));
        }
        let answer = &line["result"];
        if Self::sub_agent(line).is_none() {
            self.end = text(answer, "finish_reason");
        }
        let is_known = |key: &str| answer["usage"][key].is_u64();
        let tokens = Some(&answer["usage"]).filter(|_| is_known("input_tokens") && is_known("output_tokens"));
        said.push(AgentEvent::Answers(tokens.map(|tokens| usage(tokens, TOKENS))));
        let part = |part: &Value| match part["type"].as_str()? {
            "text" => text(part, "text").map(AgentEvent::Message),
            "reasoning" => Some(AgentEvent::Thought(texts(&part["content"]))),
            "tool_call" => {
                let input = part["arguments_json"].as_str().and_then(|input| serde_json::from_str(input).ok());
                let input = input.unwrap_or_else(|| part["arguments_json"].clone());
                Some(AgentEvent::Called { id: text(part, "id")?, tool: text(part, "name")?, input })
            }
            _ => None,
        };
        match answer["parts"].as_array() {
            Some(parts) => said.extend(parts.iter().map(|one| AgentEvent::or_gap(part(one), "a part of an answer"))),
            None => said.push(AgentEvent::Lost("what the model answered".to_owned())),
        }
    }

    fn ends(&mut self, line: &Value, said: &mut Vec<AgentEvent>) {
        match line["state"].as_str() {
            Some("completed") => {
                said.extend(match self.end.as_deref() {
                    None => Some(AgentEvent::Lost("how the model's last answer ended".to_owned())),
                    Some("length") => Some(AgentEvent::Stopped(StopReason::MaxTokens)),
                    Some("content_filter") => Some(AgentEvent::Stopped(StopReason::Refusal)),
                    // The model was not asked again.
                    Some("tool_call") => Some(AgentEvent::Stopped(StopReason::MaxTurns)),
                    Some("stop") => None,
                    Some(other) => {
                        Some(AgentEvent::Refused(refused(None, &format!("the answer ended with {other:?}"))))
                    }
                });
                said.push(AgentEvent::Done);
            }
            Some("interrupted") => said.push(AgentEvent::Interrupted),
            // The answer before has the error.
            _ => {}
        }
    }
}

fn is_by_code(line: &Value) -> bool {
    line["id"].as_str().is_some_and(|id| id.starts_with(BY_CODE))
}

fn trouble(error: &Value, status: Option<u64>) -> Trouble {
    refused(status, error["message"].as_str().unwrap_or("no reason given"))
}

/// A request: the list of skills, and the results of calls as the model sees them, of which some are known already.
fn requests(line: &Value, said: &mut Vec<AgentEvent>) {
    for (id, result) in line["results"].as_object().into_iter().flatten() {
        let lines = result["texts"].as_array().into_iter().flatten().filter_map(Value::as_str).map(shown);
        let ending = if result["failed"] == true { CallEnding::Failed } else { CallEnding::Done };
        let output = result["texts"].is_array().then(|| lines.collect::<Vec<_>>().join("\n"));
        said.push(AgentEvent::Answered { id: id.clone(), output, ending, exit_code: None });
    }
    if VibeLines::sub_agent(line).is_none() {
        said.extend(text(line, "model").map(AgentEvent::Model));
        let system = texts(&line["system"]);
        said.extend((!system.is_empty()).then(|| AgentEvent::Offered(offered(&system))));
    }
    said.push(AgentEvent::Asks);
}

/// What the model reads in a result, which may be JSON.
fn shown(text: &str) -> String {
    serde_json::from_str(text).map_or_else(|_| text.to_owned(), |value: Value| texts(&value))
}

fn offered(system: &str) -> Vec<(String, String)> {
    // Instructions of the workspace come before it.
    let system = system.rfind(&format!("<{LIST}>")).map_or("", |at| &system[at..]).replace(LIST, "available_skills");
    skill_list::unescaped_within(&system).unwrap_or_default()
}

/// The text of a skill that the message calls: what Vibe adds after the user's own text.
fn called_skill(line: &Value) -> Option<AgentEvent> {
    let text = line["texts"][1].as_str()?;
    let skill = text.strip_prefix(SKILL)?.split_once("\">")?.0.to_owned();
    Some(AgentEvent::CalledByUser { skill, text: text.to_owned() })
}

/// A tool that code called, by the name that the model would use: `file_system.bash`, `mcp_server.tool`.
fn tool(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((group, tool)) if group.starts_with("mcp_") => format!("mcp__{}__{tool}", &group[4..]),
        Some((_, tool)) => tool.to_owned(),
        None => name.to_owned(),
    }
}

fn result(line: &Value) -> Option<AgentEvent> {
    let (id, result) = (text(line, "id")?, &line["result"]);
    let structured = &result["structured_content"];
    let ending = match result["error"]["code"].as_str() {
        Some(CANCELED) => return Some(AgentEvent::Interrupted),
        Some(DENIED) => CallEnding::Denied,
        Some(_) => CallEnding::Failed,
        None => CallEnding::Done,
    };
    let output = if is_by_code(line) { Some(TO_CODE.to_owned()) } else { output(result) };
    let output = output.filter(|_| result.is_object());
    Some(AgentEvent::Answered { id, output, ending, exit_code: structured["returncode"].as_i64() })
}

/// What a call returned; `None` if nothing that is known has it.
fn output(result: &Value) -> Option<String> {
    let structured = &result["structured_content"];
    let is_of_command = ["returncode", "stderr"].into_iter().any(|key| structured.get(key).is_some());
    if is_of_command && !structured["stdout"].is_string() {
        return None;
    }
    let streams = ["stdout", "stderr"].into_iter().filter_map(|key| structured[key].as_str());
    let streams = streams.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    let content = result["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    let content = content.collect::<Vec<_>>().join("\n");
    let error = result["error"]["message"].as_str().unwrap_or_default();
    let all = [streams, content, structured["content"].as_str().unwrap_or_default().to_owned(), error.to_owned()];
    let of_fields = || if is_of_command { Some(String::new()) } else { spoken(texts(structured)) };
    all.into_iter().find(|text| !text.is_empty()).or_else(of_fields)
}

/// A line as a recording stores it.
pub(super) fn slim(mut line: Value, skills: &[&str]) -> Value {
    let system = texts(&line["system"]);
    if !system.is_empty() {
        let entry = |(name, text): (String, String)| {
            let text = recorded_description(&name, &text, skills);
            format!("<skill><name>{name}</name><description>{text}</description></skill>")
        };
        let list: String = offered(&system).into_iter().map(entry).collect();
        line["system"] = json!([format!("<{LIST}>{list}</{LIST}>")]);
    }
    line
}
