//! Limits that no setting can exceed, defaults, and the limits of a run.

use std::time::Duration;

use crate::settings::Settings;
use crate::stats::real;

/// The default timeout of a case: 180 s, as in other runners of prompts.csv.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(180);

/// The longest timeout of a case: a day.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(86_400);

/// Maximum number of turns that a case may allow.
pub const MOST_TURNS: u64 = 10_000;

/// The longest pause after the provider refused a trial.
pub const LONGEST_RETRY_WAIT: Duration = Duration::from_secs(300);

impl Settings {
    /// Reduces the limits of a run to those of a part that has this many of its `whole` trials.
    pub fn limit_to_part(&mut self, part: u64, whole: u64) {
        let whole = whole.max(1);
        let tokens = |limit: u64| u128::from(limit) * u128::from(part) / u128::from(whole);
        self.max_tokens = self.max_tokens.map(|limit| u64::try_from(tokens(limit)).unwrap_or(limit));
        // Rounded down, so that all parts together keep to the limit.
        let dollars = |limit: f64| (limit * real(part) / real(whole) * 1e6).floor() / 1e6;
        self.max_cost_usd = self.max_cost_usd.map(dollars);
    }

    /// The limits of the run in money and tokens, in words.
    pub fn limit(&self) -> Option<String> {
        let limits = [
            self.max_cost_usd.map(|limit| format!("${limit}")),
            self.max_tokens.map(|limit| format!("{limit} tokens")),
        ];
        let limits: Vec<String> = limits.into_iter().flatten().collect();
        (!limits.is_empty()).then(|| limits.join(" and "))
    }
}
