//! Gemini CLI (`gemini --prompt`).
//!
//! Standard output (`trace.jsonl`) has the conversation, with what a terminal shows of each call. Two files in its home, kept
//! together (`session.jsonl`), have the rest: its chat what the model saw of each call, and its telemetry, which stays on this
//! machine, the list of skills, the tools, and the tokens, end or error of each request.

mod lines;

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::agent::command::{self, AgentCommand, Assignment, environment, model_and_settings, session_and_prompt};
use crate::agent::files::{merge, read_if_exists, read_jsonc, write_private};
use crate::agent::login::{Login, LoginSources};
use crate::agent::secrets::{secrets_in, without_secrets};
use crate::agent::stream::{FillCommand, FindLogin, JsonLinesAgent, ReadSetup, ReadSigns, ResumeSession, SlimSession};
use crate::agent::trial_env::TrialEnv;
use crate::agent::user_home::{add_instructions, copy_login, users_path, variable};
use crate::files::at::At;
use crate::files::look;
use crate::profile::AgentKind;
use crate::settings::Home;
use crate::trace::trouble::Trouble;
use crate::trial::input_file::Sandbox;

#[derive(Debug)]
pub struct Gemini;

impl JsonLinesAgent for Gemini {
    const KIND: AgentKind = AgentKind::Gemini;
    type Reader = lines::GeminiLines;

    // An eval has no user to ask: neither for consent to a skill nor for trust in the workspace.
    const ARGUMENTS: &[&str] = &["--output-format=stream-json", "--approval-mode=yolo", "--skip-trust"];
    const LOGIN: FindLogin = find_login;
    const COMMAND: FillCommand = fill_command;
    const SETUP: ReadSetup = |setup| Ok((PROVIDER_VARIABLES.map(str::to_owned).to_vec(), users_setup(setup)?));
    const SIGNS: ReadSigns = lines::turn_signs;
    const RESUME: ResumeSession = |_, args, message| command::resumed_by_arguments(args, message, "--resume=");

    /// `tmp/<project>/chats/session-….jsonl`.
    fn is_session(path: &Path) -> bool {
        path.iter().count() == 3
            && path.extension().is_some_and(|end| end == "jsonl")
            && path.iter().nth(1).is_some_and(|part| part == "chats")
    }

    fn is_evidence(path: &Path) -> bool {
        Self::is_session(path) || path == Path::new(TELEMETRY_FILE)
    }

    fn more_session(trial_env: &TrialEnv) -> Option<Value> {
        noted_program(trial_env)
    }

    fn kept() -> impl FnMut(&[u8]) -> Option<Vec<u8>> {
        let mut values = lines::Values::default();
        move |line: &[u8]| values.line(line)
    }

    const SLIM_SESSION: SlimSession = |line, skills| {
        if line.get("attributes").is_some() {
            return Some(lines::without_descriptions(line, skills));
        }
        let calls = lines::calls(&line).filter(|call| call.get("result").is_some());
        let calls: Vec<Value> = calls.map(|call| json!({ "id": call["id"], "result": call["result"] })).collect();
        let is_program = line.get("version").is_some();
        is_program.then_some(line).or_else(|| (!calls.is_empty()).then(|| json!({ "toolCalls": calls })))
    };
}

// How to start `gemini --prompt` for a trial.

