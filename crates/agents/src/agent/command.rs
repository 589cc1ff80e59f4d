//! How to start an agent: its program, arguments and environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::agent::assignment::Assignment;
use crate::agent::sandbox::find;
use crate::agent::trial_env::TrialEnv;
use crate::process::OutputListener;
use crate::settings::mode::{AgentKind, Mode};
use crate::settings::{ROOT, Settings};
use crate::trace::trouble::{Trouble, TroubleKind};

#[derive(Default)]
pub struct AgentCommand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub env: BTreeMap<OsString, OsString>,
    /// Values that must not be stored.
    pub secrets: Vec<String>,
    /// What was requested and is not enforced, in words.
    pub not_enforced: Vec<String>,
    /// Whether the agent keeps the tools that a case names.
    pub limits_tools: bool,
    /// What else is not enforced if the agent does not run inside bubblewrap.
    pub open: Vec<&'static str>,
    /// Files outside its trial environment that the agent has to read: a provider's credentials.
    pub reads: Vec<PathBuf>,
    /// A file for its standard output, for an agent that loses what a pipe does not take at once.
    pub by_file: Option<PathBuf>,
    /// Whether it works on when it is asked to end.
    pub works_on: bool,
    /// Its standard input: a prompt that is too long for an argument.
    pub input: Option<Vec<u8>>,
    /// Our side of a dialogue with it; `None` for an agent that only has arguments.
    pub dialogue: Option<Box<dyn OutputListener>>,
}

/// How the program sends one more message to a session.
#[derive(Debug)]
pub struct NextMessage {
    /// Its own arguments, without those of a sandbox.
    pub args: Vec<OsString>,
    pub input: Option<Vec<u8>>,
}

impl NextMessage {
    /// With the message in these arguments. `None` if it is too long for one.
    pub(super) fn in_argument(message: &str, args: impl Iterator<Item = OsString>) -> Option<Self> {
        (message.len() <= LONGEST_ARGUMENT).then(|| Self { args: args.collect(), input: None })
    }

    /// With the message as standard input.
    pub(super) fn as_input(message: &str, args: impl Iterator<Item = OsString>) -> Self {
        Self { args: args.collect(), input: Some(message.as_bytes().to_vec()) }
    }
}

/// The longest text that is passed as an argument, in bytes. The limit of Linux is 128 KiB less one byte.
pub(super) const LONGEST_ARGUMENT: usize = 100_000;

/// The prompt, if it is too long for an argument.
pub(super) fn long_prompt(assignment: &Assignment<'_>) -> Option<Vec<u8>> {
    let prompt = &assignment.case.prompt;
    (prompt.len() > LONGEST_ARGUMENT).then(|| prompt.as_bytes().to_vec())
}

/// The user's variables that every agent may see: the search path, language, certificates, proxies.
pub(super) const COMMON_VARIABLES: [&str; 18] = [
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

/// The program of an agent on the PATH: the command in the settings, or its own name.
pub(super) fn program(settings: &Settings, kind: AgentKind) -> Result<PathBuf, Trouble> {
    let profile = kind.profile();
    let command = settings.agents.get(kind.as_str()).and_then(|agent| agent.command.as_deref());
    let command = command.unwrap_or(profile.program);
    find(settings, command).ok_or_else(|| {
        let detail = format!("`{command}` is not on the PATH; {}", profile.how_to_get);
        Trouble::new(TroubleKind::CouldNotStart, detail)
    })
}

/// The arguments that the settings have for the agent and the mode.
pub(super) fn settings_args_of<'a>(assignment: &Assignment<'a>) -> impl Iterator<Item = &'a String> {
    settings_args(assignment.settings, assignment.mode.agent, Some(assignment.mode))
}

/// The same, also without a mode.
pub(super) fn settings_args<'a>(
    settings: &'a Settings,
    kind: AgentKind,
    mode: Option<&'a Mode>,
) -> impl Iterator<Item = &'a String> {
    let agent = settings.agents.get(kind.as_str());
    agent.into_iter().flat_map(|agent| &agent.args).chain(mode.into_iter().flat_map(|mode| &mode.args))
}

/// The environment of every agent: the common variables and `more` variables of the user, those of the settings, and the
/// directories of the trial environment.
pub(super) fn environment(assignment: &Assignment<'_>, more: &[&str]) -> BTreeMap<OsString, OsString> {
    let settings = assignment.settings;
    let trial_env = assignment.trial_env;
    let names = more.iter().copied().chain(settings.pass_env.iter().map(String::as_str));
    let mut env = common_environment(trial_env);
    env.extend(names.filter_map(|name| Some((name.into(), std::env::var_os(name)?))));
    let workspace = trial_env.workspace().to_string();
    for (name, value) in &settings.env {
        let value = value.replace("{workspace}", &workspace);
        let value = match &settings.root {
            Some(root) => value.replace(ROOT, &root.to_string_lossy()),
            None => value,
        };
        env.insert(name.into(), value.into());
    }
    env.extend(assignment.case.env.iter().map(|(name, value)| (name.into(), value.into())));
    env.extend(directories(trial_env));
    if let Some(path) = trial_env.search_path(env.get(OsStr::new("PATH"))) {
        env.insert("PATH".into(), path);
    }
    env
}

/// The environment of every program in a trial environment: the common variables, and its directories.
pub fn common_environment(trial_env: &TrialEnv) -> BTreeMap<OsString, OsString> {
    let common = COMMON_VARIABLES.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)));
    let search_path = trial_env.paths().and_then(|paths| paths.search_path.clone());
    common.chain(search_path.map(|path| ("PATH".into(), path))).chain(directories(trial_env)).collect()
}

/// The user's directories and name in the trial environment.
fn directories(trial_env: &TrialEnv) -> impl Iterator<Item = (OsString, OsString)> {
    let user = trial_env.paths().map(|paths| OsString::from(&paths.user));
    let named = user.into_iter().flat_map(|user| ["USER", "LOGNAME"].map(|name| (name.into(), user.clone())));
    [("HOME".into(), trial_env.home().into()), ("TMPDIR".into(), trial_env.tmp().into())].into_iter().chain(named)
}
