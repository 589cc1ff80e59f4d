//! How to start an agent: its program, arguments and environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agent::mcp_probe::ServerCommand;
use crate::agent::sandbox::find;
use crate::agent::trial_env::TrialEnv;
use crate::cases::case::Case;
use crate::cases::plugin::Plugin;
use crate::files::at::PathError;
use crate::files::look;
use crate::process::OutputListener;
use crate::settings::mode::{AgentKind, Mode, SkillSelection};
use crate::settings::{ROOT, Settings};
use crate::text::redact::Redactor;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::input_file::Sandbox;

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

/// What decides the start of a prompt, before the text of the case: a provider keeps it for all trials with the same.
pub fn prompt_prefix(mode: &Mode, case: &Case) -> String {
    // The names of mocked servers may be those of the skill.
    let is_shared = mode.offer == SkillSelection::All && case.mock_servers.is_none();
    let own = if is_shared { "" } else { case.skill.as_str() };
    let Case { sandbox, tools, system_prompt, output_schema, .. } = case;
    format!("{}\0{own}\0{}\0{tools:?}\0{system_prompt:?}\0{output_schema:?}", mode.name, sandbox.as_str())
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
        let place = settings.root.as_deref().unwrap_or(Path::new("")).join(command);
        let what = match (command.contains('/'), look::is_usable(&place)) {
            (false, _) => "is not on the PATH",
            (true, true) => "is not a program: make it executable",
            (true, false) => "does not exist",
        };
        let detail = format!("`{command}` {what}; {}", profile.how_to_get);
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

// What an agent is asked to do.

/// What the final message of a trial has to be.
#[derive(Clone, Debug)]
pub struct OutputSchema {
    /// Where the agent finds it as a file, which may not be where the runner does.
    pub path: PathBuf,
    pub text: Vec<u8>,
}

impl OutputSchema {
    /// Shows the schema to the agent of this environment.
    pub fn show(trial_env: &TrialEnv, text: Vec<u8>) -> Result<Self, PathError> {
        Ok(Self { path: trial_env.show("schema.json", &text)?, text })
    }
}

/// A trial, for the agent that runs it.
#[derive(Debug)]
pub struct Assignment<'a> {
    /// The repository, which the agent does not see.
    pub root: &'a Path,
    pub case: &'a Case,
    pub mode: &'a Mode,
    pub settings: &'a Settings,
    pub trial_env: &'a TrialEnv,
    /// The MCP server of skills, if the mode has one.
    pub server: Option<&'a ServerCommand>,
    /// The plugin with which it gets the skill under test.
    pub plugin: Option<&'a Plugin>,
    /// The output schema, if the case has one.
    pub schema: Option<&'a OutputSchema>,
    /// Masks the secrets that the settings know in what its program prints before it is asked anything.
    pub redactor: &'a Redactor,
}

// What agents have in common that get all by arguments: the session, the prompt, the MCP server, and what they lack.

/// The file with the MCP server.
const MCP_FILE: &str = "mcp.json";

/// The option that begins a session of this id.
pub(super) const SESSION_OPTION: &str = "--session-id=";

pub(super) fn with(option: &str, value: impl Into<OsString>) -> OsString {
    let mut argument = OsString::from(option);
    argument.push(value.into());
    argument
}

pub(super) fn prompt(text: &str) -> OsString {
    with("--prompt=", text)
}

/// The last two arguments: the session's id, so that a further message finds it, and the prompt.
pub(super) fn session_and_prompt(assignment: &Assignment<'_>) -> Result<[OsString; 2], Trouble> {
    let text = &assignment.case.prompt;
    refuse_long_prompt(assignment)?;
    Ok([with(SESSION_OPTION, assignment.trial_env.session_id()), prompt(text)])
}

/// These arguments with another message, for the same session, which the option `continues` names.
pub(super) fn resumed_by_arguments(args: &[OsString], message: &str, continues: &str) -> Option<NextMessage> {
    let [options @ .., session, _] = args else { return None };
    let own = [with(continues, session.to_str()?.strip_prefix(SESSION_OPTION)?), prompt(message)];
    NextMessage::in_argument(message, options.iter().cloned().chain(own))
}

