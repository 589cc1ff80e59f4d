//! The programs under test. Everything that names a vendor is below here.
//!
//! An agent is one file with three things: how it is started ([`command`]), what it leaves in its home that is
//! evidence ([`keep_evidence`]), and how its event stream reads ([`decode`]).

pub mod claude;
pub mod codex;
pub mod delivery;
pub mod mcp_probe;
pub mod room;
mod skill_calls;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::agent::mcp_probe::SkillServer;
use crate::agent::room::Room;
use crate::cases::case::Case;
use crate::process::Listener;
use crate::settings::Settings;
use crate::settings::ToolNames;
use crate::settings::mode::{AgentKind, Mode};
use crate::trial::outcome::{Trouble, TroubleKind};
use crate::trial::trace::Trace;

/// A trial as an agent needs to know it.
#[derive(Debug)]
pub struct Assignment<'a> {
    /// What to ask.
    pub case: &'a Case,
    /// How the skills arrive.
    pub mode: &'a Mode,
    /// What was chosen.
    pub settings: &'a Settings,
    /// Where the agent lives.
    pub room: &'a Room,
    /// The MCP server of skills, where the mode has one.
    pub server: Option<&'a SkillServer>,
    /// The output schema's file, where the case has one.
    pub schema: Option<PathBuf>,
}

/// How to start an agent.
pub struct Command {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: BTreeMap<OsString, OsString>,
    /// Values that must not be kept.
    pub secrets: Vec<String>,
    /// What was asked for and is not enforced, in words.
    pub not_enforced: Vec<String>,
    /// A file for its standard output, where it loses what a pipe does not take at once.
    pub by_file: Option<PathBuf>,
    /// Who talks with it; most agents are told everything by their arguments.
    pub dialogue: Option<Box<dyn Listener>>,
}

/// Variables of the user's environment that every agent may see: where programs are, language, certificates, proxies.
const COMMON_VARIABLES: [&str; 18] = [
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TERM",
    "USER",
    "LOGNAME",
    "SHELL",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// How to start the agent for this trial; writes what it needs into its home.
///
/// # Errors
/// When the program is missing, or its home cannot be laid.
pub fn command(assignment: &Assignment<'_>) -> Result<Command, Trouble> {
    match assignment.mode.agent {
        AgentKind::Codex => codex::command(assignment),
        AgentKind::ClaudeCli | AgentKind::ClaudeSdk => claude::command(assignment),
    }
}

/// The agent's program.
///
/// # Errors
/// When it is missing; says how to get it.
pub fn find(settings: &Settings, kind: AgentKind) -> Result<PathBuf, Trouble> {
    match kind {
        AgentKind::Codex => codex::find(settings),
        AgentKind::ClaudeCli | AgentKind::ClaudeSdk => claude::find(settings, kind),
    }
}

/// Where the agent would find its login. Nobody is asked whether it is still good.
///
/// # Errors
/// What to do where there is none.
pub fn login(kind: AgentKind) -> Result<String, String> {
    match kind {
        AgentKind::Codex => codex::login(),
        AgentKind::ClaudeCli | AgentKind::ClaudeSdk => claude::login(),
    }
}

/// The arguments with which the agent's program runs a shell command in its own sandbox, where it has one.
#[must_use]
pub fn in_sandbox(kind: AgentKind, script: &str) -> Option<Vec<OsString>> {
    match kind {
        AgentKind::Codex => Some(codex::in_sandbox(script)),
        // It has none; where it is to be kept from writing, `bwrap` does it.
        AgentKind::ClaudeCli | AgentKind::ClaudeSdk => None,
    }
}

/// Copies what the agent left in its home and is evidence into the trial's folder.
///
/// # Errors
/// When it cannot be copied.
pub fn keep_evidence(kind: AgentKind, room: &Room, folder: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
    match kind {
        AgentKind::Codex => codex::keep_evidence(room, folder, mask),
        AgentKind::ClaudeCli | AgentKind::ClaudeSdk => claude::keep_evidence(room, folder, mask),
    }
}

/// The evidence files in a trial's folder as a recording keeps them: less bulk, no machine's paths.
///
/// # Errors
/// When they cannot be read.
pub fn recorded_evidence(kind: AgentKind, folder: &Path) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    match kind {
        AgentKind::Codex => codex::recorded_evidence(folder),
        AgentKind::ClaudeCli | AgentKind::ClaudeSdk => claude::recorded_evidence(folder),
    }
}

