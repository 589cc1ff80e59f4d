//! Applies a JSON schema to answers.

use std::fmt;

pub(super) use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError};
use serde_json::Value;

use super::SchemaError;
use crate::checks::pattern::steps_for;
use crate::text::cut;

pub(super) fn compile(schema: &Value) -> Result<Validator, SchemaError> {
    with_steps(schema, steps_for(0)).map_err(|error| {
        let at = error.instance_path().to_string();
        let at = if at.is_empty() { at } else { format!(" at {at}") };
        SchemaError::Invalid { at, why: short(&error) }
    })
}

/// The validator whose searches may go back this often.
fn with_steps(schema: &Value, steps: usize) -> Result<Validator, ValidationError<'static>> {
    let patterns = PatternOptions::fancy_regex().backtrack_limit(steps);
    jsonschema::options().with_pattern_options(patterns).build(schema)
}

/// The first `most` things in which `answer` does not follow the schema of the validator. `None` if they depend on a search that
/// took too many steps.
pub(super) fn problems(validator: &Validator, schema: &Value, answer: &Value, most: usize) -> Option<Vec<String>> {
    let steps = steps_for(longest_text(answer));
    let slower = if steps == steps_for(0) { None } else { Some(with_steps(schema, steps).ok()?) };
    let (mut problems, mut is_finished) = (Vec::new(), true);
    for error in slower.as_ref().unwrap_or(validator).iter_errors(answer) {
        if matches!(error.kind(), ValidationErrorKind::BacktrackLimitExceeded { .. }) {
            is_finished = false;
        } else {
            problems.push(format!("{} at `{}`", short(&error), error.instance_path()));
        }
        if problems.len() == most {
            break;
        }
    }
    (is_finished || !problems.is_empty()).then_some(problems)
}

/// The bytes of the longest text in a value.
fn longest_text(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(longest_text).max().unwrap_or_default(),
        Value::Object(map) => {
            map.iter().map(|(key, value)| key.len().max(longest_text(value))).max().unwrap_or_default()
        }
        _ => 0,
    }
}

fn short(error: &impl fmt::Display) -> String {
    cut::start(&error.to_string(), 200).replace(char::is_control, " ")
}
