//! `[prices]`: what tokens cost where an agent does not say.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;

/// What a million tokens cost, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Read by the model and not found in its cache.
    pub input: f64,
    /// Read from its cache.
    pub cached_input: f64,
    /// Written by it.
    pub output: f64,
}

/// Prices by the name of a model, or of an agent for whatever model it asks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices(pub BTreeMap<String, Price>);

impl Prices {
    /// The price for `model` under `agent`: that of the model where there is one, else that of the agent.
    pub fn of(&self, agent: &str, model: Option<&str>) -> Option<Price> {
        model.and_then(|model| self.0.get(model)).or_else(|| self.0.get(agent)).copied()
    }
}

/// A price as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PriceTable {
    input: toml::Spanned<f64>,
    cached_input: Option<toml::Spanned<f64>>,
    output: toml::Spanned<f64>,
}

impl PriceTable {
    /// The price that the table says; hands every wrong value to `wrong`. Cached tokens cost as much as others where
    /// nothing else is said: a limit must not be passed by a guess.
    pub(super) fn read(&self, mut wrong: impl FnMut(Range<usize>, String)) -> Price {
        let mut amount = |value: &toml::Spanned<f64>| {
            let amount = *value.get_ref();
            if !(0.0..=1e6).contains(&amount) {
                wrong(
                    value.span(),
                    format!("a price is {amount}; expected US dollars for a million tokens, 0 or more"),
                );
            }
            amount
        };
        let (input, output) = (amount(&self.input), amount(&self.output));
        let cached_input = self.cached_input.as_ref().map_or(input, &mut amount);
        Price { input, cached_input, output }
    }
}
