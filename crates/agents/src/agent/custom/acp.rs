//! The lines of an agent that speaks the Agent Client Protocol: its answers to our requests, and its updates of the session.
//!
//! The protocol has no names of tools, only titles and kinds, and says nothing of what the model sees. Whether a skill was
//! activated follows from its text in what calls return.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::MAY_HIDE_CALLS;
use super::events::{AnswerSoFar, served};
use crate::agent::command::Assignment;
use crate::agent::custom;
use crate::agent::field::text;
use crate::agent::files::json_line;
use crate::agent::recorder::{AgentEvent, CallEnding, texts};
use crate::agent::refusal::Refusal;
use crate::agent::stream::LineReader;
use crate::process::{OutputListener, Reply};
use crate::profile::custom::CustomAgent;
use crate::settings::ToolNames;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{StopReason, Usage, excerpt};
use crate::trial::input_file::Sandbox;

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
const MAX_OPEN_CALLS: usize = 1_000;

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
        if self.calls.len() >= MAX_OPEN_CALLS && !self.calls.contains_key(&id) {
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
        let offered = custom::said_of_offer(line);
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

// Our side of the Agent Client Protocol, version 1: JSON-RPC, a message on each line.
//
// It advertises neither files nor terminals, so that the agent works by itself, inside its sandbox.

/// The version of the protocol.
const VERSION: u64 = 1;

/// The ids of our requests. Those of prompts are the last one and higher.
const INITIALIZE: u64 = 1;
const AUTHENTICATE: u64 = 2;
pub(super) const SESSION: u64 = 3;
const PROMPT: u64 = 10;

/// The code of the error that asks for `authenticate`.
const NOT_AUTHENTICATED: i64 = -32000;

/// The method by which an agent asks for permission.
const PERMISSION: &str = "session/request_permission";

/// The kinds of calls that change files.
const CHANGES: [&str; 3] = ["edit", "delete", "move"];

/// How long the agent may take to exit. The protocol does not ask it to.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most calls whose kinds are kept.
const MAX_CALLS: usize = 10_000;

pub(super) struct AcpClient {
    folder: String,
    servers: Value,
    /// The first message.
    prompt: String,
    /// The method to authenticate by, until it is used.
    authenticate: Option<String>,
    is_read_only: bool,
    session: String,
    /// The id of the request that the agent has not answered.
    open: u64,
    /// The kinds of calls, by id: a request for permission may not repeat them.
    kinds: HashMap<String, String>,
}

impl AcpClient {
    pub(super) fn new(assignment: &Assignment<'_>, authenticate: Option<String>) -> Self {
        let Assignment { case, trial_env, server, .. } = *assignment;
        let server = server.map(|server| {
            let env: Vec<Value> =
                server.env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
            json!({ "name": server.names.server, "command": server.program, "args": server.args, "env": env })
        });
        Self {
            folder: trial_env.workspace().to_string(),
            servers: server.into_iter().collect(),
            prompt: case.prompt.clone(),
            authenticate,
            is_read_only: case.sandbox == Sandbox::ReadOnly,
            session: String::new(),
            open: INITIALIZE,
            kinds: HashMap::new(),
        }
    }

    fn request(&mut self, id: u64, method: &str, params: &Value) -> Vec<u8> {
        self.open = id;
        json_line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    }

    fn begin_session(&mut self) -> Vec<u8> {
        let params = json!({ "cwd": self.folder, "mcpServers": self.servers });
        self.request(SESSION, "session/new", &params)
    }

    /// What follows after the agent has answered our request.
    fn answered(&mut self, message: &Value) -> Reply {
        let result = &message["result"];
        let error = message.get("error");
        let asks_for_login = error.is_some_and(|error| error["code"] == NOT_AUTHENTICATED);
        match self.open {
            INITIALIZE if error.is_none() && result["protocolVersion"] == VERSION => written(self.begin_session()),
            SESSION if asks_for_login && self.authenticate.is_some() => {
                let params = json!({ "methodId": self.authenticate.take() });
                written(self.request(AUTHENTICATE, "authenticate", &params))
            }
            AUTHENTICATE if error.is_none() => written(self.begin_session()),
            SESSION if result["sessionId"].is_string() => {
                result["sessionId"].as_str().unwrap_or_default().clone_into(&mut self.session);
                let prompt = std::mem::take(&mut self.prompt);
                written(self.message(&prompt))
            }
            // Nothing more is asked of a session whose turn did not end by itself.
            PROMPT.. if result["stopReason"] == "end_turn" => Reply { answered: true, ..Reply::default() },
            _ => Reply { close: true, ..Reply::default() },
        }
    }

    /// Our answer to a request of the agent.
    fn answer(&self, id: &Value, method: &str, params: &Value) -> Vec<u8> {
        if method == PERMISSION {
            return json_line(&json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": self.outcome(params) } }));
        }
        let error = json!({ "code": -32601, "message": format!("this client has no {method}") });
        json_line(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    }

    fn outcome(&self, params: &Value) -> Value {
        let call = &params["toolCall"];
        let known = call["toolCallId"].as_str().and_then(|id| self.kinds.get(id)).map(String::as_str);
        let changes = call["kind"].as_str().or(known).is_some_and(|kind| CHANGES.contains(&kind));
        let wanted = if self.is_read_only && changes {
            ["reject_once", "reject_always"]
        } else {
            ["allow_once", "allow_always"]
        };
        let options = params["options"].as_array().map_or(&[][..], Vec::as_slice);
        let option = |kind: &&str| options.iter().find(|option| option["kind"] == **kind);
        match wanted.iter().find_map(option) {
            Some(option) => json!({ "outcome": "selected", "optionId": option["optionId"] }),
            None => json!({ "outcome": "cancelled" }),
        }
    }

    fn note_kind(&mut self, update: &Value) {
        if let (Some(id), Some(kind), true) =
            (update["toolCallId"].as_str(), update["kind"].as_str(), self.kinds.len() < MAX_CALLS)
        {
            self.kinds.insert(id.to_owned(), kind.to_owned());
        }
    }
}

fn written(write: Vec<u8>) -> Reply {
    Reply { write, ..Reply::default() }
}

impl OutputListener for AcpClient {
    fn opening(&mut self) -> Option<Vec<u8>> {
        let client = json!({ "name": "skill-evals", "version": env!("CARGO_PKG_VERSION") });
        let files = json!({ "readTextFile": false, "writeTextFile": false });
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": { "fs": files, "terminal": false },
            "clientInfo": client,
        });
        Some(self.request(INITIALIZE, "initialize", &params))
    }

    fn message(&mut self, text: &str) -> Vec<u8> {
        let params = json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": text }] });
        let id = if self.open < PROMPT { PROMPT } else { self.open + 1 };
        self.request(id, "session/prompt", &params)
    }

    fn line(&mut self, line: &[u8]) -> Reply {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return Reply::default() };
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(id)) => written(self.answer(id, method, &message["params"])),
            (Some(_), None) => {
                self.note_kind(&message["params"]["update"]);
                Reply::default()
            }
            (None, Some(id)) if *id == self.open => self.answered(&message),
            _ => Reply::default(),
        }
    }

    fn patience(&self) -> Option<Duration> {
        Some(PATIENCE)
    }

    fn long_line(&mut self, line: &[u8]) -> Reply {
        self.line(line)
    }
}
