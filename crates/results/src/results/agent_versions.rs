//! The versions of agents in trials that are read together.

use std::collections::{BTreeMap, BTreeSet};

use crate::trial::evidence::AgentMeta;

#[derive(Debug, Default)]
pub struct AgentVersions(BTreeMap<&'static str, BTreeSet<String>>);

impl AgentVersions {
    /// Adds the agent of a trial, if it reported its version.
    pub fn add(&mut self, agent: AgentMeta) {
        if let Some(version) = agent.version {
            self.0.entry(agent.kind.as_str()).or_default().insert(version);
        }
    }

    /// The agents of several versions, with these: `codex 0.144.1, 0.145.0`.
    pub fn mixed(&self) -> Vec<String> {
        let mixed = self.0.iter().filter(|(_, versions)| versions.len() > 1);
        let list = |versions: &BTreeSet<String>| versions.iter().cloned().collect::<Vec<_>>().join(", ");
        mixed.map(|(agent, versions)| format!("{agent} {}", list(versions))).collect()
    }
}
