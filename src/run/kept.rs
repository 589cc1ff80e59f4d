//! Trials of earlier comparisons. Some stand for trials of the base: those whose use was fixed before they ran, in which all that
//! decided them is as it is today. And gates with the same contents share one comparison, with the trials of both sides. Whether a
//! trial is used never depends on what it did.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::cases::selection::TestCase;
use crate::results::graded_trial;
use crate::run::digests::SkillFolders;
use crate::run::kept_store::{KeptStore, ReportedAgent};
use crate::run::pairing::Pairing;
use crate::run::planned::PlannedRun;
use crate::run::started::StartedRun;
use crate::run::{open_run, record, same_contents};
use crate::settings::mode::{AgentKind, Mode};
use crate::store::{
    KeptAs, KeptPair, KeptTrial, KeptTrials, Night, NightCase, NightInputs, PairSide, RunFolder, Staging,
};
use crate::store::{StoreError, TrialFolder};
use crate::trial::event::RunEvent;
use crate::trial::evidence::{CATALOGUE_PART, Meta, SKILL_PART};
use crate::trial::id::{CaseInMode, TrialId};
use crate::trial::outcome::{Grade, Outcome, Verdict};
use crate::trial::run_record::{PairRecord, PlanLine, TrialRecord};

impl KeptStore {
    /// For a run in which trials of these cases may stand for trials of a base, and kept trials for them if they are not older than
    /// this.
    pub fn new<'a>(
        run: &PlannedRun,
        max_age: Duration,
        cases: impl IntoIterator<Item = &'a TestCase>,
    ) -> Result<Self, StoreError> {
        let key = |planned: &TestCase| Some((planned.case_in_mode(), same_contents::of_case(run, planned).ok()?));
        let keys = cases.into_iter().filter_map(key).collect();
        let trials = KeptTrials::new(&run.root, max_age)?;
        Ok(Self { trials, keys, comparison: None, reported: Mutex::default() })
    }

    /// Notes what an agent reports. Returns what its first trials in this run did, and whether this one agrees with them: a program
    /// that was replaced meanwhile does not.
    fn note(&self, run: &PlannedRun, mode: &Mode, meta: &Meta) -> (ReportedAgent, bool) {
        let requested = run.settings.model_for(mode);
        let version = meta.agent.version.clone();
        let model = meta.agent.model.clone().filter(|model| Some(model.as_str()) != requested);
        let mut all = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.entry((mode.agent, requested.map(str::to_owned))).or_default();
        let agrees = known.agrees(version.as_ref(), model.as_ref());
        known.version = known.version.take().or(version);
        known.model = known.model.take().or(model);
        (known.clone(), agrees)
    }

    /// Whether the run's agent is the one of this trial, as far as they reported it.
    fn is_of_agent(&self, run: &PlannedRun, mode: &Mode, kept_as: &KeptAs) -> bool {
        let requested = run.settings.model_for(mode).map(str::to_owned);
        let all = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let today = all.get(&(mode.agent, requested)).cloned().unwrap_or_default();
        today.agrees(kept_as.version.as_ref(), kept_as.model.as_ref())
    }
}

