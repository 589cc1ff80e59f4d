//! `claude -p`: everything by its arguments, the prompt last.

use std::ffi::OsString;
use std::path::PathBuf;

use super::call::Call;
use crate::agent::assignment::Assignment;
use crate::agent::command::{Command, own_args};
use crate::cases::case::Case;
use crate::trial::trouble::Trouble;

/// How to start `program` for a trial.
pub(super) fn command(assignment: &Assignment<'_>, program: PathBuf) -> Result<Command, Trouble> {
    let choices = Call::new(assignment)?;
    let mut args = args(&choices, assignment.case);
    args.extend(own_args(assignment).map(Into::into));
    // A prompt may start with a dash.
    args.extend(["--".into(), assignment.case.prompt.as_str().into()]);
    let mut command = choices.command(assignment, program)?;
    command.args = args;
    // It exits before a pipe has taken all that it wrote.
    command.by_file = Some(assignment.room.path().join("stdout"));
    Ok(command)
}

/// The arguments but for the prompt.
fn args(call: &Call<'_>, case: &Case) -> Vec<OsString> {
    let mut args: Vec<OsString> = ["-p", "--output-format", "stream-json", "--verbose"].map(OsString::from).to_vec();
    let mut option = |name: &str, value: &str| args.push(format!("{name}={value}").into());
    if let Some(model) = call.model {
        option("--model", model);
    }
    option("--permission-mode", call.permissions.mode);
    option("--allowedTools", &call.permissions.allowed.join(","));
    if !call.permissions.disallowed.is_empty() {
        option("--disallowedTools", &call.permissions.disallowed.join(","));
    }
    if let Some(text) = &case.system_prompt {
        option("--append-system-prompt", text);
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
