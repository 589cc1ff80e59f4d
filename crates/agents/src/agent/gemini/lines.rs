//! The lines of Gemini's output, `{"type", "timestamp", …}`, of its chat, and of its telemetry.

use std::collections::{BTreeSet, HashMap, VecDeque};

use serde_json::{Map, Value, json};

use crate::agent::field::{served, text};
use crate::agent::interface::TurnSign;
use crate::agent::recorder::{AgentEvent, CallEnding, texts};
use crate::agent::refusal::Refusal;
use crate::agent::skill_list;
use crate::agent::stream::LineReader;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{StopReason, Usage};

/// The tool that has a sub-agent do a part, and what is in its answer if the sub-agent got none from the model.
const SUB_AGENT: &str = "invoke_agent";
const SUB_AGENT_FAILED: [&str; 2] = ["Subagent '", "' failed. Error: "];

/// What Gemini puts around the output of tools.
const UNTRUSTED: [&str; 2] = ["<untrusted_context>\n", "\n</untrusted_context>"];

/// The start of a line with the exit code of a command that failed.
const EXIT_CODE: &str = "Exit Code: ";

/// The starts of the lines that follow the output of a command. A command that has none was not seen to end.
const AFTER_OUTPUT: [&str; 5] = ["Error: ", EXIT_CODE, "Signal: ", "Background PIDs: ", "Process Group PGID: "];

/// What the telemetry says of a request to the model.
enum ModelRequest {
    /// An answer in the conversation, and why it ended early.
    Answered {
        model: Option<String>,
        usage: Usage,
        stopped: Option<StopReason>,
    },
    /// An answer to a request of Gemini's own, or of a sub-agent.
    Besides {
        model: Option<String>,
        usage: Usage,
    },
    Failed(Trouble),
}

#[derive(Default)]
pub struct GeminiLines {
    version: Option<String>,
    /// The skills that the model saw.
    skills: Option<Vec<(String, String)>>,
    /// The MCP servers in the settings, and the tools that the model was offered.
    servers: Vec<String>,
    tools: Option<BTreeSet<String>>,
    /// What the model saw of each call, by the call's id.
    outputs: HashMap<String, String>,
    /// The requests for each message of the user. Those of the message that is being answered are the first.
    requests: VecDeque<VecDeque<ModelRequest>>,
    /// The skills of open calls of the tool for skills, and the ids of open calls of the shell and of sub-agents.
    skill_calls: HashMap<String, String>,
    shell_calls: BTreeSet<String>,
    sub_agent_calls: BTreeSet<String>,
    /// Whether the model's answer has begun, and its text so far.
    is_answering: bool,
    text: String,
    /// Why the last answer ended early.
    stopped: Option<StopReason>,
    /// The last error that was not the end.
    problem: Option<String>,
}

impl LineReader for GeminiLines {
    const HIDDEN_SUB_AGENTS: &[&str] = &[SUB_AGENT];

    fn session(&mut self, line: &Value) {
        if let Some(version) = text(line, "version") {
            self.version = Some(version);
        }
        for call in calls(line) {
            let answer = call.pointer("/result/0/functionResponse/response");
            let output = answer.and_then(|answer| text(answer, "output").or_else(|| text(answer, "error")));
            self.outputs.extend(text(call, "id").zip(output));
        }
        if let Some(attributes) = line.get("attributes") {
            self.telemetry(attributes);
        }
    }

    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        let mut said = Vec::new();
        match (line["type"].as_str()?, line["role"].as_str()) {
            ("init", _) => {
                said.extend(self.version.take().map(AgentEvent::Version));
                said.extend(text(line, "model").map(AgentEvent::Model));
                said.extend(self.skills.take().map(AgentEvent::Offered));
                said.extend(self.states());
                let tools = self.tools.iter().flatten().cloned().collect();
                said.push(AgentEvent::Tools(tools));
            }
            ("message", Some("user")) => {
                said.push(AgentEvent::Asks);
                self.failures(&mut said);
            }
            ("message", Some("assistant")) if line["content"].is_string() => {
                self.begin(&mut said);
                self.text.push_str(line["content"].as_str().unwrap_or_default());
            }
            ("message", role) => {
                let role = role.unwrap_or("nobody");
                said.push(AgentEvent::Lost(format!("a message of `{role}` that could not be read")));
            }
            ("tool_use", _) => {
                self.begin(&mut said);
                self.message(&mut said);
                said.push(AgentEvent::or_gap(self.call(line), "a call of the model"));
            }
            ("tool_result", _) => {
                self.is_answering = false;
                self.answer(line, &mut said);
                self.failures(&mut said);
            }
            ("error", _) => {
                self.problem = text(line, "message");
                said.extend(self.problem.clone().map(AgentEvent::Notice));
            }
            ("result", _) => self.end(line, &mut said),
            _ => return None,
        }
        Some(said)
    }
}

