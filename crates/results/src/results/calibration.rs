//! What the calibration of an agent found: whether this version is read rightly on this machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::settings::mode::Delivery;
use crate::text::word_enum::word_enum;
use crate::trial::evidence::{Doubts, Reading};

/// The number of the format.
pub const CALIBRATION_FORMAT: u32 = 2;

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

/// One thing that is read, in all trials of the calibration with one delivery: an agent may be read rightly in one mode only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CalibrationRow {
    pub delivery: Delivery,
    pub reading: Reading,
    pub state: ReadState,
    /// What happened in the first trial that differs, with its name. Absent if all is right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What was read in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// What this agent does not show, and no check needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The calibration of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct AgentCalibration {
    /// The number of the format.
    #[cfg_attr(feature = "schemars", schemars(extend("const" = CALIBRATION_FORMAT)))]
    pub format: u32,
    /// The agent's name in the settings.
    pub agent: String,
    /// Its version, as its trials or its package say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The version of this program.
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
    /// The delivery that it shows something of; `None` for all.
    pub delivery: Option<Delivery>,
    pub reading: Reading,
    pub state: ReadState,
    pub expected: String,
    pub found: String,
}

/// The rows that follow from what trials with these deliveries show. A reading that no trial tried cannot be seen.
pub fn rows(
    deliveries: &[Delivery],
    observations: &[Observation],
    notes: &BTreeMap<Reading, Vec<String>>,
) -> Vec<CalibrationRow> {
    let row = |delivery, reading| {
        let is_of = move |observed: &&Observation| {
            observed.reading == reading && observed.delivery.is_none_or(|observed| observed == delivery)
        };
        let of_reading = || observations.iter().filter(is_of);
        let with = |state| of_reading().find(|observation| observation.state == state);
        let worst = with(ReadState::Wrong).or_else(|| with(ReadState::Unseen));
        let nothing = of_reading().next().is_none();
        CalibrationRow {
            delivery,
            reading,
            state: worst.map_or(if nothing { ReadState::Unseen } else { ReadState::Right }, |worst| worst.state),
            expected: worst.map(|worst| format!("{}: {}", worst.trial, worst.expected)),
            found: worst.map(|worst| worst.found.clone()),
            notes: notes.get(&reading).cloned().unwrap_or_default(),
        }
    };
    // Without skills, none is used.
    let is_tried = |delivery: Delivery, reading| {
        delivery.offers_skills() || ![Reading::Activation, Reading::Resources].contains(&reading)
    };
    let of = |delivery| {
        let tried = Reading::ALL.into_iter().filter(move |reading| is_tried(delivery, *reading));
        tried.map(move |reading| row(delivery, reading))
    };
    deliveries.iter().copied().flat_map(of).collect()
}

impl AgentCalibration {
    /// The rows of this delivery; those of all if it was not tried.
    pub fn rows_of(&self, delivery: Delivery) -> impl Iterator<Item = &CalibrationRow> {
        let is_tried = self.rows.iter().any(|row| row.delivery == delivery);
        self.rows.iter().filter(move |row| !is_tried || row.delivery == delivery)
    }

    /// What later runs with this delivery cannot rely on. That an end or a refusal cannot be told from another one makes no verdict
    /// wrong: its trial is an error all the same.
    pub fn doubts(&self, delivery: Delivery) -> Doubts {
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
        self.rows_of(delivery).filter(|_| self.asked).filter(is_doubted).map(|row| (row.reading, why(row))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(reading: Reading, state: ReadState) -> Observation {
        let (trial, expected, found) = ("uses".to_owned(), "2".to_owned(), "1".to_owned());
        Observation { trial, delivery: None, reading, state, expected, found }
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
            rows: rows(&[Delivery::Native, Delivery::Mcp], observations, &BTreeMap::new()),
            first_request_tokens: None,
        }
    }

    #[test]
    fn a_row_is_as_bad_as_its_worst_trial_and_what_was_not_tried_cannot_be_seen() {
        let all = [ReadState::Right, ReadState::Unseen, ReadState::Wrong].map(|state| observed(Reading::Tokens, state));
        let state = |observations: &[Observation]| {
            rows(&[Delivery::Native], observations, &BTreeMap::new())
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
        for (at, state) in [(4, ReadState::Wrong), (2, ReadState::Unseen), (8, ReadState::Unseen)] {
            observations[at].state = state;
        }
        let doubts = calibration(true, &observations).doubts(Delivery::Native);
        assert_eq!(doubts.keys().copied().collect::<Vec<_>>(), [Reading::Resources, Reading::Tokens]);
        assert!(doubts[&Reading::Tokens].contains("`tokens` wrong: expected uses: 2; found 1"), "{doubts:?}");
        let unasked = calibration(false, &observations).doubts(Delivery::Native);
        assert!(unasked.is_empty(), "an agent that did not ask shows nothing");
    }

    #[test]
    fn what_is_wrong_with_one_delivery_is_not_doubted_with_another() {
        let mut observations: Vec<Observation> =
            Reading::ALL.into_iter().map(|reading| observed(reading, ReadState::Right)).collect();
        let wrong = observed(Reading::Activation, ReadState::Wrong);
        observations.push(Observation { delivery: Some(Delivery::Mcp), ..wrong });
        let calibration = calibration(true, &observations);
        assert!(calibration.doubts(Delivery::Native).is_empty());
        assert_eq!(calibration.doubts(Delivery::Mcp).keys().collect::<Vec<_>>(), [&Reading::Activation]);
        assert_eq!(
            calibration.doubts(Delivery::Both).len(),
            1,
            "of one that was not tried, all is doubted that is of any"
        );
    }

    #[test]
    fn that_no_skill_is_used_where_there_is_none_is_not_doubted() {
        let mut observations: Vec<Observation> =
            Reading::ALL.into_iter().map(|reading| observed(reading, ReadState::Right)).collect();
        for observation in &mut observations {
            observation.delivery =
                [Reading::Activation, Reading::Resources].contains(&observation.reading).then_some(Delivery::Native);
        }
        let rows = rows(&[Delivery::Native, Delivery::None], &observations, &BTreeMap::new());
        assert!(rows.iter().all(|row| row.state == ReadState::Right), "{rows:?}");
        assert_eq!(rows.iter().filter(|row| row.reading == Reading::Activation).count(), 1);
    }

    #[test]
    fn that_the_answer_cannot_be_seen_is_doubted_although_the_end_need_not_be_told() {
        let mut observations: Vec<Observation> =
            Reading::ALL.into_iter().map(|reading| observed(reading, ReadState::Right)).collect();
        for observation in
            observations.iter_mut().filter(|found| [Reading::Answer, Reading::End].contains(&found.reading))
        {
            observation.state = ReadState::Unseen;
        }
        let doubts = calibration(true, &observations).doubts(Delivery::Native);
        assert_eq!(doubts.keys().collect::<Vec<_>>(), [&Reading::Answer]);
    }
}
