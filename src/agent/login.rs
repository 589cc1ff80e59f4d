//! What an agent would log in with, as far as that can be seen. No server is asked whether a login is still good.

use crate::agent::command::own_arguments;
use crate::settings::Settings;
use crate::settings::mode::{AgentKind, Mode};

/// What an agent would log in with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// This.
    Found(String),
    /// It may have one, which cannot be seen from here: where it would be.
    Unknown(String),
    /// Nothing: what to do.
    Missing(String),
}

/// By what a provider counts the requests of agents together, as far as can be seen: agents of one vendor find one login
/// around them. Arguments may choose another one, and a program that the settings name may bring its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Account {
    vendor: &'static str,
    command: Option<String>,
    /// All of them where any chooses the login.
    arguments: Vec<String>,
}

/// What an agent finds around it that may be a login.
#[derive(Clone, Copy, Debug)]
pub struct LoginSources<'a> {
    settings: &'a Settings,
    kind: AgentKind,
    mode: Option<&'a Mode>,
}

impl<'a> LoginSources<'a> {
    /// For this agent, in a mode or in any.
    #[must_use]
    pub fn new(settings: &'a Settings, kind: AgentKind, mode: Option<&'a Mode>) -> Self {
        Self { settings, kind, mode }
    }

    /// A variable as the agent sees it: the settings' own value, else the user's; none where it is empty.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        let own = self.settings.env.get(name).cloned();
        let value = own.or_else(|| Some(std::env::var_os(name)?.to_string_lossy().into_owned()));
        value.filter(|value| !value.trim().is_empty())
    }

    /// The first of these variables that says something.
    pub(super) fn first(&self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.variable(name).is_some())
    }

    /// Whether an argument of the settings' own speaks of a login.
    pub(super) fn is_told(&self) -> bool {
        let words = self.kind.profile().login_arguments;
        self.arguments().any(|argument| words.iter().any(|word| argument.contains(word)))
    }

    /// What it is counted by at its provider.
    #[must_use]
    pub fn account(&self) -> Account {
        let arguments = if self.is_told() { self.arguments().cloned().collect() } else { Vec::new() };
        let command = self.settings.agents.get(self.kind.as_str()).and_then(|agent| agent.command.clone());
        Account { vendor: self.kind.profile().name, command, arguments }
    }

    fn arguments(&self) -> impl Iterator<Item = &'a String> {
        own_arguments(self.settings, self.kind, self.mode)
    }
}

/// Whether a file of logins holds one: a token or key that is not empty, under whatever name this version gives it. `aside` are
/// keys below which there are other logins.
pub(super) fn holds_one(value: &serde_json::Value, aside: &[&str]) -> bool {
    let names_one = |key: &str| ["token", "key", "secret"].iter().any(|word| key.to_lowercase().contains(word));
    match value {
        serde_json::Value::Object(map) => {
            map.iter().filter(|(key, _)| !aside.contains(&key.as_str())).any(|(key, value)| match value {
                serde_json::Value::String(text) => names_one(key) && !text.trim().is_empty(),
                other => holds_one(other, aside),
            })
        }
        serde_json::Value::Array(list) => list.iter().any(|value| holds_one(value, aside)),
        _ => false,
    }
}
