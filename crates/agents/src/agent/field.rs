//! Fields that lines of several agents have.

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::trace::{Usage, spoken};

/// The text in a field.
pub(super) fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

/// The name, path or command in a field. One of blanks alone is none.
pub(super) fn named(value: &Value, key: &str) -> Option<String> {
    text(value, key).and_then(spoken)
}

/// The tokens of a request, by the fields that have them: input, what of it was read from a cache and written to one, output, and
/// what of it were thoughts. A field that the agent does not have is empty.
pub(super) fn usage(value: &Value, fields: [&str; 5]) -> Usage {
    let [input_tokens, cached_input_tokens, cache_write_input_tokens, output_tokens, reasoning_output_tokens] =
        fields.map(|key| value[key].as_u64().unwrap_or(0));
    Usage {
        input_tokens,
        cached_input_tokens,
        cache_write_input_tokens,
        output_tokens,
        reasoning_output_tokens,
        cost_usd: None,
    }
}

/// The tokens of a request, if an agent reports as input what no cache had.
pub(super) fn with_cached_input(usage: Usage) -> Usage {
    let cached = usage.cached_input_tokens.saturating_add(usage.cache_write_input_tokens);
    Usage { input_tokens: usage.input_tokens.saturating_add(cached), ..usage }
}

/// The text that the model sees in the result of a call: a text, or a list of parts. `None` without a result.
pub(super) fn plain(result: &Value) -> Option<String> {
    match result {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => Some(parts.iter().filter_map(|part| part["text"].as_str()).collect()),
        result => Some(result.to_string()),
    }
}

/// A time in seconds.
pub(super) fn seconds(value: &Value) -> Option<Duration> {
    Duration::try_from_secs_f64(value.as_f64()?).ok()
}

/// The tool of an MCP server as every agent names it, if its name here is this prefix, the server, this separator and the tool.
pub(super) fn served(name: &str, servers: &[String], prefix: &str, separator: &str) -> Option<String> {
    servers.iter().find_map(|server| {
        let tool = name.strip_prefix(prefix)?.strip_prefix(server.as_str())?.strip_prefix(separator)?;
        Some(format!("mcp__{server}__{tool}"))
    })
}

// Fields of an event that may have an unexpected type: they are unknown then, and the rest of the event still counts.

/// A field; `None` if it is absent, null or has another type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lenient<T>(pub Option<T>);

impl<T> Default for Lenient<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Option::<&RawValue>::deserialize(deserializer)?;
        Ok(Self(raw.and_then(|raw| serde_json::from_str(raw.get()).ok())))
    }
}