impl GeminiLines {
    fn telemetry(&mut self, attributes: &Value) {
        if let Some(skills) = skill_list::pairs(&attributes[SKILLS]) {
            self.skills = Some(skills);
        }
        if let Some(names) = attributes[TOOL_NAMES].as_array() {
            let names = names.iter().filter_map(Value::as_str).map(str::to_owned);
            self.tools.get_or_insert_default().extend(names);
        }
        let request = match attributes[NAME].as_str() {
            Some("gemini_cli.config") => {
                let names = attributes["mcp_servers"].as_str().unwrap_or_default().split(',');
                self.servers = names.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
                return;
            }
            Some("gemini_cli.user_prompt") => return self.requests.push_back(VecDeque::new()),
            Some("gemini_cli.api_response") => {
                let (model, usage) = (text(attributes, "model"), usage(attributes));
                if attributes[ROLE] == MAIN {
                    ModelRequest::Answered { model, usage, stopped: stop_reason(attributes) }
                } else {
                    ModelRequest::Besides { model, usage }
                }
            }
            Some("gemini_cli.api_error") if attributes[ROLE] == MAIN => {
                let message = attributes["error.message"].as_str().unwrap_or("no reason given");
                ModelRequest::Failed(trouble(message, attributes["status_code"].as_u64(), None))
            }
            _ => return,
        };
        match self.requests.back_mut() {
            Some(requests) => requests.push_back(request),
            None => self.requests.push_back(VecDeque::from([request])),
        }
    }

    /// The states of the MCP servers, by the tools that the model was offered.
    fn states(&self) -> Vec<AgentEvent> {
        let Some(tools) = &self.tools else { return Vec::new() };
        let state = |name: &String| {
            let has_tools = tools.iter().any(|tool| tool.starts_with(&prefix(name)));
            AgentEvent::Server(name.clone(), if has_tools { "connected" } else { "without tools" }.to_owned())
        };
        self.servers.iter().map(state).collect()
    }

    /// Notes that the model's answer begins, unless it has begun.
    fn begin(&mut self, said: &mut Vec<AgentEvent>) {
        if std::mem::replace(&mut self.is_answering, true) {
            return;
        }
        while let Some(request) = self.requests.front_mut().and_then(VecDeque::pop_front) {
            let is_answer = matches!(request, ModelRequest::Answered { .. });
            self.tell(request, said);
            if is_answer {
                return;
            }
        }
        said.push(AgentEvent::Answers(None));
    }

    fn tell(&mut self, request: ModelRequest, said: &mut Vec<AgentEvent>) {
        match request {
            ModelRequest::Answered { model, usage, stopped } => {
                said.extend(model.map(AgentEvent::Model));
                said.push(AgentEvent::Answers(Some(usage)));
                self.stopped = stopped;
            }
            ModelRequest::Besides { model, usage } => said.push(AgentEvent::Besides(model, usage)),
            ModelRequest::Failed(trouble) => said.push(AgentEvent::AsksAgain(trouble, None)),
        }
    }

    /// Tells of failed requests that come before the next answer: if there is none, no line will tell of it.
    fn failures(&mut self, said: &mut Vec<AgentEvent>) {
        while let Some(requests) = self.requests.front_mut()
            && requests.front().is_some_and(|request| !matches!(request, ModelRequest::Answered { .. }))
        {
            if let Some(request) = requests.pop_front() {
                self.tell(request, said);
            }
        }
    }

    /// The text of the answer so far.
    fn message(&mut self, said: &mut Vec<AgentEvent>) {
        let text = std::mem::take(&mut self.text);
        said.extend(Some(text).filter(|text| !text.is_empty()).map(AgentEvent::Message));
    }

    fn call(&mut self, line: &Value) -> Option<AgentEvent> {
        let (id, name, input) = (text(line, "tool_id")?, text(line, "tool_name")?, line["parameters"].clone());
        match name.as_str() {
            "activate_skill" => self.skill_calls.extend(text(&input, "name").map(|skill| (id.clone(), skill))),
            "run_shell_command" => _ = self.shell_calls.insert(id.clone()),
            SUB_AGENT => _ = self.sub_agent_calls.insert(id.clone()),
            _ => {}
        }
        Some(AgentEvent::Called { id, tool: served(&name, &self.servers, "mcp_", "_").unwrap_or(name), input })
    }