fn fill_command(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let Assignment { case, settings, trial_env, server, .. } = *assignment;
    let mut more = Map::new();
    if case.sandbox == Sandbox::ReadOnly {
        more.insert("tools".into(), json!({ "exclude": ["write_file", "replace"] }));
    }
    if let Some(most) = settings.max_turns_of(case.max_turns) {
        more.insert("model".into(), json!({ "maxSessionTurns": most }));
    }
    if let Some(server) = server {
        let entry = json!({ "command": server.program, "args": server.args, "env": server.env });
        more.insert("mcpServers".into(), Value::from_iter([(server.names.server.as_str(), entry)]));
    }
    let mut secrets = prepare_home(trial_env, settings.isolation.home, &command.program, more)?;
    if let Some(text) = &case.system_prompt {
        add_instructions(assignment, ".gemini/GEMINI.md", text)?;
    }
    let credentials = variable(CREDENTIALS_FILE);
    if let Some(file) = &credentials {
        secrets.extend(secrets_in(&read_jsonc(file)?.into()));
    }

    let visible: Vec<&str> = KEYS.into_iter().chain(PROVIDER_VARIABLES).collect();
    let mut env = environment(assignment, &visible);
    env.insert("GEMINI_CLI_HOME".into(), trial_env.home().into());
    // Otherwise Gemini starts itself once more, and that process may outlive the first.
    env.insert("GEMINI_CLI_NO_RELAUNCH".into(), "true".into());
    // It ends at its limit on turns without writing what it has of its telemetry.
    for name in ["OTEL_BSP_SCHEDULE_DELAY", "OTEL_BLRP_SCHEDULE_DELAY"] {
        env.insert(name.into(), "1".into());
    }

    command.args.extend(model_and_settings(assignment).chain(session_and_prompt(assignment)?));
    (command.env, command.secrets) = (env, secrets);
    command.reads.extend(credentials);
    // Its telemetry takes the signal, and nothing ends it.
    command.works_on = true;
    command.open = vec!["shell commands can read and write outside the workspace"];
    Ok(())
}

// Gemini's home in a trial: the user's credentials and the choice of them, and nothing else.