/// Makes a run of what earlier starts of the same comparison measured, to be resumed. `None` if that is nothing.
pub fn restored(run: &PlannedRun, pairing: &Pairing) -> Result<Option<RunFolder>, StoreError> {
    let Some((kept, comparison)) = run.kept.as_ref().and_then(|kept| Some((kept, kept.comparison.as_ref()?))) else {
        return Ok(None);
    };
    if comparison.pairs.is_empty() {
        return Ok(None);
    }
    // Its id is its own from now on. It gets its files in one step.
    let reserved = RunFolder::create(&run.root, run.settings.run_id.as_deref())?;
    let staging = Staging::of_runs(&run.root)?;
    let folder = staging.new_run(reserved.id())?;
    let mut of_base: HashMap<&str, u32> = HashMap::new();
    for pair in &comparison.pairs {
        let Some(paired) = pairing.cases.iter().find(|paired| paired.name == pair.case) else { continue };
        let baseline = (!pair.alone).then(|| {
            let number = of_base.entry(&pair.case).or_default();
            *number += 1;
            (PairSide::Baseline, &paired.baseline, *number)
        });
        let candidate = (PairSide::Candidate, &paired.candidate, pair.number);
        for (side, planned, number) in baseline.into_iter().chain([candidate]) {
            let Some(found) = kept.trials.trial_of(comparison, pair, side) else { continue };
            if side == PairSide::Baseline {
                kept.trials.take(&found.meta);
            }
            let to = folder.trial(&planned.trial(number));
            if let Err(error) = copy(&found, &to, folder.id(), &planned.mode, number, true) {
                to.remove()?;
                kept.trials.warn(format!("{error}; this kept trial is not used"));
            }
        }
        let baseline = baseline.map(|(_, planned, number)| planned.trial(number));
        let begun = PairRecord { baseline, candidate: paired.candidate.trial(pair.number) };
        folder.add_to_plan(begun.trials().cloned().map(PlanLine::from))?;
        folder.add_pair(&begun)?;
    }
    folder.write_run(&open_run::record(run, folder.id()))?;
    staging.put(Path::new(folder.id()))?;
    Ok(Some(reserved))
}

/// Copies a kept trial into a run, with its grade: how it is checked is in its key.
fn copy(
    kept: &KeptTrial,
    to: &TrialFolder,
    run: &str,
    mode: &Mode,
    number: u32,
    continues: bool,
) -> Result<(Meta, Grade), StoreError> {
    let grade = kept.folder.grade()?;
    record::write(&kept.folder, to, number, u64::MAX)?;
    let before = &kept.meta;
    let meta = Meta {
        kept_from: before.kept_from.clone().or_else(|| Some(before.run_id.clone())),
        // A trial that stood for one of the base does so again.
        continues: continues && before.kept_from.is_none(),
        run_id: run.to_owned(),
        mode: mode.name.clone(),
        commit: mode.commit.clone(),
        trial: number,
        ..before.clone()
    };
    to.write_meta(&meta)?;
    to.write_grade(&grade)?;
    Ok((meta, grade))
}

/// The pair or look as its comparison keeps it, which is noted before it starts. `None` if the run keeps no comparison.
pub fn begin(run: &StartedRun, case: &str, number: u32, alone: bool) -> Option<KeptPair> {
    let kept = run.kept.as_ref()?;
    let comparison = kept.comparison.as_ref()?;
    if let Some(known) = comparison.pairs.iter().find(|pair| pair.case == case && pair.number == number) {
        return Some(known.clone());
    }
    let all_from = run.sides.as_ref().and_then(|sides| sides.all_from);
    let pair = KeptPair { case: case.to_owned(), number, alone, all_from, began: jiff::Timestamp::now().to_string() };
    match comparison.begin(&pair) {
        Ok(()) => Some(pair),
        Err(error) => {
            kept.trials.warn(format!("{error}; this pair is not kept"));
            None
        }
    }
}

/// The kept trials that may stand for the next trial of this case.
pub fn find(run: &StartedRun, planned: &TestCase) -> Vec<KeptTrial> {
    run.kept.as_ref().map(|kept| kept.unused(planned)).unwrap_or_default()
}