    fn answer(&mut self, line: &Value, said: &mut Vec<AgentEvent>) {
        let Some(id) = text(line, "tool_id") else {
            return said.push(AgentEvent::Lost("the result of a call".to_owned()));
        };
        let seen = self.outputs.remove(&id);
        let mut ending = match (line["status"].as_str(), line["error"]["type"].as_str()) {
            (Some("success"), _) => CallEnding::Done,
            (_, Some("policy_violation")) => CallEnding::Denied,
            _ => CallEnding::Failed,
        };
        let mut exit_code = None;
        // The file of the session lacks a result that is empty.
        let read = seen.clone().or_else(|| text(line, "output"));
        let is_read = read.is_some();
        let output = read.unwrap_or_default();
        let inner = output.strip_prefix(UNTRUSTED[0]).and_then(|text| text.strip_suffix(UNTRUSTED[1]));
        let mut output = inner.unwrap_or(&output).to_owned();
        if self.shell_calls.remove(&id) && ending == CallEnding::Done {
            match command_output(&output, line["output"].as_str()) {
                Some((printed, code)) => (output, exit_code) = (printed, code),
                // It was canceled, or still runs in the background.
                None => ending = CallEnding::Failed,
            }
        }
        if let (Some(skill), Some(text)) = (self.skill_calls.remove(&id), seen)
            && ending == CallEnding::Done
        {
            said.push(AgentEvent::Injected { skill, text });
        }
        if self.sub_agent_calls.remove(&id)
            && let Some((_, why)) =
                output.strip_prefix(SUB_AGENT_FAILED[0]).and_then(|rest| rest.split_once(SUB_AGENT_FAILED[1]))
        {
            ending = CallEnding::Failed;
            said.push(AgentEvent::Refused(trouble(why, None, None)));
        }
        said.push(AgentEvent::Answered { id, output: Some(output).filter(|_| is_read), ending, exit_code });
    }

    fn end(&mut self, line: &Value, said: &mut Vec<AgentEvent>) {
        self.message(said);
        for request in self.requests.pop_front().into_iter().flatten() {
            self.tell(request, said);
        }
        self.is_answering = false;
        let error = &line["error"];
        let (message, kind) = (text(error, "message"), error["type"].as_str().unwrap_or_default());
        if kind == "FatalTurnLimitedError" {
            self.stopped = Some(StopReason::MaxTurns);
        }
        let problem = self.problem.take();
        match (self.stopped.take(), message) {
            (Some(reason), _) => said.extend([AgentEvent::Stopped(reason), AgentEvent::Done]),
            (None, Some(message)) => said.push(AgentEvent::Refused(trouble(&message, None, Some(kind)))),
            (None, None) if line["status"] == "success" => said.push(AgentEvent::Done),
            (None, None) => {
                let why = problem.unwrap_or_else(|| "no reason given".to_owned());
                said.push(AgentEvent::Refused(Trouble::new(TroubleKind::Provider, why)));
            }
        }
    }
}

/// How the model sees the names of the tools of an MCP server.
fn prefix(server: &str) -> String {
    format!("mcp_{server}_")
}

fn usage(attributes: &Value) -> Usage {
    let tokens = |key: &str| attributes[key].as_u64().unwrap_or(0);
    let thoughts = tokens("thoughts_token_count");
    Usage {
        input_tokens: tokens("input_token_count").saturating_add(tokens("tool_token_count")),
        cached_input_tokens: tokens("cached_content_token_count"),
        // Google counts thoughts next to the answer.
        output_tokens: tokens("output_token_count").saturating_add(thoughts),
        reasoning_output_tokens: thoughts,
        ..Usage::default()
    }
}

/// Why an answer ended early. There is a reason for each piece of the answer, and the last is that of its end.
fn stop_reason(attributes: &Value) -> Option<StopReason> {
    match attributes["finish_reasons"].as_array()?.last()?.as_str()? {
        "content_filter" => Some(StopReason::Refusal),
        "length" => Some(StopReason::MaxTokens),
        _ => None,
    }
}

/// A refusal: the provider's JSON body, in Gemini's words.
fn trouble(message: &str, status: Option<u64>, kind: Option<&str>) -> Trouble {
    let body = message.find('{').zip(message.rfind('}')).and_then(|(start, end)| message.get(start..=end));
    let body: Value = body.and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default();
    let by_kind = match kind {
        Some(kind) if kind.ends_with("QuotaError") => Some(429),
        Some("FatalAuthenticationError") => Some(401),
        _ => None,
    };
    // Google answers an invalid key like any invalid request.
    let is_invalid_key = message.contains("API_KEY_INVALID");
    let status = if is_invalid_key { Some(401) } else { status.or_else(|| body["error"]["code"].as_u64()).or(by_kind) };
    Refusal { status, code: body["error"]["status"].as_str(), message, retried: None }.trouble()
}

