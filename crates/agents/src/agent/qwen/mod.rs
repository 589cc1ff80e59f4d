//! Qwen Code (`qwen --output-format=stream-json`).
//!
//! Standard output (`trace.jsonl`) has the conversation and the states of the MCP servers. Its session file (`session.jsonl`)
//! has the times, what the model saw of each call, the exit codes, and each request that failed. Neither has the list of
//! skills: Qwen Code logs its requests, and the trial adds the list of the first one to the session file.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::agent::command::{
    self, AgentCommand, Assignment, LONGEST_ARGUMENT, environment, mcp_file, model_and_settings, refuse,
    session_and_prompt, with,
};
use crate::agent::field::{self, plain, text};
use crate::agent::files::{merge, read_jsonc, write_private};
use crate::agent::interface::{Agent, TurnSign};
use crate::agent::login::{Login, LoginSources};
use crate::agent::recorder::{AgentEvent, CallEnding};
use crate::agent::refusal::refused;
use crate::agent::secrets::{secrets_in, values_of, without_secrets};
use crate::agent::skill_list::{self, SkillEntry, recorded_description, unescaped};
use crate::agent::stream::{
    FillCommand, FindLogin, JsonLinesAgent, LineReader, ReadSetup, ReadSigns, ResumeSession, SlimSession,
};
use crate::agent::trial_env::TrialEnv;
use crate::agent::user_home::users_path;
use crate::files::bounded;
use crate::files::rooted::RootedPath;
use crate::profile::AgentKind;
use crate::settings::Home;
use crate::trace::trouble::Trouble;
use crate::trace::{StopReason, Usage};
use crate::trial::input_file::Sandbox;

/// The directory of the logged requests, in the trial's home.
const REQUESTS: &str = ".qwen/requests";

#[derive(Debug)]
pub struct Qwen;

impl JsonLinesAgent for Qwen {
    const KIND: AgentKind = AgentKind::Qwen;
    type Reader = QwenLines;
    const ARGUMENTS: &[&str] = &["--output-format=stream-json", "--approval-mode=yolo", "--openai-logging"];
    const LOGIN: FindLogin = find_login;
    const COMMAND: FillCommand = fill_command;
    const SETUP: ReadSetup = users_setup;
    const SIGNS: ReadSigns = turn_signs;
    const RESUME: ResumeSession = |_, args, message| command::resumed_by_arguments(args, message, "--resume=");
    const SLIM_SESSION: SlimSession = |line, skills| slim_session(&line, skills);

    /// `projects/<working directory>/chats/<id>.jsonl`.
    fn is_session(path: &Path) -> bool {
        path.iter().count() == 3 && path.iter().nth(1).is_some_and(|name| name == "chats")
    }

    fn more_session(trial_env: &TrialEnv) -> Option<Value> {
        in_first_request(trial_env)
    }

    fn slim(line: Value, _: &[&str]) -> Value {
        let keys = ["type", "subtype", "qwen_code_version", "model", "mcp_servers", "slash_commands"];
        if line["subtype"] != "init" {
            return line;
        }
        keys.into_iter().map(|key| (key.to_owned(), json!(line[key]))).collect::<serde_json::Map<_, _>>().into()
    }
}

// How to start `qwen` for a trial.

fn fill_command(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let Assignment { case, settings, trial_env, server, .. } = *assignment;
    let system_prompt = case.system_prompt.as_deref();
    let is_long = system_prompt.is_some_and(|text| text.len() > LONGEST_ARGUMENT);
    refuse(assignment, &[("a system prompt of more than 100,000 bytes", is_long)])?;
    let users = QwenUserSettings::read(settings.isolation.home)?;
    let (key_variables, mut secrets) = (users.key_variables(), users.secrets());
    let home = trial_env.home().join(".qwen");
    write_settings(&home, users.copied, case.sandbox == Sandbox::ReadOnly)?;
    let visible: Vec<&str> = KEYS.into_iter().chain(PROVIDER).chain(key_variables.iter().map(String::as_str)).collect();
    let mut env = environment(assignment, &visible);
    env.insert("QWEN_CODE_SUPPRESS_YOLO_WARNING".into(), "1".into());
    secrets.extend(values_of(&env, &key_variables));

    let args = &mut command.args;
    args.push(with("--openai-logging-dir=", trial_env.home().join(REQUESTS)));
    if let Some(server) = server {
        // Its tools are offered at once, and not only to a search for tools.
        args.push(with("--mcp-config=", mcp_file(assignment, server, json!({ "alwaysLoadTools": true }))?));
    }
    args.extend(system_prompt.map(|text| with("--append-system-prompt=", text)));
    args.extend(model_and_settings(assignment));
    args.extend(session_and_prompt(assignment)?);
    // With its own limit on turns, Qwen Code ends as if it had failed.
    (command.env, command.secrets) = (env, secrets);
    Ok(())
}

