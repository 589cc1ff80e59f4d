//! Fields of an event that may have an unexpected type: they are unknown then, and the rest of the event still counts.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
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

/// The value of a field of a JSON object of which only the start is known; `None` if the start does not have all of it.
pub(super) fn field_of_start(start: &[u8], field: &str) -> Option<Value> {
    let mut found = None;
    // It ends with an error where the start ends.
    let _ = FieldFinder { field, found: &mut found }.deserialize(&mut serde_json::Deserializer::from_slice(start));
    found
}

struct FieldFinder<'f> {
    field: &'f str,
    found: &'f mut Option<Value>,
}

impl<'de> DeserializeSeed<'de> for FieldFinder<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FieldFinder<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<Cow<'de, str>>()? {
            if name == self.field {
                *self.found = Some(fields.next_value()?);
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::field_of_start;

    #[test]
    fn a_field_is_found_wherever_it_is_and_only_at_the_top() {
        let line =
            br#"{"nested":{"type":"wrong"},"text":"\"type\":\"wrong\"","type":"result","is_error":true,"rest":"abc"#;
        assert_eq!(field_of_start(line, "type"), Some(json!("result")));
        assert_eq!(field_of_start(line, "is_error"), Some(json!(true)));
        assert_eq!(field_of_start(line, "rest"), None, "it is cut");
        assert_eq!(field_of_start(b"[1]", "type"), None);
    }
}
