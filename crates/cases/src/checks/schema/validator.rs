//! Applies a JSON schema to answers.

use std::fmt;

pub(super) use jsonschema::Validator;
use serde_json::Value;

use super::SchemaError;
use crate::text::cut;

pub(super) fn compile(schema: &Value) -> Result<Validator, SchemaError> {
    jsonschema::validator_for(schema).map_err(|error| {
        let at = error.instance_path().to_string();
        let at = if at.is_empty() { at } else { format!(" at {at}") };
        SchemaError::Invalid { at, why: short(&error) }
    })
}

/// The first `most` things in which `answer` does not follow the schema.
pub(super) fn problems(validator: &Validator, answer: &Value, most: usize) -> Vec<String> {
    let errors = validator.iter_errors(answer).take(most);
    errors.map(|error| format!("{} at `{}`", short(&error), error.instance_path())).collect()
}

fn short(error: &impl fmt::Display) -> String {
    cut::start(&error.to_string(), 200).replace(char::is_control, " ")
}
