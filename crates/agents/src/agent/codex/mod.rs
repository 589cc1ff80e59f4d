//! `codex exec`: how to start it, and how to read its event stream and rollout file.
//!
//! Two streams describe a run. Standard output (`trace.jsonl`) has the messages, the tokens and the failures. The rollout file
//! (`rollout.jsonl`) has what standard output hides: the skills that codex offered, the skills that it injected for a `$name`
//! in the prompt, and commands that the sandbox stopped. Each sub-agent has a rollout of its own; `subagents.jsonl` has all
//! of them. Standard output shows neither what sub-agents did nor what they took.

mod events;
mod evidence;
mod rollout;
mod wire;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::command::{
    AgentCommand, Assignment, LONGEST_ARGUMENT, NextMessage, common_environment, environment, long_prompt,
    settings_args_of, unlimited_turns,
};
use crate::agent::files::{self, read_if_exists, read_toml, write_private};
use crate::agent::interface::{Agent, TurnSign, UserSession, WorkOwner};
use crate::agent::isolation::SandboxedProgram;
use crate::agent::login::{Login, LoginSources, has_credentials};
use crate::agent::mcp_probe::ServerCommand;
use crate::agent::secrets::{secrets_in, without_secrets};
use crate::agent::trial_env::TrialEnv;
use crate::agent::user_home::{copy_login, users_path};
use crate::files::bounded;
use crate::lint::SkillList;
use crate::process::{self, Job};
use crate::profile::AgentKind;
use crate::settings::Home;
use crate::skill::Skill;
use crate::text::node;
use crate::trace::Trace;
use crate::trace::exposure::Reference;
use crate::trace::trouble::Trouble;
use crate::trial::input_file::Sandbox;
use crate::trial::input_file::{HistoryMessage, Speaker};
use evidence::SESSIONS;

/// The name of the rollout file in a trial's directory.
const ROLLOUT: &str = AgentKind::Codex.profile().session;

/// The file for `--output-last-message` in the room.
const LAST_MESSAGE: &str = "last-message.txt";

/// codex's own file in a skill's directory.
const SKILL_SETTINGS: &str = "agents/openai.yaml";

/// Variables that hold credentials.
const LOGIN_VARIABLES: [&str; 3] = ["OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN"];

/// Variables that choose the provider.
const PROVIDER_VARIABLES: [&str; 3] = ["OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT"];

#[derive(Debug)]
pub struct Codex;

impl Agent for Codex {
    fn kind(&self) -> AgentKind {
        AgentKind::Codex
    }

    fn withholds(&self, skill: &Skill, directory: &Path, prompt: &str) -> Option<(&'static str, &'static str)> {
        let text = bounded::read_text(&directory.join(SKILL_SETTINGS)).ok()?;
        let settings = node::parse_yaml(&text).ok()??.json();
        let is_withheld = settings["policy"]["allow_implicit_invocation"] == false && !calls_skill(prompt, &skill.name);
        is_withheld.then_some((
            SKILL_SETTINGS,
            "`allow_implicit_invocation: false` keeps codex from offering the skill to a prompt that does not call it as `$name`",
        ))
    }

    fn login(&self, around: &LoginSources<'_>) -> Login {
        find_login(around)
    }

    fn command(&self, assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
        exec_command(assignment)
    }

    fn listings(&self) -> &'static [SkillList] {
        &rollout::LISTINGS
    }

    fn users_setup(&self, setup: Home) -> Result<(Vec<String>, String), Trouble> {
        users_setup(setup)
    }

    fn keep_evidence(&self, trial_env: &TrialEnv, directory: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
        evidence::store(trial_env, directory, mask)
    }

    fn recorded_evidence(&self, directory: &Path, skills: &[&str]) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
        evidence::recorded(directory, skills)
    }

    fn decode(&self, reference: &Reference, directory: &Path) -> io::Result<Trace> {
        evidence::decode(reference, directory)
    }

    fn user_session(&self, lines: &[Value], _: &[Value], turn: Option<usize>) -> Option<UserSession> {
        evidence::read(lines, turn)
    }

    fn work(&self, line: &[u8]) -> WorkOwner {
        events::work_owner(line)
    }

    fn session(&self, trial_env: &TrialEnv) -> Option<File> {
        evidence::session(trial_env)
    }

    fn signs(&self, line: &[u8]) -> Vec<TurnSign> {
        rollout::turn_sign(line).into_iter().collect()
    }

    fn describe(&self, line: &[u8]) -> Option<String> {
        events::describe(line)
    }

    fn resumed(&self, assignment: &Assignment<'_>, args: &[OsString], message: &str) -> Option<NextMessage> {
        // The answer to an earlier message is not the answer to this one.
        let _ = assignment.trial_env.tmp().join(LAST_MESSAGE).remove();
        resumed_command(args, &evidence::session_id(assignment.trial_env)?, message)
    }

    /// Runs the script in the sandbox that codex uses for read-only cases.
    fn in_sandbox(&self, script: &str) -> Option<Vec<OsString>> {
        Some(["sandbox", "--", "/bin/sh", "-c", script].map(OsString::from).to_vec())
    }
}

