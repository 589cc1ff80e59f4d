//! The cost of a trial, or of an attempt at one, in tokens and money.

use serde::{Deserialize, Serialize};

use crate::settings::mode::AgentKind;
use crate::settings::{CostSource, Prices};
use crate::trace::Usage;

/// The known cost of an attempt, of the agent and its judge together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct AttemptCost {
    /// Tokens read and written, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// US dollars, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// What the dollars are known by; absent if the agents reported them.
    #[serde(default, skip_serializing_if = "CostSource::is_reported")]
    pub cost_by: CostSource,
    /// The tokens that were read from a cache, if any are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// How many US dollars more it would have cost without caches, by `prices`; absent if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_usd: Option<f64>,
    /// Whether it used more tokens than are known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tokens_incomplete: bool,
    /// Whether it cost more than is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_incomplete: bool,
}

impl AttemptCost {
    /// The cost of one program: as it reported, or by `prices` if it reported no cost. `models` are the names of its model.
    pub fn by(agent: AgentKind, models: &[&str], usage: Option<&Usage>, prices: &Prices) -> Self {
        let Some(usage) = usage else {
            return Self { tokens_incomplete: true, cost_incomplete: true, ..Self::default() };
        };
        let reported = usage.cost_usd.map(|cost| (cost, CostSource::Reported));
        let known = prices.of(agent.as_str(), models);
        let by_price = || known.map(|(by, source)| (price(usage, by), source));
        let is_cached = usage.cached_input_tokens > 0 || usage.cache_write_input_tokens > 0;
        let (cost_usd, cost_by) = reported.or_else(by_price).unzip();
        Self {
            tokens: Some(usage.total_tokens()),
            cost_usd,
            cost_by: cost_by.unwrap_or_default(),
            cached_tokens: is_cached.then_some(usage.cached_input_tokens),
            saved_usd: known.filter(|_| is_cached).map(|(by, _)| saved(usage, by)),
            tokens_incomplete: false,
            cost_incomplete: cost_usd.is_none(),
        }
    }

    /// The cost of both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            tokens: sum(self.tokens, other.tokens, u64::saturating_add),
            cost_usd: sum(self.cost_usd, other.cost_usd, std::ops::Add::add),
            cost_by: match (self.cost_usd, other.cost_usd) {
                (None, _) => other.cost_by,
                (_, None) => self.cost_by,
                _ if self.cost_by == other.cost_by => self.cost_by,
                _ => CostSource::Several,
            },
            cached_tokens: sum(self.cached_tokens, other.cached_tokens, u64::saturating_add),
            saved_usd: sum(self.saved_usd, other.saved_usd, std::ops::Add::add),
            tokens_incomplete: self.tokens_incomplete || other.tokens_incomplete,
            cost_incomplete: self.cost_incomplete || other.cost_incomplete,
        }
    }
}

