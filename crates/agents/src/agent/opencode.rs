//! OpenCode (`opencode run`).
//!
//! Its own output has no list of skills, no request and no retry, and comes late. A plugin in the trial's home, `evidence.js`,
//! prints what OpenCode's plugins see, as lines of the same output (`trace.jsonl`). OpenCode keeps its sessions in a database,
//! not in a file of lines.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::agent::command::{AgentCommand, Assignment, NextMessage, environment, model_and_settings, program};
use crate::agent::field::{self, served, text, with_cached_input};
use crate::agent::files::{merge, read_if_exists, read_jsonc, write_private};
use crate::agent::login::{Login, LoginSources, has_credentials};
use crate::agent::recorder::{AgentEvent, CallEnding};
use crate::agent::refusal::refused;
use crate::agent::secrets::{secrets_in, values_of, without_secrets};
use crate::agent::skill_list;
use crate::agent::stream::{FillCommand, FindLogin, JsonLinesAgent, LineReader, ReadSetup, ResumeSession};
use crate::agent::user_home::{add_instructions, copy_login, users_path, variable};
use crate::files::look;
use crate::files::rooted::RootedPath;
use crate::profile::AgentKind;
use crate::settings::{Home, Settings};
use crate::skill::slug;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{StopReason, Usage};
use crate::trial::input_file::Sandbox;

#[derive(Debug)]
pub struct OpenCode;

impl JsonLinesAgent for OpenCode {
    const KIND: AgentKind = AgentKind::OpenCode;
    type Reader = OpenCodeLines;

    // Without a title, it asks a model for one.
    const ARGUMENTS: &[&str] = &["run", "--format=json", "--title=eval"];
    const LOGIN: FindLogin = find_login;
    const COMMAND: FillCommand = fill_command;
    const SETUP: ReadSetup = |setup| {
        let config = Value::Object(users_config(setup)?);
        let names = KEY_VARIABLES.map(str::to_owned).into_iter().chain(named_variables(&config.to_string())).collect();
        let config = without_secrets(config);
        Ok((names, format!("auth.json {}\n{config}", users_auth()?.is_some())))
    };

    const RESUME: ResumeSession = |assignment, args, message| Some(resumed_command(assignment, args, message));

    fn slim(mut line: Value, skills: &[&str]) -> Value {
        skill_list::record_pairs(line.get_mut("skills"), skills);
        line
    }

    fn find(settings: &Settings) -> Result<PathBuf, Trouble> {
        let program = program(settings, Self::KIND)?;
        ripgrep().map(|_| program).ok_or_else(no_ripgrep)
    }
}

// How to start `opencode run` for a trial.

/// The plugin that prints the evidence.
const PLUGIN: &str = include_str!("opencode/evidence.js");

/// OpenCode installs a package into its directory unless this says that it is there.
const INSTALLED: &str = r#"{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}"#;

/// The option with the skill that the user calls.
const SKILL: &str = "--command=";

/// The option that continues the last session, and so the only one.
const CONTINUE: &str = "--continue";

/// What a missing ripgrep means.
const NO_RIPGREP: &str =
    "OpenCode loads skills and searches files with ripgrep, which is not on the PATH as `rg`; install it";

fn fill_command(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let case = assignment.case;
    let ripgrep = ripgrep().ok_or_else(no_ripgrep)?;
    let Prepared { variables, key_variables, mut secrets } = prepare_home(assignment, &ripgrep)?;
    let visible: Vec<&str> = KEY_VARIABLES.into_iter().chain(variables.iter().map(String::as_str)).collect();
    let mut env = environment(assignment, &visible);
    secrets.extend(values_of(&env, &key_variables));
    // Its list of models comes with it.
    for name in ["OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_LSP_DOWNLOAD"] {
        env.insert(name.into(), "1".into());
    }
    let (skill, rest) = called_skill(&case.prompt, assignment);
    command.args.extend(model_and_settings(assignment).chain(skill));
    // As arguments, OpenCode puts quotes around what has spaces, and fails at numbers.
    (command.env, command.secrets, command.input) = (env, secrets, Some(rest.as_bytes().to_vec()));
    command.reads.push(ripgrep);
    command.open = vec!["shell commands can read and write outside the workspace"];
    Ok(())
}

