//! The lines of Kimi Code's output: messages as other programs have them, and `{"role":"meta", …}`. What they lack comes from the session
//! files.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde_json::Value;

use super::MAIN;
use super::session::{self, AgentLog, KimiAnswer, KimiCall, KimiResult};
use crate::agent::agent_event::{AgentEvent, CallEnding};
use crate::agent::field::text;
use crate::agent::refusal::refused;
use crate::agent::stream::LineReader;
use crate::trace::StopReason;

/// The last line of what a command printed, before its exit code.
const EXIT_CODE: &str = "Command failed with exit code: ";

/// Kimi Code's answers to a call that it does not allow: with the tool's name between them.
const DENIED: [&str; 2] = ["Tool \"", "\" was denied by permission"];

#[derive(Default)]
pub struct KimiLines {
    model: Option<String>,
    /// The skills that the model was offered.
    offered: Option<Vec<(String, String)>>,
    /// The MCP servers, and whether each was reached.
    servers: BTreeMap<String, bool>,
    /// What the session files say, by the agent.
    logs: HashMap<String, AgentLog>,
    /// The sub-agents that a call started, by its id.
    sub_agents: HashMap<String, Vec<String>>,
    /// How many of the answers were shown.
    shown: usize,
    /// The calls that are not answered, with their tools.
    open: HashMap<String, String>,
    /// When the present line was written.
    now: Option<String>,
}

impl LineReader for KimiLines {
    const HIDDEN_SUB_AGENTS: &[&str] = &["Agent", "AgentSwarm"];

    fn session(&mut self, line: &Value) {
        match line["type"].as_str() {
            Some("servers") => {
                let names = line["names"].as_array().into_iter().flatten().filter_map(Value::as_str);
                for name in names {
                    self.servers.entry(name.to_owned()).or_default();
                }
            }
            Some("mcp.tools_discovered") => self.servers.extend(text(line, "serverName").map(|name| (name, true))),
            Some("profile.bind") if session::agent(line) == MAIN => {
                self.offered.get_or_insert_with(|| session::offered(line));
            }
            Some("llm.request") if session::agent(line) == MAIN && self.model.is_none() => {
                self.model = text(line, "model");
            }
            Some("subagent.spawned") => {
                if let (Some(call), Some(agent)) = (text(line, "parentToolCallId"), text(line, "subagentId")) {
                    self.sub_agents.entry(call).or_default().push(agent);
                }
            }
            _ => self.logs.entry(session::agent(line).to_owned()).or_default().line(line),
        }
    }

    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        self.now = None;
        let mut said = Vec::new();
        match (line["role"].as_str()?, line["type"].as_str()) {
            ("meta", Some("system.version")) => self.begins(line, &mut said),
            ("meta", Some("turn.step.retrying")) => {
                let status = line["status_code"].as_u64();
                let why = refused(status, line["error_message"].as_str().unwrap_or("no reason given"));
                let wait = line["delay_ms"].as_f64().and_then(|wait| Duration::try_from_secs_f64(wait / 1000.0).ok());
                said.push(AgentEvent::AsksAgain(why, wait));
            }
            ("meta", Some("session.resume_hint")) => said.push(AgentEvent::Done),
            ("assistant", _) => self.answers(line, &mut said),
            ("tool", _) => self.answered(line, &mut said),
            _ => return None,
        }
        self.ends(&mut said);
        Some(said)
    }

    fn kind(line: &Value) -> String {
        line["type"].as_str().or(line["role"].as_str()).unwrap_or("without a role").to_owned()
    }

    fn time<'a>(&'a self, _: &'a Value) -> Option<&'a str> {
        self.now.as_deref()
    }
}

impl KimiLines {
    fn main(&mut self) -> &mut AgentLog {
        self.logs.entry(MAIN.to_owned()).or_default()
    }

    /// A run begins, with a message of the user.
    fn begins(&mut self, line: &Value, said: &mut Vec<AgentEvent>) {
        said.extend(text(line, "version").map(AgentEvent::Version));
        said.extend(self.model.clone().map(AgentEvent::Model));
        said.extend(self.offered.clone().map(AgentEvent::Offered));
        let state = |is_reached| if is_reached { "connected" } else { "failed" };
        let has_log = self.offered.is_some();
        let servers = self.servers.iter().filter(|_| has_log);
        said.extend(servers.map(|(name, is_reached)| AgentEvent::Server(name.clone(), state(*is_reached).to_owned())));
        said.push(AgentEvent::Asks);
    }

