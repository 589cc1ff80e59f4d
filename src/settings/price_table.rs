//! Public prices of models, in US dollars for a million tokens: fresh input, input from a cache, output. They are those of the
//! standard tier and of short contexts. A request of more than 272,000 tokens to OpenAI, and writing to a cache, cost more.
//!
//! Sources: <https://developers.openai.com/api/docs/pricing> and the pages of its models, and
//! <https://platform.claude.com/docs/en/about-claude/pricing> and the pages of its models. A model whose price depends on the
//! length of its prompt, or is a promotion, is not here.

use crate::settings::Price;

/// The day up to which these prices are known to be valid.
pub const PRICES_OF: &str = "2026-10-27";

/// The models with their prices.
pub const TABLE: [(&str, f64, f64, f64); 22] = [
    ("gpt-6.1-sol", 2.0, 0.1, 10.0),
    ("gpt-6.1-terra", 1.0, 0.05, 5.0),
    ("gpt-6-astra", 10.0, 1.0, 50.0),
    ("gpt-6-sol", 2.0, 0.2, 10.0),
    ("gpt-6-luna", 0.1, 0.01, 0.5),
    ("gpt-5.6-terra", 2.0, 0.2, 12.0),
    ("gpt-5.6-luna", 0.2, 0.02, 1.2),
    ("gpt-5.5", 5.0, 0.5, 30.0),
    ("gpt-5.4", 2.5, 0.25, 15.0),
    ("gpt-5.4-mini", 0.75, 0.075, 4.5),
    ("gpt-5.3-codex", 1.75, 0.175, 14.0),
    ("gpt-5.2", 1.75, 0.175, 14.0),
    ("gpt-5.2-codex", 1.75, 0.175, 14.0),
    ("gpt-5", 1.25, 0.125, 10.0),
    ("gpt-5-codex", 1.25, 0.125, 10.0),
    ("gpt-5-mini", 0.25, 0.025, 2.0),
    ("claude-opus-5-5", 4.0, 0.2, 20.0),
    ("claude-opus-5", 5.0, 0.5, 25.0),
    ("claude-opus-4-5", 5.0, 0.5, 25.0),
    ("claude-sonnet-5-5", 2.0, 0.1, 10.0),
    ("claude-sonnet-5", 2.0, 0.2, 10.0),
    ("claude-haiku-4-5", 1.0, 0.1, 5.0),
];

/// The price of a model by its name, with or without a date at its end.
pub(super) fn price(model: &str) -> Option<Price> {
    let is_date = |end: &str| {
        let digits = end.chars().filter(char::is_ascii_digit).count();
        digits == 8 && end.chars().all(|c| c.is_ascii_digit() || c == '-')
    };
    let is_named = |name: &str| {
        let end = model.strip_prefix(name)?;
        (end.is_empty() || end.strip_prefix('-').is_some_and(is_date)).then_some(())
    };
    let (_, input, cached_input, output) = TABLE.into_iter().find(|(name, ..)| is_named(name).is_some())?;
    Some(Price { input, cached_input, output })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_the_price_of_its_own_name_only() {
        let input = |model: &str| price(model).map(|price| price.input);
        assert_eq!(input("gpt-5.4"), Some(2.5));
        assert_eq!((input("gpt-5.4-2026-03-05"), input("claude-haiku-4-5-20251001")), (Some(2.5), Some(1.0)));
        for unknown in ["gpt-5.4-nano", "gpt-5.6-sol", "gpt-5.", "claude-haiku-5-5", "gpt-5-2026", ""] {
            assert_eq!(input(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn every_model_is_in_the_table_once_and_a_cache_costs_less() {
        for (place, (name, input, cached, output)) in TABLE.into_iter().enumerate() {
            assert!(TABLE[..place].iter().all(|(other, ..)| *other != name), "{name}");
            assert!(cached < input && input < output, "{name}");
        }
    }
}
