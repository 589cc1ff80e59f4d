//! What decides the result of a case in a mode, as digests: they show that a case has changed without running it.

use crate::cases::case::Case;
use crate::cases::selection::TestCase;
use crate::run::digests::SkillFolders;
use crate::run::plan::PlannedCase;
use crate::run::planned::PlannedRun;
use crate::trial::evidence::{Inputs, digest};
use crate::trial::shard::ShardedCase;
use std::io;

/// What decides the result of a case in a mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseDigests {
    /// What the agent sees, part by part, as recordings have it; empty for a case that cannot run.
    pub inputs: Inputs,
    /// What is expected of its trials, or why the case cannot run.
    pub checks: String,
}

/// The digests of a planned case with the skills in the repository now. Its trials open the skills in `opened`.
pub fn of_case(run: &PlannedRun, planned: &TestCase, opened: &[String]) -> CaseDigests {
    let inputs = |case| run.digested(&SkillFolders::Repository, case, &planned.mode, opened);
    let read = planned.found.case().map_err(|problems| format!("{problems:?}"));
    let both = |case| Ok((inputs(case)?, checks(run, planned, case)?));
    match read.and_then(|case| both(case).map_err(|error: io::Error| error.to_string())) {
        Ok((inputs, checks)) => CaseDigests { inputs, checks },
        Err(why) => CaseDigests { inputs: Inputs::default(), checks: why },
    }
}

/// A digest of all that the agent of a planned case does not see and that decides its verdicts.
pub fn checks(run: &PlannedRun, planned: &TestCase, case: &Case) -> io::Result<String> {
    let threshold = run.repetition(&planned.found).threshold;
    Ok(digest(format!("{threshold}\n{}", run.checks_digest(case, &planned.mode)?).as_bytes()))
}

/// The case as a line of the file with the cases of all shards.
pub fn sharded(run: &PlannedRun, entry: &PlannedCase) -> ShardedCase {
    // An earlier part of the run may have added repeats to a case of this shard.
    let entry = if run.settings.live { &PlannedCase::of(entry.planned.clone(), &run.settings) } else { entry };
    let CaseDigests { inputs, checks } = of_case(run, &entry.planned, &[]);
    ShardedCase {
        case: entry.planned.case_in_mode(),
        trials: entry.repeats,
        threshold: run.repetition(&entry.planned.found).threshold,
        max_trials: entry.until.map(|until| until.most),
        inputs: inputs.digest(),
        checks,
    }
}