/// Reads the event stream in a trial's folder. `names` tells the calls of the MCP server of skills from others.
///
/// # Errors
/// When the files cannot be read; what they hold is never an error.
pub fn decode(kind: AgentKind, names: &ToolNames, folder: &Path) -> io::Result<Trace> {
    match kind {
        AgentKind::Codex => codex::decode(names, folder),
        AgentKind::ClaudeCli | AgentKind::ClaudeSdk => claude::decode(names, folder),
    }
}

/// What a line of the event stream says that the agent does, in a few words; `None` for lines of no interest.
#[must_use]
pub fn describe(kind: AgentKind, line: &[u8]) -> Option<String> {
    match kind {
        AgentKind::Codex => codex::describe(line),
        AgentKind::ClaudeCli | AgentKind::ClaudeSdk => claude::describe(line),
    }
}

/// The program for an agent: the settings' command, or `default`, on the PATH.
fn program(settings: &Settings, kind: AgentKind, default: &str, how_to_get: &str) -> Result<PathBuf, Trouble> {
    let command = settings.agents.get(kind.as_str()).and_then(|agent| agent.command.as_deref()).unwrap_or(default);
    crate::process::find_program(command).ok_or_else(|| {
        Trouble::new(TroubleKind::CouldNotStart, format!("`{command}` is not on the PATH; {how_to_get}"))
    })
}

/// Arguments that the settings have for the agent and for the mode.
fn own_args<'a>(assignment: &Assignment<'a>) -> impl Iterator<Item = &'a String> {
    let agent = assignment.settings.agents.get(assignment.mode.agent.as_str());
    agent.into_iter().flat_map(|agent| &agent.args).chain(&assignment.mode.args)
}

/// The environment that every agent gets: the common variables, the settings' own, and the room's folders.
fn environment(assignment: &Assignment<'_>, more: &[&str]) -> BTreeMap<OsString, OsString> {
    let settings = assignment.settings;
    let room = assignment.room;
    let names = COMMON_VARIABLES.iter().chain(more).copied().chain(settings.pass_env.iter().map(String::as_str));
    let mut env: BTreeMap<OsString, OsString> =
        names.filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect();
    let workspace = room.workspace();
    for (name, value) in &settings.env {
        env.insert(name.into(), value.replace("{workspace}", &workspace.to_string_lossy()).into());
    }
    env.insert("HOME".into(), room.home().into());
    env.insert("TMPDIR".into(), room.tmp().into());
    env
}

/// What kind of trouble a provider's error message tells of.
pub(crate) fn classify(message: &str) -> TroubleKind {
    let text = message.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&[
        "429",
        "529",
        "rate limit",
        "rate_limit",
        "usage limit",
        "session limit",
        "quota",
        "overloaded",
        "high demand",
    ]) {
        TroubleKind::RateLimit
    } else if has(&[
        "401",
        "403",
        "unauthorized",
        "api key",
        "missing environment variable",
        "not logged in",
        "log in",
        "login",
        "authentication",
    ]) {
        TroubleKind::Login
    } else {
        TroubleKind::Provider
    }
}

/// The trouble behind an agent that ended at once, where its last words tell of arguments that it does not know: it is too
/// old for them, or too new.
#[must_use]
pub fn unknown_argument(last_words: &str) -> Option<Trouble> {
    let words = last_words.to_lowercase();
    let signs = ["unknown option", "unexpected argument", "unrecognized argument", "unknown argument"];
    let known = signs.iter().any(|sign| words.contains(sign));
    known.then(|| {
        let what = format!(
            "it does not know an argument: {last_words}; another version of it does, or see `args` in evals/evals.toml"
        );
        Trouble::new(TroubleKind::CouldNotStart, what)
    })
}

/// The content of a file, if there is one.
fn read_if_there(path: &Path) -> Result<Option<String>, Trouble> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(files_trouble(path, &error)),
    }
}

/// Writes a file that only its owner can read.
fn write_private(path: &Path, content: &[u8]) -> Result<(), Trouble> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(content)).map_err(|error| files_trouble(path, &error))
}

/// The long strings anywhere in a login file: tokens.
fn gather_strings(value: &serde_json::Value, into: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) if text.len() >= 16 => into.push(text.clone()),
        serde_json::Value::Array(list) => list.iter().for_each(|value| gather_strings(value, into)),
        serde_json::Value::Object(map) => map.values().for_each(|value| gather_strings(value, into)),
        _ => {}
    }
}

fn files_trouble(path: &Path, error: &io::Error) -> Trouble {
    Trouble::new(TroubleKind::Files, format!("{}: {error}", path.display()))
}
