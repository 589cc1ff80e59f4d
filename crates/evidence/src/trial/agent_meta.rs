//! The program that ran a case, as artifacts have it.

use serde::{Deserialize, Serialize};

use crate::profile::custom::{AgentDescription, CustomAgent};
use crate::settings::mode::AgentKind;

/// The program that ran the case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredAgent", into = "StoredAgent")]
pub struct AgentMeta {
    /// Which one.
    pub kind: AgentKind,
    /// Its version, as it reports it.
    pub version: Option<String>,
    /// The model, as requested or as the agent reports it.
    pub model: Option<String>,
    /// The requested model, if the agent reports another name.
    pub requested: Option<String>,
}

/// The same as artifacts have it.
#[derive(Serialize, Deserialize)]
struct StoredAgent {
    kind: String,
    /// How the user described it, if it is not of the registry: its evidence is read by that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<AgentDescription>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requested: Option<String>,
}

impl TryFrom<StoredAgent> for AgentMeta {
    type Error = String;

    fn try_from(stored: StoredAgent) -> Result<Self, String> {
        let StoredAgent { kind, description, version, model, requested } = stored;
        let kind = match description {
            Some(description) => AgentKind::Custom(CustomAgent::of(description)),
            None => AgentKind::named(&kind).ok_or_else(|| format!("unknown agent `{kind}` without a description"))?,
        };
        Ok(Self { kind, version, model, requested })
    }
}

impl From<AgentMeta> for StoredAgent {
    fn from(AgentMeta { kind, version, model, requested }: AgentMeta) -> Self {
        let description = match kind {
            AgentKind::Custom(agent) => Some(agent.description.clone()),
            _ => None,
        };
        Self { kind: kind.as_str().to_owned(), description, version, model, requested }
    }
}

impl AgentMeta {
    /// The agent with its version, if it reported one.
    pub fn name_and_version(&self) -> Option<String> {
        Some(format!("{} {}", self.kind.as_str(), self.version.as_ref()?))
    }

    /// The agent with its version and model, for people.
    pub fn text(&self) -> String {
        let parts = [Some(self.kind.as_str()), self.version.as_deref(), self.model.as_deref()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// The names of its model: as reported, then as requested.
    pub fn models(&self) -> Vec<&str> {
        self.model.iter().chain(&self.requested).map(String::as_str).collect()
    }
}
