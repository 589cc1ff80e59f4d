//! A case in a mode.

use std::sync::Arc;

use crate::cases::case::FoundCase;
use crate::settings::mode::Mode;
use crate::trial::id::{CaseInMode, TrialId, test_name};

/// A case in a mode: one test.
#[derive(Clone, Debug)]
pub struct TestCase {
    pub found: Arc<FoundCase>,
    pub mode: Arc<Mode>,
}

impl TestCase {
    pub fn test_name(&self) -> String {
        test_name(&self.found.skill, &self.found.id, &self.mode.name)
    }

    /// The id of repeat `number`, from 1.
    pub fn trial(&self, number: u32) -> TrialId {
        let CaseInMode { skill, case, mode } = self.case_in_mode();
        TrialId { skill, case, mode, number }
    }

    /// The names of the case and the mode.
    pub fn case_in_mode(&self) -> CaseInMode {
        CaseInMode { skill: self.found.skill.to_string(), case: self.found.id.clone(), mode: self.mode.name.clone() }
    }
}
