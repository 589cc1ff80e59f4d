//! Agents that a user describes in the settings. One speaks the Agent Client Protocol: `acp` is our side of it, and
//! reads its lines. The others take arguments and print JSON lines, which `events` reads. What a line says, rules of the settings
//! say, or a function of the user's harness.
//!
//! Standard output (`trace.jsonl`) has what such an agent shows. What the trial itself knows of the offer is the only line of
//! `session.jsonl`: these agents do not show it.

mod acp;
mod events;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::{Value, json};

use crate::agent::command::{
    AgentCommand, Assignment, LONGEST_ARGUMENT, NextMessage, begin, environment, mcp_file, mcp_path, program, refuse,
    settings_args_of,
};
use crate::agent::files::{DerivedFile, TRACE, read_if_exists, slimmed, write_private};
use crate::agent::interface::{Agent, WorkOwner};
use crate::agent::login::{Login, LoginSources};
use crate::agent::recorder::AgentEvent;
use crate::agent::secrets::secrets_in_file;
use crate::agent::stream::{LineReader, decoded, in_words, work_owner};
use crate::agent::trial_env::TrialEnv;
use crate::files::at::At;
use crate::files::bounded;
use crate::profile::AgentKind;
use crate::profile::custom::{CustomAgent, Protocol};
use crate::settings::{CustomStart, FILE, Settings, ToolNames, fill};
use crate::text::redact::looks_secret;
use crate::trace::exposure::Reference;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{Mechanism, Step, Trace};
use crate::trial::input_file::Sandbox;
use acp::{AcpClient, AcpLines};
use events::EventLines;

pub use events::StreamEvent;
pub use events::{ReadLine, is_read_here, read_in_rust};

/// The file with what the trial knows of the offer.
const SESSION: &str = "session.jsonl";

/// What is unknown of an agent that does not say that it shows all calls.
const MAY_HIDE_CALLS: &str =
    "calls of tools, which the agent may not show: set `shows_calls` in evals/evals.toml if it shows all";

/// What a line in the middle of a run says.
fn said(agent: &CustomAgent, line: &[u8]) -> Vec<AgentEvent> {
    let Ok(line) = serde_json::from_slice::<Value>(line) else { return Vec::new() };
    let names = ToolNames::default();
    let said = match agent.description.protocol {
        Protocol::Acp => AcpLines::in_between(agent, &names).said(&line),
        Protocol::Jsonl | Protocol::Rust => EventLines::in_between(agent, &names).said(&line),
    };
    said.unwrap_or_default()
}

/// A line as a recording stores it; `None` if it says nothing.
fn slim(agent: &CustomAgent, line: Value) -> Option<Value> {
    match agent.description.protocol {
        Protocol::Acp => acp::slim(line),
        Protocol::Jsonl | Protocol::Rust => (!events::says_nothing(agent, &line)).then_some(line),
    }
}

/// Corrects what brought a skill's text: a tool with the server's name, if the agent does not show the input of calls.
fn note_server(trace: &mut Trace, names: &ToolNames) {
    let Trace { steps, activations, .. } = trace;
    let served = steps.iter().filter_map(|step| match step {
        Step::Tool { name, .. } if name.contains(&names.server) => Some(name.as_str()),
        _ => None,
    });
    let served: Vec<&str> = served.collect();
    let by_file = activations.iter_mut().filter(|activation| activation.how == Mechanism::ReadSkillFile);
    for activation in by_file.filter(|found| served.iter().any(|name| found.evidence.starts_with(name))) {
        activation.how = Mechanism::McpTool;
    }
}

impl Agent for CustomAgent {
    fn kind(&self) -> AgentKind {
        AgentKind::Custom(CustomAgent::of(self.description.clone()))
    }

    fn login(&self, _: &LoginSources<'_>) -> Login {
        Login::Unknown("only the agent itself knows its credentials".to_owned())
    }

    fn command(&self, assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
        start_command(self, assignment)
    }

    fn keep_evidence(&self, trial_env: &TrialEnv, directory: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
        let mut session = DerivedFile::new(directory.join(SESSION), mask);
        if let Some(line) = known_offer(trial_env) {
            session.add_line(line.to_string().as_bytes())?;
        }
        session.finish()
    }

