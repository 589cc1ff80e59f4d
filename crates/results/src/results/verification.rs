//! What `verify` finds in checks that were run against trials of no agent.

use std::fmt;

use serde::Serialize;

use crate::text::diagnostic::SourceLocation;
use crate::text::word_enum::word_enum;

word_enum! {
    /// What is wrong with a check.
    #[derive(PartialOrd, Ord)]
    pub enum FaultKind {
        /// It passes although nothing was done.
        ProvesNothing = "proves-nothing",
        /// It fails for the reference solution.
        Wrong = "wrong",
        /// It has no result.
        NoResult = "no-result",
        /// Its limits allow no decision.
        NeverDecided = "never-decided",
        /// A file or a setup command of its case cannot be used, so that no check of the case was run.
        Unusable = "unusable",
    }
}

impl FaultKind {
    /// The fault in words, after the name of a check.
    pub fn about(self) -> &'static str {
        match self {
            Self::ProvesNothing => "proves nothing",
            Self::Wrong => "is wrong",
            Self::NoResult => "has no result",
            Self::NeverDecided => "can never decide",
            Self::Unusable => "cannot be used",
        }
    }
}

/// A check with a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CheckFault {
    pub kind: FaultKind,
    /// Null for a setting.
    pub skill: Option<String>,
    /// Null for a setting.
    pub case: Option<String>,
    /// The name of the check, or the key of what cannot be used.
    pub check: String,
    /// Where it is written.
    #[serde(flatten)]
    pub place: SourceLocation,
    /// What happened.
    pub found: String,
    /// What to do.
    pub help: String,
}

/// The result of checking checks.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Verification {
    /// Number of cases whose checks were run.
    pub cases: usize,
    /// Number of their checks.
    pub checks: usize,
    /// Number of cases with a reference solution.
    pub solutions: usize,
    /// Cases that cannot be read, as `skill/case`.
    pub unreadable: Vec<String>,
    pub faults: Vec<CheckFault>,
    /// What was not enforced while programs ran, in words.
    pub not_enforced: Vec<String>,
}

impl fmt::Display for CheckFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.check)?;
        if let (Some(skill), Some(case)) = (&self.skill, &self.case) {
            write!(f, " of {skill}/{case}")?;
        }
        write!(f, " {}", self.kind.about())
    }
}
