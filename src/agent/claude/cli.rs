//! `claude -p`: everything by its arguments, the prompt last.

use std::ffi::OsString;
use std::path::PathBuf;

use super::call::ArgumentChoices;
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, LONGEST_ARGUMENT, long_prompt, own_args};
use crate::agent::files::write_private;
use crate::trace::trouble::Trouble;

/// How to start `program` for a trial.
pub(super) fn command(assignment: &Assignment<'_>, program: PathBuf) -> Result<AgentCommand, Trouble> {
    let choices = ArgumentChoices::new(assignment)?;
    let mut args = args(&choices);
    if let Some(text) = &assignment.case.system_prompt {
        args.extend(system_prompt(assignment, text)?);
    }
    args.extend(own_args(assignment).map(Into::into));
    let input = long_prompt(assignment)?;
    if input.is_none() {
        // A prompt may start with a dash.
        args.extend(["--".into(), assignment.case.prompt.as_str().into()]);
    }
    let mut command = choices.command(assignment, program)?;
    command.args.extend(args);
    command.input = input;
    // It exits before a pipe has taken all that it wrote.
    command.by_file = Some(assignment.room.path().join("stdout"));
    Ok(command)
}

/// The system prompt as an argument, or as a file where it is too long for one.
fn system_prompt(assignment: &Assignment<'_>, text: &str) -> Result<Vec<OsString>, Trouble> {
    if text.len() <= LONGEST_ARGUMENT {
        return Ok(vec![format!("--append-system-prompt={text}").into()]);
    }
    let path = assignment.room.home().join("system-prompt");
    write_private(&path, text.as_bytes())?;
    Ok(vec!["--append-system-prompt-file".into(), path.into()])
}

/// The arguments but for the prompts.
fn args(call: &ArgumentChoices<'_>) -> Vec<OsString> {
    let mut args: Vec<OsString> = ["-p", "--output-format", "stream-json", "--verbose"].map(OsString::from).to_vec();
    let mut option = |name: &str, value: &str| args.push(format!("{name}={value}").into());
    if let Some(model) = call.model {
        option("--model", model);
    }
    if let Some(most) = call.max_turns {
        option("--max-turns", &most.to_string());
    }
    option("--permission-mode", call.permissions.mode);
    option("--allowedTools", &call.permissions.allowed.join(","));
    if !call.permissions.disallowed.is_empty() {
        option("--disallowedTools", &call.permissions.disallowed.join(","));
    }
    if let Some(schema) = &call.schema {
        option("--json-schema", schema);
    }
    option("--setting-sources", call.setting_sources);
    // The user's and the project's own MCP servers are none of the case's.
    args.push("--strict-mcp-config".into());
    if let Some(config) = &call.mcp_config {
        args.extend(["--mcp-config".into(), config.into()]);
    }
    args
}