/// What the user's configuration holds.
struct Prepared {
    /// The variables that it names, and those of them with credentials.
    variables: Vec<String>,
    key_variables: Vec<String>,
    /// The credentials in it.
    secrets: Vec<String>,
}

/// Fills the trial's home.
fn prepare_home(assignment: &Assignment<'_>, ripgrep: &Path) -> Result<Prepared, Trouble> {
    let Assignment { case, trial_env, .. } = *assignment;
    let mut config = Value::Object(users_config(assignment.settings.isolation.home)?);
    let in_config = secrets_in(&config);
    let (variables, key_variables) = (named_variables(&config.to_string()), named_variables(&in_config.concat()));
    let mut secrets = copy_login(OpenCode::KIND, AUTH_FILE, trial_env)?;
    secrets.extend(in_config.into_iter().filter(|value| !value.contains("{env:")));

    let home = trial_env.home();
    let directory = home.join(".config/opencode");
    for directory in [directory.join("node_modules"), home.join(".cache/opencode/bin")] {
        directory.create_dir_all()?;
    }
    merge(&mut config, settings_of_trial(assignment));
    write_private(&directory.join("opencode.json"), config.to_string().as_bytes())?;
    write_private(&directory.join("plugin/evidence.js"), PLUGIN.as_bytes())?;
    write_private(&directory.join("package-lock.json"), INSTALLED.as_bytes())?;
    if let Some(text) = &case.system_prompt {
        add_instructions(assignment, ".config/opencode/AGENTS.md", text)?;
    }
    home.join(".cache/opencode/bin/rg").link_to(ripgrep)?;
    Ok(Prepared { variables, key_variables, secrets })
}

fn no_ripgrep() -> Trouble {
    Trouble::new(TroubleKind::CouldNotStart, NO_RIPGREP)
}

/// These arguments with another message, for the same session.
fn resumed_command(assignment: &Assignment<'_>, args: &[OsString], message: &str) -> NextMessage {
    let is_option = |argument: &&OsString| !argument.to_string_lossy().starts_with(SKILL) && *argument != CONTINUE;
    let options = args.iter().filter(is_option).cloned().chain([CONTINUE.into()]);
    let (skill, rest) = called_skill(message, assignment);
    NextMessage::as_input(rest, options.chain(skill))
}

/// The option for a prompt that calls a skill, `/name …`, and what is left of the prompt.
fn called_skill<'a>(prompt: &'a str, assignment: &Assignment<'_>) -> (Option<OsString>, &'a str) {
    let Some(call) = prompt.strip_prefix('/') else { return (None, prompt) };
    let (name, rest) = call.split_once([' ', '\n']).unwrap_or((call, ""));
    let is_native = assignment.mode.delivery.native();
    let is_skill = || assignment.trial_env.skill_names().iter().any(|skill| skill == name);
    if is_native && slug(name) == name && !name.is_empty() && is_skill() {
        (Some(format!("{SKILL}{name}").into()), rest)
    } else {
        (None, prompt)
    }
}

