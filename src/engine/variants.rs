//! Runs the same cases in several variants: with and without a skill, or with several models.

use std::path::Path;

use super::choose::{self, planned, to_resume};
use super::{Engine, Loaded, MostTrials};
use crate::run::planned::PlannedRun;
use crate::run::started::StartedRun;
use crate::run::variants::{self as plan, TrialLimit, VariantPlan};
use crate::run::{same_contents, scheduler};
use crate::settings::Settings;
use crate::settings::trials::Trials;
use crate::store::RunFolder;
use crate::text::problem::Problem;
use crate::trial::run_record::VariantRun;
use crate::trial::run_record::{RunChoices, RunRecord};

/// What the variants are to show.
#[derive(Clone, Debug)]
pub enum VariantRequest {
    /// What keeps this skill from helping.
    Diagnosis(String),
    /// The cheapest of these models within the margin of the best; with the margin and the chance of a false result.
    CheapestModel(Vec<String>, (f64, f64)),
}

/// A run of variants that has ended.
pub struct EndedVariants {
    pub folder: RunFolder,
    /// Why not all trials ran, and what to do.
    pub ended_early: Option<String>,
}

/// The choices and the variants of the run to resume, which `command` has to resume.
///
/// # Errors
///
/// If the run does not exist, or another command made it.
pub fn earlier(root: &Path, settings: &Settings, command: &str) -> Result<(RunChoices, VariantRun), Problem> {
    let folder = to_resume(root, settings)?;
    let id = folder.id();
    match folder.run_record()? {
        Some(record) if record.command() != command => {
            Err(format!("to resume {id}: {}", folder.resume_command()).into())
        }
        Some(RunRecord { variants: Some(variants), chosen, .. }) => Ok((chosen, variants)),
        _ => Err(format!("{id} does not say what it was to do: it has no run.json").into()),
    }
}

impl Engine<'_> {
    /// Plans the variants of the chosen cases, and finds an earlier start of them. Starts nothing.
    ///
    /// # Errors
    ///
    /// If the choices, the cases or the limit allow no such plan.
    pub fn vary(
        &self,
        loaded: Loaded,
        mut chosen: RunChoices,
        question: &VariantRequest,
        limit: TrialLimit,
    ) -> Result<PlannedRun, Problem> {
        let Loaded { repository, mut settings, catalog } = loaded;
        let resumes = settings.resume;
        settings.record = false;
        settings.repetition.asked.trials = Some(Trials::Times(1));
        choose::apply(&chosen, &mut settings)?;
        if matches!(question, VariantRequest::CheapestModel(..)) {
            // A model of the settings would replace those of the variants.
            settings.model = None;
        }
        self.choose_default_modes(&repository.root, &mut settings, &catalog, &mut chosen)?;
        let asked = chosen.selection.cases.join(", ");
        let run = planned(Loaded { repository, settings, catalog }, chosen)?;
        let VariantPlan { plan, record } = match question {
            VariantRequest::Diagnosis(skill) if run.plan.is_empty() && !asked.is_empty() => {
                return Err(format!("--case {asked}: not a case of `{skill}`; name one of its positive cases").into());
            }
            VariantRequest::Diagnosis(skill) => plan::diagnosis(&run, skill, limit)?,
            VariantRequest::CheapestModel(models, rule) => plan::models(&run, models, *rule, limit)?,
        };
        let mut run = run.with_plan(plan);
        if !resumes && !self.dry_run {
            let question = serde_json::to_string(&record)?;
            let cases = || run.plan.entries.iter().map(|entry| &entry.planned);
            let contents = self.contents(same_contents::of_cases(&run, cases(), &question));
            run.contents = contents.map(|contents| same_contents::with_names(&contents, cases()));
        }
        run.variants = Some(record);
        run.is_stored = true;
        if let Some(folder) = self.unfinished(&run) {
            run.settings.resume = true;
            run.settings.run_id = Some(folder.id().to_owned());
        }
        Ok(run)
    }

    /// Runs the variants. `None` if another process does it.
    ///
    /// # Errors
    ///
    /// If the run cannot begin.
    pub fn measure(&self, planned: PlannedRun) -> Result<Option<EndedVariants>, Problem> {
        let Some(run) = self.begin(planned)? else { return Ok(None) };
        let most = MostTrials::Exactly(run.plan.len());
        self.host.watch(&run, most, &mut || scheduler::run(&run));
        self.unwritten(run.close());
        let folder = run.opened().ok_or("the run could not be opened")?.folder.clone();
        let ended_early = ended_early(&run, &folder)?;
        Ok(Some(EndedVariants { folder, ended_early }))
    }
}

fn ended_early(run: &StartedRun, folder: &RunFolder) -> Result<Option<String>, Problem> {
    if let Some(why) = run.early_end_message() {
        return Ok(Some(why));
    }
    let Some(why) = run.no_more() else { return Ok(None) };
    let ended = folder.noted()?.records.len();
    if ended >= run.plan.len() {
        return Ok(None);
    }
    Ok(Some(format!("it ended early: {why}; {}", folder.remedy())))
}
