//! A mode: an agent, and the way in which the skills reach it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Defines [`AgentKind`] from one list: an agent's name in code, and its word in settings and artifacts.
macro_rules! agents {
    ($($(#[$doc:meta])* $kind:ident = $word:literal,)*) => {
        /// The program under which a case runs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum AgentKind {
            $($(#[$doc])* #[serde(rename = $word)] $kind,)*
        }

        impl AgentKind {
            /// Every agent.
            pub const ALL: [AgentKind; [$($word),*].len()] = [$(AgentKind::$kind),*];

            /// The word for it in settings and artifacts.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(AgentKind::$kind => $word,)*
                }
            }
        }
    };
}

agents! {
    /// `codex exec`.
    Codex = "codex",
    /// `claude -p`.
    ClaudeCli = "claude-cli",
    /// `claude`, spoken to as the Claude Agent SDK does.
    ClaudeSdk = "claude-sdk",
}

/// How skills reach the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// In the folder where the agent looks for skills.
    Native,
    /// By the tools of an MCP server.
    Mcp,
    /// Both ways at once.
    Both,
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
    /// The model to ask for, where the run does not choose one.
    pub model: Option<String>,
    /// Arguments for the agent, behind our own and those of `[agents.*]`.
    pub args: Vec<String>,
}

impl Mode {
    /// A mode without a model or arguments of its own.
    #[must_use]
    pub fn new(name: &str, agent: AgentKind, delivery: Delivery) -> Self {
        Self { name: name.to_owned(), agent, delivery, model: None, args: Vec::new() }
    }

    /// The built-in modes, in the order in which tables list them. The baselines are last: `none` is that of the Claude
    /// modes, `codex-none` that of the codex ones, for a baseline says something only about the agent it ran under.
    #[must_use]
    pub fn built_in() -> Vec<Mode> {
        use AgentKind::{ClaudeCli, ClaudeSdk, Codex};
        vec![
            Mode::new("mcp", ClaudeSdk, Delivery::Mcp),
            Mode::new("native", ClaudeSdk, Delivery::Native),
            Mode::new("cli-native", ClaudeCli, Delivery::Native),
            Mode::new("mcp+native", ClaudeSdk, Delivery::Both),
            Mode::new("codex", Codex, Delivery::Native),
            Mode::new("codex-mcp", Codex, Delivery::Mcp),
            Mode::new("none", ClaudeSdk, Delivery::None),
            Mode::new("codex-none", Codex, Delivery::None),
        ]
    }
}

impl Delivery {
    /// The word for it in settings and artifacts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Delivery::Native => "native",
            Delivery::Mcp => "mcp",
            Delivery::Both => "both",
            Delivery::None => "none",
        }
    }

    /// Whether the skills lie in the agent's own folder.
    #[must_use]
    pub fn native(self) -> bool {
        matches!(self, Delivery::Native | Delivery::Both)
    }

    /// Whether an MCP server offers the skills.
    #[must_use]
    pub fn mcp(self) -> bool {
        matches!(self, Delivery::Mcp | Delivery::Both)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
