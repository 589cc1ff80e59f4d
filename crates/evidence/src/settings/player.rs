//! `[user]`: which agent plays the user who answers.

use serde::Deserialize;

use crate::settings::Settings;
use crate::settings::mode::AgentKind;
use crate::settings::problems::filled;

/// Which agent plays the user of a case; without it, the agent that judges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayerSettings {
    agent: Option<AgentKind>,
    #[serde(default, deserialize_with = "filled")]
    model: Option<String>,
}

impl Settings {
    /// The agent that plays the user, and its model; `None` for the agent's default.
    pub fn player(&self) -> (AgentKind, Option<&String>) {
        let PlayerSettings { agent, model } = &self.user;
        let of_judge = self.judge.model.as_ref().filter(|_| agent.is_none());
        (agent.unwrap_or(self.judge.agent), model.as_ref().or(of_judge))
    }
}