/// Whether a prompt calls the skill of this name as users do, with `$name`.
fn calls_skill(prompt: &str, name: &str) -> bool {
    let call = format!("${name}");
    prompt.match_indices(&call).any(|(at, _)| {
        let next = prompt[at + call.len()..].chars().next();
        !next.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    })
}

// How to start `codex exec` for a trial.

fn exec_command(assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
    let Assignment { case, settings, trial_env, .. } = *assignment;
    let program = Codex.find(settings)?;
    let long_instructions = case.system_prompt.as_deref().filter(|text| text.len() > LONGEST_ARGUMENT);
    let users = prepare_home(trial_env, settings.isolation.home, long_instructions)?;
    let mut secret_names: Vec<String> = LOGIN_VARIABLES.map(str::to_owned).to_vec();
    secret_names.extend(users.key_variables);
    let visible: Vec<&str> = secret_names.iter().map(String::as_str).chain(PROVIDER_VARIABLES).collect();
    let mut env = environment(assignment, &visible);
    env.insert("CODEX_HOME".into(), trial_env.home().join(".codex").into());
    let mut secrets = users.secrets;
    secrets.extend(secret_names.iter().filter_map(|name| std::env::var(name).ok()));

    let fixed = ["exec", "--json", "--sandbox", case.sandbox.as_str(), "--skip-git-repo-check"];
    let mut args: Vec<OsString> = fixed.map(OsString::from).to_vec();
    let mut configuration = vec![
        "approval_policy=\"never\"".to_owned(),
        // The model's commands must not see the key; codex itself does.
        format!("shell_environment_policy.exclude={}", toml::Value::from(secret_names)),
    ];
    if let (Some(text), None) = (&case.system_prompt, long_instructions) {
        configuration.push(format!("developer_instructions={}", toml::Value::from(text.as_str())));
    }
    if let Some(ServerCommand { names, program, args, env, .. }) = assignment.server {
        configuration.extend(server_configuration(&names.server, program, args, env));
    }
    for (name, program) in trial_env.mocked_servers() {
        configuration.extend(server_configuration(&name, &program, &[], &BTreeMap::new()));
    }
    args.extend(configuration.into_iter().flat_map(|setting| ["-c".into(), setting.into()]));
    args.extend(["-C".into(), trial_env.workspace().into()]);
    if let Some(schema) = assignment.schema {
        args.extend(["--output-schema".into(), schema.path.as_path().into()]);
    }
    args.extend(["--output-last-message".into(), trial_env.tmp().join(LAST_MESSAGE).into()]);
    if let Some(model) = settings.model_for(assignment.mode) {
        args.extend(["-m".into(), model.into()]);
    }
    args.extend(settings_args_of(assignment).map(Into::into));
    // A prompt may start with a dash.
    let input = long_prompt(assignment);
    let prompt = if input.is_some() { "-" } else { case.prompt.as_str() };
    if !case.history.is_empty() {
        let version = codex_version(&program, assignment)?;
        args.extend(["resume".into(), write_history(trial_env, &case.history, &version)?.into()]);
    }
    args.extend(["--".into(), prompt.into()]);
    let open = match case.sandbox {
        Sandbox::ReadOnly => "codex's sandbox limits writing, not reading",
        Sandbox::WorkspaceWrite => "codex's sandbox limits writing, not reading; /tmp is writable too",
    };
    Ok(AgentCommand {
        program,
        args,
        env,
        secrets,
        not_enforced: unlimited_turns(assignment).into_iter().collect(),
        open: vec![open],
        input,
        ..AgentCommand::default()
    })
}

/// These arguments with another message, for the session with this id.
fn resumed_command(args: &[OsString], session: &str, message: &str) -> Option<NextMessage> {
    let [options @ .., _, _] = args else { return None };
    // A session with a history is resumed from the start.
    let options = options.strip_suffix(&["resume", session].map(OsString::from)).unwrap_or(options);
    let resume = ["resume", session, "--", message].map(OsString::from);
    NextMessage::in_argument(message, options.iter().cloned().chain(resume))
}

