//! What earlier starts of the same comparison have measured.

use std::collections::BTreeSet;
use std::path::Path;

use super::Engine;
use super::choose::to_resume;
use crate::report::diagnostics::counted;
use crate::run::context::RunContext;
use crate::run::pairing::Pairing;
use crate::run::{kept, preflight, same_contents};
use crate::settings::Settings;
use crate::store::RunFolder;
use crate::text::problem::Problem;
use crate::trial::run_record::{ComparedSides, PairRecord, RunChoices, RunRecord};

/// What the run to resume was to do, and the pairs that it has begun.
pub(super) fn earlier(
    engine: &Engine<'_>,
    root: &Path,
    settings: &Settings,
    chosen: RunChoices,
) -> Result<(RunChoices, ComparedSides, Vec<PairRecord>), Problem> {
    let folder = to_resume(root, settings)?;
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
    if let Some(why) = unreadable_pairs(&folder)? {
        engine.host.warn(&why);
    }
    Ok((chosen.or(record.chosen), sides, folder.pairs()?))
}

/// That pairs of a run cannot be read, if so.
///
/// # Errors
///
/// If none can be read.
pub fn unreadable_pairs(run: &RunFolder) -> Result<Option<String>, Problem> {
    let lost = run.damaged_pairs()?;
    let lines = counted(lost, "line");
    let why = || format!("{lines} of the pairs of {} cannot be read; they are not counted", run.id());
    Ok((lost > 0).then(why))
}

/// Makes the run continue an earlier start of the same comparison, if there is one. Returns the pairs that it began. A run of
/// `ended` is one if it has the same contents.
pub(super) fn continued(
    engine: &Engine<'_>,
    ended: &[String],
    run: &mut RunContext,
    pairing: &Pairing,
    sides: &mut ComparedSides,
) -> Result<Vec<PairRecord>, Problem> {
    let told = same_contents::of_comparison(run, pairing, sides);
    let Some(contents) = engine.contents(told) else { return Ok(Vec::new()) };
    run.contents = Some(same_contents::with_names(&contents, pairing.trials()));
    if engine.dry_run {
        return Ok(Vec::new());
    }
    let earlier = match run.kept {
        Some(_) => of_gates(engine, run, pairing, sides, &contents)?,
        None => same_contents::among(run, ended).or_else(|| engine.unfinished(run)),
    };
    let Some(folder) = earlier else { return Ok(Vec::new()) };
    run.settings.resume = true;
    run.settings.run_id = Some(folder.id().to_owned());
    Ok(folder.pairs()?)
}

/// A run with the trials that gates with these contents have measured, if there are some.
fn of_gates(
    engine: &Engine<'_>,
    run: &mut RunContext,
    pairing: &Pairing,
    sides: &mut ComparedSides,
    contents: &str,
) -> Result<Option<RunFolder>, Problem> {
    let Some(kept) = &mut run.kept else { return Ok(None) };
    let mut told = None;
    let mut waits = || {
        told.get_or_insert_with(|| engine.host.note("another gate has the same contents: waiting for it"));
    };
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

/// The cases of pairs that have begun and that are not there any more, in words. Their pairs would be missing from the answer.
pub(super) fn gone(begun: &[PairRecord], pairing: &Pairing) -> Option<String> {
    let of_case = |pair: &PairRecord| format!("{}/{}", pair.candidate.skill, pair.candidate.case);
    let gone: BTreeSet<String> = begun.iter().filter(|pair| pairing.case_of(pair).is_none()).map(of_case).collect();
    (!gone.is_empty()).then(|| gone.into_iter().collect::<Vec<_>>().join(", "))
}
