//! How to start `cline --json` for a trial.

use std::ffi::OsString;
use std::path::Path;

use serde_json::{Value, json};

use super::Cline;
use super::login::{self, KEYS};
use crate::agent::arguments::{mcp_file, not_enforced, refuse, refuse_history_and_schema, with};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, LONGEST_ARGUMENT, environment, settings_args_of};
use crate::agent::files::write_private;
use crate::agent::interface::Agent;
use crate::agent::stream::EventStream;
use crate::agent::user_home::add_instructions;
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

/// The script that prints the evidence. Cline is a program of Bun, which runs it first.
const EVIDENCE: &str = include_str!("evidence.js");

pub(super) fn command(assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
    let Assignment { case, mode, settings, trial_env, server, .. } = *assignment;
    refuse_history_and_schema(assignment)?;
    let lacks = [
        ("a prompt of more than 100,000 bytes", case.prompt.len() > LONGEST_ARGUMENT),
        ("more than one message", !case.follow_ups.is_empty()),
    ];
    refuse(assignment, &lacks)?;
    let home = trial_env.home();
    let secrets = write_settings(&home.join(".cline/data/settings"), case.sandbox == Sandbox::ReadOnly)?;
    if let Some(text) = &case.system_prompt {
        add_instructions(&home.join(".agents/AGENTS.md"), text)?;
    }
    let evidence = trial_env.path().join("evidence.js");
    write_private(&evidence, EVIDENCE.as_bytes())?;

    let mut env = environment(assignment, &KEYS);
    env.insert("BUN_OPTIONS".into(), with("--preload=", evidence));
    env.insert("CLINE_NO_AUTO_UPDATE".into(), "1".into());
    // Otherwise a daemon, which all trials would share, does the work and stays.
    env.insert("CLINE_SESSION_BACKEND_MODE".into(), "local".into());
    if let Some(server) = server {
        env.insert("CLINE_MCP_SETTINGS_PATH".into(), mcp_file(assignment, server, json!({}))?.into());
    }
    let mut args: Vec<OsString> = vec!["--json".into()];
    args.extend(settings.model_for(mode).map(|model| with("--model=", model)));
    args.extend(settings_args_of(assignment).map(Into::into));
    // Without white space, Cline takes a prompt for a command. It trims the prompt.
    args.extend(["--".into(), format!("{} ", case.prompt).into()]);
    Ok(AgentCommand {
        program: Cline.find(settings)?,
        args,
        env,
        secrets,
        not_enforced: not_enforced(assignment),
        open: vec!["shell commands and tools can read and write outside the workspace"],
        // It waits for its next request to be refused first.
        works_on: true,
        ..AgentCommand::default()
    })
}

/// Writes the user's providers, and settings with which nothing is reported or updated. Returns the secrets.
fn write_settings(directory: &Path, is_read_only: bool) -> Result<Vec<String>, Trouble> {
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
