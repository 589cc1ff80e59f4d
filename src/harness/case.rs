//! Cases in Rust.

use std::panic::Location;

use serde_json::{Map, Value, json};

use crate::cases::rust_case::RustCase;
use crate::text::diagnostic::SourceLocation;

/// What a case asks and expects. Every field that a case file can have is one of [`set`](Self::set).
#[derive(Clone, Debug)]
pub struct CaseBuilder(RustCase);

impl CaseBuilder {
    pub(super) fn new(skill: String, id: String, place: &Location<'_>) -> Self {
        let place = SourceLocation {
            line: usize::try_from(place.line()).unwrap_or_default(),
            column: usize::try_from(place.column()).unwrap_or_default(),
            ..SourceLocation::file(place.file())
        };
        Self(RustCase { skill, id, place, fields: Map::new() })
    }

    pub(super) fn into_case(self) -> RustCase {
        self.0
    }

    /// Sets what the agent is asked.
    #[must_use]
    pub fn prompt(self, prompt: impl Into<String>) -> Self {
        self.set("prompt", prompt.into())
    }

    /// Sets whether the skill should be activated. By default, that is not checked.
    #[must_use]
    pub fn should_trigger(self, should_trigger: bool) -> Self {
        self.set("should_trigger", should_trigger)
    }

    /// Adds a regular expression that the final message must match.
    #[must_use]
    pub fn must_include(self, pattern: impl Into<String>) -> Self {
        self.push("must_include", pattern.into())
    }

    /// Adds a regular expression that the final message must not match.
    #[must_use]
    pub fn must_not_include(self, pattern: impl Into<String>) -> Self {
        self.push("must_not_include", pattern.into())
    }

    /// Adds a tag.
    #[must_use]
    pub fn tag(self, tag: impl Into<String>) -> Self {
        self.push("tags", tag.into())
    }

    /// Adds a file with this content to the workspace.
    #[must_use]
    pub fn file(self, path: impl Into<String>, content: impl Into<String>) -> Self {
        self.push("files", json!({ "path": path.into(), "content": content.into() }))
    }

    /// Sets a field by its column in `prompts.csv` or its key in a task file, to the value that a task file would have.
    #[must_use]
    pub fn set(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.0.fields.insert(field.to_owned(), value.into());
        self
    }

    fn push(mut self, field: &str, value: impl Into<Value>) -> Self {
        let values = self.0.fields.entry(field).or_insert_with(|| json!([]));
        match values {
            Value::Array(values) => values.push(value.into()),
            other => *other = json!([other.take(), value.into()]),
        }
        self
    }
}
