//! How agents read skills whose front matter has a fault.

use crate::profile::{self, Profile};
use crate::skill::Fault;

/// How an agent reads a skill with a fault. Without any entry it does not load the skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultReading {
    /// With its whole description; of a duplicate key, the last one.
    Whole,
    /// With another description, or none.
    Part,
}

impl Profile {
    /// How the agent reads a skill with these faults; `None` if it does not load it. One that nobody measured reads all.
    pub fn reads(&self, faults: &[Fault]) -> Option<FaultReading> {
        let Some(known) = self.front_matter else { return Some(FaultReading::Whole) };
        let mut reading = FaultReading::Whole;
        for fault in faults {
            let (_, of_fault) = known.iter().find(|(known, _)| known == fault)?;
            if *of_fault == FaultReading::Part {
                reading = FaultReading::Part;
            }
        }
        Some(reading)
    }
}

/// What each agent makes of a skill with this fault.
pub fn readings(fault: Fault) -> String {
    let (mut whole, mut part, mut none) = (Vec::new(), Vec::new(), Vec::new());
    for profile in profile::listed().filter(|profile| profile.front_matter.is_some()) {
        match profile.reads(&[fault]) {
            Some(FaultReading::Whole) => whole.push(profile.name),
            Some(FaultReading::Part) => part.push(profile.name),
            None => none.push(profile.name),
        }
    }
    let said = [(whole, "read the skill whole"), (part, "load it without its description"), (none, "do not load it")];
    let said = said.iter().filter(|(names, _)| !names.is_empty());
    said.map(|(names, what)| format!("{} {what}", names.join(", "))).collect::<Vec<_>>().join("; ")
}
