//! A JSON schema that a user wrote, and whether an answer follows it. A short schema whose subschemas refer to each other can
//! take forever, so its work is counted first.

#[cfg(not(feature = "schemas"))]
mod off;
#[cfg(feature = "schemas")]
mod validator;
mod work;

use serde_json::Value;
use thiserror::Error;

#[cfg(not(feature = "schemas"))]
use off as validator;
use validator::Validator;
pub use work::{MOST_WORK, TooMuchWork};

/// A schema that can be used.
#[derive(Debug)]
pub struct Schema {
    value: Value,
    validator: Validator,
}

/// Why a schema cannot be used, as the end of a sentence that starts with its path.
#[derive(Debug, Error)]
pub enum SchemaError {
    /// It is not JSON.
    #[error("is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// It is not a schema, or refers to a missing one.
    #[error("does not compile{at}: {why}")]
    Invalid {
        /// Where, with a space before it.
        at: String,
        /// Why, in short.
        why: String,
    },
    /// The feature is off.
    #[error("needs a feature that is off; add \"schemas\" to the `features` of skill-evals in Cargo.toml")]
    FeatureOff,
    /// It takes too much work, whatever the answer.
    #[error(transparent)]
    TooMuch(#[from] TooMuchWork),
}

impl Schema {
    pub fn parse(bytes: &[u8]) -> Result<Self, SchemaError> {
        Self::new(serde_json::from_slice(bytes)?)
    }

    /// The schema that is this value.
    pub fn new(value: Value) -> Result<Self, SchemaError> {
        // Checked first: nested `unevaluatedProperties` make compiling slow too.
        work::check(&value)?;
        let validator = validator::compile(&value)?;
        Ok(Self { value, validator })
    }

    /// The first `most` problems of `answer`. An error if to find them takes too much work.
    pub fn problems(&self, answer: &Value, most: usize) -> Result<Vec<String>, TooMuchWork> {
        work::check_with(&self.value, answer)?;
        validator::problems(&self.validator, &self.value, answer, most).ok_or(TooMuchWork::Pattern)
    }
}
