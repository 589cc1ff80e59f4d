//! How this program starts itself as the agent, and its side of the dialogue.

use std::ffi::OsStr;

use serde_json::{Value, json};

use super::login::{self, KEYS};
use super::setup::{ChatApi, ChatOptions, ChatSetup};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, environment, settings_args_of};
use crate::agent::files::json_line;
use crate::agent::login::LoginSources;
use crate::agent::trial_env::WorkspaceError;
use crate::process::{OutputListener, Reply};
use crate::settings::FILE;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::sandbox::Sandbox;

pub(super) fn fill(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let case = assignment.case;
    let setup = setup(assignment)?;
    if super::is_this_program(assignment.settings) {
        let failed = |error: WorkspaceError| Trouble::new(TroubleKind::CouldNotStart, error.to_string());
        command.program = assignment.trial_env.show_this_program("chat").map_err(failed)?;
    }
    let mut env = environment(assignment, &[]);
    for key in KEYS {
        env.remove(OsStr::new(key));
    }
    let read_only = case.sandbox == Sandbox::ReadOnly;
    command.env = env;
    command.secrets.extend(setup.key.clone());
    command.not_enforced = Vec::from_iter(read_only.then(|| "shell commands can write in the workspace".to_owned()));
    command.open = vec!["shell commands can read and write outside the workspace"];
    command.dialogue =
        Some(Box::new(ChatDialogue { opening: [json_line(&json!(setup)), json_line(&json!(case.prompt))].concat() }));
    Ok(())
}

fn setup(assignment: &Assignment<'_>) -> Result<ChatSetup, Trouble> {
    let Assignment { case, mode, settings, .. } = *assignment;
    let could_not_start = |why: String| Trouble::new(TroubleKind::CouldNotStart, why);
    let options = ChatOptions::parse(settings_args_of(assignment)).map_err(could_not_start)?;
    let around = LoginSources::new(settings, mode.agent, Some(mode));
    let endpoint = login::endpoint(&around, &options).map_err(|why| Trouble::new(TroubleKind::Login, why))?;
    if options.no_tools && endpoint.api != ChatApi::Completions {
        return Err(could_not_start("--no-tools works with --api=completions only".to_owned()));
    }
    let model = settings.model_for(mode).map(str::to_owned).or(endpoint.model).ok_or_else(|| {
        could_not_start(format!("no model is named: set `model` in {FILE}, --model, OPENAI_MODEL or ANTHROPIC_MODEL"))
    })?;
    Ok(ChatSetup {
        api: endpoint.api,
        base_url: endpoint.base_url,
        key: endpoint.key,
        model,
        max_tokens: options.max_tokens,
        max_turns: settings.max_turns_of(case.max_turns),
        has_tools: !options.no_tools,
        writes: case.sandbox != Sandbox::ReadOnly,
        system_prompt: case.system_prompt.clone(),
        history: case.history.clone(),
    })
}

/// Sends the setup and the prompt.
struct ChatDialogue {
    opening: Vec<u8>,
}

impl OutputListener for ChatDialogue {
    fn opening(&mut self) -> Option<Vec<u8>> {
        Some(std::mem::take(&mut self.opening))
    }

    fn message(&mut self, text: &str) -> Vec<u8> {
        json_line(&json!(text))
    }

    fn line(&mut self, line: &[u8]) -> Reply {
        let answered = serde_json::from_slice::<Value>(line).is_ok_and(|line| line["type"] == "done");
        Reply { answered, ..Reply::default() }
    }
}
