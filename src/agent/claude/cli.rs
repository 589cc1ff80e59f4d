//! `claude -p`: all input is in its arguments, the prompt last.

use std::ffi::OsString;
use std::path::PathBuf;

use super::call::ArgumentChoices;
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, LONGEST_ARGUMENT, long_prompt, settings_args_of};
use crate::agent::files::write_private;
use crate::trace::trouble::Trouble;

/// How to start `program` for a trial.
pub(super) fn command(assignment: &Assignment<'_>, program: PathBuf) -> Result<AgentCommand, Trouble> {
    let choices = ArgumentChoices::new(assignment)?;
    let mut args = args(&choices);
    if let Some(text) = &assignment.case.system_prompt {
        args.extend(system_prompt(assignment, text)?);
    }
    args.extend(settings_args_of(assignment).map(Into::into));
    let input = long_prompt(assignment)?;
    if input.is_none() {
        // A prompt may start with a dash.
        args.extend(["--".into(), assignment.case.prompt.as_str().into()]);
    }
    let mut command = choices.command(assignment, program)?;
    command.args.extend(args);
    command.input = input;
    // It exits before a pipe has taken all its output.
    command.by_file = Some(assignment.trial_env.path().join("stdout"));
    Ok(command)
}

/// The system prompt as an argument, or as a file if it is too long for an argument.
fn system_prompt(assignment: &Assignment<'_>, text: &str) -> Result<Vec<OsString>, Trouble> {
    if text.len() <= LONGEST_ARGUMENT {
        return Ok(vec![format!("--append-system-prompt={text}").into()]);
    }
    let path = assignment.trial_env.home().join("system-prompt");
    write_private(&path, text.as_bytes())?;
    Ok(vec!["--append-system-prompt-file".into(), path.into()])
}

/// The arguments without the prompts.
fn args(choices: &ArgumentChoices<'_>) -> Vec<OsString> {
    let mut args: Vec<OsString> = ["-p", "--output-format", "stream-json", "--verbose"].map(OsString::from).to_vec();
    let mut option = |name: &str, value: &str| args.push(format!("{name}={value}").into());
    if let Some(model) = choices.model {
        option("--model", model);
    }
    if let Some(most) = choices.max_turns {
        option("--max-turns", &most.to_string());
    }
    option("--permission-mode", choices.permissions.mode);
    option("--allowedTools", &choices.permissions.allowed.join(","));
    if !choices.permissions.disallowed.is_empty() {
        option("--disallowedTools", &choices.permissions.disallowed.join(","));
    }
    if let Some(schema) = &choices.schema {
        option("--json-schema", schema);
    }
    option("--setting-sources", choices.setting_sources);
    // The MCP servers of the user and the project do not belong to the case.
    args.push("--strict-mcp-config".into());
    if let Some(config) = &choices.mcp_config {
        args.extend(["--mcp-config".into(), config.into()]);
    }
    args
}
