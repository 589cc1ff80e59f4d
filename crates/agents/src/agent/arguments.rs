//! What agents have in common that get all by arguments: the session, the prompt, the MCP server, and what they lack.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, LONGEST_ARGUMENT, NextMessage, settings_args_of};
use crate::agent::mcp_probe::ServerCommand;
use crate::agent::trial_env::TrialEnv;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::sandbox::Sandbox;

/// The file with the MCP server.
const MCP_FILE: &str = "mcp.json";

/// The option that begins a session of this id.
pub(super) const SESSION: &str = "--session-id=";

pub(super) fn with(option: &str, value: impl Into<OsString>) -> OsString {
    let mut argument = OsString::from(option);
    argument.push(value.into());
    argument
}

pub(super) fn prompt(text: &str) -> OsString {
    with("--prompt=", text)
}

/// The last two arguments: the session's id, so that a further message finds it, and the prompt.
pub(super) fn session_and_prompt(assignment: &Assignment<'_>) -> Result<[OsString; 2], Trouble> {
    let text = &assignment.case.prompt;
    refuse_long_prompt(assignment)?;
    Ok([with(SESSION, assignment.trial_env.session_id()), prompt(text)])
}

/// These arguments with another message, for the same session, which the option `continues` names.
pub(super) fn resumed(args: &[OsString], message: &str, continues: &str) -> Option<NextMessage> {
    let [options @ .., session, _] = args else { return None };
    let own = [with(continues, session.to_str()?.strip_prefix(SESSION)?), prompt(message)];
    NextMessage::in_argument(message, options.iter().cloned().chain(own))
}

/// Refuses a case that asks for something that the agent does not have: each in words, and whether the case asks for it.
pub(super) fn refuse(assignment: &Assignment<'_>, lacks: &[(&str, bool)]) -> Result<(), Trouble> {
    let Some((what, _)) = lacks.iter().find(|(_, is_asked)| *is_asked) else { return Ok(()) };
    let name = assignment.mode.agent.profile().name;
    let why = format!("the case asks for {what}, which {name} cannot do: run it in the mode of another agent");
    Err(Trouble::new(TroubleKind::CouldNotStart, why))
}

/// Refuses a prompt that is too long for an argument.
pub(super) fn refuse_long_prompt(assignment: &Assignment<'_>) -> Result<(), Trouble> {
    let is_long = assignment.case.prompt.len() > LONGEST_ARGUMENT;
    refuse(assignment, &[("a prompt of more than 100,000 bytes", is_long)])
}

/// The command of a trial with these first arguments. Such an agent has no output schema, and few have a history.
pub(super) fn begin(
    assignment: &Assignment<'_>,
    program: PathBuf,
    arguments: &[&str],
    has_histories: bool,
) -> Result<AgentCommand, Trouble> {
    let has_history = !has_histories && !assignment.case.history.is_empty();
    refuse(assignment, &[("a history", has_history), ("an output schema", assignment.schema.is_some())])?;
    Ok(AgentCommand {
        program,
        args: arguments.iter().map(Into::into).collect(),
        not_enforced: not_enforced(assignment),
        open: vec!["shell commands and tools can read and write outside the workspace"],
        ..AgentCommand::default()
    })
}

/// The argument for the plugin with which the agent gets the skill under test, if it does.
pub(super) fn plugin_args(assignment: &Assignment<'_>) -> Option<OsString> {
    let option = assignment.mode.agent.profile().plugins.as_ref()?.option;
    Some(with(option, assignment.trial_env.skills().join(assignment.plugin?.place())))
}

/// The arguments for the model, and those of the settings.
pub(super) fn model_and_settings(assignment: &Assignment<'_>) -> impl Iterator<Item = OsString> {
    let model = assignment.settings.model_for(assignment.mode).map(|model| with("--model=", model));
    model.into_iter().chain(settings_args_of(assignment).map(Into::into))
}

/// That the agent has no limit on turns, if one was asked for.
pub(super) fn unlimited_turns(assignment: &Assignment<'_>) -> Option<String> {
    let profile = assignment.mode.agent.profile();
    let most = assignment.settings.max_turns_of(assignment.case.max_turns).filter(|_| !profile.reports.limits_turns)?;
    Some(format!("trials of {} have no limit on turns: {most} were asked for", profile.program))
}

/// What such an agent does not enforce, in words.
fn not_enforced(assignment: &Assignment<'_>) -> Vec<String> {
    let Assignment { case, .. } = *assignment;
    let mut all = vec!["shell commands see the variables with the login".to_owned()];
    all.extend(unlimited_turns(assignment));
    if case.sandbox == Sandbox::ReadOnly {
        all.push("shell commands can write in the workspace".to_owned());
    }
    all
}

/// The file with the MCP server, which no other user can read, unlike arguments. `more` are keys of the server's entry.
pub(super) fn mcp_file(assignment: &Assignment<'_>, server: &ServerCommand, more: Value) -> Result<PathBuf, Trouble> {
    let mut entry = json!({ "command": server.program, "args": server.args, "env": server.env });
    if let (Value::Object(entry), Value::Object(more)) = (&mut entry, more) {
        entry.extend(more);
    }
    mcp_file_of(assignment, &json!({ server.names.server.as_str(): entry }))
}

/// The file with the MCP servers of these entries.
pub(super) fn mcp_file_of(assignment: &Assignment<'_>, entries: &Value) -> Result<PathBuf, Trouble> {
    let config = json!({ "mcpServers": entries });
    Ok(assignment.trial_env.show(MCP_FILE, config.to_string().as_bytes())?)
}

/// Where the agent finds that file, if it was written.
pub(super) fn mcp_path(trial_env: &TrialEnv) -> PathBuf {
    trial_env.place_of(Path::new(MCP_FILE))
}
