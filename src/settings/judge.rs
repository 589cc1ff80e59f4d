//! `[judge]`: which agent judges by the rubric, and when.

use std::ops::Range;
use std::time::Duration;

use serde::Deserialize;

use crate::cases::case::LONGEST_TIMEOUT;
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
            agent: AgentKind::Codex,
            model: None,
            timeout: DEFAULT_JUDGE_TIMEOUT,
            votes: 1,
            template: None,
        }
    }
}

/// `[judge]` as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JudgeTable {
    agent: Option<AgentKind>,
    model: Option<String>,
    timeout_s: Option<toml::Spanned<i64>>,
    votes: Option<toml::Spanned<i64>>,
    template: Option<toml::Spanned<String>>,
}

impl JudgeSettings {
    /// Applies the table; hands every wrong value to `wrong`.
    pub(super) fn apply(&mut self, table: JudgeTable, mut wrong: impl FnMut(Range<usize>, String)) {
        self.agent = table.agent.unwrap_or(self.agent);
        self.model = table.model.or(self.model.take());
        let mut number = |value: Option<toml::Spanned<i64>>, name: &str, most: u64| {
            let value = value?;
            let read = u64::try_from(*value.get_ref()).ok().filter(|number| (1..=most).contains(number));
            if read.is_none() {
                wrong(value.span(), format!("`judge.{name}` is {}; expected 1 to {most}", value.get_ref()));
            }
            read
        };
        let timeout = number(table.timeout_s, "timeout_s", LONGEST_TIMEOUT.as_secs());
        let votes = number(table.votes, "votes", u64::from(MOST_VOTES));
        self.timeout = timeout.map_or(self.timeout, Duration::from_secs);
        self.votes = votes.and_then(|votes| u32::try_from(votes).ok()).unwrap_or(self.votes);
        if let Some(template) = table.template {
            match RelativePath::parse(template.get_ref()) {
                Ok(path) => self.template = Some(path),
                Err(why) => wrong(template.span(), format!("the judge's template {:?} {why}", template.get_ref())),
            }
        }
    }

    /// Applies a value of the environment: `1` has every trial judged, `0` none.
    ///
    /// # Errors
    /// The values that are allowed.
    pub(super) fn apply_wanted(&mut self, value: &str) -> Result<(), &'static str> {
        self.wanted = match value {
            "1" | "true" => Some(true),
            "0" | "false" => Some(false),
            "" => self.wanted,
            _ => return Err("0 or 1"),
        };
        Ok(())
    }
}
