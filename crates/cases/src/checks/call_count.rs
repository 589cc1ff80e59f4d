//! How often something must happen in a trial.

use serde::Serialize;

use crate::checks::{CheckAnswer, GradingInput};
use crate::trial::outcome::Status;

/// How often something must happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CallCount {
    pub least: u64,
    /// The most, if limited.
    pub most: Option<u64>,
}

/// How often something happened.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    /// Surely.
    pub sure: u64,
    /// Perhaps besides.
    pub perhaps: u64,
    /// Why that is not known.
    pub why: Option<String>,
}

impl Counted {
    /// Adds what may have happened.
    pub fn doubt(&mut self, times: u64, why: impl FnOnce() -> String) {
        if times > 0 {
            self.perhaps = self.perhaps.saturating_add(times);
            self.why.get_or_insert_with(why);
        }
    }
}

impl CallCount {
    /// At least once.
    pub const SOME: Self = Self { least: 1, most: None };

    /// Never.
    pub const NONE: Self = Self { least: 0, most: Some(0) };

    /// The words behind what happens.
    pub(super) fn words(self) -> String {
        match self {
            Self { most: Some(0), .. } => "never".to_owned(),
            Self { least: 1, most: None } => "at least once".to_owned(),
            Self { least, most: None } => format!("at least {}", times(least)),
            Self { least: 0, most: Some(most) } => format!("at most {}", times(most)),
            Self { least, most: Some(most) } if least == most => times(most),
            Self { least, most: Some(most) } => format!("{least} to {}", times(most)),
        }
    }

    /// The status that nothing later can change.
    pub(super) fn settled_by(self) -> Status {
        if self.most.is_some() { Status::Fail } else { Status::Pass }
    }

    /// The answer about something that happened so often.
    pub(super) fn answer(
        self,
        subject: &GradingInput<'_>,
        counted: Counted,
        expected: String,
        found: &str,
    ) -> CheckAnswer {
        let Counted { sure, perhaps, why } = counted;
        let possible = sure.saturating_add(perhaps);
        let is_over = |count| self.most.is_some_and(|most| count > most);
        let found = format!("{found} {}", times(sure));
        let is_open = (is_over(possible) && !is_over(sure)) || (sure < self.least && possible >= self.least);
        if is_open {
            let found = why.map_or_else(|| found.clone(), |why| format!("{found}; {why}"));
            return CheckAnswer::new(Status::Unknown, expected, found);
        }
        if sure < self.least {
            return subject.proved(false, true, expected, found);
        }
        match self.most {
            Some(_) => subject.proved(is_over(sure), false, expected, found),
            None => CheckAnswer::holds(true, expected, found),
        }
    }
}

pub(super) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}
