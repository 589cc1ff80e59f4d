//! What a live run does besides, when its trials end, and its limits; limits that no setting can exceed, and defaults.

use std::time::Duration;

use crate::settings::Settings;
use crate::settings::keys::keys;
use crate::settings::problems::filled;
use crate::stats::real;
use crate::text::word_enum::word_enum;

/// The default timeout of a case: 180 s, as in other runners of prompts.csv.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(180);

/// The longest timeout of a case: a day.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(86_400);

/// Maximum number of turns that a case may allow.
pub const MOST_TURNS: u64 = 10_000;

/// The longest pause after the provider refused a trial.
pub const LONGEST_RETRY_WAIT: Duration = Duration::from_secs(300);

word_enum! {
    /// Whether a live run calibrates its agents first.
    #[derive(Default)]
    pub enum Calibrate {
        /// Those of whose version nobody knows whether it is read rightly.
        #[default]
        Auto = "auto",
        /// None, and what earlier calibrations found is not used.
        Off = "off",
        /// All.
        Always = "always",
    }
}

word_enum! {
    /// When a live trial ends.
    #[derive(Default)]
    pub enum Stop {
        /// When its agent has finished.
        #[default]
        End = "end",
        /// As soon as nothing that follows can change its verdict.
        Settled = "settled",
    }
}

keys! {
    RunKeys of "[run]" {
        lift: bool, "`false`",
            "whether `run` runs each case without the skills too, as [`run --lift`](../compare.md) does; `--lift=false`, and options such as `--replay`, `--record` and `--resume`, turn it off",
            |to, flag, _| to.lift = flag;
        #[serde(default, deserialize_with = "filled")]
        image: String, "`\"skill-evals\"`",
            "the image of containers, if `isolation` is `\"docker\"`. An untrusted repository cannot set it",
            |to, image, _| to.isolation.image = Some(image);
    }
}

impl Settings {
    /// When live trials end. Trials that become recordings always run to their end.
    pub fn stops(&self) -> Stop {
        if self.record { Stop::End } else { self.stop.unwrap_or_default() }
    }

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
