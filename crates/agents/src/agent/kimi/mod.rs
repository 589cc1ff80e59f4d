//! Kimi Code (`kimi --output-format=stream-json`).
//!
//! Standard output (`trace.jsonl`) has the conversation. Its session files (`session.jsonl`), one for each agent, have what the
//! output lacks: the list of skills in the system prompt, the times, the thoughts, the tokens, which calls failed, the texts of
//! loaded skills, what sub-agents did, and why a turn ended.

mod lines;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use serde_json::{Value, json};

use crate::agent::command::{
    AgentCommand, Assignment, NextMessage, environment, model_and_settings, prompt, refuse_long_prompt, with,
};
use crate::agent::files::{merge, read_if_exists, read_jsonc, read_toml, write_private};
use crate::agent::login::{Login, LoginSources};
use crate::agent::secrets::{secrets_in, values_of, without_secrets};
use crate::agent::stream::{FillCommand, FindLogin, JsonLinesAgent, ReadSetup, ReadSigns, ResumeSession, SlimSession};
use crate::agent::trial_env::TrialEnv;
use crate::agent::user_home::{add_instructions, copy_login, users_path};
use crate::files::rooted::WalkControl;
use crate::profile::AgentKind;
use crate::settings::Home;
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

/// The file with the MCP servers, in the trial's home.
const SERVERS: &str = ".kimi-code/mcp.json";

/// The agent that has the conversation with the user, by its id.
const MAIN: &str = "main";

#[derive(Debug)]
pub struct Kimi;

impl JsonLinesAgent for Kimi {
    const KIND: AgentKind = AgentKind::Kimi;
    type Reader = lines::KimiLines;
    const ARGUMENTS: &[&str] = &["--output-format=stream-json"];
    const LOGIN: FindLogin = find_login;
    const COMMAND: FillCommand = fill_command;
    const SETUP: ReadSetup = users_setup;
    const SIGNS: ReadSigns = lines::turn_signs;
    const RESUME: ResumeSession = resumed_command;
    const SLIM_SESSION: SlimSession = lines::slim;

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
