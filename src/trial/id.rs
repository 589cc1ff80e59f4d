//! Which trials there are, and what they are called.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::name::segment;

/// The name of one trial: a case, a mode, and which of its repeats.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TrialId {
    /// The skill's slug.
    pub skill: String,
    /// The case's id.
    pub case: String,
    /// The mode's name.
    pub mode: String,
    /// Which repeat, from 1.
    #[serde(rename = "trial")]
    pub number: u32,
}

impl TrialId {
    /// The test's name: `<skill>::<case>::<mode>` as a Rust path.
    pub fn test_name(&self) -> String {
        test_name(&self.skill, &self.case, &self.mode)
    }
}

/// As in artifact paths and messages: `xlsx/verify/codex`, `/2` behind it for a repeat.
impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.skill, self.case, self.mode)?;
        if self.number > 1 {
            write!(f, "/{}", self.number)?;
        }
        Ok(())
    }
}

/// What all trials of a case in a mode have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CaseInMode {
    /// The skill's slug.
    pub skill: String,
    /// The case's id.
    pub case: String,
    /// The mode's name.
    pub mode: String,
}

impl CaseInMode {
    /// That of a trial.
    pub fn of(id: &TrialId) -> Self {
        Self { skill: id.skill.clone(), case: id.case.clone(), mode: id.mode.clone() }
    }

    /// What the case is called where two arms are compared: its mode belongs to its name where cases are compared in several.
    pub fn compared_as(&self, several_modes: bool) -> String {
        let Self { skill, case, mode } = self;
        if several_modes { format!("{skill}/{case}/{mode}") } else { format!("{skill}/{case}") }
    }
}

/// `<skill>::<case>::<mode>` as a Rust path, so that IDEs can find it.
pub fn test_name(skill: &str, case: &str, mode: &str) -> String {
    [skill, case, mode].map(segment).join("::")
}
