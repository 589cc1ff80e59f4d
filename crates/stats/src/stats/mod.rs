//! Statistics of trials that pass or fail, and of what they cost: pure functions, each with its formula and source.
//!
//! Shares are from 0 to 1, differences are candidate − baseline from −1 to 1, and a level of 0.95 is a confidence of 95
//! %. [`decide`](crate::decide) derives results for a skill from these numbers.

pub mod agreement;
pub mod amounts;
pub mod calibration;
pub mod difference;
pub mod discordance;
pub mod holm;
pub mod mean;
pub mod permutation;
pub mod power;
pub mod proportion;
pub mod repeats;
pub mod retrieval;
pub mod rounds;
pub mod sequence;
pub mod special;
pub mod stratified;

use serde::Serialize;

/// The confidence of every interval that is shown, unless another one is set.
pub const LEVEL: f64 = 0.95;

/// From `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` is in it.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

#[cfg(test)]
pub(crate) mod reference {
    //! Values of scipy 1.17.1 and statsmodels 0.15.0, ten digits each.

    /// The section `name` of `tests/fixtures/statistics.json`.
    pub fn section(name: &str) -> serde_json::Value {
        let all: serde_json::Value =
            serde_json::from_str(include_str!("../../../../tests/fixtures/statistics.json")).expect("JSON");
        all[name].clone()
    }

    /// The rows of the section `name`.
    pub fn rows(name: &str) -> Vec<serde_json::Value> {
        section(name).as_array().expect("rows").clone()
    }

    /// The number at `value`.
    #[track_caller]
    pub fn number(value: &serde_json::Value) -> f64 {
        value.as_f64().expect("a number")
    }

    /// The count at `value`.
    #[track_caller]
    pub fn count(value: &serde_json::Value) -> u64 {
        value.as_u64().expect("a count")
    }

    /// Compares `found` with `expected` to 1e-9.
    #[track_caller]
    pub fn close(found: f64, expected: f64, what: &dyn std::fmt::Display) {
        assert!((found - expected).abs() < 1e-9, "{what}: {found} instead of {expected}");
    }

    /// Compares an interval with `[low, high]` to 1e-9.
    #[track_caller]
    pub fn ends(found: super::Interval, expected: &serde_json::Value, what: &dyn std::fmt::Display) {
        close(found.low, number(&expected[0]), what);
        close(found.high, number(&expected[1]), what);
    }
}
