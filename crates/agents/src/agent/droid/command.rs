//! How to start `droid exec` for a trial.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use serde_json::{Value, json};

use super::login::{self, KEY, LOGIN_FILES, PROVIDER, SERVER};
use super::{CALLER, Droid, LOG};
use crate::agent::arguments::{model_and_settings, refuse, with};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, NextMessage, environment};
use crate::agent::field::text;
use crate::agent::files::{merge, write_private};
use crate::agent::interface::Agent;
use crate::agent::secrets::secrets_in;
use crate::agent::stream::JsonLinesAgent;
use crate::agent::trial_env::TrialEnv;
use crate::agent::user_home::copy_login;
use crate::files::rooted::WalkControl;
use crate::settings::Home;
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

const CONTINUE: &str = "--session-id=";

/// The longest first line of a session's file that is read, in bytes.
const MAX_START: u64 = 100_000;

/// What keeps Droid from reporting to Factory and from replacing itself. An address that nobody answers takes the rest.
const QUIET: [(&str, &str); 5] = [
    ("FACTORY_DROID_AUTO_UPDATE_ENABLED", "false"),
    ("FACTORY_TELEMETRY_INGEST_BASE_URL", "http://127.0.0.1:1"),
    ("OTEL_CUSTOMER_ENABLED", "false"),
    ("OTEL_SDK_DISABLED", "true"),
    ("FACTORY_DISABLE_KEYRING", "true"),
];

pub(super) fn fill(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let Assignment { case, settings, trial_env, .. } = *assignment;
    // To continue a session, Droid asks Factory for it first.
    let is_known = login::is_logged_in() || std::env::var_os(SERVER).is_some();
    let asks_more = case.has_more_messages() && !is_known;
    refuse(assignment, &[("follow-ups without a login at Factory", asks_more)])?;
    let home = trial_env.home().join(".factory");
    let (variables, secrets) = prepare(trial_env, settings.isolation.home)?;
    let visible: Vec<&str> = PROVIDER.into_iter().chain([KEY]).chain(variables.iter().map(String::as_str)).collect();
    let mut env = environment(assignment, &visible);
    env.extend(QUIET.map(|(name, value)| (name.into(), value.into())));
    env.insert("FACTORY_LOG_FILE".into(), home.join("sessions").join(LOG).into());

    let args = &mut command.args;
    if case.sandbox == Sandbox::ReadOnly {
        args.push(format!("--remove-tools={}", Droid.kind().profile().tools.edits.join(",")).into());
    }
    if let Some(text) = &case.system_prompt {
        let file = home.join("system-prompt");
        write_private(&file, text.as_bytes())?;
        args.push(with("--append-system-prompt-file=", file));
    }
    args.extend(model_and_settings(assignment));
    // As an argument, it could be an option.
    (command.env, command.secrets, command.input) = (env, secrets, Some(case.prompt.as_bytes().to_vec()));
    Ok(())
}

/// Writes the home: the user's login and models, and nothing else of the user's. Returns the variables that the models name,
/// and the values that must not be stored.
fn prepare(trial_env: &TrialEnv, setup: Home) -> Result<(Vec<String>, Vec<String>), Trouble> {
    let home = trial_env.home().join(".factory");
    let sessions = home.join("sessions");
    sessions.create_dir_all()?;
    let mut settings = login::users_settings(setup)?;
    let mut secrets = secrets_in(&settings);
    let variables = login::variables(&secrets);
    secrets.retain(|secret| !secret.contains("${"));
    secrets.extend(variables.iter().filter_map(|name| std::env::var(name).ok()));
    merge(&mut settings, json!({ "cloudSessionSync": false }));
    write_private(&home.join("settings.json"), settings.to_string().as_bytes())?;
    for path in LOGIN_FILES {
        secrets.extend(copy_login(Droid::KIND, path, trial_env)?);
    }
    Ok((variables, secrets))
}

/// These arguments with another message, for the same session.
pub(super) fn resumed(assignment: &Assignment<'_>, args: &[OsString], message: &str) -> Option<NextMessage> {
    let mut id = None;
    let _ = assignment.trial_env.home().join(".factory/sessions").walk(|_| false, &mut |entry| {
        if Droid::is_session(entry.path) && id.is_none() {
            id = entry.open().ok().and_then(id_of_session);
        }
        if id.is_none() { WalkControl::On } else { WalkControl::Stop }
    });
    let options = args.iter().filter(|argument| !argument.to_string_lossy().starts_with(CONTINUE)).cloned();
    Some(NextMessage::as_input(message, options.chain([format!("{CONTINUE}{}", id?).into()])))
}

/// The id of the session in this file, unless it is a sub-agent's.
fn id_of_session(file: File) -> Option<String> {
    let mut line = String::new();
    BufReader::new(file.take(MAX_START)).read_line(&mut line).ok()?;
    let start: Value = serde_json::from_str(&line).ok()?;
    start.get(CALLER).is_none().then(|| text(&start, "id"))?
}
