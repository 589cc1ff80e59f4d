//! A run of the same cases in several variants: with and without a skill, or with several models.

use serde::{Deserialize, Serialize};

/// What a run measures in several variants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct VariantRun {
    /// What it is to find out.
    #[serde(flatten)]
    pub question: VariantQuestion,
    /// The variants, in the order of reports.
    pub variants: Vec<Variant>,
    /// Trials of each case in each variant.
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub rounds: u32,
    /// The names of cases that were left out, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<(String, String)>,
}

/// The question of a run of variants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "question", rename_all = "kebab-case")]
pub enum VariantQuestion {
    /// Why a skill does not help.
    Diagnosis {
        /// The skill's slug.
        skill: String,
    },
    /// Which model is the cheapest within the margin of the best.
    CheapestModel {
        /// The tolerated loss in pass rate.
        margin: f64,
        /// The chance of each false result.
        alpha: f64,
    },
}

/// One of the variants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Variant {
    /// Its name for users.
    pub name: String,
    /// The mode of its trials.
    pub mode: String,
}

impl Variant {
    /// No skills.
    pub const NONE: &str = "none";
    /// The prompt calls the skill.
    pub const FORCED: &str = "forced";
    /// The agent is offered all skills, and the model decides.
    pub const ROUTED: &str = "routed";
    /// The agent is offered only this skill.
    pub const ALONE: &str = "alone";
}
