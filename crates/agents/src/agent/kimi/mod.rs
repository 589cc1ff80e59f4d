//! Kimi Code (`kimi --output-format=stream-json`).
//!
//! Standard output (`trace.jsonl`) has the conversation. Its session files (`session.jsonl`), one for each agent, have what the
//! output lacks: the list of skills in the system prompt, the times, the thoughts, the tokens, which calls failed, the texts of
//! loaded skills, what sub-agents did, and why a turn ended.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::command::{
    AgentCommand, Assignment, NextMessage, environment, model_and_settings, prompt, refuse_long_prompt, with,
};
use crate::agent::field::{plain, text, usage, with_cached_input};
use crate::agent::files::{merge, read_if_exists, read_jsonc, read_toml, write_private};
use crate::agent::interface::TurnSign;
use crate::agent::login::{Login, LoginSources};
use crate::agent::recorder::{AgentEvent, CallEnding};
use crate::agent::refusal::refused;
use crate::agent::secrets::{secrets_in, values_of, without_secrets};
use crate::agent::skill_list::recorded_description;
use crate::agent::stream::{
    FillCommand, FindLogin, JsonLinesAgent, LineReader, ReadSetup, ReadSigns, ResumeSession, SlimSession,
};
use crate::agent::trial_env::TrialEnv;
use crate::agent::user_home::{add_instructions, copy_login, users_path};
use crate::files::rooted::WalkControl;
use crate::profile::AgentKind;
use crate::settings::Home;
use crate::trace::trouble::Trouble;
use crate::trace::{StopReason, Usage};
use crate::trial::input_file::Sandbox;

/// The file with the MCP servers, in the trial's home.
const SERVERS: &str = ".kimi-code/mcp.json";

/// The agent that has the conversation with the user, by its id.
const MAIN: &str = "main";

#[derive(Debug)]
pub struct Kimi;

impl JsonLinesAgent for Kimi {
    const KIND: AgentKind = AgentKind::Kimi;
    type Reader = KimiLines;
    const ARGUMENTS: &[&str] = &["--output-format=stream-json"];
    const LOGIN: FindLogin = find_login;
    const COMMAND: FillCommand = fill_command;
    const SETUP: ReadSetup = users_setup;
    const SIGNS: ReadSigns = turn_signs;
    const RESUME: ResumeSession = resumed_command;
    const SLIM_SESSION: SlimSession = slim;

    /// `<working directory>/<id>/agents/main/wire.jsonl`.
    fn is_session(path: &Path) -> bool {
        Self::is_evidence(path) && path.iter().nth(3).is_some_and(|agent| agent == MAIN)
    }

    /// Sub-agents have such a file, too.
    fn is_evidence(path: &Path) -> bool {
        path.iter().count() == 5 && path.file_name().is_some_and(|name| name == "wire.jsonl")
    }

    /// The names of the MCP servers: Kimi Code notes only those that it reached.
    fn more_session(trial_env: &TrialEnv) -> Option<Value> {
        let text = trial_env.home().join(SERVERS).read(1_000_000).ok()?;
        let file: Value = serde_json::from_slice(&text).ok()?;
        let names: Vec<&String> = file["mcpServers"].as_object()?.keys().collect();
        Some(json!({ "type": "servers", "names": names }))
    }
}

// How to start `kimi` for a trial.

const CONTINUE: &str = "--session=";

/// What keeps Kimi Code from reporting and from replacing itself, and from offering skills of its own about itself.
const QUIET: [(&str, &str); 3] =
    [("KIMI_CODE_NO_AUTO_UPDATE", "1"), ("KIMI_DISABLE_TELEMETRY", "1"), ("KIMI_CODE_BUILTIN_PRODUCT_SKILLS", "0")];

