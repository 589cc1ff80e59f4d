//! `claude -p`: all input is in its arguments, the prompt last. Several messages are lines of its standard input.

use std::path::PathBuf;

use super::call;
use super::sdk::Dialogue;
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, LONGEST_ARGUMENT, long_prompt, settings_args_of};
use crate::agent::files::write_private;
use crate::trace::trouble::Trouble;

/// How to start `program` for a trial.
pub(super) fn command(assignment: &Assignment<'_>, program: PathBuf) -> Result<AgentCommand, Trouble> {
    let mut fixed = vec!["-p", "--output-format", "stream-json", "--verbose"];
    let is_dialogue = assignment.case.has_more_messages();
    if is_dialogue {
        fixed.extend(["--input-format", "stream-json"]);
    }
    let mut command = call::command(assignment, program, &fixed, call::schema(assignment)?.as_ref())?;
    match &assignment.case.system_prompt {
        Some(text) if text.len() > LONGEST_ARGUMENT => {
            let path = assignment.trial_env.home().join("system-prompt");
            write_private(&path, text.as_bytes())?;
            command.args.extend(["--append-system-prompt-file".into(), path.into()]);
        }
        Some(text) => command.args.push(format!("--append-system-prompt={text}").into()),
        None => {}
    }
    command.args.extend(settings_args_of(assignment).map(Into::into));
    if is_dialogue {
        command.dialogue = Some(Box::new(Dialogue::new("", assignment.case)));
    } else {
        command.input = long_prompt(assignment);
    }
    if !is_dialogue && command.input.is_none() {
        // A prompt may start with a dash.
        command.args.extend(["--".into(), assignment.case.prompt.as_str().into()]);
    }
    // It exits before a pipe has taken all its output.
    command.by_file = Some(assignment.trial_env.control().join("stdout"));
    Ok(command)
}
