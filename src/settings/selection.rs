//! Which cases are wanted, as the command line and the environment say it.

/// A named part of the cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Suite {
    /// Every case.
    #[default]
    Smoke,
    /// Cases that name the skill: ids that start or end with `explicit`; where a skill has none, its first case.
    Explicit,
    /// Cases in which the skill should trigger.
    Positive,
    /// Cases in which it should not.
    Negative,
}

impl Suite {
    /// The suites' names, as on the command line.
    pub const NAMES: [&str; 4] = ["smoke", "explicit", "positive", "negative"];

    /// The suite's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Smoke => "smoke",
            Self::Explicit => "explicit",
            Self::Positive => "positive",
            Self::Negative => "negative",
        }
    }

    /// The suite of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "smoke" => Some(Self::Smoke),
            "explicit" => Some(Self::Explicit),
            "positive" => Some(Self::Positive),
            "negative" => Some(Self::Negative),
            _ => None,
        }
    }
}

/// What is wanted; an empty list wants everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestSelection {
    /// The part of each skill's cases.
    pub suite: Suite,
    /// Skills, by name or slug.
    pub skills: Vec<String>,
    /// Tasks, by file name without `.json`.
    pub tasks: Vec<String>,
    /// Cases, by id or by `skill/id`.
    pub cases: Vec<String>,
    /// At most this many skills.
    pub max_skills: Option<usize>,
    /// At most this many cases of each skill.
    pub max_cases: Option<usize>,
}

impl TestSelection {
    /// Whether everything is wanted.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}
