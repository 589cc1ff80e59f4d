//! Where models were shown less than the whole description of a skill.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::trace::description::DescriptionVisibility;
use crate::trial::run_record::TrialRecord;

/// The skills whose descriptions were cut, by mode and slug.
#[derive(Clone, Debug, Default)]
pub struct CutDescriptions(pub BTreeMap<(String, String), CutCount>);

/// A description that was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CutCount {
    /// In how many trials.
    pub trials: usize,
    /// The least that was shown of it.
    pub shown: DescriptionVisibility,
}

impl CutDescriptions {
    /// Counts a trial.
    pub fn add(&mut self, record: &TrialRecord) {
        let Some(described) = record.described.filter(|described| described.is_short()) else { return };
        let key = (record.id.mode.clone(), record.id.skill.clone());
        let cut = self.0.entry(key).or_insert(CutCount { trials: 0, shown: described });
        cut.trials += 1;
        cut.shown = cut.shown.min(described);
    }
}

impl Serialize for CutDescriptions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct CutDescription<'a> {
            mode: &'a str,
            skill: &'a str,
            #[serde(flatten)]
            cut: &'a CutCount,
        }
        serializer.collect_seq(self.0.iter().map(|((mode, skill), cut)| CutDescription { mode, skill, cut }))
    }
}
