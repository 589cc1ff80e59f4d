//! How to start `gemini --prompt` for a trial.

use std::ffi::OsString;

use serde_json::{Map, Value, json};

use super::Gemini;
use super::home;
use super::login::{CREDENTIALS_FILE, KEYS, PROVIDER};
use crate::agent::arguments::{not_enforced, refuse_history_and_schema, session_and_prompt};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, environment, settings_args_of};
use crate::agent::files::read_jsonc;
use crate::agent::interface::Agent;
use crate::agent::secrets::secrets_in;
use crate::agent::user_home::variable;
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

pub(super) fn command(assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
    let Assignment { case, mode, settings, trial_env, server, .. } = *assignment;
    refuse_history_and_schema(assignment)?;
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
    let mut secrets = home::prepare(trial_env, settings.isolation.home, &program, case.system_prompt.as_deref(), more)?;
    let credentials = variable(CREDENTIALS_FILE);
    if let Some(file) = &credentials {
        secrets.extend(secrets_in(&read_jsonc(file)?.into()));
    }

    let visible: Vec<&str> = KEYS.into_iter().chain(PROVIDER).collect();
    let mut env = environment(assignment, &visible);
    env.insert("GEMINI_CLI_HOME".into(), trial_env.home().into());
    // Otherwise Gemini starts itself once more, and that process may outlive the first.
    env.insert("GEMINI_CLI_NO_RELAUNCH".into(), "true".into());
    // It ends at its limit on turns without writing what it has of its telemetry.
    for name in ["OTEL_BSP_SCHEDULE_DELAY", "OTEL_BLRP_SCHEDULE_DELAY"] {
        env.insert(name.into(), "1".into());
    }

    // An eval has no user to ask: neither for consent to a skill nor for trust in the workspace.
    let fixed = ["--output-format=stream-json", "--approval-mode=yolo", "--skip-trust"];
    let mut args: Vec<OsString> = fixed.map(OsString::from).to_vec();
    args.extend(settings.model_for(mode).map(|model| format!("--model={model}").into()));
    args.extend(settings_args_of(assignment).map(Into::into));
    args.extend(session_and_prompt(assignment)?);
    Ok(AgentCommand {
        program,
        args,
        env,
        secrets,
        reads: credentials.into_iter().collect(),
        not_enforced: not_enforced(assignment),
        // Its telemetry takes the signal, and nothing ends it.
        works_on: true,
        open: vec!["shell commands can read and write outside the workspace"],
        ..AgentCommand::default()
    })
}
