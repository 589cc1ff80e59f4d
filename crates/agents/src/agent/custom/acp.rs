//! The lines of an agent that speaks the Agent Client Protocol: its answers to our requests, and its updates of the session.
//!
//! The protocol has no names of tools, only titles and kinds, and says nothing of what the model sees. Whether a skill was
//! activated follows from its text in what calls return.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::answer::{AnswerSoFar, served};
use super::client::{NOT_AUTHENTICATED, PERMISSION, PROMPT, VERSION};
use super::{MAY_HIDE_CALLS, offer};
use crate::agent::agent_event::{AgentEvent, CallEnding};
use crate::agent::field::text;
use crate::agent::recorder::texts;
use crate::agent::refusal::Refusal;
use crate::agent::stream::LineReader;
use crate::profile::custom::CustomAgent;
use crate::settings::ToolNames;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{StopReason, Usage, excerpt};

/// Updates that say nothing about the trial.
const QUIET: [&str; 7] = [
    "user_message_chunk",
    "plan",
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
    "usage_update",
];

/// The most calls at once that are followed.
const MAX_CALLS: usize = 1_000;

/// A call that has not ended.
#[derive(Default)]
struct AcpCall {
    title: String,
    kind: String,
    /// The name of the tool, if the agent says it.
    tool: Option<String>,
    input: Value,
    paths: Vec<String>,
    content: Value,
    output: Value,
    is_announced: bool,
}

pub(super) struct AcpLines<'a> {
    agent: &'a CustomAgent,
    names: &'a ToolNames,
    /// What is said before all else.
    first: Vec<AgentEvent>,
    answer: AnswerSoFar,
    calls: HashMap<String, AcpCall>,
    /// The skills in the agent's directory.
    skills: Vec<String>,
    /// How the agent can be authenticated.
    methods: Vec<String>,
    /// The id of the session, once it is known.
    session: Option<String>,
    /// The tokens of all messages so far, for an agent that reports them by message.
    usage: Usage,
}

impl<'a> AcpLines<'a> {
    pub(super) fn new(agent: &'a CustomAgent, names: &'a ToolNames) -> Self {
        let hides = || AgentEvent::Lost(MAY_HIDE_CALLS.to_owned());
        let first = if agent.shows_calls() { Vec::new() } else { vec![hides()] };
        let (answer, calls) = (AnswerSoFar::default(), HashMap::new());
        let (skills, methods) = (Vec::new(), Vec::new());
        Self { agent, names, first, answer, calls, skills, methods, session: None, usage: Usage::default() }
    }

    /// A reader of a line by itself.
    pub(super) fn in_between(agent: &'a CustomAgent, names: &'a ToolNames) -> Self {
        Self { first: Vec::new(), answer: AnswerSoFar::begun(), ..Self::new(agent, names) }
    }

    /// Whether a message is about another session than that of the trial.
    fn is_of_another(&self, params: &Value) -> bool {
        let is_other = self.session.as_ref().is_some_and(|session| params["sessionId"] != **session);
        is_other && !is_quiet(&params["update"])
    }

    fn update(&mut self, update: &Value, said: &mut Vec<AgentEvent>) -> Option<()> {
        let content = &update["content"];
        let content = content["text"].as_str().or(content["resource"]["text"].as_str()).unwrap_or_default();
        // Qwen Code has them with an empty piece of text.
        if let Some(usage) = usage(&update["_meta"]["usage"]) {
            self.answer.costs(usage, said);
        }
        match update["sessionUpdate"].as_str()? {
            "agent_message_chunk" | "agent_thought_chunk" if content.is_empty() => {}
            "agent_message_chunk" => {
                self.answer.may_be_refusal(content, true, &self.agent.description.errors);
                self.answer.says(content, false, true, said);
            }
            "agent_thought_chunk" => self.answer.says(content, true, true, said),
            "tool_call" | "tool_call_update" => self.call(update, said),
            _ if is_quiet(update) => {}
            kind => said.push(AgentEvent::Lost(format!("an update that is not in the protocol: {kind}"))),
        }
        Some(())
    }

