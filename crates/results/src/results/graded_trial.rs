//! Makes the outcome of a graded trial, and its row: verdict, checks, figures and cost. Read from the trial's own files.

use crate::grade::general::OF_THE_END;
use crate::settings::Prices;
use crate::store::{JournalContents, RunFolder, StoreError, TrialFolder};
use crate::trial::evidence::{Meta, digest};
use crate::trial::id::TrialId;
use crate::trial::input_file::UserMeta;
use crate::trial::outcome::AttemptCost;
use crate::trial::outcome::{Grade, Judged, Outcome};
use crate::trial::run_record::{ProgressLine, TrialRecord};

pub fn row(folder: &TrialFolder, prices: &Prices) -> Result<TrialRecord, StoreError> {
    let (meta, grade) = (folder.meta()?, folder.grade()?);
    let outcome = outcome(meta.id(), grade, &meta, folder, prices);
    Ok(TrialRecord { run: meta.run_id, ..TrialRecord::new(&outcome, 1) })
}

pub fn outcome(id: TrialId, grade: Grade, meta: &Meta, folder: &TrialFolder, prices: &Prices) -> Outcome {
    let spent = spent(meta, &grade, prices);
    let (folder, scripted) = (folder.path().to_path_buf(), meta.scripted.clone());
    let inputs = Some(inputs(meta, &grade));
    let kept = meta.kept_from.as_ref().map(|_| meta.started.clone());
    let tags = meta.case.tags.clone();
    Outcome { id, grade, folder, scripted, spent, isolation: meta.isolation, inputs, aged: false, kept, tags }
}

/// A digest of everything that the trial depends on, except the skills.
fn inputs(meta: &Meta, grade: &Grade) -> String {
    let mut inputs = meta.inputs.besides_skills();
    // How a trial ended decides which questions about its end apply.
    for check in grade.checks.iter().filter(|check| !OF_THE_END.contains(&check.id.as_str())) {
        let question = check.question();
        // A program is asked once, however many answers it has.
        if check.program.is_none() || !inputs.contains(&question) {
            inputs.push_str(&question);
        }
    }
    if let Some(least) = grade.score.and_then(|score| score.least) {
        inputs.extend(["least score ", &least.to_string(), "\n"]);
    }
    digest(inputs.as_bytes())
}

/// The cost of the agent, of its user and of the judge.
fn spent(meta: &Meta, grade: &Grade, prices: &Prices) -> AttemptCost {
    let (whole, at_least) = (grade.metrics.usage.as_ref(), grade.metrics.usage_at_least.as_ref());
    let mut agent = AttemptCost::by(meta.agent.kind, &meta.agent.models(), whole.or(at_least), prices);
    agent.tokens_incomplete |= whole.is_none();
    agent.cost_incomplete |= whole.is_none();
    if let Some(UserMeta { player, usage, .. }) = &meta.user {
        agent = agent.and(AttemptCost::by(player.kind, &player.models(), usage.as_ref(), prices));
    }
    match &grade.judged {
        Some(Judged::Asked { agent: judge, model, usage, .. }) => {
            agent.and(AttemptCost::by(*judge, model.as_deref().as_slice(), usage.as_ref(), prices))
        }
        _ => agent,
    }
}

/// Appends the results of these trials to the run's progress file if the file lacks them. The file is not rewritten:
/// other processes append to it at the same time.
pub fn complete_progress(
    run: &RunFolder,
    ids: impl Iterator<Item = TrialId>,
    prices: &Prices,
) -> Result<(), StoreError> {
    let (progress, journal) = (run.noted()?, run.journal()?);
    for id in ids {
        if let Some(record) = unrecorded(&progress, &run.trial(&id), prices) {
            journal.append(&ProgressLine::Ended(Box::new(record)))?;
        }
    }
    Ok(())
}

/// Rewrites the progress file of a run with the results of the trials' own files, which are never older. Keeps what only
/// the progress file knows: attempts, end times and refusals of the provider.
pub fn repair_progress(run: &RunFolder, prices: &Prices) -> Result<(), StoreError> {
    let mut progress = run.noted()?;
    for folder in run.trials()? {
        if let Some(record) = unrecorded(&progress, &folder, prices) {
            progress.insert(record);
        }
    }
    run.write_progress(&progress.into_lines())
}

/// The row of a trial if the progress file lacks it, has another verdict, or lacks its cost because it had no price then.
fn unrecorded(progress: &JournalContents, folder: &TrialFolder, prices: &Prices) -> Option<TrialRecord> {
    let row = row(folder, prices).ok()?;
    let is_current = |known: &TrialRecord| {
        known.verdict == row.verdict && (known.spent.cost_usd.is_some() || row.spent.cost_usd.is_none())
    };
    let known = progress.records.get(&row.id).is_some_and(is_current);
    (!known).then(|| TrialRecord { run: String::new(), ..row })
}
