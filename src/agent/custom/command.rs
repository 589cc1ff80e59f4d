//! How to start an agent that the user describes: the arguments and variables of the settings, with their placeholders filled.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::client::AcpClient;
use super::offer;
use crate::agent::arguments::{begin, mcp_file, refuse};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, LONGEST_ARGUMENT, environment, program, prompt_file, settings_args_of};
use crate::agent::files::{read_if_exists, write_private};
use crate::agent::history;
use crate::agent::secrets::secrets_in_file;
use crate::agent::trial_env::TrialEnv;
use crate::files::bounded;
use crate::profile::custom::{CustomAgent, Protocol};
use crate::settings::{CustomStart, FILE, fill};
use crate::text::redact::looks_secret;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::sandbox::Sandbox;

/// Stands for the next message in the arguments that are kept for it.
const MESSAGE: &str = "{prompt}";

/// The arguments for further messages.
#[derive(Serialize, Deserialize)]
struct KeptArguments {
    /// How many arguments of its own the first process had.
    first: usize,
    further: Vec<String>,
}

pub(super) fn command(agent: &CustomAgent, assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
    let Assignment { case, settings, mode, trial_env, .. } = *assignment;
    let own = settings.agents.get(&agent.description.name);
    let start = own.and_then(|own| own.custom.as_ref()).ok_or_else(|| {
        let why = format!("[agents.{}] is missing in evals/evals.toml", agent.description.name);
        Trouble::new(TroubleKind::CouldNotStart, why)
    })?;
    let is_acp = agent.description.protocol == Protocol::Acp;
    let mut command = begin(assignment, program(settings, mode.agent)?, &[], false)?;
    let further = !case.follow_ups.is_empty() && !is_acp && !start.has("resumed");
    let in_argument = start.args.iter().flatten().any(|text| text.contains(MESSAGE));
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

    let values = PlaceholderValues::new(assignment, start)?;
    let mut env = environment(assignment, &[]);
    let mut secrets = home_files(start, trial_env)?;
    for (name, template) in &start.env {
        let Some(value) = fill(template, |word| values.first(word)) else { continue };
        if settings.secret_env.contains(name) || looks_secret(name, &value) {
            secrets.push(value.clone());
        }
        env.insert(name.into(), value.into());
    }
    let more: Vec<String> = settings_args_of(assignment).cloned().collect();
    let args = [filled(start, |word| values.first(word)), more.clone()].concat();
    (command.env, command.secrets) = (env, secrets);
    if case.sandbox == Sandbox::ReadOnly {
        let tools = "tools can write in the workspace unless the agent asks for permission";
        command.not_enforced.push(tools.to_owned());
    }
    if is_acp {
        command.dialogue = Some(Box::new(AcpClient::new(assignment, start.authenticate.clone())));
    } else {
        if !in_argument {
            write_private(&prompt_file(trial_env), case.prompt.as_bytes())?;
            command.input = Some(prompt_file(trial_env));
        }
        let further = [filled(start, |word| values.further(word)), more].concat();
        let kept = json!(KeptArguments { first: args.len(), further });
        write_private(&kept_file(trial_env), kept.to_string().as_bytes())?;
    }
    command.args = args.into_iter().map(Into::into).collect();
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
    fn new(assignment: &Assignment<'_>, start: &CustomStart) -> Result<Self, Trouble> {
        let Assignment { case, mode, settings, trial_env, server, root, .. } = *assignment;
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let mut all = BTreeMap::from([
            ("workspace", path(&trial_env.workspace())),
            ("home", path(&trial_env.home())),
            ("root", path(root)),
            ("prompt", case.prompt.clone()),
        ]);
        all.extend(settings.model_for(mode).map(|model| ("model", model.to_owned())));
        all.extend(settings.endpoint_of(mode.agent).map(|url| ("endpoint", url.to_owned())));
        all.extend(case.system_prompt.clone().map(|text| ("system_prompt", text)));
        if let Some(server) = server.filter(|_| start.has("mcp")) {
            all.insert("mcp", path(&mcp_file(assignment, server, json!({}))?));
        }
        Ok(Self { all, session: history::session_id(trial_env) })
    }

    /// The value for the first message.
    fn first(&self, word: &str) -> Option<String> {
        match word {
            "session" => Some(self.session.clone()),
            _ => self.all.get(word).cloned(),
        }
    }

    /// The value for a further message, which is not known yet.
    fn further(&self, word: &str) -> Option<String> {
        match word {
            "resumed" => Some(self.session.clone()),
            "prompt" => Some(MESSAGE.to_owned()),
            _ => self.all.get(word).cloned(),
        }
    }
}

fn kept_file(trial_env: &TrialEnv) -> PathBuf {
    trial_env.path().join("further.json")
}

/// The arguments for this further message, after a process with `args`. They may begin with those of a sandbox.
pub(super) fn resumed(args: &[OsString], trial_env: &TrialEnv, message: &str) -> Option<Vec<OsString>> {
    let kept: Value = serde_json::from_str(&bounded::read_text(&kept_file(trial_env)).ok()?).ok()?;
    let KeptArguments { first, further } = serde_json::from_value(kept).ok()?;
    let is_argument = further.iter().any(|text| text.contains(MESSAGE));
    if !is_argument {
        fs::write(prompt_file(trial_env), message).ok()?;
    }
    let further = further.into_iter().map(|text| text.replace(MESSAGE, message).into());
    Some(args.get(..args.len().checked_sub(first)?)?.iter().cloned().chain(further).collect())
}