    /// Notes what an update or a request for permission says about a call.
    fn call(&mut self, update: &Value, said: &mut Vec<AgentEvent>) {
        let Some(id) = text(update, "toolCallId") else {
            return said.push(AgentEvent::Lost("a call without an id".to_owned()));
        };
        if self.calls.len() >= MAX_CALLS && !self.calls.contains_key(&id) {
            return said.push(AgentEvent::Lost("more calls at once than are followed".to_owned()));
        }
        let call = self.calls.entry(id.clone()).or_default();
        call.note(update);
        let status = update["status"].as_str().unwrap_or_default();
        let has_ended = ["completed", "failed"].contains(&status);
        let has_input = call.input.as_object().is_some_and(|input| !input.is_empty());
        if !call.is_announced && (has_input || has_ended || status == "in_progress") {
            call.is_announced = true;
            self.answer.calls(said);
            let tool = call.name(&id, self.agent, self.names);
            let mut input = call.whole_input();
            if self.agent.description.tools.skills.contains(&tool) && !has_input {
                // The title names the skill.
                let skill =
                    self.skills.iter().filter(|skill| names_skill(&call.title, skill)).max_by_key(|skill| skill.len());
                input["name"] = skill.cloned().into();
            }
            said.push(AgentEvent::Called { id: id.clone(), tool, input });
        }
        if has_ended && let Some(call) = self.calls.remove(&id) {
            self.answer.tool_answered();
            let ending = if status == "completed" { CallEnding::Done } else { CallEnding::Failed };
            // A failed call may show nothing, and of an agent that does not show its calls all is unknown.
            let is_shown = ending == CallEnding::Done && self.agent.shows_calls();
            let output = call.text().or_else(|| (!is_shown).then(String::new));
            said.push(AgentEvent::Answered { id, output, ending, exit_code: call.exit_code() });
        }
    }

    fn result(&mut self, id: u64, result: &Value, said: &mut Vec<AgentEvent>) {
        if let Some(version) = result.get("protocolVersion") {
            said.extend(text(&result["agentInfo"], "version").map(AgentEvent::Version));
            if *version != VERSION {
                let why =
                    format!("it speaks version {version} of the Agent Client Protocol, and not version {VERSION}");
                said.push(AgentEvent::Refused(Trouble::new(TroubleKind::CouldNotStart, why)));
            }
            let methods = result["authMethods"].as_array().into_iter().flatten();
            self.methods = methods.filter_map(|method| text(method, "id")).collect();
        }
        if let Some(session) = text(result, "sessionId") {
            self.session = Some(session);
            said.extend(model(result).map(AgentEvent::Model));
        }
        if id < PROMPT {
            return;
        }
        if let Some(usage) = usage(&result["usage"]) {
            // By the protocol, it is that of the session so far.
            said.push(AgentEvent::Total(usage));
        } else if let Some(usage) = of_quota(&result["_meta"]["quota"]["token_count"]) {
            self.usage = self.usage.plus(usage);
            said.push(AgentEvent::Total(self.usage));
        }
        let unseen = std::mem::take(&mut self.calls).into_values().filter(|call| !call.is_announced);
        said.extend(unseen.map(|call| AgentEvent::Lost(format!("what a call of `{}` returned", call.title))));
        if !self.answer.done(result["stopReason"] != "end_turn", said) {
            return;
        }
        let stopped = match result["stopReason"].as_str() {
            Some("end_turn") => None,
            Some("max_tokens") => Some(StopReason::MaxTokens),
            Some("max_turn_requests") => Some(StopReason::MaxTurns),
            Some("refusal") => Some(StopReason::Refusal),
            Some("cancelled") => return said.push(AgentEvent::Interrupted),
            other => {
                let why = format!("it ended its turn with the reason {other:?}, which is not in the protocol");
                return said.push(AgentEvent::Refused(Trouble::new(TroubleKind::Provider, why)));
            }
        };
        said.extend(stopped.map(AgentEvent::Stopped));
        said.push(AgentEvent::Done);
    }