/// The settings: the user's provider, and nothing that reports, updates, or asks the model on its own account.
fn write_settings(home: &RootedPath, settings: Map<String, Value>, is_read_only: bool) -> Result<(), Trouble> {
    let own = json!({
        "general": { "enableAutoUpdate": false },
        "memory": { "enableManagedAutoMemory": false, "enableManagedAutoDream": false },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
    });
    let mut settings = Value::from(settings);
    merge(&mut settings, own);
    if is_read_only {
        merge(&mut settings, json!({ "permissions": { "deny": Qwen.kind().profile().tools.edits } }));
    }
    write_private(&home.join("settings.json"), settings.to_string().as_bytes())
}

// The credentials that Qwen Code would use: variables, or what the user's `settings.json` says.

/// Variables that hold credentials.
const KEYS: [&str; 6] = [
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "DASHSCOPE_API_KEY",
    "BAILIAN_CODING_PLAN_API_KEY",
];

/// Variables that choose a provider and its model.
const PROVIDER: [&str; 10] = [
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
    "QWEN_MODEL",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "GEMINI_MODEL",
    "GOOGLE_MODEL",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "QWEN_DEFAULT_AUTH_TYPE",
];

/// What Qwen Code needs to choose a provider by itself.
const BY_VARIABLES: [&[&str]; 5] = [
    &["OPENAI_API_KEY", "OPENAI_MODEL", "OPENAI_BASE_URL"],
    &["OPENAI_API_KEY", "QWEN_MODEL", "OPENAI_BASE_URL"],
    &["GEMINI_API_KEY", "GEMINI_MODEL"],
    &["GOOGLE_API_KEY", "GOOGLE_MODEL"],
    &["ANTHROPIC_API_KEY", "ANTHROPIC_MODEL", "ANTHROPIC_BASE_URL"],
];

/// What of the user's `settings.json` trials get.
struct QwenUserSettings {
    pub copied: Map<String, Value>,
}

impl QwenUserSettings {
    fn read(setup: Home) -> Result<Self, Trouble> {
        let mut copied = read_jsonc(&users_path(AgentKind::Qwen, ".qwen/settings.json"))?;
        if setup == Home::User {
            return Ok(Self { copied });
        }
        copied.retain(|key, _| ["env", "model", "modelProviders", "security"].contains(&key.as_str()));
        let mut users = Self { copied };
        // The user's own limits and features are not the case's.
        users.keep("security", |key| key == "auth");
        users.keep("model", |key| key == "name" || key == "generationConfig");
        let names = users.key_variables();
        let is_known = |name: &str| KEYS.contains(&name) || PROVIDER.contains(&name);
        users.keep("env", |name| is_known(name) || names.iter().any(|known| known == name));
        Ok(users)
    }

    /// Drops the other keys of a part of the settings.
    fn keep(&mut self, part: &str, is_kept: impl Fn(&str) -> bool) {
        if let Some(part) = self.copied.get_mut(part).and_then(Value::as_object_mut) {
            part.retain(|key, _| is_kept(key));
        }
    }

    /// The variables with the keys of configured providers.
    fn key_variables(&self) -> Vec<String> {
        let providers = self.copied.get("modelProviders").and_then(Value::as_object);
        let models = providers.into_iter().flat_map(Map::values).filter_map(Value::as_array).flatten();
        models.filter_map(|model| Some(model.get("envKey")?.as_str()?.to_owned())).collect()
    }

    /// The credentials in them.
    fn secrets(&self) -> Vec<String> {
        let env = self.copied.get("env");
        let named = self.key_variables().into_iter().filter_map(|name| Some(env?.get(name)?.as_str()?.to_owned()));
        secrets_in(&Value::Object(self.copied.clone())).into_iter().chain(named).collect()
    }