/// The configuration of a trial, next to that of the user. An eval has no user to ask.
fn settings_of_trial(assignment: &Assignment<'_>) -> Value {
    let inside = |path: &RootedPath| format!("{path}/*");
    let trial_env = assignment.trial_env;
    // The skills in the workspace are links.
    let outside = json!({ "*": "deny", inside(&trial_env.skills()): "allow", inside(&trial_env.tmp()): "allow" });
    let edit = if assignment.case.sandbox == Sandbox::ReadOnly { "deny" } else { "allow" };
    let server = assignment.server.map(|server| {
        let words: Vec<&str> = std::iter::once(server.program.to_str().unwrap_or_default())
            .chain(server.args.iter().map(String::as_str))
            .collect();
        let entry = json!({ "type": "local", "command": words, "environment": server.env, "enabled": true });
        json!({ "mcp": { server.names.server.as_str(): entry } })
    });
    let mut settings = json!({
        "autoupdate": false,
        "share": "disabled",
        // Copies of the workspace for its command to undo changes.
        "snapshot": false,
        "permission": { "*": "allow", "external_directory": outside, "edit": edit },
    });
    merge(&mut settings, server.unwrap_or_else(|| json!({})));
    settings
}

// OpenCode's home in a trial: the user's providers, models and login, and nothing else of the user's configuration.

/// The files of the user's configuration, in the order of OpenCode: a later one counts more.
const FILES: [&str; 3] =
    [".config/opencode/config.json", ".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"];

/// Their keys that trials get.
const COPIED_KEYS: [&str; 5] = ["provider", "model", "small_model", "enabled_providers", "disabled_providers"];

/// The file with the user's login, in the home.
const AUTH_FILE: &str = ".local/share/opencode/auth.json";

/// The user's login.
fn users_auth() -> Result<Option<String>, Trouble> {
    read_if_exists(&users_path(AgentKind::OpenCode, AUTH_FILE))
}

/// The part of the user's configuration that trials get.
fn users_config(setup: Home) -> Result<Map<String, Value>, Trouble> {
    let mut config = Map::new();
    let files = FILES.map(|path| users_path(AgentKind::OpenCode, path));
    for path in files.into_iter().chain(variable("OPENCODE_CONFIG")) {
        let table = read_jsonc(&path)?;
        let is_copied = |key: &str| setup == Home::User || COPIED_KEYS.contains(&key);
        for (key, value) in table.into_iter().filter(|(key, _)| is_copied(key)) {
            merge(config.entry(key).or_insert(Value::Null), value);
        }
    }
    Ok(config)
}

/// The variables that a part of the configuration names: `{env:NAME}`.
fn named_variables(text: &str) -> Vec<String> {
    let names = text.split("{env:").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.to_owned()));
    names.collect()
}

/// ripgrep: on the PATH, or as OpenCode downloaded it for the user.
fn ripgrep() -> Option<PathBuf> {
    let downloaded =
        || Some(users_path(AgentKind::OpenCode, ".cache/opencode/bin/rg")).filter(|path| look::is_usable_file(path));
    crate::process::find_program("rg").or_else(downloaded)?.canonicalize().ok()
}

// The credentials that OpenCode would use.

/// Variables with the keys of providers. OpenCode knows more: `pass_env` in the settings names others.
const KEY_VARIABLES: [&str; 13] = [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "OPENCODE_API_KEY",
    "OPENROUTER_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "XAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "CEREBRAS_API_KEY",
    "AI_GATEWAY_API_KEY",
];

fn find_login(around: &LoginSources<'_>) -> Result<Login, Trouble> {
    let (config, auth) = (users_config(Home::Isolated)?, users_auth()?.unwrap_or_default());
    if has_credentials(&Value::Object(config), &[]) {
        return Ok(Login::Found("a key in OpenCode's configuration".to_owned()));
    }
    if serde_json::from_str(&auth).is_ok_and(|auth| has_credentials(&auth, &[])) {
        return Ok(Login::Found("auth.json in OpenCode's directory".to_owned()));
    }
    Ok(match around.first(&KEY_VARIABLES) {
        Some(name) => Login::Set(name.to_owned()),
        None => Login::Unknown("a model that needs none may be configured; else run `opencode auth login`".to_owned()),
    })
}

// The lines of OpenCode's output: those of our plugin, `{"type": "evidence", "kind", …}`, in the order of what happened, and
// OpenCode's own, which come later and say less.