    fn error(&self, id: u64, error: &Value) -> AgentEvent {
        let message = error["message"].as_str().unwrap_or("no reason given");
        if error["code"] == NOT_AUTHENTICATED && id < PROMPT {
            let methods = if self.methods.is_empty() { "none".to_owned() } else { self.methods.join(", ") };
            let name = &self.agent.description.name;
            let why = format!(
                "{message}; its methods: {methods}; name one as `authenticate` under [agents.{name}] in \
                 evals/evals.toml, and pass what it needs by `env` or `pass_env`"
            );
            // It may be asked again, after it was authenticated.
            return AgentEvent::AsksAgain(Trouble::new(TroubleKind::Login, why), None);
        }
        let details = [message.to_owned(), texts(&error["data"])].join(" ");
        let status = ["status", "statusCode", "code"].iter().find_map(|key| error["data"][key].as_u64());
        let refusal = Refusal { status, message: &details, ..Refusal::default() };
        AgentEvent::Refused(Trouble::new(refusal.kind(), excerpt(details.trim())))
    }
}

impl LineReader for AcpLines<'_> {
    fn session(&mut self, line: &Value) {
        let offered = offer::said(line);
        if let Some(AgentEvent::Placed(skills)) = offered.first() {
            self.skills.clone_from(skills);
        }
        self.first.extend(offered);
    }

    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        let mut said = Vec::new();
        match (line["method"].as_str(), line["id"].as_u64()) {
            (Some("session/update" | PERMISSION), _) if self.is_of_another(&line["params"]) => {
                said.push(AgentEvent::Lost("what another session says".to_owned()));
            }
            (Some("session/update"), _) => self.update(&line["params"]["update"], &mut said)?,
            (Some(PERMISSION), _) => self.call(&line["params"]["toolCall"], &mut said),
            // The protocol reserves these for what an agent adds.
            (Some(method), _) if method.starts_with('_') => {}
            (None, Some(id)) if line.get("error").is_some() => said.push(self.error(id, &line["error"])),
            (None, Some(id)) if line.get("result").is_some() => self.result(id, &line["result"], &mut said),
            _ => return None,
        }
        let first = std::mem::take(&mut self.first);
        Some(first.into_iter().chain(said).collect())
    }

    fn kind(line: &Value) -> String {
        let update = line["params"]["update"]["sessionUpdate"].as_str();
        update.or_else(|| line["method"].as_str()).or_else(|| line["type"].as_str()).unwrap_or("of no kind").to_owned()
    }
}

impl AcpCall {
    fn note(&mut self, update: &Value) {
        let set = |to: &mut String, key: &str| *to = text(update, key).unwrap_or_else(|| std::mem::take(to));
        set(&mut self.title, "title");
        set(&mut self.kind, "kind");
        let of_agent = || update["_meta"].as_object()?.values().find_map(|more| text(more, "toolName"));
        self.tool = text(&update["_meta"], "toolName").or_else(of_agent).or(self.tool.take());
        for (to, key) in
            [(&mut self.input, "rawInput"), (&mut self.content, "content"), (&mut self.output, "rawOutput")]
        {
            if let Some(value) = update.get(key).filter(|value| !value.is_null()) {
                *to = value.clone();
            }
        }
        if let Some(locations) = update["locations"].as_array() {
            self.paths = locations.iter().filter_map(|location| text(location, "path")).collect();
        }
    }

    /// The name of the tool: as the agent says it, else a tool of the user's description with which the title or the call's id
    /// begins, else the title.
    fn name(&self, id: &str, agent: &CustomAgent, names: &ToolNames) -> String {
        let name = self.tool.as_ref().unwrap_or(&self.title);
        if let Some(served) = served(name, &self.input, names).or_else(|| served(&self.title, &self.input, names)) {
            return served;
        }
        let tools = &agent.description.tools;
        let known = [&tools.shells, &tools.skills, &tools.reads, &tools.finds, &tools.edits];
        let begins = |text: &str, tool: &str| {
            text.strip_prefix(tool).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        };
        let is_it = |tool: &&String| [name, &self.title, id].into_iter().any(|text| begins(text, tool));
        known.into_iter().flatten().find(is_it).unwrap_or(name).clone()
    }

