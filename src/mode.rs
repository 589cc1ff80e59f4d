//! A mode: an agent, and the way in which the skills reach it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The program under which a case runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentKind {
    /// `codex exec`.
    Codex,
}

/// How skills reach the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// In the folder where the agent looks for skills.
    Native,
    /// Not at all: the baseline.
    None,
}

/// A named pair of agent and delivery.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    /// The name, as in `--mode`.
    pub name: String,
    /// The program.
    pub agent: AgentKind,
    /// The way of the skills.
    pub delivery: Delivery,
}

impl Mode {
    /// The built-in modes, in the order in which tables list them.
    #[must_use]
    pub fn built_in() -> Vec<Mode> {
        let mode = |name: &str, agent, delivery| Mode { name: name.to_owned(), agent, delivery };
        vec![mode("codex", AgentKind::Codex, Delivery::Native), mode("none", AgentKind::Codex, Delivery::None)]
    }
}

impl AgentKind {
    /// Every agent.
    pub const ALL: [AgentKind; 1] = [AgentKind::Codex];

    /// The word for it in settings and artifacts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            AgentKind::Codex => "codex",
        }
    }
}

impl Delivery {
    /// The word for it in settings and artifacts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Delivery::Native => "native",
            Delivery::None => "none",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