/// How an error begins that says that a rule of ours does not allow a call.
const DENIED: &str = "The user has specified a rule which prevents you";

/// What OpenCode writes before the directory of a skill that the user called.
const BASE: &str = "Base directory for this skill: ";

/// The kinds of parts of a message that say nothing of what the model did.
const QUIET: [&str; 6] = ["agent", "file", "patch", "retry", "snapshot", "subtask"];

#[derive(Default)]
pub struct OpenCodeLines {
    /// The ids of all calls so far.
    calls: HashSet<String>,
    /// The names of the MCP servers, which begin the names of their tools.
    servers: Vec<String>,
}

impl LineReader for OpenCodeLines {
    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        match line["type"].as_str()? {
            "evidence" => {}
            // It comes after the lines of our plugin.
            "tool_use" if text(&line["part"], "id").is_some_and(|id| !self.calls.contains(&id)) => {
                return Some(vec![AgentEvent::Lost("a call that only OpenCode's own line shows".to_owned())]);
            }
            "step_start" | "text" | "tool_use" | "step_finish" | "reasoning" => return Some(Vec::new()),
            "error" => return Some(vec![error(&line["error"])]),
            _ => return None,
        }
        let said = match line["kind"].as_str()? {
            "request" => self.request(line),
            "session.created" if line["info"].get("parentID").is_some() => Vec::new(),
            "session.created" => text(&line["info"], "version").map(AgentEvent::Version).into_iter().collect(),
            "session.status" if line["status"]["type"] == "busy" => Vec::new(),
            "session.status" if line["status"]["type"] == "idle" && line.get("agent").is_some() => Vec::new(),
            "session.status" => vec![AgentEvent::or_gap(status(line), "the state of the session")],
            "session.error" => vec![error(&line["error"])],
            "message.part.updated" => self.part(line),
            _ => return None,
        };
        Some(said)
    }

    fn sub_agent(line: &Value) -> Option<&str> {
        line.get("agent")?.as_str()
    }
}

impl OpenCodeLines {
    fn request(&mut self, line: &Value) -> Vec<AgentEvent> {
        let by_sub_agent = Self::sub_agent(line).is_some();
        let model = text(line, "model").filter(|_| !by_sub_agent);
        let mut said: Vec<AgentEvent> = model.map(AgentEvent::Model).into_iter().collect();
        said.extend(skill_list::pairs(&line["skills"]).map(AgentEvent::Offered));
        self.servers.clear();
        for (name, server) in line["servers"].as_object().into_iter().flatten() {
            self.servers.push(name.clone());
            said.extend(text(server, "status").map(|status| AgentEvent::Server(name.clone(), status)));
        }
        said.push(AgentEvent::Asks);
        said
    }

    fn part(&mut self, line: &Value) -> Vec<AgentEvent> {
        let part = &line["part"];
        let words = text(part, "text").filter(|text| !text.is_empty());
        match part["type"].as_str() {
            Some("text") if line["byUser"] == true => words.and_then(called_by_user).into_iter().collect(),
            Some("text") if part["text"].is_string() => words.map(AgentEvent::Message).into_iter().collect(),
            Some("reasoning") => words.map(AgentEvent::Thought).into_iter().collect(),
            Some("step-start") => vec![AgentEvent::Answers(None)],
            Some("step-finish") => {
                std::iter::once(AgentEvent::Spent(usage(&part["tokens"]))).chain(stop(part)).collect()
            }
            Some("tool") => {
                let said = self.call(part);
                said.unwrap_or_else(|| vec![AgentEvent::Lost("a call of the model".to_owned())])
            }
            Some("compaction") => vec![AgentEvent::MayAsk],
            Some(kind) if QUIET.contains(&kind) => Vec::new(),
            kind => vec![AgentEvent::Lost(format!("a part `{}` of a message", kind.unwrap_or("without a type")))],
        }
    }