    /// The input, and the path of the file that the call is about.
    fn whole_input(&self) -> Value {
        let mut input = if self.input.is_null() { json!({}) } else { self.input.clone() };
        if let (Some(input), [path, ..]) = (input.as_object_mut(), &self.paths[..]) {
            input.entry("path").or_insert_with(|| json!(path));
        }
        if let (Some(input), true) = (input.as_object_mut(), self.kind == "execute") {
            input.entry("command").or_insert_with(|| json!(self.title));
        }
        input
    }

    /// What the call returned, as far as it is shown.
    fn text(&self) -> Option<String> {
        let parts = self.content.as_array().into_iter().flatten();
        let shown: Vec<&str> = parts.filter_map(|part| part["content"]["text"].as_str()).collect();
        let raw = texts(&self.output);
        let shown = shown.join("\n");
        match (shown.is_empty(), raw.is_empty()) {
            (true, true) => None,
            (false, true) => Some(shown),
            (true, false) => Some(raw),
            // Often one is the other in another form.
            (false, false) if raw.contains(&shown) => Some(raw),
            (false, false) => Some(format!("{shown}\n{raw}")),
        }
    }

    fn exit_code(&self) -> Option<i64> {
        let keys = ["exitCode", "exit_code", "exit"];
        let of = |value: &Value| keys.iter().find_map(|key| value[key].as_i64());
        of(&self.output).or_else(|| of(&self.output["metadata"]))
    }
}

/// The model of a new session.
fn model(result: &Value) -> Option<String> {
    let options = result["configOptions"].as_array().into_iter().flatten();
    let mut of_option =
        options.filter(|option| option["id"] == "model").filter_map(|option| text(option, "currentValue"));
    text(&result["models"], "currentModelId").or_else(|| of_option.next())
}

/// Whether a title has the name of a skill as a word.
fn names_skill(title: &str, skill: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '-' || character == '_';
    title
        .match_indices(skill)
        .any(|(at, _)| !title[..at].ends_with(is_part) && !title[at + skill.len()..].starts_with(is_part))
}

/// The tokens in the words of the protocol. Whether the input has those of the cache in it follows from the total.
fn usage(usage: &Value) -> Option<Usage> {
    let tokens = |key: &str| usage[key].as_u64().unwrap_or(0);
    let (input, output, thoughts) = (tokens("inputTokens"), tokens("outputTokens"), tokens("thoughtTokens"));
    let (read, write) = (tokens("cachedReadTokens"), tokens("cachedWriteTokens"));
    let (cached, rest) = (read.saturating_add(write), input.saturating_add(output).saturating_add(thoughts));
    let is_apart = cached > 0 && tokens("totalTokens") >= rest.saturating_add(cached);
    let usage = Usage {
        input_tokens: if is_apart { input.saturating_add(cached) } else { input },
        cached_input_tokens: read,
        cache_write_input_tokens: write,
        output_tokens: output.saturating_add(thoughts),
        reasoning_output_tokens: thoughts,
        cost_usd: None,
    };
    (usage.input_tokens > 0).then_some(usage)
}

/// The tokens in Gemini's words.
fn of_quota(quota: &Value) -> Option<Usage> {
    let tokens = |key: &str| quota[key].as_u64().unwrap_or(0);
    let usage =
        Usage { input_tokens: tokens("input_tokens"), output_tokens: tokens("output_tokens"), ..Usage::default() };
    (usage.input_tokens > 0).then_some(usage)
}

fn is_quiet(update: &Value) -> bool {
    update["sessionUpdate"].as_str().is_some_and(|kind| QUIET.contains(&kind))
}

/// A line as a recording stores it; `None` for one that says nothing.
pub(super) fn slim(mut line: Value) -> Option<Value> {
    if is_quiet(&line["params"]["update"]) {
        return None;
    }
    if line["result"].get("protocolVersion").is_some() {
        // The ways to authenticate have paths of the machine.
        let methods = line["result"]["authMethods"].as_array().into_iter().flatten();
        let methods: Vec<Value> = methods.map(|method| json!({ "id": method["id"] })).collect();
        line["result"]["authMethods"] = methods.into();
    }
    if line["result"].get("sessionId").is_some() {
        line["result"] =
            json!({ "sessionId": line["result"]["sessionId"], "models": { "currentModelId": model(&line["result"]) } });
    }
    Some(line)
}
