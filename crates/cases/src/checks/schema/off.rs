//! Takes the place of the validator if the feature `schemas` is off: no schema can be used then.

pub(super) use std::convert::Infallible as Validator;

use serde_json::Value;

use super::SchemaError;

pub(super) fn compile(_: &Value) -> Result<Validator, SchemaError> {
    Err(SchemaError::FeatureOff)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as the validator does")]
pub(super) fn problems(validator: &Validator, _: &Value, _: &Value, _: usize) -> Option<Vec<String>> {
    match *validator {}
}