/// What a command printed, and its exit code; `None` if Gemini did not see it end. A terminal shows what a command printed, if
/// it printed anything: a command may print lines like Gemini's own.
fn command_output(output: &str, in_terminal: Option<&str>) -> Option<(String, Option<i64>)> {
    let is_own = |line: &str| AFTER_OUTPUT.iter().any(|start| line.starts_with(start));
    let output = output.strip_prefix("Output: ")?;
    let is_all = |printed: &&str| {
        output.strip_prefix(*printed).is_some_and(|after| after.starts_with('\n') && after[1..].lines().all(is_own))
    };
    let printed = in_terminal.filter(is_all).unwrap_or_else(|| {
        let mut rest = output;
        while let Some((before, line)) = rest.rsplit_once('\n')
            && is_own(line)
        {
            rest = before;
        }
        rest
    });
    let (mut code, after) = (Some(0), output[printed.len()..].lines());
    for line in after {
        if let Some(digits) = line.strip_prefix(EXIT_CODE) {
            code = digits.parse().ok();
        } else if line.starts_with("Signal: ") {
            code = None;
        }
    }
    Some((if printed == "(empty)" { String::new() } else { printed.to_owned() }, code))
}

/// The calls in a line of the chat.
pub(super) fn calls(line: &Value) -> impl Iterator<Item = &Value> {
    line.get("toolCalls").and_then(Value::as_array).into_iter().flatten()
}

/// What a line of the chat says about the model's calls: a line with a call comes when the call is answered.
pub(super) fn turn_signs(line: &Value) -> Vec<TurnSign> {
    let signs = calls(line).filter_map(|call| text(call, "id"));
    signs
        .flat_map(|call| [TurnSign::Called { call: call.clone(), answer: text(line, "id") }, TurnSign::Answered(call)])
        .collect()
}

// Gemini's telemetry in a file: JSON values over several lines, one for each event and each span. Each has the whole system
// prompt or all tools again, so a trial keeps the part that shows what the model was offered.

/// The name of an event, and the time when it happened.
pub(super) const NAME: &str = "event.name";

/// What a request to the model was for.
const ROLE: &str = "role";

/// The role of the requests of the conversation.
pub(super) const MAIN: &str = "main";

/// The attribute with the system prompt.
const SYSTEM: &str = "gen_ai.system_instructions";

/// The attribute with the tools.
const TOOLS: &str = "gen_ai.tool.definitions";

/// Our attributes with the skills in the system prompt, and with the names of the tools.
pub(super) const SKILLS: &str = "skills";
const TOOL_NAMES: &str = "tools";

/// The attributes that are kept.
const KEPT: [&str; 13] = [
    NAME,
    ROLE,
    "event.timestamp",
    "mcp_servers",
    "model",
    "status_code",
    "error.message",
    "finish_reasons",
    "input_token_count",
    "output_token_count",
    "cached_content_token_count",
    "thoughts_token_count",
    "tool_token_count",
];

/// The events that are kept as they are.
const EVENTS: [&str; 5] = [
    "gemini_cli.config",
    "gemini_cli.user_prompt",
    "gemini_cli.api_request",
    "gemini_cli.api_response",
    "gemini_cli.api_error",
];

/// The heading of the skills in the system prompt.
const HEADING: &str = "# Available Agent Skills";

/// Reads the lines of files, some of which hold a JSON value over several lines.
#[derive(Default)]
pub(super) struct Values {
    /// The lines of the value that is not complete, and how many objects and lists are open.
    value: Vec<u8>,
    open: u32,
    /// The last lists of skills and of tools.
    skills: Option<Vec<Value>>,
    tools: Option<Vec<Value>>,
}

impl Values {
    /// What a trial keeps at the end of this line.
    pub(super) fn line(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        if self.value.is_empty() && line != b"{" {
            return Some(line.to_vec());
        }
        self.value.extend_from_slice(line);
        // A line has one part of a value: no text ends or begins like these.
        self.open += u32::from(matches!(line, [.., b'{' | b'[']));
        self.open = self.open.saturating_sub(u32::from(matches!(line, [b'}' | b']', ..])));
        if self.open > 0 {
            return None;
        }
        let value: Value = serde_json::from_slice(&std::mem::take(&mut self.value)).ok()?;
        let kept = json!({ "attributes": self.kept(value.get("attributes")?)? });
        Some(kept.to_string().into_bytes())
    }

