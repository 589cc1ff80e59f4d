//! What the calibration of an agent found: whether this version is read rightly on this machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::text::word_enum::word_enum;
use crate::trial::reading::{Doubts, Reading};

/// The number of the format.
pub const CALIBRATION_FORMAT: u32 = 1;

word_enum! {
    /// Whether something is read rightly.
    pub enum ReadState {
        /// What was read is what happened.
        Right = "right",
        /// Something else was read.
        Wrong = "wrong",
        /// The agent does not show it.
        Unseen = "cannot be seen",
    }
}

/// One thing that is read, in all trials of the calibration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalibrationRow {
    pub reading: Reading,
    pub state: ReadState,
    /// What happened, and what was read: the first trial that differs, with its name. Absent if all is right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// What this agent does not show, and no check needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The calibration of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCalibration {
    /// [`CALIBRATION_FORMAT`].
    pub format: u32,
    /// The agent's name in the settings.
    pub agent: String,
    /// Its version, as its trials or its package say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Our version.
    pub skill_evals: String,
    /// The digest of what of the user's settings and configuration reached the agent.
    pub configuration: String,
    /// When, RFC 3339.
    pub measured: String,
    /// The number of trials.
    pub trials: usize,
    /// About how many tokens the smallest first request of a task had: the agent's own texts and tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_request_tokens: Option<u64>,
    /// Whether the agent asked the scripted model at all. If not, nothing is known.
    pub asked: bool,
    /// Whether numbers of this agent can be trusted here: nothing is read wrongly.
    pub trusted: bool,
    pub rows: Vec<CalibrationRow>,
}

/// What one trial shows of a reading.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The trial, in words.
    pub trial: String,
    pub reading: Reading,
    pub state: ReadState,
    pub expected: String,
    pub found: String,
}

/// The rows that follow from what trials show. A reading that no trial tried cannot be seen.
pub fn rows(observations: &[Observation], notes: &BTreeMap<Reading, Vec<String>>) -> Vec<CalibrationRow> {
    let row = |reading| {
        let of_reading = || observations.iter().filter(move |observation| observation.reading == reading);
        let with = |state| of_reading().find(|observation| observation.state == state);
        let worst = with(ReadState::Wrong).or_else(|| with(ReadState::Unseen));
        let nothing = of_reading().next().is_none();
        CalibrationRow {
            reading,
            state: worst.map_or(if nothing { ReadState::Unseen } else { ReadState::Right }, |worst| worst.state),
            expected: worst.map(|worst| format!("{}: {}", worst.trial, worst.expected)),
            found: worst.map(|worst| worst.found.clone()),
            notes: notes.get(&reading).cloned().unwrap_or_default(),
        }
    };
    Reading::ALL.into_iter().map(row).collect()
}

impl AgentCalibration {
    /// What later runs cannot rely on. That an end or a refusal cannot be told from another one makes no verdict wrong: its
    /// trial is an error all the same.
    pub fn doubts(&self) -> Doubts {
        let is_doubted = |row: &&CalibrationRow| match row.state {
            ReadState::Right => false,
            ReadState::Wrong => true,
            ReadState::Unseen => !row.reading.decides_all(),
        };
        let why = |row: &CalibrationRow| {
            let found = row.found.as_deref().unwrap_or("nothing");
            let expected = row.expected.as_deref().unwrap_or("a trial of it");
            let what = match row.state {
                ReadState::Unseen => format!("that `{}` cannot be seen", row.reading),
                _ => format!("`{}` wrong", row.reading),
            };
            format!("the calibration of this agent found {what}: expected {expected}; found {found}")
        };
        self.rows.iter().filter(|_| self.asked).filter(is_doubted).map(|row| (row.reading, why(row))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(reading: Reading, state: ReadState) -> Observation {
        let (trial, expected, found) = ("uses".to_owned(), "2".to_owned(), "1".to_owned());
        Observation { trial, reading, state, expected, found }
    }

    fn calibration(asked: bool, observations: &[Observation]) -> AgentCalibration {
        let text = String::new;
        AgentCalibration {
            format: CALIBRATION_FORMAT,
            agent: text(),
            version: None,
            skill_evals: text(),
            configuration: text(),
            measured: text(),
            trials: 1,
            asked,
            trusted: false,
            rows: rows(observations, &BTreeMap::new()),
            first_request_tokens: None,
        }
    }

    #[test]
    fn a_row_is_as_bad_as_its_worst_trial_and_what_was_not_tried_cannot_be_seen() {
        let all = [ReadState::Right, ReadState::Unseen, ReadState::Wrong].map(|state| observed(Reading::Tokens, state));
        let state = |observations: &[Observation]| {
            rows(observations, &BTreeMap::new())
                .into_iter()
                .find(|row| row.reading == Reading::Tokens)
                .expect("a row")
                .state
        };
        let states = [state(&all), state(&all[..2]), state(&all[..1]), state(&[])];
        assert_eq!(states, [ReadState::Wrong, ReadState::Unseen, ReadState::Right, ReadState::Unseen]);
    }

    #[test]
    fn what_is_wrong_is_doubted_and_what_cannot_be_seen_unless_no_verdict_comes_of_it() {
        let mut observations: Vec<Observation> =
            Reading::ALL.into_iter().map(|reading| observed(reading, ReadState::Right)).collect();
        for (at, state) in [(4, ReadState::Wrong), (2, ReadState::Unseen), (7, ReadState::Unseen)] {
            observations[at].state = state;
        }
        let doubts = calibration(true, &observations).doubts();
        assert_eq!(doubts.keys().copied().collect::<Vec<_>>(), [Reading::Resources, Reading::Tokens]);
        assert!(doubts[&Reading::Tokens].contains("`tokens` wrong: expected uses: 2; found 1"), "{doubts:?}");
        assert!(calibration(false, &observations).doubts().is_empty(), "an agent that did not ask shows nothing");
    }
}