    /// An answer of the model, with those before it that no line shows.
    fn answers(&mut self, line: &Value, said: &mut Vec<AgentEvent>) {
        let content = text(line, "content").unwrap_or_default();
        let all = line["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
        let calls: Vec<KimiCall> = all.iter().filter_map(call).collect();
        if calls.len() < all.len() || (all.is_empty() && !line["content"].is_string()) {
            said.push(AgentEvent::Lost("a part of an answer".to_owned()));
        }
        let shown = self.shown;
        let is_it = |answer: &KimiAnswer| match calls.first() {
            Some(call) => answer.calls.iter().any(|known| known.id == call.id),
            None => answer.text == content && !content.is_empty(),
        };
        let at = self.main().answers.iter().skip(shown).position(is_it);
        if at.is_none() && self.main().is_ending {
            // The beginning of an answer.
            return said.push(AgentEvent::Interrupted);
        }
        let mut found = at.map_or_else(Vec::new, |at| self.main().answers[shown..=shown + at].to_vec());
        self.shown += found.len();
        let answer = found.pop().unwrap_or_default();
        for before in found {
            let hidden = before.calls.into_iter().map(|call| AgentEvent::Lost(format!("a call of `{}`", call.tool)));
            said.extend(hidden);
            said.extend(before.usage.map(|usage| AgentEvent::Answers(Some(usage))));
            said.extend(before.thoughts.into_iter().map(AgentEvent::Thought));
        }
        said.push(AgentEvent::Answers(answer.usage));
        said.extend(answer.thoughts.into_iter().map(AgentEvent::Thought));
        said.extend((!content.is_empty()).then_some(AgentEvent::Message(content)));
        self.now = answer.time;
        said.extend((answer.is_cut && calls.is_empty()).then_some(AgentEvent::Stopped(StopReason::MaxTokens)));
        said.extend(
            answer.broken.map(|reason| AgentEvent::Refused(refused(None, &format!("the answer ended with {reason}")))),
        );
        for KimiCall { id, tool, input } in calls {
            self.open.insert(id.clone(), tool.clone());
            let agents = self.sub_agents.remove(&id).unwrap_or_default();
            said.push(AgentEvent::Called { id, tool, input });
            for agent in agents {
                said.extend(self.logs.remove(&agent).map(|log| of_sub_agent(&agent, log)).into_iter().flatten());
            }
        }
    }

    fn answered(&mut self, line: &Value, said: &mut Vec<AgentEvent>) {
        let Some(id) = text(line, "tool_call_id") else {
            return said.push(AgentEvent::Lost("the result of a call".to_owned()));
        };
        let tool = self.open.remove(&id).unwrap_or_default();
        let result = self.main().results.get(&id).cloned();
        self.now = result.as_ref().and_then(|result| result.time.clone());
        let result = KimiResult { output: text(line, "content"), ..result.unwrap_or_default() };
        said.extend(result.is_dropped.then_some(AgentEvent::Interrupted));
        said.push(answer_of(id, &tool, result));
        if let (true, Some(at)) = (self.open.is_empty(), self.shown.checked_sub(1)) {
            said.extend(std::mem::take(&mut self.main().answers[at].loaded));
        }
    }

    /// How a turn ended, after all that was shown of it.
    fn ends(&mut self, said: &mut Vec<AgentEvent>) {
        if !self.open.is_empty() {
            return;
        }
        let shown = self.shown;
        let log = self.main();
        while let Some((before, ending)) = log.endings.first().cloned() {
            let left = log.answers.get(shown..before).unwrap_or_default();
            if left.iter().any(KimiAnswer::is_shown) {
                break;
            }
            for answer in left.iter().filter(|answer| answer.usage.is_some()) {
                said.push(AgentEvent::Answers(answer.usage));
                said.extend(answer.thoughts.iter().cloned().map(AgentEvent::Thought));
            }
            let is_early = matches!(ending, AgentEvent::Stopped(_));
            said.push(ending);
            said.extend(is_early.then_some(AgentEvent::Done));
            log.endings.remove(0);
        }
    }
}

fn call(call: &Value) -> Option<KimiCall> {
    let function = &call["function"];
    let arguments = function["arguments"].as_str().unwrap_or_default();
    let input = serde_json::from_str(arguments).unwrap_or_else(|_| Value::from(arguments));
    Some(KimiCall { id: text(call, "id")?, tool: text(function, "name")?, input })
}

fn answer_of(id: String, tool: &str, result: KimiResult) -> AgentEvent {
    let KimiResult { output, failed, .. } = result;
    let text = output.as_deref().unwrap_or_default();
    let is_denied = failed && text.starts_with(DENIED[0]) && text.contains(DENIED[1]);
    let ending = match failed {
        _ if is_denied => CallEnding::Denied,
        true => CallEnding::Failed,
        false => CallEnding::Done,
    };
    let said = text.lines().next_back().and_then(|line| line.strip_prefix(EXIT_CODE)?.strip_suffix('.')?.parse().ok());
    let exit_code = if failed { said } else { Some(0) };
    AgentEvent::Answered { id, output, ending, exit_code: exit_code.filter(|_| tool == "Bash") }
}

/// What a sub-agent did, as if its caller had done it.
fn of_sub_agent(agent: &str, log: AgentLog) -> Vec<AgentEvent> {
    let AgentLog { answers, mut results, endings, .. } = log;
    let mut said = Vec::new();
    for answer in answers.into_iter().filter(|answer| answer.usage.is_some()) {
        said.push(AgentEvent::Answers(answer.usage));
        said.extend(answer.thoughts.into_iter().map(AgentEvent::Thought));
        for KimiCall { id, tool, input } in answer.calls {
            let (result, id) = (results.remove(&id), format!("{agent} {id}"));
            said.push(AgentEvent::Called { id: id.clone(), tool: tool.clone(), input });
            said.extend(result.map(|result| answer_of(id, &tool, result)));
        }
        said.extend(answer.loaded);
    }
    let refused = endings.into_iter().map(|(_, ending)| ending);
    said.extend(refused.filter(|ending| matches!(ending, AgentEvent::Refused(_))));
    said
}