    fn kept(&mut self, attributes: &Value) -> Option<Map<String, Value>> {
        let text = |key: &str| attributes.get(key)?.as_str();
        if let Some(name) = text(NAME) {
            let kept = KEPT.into_iter().filter_map(|key| Some((key.to_owned(), attributes.get(key)?.clone())));
            return EVENTS.contains(&name).then(|| kept.collect());
        }
        // A request without tools is one of Gemini's own. A sub-agent may have no skills.
        let tools = tools(text(TOOLS)?).filter(|tools| !tools.is_empty())?;
        let system = texts(&serde_json::from_str(text(SYSTEM)?).ok()?);
        let skills = skills_in_prompt(&system).or_else(|| self.skills.clone()).unwrap_or_default();
        let mut kept = Map::new();
        for (key, list, last) in [(SKILLS, skills, &mut self.skills), (TOOL_NAMES, tools, &mut self.tools)] {
            if last.as_ref() != Some(&list) {
                *last = Some(list.clone());
                kept.insert(key.to_owned(), list.into());
            }
        }
        (!kept.is_empty()).then_some(kept)
    }
}

/// The names of the tools.
fn tools(definitions: &str) -> Option<Vec<Value>> {
    let definitions: Value = serde_json::from_str(definitions).ok()?;
    let groups = definitions.as_array()?.iter().filter_map(|group| group.get("functionDeclarations")?.as_array());
    Some(groups.flatten().filter_map(|tool| tool.get("name").cloned()).collect())
}

/// The names and descriptions of the skills in a system prompt; `None` if it has none.
fn skills_in_prompt(system: &str) -> Option<Vec<Value>> {
    let entries = skill_list::within(system.split_once(HEADING)?.1)?;
    Some(entries.filter_map(|entry| Some(json!([entry.tagged("name")?, entry.tagged("description")?]))).collect())
}

/// The value with descriptions only of skills with these slugs.
pub(super) fn without_descriptions(mut value: Value, slugs: &[&str]) -> Value {
    skill_list::record_pairs(value["attributes"].get_mut(SKILLS), slugs);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_printed_is_not_taken_for_its_exit_code() {
        let found = |output, in_terminal| command_output(output, in_terminal).expect("an end");
        let text = |text: &str| text.to_owned();
        assert_eq!(
            found("Output: a\nExit Code: 3\nProcess Group PGID: 7", Some("a\nExit Code: 3")),
            (text("a\nExit Code: 3"), Some(0))
        );
        assert_eq!(found("Output: a\nExit Code: 4\nProcess Group PGID: 7", Some("a")), (text("a"), Some(4)));
        assert_eq!(found("Output: (empty)\nExit Code: 5", Some("Command exited with code: 5")), (text(""), Some(5)));
        assert_eq!(found("Output: a\nSignal: 9", None), (text("a"), None));
        assert_eq!(command_output("Command moved to background (PID: 7).", None), None);
    }

    fn kept(text: &str) -> Vec<String> {
        let mut values = Values::default();
        let lines = text.lines().filter_map(|line| values.line(line.trim().as_bytes()));
        lines.map(|line| String::from_utf8(line).expect("UTF-8")).collect()
    }

    #[test]
    fn lines_stay_and_values_over_several_lines_are_one_line_with_what_counts() {
        let event = "{\n  \"resource\": {},\n  \"attributes\": {\n    \"event.name\": \"gemini_cli.api_request\",\n    \
                     \"role\": \"main\",\n    \"x\": 1\n  }\n}\n";
        let kept = kept(&format!("{{\"id\":\"1\"}}\n{event}{{\"id\":\"2\"}}\n"));
        let expected = [
            r#"{"id":"1"}"#,
            r#"{"attributes":{"event.name":"gemini_cli.api_request","role":"main"}}"#,
            r#"{"id":"2"}"#,
        ];
        assert_eq!(kept, expected);
    }

    #[test]
    fn the_skills_are_those_below_their_heading() {
        let entry =
            "<skill>\n<name>a</name>\n<description>Does < b.</description>\n<location>/x</location>\n</skill>\n";
        let list = format!("<available_skills>\n{entry}</available_skills>");
        let found = skills_in_prompt(&format!("{HEADING}\nCall.\n{list}\n# Else"));
        assert_eq!(found, Some(vec![json!(["a", "Does < b."])]));
        assert_eq!(skills_in_prompt(&list), None);
    }
}