fn fill_command(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let Assignment { case, settings, trial_env, .. } = *assignment;
    refuse_long_prompt(assignment)?;
    let (key_variables, mut secrets) =
        prepare_home(trial_env, settings.isolation.home, case.sandbox == Sandbox::ReadOnly)?;
    secrets.extend(write_servers(assignment)?);
    if let Some(text) = &case.system_prompt {
        add_instructions(assignment, ".kimi-code/AGENTS.md", text)?;
    }
    let visible: Vec<&str> = KEYS.into_iter().chain(PROVIDER).chain(key_variables.iter().map(String::as_str)).collect();
    let mut env = environment(assignment, &visible);
    env.extend(QUIET.map(|(name, value)| (name.into(), value.into())));
    if let Some(most) = settings.max_turns_of(case.max_turns) {
        env.insert("KIMI_LOOP_MAX_STEPS_PER_TURN".into(), most.to_string().into());
    }
    secrets.extend(values_of(&env, &key_variables));

    command.args.extend(model_and_settings(assignment).chain([prompt(&case.prompt)]));
    (command.env, command.secrets) = (env, secrets);
    Ok(())
}

/// Writes the home: the user's login and providers. Returns the variables that the providers name, and the values that must not
/// be stored.
fn prepare_home(trial_env: &TrialEnv, setup: Home, is_read_only: bool) -> Result<(Vec<String>, Vec<String>), Trouble> {
    let mut config = users_config(setup)?;
    let variables = key_variables(&config).into_iter().collect();
    let mut secrets = secrets_in(&as_json(&config));
    if is_read_only {
        let tools = config.entry("tools").or_insert_with(|| toml::Table::new().into());
        if let Some(tools) = tools.as_table_mut() {
            tools.insert("disabled".to_owned(), Kimi::KIND.profile().tools.edits.to_vec().into());
        }
    }
    write_private(&trial_env.home().join(".kimi-code/config.toml"), config.to_string().as_bytes())?;
    secrets.extend(copy_login(Kimi::KIND, LOGIN_FILE, trial_env)?);
    Ok((variables, secrets))
}

/// Writes the MCP servers: that of the skills, and the user's if the home is the user's. Returns the secrets of those.
fn write_servers(assignment: &Assignment<'_>) -> Result<Vec<String>, Trouble> {
    let mut all = users_servers(assignment.settings.isolation.home)?;
    let secrets = secrets_in(&all);
    if let Some(server) = assignment.server {
        let entry = json!({ "command": server.program, "args": server.args, "env": server.env });
        merge(&mut all, json!({ "mcpServers": { server.names.server.as_str(): entry } }));
    }
    write_private(&assignment.trial_env.home().join(SERVERS), all.to_string().as_bytes())?;
    Ok(secrets)
}

/// These arguments with another message, for the same session.
fn resumed_command(assignment: &Assignment<'_>, args: &[OsString], message: &str) -> Option<NextMessage> {
    let profile = Kimi::KIND.profile();
    let mut id = None;
    let sessions = assignment.trial_env.home().join(profile.home).join(profile.sessions);
    let _ = sessions.walk(|_| false, &mut |entry| {
        if Kimi::is_session(entry.path) && id.is_none() {
            id = entry.path.iter().nth(1).map(OsString::from);
        }
        if id.is_none() { WalkControl::On } else { WalkControl::Stop }
    });
    let [options @ .., _] = args else { return None };
    let options = options.iter().filter(|argument| !argument.to_string_lossy().starts_with(CONTINUE)).cloned();
    let own = [with(CONTINUE, id?), prompt(message)];
    NextMessage::in_argument(message, options.chain(own))
}

// The credentials that Kimi Code would use: those of the providers in the user's `config.toml`, a login at Moonshot, or
// variables.

