//! How to start `gemini --prompt` for a trial.

use std::ffi::OsString;

use serde_json::{Map, Value, json};

use super::Gemini;
use super::home;
use super::login::{CREDENTIALS_FILE, KEYS, PROVIDER};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, LONGEST_ARGUMENT, environment, settings_args_of};
use crate::agent::history::session_id;
use crate::agent::interface::Agent;
use crate::agent::stream::{refuse, short_prompt};
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

/// The options that begin and continue a session.
const BEGINS: &str = "--session-id=";
const CONTINUES: &str = "--resume=";

pub(super) fn command(assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
    let Assignment { case, mode, settings, trial_env, server, .. } = *assignment;
    refuse(assignment, &[("a history", !case.history.is_empty()), ("an output schema", assignment.schema.is_some())])?;
    let program = Gemini.find(settings)?;
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
    let secrets = home::prepare(trial_env, &program, case.system_prompt.as_deref(), more)?;

    let visible: Vec<&str> = KEYS.into_iter().chain(PROVIDER).collect();
    let mut env = environment(assignment, &visible);
    env.insert("GEMINI_CLI_HOME".into(), trial_env.home().into());
    // Otherwise Gemini starts itself once more, and that process may outlive the first.
    env.insert("GEMINI_CLI_NO_RELAUNCH".into(), "true".into());
    // What the model was offered is then known while the agent works.
    env.insert("OTEL_BSP_SCHEDULE_DELAY".into(), "200".into());

    // An eval has no user to ask: neither for consent to a skill nor for trust in the workspace.
    let fixed = ["--output-format=stream-json", "--approval-mode=yolo", "--skip-trust"];
    let mut args: Vec<OsString> = fixed.map(OsString::from).to_vec();
    args.extend(settings.model_for(mode).map(|model| format!("--model={model}").into()));
    args.extend(settings_args_of(assignment).map(Into::into));
    // The session's id, so that a further message finds it. The prompt is the last argument.
    args.push(format!("{BEGINS}{}", session_id(trial_env)).into());
    args.push(prompt(short_prompt(assignment)?));
    let mut not_enforced = vec!["shell commands see the variables with the login".to_owned()];
    if case.sandbox == Sandbox::ReadOnly {
        not_enforced.push("shell commands can write in the workspace".to_owned());
    }
    Ok(AgentCommand {
        program,
        args,
        env,
        secrets,
        reads: std::env::var_os(CREDENTIALS_FILE).map(Into::into).into_iter().collect(),
        not_enforced,
        // Its telemetry takes the signal, and nothing ends it.
        works_on: true,
        open: vec!["shell commands can read and write outside the workspace"],
        ..AgentCommand::default()
    })
}

/// These arguments with another message, for the same session.
pub(super) fn resumed(args: &[OsString], message: &str) -> Option<Vec<OsString>> {
    let [options @ .., _] = args else { return None };
    let option = |option: &OsString| match option.to_str().and_then(|option| option.strip_prefix(BEGINS)) {
        Some(id) => format!("{CONTINUES}{id}").into(),
        None => option.clone(),
    };
    (message.len() <= LONGEST_ARGUMENT).then(|| options.iter().map(option).chain([prompt(message)]).collect())
}

fn prompt(text: &str) -> OsString {
    format!("--prompt={text}").into()
}