/// Files with credentials in the user's home.
const CREDENTIALS: [&str; 3] =
    [".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".gemini/gemini-credentials.json"];

/// The file of the telemetry, in the directory of sessions.
const TELEMETRY_FILE: &str = "telemetry.log";

/// The runner's file with what it knows about the program.
const PROGRAM: &str = "program.json";

/// A line with what the runner knows about the program.
fn noted_program(trial_env: &TrialEnv) -> Option<Value> {
    serde_json::from_str(&read_if_exists(&trial_env.control().join(PROGRAM)).ok()??).ok()
}

/// Writes the home, with `more` settings. Returns the values that must not be stored.
fn prepare_home(
    trial_env: &TrialEnv,
    setup: Home,
    program: &Path,
    more: Map<String, Value>,
) -> Result<Vec<String>, Trouble> {
    let home = trial_env.home().join(".gemini");
    let sessions = home.join("tmp");
    sessions.create_dir_all()?;
    let mut secrets = Vec::new();
    for name in CREDENTIALS {
        secrets.extend(copy_login(AgentKind::Gemini, name, trial_env)?);
    }
    let users = users_settings()?;
    let mut auth = users["security"]["auth"].clone();
    if let Some(chosen) = auth_type(&users, |name| variable(name).is_some()) {
        merge(&mut auth, json!({ "selectedType": chosen }));
    }
    secrets.extend(secrets_in(&users));
    let own = json!({
        "security": { "auth": auth },
        "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
        "privacy": { "usageStatisticsEnabled": false },
        // It goes to this file and nowhere else. The texts of the conversation are in the chat.
        "telemetry": {
            "enabled": true, "target": "local", "outfile": sessions.join(TELEMETRY_FILE).to_string(), "logPrompts": false,
        },
        "model": users["model"]["name"].as_str().map_or(json!({}), |name| json!({ "name": name })),
    });
    let mut settings = if setup == Home::User { users } else { Value::Null };
    merge(&mut settings, own);
    merge(&mut settings, Value::Object(more));
    write_private(&home.join("settings.json"), settings.to_string().as_bytes())?;
    // Gemini does not say its version in a trial.
    if let Some(version) = package_version(program) {
        let known = json!({ "version": version });
        let path = trial_env.control().join(PROGRAM);
        std::fs::write(&path, known.to_string()).at(&path)?;
    }
    Ok(secrets)
}

/// The version in the package of a program.
fn package_version(program: &Path) -> Option<String> {
    let file = program.canonicalize().ok()?;
    let package = file
        .ancestors()
        .skip(1)
        .take(3)
        .map(|directory| directory.join("package.json"))
        .find(|path| look::is_usable_file(path))?;
    let package: Value = serde_json::from_str(&read_if_exists(&package).ok()??).ok()?;
    (package["name"] == "@google/gemini-cli").then(|| package["version"].as_str().map(str::to_owned))?
}

/// How Gemini authenticates: as the user chose, else by the variables that `is_set`.
fn auth_type(settings: &Value, is_set: impl Fn(&str) -> bool) -> Option<String> {
    let chosen = settings["security"]["auth"]["selectedType"].as_str();
    let by_variable = [
        ("GOOGLE_GENAI_USE_GCA", "oauth-personal"),
        ("GOOGLE_GENAI_USE_VERTEXAI", "vertex-ai"),
        ("GEMINI_API_KEY", "gemini-api-key"),
    ];
    let by_variable = || by_variable.iter().find(|(name, _)| is_set(name)).map(|(_, kind)| *kind);
    chosen.or_else(by_variable).map(str::to_owned)
}

/// The user's settings.
fn users_settings() -> Result<Value, Trouble> {
    Ok(read_jsonc(&users_path(AgentKind::Gemini, ".gemini/settings.json"))?.into())
}

/// What of the user's settings reaches a trial, without secrets.
fn users_setup(setup: Home) -> Result<String, Trouble> {
    let settings = without_secrets(users_settings()?);
    let has_login = has_login()?;
    let all = if setup == Home::User { settings.to_string() } else { String::new() };
    Ok(format!("login {has_login}\n{} {}{all}", settings["security"]["auth"], settings["model"]["name"]))
}

/// Whether the user has logged in with Google.
fn has_login() -> Result<bool, Trouble> {
    Ok(read_if_exists(&users_path(AgentKind::Gemini, CREDENTIALS[0]))?.is_some())
}

// The credentials that Gemini CLI would use.

/// Variables that hold a key.
const KEYS: [&str; 2] = ["GEMINI_API_KEY", "GOOGLE_API_KEY"];

/// The variable that names a file with credentials of Google Cloud.
const CREDENTIALS_FILE: &str = "GOOGLE_APPLICATION_CREDENTIALS";

/// Variables that choose a provider and its model.
const PROVIDER_VARIABLES: [&str; 11] = [
    CREDENTIALS_FILE,
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_VERTEX_BASE_URL",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_GENAI_USE_GCA",
    "GOOGLE_GENAI_API_VERSION",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_PROJECT_ID",
    "GOOGLE_CLOUD_LOCATION",
    "CODE_ASSIST_ENDPOINT",
    "GEMINI_MODEL",
];

/// How to provide credentials.
const HOW_TO: &str = "set GEMINI_API_KEY, or log in with Google in `gemini`";

fn find_login(around: &LoginSources<'_>) -> Result<Login, Trouble> {
    let kind = auth_type(&users_settings()?, |name| around.variable(name).is_some());
    Ok(match kind.as_deref() {
        Some("oauth-personal") if has_login()? => Login::Found("oauth_creds.json in Gemini's directory".to_owned()),
        Some("oauth-personal") => Login::Missing(format!("trials do not see a keychain: {HOW_TO}")),
        Some("gemini-api-key") => match around.variable(KEYS[0]) {
            Some(_) => Login::Set(KEYS[0].to_owned()),
            None => Login::Missing(format!("trials do not see the keychain with the key of Gemini: {HOW_TO}")),
        },
        Some(other) => Login::Unknown(format!("Gemini uses `{other}`, which may have credentials")),
        None => Login::Missing(HOW_TO.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_s_choice_comes_before_variables() {
        let is_set = |name: &str| name == "GEMINI_API_KEY";
        assert_eq!(auth_type(&Value::Null, is_set).as_deref(), Some("gemini-api-key"));
        let settings = json!({ "security": { "auth": { "selectedType": "vertex-ai" } } });
        assert_eq!(auth_type(&settings, is_set).as_deref(), Some("vertex-ai"));
        assert_eq!(auth_type(&Value::Null, |_| false), None);
    }
}
