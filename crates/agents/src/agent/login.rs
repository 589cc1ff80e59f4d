//! The credentials that an agent would use, as far as they can be found without asking a server.

use std::ffi::OsStr;

use serde_json::Value;

use crate::agent::command::{AgentCommand, Assignment, settings_args};
use crate::agent::files::merge;
use crate::files::bounded;
use crate::files::rooted::{PRIVATE, RootedPath};
use crate::profile::{EndpointSetup, Profile};
use crate::settings::Settings;
use crate::settings::mode::{AgentKind, Mode};
use crate::text::redact::looks_secret;
use crate::trace::trouble::{Trouble, TroubleKind};

/// The credentials that an agent would use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// In the variable with this name, which other agents may read, too.
    Set(String),
    /// Elsewhere, in words.
    Found(String),
    /// There may be some; where they would be.
    Unknown(String),
    /// None; what to do.
    Missing(String),
}

/// What a provider counts requests by, as far as it is known: agents with the same credentials. Arguments may choose others,
/// and a program that the settings name may have its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Account {
    /// The variable with the credentials, or the vendor, whose agents find the same.
    credentials: String,
    command: Option<String>,
    /// All arguments, if one of them chooses credentials.
    arguments: Vec<String>,
}

/// Where an agent may find credentials.
#[derive(Clone, Copy, Debug)]
pub struct LoginSources<'a> {
    settings: &'a Settings,
    kind: AgentKind,
    mode: Option<&'a Mode>,
}

impl<'a> LoginSources<'a> {
    /// The sources of this agent, in a mode or in any.
    pub fn new(settings: &'a Settings, kind: AgentKind, mode: Option<&'a Mode>) -> Self {
        Self { settings, kind, mode }
    }

    /// A variable as the agent sees it: the value in the settings, else the user's. `None` if it is empty.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        let in_settings = self.settings.env.get(name).cloned();
        let value = in_settings.or_else(|| Some(std::env::var_os(name)?.to_string_lossy().into_owned()));
        value.filter(|value| !value.trim().is_empty())
    }

    /// The first of these variables that is not empty.
    pub(super) fn first(&self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.variable(name).is_some())
    }

    /// Whether an argument in the settings chooses credentials.
    pub(super) fn has_argument(&self) -> bool {
        let words = self.kind.profile().login_arguments;
        self.arguments().any(|argument| words.iter().any(|word| argument.contains(word)))
    }

    /// The account of requests with these credentials, which were found here.
    pub fn account(&self, login: Login) -> Account {
        let arguments = if self.has_argument() { self.arguments().cloned().collect() } else { Vec::new() };
        let command = self.settings.agents.get(self.kind.as_str()).and_then(|agent| agent.command.clone());
        let credentials = match login {
            Login::Set(variable) => variable,
            _ => self.kind.profile().name.to_owned(),
        };
        Account { credentials, command, arguments }
    }

    /// The arguments in the settings.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &'a String> {
        settings_args(self.settings, self.kind, self.mode)
    }
}

/// Whether a file has credentials: a token, key or secret that is not empty, under any name. Other credentials are under
/// the keys `except`.
pub(super) fn has_credentials(value: &Value, except: &[&str]) -> bool {
    match value {
        Value::Object(map) => map.iter().filter(|(key, _)| !except.contains(&key.as_str())).any(|(key, value)| {
            let Value::String(text) = value else { return has_credentials(value, except) };
            let key = key.to_lowercase();
            !text.trim().is_empty() && ["token", "key", "secret"].iter().any(|word| key.contains(word))
        }),
        Value::Array(list) => list.iter().any(|value| has_credentials(value, except)),
        _ => false,
    }
}

// Points an agent at another server than its provider's, as its profile says: by variables, and by files in its home. The user's
// own credentials do not go there.

/// The key for servers that want one. A local server takes any.
const ENDPOINT_KEY: &str = "skill-evals-endpoint-key";

