//! The table of results: a row for each trial that ended, with its verdict, every check, every figure and its cost.

use crate::settings::Prices;
use crate::store::{RunFolder, StoreError, TrialFolder};
use crate::trial::evidence::{Meta, digest};
use crate::trial::id::TrialId;
use crate::trial::outcome::{Grade, Judged, Outcome};
use crate::trial::run_record::{ProgressLine, TrialRecord};
use crate::trial::spent::AttemptCost;

/// The row of the trial kept in `folder`, from its own files.
///
/// # Errors
/// When they cannot be read.
pub fn row(folder: &TrialFolder, prices: &Prices) -> Result<TrialRecord, StoreError> {
    let (meta, grade) = (folder.meta()?, folder.grade()?);
    let outcome = outcome(meta.id(), grade, &meta, folder, prices);
    Ok(TrialRecord { run: meta.run_id, ..TrialRecord::new(&outcome, 1) })
}

/// The outcome of a stored trial.
#[must_use]
pub fn outcome(id: TrialId, grade: Grade, meta: &Meta, folder: &TrialFolder, prices: &Prices) -> Outcome {
    let spent = spent(meta, &grade, prices);
    let (folder, scripted) = (folder.path().to_path_buf(), meta.scripted.clone());
    let inputs = Some(inputs(meta, &grade));
    Outcome { id, grade, folder, scripted, spent, isolation: meta.isolation, inputs, aged: false }
}

/// A digest of what was asked and checked, and how, but for the skills.
fn inputs(meta: &Meta, grade: &Grade) -> String {
    let checks = grade.checks.iter().map(|check| format!("{}\n{}\n", check.id, check.expected));
    digest(std::iter::once(meta.inputs.besides_skills()).chain(checks).collect::<String>().as_bytes())
}

/// What a graded trial took: its agent, and its judge where it had one.
fn spent(meta: &Meta, grade: &Grade, prices: &Prices) -> AttemptCost {
    let agent = AttemptCost::by(meta.agent.kind, meta.agent.model.as_deref(), grade.metrics.usage.as_ref(), prices);
    let agent = AttemptCost { tokens: agent.tokens.or(grade.metrics.tokens_at_least), ..agent };
    match &grade.judged {
        Some(Judged::Asked { agent: judge, model, usage, .. }) => {
            agent.and(AttemptCost::by(*judge, model.as_deref(), usage.as_ref(), prices))
        }
        _ => agent,
    }
}

/// Appends to the progress file of a run that other processes write too what their own folders tell of these trials and
/// the file lacks: a file that was written anew would lose what others append meanwhile.
///
/// # Errors
/// When files cannot be read or written.
pub fn complete_progress(
    run: &RunFolder,
    ids: impl Iterator<Item = TrialId>,
    prices: &Prices,
) -> Result<(), StoreError> {
    let (progress, ledger) = (run.progress()?, run.ledger()?);
    for id in ids {
        let Ok(row) = row(&run.trial(&id), prices) else { continue };
        if progress.records.get(&id).is_none_or(|known| known.verdict != row.verdict) {
            ledger.append(&ProgressLine::Ended(Box::new(TrialRecord { run: String::new(), ..row })))?;
        }
    }
    Ok(())
}

/// Writes the progress file of a run anew from the trials' own folders, which are never behind it; what only the file
/// knows of them (attempts, when they ended, what the provider refused) is kept.
///
/// # Errors
/// When files cannot be read or written.
pub fn repair_progress(run: &RunFolder, prices: &Prices) -> Result<(), StoreError> {
    let mut progress = run.progress()?;
    for folder in run.trials() {
        let Ok(row) = row(&folder, prices) else { continue };
        let row = TrialRecord { run: String::new(), ..row };
        match progress.records.get(&row.id) {
            Some(known) if known.verdict == row.verdict => {}
            _ => {
                progress.records.insert(row.id.clone(), row);
            }
        }
    }
    run.write_progress(&progress.into_lines())
}