    fn call(&mut self, part: &Value) -> Option<Vec<AgentEvent>> {
        // The id of the call is the provider's, which may give it again to a sub-agent.
        let (id, state) = (text(part, "id")?, &part["state"]);
        let tool = text(part, "tool")?;
        // This is how OpenCode stores a call of a tool that the model does not have.
        let is_unknown = tool == "invalid";
        let mut said = Vec::new();
        if self.calls.insert(id.clone()) {
            let named = if is_unknown { text(&state["input"], "tool") } else { served(&tool, &self.servers, "", "_") };
            let tool = named.unwrap_or(tool);
            said.push(AgentEvent::Called { id: id.clone(), tool, input: state["input"].clone() });
        }
        let error = state["error"].as_str();
        let ending = match state["status"].as_str()? {
            "completed" if !is_unknown => CallEnding::Done,
            "error" if error.is_some_and(|error| error.starts_with(DENIED)) => CallEnding::Denied,
            "completed" | "error" => CallEnding::Failed,
            "pending" | "running" => return Some(said),
            _ => return None,
        };
        let output = error.or_else(|| state["output"].as_str()).map(str::to_owned);
        said.push(AgentEvent::Answered { id, output, ending, exit_code: state["metadata"]["exit"].as_i64() });
        Some(said)
    }
}

/// The skill whose text OpenCode put into the user's message.
fn called_by_user(text: String) -> Option<AgentEvent> {
    let directory = text.split_once(BASE)?.1.lines().next()?;
    let skill = directory.rsplit('/').next()?.to_owned();
    Some(AgentEvent::CalledByUser { skill, text })
}

fn status(line: &Value) -> Option<AgentEvent> {
    let status = &line["status"];
    match status["type"].as_str()? {
        "retry" => {
            let message = text(status, "message").unwrap_or_default();
            // OpenCode does not say the status. It asks again if it was not reached, and after refusals for now.
            let unreached = message.starts_with("Cannot connect");
            let why =
                if unreached { Trouble::new(TroubleKind::Provider, message) } else { refused(Some(429), &message) };
            Some(AgentEvent::AsksAgain(why, status["wait"].as_u64().map(Duration::from_millis)))
        }
        "idle" if line.get("agent").is_none() => Some(AgentEvent::Done),
        _ => None,
    }
}

fn error(error: &Value) -> AgentEvent {
    let (name, data) = (error["name"].as_str().unwrap_or_default(), &error["data"]);
    let message = data["message"].as_str().unwrap_or(name);
    match name {
        "MessageAbortedError" => AgentEvent::Interrupted,
        "ContentFilterError" => AgentEvent::Stopped(StopReason::Refusal),
        "MessageOutputLengthError" => AgentEvent::Stopped(StopReason::MaxTokens),
        "ContextOverflowError" => AgentEvent::Stopped(StopReason::ContextWindow),
        "ProviderAuthError" => AgentEvent::Refused(Trouble::new(TroubleKind::Login, message)),
        _ => AgentEvent::Refused(refused(data["statusCode"].as_u64(), message)),
    }
}

/// Why the model ended its answer early.
fn stop(part: &Value) -> Option<AgentEvent> {
    match part["reason"].as_str()? {
        "length" => Some(AgentEvent::Stopped(StopReason::MaxTokens)),
        "content-filter" => Some(AgentEvent::Stopped(StopReason::Refusal)),
        _ => None,
    }
}

fn usage(tokens: &Value) -> Usage {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let usage = field::usage(tokens, ["input", "", "", "output", "reasoning"]);
    with_cached_input(Usage {
        cached_input_tokens: count(&tokens["cache"]["read"]),
        cache_write_input_tokens: count(&tokens["cache"]["write"]),
        output_tokens: usage.output_tokens.saturating_add(usage.reasoning_output_tokens),
        ..usage
    })
}