/// A server for an agent, and what points the agent there.
pub(super) struct PointedAgent {
    /// Those of the run, with the agent's variables and its name of the model.
    pub(super) settings: Settings,
    /// Files in the home.
    files: Vec<(&'static str, String)>,
}

/// Why an agent cannot be pointed at the endpoint that the settings name, and what to do.
pub fn endpoint_refusal(settings: &Settings, kind: AgentKind, mode: Option<&Mode>) -> Option<String> {
    settings.endpoint_of(kind)?;
    let name = kind.as_str();
    if !can_be_pointed(settings, kind) {
        let why = format!("{name} cannot be pointed at an endpoint: use `{{endpoint}}` in its `args` or `env`");
        return Some(why);
    }
    let has_model = mode.is_none_or(|mode| settings.model_for(mode).is_some());
    (!has_model).then(|| format!("{name} needs the model of the endpoint: add --model, or `model` in evals/evals.toml"))
}

/// Whether the agent can be pointed at another server.
pub fn can_be_pointed(settings: &Settings, kind: AgentKind) -> bool {
    let start = settings.agents.get(kind.as_str()).and_then(|agent| agent.custom.as_ref());
    kind.profile().endpoint.is_some() || start.is_some_and(|start| start.has("endpoint"))
}

impl PointedAgent {
    /// What points the agent of this mode at the endpoint of the settings, if they name one.
    pub(super) fn of(settings: &Settings, mode: &Mode) -> Result<Option<Self>, Trouble> {
        let Some(url) = settings.endpoint_of(mode.agent) else { return Ok(None) };
        if let Some(why) = endpoint_refusal(settings, mode.agent, Some(mode)) {
            return Err(Trouble::new(TroubleKind::CouldNotStart, why));
        }
        let Some(setup) = &mode.agent.profile().endpoint else { return Ok(None) };
        let model = settings.model_for(mode).unwrap_or_default();
        let filled = |text: &str| EndpointSetup::filled(text, url, model, ENDPOINT_KEY);
        let mut settings = settings.clone();
        settings.env.extend(setup.variables.iter().map(|(name, value)| ((*name).to_owned(), filled(value))));
        settings.model = Some(filled(setup.model));
        Ok(Some(Self { settings, files: setup.files.iter().map(|(path, text)| (*path, filled(text))).collect() }))
    }

    /// Takes the user's credentials and provider, whose names are `provider`, from a command and the trial's home, and adds
    /// the files.
    pub(super) fn apply(
        &self,
        assignment: &Assignment<'_>,
        provider: &[String],
        command: &mut AgentCommand,
    ) -> Result<(), Trouble> {
        let is_users = |name: &OsStr, value: &OsStr| {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            let is_set = self.settings.env.contains_key(&*name) || self.settings.pass_env.contains(&name.to_string());
            !is_set && (provider.contains(&name.to_string()) || looks_secret(&name, &value))
        };
        command.env.retain(|name, value| !is_users(name, value));
        let home = assignment.trial_env.home();
        let Profile { home: own, credentials, .. } = *assignment.mode.agent.profile();
        if !credentials.is_empty() {
            home.join(own).join(credentials).remove()?;
        }
        self.files.iter().try_for_each(|(path, text)| merge_file(&home.join(path), text))
    }
}

/// Merges the settings in `text` into the file, JSON or TOML.
fn merge_file(path: &RootedPath, text: &str) -> Result<(), Trouble> {
    let is_toml = path.relative().extension().is_some_and(|end| end == "toml");
    let read = |text: &str| -> Result<Value, Trouble> {
        let value = if is_toml {
            toml::from_str(text).map_err(|error| error.to_string())
        } else {
            serde_json::from_str(text).map_err(|error| error.to_string())
        };
        value.map_err(|error| Trouble::new(TroubleKind::Files, format!("{path}: {error}")))
    };
    let mut settings = match path.read(bounded::MAX_FILE) {
        Ok(text) => read(&String::from_utf8_lossy(&text))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Value::Null,
        Err(error) => return Err(path.error(error).into()),
    };
    merge(&mut settings, read(text)?);
    let written = if is_toml {
        toml::to_string(&settings).map_err(|error| Trouble::new(TroubleKind::Files, error.to_string()))?
    } else {
        settings.to_string()
    };
    Ok(path.replace(written.as_bytes(), PRIVATE)?)
}
