//! What decides the result of a case in a mode, as digests: they show that a case has changed without running it.

use std::fmt::Write;
use std::path::Path;

use crate::cases::case::Case;
use crate::cases::test_case::TestCase;
use crate::files::inside;
use crate::run::context::RunContext;
use crate::run::digests::SkillFolders;
use crate::run::plan::PlannedCase;
use crate::run::program_content;
use crate::trial::evidence::{Inputs, digest};
use crate::trial::shard::ShardedCase;

/// What decides the result of a case in a mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseDigests {
    /// What the agent sees, part by part, as recordings have it; empty for a case that cannot run.
    pub inputs: Inputs,
    /// What is expected of its trials, or why the case cannot run.
    pub checks: String,
}

/// The digests of a planned case with the skills in the repository now. Its trials open the skills in `opened`.
pub fn of(run: &RunContext, planned: &TestCase, opened: &[String]) -> CaseDigests {
    let inputs = |case| run.digested(&SkillFolders::Repository, case, &planned.mode, opened);
    let read = planned.found.case().map_err(|problems| format!("{problems:?}"));
    match read.and_then(|case| Ok((case, inputs(case).map_err(|error| error.to_string())?))) {
        Ok((case, inputs)) => CaseDigests { inputs, checks: checks(run, planned, case) },
        Err(why) => CaseDigests { inputs: Inputs::default(), checks: why },
    }
}

fn checks(run: &RunContext, planned: &TestCase, case: &Case) -> String {
    let settings = &run.settings;
    let mut text = format!("{}\n", run.repetition(&planned.found).threshold);
    let activation = case.activation.or_else(|| settings.activation_for(&case.skill, &planned.mode.name));
    let _ = writeln!(text, "{activation:?} {:?} {:?}", settings.judge, case.timeout.unwrap_or(settings.timeout));
    text += &expected(&run.root, case);
    digest(text.as_bytes())
}

/// What a case of the repository at `root` expects of its trials. Without the lines of the checks, which change with every edit
/// above.
pub fn expected(root: &Path, case: &Case) -> String {
    let Case { should_trigger, activation, default_activation, judge, checks, assertions, .. } = case;
    let mut text = format!("{should_trigger} {activation:?} {default_activation:?} {judge}\n");
    for assertion in assertions {
        let _ = writeln!(text, "assertion {:?}", assertion.text);
    }
    for check in checks {
        let snapshot = || Some(digest(&inside::read(root, check.ask.names().snapshot?.as_path()).ok()?));
        let content = check.program().map(|program| program_content::digest(root, program));
        let content = content.or_else(snapshot).unwrap_or_default();
        let _ = writeln!(text, "{} {:?} {content}", check.kind.id, check.ask);
    }
    if case.is_scored() {
        let weights = checks.iter().map(|check| check.weight);
        let weights: Vec<_> = weights.chain(assertions.iter().map(|assertion| assertion.weight)).collect();
        let _ = writeln!(text, "score {:?} {weights:?}", case.least_score);
    }
    text
}

/// The case as a line of the file with the cases of all shards.
pub fn sharded(run: &RunContext, entry: &PlannedCase) -> ShardedCase {
    // An earlier part of the run may have added repeats to a case of this shard.
    let entry = if run.settings.live { &PlannedCase::of(entry.planned.clone(), &run.settings) } else { entry };
    let CaseDigests { inputs, checks } = of(run, &entry.planned, &[]);
    let inputs: String = inputs.0.iter().flat_map(|(part, digest)| [part, "\n", digest, "\n"]).collect();
    ShardedCase {
        case: entry.planned.case_in_mode(),
        trials: entry.repeats,
        threshold: run.repetition(&entry.planned.found).threshold,
        max_trials: entry.until.map(|until| until.most),
        inputs: digest(inputs.as_bytes()),
        checks,
    }
}
