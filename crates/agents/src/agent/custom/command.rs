//! How to start an agent that the user describes: the arguments and variables of the settings, with their placeholders filled.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use serde_json::json;

use super::client::AcpClient;
use super::{offer, rust};
use crate::agent::arguments::{begin, mcp_file, mcp_path, refuse};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, LONGEST_ARGUMENT, NextMessage, environment, program, settings_args_of};
use crate::agent::files::{read_if_exists, write_private};
use crate::agent::secrets::secrets_in_file;
use crate::agent::trial_env::TrialEnv;
use crate::profile::custom::{CustomAgent, Protocol};
use crate::settings::{CustomStart, FILE, Settings, fill};
use crate::text::redact::looks_secret;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::sandbox::Sandbox;

/// The placeholder of a message.
const MESSAGE: &str = "{prompt}";

/// How the settings start the agent.
fn start<'a>(agent: &CustomAgent, settings: &'a Settings) -> Result<&'a CustomStart, Trouble> {
    let own = settings.agents.get(&agent.description.name);
    own.and_then(|own| own.custom.as_ref()).ok_or_else(|| {
        let why = format!("[agents.{}] is missing in evals/evals.toml", agent.description.name);
        Trouble::new(TroubleKind::CouldNotStart, why)
    })
}

pub(super) fn command(agent: &CustomAgent, assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
    let Assignment { case, settings, mode, trial_env, .. } = *assignment;
    let start = start(agent, settings)?;
    if agent.description.protocol == Protocol::Rust {
        rust::function(&agent.description.name)?;
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
    offer::note(assignment)?;

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
pub(super) fn resumed(agent: &CustomAgent, assignment: &Assignment<'_>, message: &str) -> Option<NextMessage> {
    let start = start(agent, assignment.settings).ok()?;
    let values = PlaceholderValues::new(assignment);
    let args = filled(start, |word| values.further(word, message)).into_iter();
    let args = args.chain(settings_args_of(assignment).cloned()).map(OsString::from);
    if has_message(start) {
        NextMessage::in_argument(message, args)
    } else {
        Some(NextMessage::as_input(message, args))
    }
}
