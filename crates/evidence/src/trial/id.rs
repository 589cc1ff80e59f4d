//! The names of trials, and of cases in modes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::name::segment;

/// The name of one trial: a case, a mode, and which of its repeats.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TrialId {
    /// The skill's slug.
    pub skill: String,
    /// The case's id.
    pub case: String,
    /// The mode's name.
    pub mode: String,
    /// Which repeat, from 1.
    #[serde(rename = "trial")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub number: u32,
}

impl TrialId {
    /// The test's name: `<skill>::<case>::<mode>` as a Rust path.
    pub fn test_name(&self) -> String {
        test_name(&self.skill, &self.case, &self.mode)
    }
}

/// The form in artifact paths and messages: `xlsx/verify/codex`, followed by `/2` for a repeat.
impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.skill, self.case, self.mode)?;
        if self.number > 1 {
            write!(f, "/{}", self.number)?;
        }
        Ok(())
    }
}

/// The name of a case in a mode, which all its trials share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CaseInMode {
    /// The skill's slug.
    pub skill: String,
    /// The case's id.
    pub case: String,
    /// The mode's name.
    pub mode: String,
}

impl CaseInMode {
    /// The case and mode of a trial.
    pub fn of(id: &TrialId) -> Self {
        Self { skill: id.skill.clone(), case: id.case.clone(), mode: id.mode.clone() }
    }

    /// The name of the case in a comparison: it includes the mode if cases are compared in several modes.
    pub fn compared_as(&self, several_modes: bool) -> String {
        let Self { skill, case, mode } = self;
        if several_modes { format!("{skill}/{case}/{mode}") } else { format!("{skill}/{case}") }
    }
}

/// `<skill>::<case>::<mode>` as a Rust path, so that IDEs can find it.
pub fn test_name(skill: &str, case: &str, mode: &str) -> String {
    [skill, case, mode].map(segment).join("::")
}
