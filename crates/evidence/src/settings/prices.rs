//! `[prices]`: what tokens cost if an agent does not report it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::settings::{Problems, price_table};
use crate::text::word_enum::word_enum;

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
        own.or_else(|| Some((models.iter().find_map(|model| price_table::price(model))?, CostSource::Table)))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PriceTable {
    input: toml::Spanned<f64>,
    cached_input: Option<toml::Spanned<f64>>,
    cache_write: Option<toml::Spanned<f64>>,
    output: toml::Spanned<f64>,
}

impl PriceTable {
    /// The price. Cached tokens cost as much as others by default: a guess must not exceed a limit.
    pub(super) fn price(&self, problems: &mut Problems<'_>) -> Price {
        let optional = [self.cached_input.as_ref(), self.cache_write.as_ref()];
        for amount in [&self.input, &self.output].into_iter().chain(optional.into_iter().flatten()) {
            if !(0.0..=1e6).contains(amount.get_ref()) {
                let message =
                    format!("a price is {}; expected US dollars for a million tokens, 0 or more", amount.get_ref());
                problems.add(amount.span(), message);
            }
        }
        let input = *self.input.get_ref();
        let [cached_input, cache_write] = optional.map(|amount| amount.map_or(input, |amount| *amount.get_ref()));
        Price { input, cached_input, cache_write, output: *self.output.get_ref() }
    }
}
