//! `[judge]`: which agent judges by the rubric, and when.

use std::time::Duration;

use serde::Deserialize;

use crate::settings::mode::AgentKind;
use crate::settings::problems::{Problems, filled};
use crate::text::relative_path::RelativePath;

pub const DEFAULT_JUDGE_TIMEOUT: Duration = Duration::from_secs(180);

/// Maximum number of votes on one trial.
pub const MOST_VOTES: u32 = 99;

/// Which agent judges by the rubric, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeSettings {
    /// Whether every trial is judged, or none; `None` if each case decides.
    pub wanted: Option<bool>,
    pub agent: AgentKind,
    /// The model that judges; `None` for the agent's default, whatever model is under test.
    pub model: Option<String>,
    pub timeout: Duration,
    /// How often each trial is judged; more than half have to agree.
    pub votes: u32,
    /// The template of the prompt, from the repository's root, if there is one.
    pub template: Option<RelativePath>,
}

impl Default for JudgeSettings {
    fn default() -> Self {
        let (agent, timeout) = (AgentKind::default(), DEFAULT_JUDGE_TIMEOUT);
        Self { wanted: None, agent, model: None, timeout, votes: 1, template: None }
    }
}

/// `[judge]` as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JudgeTable {
    agent: Option<AgentKind>,
    #[serde(default, deserialize_with = "filled")]
    model: Option<String>,
    pub(super) timeout_s: Option<toml::Spanned<toml::Value>>,
    pub(super) votes: Option<toml::Spanned<toml::Value>>,
    template: Option<toml::Spanned<String>>,
}

impl JudgeSettings {
    /// Applies the table without its numbers, which variables have too.
    pub(super) fn apply(&mut self, table: JudgeTable, problems: &mut Problems<'_>) {
        self.agent = table.agent.unwrap_or(self.agent);
        self.model = table.model.or(self.model.take());
        self.template = problems.paths(table.template, "the judge's template").pop().or(self.template.take());
    }
}