/// The sum of the known values; `None` if none is known.
fn sum<T>(a: Option<T>, b: Option<T>, both: fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(both(a, b)),
        (a, b) => a.or(b),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^52")]
fn price(usage: &Usage, price: crate::settings::Price) -> f64 {
    let (all, output) = (usage.input_tokens as f64, usage.output_tokens as f64);
    (all * price.input + output * price.output) / 1e6 - saved(usage, price)
}

/// What reading from a cache saved, less what writing to it cost more.
#[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^52")]
fn saved(usage: &Usage, price: crate::settings::Price) -> f64 {
    let read = usage.cached_input_tokens.min(usage.input_tokens);
    let written = usage.cache_write_input_tokens.min(usage.input_tokens - read);
    (read as f64 * (price.input - price.cached_input) - written as f64 * (price.cache_write - price.input)) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_that_an_agent_reports_is_too_large() {
        let most = AttemptCost { tokens: Some(u64::MAX), ..AttemptCost::default() };
        assert_eq!(most.and(most).tokens, Some(u64::MAX));
    }

    fn usage(cost_usd: Option<f64>) -> Usage {
        Usage {
            input_tokens: 1_000_000,
            cached_input_tokens: 400_000,
            output_tokens: 10_000,
            cost_usd,
            ..Usage::default()
        }
    }

    #[test]
    fn a_price_fills_in_only_what_the_agent_did_not_tell() {
        let mut prices = Prices::default();
        let of = |prices: &Prices, cost| AttemptCost::by(AgentKind::Codex, &["big"], Some(&usage(cost)), prices);
        assert_eq!((of(&prices, None).cost_usd, of(&prices, None).cost_incomplete), (None, true));
        prices.0.insert(
            "codex".into(),
            crate::settings::Price { input: 1.0, cached_input: 0.1, cache_write: 1.0, output: 10.0 },
        );
        assert!(of(&prices, None).cost_usd.is_some_and(|cost| (cost - 0.74).abs() < 1e-9));
        prices.0.insert(
            "big".into(),
            crate::settings::Price { input: 2.0, cached_input: 2.0, cache_write: 2.0, output: 0.0 },
        );
        assert_eq!((of(&prices, None).cost_usd, of(&prices, Some(0.5)).cost_usd), (Some(2.0), Some(0.5)));
    }

    #[test]
    fn what_a_sum_is_known_by_is_never_mixed_silently() {
        let of = |model, cost| AttemptCost::by(AgentKind::Codex, &[model], Some(&usage(cost)), &Prices::default());
        let (told, table, unknown) = (of("x", Some(0.5)), of("gpt-5.4", None), of("x", None));
        assert_eq!((told.cost_by, table.cost_by), (CostSource::Reported, CostSource::Table));
        assert!(table.cost_usd.is_some_and(|cost| (cost - (0.6 * 2.5 + 0.4 * 0.25 + 0.15)).abs() < 1e-9));
        assert_eq!((table.and(table).cost_by, unknown.and(table).cost_by), (CostSource::Table, CostSource::Table));
        assert_eq!(
            (told.and(table).cost_by, AttemptCost::default().and(told).cost_by),
            (CostSource::Several, CostSource::Reported)
        );
    }

    #[test]
    fn what_caches_saved_is_what_reads_cost_less_and_writes_cost_more() {
        let cached = |written, cost| Usage { cache_write_input_tokens: written, ..usage(cost) };
        let of =
            |model, usage: Usage| AttemptCost::by(AgentKind::ClaudeCli, &[model], Some(&usage), &Prices::default());
        let near = |amount: Option<f64>, expected: f64| amount.is_some_and(|amount| (amount - expected).abs() < 1e-9);
        let read = of("claude-haiku-4-5", cached(0, Some(9.0)));
        assert_eq!((read.cached_tokens, read.cost_usd), (Some(400_000), Some(9.0)), "as the agent reported it");
        assert!(near(read.saved_usd, 0.4 * 0.9), "{read:?}");
        let both = of("claude-haiku-4-5", cached(200_000, None));
        assert!(near(both.saved_usd, 0.4 * 0.9 - 0.2 * 0.25), "{both:?}");
        assert!(near(both.cost_usd, 0.4 * 0.1 + 0.2 * 1.25 + 0.4 + 0.05), "{both:?}");
        assert!(near(read.and(both).saved_usd, 0.8 * 0.9 - 0.2 * 0.25));
        assert_eq!((of("x", cached(0, None)).saved_usd, of("x", cached(0, None)).cached_tokens), (None, Some(400_000)));
        // An agent that claims more than it read.
        assert!(near(of("claude-haiku-4-5", cached(u64::MAX, None)).saved_usd, 0.4 * 0.9 - 0.6 * 0.25));
    }

    #[test]
    fn a_sum_with_an_unknown_part_says_that_there_is_more() {
        let known = AttemptCost { tokens: Some(5), cost_usd: Some(0.5), ..AttemptCost::default() };
        let both = known.and(AttemptCost::by(AgentKind::Codex, &[], None, &Prices::default()));
        assert_eq!(
            (both.tokens, both.cost_usd, both.tokens_incomplete, both.cost_incomplete),
            (Some(5), Some(0.5), true, true)
        );
    }
}
