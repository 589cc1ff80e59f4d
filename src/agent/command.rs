//! How an agent is started: its program, arguments and environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::agent::assignment::Assignment;
use crate::agent::files::write_private;
use crate::agent::sandbox::SandboxProgram;
use crate::process::OutputListener;
use crate::settings::mode::{AgentKind, Mode};
use crate::settings::{Isolation, ROOT, Settings};
use crate::trace::trouble::{Trouble, TroubleKind};

/// How to start an agent.
pub struct AgentCommand {
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
    /// What besides is not enforced where the agent does not run inside a sandbox of ours.
    pub open: Vec<&'static str>,
    /// Files outside its room that the agent has to read: a provider's login.
    pub reads: Vec<PathBuf>,
    /// The sandbox of ours that it runs in; `program` and `args` are in it already.
    pub sandbox: Option<SandboxProgram>,
    /// A file for its standard output, where it loses what a pipe does not take at once.
    pub by_file: Option<PathBuf>,
    /// The file that is its standard input: for a prompt that is longer than an argument may be.
    pub input: Option<PathBuf>,
    /// The other side of its dialogue; `None` for an agent that is told everything by its arguments.
    pub dialogue: Option<Box<dyn OutputListener>>,
}

impl AgentCommand {
    /// What keeps the agent to its own folders.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        if self.sandbox.is_some() { Isolation::Bwrap } else { Isolation::Agent }
    }
}

/// The longest text that is handed over as an argument, in bytes: Linux takes 128 KiB less one.
pub(super) const LONGEST_ARGUMENT: usize = 100_000;

/// The prompt as a file of the room, where it is too long for an argument.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn long_prompt(assignment: &Assignment<'_>) -> Result<Option<PathBuf>, Trouble> {
    let prompt = &assignment.case.prompt;
    if prompt.len() <= LONGEST_ARGUMENT {
        return Ok(None);
    }
    let path = assignment.room.path().join("prompt");
    write_private(&path, prompt.as_bytes())?;
    Ok(Some(path))
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

/// The program for an agent: the settings' command, or its own name, on the PATH.
///
/// # Errors
/// When it is not there; says how to get it.
pub(super) fn program(settings: &Settings, kind: AgentKind) -> Result<PathBuf, Trouble> {
    let profile = kind.profile();
    let own = settings.agents.get(kind.as_str()).and_then(|agent| agent.command.as_deref());
    let command = own.unwrap_or(profile.program);
    crate::process::find_program(command).ok_or_else(|| {
        let detail = format!("`{command}` is not on the PATH; {}", profile.how_to_get);
        Trouble::new(TroubleKind::CouldNotStart, detail)
    })
}

/// Arguments that the settings have for the agent and for the mode.
pub(super) fn own_args<'a>(assignment: &Assignment<'a>) -> impl Iterator<Item = &'a String> {
    own_arguments(assignment.settings, assignment.mode.agent, Some(assignment.mode))
}

/// The same without a trial.
pub(super) fn own_arguments<'a>(
    settings: &'a Settings,
    kind: AgentKind,
    mode: Option<&'a Mode>,
) -> impl Iterator<Item = &'a String> {
    let agent = settings.agents.get(kind.as_str());
    agent.into_iter().flat_map(|agent| &agent.args).chain(mode.into_iter().flat_map(|mode| &mode.args))
}

/// The environment that every agent gets: the common variables, the settings' own, and the room's folders.
pub(super) fn environment(assignment: &Assignment<'_>, more: &[&str]) -> BTreeMap<OsString, OsString> {
    let settings = assignment.settings;
    let room = assignment.room;
    let names = COMMON_VARIABLES.iter().chain(more).copied().chain(settings.pass_env.iter().map(String::as_str));
    let mut env: BTreeMap<OsString, OsString> =
        names.filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect();
    let workspace = room.workspace();
    for (name, value) in &settings.env {
        let value = value.replace("{workspace}", &workspace.to_string_lossy());
        let value = match &settings.root {
            Some(folder) => value.replace(ROOT, &folder.to_string_lossy()),
            None => value,
        };
        env.insert(name.into(), value.into());
    }
    env.insert("HOME".into(), room.home().into());
    env.insert("TMPDIR".into(), room.tmp().into());
    env
}
