//! The credentials that an agent would use, as far as they can be found without asking a server.

use serde_json::Value;

use crate::agent::command::settings_args;
use crate::settings::Settings;
use crate::settings::mode::{AgentKind, Mode};

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
