//! Reads stored trials for an export, one by one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::cli::{CliResultOf, named_runs};
use crate::report::export::StartTrials;
use crate::report::export::trials::{ExportPart, ExportedTrial, TrialPlan};
use crate::results::stored_summary::no_trials;
use crate::results::table;
use crate::run::planned::PlannedRun;
use crate::run::review::TrialReview;
use crate::store::{RunFolder, TrialFolder};
use crate::trial::run_record::TrialRecord;

/// Stored trials on their way into an export.
pub struct TrialExporter<'a> {
    run: &'a PlannedRun,
    /// Each with the number of attempts, which only the progress file has.
    trials: Vec<(TrialFolder, Option<u32>)>,
    plan: TrialPlan,
    exported: usize,
    unreadable: Vec<String>,
}

impl<'a> TrialExporter<'a> {
    pub fn of(run: &'a PlannedRun, runs: &[RunFolder]) -> CliResultOf<Self> {
        let names = runs.iter().map(RunFolder::id).collect::<Vec<_>>().join(", ");
        let (mut trials, mut unreadable, mut modes) = (Vec::new(), Vec::new(), BTreeMap::new());
        for stored in runs {
            stored.check_whole()?;
            let progress = stored.noted()?;
            let has_grades = named_runs::has_own_trials(stored)?;
            // A trial of a run that has no grade was cut short.
            for folder in named_runs::trials(&run.root, stored)? {
                if has_grades && !folder.has_grade()? {
                    continue;
                }
                match folder.meta() {
                    Ok(meta) => {
                        let attempts = progress.records.get(&meta.id()).map(|record| record.attempts);
                        modes.insert(meta.mode, meta.delivery.offers_skills());
                        trials.push((folder, attempts));
                    }
                    Err(why) => unreadable.push(why.to_string()),
                }
            }
        }
        if trials.is_empty() && unreadable.is_empty() {
            return Err(no_trials(&names, runs).into());
        }
        Ok(Self { run, trials, plan: TrialPlan { runs: names, modes }, exported: 0, unreadable })
    }

    /// Passes every part of the export to `put`.
    pub fn write<E>(&mut self, start: StartTrials, mut put: impl FnMut(ExportPart) -> Result<(), E>) -> Result<(), E> {
        let mut writer = start(&self.plan);
        for (folder, attempts) in &self.trials {
            let review = match TrialReview::of(self.run, folder) {
                Ok(review) => review,
                Err(why) => {
                    self.unreadable.push(why.to_string());
                    continue;
                }
            };
            let (meta, grade) = (&review.meta, &review.grade);
            let outcome = table::outcome(meta.id(), grade.clone(), meta, folder, &self.run.settings.prices);
            let record = TrialRecord::new(&outcome, attempts.unwrap_or(1));
            let trial = ExportedTrial {
                record: &record,
                evidence: review.evidence(),
                grade,
                timeline: &review.timeline(),
                files: self.files(&review, folder),
            };
            writer.trial(&trial).into_iter().try_for_each(&mut put)?;
            self.exported += 1;
        }
        writer.end().into_iter().try_for_each(put)
    }

    fn files(&self, review: &TrialReview, folder: &TrialFolder) -> Vec<(PathBuf, String)> {
        let changed = review.files(self.run, folder).into_iter();
        changed.filter_map(|file| Some((file.path.into(), file.after?))).collect()
    }

    /// The number of exported trials, and why others were not.
    pub fn finish(self) -> (usize, Vec<String>) {
        (self.exported, self.unreadable)
    }
}