/// The MCP server in codex's configuration. Without `required`, codex does not report a server that does not start.
fn server_configuration(name: &str, program: &Path, args: &[String], env: &BTreeMap<String, String>) -> Vec<String> {
    let setting = |key: &str, value: toml::Value| format!("mcp_servers.{name}.{key}={value}");
    let env: Vec<String> = env
        .iter()
        .map(|(name, value)| format!("{}={}", toml::Value::from(name.as_str()), toml::Value::from(value.as_str())))
        .collect();
    vec![
        setting("command", program.to_string_lossy().as_ref().into()),
        setting("args", args.to_vec().into()),
        format!("mcp_servers.{name}.env={{{}}}", env.join(",")),
        setting("required", true.into()),
        setting("startup_timeout_sec", 60.into()),
    ]
}

// codex's home in a trial: the user's credentials, model and provider, and nothing else.

/// Keys of the user's `config.toml` that are copied, in addition to all that start with `model`.
const COPIED_KEYS: [&str; 5] = [
    "chatgpt_base_url",
    "openai_base_url",
    "preferred_auth_method",
    "forced_login_method",
    "forced_chatgpt_workspace_id",
];

/// What was copied of the user's configuration.
struct CodexUserConfig {
    /// Variables that hold the keys of configured providers.
    pub key_variables: Vec<String>,
    /// Values in the copied credentials.
    pub secrets: Vec<String>,
}

/// Writes the home. `instructions` are a system prompt that is too long for an argument.
fn prepare_home(trial_env: &TrialEnv, setup: Home, instructions: Option<&str>) -> Result<CodexUserConfig, Trouble> {
    let mut secrets = copy_login(AgentKind::Codex, ".codex/auth.json", trial_env)?;
    let table = users_config(setup)?;
    secrets.extend(serde_json::to_value(&table).iter().flat_map(secrets_in));
    // Before the tables: after one, the setting would belong to that table.
    let instructions = instructions.map(|text| format!("developer_instructions = {}\n", toml::Value::from(text)));
    let config = instructions.unwrap_or_default() + &table.to_string();
    write_private(&trial_env.home().join(".codex/config.toml"), config.as_bytes())?;
    Ok(CodexUserConfig { key_variables: key_variables(&table), secrets })
}

/// The part of the user's configuration that trials get.
fn users_config(setup: Home) -> Result<toml::Table, Trouble> {
    let mut table = read_toml(&users_path(AgentKind::Codex, ".codex/config.toml"))?;
    table.retain(|key, _| setup == Home::User || key.starts_with("model") || COPIED_KEYS.contains(&key));
    Ok(table)
}

/// The variables that choose the provider, and the configuration without its secrets.
fn users_setup(setup: Home) -> Result<(Vec<String>, String), Trouble> {
    let names = PROVIDER_VARIABLES.map(str::to_owned).to_vec();
    let table = users_config(setup)?;
    let table = without_secrets(serde_json::to_value(table).unwrap_or_default());
    let has_login = users_file("auth.json")?.is_some();
    Ok((names, format!("auth.json {has_login}\n{table}")))
}

/// A file in the directory of the user's configuration, if it exists.
fn users_file(name: &str) -> Result<Option<String>, Trouble> {
    read_if_exists(&users_path(AgentKind::Codex, &format!(".codex/{name}")))
}

/// The variables that `[model_providers.*]` name: `env_key`, and the values of `env_http_headers`.
fn key_variables(config: &toml::Table) -> Vec<String> {
    let providers = config.get("model_providers").and_then(toml::Value::as_table);
    let mut names = Vec::new();
    for provider in providers.into_iter().flat_map(toml::Table::values) {
        let headers = provider.get("env_http_headers").and_then(toml::Value::as_table);
        let values = provider.get("env_key").into_iter().chain(headers.into_iter().flat_map(toml::Table::values));
        names.extend(values.filter_map(toml::Value::as_str).map(str::to_owned));
    }
    names
}

// The credentials that codex would use.

/// How to provide credentials.
const HOW_TO: &str = "run `codex login`, or set CODEX_API_KEY or OPENAI_API_KEY";

/// codex stores keyring entries by its home, and a trial has another home.
const NOT_BY_KEYRING: &str = "trials cannot see the keyring in which codex keeps its login: set cli_auth_credentials_store = \
                              \"file\" in codex's config.toml and run `codex login`, or set CODEX_API_KEY or OPENAI_API_KEY";