/// The outcome of repeat `number` of a planned trial by the first of the kept trials `found` that is of the run's agent. It is copied
/// into the run.
pub fn take(run: &StartedRun, planned: &TestCase, number: u32, found: Vec<KeptTrial>) -> Option<Outcome> {
    let (kept, live) = (run.kept.as_ref()?, run.opened()?);
    for candidate in found {
        if !kept.is_of_agent(run, &planned.mode, &candidate.kept_as) || !kept.trials.take(&candidate.meta) {
            continue;
        }
        let id = planned.trial(number);
        let folder = live.folder.trial(&id);
        match copy(&candidate, &folder, live.folder.id(), &planned.mode, number, false) {
            Ok((meta, grade)) => {
                let outcome = graded_trial::outcome(id, grade, &meta, &folder, &run.settings.prices);
                run.emit(&RunEvent::Resumed { outcome: Box::new(outcome.clone()), attempts: 1, news: true });
                return Some(outcome);
            }
            Err(why) => {
                kept.trials.warn(format!("{}: {why}; this kept trial is not used", candidate.folder.path().display()));
                let _ = folder.remove();
            }
        }
    }
    None
}

/// Keeps a trial that has ended as that of a side of a pair.
pub fn keep(run: &StartedRun, pair: Option<&KeptPair>, side: PairSide, planned: &TestCase, number: u32) {
    let Some(kept) = &run.kept else { return };
    let Some(ended) = EndedTrial::of(run, kept, planned, &planned.trial(number)) else { return };
    let Some((comparison, pair)) = kept.comparison.as_ref().zip(pair) else { return };
    let stored = kept.trials.add_to(comparison, (pair, side), |to| ended.write(to));
    if let Err(error) = stored {
        kept.trials.warn(format!("{error}; this trial is not kept"));
    }
}

/// Keeps these trials of a case, which may stand for trials of a base: their use was fixed before they ran.
pub fn keep_for_base(run: &StartedRun, planned: &TestCase, numbers: impl IntoIterator<Item = u32>) {
    let Some((kept, key)) = run.kept.as_ref().and_then(|kept| Some((kept, kept.keys.get(&planned.case_in_mode())?)))
    else {
        return;
    };
    for number in numbers {
        let ended = EndedTrial::of(run, kept, planned, &planned.trial(number));
        let Some(ended) = ended.filter(|ended| ended.meta.kept_from.is_none()) else { continue };
        // Nobody knows whether an agent without a version is the same tomorrow.
        if ended.agent.version.is_none() {
            if let AgentKind::Custom(_) = planned.mode.agent {
                let name = planned.mode.agent.as_str();
                kept.trials.warn(format!(
                    "{name} reports no version, so its trials are not kept for later bases; a rule that says `version` reports it"
                ));
            }
            continue;
        }
        let ReportedAgent { version, model } = ended.agent.clone();
        kept.trials.take(&ended.meta);
        let stored = kept.trials.add(&KeptAs { key: key.clone(), version, model }, |to| ended.write(to));
        if let Err(error) = stored {
            kept.trials.warn(format!("{error}; this trial is not kept"));
        }
    }
}

/// Keeps the trials of all cases of the plan that ran as planned, and removes old ones. Of a case that lacks some, those that are
/// here may be the quick ones.
pub fn keep_plan(run: &StartedRun) -> Result<(), StoreError> {
    let Some(live) = run.opened() else { return Ok(()) };
    for entry in &run.plan.entries {
        let ended = |number| live.folder.trial(&entry.planned.trial(number)).has_grade().unwrap_or(false);
        if (1..=entry.repeats).all(ended) {
            keep_for_base(run, &entry.planned, 1..=entry.repeats);
        }
    }
    if let Some(kept) = run.kept.as_ref().filter(|_| run.settings.scripted.is_none()) {
        kept.trials.add_night(&night(run, &live.folder)?)?;
    }
    remove_old(run)
}

