//! What earlier starts of the same comparison have measured.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::Write;
use std::path::Path;

use super::{LiveRequest, stored};
use crate::cli::output::stderr;
use crate::cli::{CliResultOf, start};
use crate::run::context::RunContext;
use crate::run::kept;
use crate::run::pairing::Pairing;
use crate::run::{preflight, same_contents};
use crate::settings::Settings;
use crate::store::RunFolder;
use crate::trial::run_record::{ComparedSides, PairRecord, RunChoices, RunRecord};

/// What the run to resume was to do, and the pairs that it has begun.
pub(super) fn earlier(
    root: &Path,
    settings: &Settings,
    chosen: RunChoices,
) -> CliResultOf<(RunChoices, ComparedSides, Vec<PairRecord>)> {
    let folder = start::to_resume(root, settings)?;
    let id = folder.id();
    let record =
        folder.run_record()?.ok_or_else(|| format!("{id} does not say what it was to do: it has no run.json"))?;
    let sides = record.sides.ok_or_else(|| format!("{id} compares nothing; {}", folder.remedy()))?;
    if !sides.shards.is_empty() {
        return Err(format!("{id} is merged: {}", folder.remedy()).into());
    }
    if sides.measurement.is_some() {
        return Err(format!("{id} is of a gate: {}", folder.remedy()).into());
    }
    stored::warn_of_unmeasured_pairs(&folder)?;
    Ok((chosen.or(record.chosen), sides, folder.pairs()?))
}

/// Makes the run continue an earlier start of the same comparison, if there is one. Returns the pairs that it began.
pub(super) fn continued(
    request: &LiveRequest<'_>,
    run: &mut RunContext,
    pairing: &Pairing,
    sides: &mut ComparedSides,
) -> CliResultOf<Vec<PairRecord>> {
    let start = request.start;
    let told = same_contents::of_comparison(run, pairing, sides);
    let Some(contents) = start.contents(told)? else { return Ok(Vec::new()) };
    run.contents = Some(same_contents::with_names(&contents, pairing.trials()));
    if start.dry_run {
        return Ok(Vec::new());
    }
    let earlier = match run.kept {
        Some(_) => of_gates(run, pairing, sides, &contents)?,
        None => match same_contents::among(run, request.ended) {
            Some(folder) => Some(folder),
            None => start.unfinished(run)?,
        },
    };
    let Some(folder) = earlier else { return Ok(Vec::new()) };
    run.settings.resume = true;
    run.settings.run_id = Some(folder.id().to_owned());
    Ok(folder.pairs()?)
}

/// A run with the trials that gates with these contents have measured, if there are some.
fn of_gates(
    run: &mut RunContext,
    pairing: &Pairing,
    sides: &mut ComparedSides,
    contents: &str,
) -> CliResultOf<Option<RunFolder>> {
    let Some(kept) = &mut run.kept else { return Ok(None) };
    let mut told = None;
    let mut waits =
        || _ = told.get_or_insert_with(|| writeln!(stderr(), "another gate has the same contents: waiting for it"));
    sides.measurement = Some(kept.continue_with(contents, &mut waits)?);
    run.sides = Some(sides.clone());
    preflight::check(run)?;
    // A run with the id of this one is that of a shard which starts again.
    let named = run.settings.run_id.as_ref().and_then(|id| RunFolder::open(&run.root, id).ok());
    let is_same = |record: &RunRecord| {
        let measurement = record.sides.as_ref().and_then(|sides| sides.measurement);
        record.contents == run.contents && measurement == sides.measurement
    };
    let named = match named {
        Some(folder) if folder.is_run()? => Some(folder),
        _ => None,
    };
    match named {
        Some(folder) if folder.run_record()?.as_ref().is_some_and(is_same) => Ok(Some(folder)),
        Some(folder) => {
            let (id, path) = (folder.id(), folder.path().display());
            Err(format!("the run `{id}` exists and compared something else: choose another --run-id, or delete {path}")
                .into())
        }
        None => Ok(kept::restored(run, pairing)?),
    }
}

/// Pairs that have begun and whose cases are not there any more would be missing from the answer.
pub(super) fn tell_of_gone(begun: &[PairRecord], pairing: &Pairing, force: bool) -> Result<(), Box<dyn Error>> {
    let gone: BTreeSet<String> = begun.iter().filter(|pair| pairing.case_of(pair).is_none()).map(of_case).collect();
    if gone.is_empty() {
        return Ok(());
    }
    let list = gone.into_iter().collect::<Vec<_>>().join(", ");
    if !force {
        return Err(
            format!("cannot resume: {list} no longer exists on either side; --force leaves those pairs out").into()
        );
    }
    writeln!(stderr(), "left out, since they no longer exist on either side: {list}")?;
    Ok(())
}

fn of_case(pair: &PairRecord) -> String {
    format!("{}/{}", pair.candidate.skill, pair.candidate.case)
}
