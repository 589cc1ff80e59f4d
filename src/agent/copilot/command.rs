//! How to start `copilot -p` for a trial.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::Copilot;
use super::login::{KEYS, PROVIDER, TOKENS};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, LONGEST_ARGUMENT, environment, settings_args_of};
use crate::agent::files::{file_trouble, write_private};
use crate::agent::history::session_id;
use crate::agent::interface::Agent;
use crate::agent::mcp_probe::ServerCommand;
use crate::agent::stream::{refuse, short_prompt};
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

/// The variable with the place where Copilot unpacks itself.
const PACKAGES: &str = "COPILOT_PKG_CACHE_HOME";

pub(super) fn command(assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
    let Assignment { case, mode, settings, trial_env, server, .. } = *assignment;
    refuse(assignment, &[("a history", !case.history.is_empty()), ("an output schema", assignment.schema.is_some())])?;
    let home = trial_env.home().join(".copilot");
    fs::create_dir_all(&home).map_err(|error| file_trouble(&home, &error))?;
    if let Some(text) = &case.system_prompt {
        write_private(&home.join("copilot-instructions.md"), text.as_bytes())?;
    }
    let visible: Vec<&str> = TOKENS.into_iter().chain(KEYS).chain(PROVIDER).collect();
    let mut env = environment(assignment, &visible);
    env.insert("COPILOT_HOME".into(), home.into());
    env.insert("COPILOT_AUTO_UPDATE".into(), "false".into());
    // This also trusts the workspace. The option for that cannot name the session.
    env.insert("COPILOT_ALLOW_ALL".into(), "true".into());
    let packages = packages();
    env.extend(packages.iter().map(|path| (PACKAGES.into(), path.into())));

    // An eval has no user to ask. `--allow-all` would also allow paths outside the workspace.
    let fixed = [
        "--output-format=json",
        "--allow-all-urls",
        "--no-ask-user",
        "--disable-builtin-mcps",
        "--disable-client-telemetry",
    ];
    let mut args: Vec<OsString> = fixed.map(OsString::from).to_vec();
    if case.sandbox == Sandbox::ReadOnly {
        args.push("--deny-tool=write".into());
    }
    if mode.delivery.native() {
        // The skills in the workspace are links to this directory.
        args.extend(["--add-dir".into(), trial_env.skills().into()]);
    }
    if let Some(server) = server {
        args.extend(["--additional-mcp-config".into(), mcp_config(assignment, server)?]);
    }
    args.extend(settings.model_for(mode).map(|model| format!("--model={model}").into()));
    args.extend(settings_args_of(assignment).map(Into::into));
    // The session's id, so that a further message finds it. The prompt is the last argument.
    args.push(format!("--session-id={}", session_id(trial_env)).into());
    args.push(prompt(short_prompt(assignment)?));
    let max_turns = settings.max_turns_of(case.max_turns);
    let mut not_enforced = vec!["shell commands see the variables with the login".to_owned()];
    not_enforced.extend(max_turns.map(|most| format!("copilot knows no limit on turns: {most} were asked for")));
    if case.sandbox == Sandbox::ReadOnly {
        not_enforced.push("shell commands can write in the workspace".to_owned());
    }
    Ok(AgentCommand {
        program: Copilot.find(settings)?,
        args,
        env,
        reads: packages.into_iter().collect(),
        not_enforced,
        open: vec!["shell commands can read and write outside the workspace"],
        ..AgentCommand::default()
    })
}

/// These arguments with another message, for the same session.
pub(super) fn resumed(args: &[OsString], message: &str) -> Option<Vec<OsString>> {
    let [options @ .., _] = args else { return None };
    (message.len() <= LONGEST_ARGUMENT).then(|| options.iter().cloned().chain([prompt(message)]).collect())
}

fn prompt(text: &str) -> OsString {
    format!("--prompt={text}").into()
}

/// Where the user's Copilot has unpacked itself. Without it, each trial unpacks 235 MB.
fn packages() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let path = variable(PACKAGES).or_else(|| Some(variable("HOME")?.join(".cache/copilot")))?;
    path.join("pkg").is_dir().then_some(path)
}

/// The MCP server, in a file that no other user can read, unlike arguments.
fn mcp_config(assignment: &Assignment<'_>, server: &ServerCommand) -> Result<OsString, Trouble> {
    let entry = json!({
        "type": "local",
        "command": server.program,
        "args": server.args,
        "env": server.env,
        "tools": ["*"],
    });
    let config = json!({ "mcpServers": { server.names.server.as_str(): entry } });
    let path = assignment.trial_env.path().join("mcp.json");
    write_private(&path, config.to_string().as_bytes())?;
    let mut argument = OsString::from("@");
    argument.push(path);
    Ok(argument)
}