    fn recorded_evidence(&self, directory: &Path, _: &[&str]) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
        let trace = slimmed(&directory.join(TRACE), |bytes| match serde_json::from_slice(bytes) {
            Ok(line) => slim(self, line).map(|line| format!("{line}\n").into_bytes()),
            Err(_) => Some([bytes, b"\n"].concat()),
        })?;
        let session = slimmed(&directory.join(SESSION), |bytes| Some([bytes, b"\n"].concat()))?;
        let mut files = vec![(TRACE, trace), (SESSION, session)];
        files.retain(|(name, content)| *name == TRACE || !content.is_empty());
        Ok(files)
    }

    fn decode(&self, reference: &Reference, directory: &Path) -> io::Result<Trace> {
        let (kind, names) = (self.kind(), &reference.names);
        if self.description.protocol == Protocol::Rust {
            events::function(&self.description.name).map_err(|trouble| io::Error::other(trouble.detail))?;
        }
        let mut trace = match self.description.protocol {
            Protocol::Acp => decoded(kind, AcpLines::new(self, names), reference, directory),
            Protocol::Jsonl | Protocol::Rust => decoded(kind, EventLines::new(self, names), reference, directory),
        }?;
        note_server(&mut trace, names);
        Ok(trace)
    }

    fn work(&self, line: &[u8]) -> WorkOwner {
        work_owner(said(self, line))
    }

    fn resumed(&self, assignment: &Assignment<'_>, _: &[OsString], message: &str) -> Option<NextMessage> {
        resumed_command(self, assignment, message)
    }

    fn describe(&self, line: &[u8]) -> Option<String> {
        in_words(said(self, line))
    }
}

// How to start an agent that the user describes: the arguments and variables of the settings, with their placeholders filled.

/// The placeholder of a message.
const MESSAGE: &str = "{prompt}";

/// How the settings start the agent.
fn start_program<'a>(agent: &CustomAgent, settings: &'a Settings) -> Result<&'a CustomStart, Trouble> {
    let own = settings.agents.get(&agent.description.name);
    own.and_then(|own| own.custom.as_ref()).ok_or_else(|| {
        let why = format!("[agents.{}] is missing in evals/evals.toml", agent.description.name);
        Trouble::new(TroubleKind::CouldNotStart, why)
    })
}

fn start_command(agent: &CustomAgent, assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
    let Assignment { case, settings, mode, trial_env, .. } = *assignment;
    let start = start_program(agent, settings)?;
    if agent.description.protocol == Protocol::Rust {
        events::function(&agent.description.name)?;
    }
    let is_acp = agent.description.protocol == Protocol::Acp;
    let mut command = begin(assignment, program(settings, mode.agent)?, &[], false)?;
    let further = case.has_more_messages() && !is_acp && !start.has("resumed");
    let in_argument = has_message(start);
    let messages = std::iter::once(&case.prompt).chain(&case.follow_ups);
    let longest = messages.map(String::len).max().unwrap_or_default();
    let lacks = [
        ("a change of skills during the session", !case.during.is_empty()),
        ("a system prompt", case.system_prompt.is_some() && !start.has("system_prompt")),
        ("a further message", further),
        ("a message of more than 100,000 bytes in an argument", in_argument && longest > LONGEST_ARGUMENT),
    ];
    refuse(assignment, &lacks)?;
    note_offer(assignment)?;

    if let Some(server) = assignment.server.filter(|_| start.has("mcp")) {
        mcp_file(assignment, server, json!({}))?;
    }
    let values = PlaceholderValues::new(assignment);
    let mut env = environment(assignment, &[]);
    let mut secrets = home_files(start, trial_env)?;
    for (name, template) in &start.env {
        let Some(value) = fill(template, |word| values.first(word)) else { continue };
        if settings.secret_env.contains(name) || looks_secret(name, &value) {
            secrets.push(value.clone());
        }
        env.insert(name.into(), value.into());
    }
    let args = filled(start, |word| values.first(word)).into_iter().chain(settings_args_of(assignment).cloned());
    let args = args.map(Into::into).collect();
    (command.args, command.env, command.secrets) = (args, env, secrets);
    if case.sandbox == Sandbox::ReadOnly {
        let tools = "tools can write in the workspace unless the agent asks for permission";
        command.not_enforced.push(tools.to_owned());
    }
    if is_acp {
        command.dialogue = Some(Box::new(AcpClient::new(assignment, start.authenticate.clone())));
    } else {
        command.input = (!in_argument).then(|| case.prompt.as_bytes().to_vec());
    }
    Ok(command)
}

/// Copies files of the user's home to the trial's. Returns the secrets in them.
fn home_files(start: &CustomStart, trial_env: &TrialEnv) -> Result<Vec<String>, Trouble> {
    let mut secrets = Vec::new();
    for path in &start.home_files {
        let name = start.agent.description.name.as_str();
        let from = std::env::home_dir().unwrap_or_default().join(path.as_path());
        let Some(content) = read_if_exists(&from)? else {
            let why = format!("{} does not exist; see `home_files` under [agents.{name}] in {FILE}", from.display());
            return Err(Trouble::new(TroubleKind::CouldNotStart, why));
        };
        let to = trial_env.home().join(path.as_path());
        write_private(&to, content.as_bytes())?;
        secrets.extend(secrets_in_file(&path.as_path().display().to_string(), &content));
    }
    Ok(secrets)
}

