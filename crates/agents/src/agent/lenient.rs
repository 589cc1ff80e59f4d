//! Fields of an event that may have an unexpected type: they are unknown then, and the rest of the event still counts.

use serde::{Deserialize, Deserializer};

use serde_json::value::RawValue;

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