    fn auth_type(&self) -> Option<&str> {
        self.copied.get("security")?.pointer("/auth/selectedType")?.as_str()
    }
}

fn find_login(around: &LoginSources<'_>) -> Result<Login, Trouble> {
    if around.has_argument() {
        return Ok(Login::Unknown("the agent's own arguments choose the provider".to_owned()));
    }
    let users = QwenUserSettings::read(Home::Isolated)?;
    if let Some(kind) = users.auth_type() {
        let names = users.key_variables();
        let is_set = |name: &String| around.variable(name).is_some();
        let name = names.iter().find(|name| is_set(name)).map(String::as_str).or_else(|| around.first(&KEYS));
        return Ok(match name {
            _ if !users.secrets().is_empty() => Login::Found(format!("{kind}, in Qwen Code's settings.json")),
            Some(name) => Login::Found(format!("{kind} in Qwen Code's settings.json, and {name} is set")),
            None => Login::Unknown(format!("{kind}, without a key in Qwen Code's settings.json")),
        });
    }
    let all_set = |names: &&[&str]| names.iter().all(|name| around.variable(name).is_some());
    Ok(match BY_VARIABLES.into_iter().find(all_set) {
        Some(names) => Login::Set(names[0].to_owned()),
        None => Login::Missing(
            "set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL, or choose a provider in Qwen Code's settings.json"
                .to_owned(),
        ),
    })
}

/// The variables that choose the provider, and the settings without secrets.
fn users_setup(setup: Home) -> Result<(Vec<String>, String), Trouble> {
    let users = QwenUserSettings::read(setup)?;
    let names = users.key_variables();
    let mut copied = without_secrets(Value::Object(users.copied));
    if let Some(env) = copied.get_mut("env").and_then(Value::as_object_mut) {
        env.retain(|name, _| !names.contains(name));
    }
    Ok((PROVIDER.map(str::to_owned).to_vec(), copied.to_string()))
}

// The lines of Qwen Code's output, which has the conversation, and of its session file, which has what the output lacks: times,
// what the model saw of each call, exit codes, and requests that failed.

/// How Qwen Code's own words begin if a request failed. They come as if the model had said them.
const FAILED: &str = "[API Error: ";

/// How Qwen Code's reason begins if it stopped a model that made one call again and again.
const LOOP: &str = "Loop detection halted the run";

/// How Qwen Code's answer begins to a call that it no longer waits for, since it is being ended.
const CANCELED: &str = "[Operation Cancel";

/// What Qwen Code says of a sub-agent in the background that got no answer from its model.
const SUB_AGENT_FAILED: [&str; 2] = ["Background agent \"", " failed."];

/// How a skill's text begins in a conversation. The path of its directory and the text follow.
const SKILL: &str = "Base directory for this skill: ";

#[derive(Default)]
pub struct QwenLines {
    /// The skills that the model was offered.
    offered: Option<Vec<(String, String)>>,
    /// The user's messages, as the model saw them, the next one last.
    prompts: Vec<String>,
    /// When each call was made or answered and each message was said, by what [`key`] says.
    times: HashMap<String, String>,
    /// The results of calls, by the call's id.
    results: HashMap<String, CallResult>,
    /// The ids of the calls in the session file that no line of the output showed so far.
    unshown: BTreeSet<String>,
    /// The requests that failed, and how many answers there were before.
    failed: Vec<(usize, Trouble)>,
    /// The last of them so far.
    last_failure: Option<Trouble>,
    /// How many answers the session file has.
    in_session: usize,
    /// How many answers the output had so far.
    answers: usize,
}

/// What the session file says about a call.
struct CallResult {
    output: String,
    exit_code: Option<i64>,
    is_denied: bool,
}