/// The arguments with their placeholders filled.
fn filled(start: &CustomStart, value: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let group = |group: &Vec<String>| group.iter().map(|text| fill(text, &value)).collect::<Option<Vec<_>>>();
    start.args.iter().filter_map(group).flatten().collect()
}

/// The values of placeholders in a trial.
struct PlaceholderValues {
    all: BTreeMap<&'static str, String>,
    session: String,
}

impl PlaceholderValues {
    fn new(assignment: &Assignment<'_>) -> Self {
        let Assignment { case, mode, settings, trial_env, root, .. } = *assignment;
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let mut all = BTreeMap::from([
            ("workspace", trial_env.workspace().to_string()),
            ("home", trial_env.home().to_string()),
            ("root", path(root)),
            ("prompt", case.prompt.clone()),
        ]);
        all.extend(settings.model_for(mode).map(|model| ("model", model.to_owned())));
        all.extend(settings.endpoint_of(mode.agent).map(|url| ("endpoint", url.to_owned())));
        all.extend(case.system_prompt.clone().map(|text| ("system_prompt", text)));
        all.extend(assignment.server.map(|_| ("mcp", path(&mcp_path(trial_env)))));
        Self { all, session: trial_env.session_id().to_owned() }
    }

    /// The value for the first message.
    fn first(&self, word: &str) -> Option<String> {
        match word {
            "session" => Some(self.session.clone()),
            _ => self.all.get(word).cloned(),
        }
    }

    /// The value for this further message.
    fn further(&self, word: &str, message: &str) -> Option<String> {
        match word {
            "resumed" => Some(self.session.clone()),
            "prompt" => Some(message.to_owned()),
            _ => self.all.get(word).cloned(),
        }
    }
}

/// Whether the arguments have the message, which is standard input otherwise.
fn has_message(start: &CustomStart) -> bool {
    start.args.iter().flatten().any(|text| text.contains(MESSAGE))
}

/// How the agent gets this further message. Nothing that it may have written since is read.
fn resumed_command(agent: &CustomAgent, assignment: &Assignment<'_>, message: &str) -> Option<NextMessage> {
    let start = start_program(agent, assignment.settings).ok()?;
    let values = PlaceholderValues::new(assignment);
    let args = filled(start, |word| values.further(word, message)).into_iter();
    let args = args.chain(settings_args_of(assignment).cloned()).map(OsString::from);
    if has_message(start) {
        NextMessage::in_argument(message, args)
    } else {
        Some(NextMessage::as_input(message, args))
    }
}

// What a trial knows of what it offered: the skills in the agent's directory, and whether the agent asked our MCP server for
// its tools. The agent does not show what it makes of that.

/// The states of the MCP server of skills.
const ASKED: &str = "connected";
const NOT_ASKED: &str = "the agent did not ask for its tools";

fn offer_path(trial_env: &TrialEnv) -> PathBuf {
    trial_env.control().join("offer.json")
}

/// Notes what this trial offers.
fn note_offer(assignment: &Assignment<'_>) -> Result<(), Trouble> {
    let Assignment { mode, trial_env, server, .. } = *assignment;
    let skills = if mode.delivery.native() { trial_env.skill_names() } else { Vec::new() };
    // Another server than ours logs nothing for us.
    let server = server.map(|server| json!({ "name": server.names.server, "logs": !server.is_own() }));
    let note = json!({ "type": "offer", "skills": skills, "server": server });
    let path = offer_path(trial_env);
    Ok(fs::write(&path, note.to_string()).at(&path)?)
}

/// What was noted, and whether the agent asked the server by now.
fn known_offer(trial_env: &TrialEnv) -> Option<Value> {
    let mut note: Value = serde_json::from_str(&bounded::read_text(&offer_path(trial_env)).ok()?).ok()?;
    if note["server"]["logs"] == true {
        let log = trial_env.request_log().unwrap_or_default();
        note["server"]["asked"] = log.lines().any(|line| line.ends_with(" tools")).into();
    }
    Some(note)
}

/// What that line says. Whether an agent uses another server than ours is not known, and then nothing is.
fn said_of_offer(line: &Value) -> Vec<AgentEvent> {
    let (true, Some(skills)) = (line["type"] == "offer", line["skills"].as_array()) else { return Vec::new() };
    let names = skills.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let server = &line["server"];
    match (server["name"].as_str(), server["asked"].as_bool()) {
        (None, _) => vec![AgentEvent::Placed(names)],
        (Some(_), None) => Vec::new(),
        (Some(name), Some(asked)) => {
            let state = if asked { ASKED } else { NOT_ASKED };
            vec![AgentEvent::Placed(names), AgentEvent::Server(name.to_owned(), state.to_owned())]
        }
    }
}
