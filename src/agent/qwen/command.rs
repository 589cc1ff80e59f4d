//! How to start `qwen` for a trial.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::login::{KEYS, PROVIDER, QwenUserSettings};
use super::{Qwen, REQUESTS};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, LONGEST_ARGUMENT, environment, settings_args_of};
use crate::agent::files::{file_trouble, write_private};
use crate::agent::history::session_id;
use crate::agent::interface::Agent;
use crate::agent::mcp_probe::ServerCommand;
use crate::agent::stream::{refuse, short_prompt};
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

/// The argument with the id of a new session, and of one that is there.
const SESSION: [&str; 2] = ["--session-id=", "--resume="];

pub(super) fn command(assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
    let Assignment { case, mode, settings, trial_env, server, .. } = *assignment;
    let system_prompt = case.system_prompt.as_deref();
    let is_long = system_prompt.is_some_and(|text| text.len() > LONGEST_ARGUMENT);
    refuse(
        assignment,
        &[
            ("a history", !case.history.is_empty()),
            ("an output schema", assignment.schema.is_some()),
            ("a system prompt of more than 100,000 bytes", is_long),
        ],
    )?;
    let users = QwenUserSettings::read()?;
    let (key_variables, secrets) = (users.key_variables(), users.secrets());
    let home = trial_env.home().join(".qwen");
    write_settings(&home, users.copied, case.sandbox == Sandbox::ReadOnly)?;
    let visible: Vec<&str> = KEYS.into_iter().chain(PROVIDER).chain(key_variables.iter().map(String::as_str)).collect();
    let mut env = environment(assignment, &visible);
    env.insert("QWEN_CODE_SUPPRESS_YOLO_WARNING".into(), "1".into());

    let mut args: Vec<OsString> =
        ["--output-format=stream-json", "--approval-mode=yolo", "--openai-logging"].map(OsString::from).to_vec();
    args.push(with("--openai-logging-dir=", trial_env.home().join(REQUESTS)));
    if let Some(server) = server {
        args.push(with("--mcp-config=", mcp_config(assignment, server)?));
    }
    args.extend(system_prompt.map(|text| with("--append-system-prompt=", text)));
    args.extend(settings.model_for(mode).map(|model| with("--model=", model)));
    args.extend(settings_args_of(assignment).map(Into::into));
    // The session's id, so that a further message finds it. The prompt is the last argument.
    args.push(with(SESSION[0], session_id(trial_env)));
    args.push(prompt(short_prompt(assignment)?));
    let max_turns = settings.max_turns_of(case.max_turns);
    let mut not_enforced = vec!["shell commands see the variables with the login".to_owned()];
    // With its own limit, Qwen Code ends as if it had failed.
    not_enforced.extend(max_turns.map(|most| format!("trials of qwen have no limit on turns: {most} were asked for")));
    if case.sandbox == Sandbox::ReadOnly {
        not_enforced.push("shell commands can write in the workspace".to_owned());
    }
    Ok(AgentCommand {
        program: Qwen.find(settings)?,
        args,
        env,
        secrets,
        not_enforced,
        open: vec!["shell commands and tools can read and write outside the workspace"],
        ..AgentCommand::default()
    })
}

/// These arguments with another message, for the same session.
pub(super) fn resumed(args: &[OsString], message: &str) -> Option<Vec<OsString>> {
    let [options @ .., session, _] = args else { return None };
    let id = session.to_str()?.strip_prefix(SESSION[0])?;
    let own = [with(SESSION[1], id), prompt(message)];
    (message.len() <= LONGEST_ARGUMENT).then(|| options.iter().cloned().chain(own).collect())
}

fn prompt(text: &str) -> OsString {
    with("--prompt=", text)
}

fn with(option: &str, value: impl Into<OsString>) -> OsString {
    let mut argument = OsString::from(option);
    argument.push(value.into());
    argument
}

/// The settings: the user's provider, and nothing that reports, updates, or asks the model on its own account.
fn write_settings(home: &Path, mut settings: Map<String, Value>, is_read_only: bool) -> Result<(), Trouble> {
    fs::create_dir_all(home).map_err(|error| file_trouble(home, &error))?;
    let own = json!({
        "general": { "enableAutoUpdate": false },
        "memory": { "enableManagedAutoMemory": false, "enableManagedAutoDream": false },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
    });
    settings.extend(own.as_object().cloned().unwrap_or_default());
    if is_read_only {
        settings.insert("permissions".to_owned(), json!({ "deny": Qwen.kind().profile().tools.edits }));
    }
    write_private(&home.join("settings.json"), Value::from(settings).to_string().as_bytes())
}

/// The MCP server, in a file that no other user can read, unlike arguments. Its tools are offered at once, and not only to a
/// search for tools.
fn mcp_config(assignment: &Assignment<'_>, server: &ServerCommand) -> Result<PathBuf, Trouble> {
    let entry = json!({
        "command": server.program,
        "args": server.args,
        "env": server.env,
        "alwaysLoadTools": true,
    });
    let config = json!({ "mcpServers": { server.names.server.as_str(): entry } });
    let path = assignment.trial_env.path().join("mcp.json");
    write_private(&path, config.to_string().as_bytes())?;
    Ok(path)
}
