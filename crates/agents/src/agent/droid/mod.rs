//! Droid (`droid exec`).
//!
//! Standard output (`trace.jsonl`) has the conversation. Its session file has the times, the list of skills in the reminders
//! before the first message, and what sub-agents did. Its log has the tokens of each request, and the requests that failed.
//! Both are kept together (`session.jsonl`), of the log only these lines.

mod lines;

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::{Value, json};

use crate::agent::command::{AgentCommand, Assignment, NextMessage, environment, model_and_settings, refuse, with};
use crate::agent::field::text;
use crate::agent::files::{merge, read_jsonc, write_private};
use crate::agent::interface::Agent;
use crate::agent::login::{Login, LoginSources};
use crate::agent::secrets::{secrets_in, without_secrets};
use crate::agent::stream::{FillCommand, FindLogin, JsonLinesAgent, ReadSetup, ReadSigns, ResumeSession, SlimSession};
use crate::agent::trial_env::TrialEnv;
use crate::agent::user_home::{copy_login, users_path, variable};
use crate::files::look;
use crate::files::rooted::WalkControl;
use crate::profile::AgentKind;
use crate::settings::Home;
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

/// The name of the log, in the directory of sessions.
const LOG: &str = "droid.log";

/// The key of the session that called a sub-agent.
const CALLER: &str = "callingSessionId";

#[derive(Debug)]
pub struct Droid;

impl JsonLinesAgent for Droid {
    const KIND: AgentKind = AgentKind::Droid;
    type Reader = lines::DroidLines;
    const ARGUMENTS: &[&str] =
        &["exec", "--output-format=stream-json", "--skip-permissions-unsafe", "--disable-builtin-skills"];

    const LOGIN: FindLogin = find_login;
    const COMMAND: FillCommand = fill_command;
    const SETUP: ReadSetup = users_setup;
    const SIGNS: ReadSigns = lines::turn_signs;
    const RESUME: ResumeSession = resumed_command;
    const SLIM_SESSION: SlimSession = lines::slim_session;

    /// `<working directory>/<id>.jsonl`.
    fn is_session(path: &Path) -> bool {
        path.iter().count() == 2 && path.extension().is_some_and(|end| end == "jsonl")
    }

    fn is_evidence(path: &Path) -> bool {
        Self::is_session(path) || path == Path::new(LOG)
    }

    fn kept() -> impl FnMut(&[u8]) -> Option<Vec<u8>> {
        let mut log = lines::LogReader::default();
        move |line: &[u8]| if line.starts_with(b"{") { Some(line.to_vec()) } else { log.line(line) }
    }

    /// The version, of which Droid says nothing elsewhere.
    fn more_session(trial_env: &TrialEnv) -> Option<Value> {
        let version = trial_env.home().join(".factory/last-startup-version").read(100).ok()?;
        Some(json!({ "type": "program", "version": String::from_utf8_lossy(&version).trim() }))
    }
}

// How to start `droid exec` for a trial.

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

fn fill_command(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let Assignment { case, settings, trial_env, .. } = *assignment;
    // To continue a session, Droid asks Factory for it first.
    let is_known = is_logged_in() || std::env::var_os(SERVER).is_some();
    let asks_more = case.has_more_messages() && !is_known;
    refuse(assignment, &[("follow-ups without a login at Factory", asks_more)])?;
    let home = trial_env.home().join(".factory");
    let (variables, secrets) = prepare_home(trial_env, settings.isolation.home)?;
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
fn prepare_home(trial_env: &TrialEnv, setup: Home) -> Result<(Vec<String>, Vec<String>), Trouble> {
    let home = trial_env.home().join(".factory");
    let sessions = home.join("sessions");
    sessions.create_dir_all()?;
    let mut settings = users_settings(setup)?;
    let mut secrets = secrets_in(&settings);
    let variables = named_variables(&secrets);
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
fn resumed_command(assignment: &Assignment<'_>, args: &[OsString], message: &str) -> Option<NextMessage> {
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

// The credentials that Droid would use: of Factory, or those of the user's own models in `settings.json`.

const KEY: &str = "FACTORY_API_KEY";

/// The variable with the address of Factory's server.
const SERVER: &str = "FACTORY_API_BASE_URL";

/// Variables that choose what Droid reaches.
const PROVIDER: [&str; 3] = [SERVER, "FACTORY_AIRGAP_ENABLED", "FACTORY_EXTRA_CA_CERTS"];

/// Files with a login at Factory in the user's home: the login, and the key to it.
const LOGIN_FILES: [&str; 2] = [".factory/auth.v2.file", ".factory/auth.v2.key"];

/// The keys of the user's settings that trials get.
const COPIED_KEYS: [&str; 4] = ["customModels", "model", "reasoningEffort", "sessionDefaultSettings"];

/// What of the user's settings trials get.
fn users_settings(setup: Home) -> Result<Value, Trouble> {
    let mut settings = read_jsonc(&users_path(AgentKind::Droid, ".factory/settings.json"))?;
    settings.retain(|key, _| setup == Home::User || COPIED_KEYS.contains(&key.as_str()));
    Ok(Value::Object(settings))
}

/// The variables that the settings name in these secrets: `${NAME}`.
fn named_variables(secrets: &[String]) -> Vec<String> {
    let names = secrets.iter().flat_map(|secret| secret.split("${").skip(1));
    names.filter_map(|rest| Some(rest.split_once('}')?.0.to_owned())).collect()
}

/// Whether the user has a login at Factory.
fn is_logged_in() -> bool {
    variable(KEY).is_some() || LOGIN_FILES.iter().all(|path| look::is_usable_file(&users_path(AgentKind::Droid, path)))
}

fn find_login(around: &LoginSources<'_>) -> Result<Login, Trouble> {
    let settings = users_settings(Home::Isolated)?;
    if around.variable(KEY).is_some() {
        return Ok(Login::Set(KEY.to_owned()));
    }
    if is_logged_in() {
        return Ok(Login::Found("auth.v2.file in Droid's directory".to_owned()));
    }
    let has_models = settings.get("customModels").is_some();
    Ok(match secrets_in(&settings).is_empty() {
        false => Login::Found("a key of your own model in Droid's settings.json".to_owned()),
        true if has_models => {
            Login::Unknown("your own model in Droid's settings.json, which may need no key".to_owned())
        }
        true => Login::Missing(format!(
            "trials do not see the keychain: set {KEY}, or add your own model to Droid's settings.json"
        )),
    })
}

/// The variables that choose the provider, and the settings without secrets.
fn users_setup(setup: Home) -> Result<(Vec<String>, String), Trouble> {
    let settings = users_settings(setup)?;
    let names = PROVIDER.map(str::to_owned).into_iter().chain(named_variables(&secrets_in(&settings))).collect();
    Ok((names, format!("login {}\n{}", is_logged_in(), without_secrets(settings))))
}