fn find_login(around: &LoginSources<'_>) -> Login {
    if around.has_argument() {
        return Login::Unknown("the agent's own arguments choose the provider, which may have one".to_owned());
    }
    // All of it: a trial gets a part.
    let config = match users_config(Home::User) {
        Ok(config) => config,
        Err(why) => return Login::Missing(why.detail),
    };
    let text = |key: &str| config.get(key).and_then(toml::Value::as_str);
    if let Some(provider) = text("model_provider").filter(|name| *name != "openai")
        && let Some(login) = login_of_provider(around, &config, provider)
    {
        return login;
    }
    if let Some(name) = around.first(&LOGIN_VARIABLES) {
        return Login::Set(name.to_owned());
    }
    let what_to_do = match users_file("auth.json") {
        Ok(None) if text("cli_auth_credentials_store") == Some("keyring") => NOT_BY_KEYRING.to_owned(),
        Ok(None) => HOW_TO.to_owned(),
        Ok(Some(text)) => match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(value) if has_credentials(&value, &[]) => {
                return Login::Found("auth.json in codex's directory".to_owned());
            }
            Ok(serde_json::Value::Object(_)) => {
                format!("the auth.json in codex's directory holds no credentials; {HOW_TO}")
            }
            _ if text.trim().is_empty() => format!("the auth.json in codex's directory is empty; {HOW_TO}"),
            _ => format!("the auth.json in codex's directory is damaged; {HOW_TO}"),
        },
        Err(why) => why.detail,
    };
    if around.variable("OPENAI_BASE_URL").is_some() || text("openai_base_url").or(text("chatgpt_base_url")).is_some() {
        return Login::Unknown("the server of the base URL may ask for none".to_owned());
    }
    Login::Missing(what_to_do)
}

/// The credentials of a provider in codex's configuration; `None` if those are the credentials of openai.
fn login_of_provider(around: &LoginSources<'_>, config: &toml::Table, provider: &str) -> Option<Login> {
    let settings = config.get("model_providers").and_then(|providers| providers.get(provider));
    let needs_openai =
        settings.and_then(|settings| settings.get("requires_openai_auth")).and_then(toml::Value::as_bool);
    let key = settings.and_then(|settings| settings.get("env_key")).and_then(toml::Value::as_str);
    match key {
        Some(key) if around.variable(key).is_some() => {
            Some(Login::Found(format!("{key}, for the provider `{provider}` of codex's config.toml")))
        }
        Some(key) => {
            Some(Login::Missing(format!("set {key}: the provider `{provider}` of codex's config.toml reads it")))
        }
        None if needs_openai == Some(true) => None,
        None => Some(Login::Found(format!("the provider `{provider}` of codex's config.toml needs no key"))),
    }
}

// The history of a case as a rollout, which `codex exec resume` continues.

/// How long codex may take to print its version.
const PATIENCE: Duration = Duration::from_secs(20);

/// Writes the rollout into the home. `version` is codex's, which does not write it into a session that it resumes. Returns the
/// session's id.
fn write_history(trial_env: &TrialEnv, messages: &[HistoryMessage], version: &str) -> Result<String, Trouble> {
    let id = trial_env.session_id().to_owned();
    let name = format!("1970/01/01/rollout-1970-01-01T00-00-00-{id}.jsonl");
    let now = jiff::Timestamp::now().to_string();
    let first = json!({
        "timestamp": now,
        "type": "session_meta",
        "payload": {
            "id": id, "timestamp": now, "cwd": trial_env.workspace().to_string(), "originator": "skill-evals",
            "cli_version": version,
        },
    });
    files::write_session_file(
        &trial_env.home().join(SESSIONS).join(name),
        &format!("{first}\n"),
        messages.iter().map(history_line),
    )?;
    Ok(id)
}

fn history_line(message: &HistoryMessage) -> Value {
    let kind = match message.role {
        Speaker::User => "input_text",
        Speaker::Assistant => "output_text",
    };
    let content = json!([{ "type": kind, "text": message.content }]);
    json!({ "type": "response_item", "payload": { "type": "message", "role": message.role, "content": content } })
}

/// The version that `codex --version` prints: the last word. Empty if it prints none. It runs where trials run, without a login.
fn codex_version(program: &Path, assignment: &Assignment<'_>) -> Result<String, Trouble> {
    let Assignment { root, trial_env, settings, redactor, .. } = *assignment;
    let env = common_environment(trial_env);
    let sandboxed = SandboxedProgram { program, env: &env, reads: &[], server: None, root, trial_env, settings };
    let (place, _) = sandboxed.place()?;
    let [stdout, stderr] = ["version", "version-stderr"].map(|name| trial_env.control().join(name));
    let job = Job {
        start: place.start(program, vec!["--version".into()]),
        env,
        folder: trial_env.start_directory(),
        timeout: PATIENCE,
        cpu_wait: None,
        stdout: stdout.clone(),
        appends: false,
        by_file: None,
        input: None,
        stderr,
        redactor,
        works_on: false,
        settled: None,
    };
    let printed = process::run(&job, &mut ()).and_then(|_| bounded::read_text(&stdout)).unwrap_or_default();
    Ok(printed.split_whitespace().last().unwrap_or_default().to_owned())
}
