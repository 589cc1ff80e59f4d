//! Tokens as codex counts them, on standard output and in its rollout files alike.

use serde::Deserialize;

use crate::trace::Usage;

/// Tokens of one request or turn.
#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names on the wire")]
pub(super) struct CodexTokens {
    input_tokens: Option<u64>,
    cached_input_tokens: Option<u64>,
    cache_write_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    reasoning_output_tokens: Option<u64>,
}

impl CodexTokens {
    /// Those read.
    pub(super) fn read(&self) -> u64 {
        self.input_tokens.unwrap_or(0)
    }

    /// Those written, where that is told.
    pub(super) fn written(&self) -> Option<u64> {
        self.output_tokens.filter(|written| *written > 0)
    }

    /// Whether it tells both: what is not told is not nothing.
    pub(super) fn are_whole(&self) -> bool {
        self.input_tokens.is_some() && self.output_tokens.is_some()
    }

    /// The sum of both.
    pub(super) fn added_to(&self, sum: Usage) -> Usage {
        plus(
            sum,
            Usage {
                input_tokens: self.read(),
                cached_input_tokens: self.cached_input_tokens.unwrap_or(0),
                cache_write_input_tokens: self.cache_write_input_tokens.unwrap_or(0),
                output_tokens: self.output_tokens.unwrap_or(0),
                reasoning_output_tokens: self.reasoning_output_tokens.unwrap_or(0),
                cost_usd: None,
            },
        )
    }
}

/// The sum of both; codex tells no cost.
pub(super) fn plus(a: Usage, b: Usage) -> Usage {
    Usage {
        input_tokens: a.input_tokens.saturating_add(b.input_tokens),
        cached_input_tokens: a.cached_input_tokens.saturating_add(b.cached_input_tokens),
        cache_write_input_tokens: a.cache_write_input_tokens.saturating_add(b.cache_write_input_tokens),
        output_tokens: a.output_tokens.saturating_add(b.output_tokens),
        reasoning_output_tokens: a.reasoning_output_tokens.saturating_add(b.reasoning_output_tokens),
        cost_usd: None,
    }
}
