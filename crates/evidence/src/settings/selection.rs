//! Which cases the command line and the environment select.

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

/// The selection; an empty list selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestSelection {
    /// The part of each skill's cases.
    pub suite: Suite,
    /// Skills, by name or slug.
    pub skills: Vec<String>,
    /// Tasks, by file name without `.json`.
    pub tasks: Vec<String>,
    /// Cases, by `id` or `skill/id`.
    pub cases: Vec<String>,
    /// Tags: a case has one of them, and none of those with a `!` before.
    pub tags: Vec<String>,
    /// Maximum number of skills.
    pub max_skills: Option<usize>,
    /// Maximum number of cases of each skill.
    pub max_cases: Option<usize>,
}

impl TestSelection {
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}
