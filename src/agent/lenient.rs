//! Fields of an event that may have an unexpected type: they are unknown then, and the rest of the event still counts.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The field; `None` if it is null or has another type.
pub(super) fn option<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).ok())
}

/// The field; its default if it is null or has another type.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    option(deserializer).map(Option::unwrap_or_default)
}
