//! Public prices of models, which the profiles of their agents have. They are those of the standard tier and of short contexts:
//! very long contexts cost more. A model whose price depends on the length of its prompt, or is a
//! promotion, has none.

use crate::profile;
use crate::settings::Price;

/// The day up to which these prices are known to be valid.
pub const PRICES_OF: &str = "2026-11-25";

/// The models with their prices.
pub fn models() -> impl Iterator<Item = &'static (&'static str, [f64; 3])> {
    profile::listed().flat_map(|profile| profile.prices)
}

/// The price of a model by its name, with or without a date at its end.
pub(super) fn price(model: &str) -> Option<Price> {
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
        let of = |model: String| price(&model).map(|price| price.input);
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