impl LineReader for QwenLines {
    fn session(&mut self, line: &Value) {
        let kind = line["type"].as_str().unwrap_or_default();
        let parts = line["message"]["parts"].as_array().map_or(&[][..], Vec::as_slice);
        if let Some(time) = text(line, "timestamp") {
            self.times.extend(parts.iter().filter_map(|part| Some((key(kind, part)?, time.clone()))));
        }
        self.unshown.extend(parts.iter().filter_map(call_id));
        match kind {
            "offered" => self.offered = Some(offered(line)),
            "user" => self.prompts.insert(0, parts.iter().filter_map(|part| part["text"].as_str()).collect()),
            "assistant" => self.in_session += 1,
            "tool_result" => self.results.extend(parts.iter().filter_map(|part| result(part, &line["toolCallResult"]))),
            "system" => {
                let event = &line["systemPayload"]["uiEvent"];
                if event["event.name"] == "qwen-code.api_error" {
                    let trouble = refusal(&event["error_message"], event["status_code"].as_u64());
                    self.failed.push((self.in_session, trouble));
                }
            }
            _ => {}
        }
    }

    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        let content = line["message"]["content"].as_array().map_or(&[][..], Vec::as_slice);
        let shown = |block: &Value| text(block, "id").or_else(|| text(block, "tool_use_id"));
        content.iter().filter_map(shown).for_each(|id| _ = self.unshown.remove(&id));
        let is_own = Self::sub_agent(line).is_none();
        let mut said = Vec::new();
        match (line["type"].as_str()?, line["subtype"].as_str()) {
            ("system", Some("init")) => self.begins(line, &mut said),
            ("assistant", _) if self.is_failure(content) => {}
            ("assistant", _) => {
                self.answers += usize::from(is_own);
                // Sub-agents report none.
                said.push(AgentEvent::Answers(usage(&line["message"]["usage"]).filter(|_| is_own)));
                said.extend(content.iter().map(|block| AgentEvent::or_gap(spoken(block), "a part of an answer")));
                said.extend(content.is_empty().then(|| AgentEvent::Lost("what the model answered".to_owned())));
            }
            ("user", _) => {
                let is_read = !content.is_empty() || line["message"]["content"].is_string();
                said.extend((!is_read).then(|| AgentEvent::Lost("what the model was answered".to_owned())));
                said.extend(content.iter().filter(|block| is_canceled(block)).map(|_| AgentEvent::Interrupted));
                said.extend(content.iter().filter_map(|block| self.answered(block, is_own)));
                if is_own && content.iter().any(is_failed_sub_agent) {
                    let told = self.last_failure.as_ref().or(self.failed.first().map(|(_, trouble)| trouble));
                    said.push(AgentEvent::Refused(told.cloned().unwrap_or_else(|| refusal(&Value::Null, None))));
                }
            }
            ("result", _) => {
                said.extend(usage(&line["usage"]).map(AgentEvent::Total));
                // A sub-agent that fails has such a line, too.
                let (is_error, why) = (line["is_error"] == true, &line["error"]["message"]);
                let is_loop = is_error && why.as_str().is_some_and(|why| why.starts_with(LOOP));
                said.extend(is_loop.then_some(AgentEvent::Stopped(StopReason::Loop)));
                said.push(if is_error && !is_loop {
                    AgentEvent::Refused(refusal(why, None))
                } else {
                    AgentEvent::Done
                });
            }
            ("system" | "stream_event", _) => {}
            _ => return None,
        }
        self.failed.retain(|(answers, trouble)| {
            let is_next = *answers <= self.answers;
            if is_next {
                self.last_failure = Some(trouble.clone());
                said.push(AgentEvent::AsksAgain(trouble.clone(), None));
            }
            !is_next
        });
        Some(said)
    }

    fn unshown(&self) -> Option<&BTreeSet<String>> {
        Some(&self.unshown)
    }

    fn sub_agent(line: &Value) -> Option<&str> {
        line.get("parent_tool_use_id")?.as_str()
    }

    fn time<'a>(&'a self, line: &'a Value) -> Option<&'a str> {
        let kind = line["type"].as_str()?;
        let blocks = line["message"]["content"].as_array()?;
        Some(blocks.iter().find_map(|block| self.times.get(&key(kind, block)?))?.as_str())
    }
}

