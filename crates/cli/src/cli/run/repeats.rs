//! Repeats that a case asks for and its recordings lack.

use crate::report::diagnostics::counted;
use crate::results::summary::Summary;
use crate::run::planned::PlannedRun;
use crate::settings::trials::Trials;

/// The note that cases ask for more trials than a replay had; `None` if none does.
pub fn fewer_recorded(run: &PlannedRun, summary: &Summary) -> Option<String> {
    let (mut cases, mut replayed, mut asked) = (0, 0, 0);
    for planned in run.plan.entries.iter().map(|entry| &entry.planned) {
        let ended = summary.cases.get(&planned.case_in_mode()).map_or(0, |case| case.counts.ended());
        match run.repetition(&planned.found).trials {
            Trials::Times(trials) if ended > 0 && ended < trials as usize => {
                (cases, replayed, asked) = (cases + 1, replayed + ended, asked + trials as usize);
            }
            _ => {}
        }
    }
    let cases = (cases > 0).then(|| counted(cases, "case"))?;
    Some(format!("{cases}: only {replayed} of {asked} trials are recorded; `skill-evals run --record` measures all"))
}
