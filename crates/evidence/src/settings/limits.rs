//! What a live run does besides, when its trials end, its limits, and what tokens cost; limits that no setting can exceed, and
//! defaults.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use serde::Serialize;
use toml::Spanned;

use crate::profile;
use crate::settings::keys::keys;
use crate::settings::problems::filled;
use crate::settings::{Problems, Settings};
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

// `[prices]`: what tokens cost if an agent does not report it. The public prices of models, which the profiles of their agents have,
// are those of the standard tier and of short contexts: very long contexts cost more. A model whose price depends on the length of its
// prompt, or is a promotion, has none.

/// What a million tokens cost, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Price {
    /// Tokens that the model read and that were not in its cache.
    pub input: f64,
    /// Tokens that it read from its cache.
    pub cached_input: f64,
    /// Tokens that it read and wrote to its cache.
    pub cache_write: f64,
    /// Tokens that it wrote.
    pub output: f64,
}

word_enum! {
    /// What a cost is known by.
    #[derive(Default)]
    pub enum CostSource {
        /// The agent reported it.
        #[default]
        Reported = "reported",
        /// `[prices]` in evals.toml.
        Settings = "settings",
        /// The built-in table of prices.
        Table = "table",
        /// Several of these, for parts of it.
        Several = "several",
    }
}

impl CostSource {
    pub fn is_reported(&self) -> bool {
        *self == Self::Reported
    }
}

/// Prices by the name of a model, or of an agent with any model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Prices(pub BTreeMap<String, Price>);

impl Prices {
    /// The price of the first of `models` that has one, else that of `agent`, else the built-in one of a model; and where it is
    /// from.
    pub fn of(&self, agent: &str, models: &[&str]) -> Option<(Price, CostSource)> {
        let own = models.iter().find_map(|model| self.0.get(*model)).or_else(|| self.0.get(agent));
        let own = own.map(|price| (*price, CostSource::Settings));
        own.or_else(|| Some((models.iter().find_map(|model| built_in_price(model))?, CostSource::Table)))
    }
}

keys! {
    PriceKeys of "[prices.<model or agent>]" {
        input: Spanned<f64>, "required", "dollars per million tokens that the model reads";
        cached_input: Spanned<f64>, "as `input`", "dollars per million tokens read from its cache";
        cache_write: Spanned<f64>, "as `input`", "dollars per million tokens that it reads and writes to its cache";
        output: Spanned<f64>, "required", "dollars per million tokens that it writes";
    }
}

impl PriceKeys {
    /// The price. Cached tokens cost as much as others by default: a guess must not exceed a limit.
    pub(super) fn price(&self, range: Range<usize>, problems: &mut Problems<'_>) -> Price {
        let Self { input, cached_input, cache_write, output } = self;
        if let Some((key, _)) = [("input", input), ("output", output)].iter().find(|(_, amount)| amount.is_none()) {
            problems.add(range, format!("missing field `{key}`"));
        }
        for amount in [input, output, cached_input, cache_write].into_iter().flatten() {
            if !(0.0..=1e6).contains(amount.get_ref()) {
                let message =
                    format!("a price is {}; expected US dollars for a million tokens, 0 or more", amount.get_ref());
                problems.add(amount.span(), message);
            }
        }
        let dollars =
            |amount: &Option<Spanned<f64>>| amount.as_ref().or(input.as_ref()).map_or(0.0, |amount| *amount.get_ref());
        let [input, cached_input, cache_write, output] = [input, cached_input, cache_write, output].map(dollars);
        Price { input, cached_input, cache_write, output }
    }
}

/// The day up to which these prices are known to be valid.
pub const PRICES_OF: &str = "2026-11-25";

/// The models with their prices.
pub fn models() -> impl Iterator<Item = &'static (&'static str, [f64; 3])> {
    profile::listed().flat_map(|profile| profile.prices)
}

/// The price of a model by its name, with or without a date at its end.
fn built_in_price(model: &str) -> Option<Price> {
    let is_date = |end: &str| {
        let digits = end.chars().filter(char::is_ascii_digit).count();
        digits == 8 && end.chars().all(|c| c.is_ascii_digit() || c == '-')
    };
    let is_named = |name: &str| {
        let end = model.strip_prefix(name);
        end.is_some_and(|end| end.is_empty() || end.strip_prefix('-').is_some_and(is_date))
    };
    profile::listed().find_map(|profile| {
        let (_, [input, cached_input, output]) = *profile.prices.iter().find(|(name, _)| is_named(name))?;
        Some(Price { input, cached_input, cache_write: input * profile.cache_write, output })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_the_price_of_its_own_name_only() {
        let (name, [input, ..]) = models().next().expect("a model");
        let of = |model: String| built_in_price(&model).map(|price| price.input);
        for dated in ["", "-2026-03-05", "-20260305"] {
            assert_eq!(of(format!("{name}{dated}")), Some(*input), "{dated}");
        }
        for other in ["-nano", "-2026", ".9", "x"] {
            assert_eq!(of(format!("{name}{other}")), None, "{other}");
        }
    }

    #[test]
    fn every_model_is_in_the_table_once_and_a_cache_costs_less() {
        for (place, (name, [input, cached, output])) in models().enumerate() {
            assert!(models().take(place).all(|(other, _)| other != name), "{name}");
            assert!(cached < input && input < output, "{name}");
        }
    }
}