/// Refuses a case that asks for something that the agent does not have: each in words, and whether the case asks for it.
pub(super) fn refuse(assignment: &Assignment<'_>, lacks: &[(&str, bool)]) -> Result<(), Trouble> {
    let Some((what, _)) = lacks.iter().find(|(_, is_asked)| *is_asked) else { return Ok(()) };
    let name = assignment.mode.agent.profile().name;
    let why = format!("the case asks for {what}, which {name} cannot do: run it in the mode of another agent");
    Err(Trouble::new(TroubleKind::CouldNotStart, why))
}

/// Refuses a prompt that is too long for an argument.
pub(super) fn refuse_long_prompt(assignment: &Assignment<'_>) -> Result<(), Trouble> {
    let is_long = assignment.case.prompt.len() > LONGEST_ARGUMENT;
    refuse(assignment, &[("a prompt of more than 100,000 bytes", is_long)])
}

/// The command of a trial with these first arguments. Few such agents have a history.
pub(super) fn begin(
    assignment: &Assignment<'_>,
    program: PathBuf,
    arguments: &[&str],
    has_histories: bool,
) -> Result<AgentCommand, Trouble> {
    let has_history = !has_histories && !assignment.case.history.is_empty();
    let has_schema = !assignment.mode.agent.profile().reports.follows_schemas && assignment.schema.is_some();
    refuse(assignment, &[("a history", has_history), ("an output schema", has_schema)])?;
    Ok(AgentCommand {
        program,
        args: arguments.iter().map(Into::into).collect(),
        not_enforced: not_enforced(assignment),
        open: vec!["shell commands and tools can read and write outside the workspace"],
        ..AgentCommand::default()
    })
}

/// The argument for the plugin with which the agent gets the skill under test, if it does.
pub(super) fn plugin_args(assignment: &Assignment<'_>) -> Option<OsString> {
    let option = assignment.mode.agent.profile().plugins.as_ref()?.option;
    Some(with(option, assignment.trial_env.skills().join(assignment.plugin?.place())))
}

/// The arguments for the model, and those of the settings.
pub(super) fn model_and_settings(assignment: &Assignment<'_>) -> impl Iterator<Item = OsString> {
    let model = assignment.settings.model_for(assignment.mode).map(|model| with("--model=", model));
    model.into_iter().chain(settings_args_of(assignment).map(Into::into))
}

/// That the agent has no limit on turns, if one was asked for.
pub(super) fn unlimited_turns(assignment: &Assignment<'_>) -> Option<String> {
    let profile = assignment.mode.agent.profile();
    let most = assignment.settings.max_turns_of(assignment.case.max_turns).filter(|_| !profile.reports.limits_turns)?;
    Some(format!("trials of {} have no limit on turns: {most} were asked for", profile.program))
}

/// What such an agent does not enforce, in words.
fn not_enforced(assignment: &Assignment<'_>) -> Vec<String> {
    let Assignment { case, .. } = *assignment;
    let mut all = vec!["shell commands see the variables with the login".to_owned()];
    all.extend(unlimited_turns(assignment));
    if case.sandbox == Sandbox::ReadOnly {
        all.push("shell commands can write in the workspace".to_owned());
    }
    all
}

/// The file with the MCP server, which no other user can read, unlike arguments. `more` are keys of the server's entry.
pub(super) fn mcp_file(assignment: &Assignment<'_>, server: &ServerCommand, more: Value) -> Result<PathBuf, Trouble> {
    let mut entry = json!({ "command": server.program, "args": server.args, "env": server.env });
    if let (Value::Object(entry), Value::Object(more)) = (&mut entry, more) {
        entry.extend(more);
    }
    mcp_file_of(assignment, &json!({ server.names.server.as_str(): entry }))
}

/// The file with the MCP servers of these entries.
pub(super) fn mcp_file_of(assignment: &Assignment<'_>, entries: &Value) -> Result<PathBuf, Trouble> {
    let config = json!({ "mcpServers": entries });
    Ok(assignment.trial_env.show(MCP_FILE, config.to_string().as_bytes())?)
}

/// Where the agent finds that file, if it was written.
pub(super) fn mcp_path(trial_env: &TrialEnv) -> PathBuf {
    trial_env.place_of(Path::new(MCP_FILE))
}
