//! Which cases the command line and the environment select.

use serde::{Deserialize, Serialize};

use crate::text::word_enum::word_enum;

word_enum! {
    /// A named part of the cases.
    #[derive(Default)]
    pub enum Suite {
        /// Every case.
        #[default]
        Smoke = "smoke",
        /// Cases that name the skill: ids that start or end with `explicit`; of a skill without such cases the first.
        Explicit = "explicit",
        /// Cases in which the skill should trigger.
        Positive = "positive",
        /// Cases in which it should not.
        Negative = "negative",
    }
}

/// The selection, as a run stores it; an empty list selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TestSelection {
    /// The name of the part of each skill's cases.
    pub suite: Option<String>,
    /// Skills, by name or slug.
    pub skills: Vec<String>,
    /// Tasks, by file name without `.json`.
    pub tasks: Vec<String>,
    /// Cases, by `id` or `skill/id`.
    pub cases: Vec<String>,
    /// Tags: a case has one of them, and none of those with a `!` before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Maximum number of skills.
    pub max_skills: Option<usize>,
    /// Maximum number of cases of each skill.
    pub max_cases: Option<usize>,
}

impl TestSelection {
    /// The part of each skill's cases. The runs of other programs have suites of other names.
    pub fn suite(&self) -> Suite {
        self.suite.as_deref().and_then(Suite::named).unwrap_or_default()
    }

    pub fn is_all(&self) -> bool {
        self.suite() == Suite::Smoke && Self { suite: None, ..self.clone() } == Self::default()
    }
}
