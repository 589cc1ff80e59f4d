//! How to start `cline --json` for a trial.

use serde_json::{Value, json};

use super::Cline;
use super::login::{self, KEYS};
use crate::agent::arguments::{mcp_file, model_and_settings, refuse, refuse_long_prompt, with};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, environment};
use crate::agent::files::write_private;
use crate::agent::stream::JsonLinesAgent;
use crate::agent::user_home::add_instructions;
use crate::files::rooted::RootedPath;
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

/// The script that prints the evidence. Cline is a program of Bun, which runs it first.
const EVIDENCE: &str = include_str!("evidence.js");

pub(super) fn fill(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let Assignment { case, trial_env, server, .. } = *assignment;
    refuse_long_prompt(assignment)?;
    refuse(assignment, &[("more than one message", case.has_more_messages())])?;
    let home = trial_env.home();
    let secrets = write_settings(&home.join(".cline/data/settings"), case.sandbox == Sandbox::ReadOnly)?;
    if let Some(text) = &case.system_prompt {
        add_instructions(assignment, ".agents/AGENTS.md", text)?;
    }
    let evidence = trial_env.show("evidence.js", EVIDENCE.as_bytes())?;

    let mut env = environment(assignment, &KEYS);
    env.insert("BUN_OPTIONS".into(), with("--preload=", evidence));
    env.insert("CLINE_NO_AUTO_UPDATE".into(), "1".into());
    // Otherwise a daemon, which all trials would share, does the work and stays.
    env.insert("CLINE_SESSION_BACKEND_MODE".into(), "local".into());
    if let Some(server) = server {
        env.insert("CLINE_MCP_SETTINGS_PATH".into(), mcp_file(assignment, server, json!({}))?.into());
    }
    command.args.extend(model_and_settings(assignment));
    // Without white space, Cline takes a prompt for a command. It trims the prompt.
    command.args.extend(["--".into(), format!("{} ", case.prompt).into()]);
    (command.env, command.secrets) = (env, secrets);
    // It waits for its next request to be refused first.
    command.works_on = true;
    Ok(())
}

/// Writes the user's providers, and settings with which nothing is reported or updated. Returns the secrets.
fn write_settings(directory: &RootedPath, is_read_only: bool) -> Result<Vec<String>, Trouble> {
    let mut settings = json!({ "telemetryOptOut": true, "autoUpdateEnabled": false });
    if is_read_only {
        settings["disabledTools"] = json!(Cline::KIND.profile().tools.edits);
    }
    write_private(&directory.join("global-settings.json"), settings.to_string().as_bytes())?;
    let providers = login::users_providers()?;
    let secrets = login::secrets(&providers);
    write_private(&directory.join("providers.json"), Value::Object(providers).to_string().as_bytes())?;
    Ok(secrets)
}