/// What the run measured, of the cases whose trials all ended: those that are here of others may be the quick ones.
fn night(run: &StartedRun, folder: &RunFolder) -> Result<Night, StoreError> {
    let records = folder.noted()?.records;
    let mut cases = Vec::new();
    for entry in &run.plan.entries {
        let ids = (1..=entry.repeats).map(|number| entry.planned.trial(number));
        let Some(of_case) = ids.map(|id| records.get(&id)).collect::<Option<Vec<_>>>() else { continue };
        let Some(inputs) = night_inputs(run, &entry.planned) else { continue };
        let CaseInMode { skill, case, mode } = entry.planned.case_in_mode();
        let mut of_night = NightCase { skill, case, mode, inputs, ..NightCase::default() };
        let count = |wanted| of_case.iter().filter(|record| record.verdict == wanted).count() as u64;
        of_night.passed = count(Verdict::Pass);
        of_night.trials = of_night.passed + count(Verdict::Fail);
        let cost = |record: &&TrialRecord| record.cost().cost_usd.filter(|_| !record.cost().cost_incomplete);
        of_night.cost_usd = of_case.iter().map(cost).sum();
        if let Some(meta) = of_case.last().and_then(|record| folder.trial(&record.id).meta().ok()) {
            of_night.agent = meta.agent.name_and_version();
            of_night.model = meta.agent.model;
        }
        cases.push(of_night);
    }
    let created = folder.run_record()?.map(|record| record.created).unwrap_or_default();
    Ok(Night { run: folder.id().to_owned(), created, cases })
}

/// What decides the trials of a case here: inputs only, since what a trial did must not choose its base.
fn night_inputs(run: &StartedRun, planned: &TestCase) -> Option<NightInputs> {
    let (case, mode) = (planned.found.case().ok()?, &planned.mode);
    let inputs = run.digested(&SkillFolders::Repository, case, mode, &[]).ok()?;
    let part = |name: &str| inputs.0.get(name).cloned();
    Some(NightInputs {
        skill: part(&format!("{SKILL_PART}{}", case.skill)),
        descriptions: part(CATALOGUE_PART),
        besides: run.besides_skills_at_start(case, mode).ok()?,
    })
}

/// A trial of the run that measured something, of an agent that is still what it was.
struct EndedTrial<'a> {
    folder: TrialFolder,
    planned: &'a TestCase,
    meta: Meta,
    grade: Grade,
    agent: ReportedAgent,
}

impl<'a> EndedTrial<'a> {
    fn of(run: &StartedRun, kept: &KeptStore, planned: &'a TestCase, id: &TrialId) -> Option<Self> {
        let folder = run.opened()?.folder.trial(id);
        let (meta, grade) = (folder.meta().ok()?, folder.grade().ok()?);
        let (agent, agrees) = kept.note(run, &planned.mode, &meta);
        let is_measured = matches!(grade.verdict, Verdict::Pass | Verdict::Fail) && grade.trouble.is_none();
        let is_whole = is_measured && meta.ending.trouble.is_none();
        let is_copy = meta.kept_from.is_some();
        let is_same = || agrees && same_contents::is_setup_unchanged(run, planned.mode.agent);
        if !is_whole || !(is_copy || is_same()) {
            return None;
        }
        if !is_copy && !same_contents::are_files_unchanged(run, planned) {
            let (skill, case) = (&planned.found.skill, &planned.found.id);
            kept.trials.warn(format!("files of {skill}/{case} changed while it ran: what it measured is not kept"));
            return None;
        }
        Some(Self { folder, planned, meta, grade, agent })
    }

    fn write(&self, to: &TrialFolder) -> Result<(), StoreError> {
        record::write(&self.folder, to, self.meta.trial, record::workspace_limit(self.planned.found.case().ok()))?;
        to.write_grade(&self.grade)
    }
}

/// Removes kept trials that are too old or too many.
pub fn remove_old(run: &PlannedRun) -> Result<(), StoreError> {
    run.kept.as_ref().map_or(Ok(()), |kept| kept.trials.remove_old())
}

/// Warnings about kept trials that were passed over.
pub fn warnings(run: &PlannedRun) -> Vec<String> {
    run.kept.as_ref().map(|kept| kept.trials.warnings()).unwrap_or_default()
}