/// Variables with the keys of providers.
const KEYS: [&str; 6] =
    ["KIMI_MODEL_API_KEY", "KIMI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "VERTEXAI_API_KEY"];

/// Variables that choose a provider and its model.
const PROVIDER: [&str; 13] = [
    "KIMI_MODEL_NAME",
    "KIMI_MODEL_BASE_URL",
    "KIMI_MODEL_PROVIDER_TYPE",
    "KIMI_MODEL_CAPABILITIES",
    "KIMI_MODEL_MAX_CONTEXT_SIZE",
    "KIMI_MODEL_MAX_OUTPUT_SIZE",
    "KIMI_MODEL_THINKING_EFFORT",
    "KIMI_BASE_URL",
    "KIMI_CODE_BASE_URL",
    "OPENAI_BASE_URL",
    "ANTHROPIC_BASE_URL",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_VERTEX_BASE_URL",
];

/// The keys of the user's configuration that trials get.
const COPIED_KEYS: [&str; 5] = ["default_model", "default_provider", "models", "providers", "thinking"];

/// The file with a login at Moonshot, in the home.
const LOGIN_FILE: &str = ".kimi-code/credentials/kimi-code.json";

/// Whether the user has a login at Moonshot.
fn has_login() -> Result<bool, Trouble> {
    Ok(read_if_exists(&users_path(AgentKind::Kimi, LOGIN_FILE))?.is_some())
}

/// The user's MCP servers, as far as trials get them.
fn users_servers(setup: Home) -> Result<Value, Trouble> {
    Ok(if setup == Home::User { read_jsonc(&users_path(AgentKind::Kimi, SERVERS))?.into() } else { json!({}) })
}

/// What of the user's configuration trials get.
fn users_config(setup: Home) -> Result<toml::Table, Trouble> {
    let mut table = read_toml(&users_path(AgentKind::Kimi, ".kimi-code/config.toml"))?;
    table.retain(|key, _| setup == Home::User || COPIED_KEYS.contains(&key));
    Ok(table)
}

/// The variables with keys that the providers of a configuration name.
fn key_variables(config: &toml::Table) -> BTreeSet<String> {
    let providers = config.get("providers").and_then(toml::Value::as_table);
    let providers = providers.into_iter().flat_map(toml::Table::values);
    providers.filter_map(|provider| Some(provider.get("api_key_env")?.as_str()?.to_owned())).collect()
}

fn as_json(config: &toml::Table) -> Value {
    serde_json::to_value(config).unwrap_or_default()
}

fn find_login(around: &LoginSources<'_>) -> Result<Login, Trouble> {
    let (config, has_login) = (users_config(Home::Isolated)?, has_login()?);
    let (by_variable, key) = ("KIMI_MODEL_NAME", KEYS[0]);
    if around.variable(by_variable).is_some() {
        return Ok(match around.variable(key) {
            Some(_) => Login::Set(key.to_owned()),
            None => Login::Missing(format!("{by_variable} is set: set {key}, too")),
        });
    }
    let has_providers = config.contains_key("providers");
    if !secrets_in(&as_json(&config)).is_empty() {
        return Ok(Login::Found("a key in Kimi Code's config.toml".to_owned()));
    }
    if has_login {
        return Ok(Login::Found("a login in Kimi Code's directory".to_owned()));
    }
    let named = key_variables(&config).into_iter().find(|name| around.variable(name).is_some());
    Ok(match named.or_else(|| around.first(&KEYS).map(str::to_owned)) {
        Some(name) if has_providers => Login::Set(name),
        _ if has_providers => Login::Unknown("a provider without a key in Kimi Code's config.toml".to_owned()),
        _ => Login::Missing("run `kimi login`, or add a provider to Kimi Code's config.toml".to_owned()),
    })
}

/// The variables that choose the provider, and the configuration without secrets.
fn users_setup(setup: Home) -> Result<(Vec<String>, String), Trouble> {
    let config = without_secrets(as_json(&users_config(setup)?));
    let (servers, has_login) = (without_secrets(users_servers(setup)?), has_login()?);
    Ok((PROVIDER.map(str::to_owned).to_vec(), format!("login {has_login}\n{config}\n{servers}")))
}

// The lines of Kimi Code's output: messages as other programs have them, and `{"role":"meta", …}`. What they lack comes from the session
// files.

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
            Some("profile.bind") if agent_of(line) == MAIN => {
                self.offered.get_or_insert_with(|| offered_skills(line));
            }
            Some("llm.request") if agent_of(line) == MAIN && self.model.is_none() => {
                self.model = text(line, "model");
            }
            Some("subagent.spawned") => {
                if let (Some(call), Some(agent)) = (text(line, "parentToolCallId"), text(line, "subagentId")) {
                    self.sub_agents.entry(call).or_default().push(agent);
                }
            }
            _ => self.logs.entry(agent_of(line).to_owned()).or_default().line(line),
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

// A line of Kimi Code's session files: one file for each agent, whose lines name the agent.

/// What comes before the list of skills in the system prompt.
const LIST: &str = "Current available skills:\n";

/// The keys of the tokens of a request.
const TOKENS: [&str; 5] = ["inputOther", "inputCacheRead", "inputCacheCreation", "output", ""];

/// An answer of the model, and the skills whose texts followed its calls.
#[derive(Clone, Default)]
struct KimiAnswer {
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
struct KimiCall {
    pub id: String,
    pub tool: String,
    pub input: Value,
}

/// What a session file says about a call's result.
#[derive(Clone, Default)]
struct KimiResult {
    pub time: Option<String>,
    pub output: Option<String>,
    pub failed: bool,
    /// Whether Kimi Code no longer waited for it, since it was being ended.
    pub is_dropped: bool,
}

#[derive(Default)]
struct AgentLog {
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
    fn is_shown(&self) -> bool {
        !self.text.is_empty() || !self.calls.is_empty()
    }
}

impl AgentLog {
    fn line(&mut self, line: &Value) {
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
            "tool.call" => answer.calls.extend(session_call(event)),
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

fn session_call(event: &Value) -> Option<KimiCall> {
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
fn agent_of(line: &Value) -> &str {
    line["agentId"].as_str().unwrap_or_default()
}

/// The skills in the list of a system prompt: a line for each, `- name: description`, below headings.
fn offered_skills(line: &Value) -> Vec<(String, String)> {
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
fn turn_signs(line: &Value) -> Vec<TurnSign> {
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
fn slim(line: Value, skills_of_case: &[&str]) -> Option<Value> {
    let (kind, time) = (&line["type"], &line["time"]);
    match kind.as_str()? {
        "profile.bind" if agent_of(&line) == MAIN => {
            let entry = |(name, text): (String, String)| {
                format!("- {name}: {}\n", recorded_description(&name, &text, skills_of_case))
            };
            let list: String = offered_skills(&line).into_iter().map(entry).collect();
            Some(json!({ "type": kind, "agentId": MAIN, "systemPrompt": format!("{LIST}{list}") }))
        }
        "llm.request" => Some(json!({ "type": kind, "agentId": agent_of(&line), "model": line["model"] })),
        "mcp.tools_discovered" => Some(json!({ "type": kind, "serverName": line["serverName"] })),
        "context.append_message" if line["message"]["origin"]["kind"] != "skill_activation" => None,
        "context.append_loop_event" => {
            let mut event = line["event"].clone();
            event.as_object_mut()?.retain(|key, _| {
                ["type", "part", "toolCallId", "name", "args", "result", "finishReason", "rawFinishReason", "stepUuid"]
                    .contains(&key.as_str())
            });
            Some(json!({ "type": kind, "agentId": agent_of(&line), "event": event, "time": time }))
        }
        "turn.prompt" => Some(json!({ "type": kind, "agentId": agent_of(&line) })),
        "servers" | "usage.record" | "turn.cancel" | "turn.ended" | "subagent.spawned" | "context.append_message" => {
            Some(line)
        }
        _ => None,
    }
}
