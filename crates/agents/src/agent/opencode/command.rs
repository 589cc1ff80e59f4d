//! How to start `opencode run` for a trial.

use std::ffi::OsString;
use std::path::Path;

use serde_json::{Value, json};

use super::OpenCode;
use super::home;
use super::login::KEYS;
use crate::agent::arguments::model_and_settings;
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, NextMessage, environment};
use crate::agent::files::{merge, write_private};
use crate::agent::secrets::{secrets_in, values_of};
use crate::agent::stream::JsonLinesAgent;
use crate::agent::user_home::{add_instructions, copy_login};
use crate::files::rooted::RootedPath;
use crate::skill::slug;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::sandbox::Sandbox;

/// The plugin that prints the evidence.
const PLUGIN: &str = include_str!("evidence.js");

/// OpenCode installs a package into its directory unless this says that it is there.
const INSTALLED: &str = r#"{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}"#;

/// The option with the skill that the user calls.
const SKILL: &str = "--command=";

/// The option that continues the last session, and so the only one.
const CONTINUE: &str = "--continue";

/// What a missing ripgrep means.
const NO_RIPGREP: &str =
    "OpenCode loads skills and searches files with ripgrep, which is not on the PATH as `rg`; install it";

pub(super) fn fill(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let case = assignment.case;
    let ripgrep = home::ripgrep().ok_or_else(no_ripgrep)?;
    let Prepared { variables, key_variables, mut secrets } = prepare(assignment, &ripgrep)?;
    let visible: Vec<&str> = KEYS.into_iter().chain(variables.iter().map(String::as_str)).collect();
    let mut env = environment(assignment, &visible);
    secrets.extend(values_of(&env, &key_variables));
    // Its list of models comes with it.
    for name in ["OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_LSP_DOWNLOAD"] {
        env.insert(name.into(), "1".into());
    }
    let (skill, rest) = called_skill(&case.prompt, assignment);
    command.args.extend(model_and_settings(assignment).chain(skill));
    // As arguments, OpenCode puts quotes around what has spaces, and fails at numbers.
    (command.env, command.secrets, command.input) = (env, secrets, Some(rest.as_bytes().to_vec()));
    command.reads.push(ripgrep);
    command.open = vec!["shell commands can read and write outside the workspace"];
    Ok(())
}

/// What the user's configuration holds.
struct Prepared {
    /// The variables that it names, and those of them with credentials.
    variables: Vec<String>,
    key_variables: Vec<String>,
    /// The credentials in it.
    secrets: Vec<String>,
}

/// Fills the trial's home.
fn prepare(assignment: &Assignment<'_>, ripgrep: &Path) -> Result<Prepared, Trouble> {
    let Assignment { case, trial_env, .. } = *assignment;
    let mut config = Value::Object(home::users_config(assignment.settings.isolation.home)?);
    let in_config = secrets_in(&config);
    let (variables, key_variables) = (home::variables(&config.to_string()), home::variables(&in_config.concat()));
    let mut secrets = copy_login(OpenCode::KIND, home::AUTH, trial_env)?;
    secrets.extend(in_config.into_iter().filter(|value| !value.contains("{env:")));

    let home = trial_env.home();
    let directory = home.join(".config/opencode");
    for directory in [directory.join("node_modules"), home.join(".cache/opencode/bin")] {
        directory.create_dir_all()?;
    }
    merge(&mut config, settings_of_trial(assignment));
    write_private(&directory.join("opencode.json"), config.to_string().as_bytes())?;
    write_private(&directory.join("plugin/evidence.js"), PLUGIN.as_bytes())?;
    write_private(&directory.join("package-lock.json"), INSTALLED.as_bytes())?;
    if let Some(text) = &case.system_prompt {
        add_instructions(assignment, ".config/opencode/AGENTS.md", text)?;
    }
    home.join(".cache/opencode/bin/rg").link_to(ripgrep)?;
    Ok(Prepared { variables, key_variables, secrets })
}

pub(super) fn no_ripgrep() -> Trouble {
    Trouble::new(TroubleKind::CouldNotStart, NO_RIPGREP)
}

/// These arguments with another message, for the same session.
pub(super) fn resumed(assignment: &Assignment<'_>, args: &[OsString], message: &str) -> NextMessage {
    let is_option = |argument: &&OsString| !argument.to_string_lossy().starts_with(SKILL) && *argument != CONTINUE;
    let options = args.iter().filter(is_option).cloned().chain([CONTINUE.into()]);
    let (skill, rest) = called_skill(message, assignment);
    NextMessage::as_input(rest, options.chain(skill))
}

/// The option for a prompt that calls a skill, `/name …`, and what is left of the prompt.
fn called_skill<'a>(prompt: &'a str, assignment: &Assignment<'_>) -> (Option<OsString>, &'a str) {
    let Some(call) = prompt.strip_prefix('/') else { return (None, prompt) };
    let (name, rest) = call.split_once([' ', '\n']).unwrap_or((call, ""));
    let is_native = assignment.mode.delivery.native();
    let is_skill = || assignment.trial_env.skill_names().iter().any(|skill| skill == name);
    if is_native && slug(name) == name && !name.is_empty() && is_skill() {
        (Some(format!("{SKILL}{name}").into()), rest)
    } else {
        (None, prompt)
    }
}

/// The configuration of a trial, next to that of the user. An eval has no user to ask.
fn settings_of_trial(assignment: &Assignment<'_>) -> Value {
    let inside = |path: &RootedPath| format!("{path}/*");
    let trial_env = assignment.trial_env;
    // The skills in the workspace are links.
    let outside = json!({ "*": "deny", inside(&trial_env.skills()): "allow", inside(&trial_env.tmp()): "allow" });
    let edit = if assignment.case.sandbox == Sandbox::ReadOnly { "deny" } else { "allow" };
    let server = assignment.server.map(|server| {
        let words: Vec<&str> = std::iter::once(server.program.to_str().unwrap_or_default())
            .chain(server.args.iter().map(String::as_str))
            .collect();
        let entry = json!({ "type": "local", "command": words, "environment": server.env, "enabled": true });
        json!({ "mcp": { server.names.server.as_str(): entry } })
    });
    let mut settings = json!({
        "autoupdate": false,
        "share": "disabled",
        // Copies of the workspace for its command to undo changes.
        "snapshot": false,
        "permission": { "*": "allow", "external_directory": outside, "edit": edit },
    });
    merge(&mut settings, server.unwrap_or_else(|| json!({})));
    settings
}
