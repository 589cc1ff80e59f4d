//! How to start `vibe` for a trial.

use std::ffi::OsString;

use super::Vibe;
use super::login::{key_variables, keys_in_file, users_config};
use crate::agent::arguments::{prompt, with};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, NextMessage, environment, long_prompt, settings_args_of};
use crate::agent::files::write_private;
use crate::agent::interface::Agent;
use crate::agent::secrets::{secrets_in, values_of};
use crate::agent::user_home::add_instructions;
use crate::settings::Home;
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

/// The script that prints the evidence. Python runs a module of this name before a program.
const EVIDENCE: (&str, &str) = ("sitecustomize.py", include_str!("evidence.py"));

/// What Vibe would do besides the case: report, update, ask its own services.
const OFF: [&str; 4] = ["enable_telemetry", "enable_update_checks", "enable_auto_update", "enable_notifications"];

pub(super) fn fill(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let Assignment { case, mode, settings, trial_env, .. } = *assignment;
    let home = trial_env.home().join(".vibe");
    let script = trial_env.show(EVIDENCE.0, EVIDENCE.1.as_bytes())?;
    let mut config = users_config(settings.isolation.home)?;
    let names = key_variables(&config);
    let mut secrets = serde_json::to_value(&config).iter().flat_map(secrets_in).collect::<Vec<_>>();
    config.extend(OFF.map(|key| (key.to_owned(), false.into())));
    if settings.isolation.home == Home::Isolated {
        config.insert("enable_connectors".to_owned(), false.into());
    }
    if let Some(model) = settings.model_for(mode) {
        config.insert("active_model".to_owned(), model.into());
    }
    write_private(&home.join("config.toml"), config.to_string().as_bytes())?;
    if let Some(text) = &case.system_prompt {
        add_instructions(assignment, ".vibe/AGENTS.md", text)?;
    }

    let mut env = environment(assignment, &names.iter().map(String::as_str).collect::<Vec<_>>());
    for (name, value) in keys_in_file(&names)? {
        env.entry(name.into()).or_insert_with(|| value.into());
    }
    secrets.extend(values_of(&env, &names));
    env.extend(script.parent().map(|directory| ("PYTHONPATH".into(), directory.into())));
    let args = &mut command.args;
    let most = settings.max_turns_of(case.max_turns);
    args.extend(most.map(|most| with("--max-turns=", most.to_string())));
    if case.sandbox == Sandbox::ReadOnly {
        args.extend(Vibe.kind().profile().tools.edits.iter().map(|tool| with("--disabled-tools=", *tool)));
    }
    args.extend(settings_args_of(assignment).map(Into::into));
    args.push(match long_prompt(assignment) {
        Some(text) => with("--prompt-file=", trial_env.show("prompt", &text)?),
        None => prompt(&case.prompt),
    });
    (command.env, command.secrets) = (env, secrets);
    Ok(())
}

/// These arguments with another message. The trial's home has no other session.
pub(super) fn resumed(args: &[OsString], message: &str) -> Option<NextMessage> {
    let (_, options) = args.split_last()?;
    let own = ["--continue".into(), prompt(message)];
    NextMessage::in_argument(message, options.iter().cloned().chain(own))
}