impl QwenLines {
    /// A run begins, with a message of the user.
    fn begins(&mut self, line: &Value, said: &mut Vec<AgentEvent>) {
        said.extend(text(line, "qwen_code_version").map(AgentEvent::Version));
        said.extend(text(line, "model").map(AgentEvent::Model));
        let tools = line["tools"].as_array().into_iter().flatten();
        said.push(AgentEvent::Tools(tools.filter_map(|name| name.as_str().map(str::to_owned)).collect()));
        let has_list = self.offered.is_some();
        said.extend(self.offered.clone().map(AgentEvent::Offered));
        let servers = line["mcp_servers"].as_array().into_iter().flatten();
        said.extend(
            servers.filter_map(|server| Some(AgentEvent::Server(text(server, "name")?, text(server, "status")?))),
        );
        let commands = line["slash_commands"].as_array().into_iter().flatten();
        let commands: Vec<String> = commands.filter_map(|name| name.as_str().map(str::to_owned)).collect();
        // Without the list that the model saw, what was offered is unknown.
        said.extend((has_list && !commands.is_empty()).then_some(AgentEvent::CallableByUser(commands)));
        said.push(AgentEvent::Asks);
        let prompt = self.prompts.pop().unwrap_or_default();
        let skill = prompt.strip_prefix(SKILL).and_then(|rest| rest.lines().next()?.rsplit('/').next());
        said.extend(skill.map(|skill| AgentEvent::CalledByUser { skill: skill.to_owned(), text: prompt.clone() }));
    }

    /// Whether an answer consists of Qwen Code's words about a request that failed. The model may say the same, which is then
    /// in the session file.
    fn is_failure(&self, content: &[Value]) -> bool {
        let [block] = content else { return false };
        let is_said = key("assistant", block).is_some_and(|key| self.times.contains_key(&key));
        !is_said && block["text"].as_str().is_some_and(|text| text.starts_with(FAILED))
    }

    fn answered(&mut self, block: &Value, is_own: bool) -> Option<AgentEvent> {
        let id = text(block, "tool_use_id")?;
        let in_output = || plain(&block["content"]);
        let result = if is_own { self.results.remove(&id) } else { None };
        let ending = match &result {
            Some(result) if result.is_denied => CallEnding::Denied,
            _ if block["is_error"] == true => CallEnding::Failed,
            _ => CallEnding::Done,
        };
        let exit_code = result.as_ref().and_then(|result| result.exit_code);
        Some(AgentEvent::Answered {
            id,
            output: result.map_or_else(in_output, |result| Some(result.output)),
            ending,
            exit_code,
        })
    }
}

/// What a part of a message is known by, in the session file and in the output.
fn key(kind: &str, part: &Value) -> Option<String> {
    let answered = part["functionResponse"]["id"].as_str().or_else(|| part["tool_use_id"].as_str());
    let called = part["functionCall"]["id"].as_str().or_else(|| part["id"].as_str());
    let text = part["text"].as_str().filter(|_| kind == "assistant");
    let is = |what: &str, id: &str| format!("{what} {id}");
    answered.map(|id| is("answered", id)).or(called.map(|id| is("called", id))).or(text.map(|text| is("said", text)))
}

fn offered(line: &Value) -> Vec<(String, String)> {
    let skills = line["skills"].as_array().into_iter().flatten();
    skills.filter_map(|skill| Some((text(skill, "name")?, text(skill, "description")?))).collect()
}

/// The call's id and its result, of a part of a line of the session file.
fn result(part: &Value, call: &Value) -> Option<(String, CallResult)> {
    let response = &part["functionResponse"]["response"];
    let output = response["output"].as_str().or_else(|| response["error"].as_str())?.to_owned();
    let exit_code = call["resultDisplay"]["exitCode"].as_i64();
    let is_denied = call["errorType"] == "execution_denied";
    Some((text(&part["functionResponse"], "id")?, CallResult { output, exit_code, is_denied }))
}

/// The call that a part of a line of the session file makes or answers.
fn call_id(part: &Value) -> Option<String> {
    text(&part["functionCall"], "id").or_else(|| text(&part["functionResponse"], "id"))
}

/// Whether the agent no longer waits for a call. A command may print the same.
fn is_canceled(block: &Value) -> bool {
    block["is_error"] == true && block["content"].as_str().is_some_and(|content| content.starts_with(CANCELED))
}

fn is_failed_sub_agent(block: &Value) -> bool {
    let text = block["text"].as_str();
    text.is_some_and(|text| text.starts_with(SUB_AGENT_FAILED[0]) && text.ends_with(SUB_AGENT_FAILED[1]))
}

