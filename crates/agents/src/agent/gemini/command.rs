//! How to start `gemini --prompt` for a trial.

use serde_json::{Map, Value, json};

use super::home;
use super::login::{CREDENTIALS_FILE, KEYS, PROVIDER};
use crate::agent::arguments::{model_and_settings, session_and_prompt};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, environment};
use crate::agent::files::read_jsonc;
use crate::agent::secrets::secrets_in;
use crate::agent::user_home::{add_instructions, variable};
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

pub(super) fn fill(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
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
    let mut secrets = home::prepare(trial_env, settings.isolation.home, &command.program, more)?;
    if let Some(text) = &case.system_prompt {
        add_instructions(assignment, ".gemini/GEMINI.md", text)?;
    }
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

    command.args.extend(model_and_settings(assignment).chain(session_and_prompt(assignment)?));
    (command.env, command.secrets) = (env, secrets);
    command.reads.extend(credentials);
    // Its telemetry takes the signal, and nothing ends it.
    command.works_on = true;
    command.open = vec!["shell commands can read and write outside the workspace"];
    Ok(())
}
