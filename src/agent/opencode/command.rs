//! How to start `opencode run` for a trial.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use super::OpenCode;
use super::home;
use super::login::KEYS;
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, LONGEST_ARGUMENT, environment, settings_args_of};
use crate::agent::files::{file_trouble, write_private};
use crate::agent::interface::Agent;
use crate::agent::stream::{EventStream, refuse, short_prompt};
use crate::agent::trial_env::TrialEnv;
use crate::skill::{SKILL_FILE, slug};
use crate::text::redact::strings;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::sandbox::Sandbox;

/// The plugin that prints the evidence.
const PLUGIN: &str = include_str!("evidence.js");

/// OpenCode installs a package into its directory unless this says that it is there.
const INSTALLED: &str = r#"{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}"#;

/// What comes before the prompt's words.
const PROMPT: &str = "--";

/// The option with the skill that the user calls.
const SKILL: &str = "--command=";

/// The option that continues the last session, and so the only one.
const CONTINUE: &str = "--continue";

/// What a missing ripgrep means.
const NO_RIPGREP: &str =
    "OpenCode loads skills and searches files with ripgrep: install it, so that `rg` is on the PATH";

pub(super) fn command(assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
    let Assignment { case, mode, settings, trial_env, .. } = *assignment;
    refuse(assignment, &[("a history", !case.history.is_empty()), ("an output schema", assignment.schema.is_some())])?;
    let program = OpenCode.find(settings)?;
    let ripgrep = home::ripgrep().ok_or_else(no_ripgrep)?;
    let mut users = home::users_config()?;
    let variables = home::variables(&users);
    let auth = home::users_auth()?;
    let mut secrets = auth
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok())
        .map_or_else(Vec::new, |auth: Value| strings(&auth));
    for options in home::options(&mut users) {
        let hidden = ["apiKey", "headers"].into_iter().filter_map(|key| options.get(key));
        secrets.extend(hidden.flat_map(strings).filter(|value| !value.starts_with('{')));
    }

    let home = trial_env.home();
    let config = home.join(".config/opencode");
    for directory in [
        config.join("plugin"),
        config.join("node_modules"),
        home.join(".local/share/opencode"),
        home.join(".cache/opencode/bin"),
    ] {
        fs::create_dir_all(&directory).map_err(|error| file_trouble(&directory, &error))?;
    }
    users.extend(settings_of_trial(assignment));
    write_private(&config.join("opencode.json"), Value::Object(users).to_string().as_bytes())?;
    write_private(&config.join("plugin/evidence.js"), PLUGIN.as_bytes())?;
    write_private(&config.join("package-lock.json"), INSTALLED.as_bytes())?;
    if let Some(text) = &case.system_prompt {
        write_private(&config.join("AGENTS.md"), text.as_bytes())?;
    }
    if let Some(auth) = auth {
        write_private(&home.join(".local/share/opencode/auth.json"), auth.as_bytes())?;
    }
    let link = home.join(".cache/opencode/bin/rg");
    symlink(&ripgrep, &link).map_err(|error| file_trouble(&link, &error))?;

    let visible: Vec<&str> = KEYS.into_iter().chain(variables.iter().map(String::as_str)).collect();
    let mut env = environment(assignment, &visible);
    // Its list of models comes with it.
    for name in ["OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_LSP_DOWNLOAD"] {
        env.insert(name.into(), "1".into());
    }
    // Without a title, it asks a model for one.
    let mut args: Vec<OsString> = ["run", "--format=json", "--title=eval"].map(OsString::from).to_vec();
    args.extend(settings.model_for(mode).map(|model| format!("--model={model}").into()));
    args.extend(settings_args_of(assignment).map(Into::into));
    args.extend(prompt(short_prompt(assignment)?, trial_env));
    let mut not_enforced = vec!["shell commands see the variables with the login".to_owned()];
    let max_turns = settings.max_turns_of(case.max_turns);
    not_enforced.extend(max_turns.map(|most| format!("opencode knows no limit on turns: {most} were asked for")));
    if case.sandbox == Sandbox::ReadOnly {
        not_enforced.push("shell commands can write in the workspace".to_owned());
    }
    Ok(AgentCommand {
        program,
        args,
        env,
        secrets,
        reads: vec![ripgrep],
        not_enforced,
        open: vec!["shell commands can read and write outside the workspace"],
        ..AgentCommand::default()
    })
}

pub(super) fn no_ripgrep() -> Trouble {
    Trouble::new(TroubleKind::CouldNotStart, NO_RIPGREP)
}

/// These arguments with another message, for the same session.
pub(super) fn resumed(args: &[OsString], trial_env: &TrialEnv, message: &str) -> Option<Vec<OsString>> {
    let is_option = |argument: &OsString| !argument.to_string_lossy().starts_with(SKILL) && argument != CONTINUE;
    let options =
        args.iter().take_while(|argument| *argument != PROMPT).filter(|argument| is_option(argument)).cloned();
    let options = options.chain([CONTINUE.into()]);
    (message.len() <= LONGEST_ARGUMENT).then(|| options.chain(prompt(message, trial_env)).collect())
}

/// The prompt word by word: OpenCode puts quotes around an argument with a space, and joins the arguments by spaces. A prompt that
/// calls a skill, `/name …`, is a command with arguments.
fn prompt(text: &str, trial_env: &TrialEnv) -> Vec<OsString> {
    let (name, rest) =
        text.strip_prefix('/').map_or(("", text), |text| text.split_once([' ', '\n']).unwrap_or((text, "")));
    let skills = trial_env.workspace().join(OpenCode::KIND.profile().skill_folders[0]);
    let is_skill = !name.is_empty() && slug(name) == name && skills.join(name).join(SKILL_FILE).is_file();
    let (command, words) = if is_skill { (Some(format!("{SKILL}{name}")), rest) } else { (None, text) };
    command.into_iter().chain([PROMPT.to_owned()]).chain(words.split(' ').map(str::to_owned)).map(Into::into).collect()
}

/// The configuration of a trial, next to that of the user. An eval has no user to ask.
fn settings_of_trial(assignment: &Assignment<'_>) -> impl Iterator<Item = (String, Value)> {
    let inside = |path: &Path| format!("{}/*", path.display());
    let trial_env = assignment.trial_env;
    // The skills in the workspace are links.
    let outside = json!({ "*": "deny", inside(&trial_env.skills()): "allow", inside(&trial_env.tmp()): "allow" });
    let edit = if assignment.case.sandbox == Sandbox::ReadOnly { "deny" } else { "allow" };
    let server = assignment.server.map(|server| {
        let words: Vec<&str> = std::iter::once(server.program.to_str().unwrap_or_default())
            .chain(server.args.iter().map(String::as_str))
            .collect();
        let entry = json!({ "type": "local", "command": words, "environment": server.env, "enabled": true });
        ("mcp".to_owned(), json!({ server.names.server.as_str(): entry }))
    });
    let fixed = [
        ("autoupdate", json!(false)),
        ("share", json!("disabled")),
        // Copies of the workspace for its command to undo changes.
        ("snapshot", json!(false)),
        ("permission", json!({ "*": "allow", "external_directory": outside, "edit": edit })),
    ];
    fixed.into_iter().map(|(key, value)| (key.to_owned(), value)).chain(server)
}