fn spoken(block: &Value) -> Option<AgentEvent> {
    match block["type"].as_str()? {
        "text" => Some(AgentEvent::Message(text(block, "text")?)),
        "thinking" => Some(AgentEvent::Thought(text(block, "thinking")?)),
        "tool_use" => {
            let (id, tool, input) = (text(block, "id")?, text(block, "name")?, block["input"].clone());
            Some(AgentEvent::Called { id, tool, input })
        }
        _ => None,
    }
}

/// The tokens, unless none are reported.
fn usage(usage: &Value) -> Option<Usage> {
    let keys = ["input_tokens", "cache_read_input_tokens", "", "output_tokens", ""];
    let usage = field::usage(usage, keys);
    (usage.input_tokens > 0).then_some(usage)
}

fn refusal(message: &Value, status: Option<u64>) -> Trouble {
    let message = message.as_str().unwrap_or("no reason given");
    let message = message.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(message);
    refused(status, message)
}

/// What a line of the session file says about the model's calls.
fn turn_signs(line: &Value) -> Vec<TurnSign> {
    let parts = line["message"]["parts"].as_array().into_iter().flatten();
    let sign = |part: &Value| {
        let called =
            text(&part["functionCall"], "id").map(|call| TurnSign::Called { call, answer: text(line, "uuid") });
        called.or_else(|| text(&part["functionResponse"], "id").map(TurnSign::Answered))
    };
    parts.filter_map(sign).collect()
}

/// A line of the session file as a recording stores it.
fn slim_session(line: &Value, skills_of_case: &[&str]) -> Option<Value> {
    let (kind, time, message) = (&line["type"], &line["timestamp"], &line["message"]);
    let slim = match kind.as_str()? {
        "offered" => {
            let entry = |(name, description): (String, String)| json!({ "name": name, "description": recorded_description(&name, &description, skills_of_case) });
            let skills: Vec<Value> = offered(line).into_iter().map(entry).collect();
            json!({ "type": kind, "skills": skills })
        }
        "user" | "assistant" => json!({ "type": kind, "timestamp": time, "message": message }),
        "tool_result" => {
            let (exit_code, error) =
                (&line["toolCallResult"]["resultDisplay"]["exitCode"], &line["toolCallResult"]["errorType"]);
            let call = json!({ "resultDisplay": { "exitCode": exit_code }, "errorType": error });
            json!({ "type": kind, "timestamp": time, "message": message, "toolCallResult": call })
        }
        "system" => {
            let event = &line["systemPayload"]["uiEvent"];
            let name = event["event.name"].as_str().filter(|name| *name == "qwen-code.api_error")?;
            let (message, status) = (&event["error_message"], &event["status_code"]);
            let event = json!({ "event.name": name, "error_message": message, "status_code": status });
            json!({ "type": kind, "systemPayload": { "uiEvent": event } })
        }
        _ => return None,
    };
    Some(slim)
}

// The list of skills that the model was offered: a part of the first message of each request, and so of the first request
// that Qwen Code logged.

/// A line of the session file with the list in the first request, if a request was logged. Names begin with the time.
fn in_first_request(trial_env: &TrialEnv) -> Option<Value> {
    let file = trial_env.home().join(REQUESTS).first(|_| true)?;
    let log: Value = serde_json::from_slice(&bounded::read_file(file, bounded::MAX_FILE).ok()?).ok()?;
    let skills = log["request"]["messages"].as_array()?.iter().find_map(|message| match &message["content"] {
        Value::String(text) => list(text),
        parts => parts.as_array()?.iter().find_map(|part| list(part["text"].as_str()?)),
    });
    Some(json!({ "type": "offered", "skills": skills.unwrap_or_default() }))
}

/// The names and descriptions in the text with the list, which is escaped. Instructions of the workspace are in another one.
fn list(text: &str) -> Option<Vec<Value>> {
    let text = text.strip_prefix("<system-reminder>")?;
    Some(skill_list::within(text)?.filter_map(|entry| skill(&entry)).collect())
}

fn skill(entry: &SkillEntry<'_>) -> Option<Value> {
    let tagged = |tag: &str| entry.tagged(tag).map(unescaped);
    let description = tagged("description")?;
    // Qwen Code adds where the skill is from: `(project)`.
    let own = tagged("location").and_then(|from| Some(description.strip_suffix(&format!(" ({from})"))?.to_owned()));
    Some(json!({ "name": tagged("name")?, "description": own.unwrap_or(description) }))
}
