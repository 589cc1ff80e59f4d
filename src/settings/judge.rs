//! `[judge]`: which agent judges by the rubric, and when.

use std::ops::Range;
use std::time::Duration;

use serde::Deserialize;

use crate::settings::mode::AgentKind;
use crate::text::relative_path::RelativePath;

/// How long a judge may take where nothing else is said.
pub const DEFAULT_JUDGE_TIMEOUT: Duration = Duration::from_secs(180);

/// Most votes on one trial.
pub const MOST_VOTES: u32 = 99;

/// Which agent judges by the rubric, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeSettings {
    /// Whether every trial is judged, or none; `None` where each case says.
    pub wanted: Option<bool>,
    /// The program that judges.
    pub agent: AgentKind,
    /// The model to ask it for; `None` for its own default, whatever model is under test.
    pub model: Option<String>,
    /// How long one judging may take.
    pub timeout: Duration,
    /// How often each trial is judged; more than half have to agree.
    pub votes: u32,
    /// The template of the prompt, from the repository's root, where one is named.
    pub template: Option<RelativePath>,
}

impl Default for JudgeSettings {
    fn default() -> Self {
        Self {
            wanted: None,
            agent: AgentKind::default(),
            model: None,
            timeout: DEFAULT_JUDGE_TIMEOUT,
            votes: 1,
            template: None,
        }
    }
}

/// `[judge]` as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JudgeTable {
    agent: Option<AgentKind>,
    model: Option<String>,
    pub(super) timeout_s: Option<toml::Spanned<toml::Value>>,
    pub(super) votes: Option<toml::Spanned<toml::Value>>,
    template: Option<toml::Spanned<String>>,
}

impl JudgeSettings {
    /// Applies the table, but for its numbers; hands every wrong value to `wrong`.
    pub(super) fn apply(&mut self, table: JudgeTable, mut wrong: impl FnMut(Range<usize>, String)) {
        self.agent = table.agent.unwrap_or(self.agent);
        self.model = table.model.or(self.model.take());
        if let Some(template) = table.template {
            match RelativePath::parse(template.get_ref()) {
                Ok(path) => self.template = Some(path),
                Err(why) => wrong(template.span(), format!("the judge's template {:?} {why}", template.get_ref())),
            }
        }
    }
}
