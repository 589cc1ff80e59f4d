//! Merges the shards of a run into one stored run, as if one process had run all cases.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::process::background;
use crate::report::markdown;
use crate::results::run_status::AgentVersions;
use crate::results::run_status::{NotRunReasons, is_live};
use crate::results::summary::Summary;
use crate::results::{run_status, stored_comparison};
use crate::run::case_digests;
use crate::run::planned::PlannedRun;
use crate::settings::Settings;
use crate::store::{Journal, RunFolder, RunLock, Staging, StoreError};
use crate::text::cut;
use crate::text::problem::Problem;
use crate::trial::id::{CaseInMode, TrialId};
use crate::trial::outcome::NotRun;
use crate::trial::run_record::{ComparedSides, PlanLine, ProgressLine, RunChoices, RunEndKind, RunRecord};
use crate::trial::shard::{Shard, ShardedCase};

/// Why a trial was not run, if its shard is not there.
const NO_SHARD: &str = "its shard has no run here";

/// Maximum number of differing cases that an error names.
const MAX_NAMED: usize = 5;

/// A run that was made of shards.
#[derive(Debug)]
pub struct MergedRun {
    pub run: RunFolder,
    pub summary: Summary,
    /// The planned trials without a result, with the reason of each.
    pub missing: Vec<(TrialId, String)>,
    /// The shards that have cases and no run here.
    pub absent: Vec<Shard>,
    /// The agents of which the shards ran several versions, with these: `codex 0.144.1, 0.145.0`.
    pub mixed_agents: Vec<String>,
}

type AllCases = BTreeMap<CaseInMode, ShardedCase>;

/// Merges shards of one run into the run `id`. A merged run of this id is made again, unless the only copy of a trial would be lost;
/// any other run stays. A trial belongs to one shard, so only one shard at a time is in memory.
pub fn merge(root: &Path, settings: &Settings, runs: &[RunFolder], id: &str) -> Result<MergedRun, Problem> {
    let (shards, cases) = parts(runs)?;
    if let Some(run) = runs.iter().find(|run| is_live(run)) {
        return Err(format!("{} is running: merge it when it has ended", run.id()).into());
    }
    let old = replaceable(root, id)?;
    let (staging, merged) = write(root, settings, &shards, &cases, id)?;
    if let Some((old, _lock)) = &old {
        check_kept(old, &merged)?;
    }
    let path = staging.put(Path::new(id))?;
    Ok(MergedRun { run: RunFolder::at(&path), ..merged })
}

/// Refuses shards that are not all of the run `id`: their results would be taken for those of the whole.
pub fn check_whole(id: &str, runs: &[RunFolder]) -> Result<(), Problem> {
    let (shards, cases) = parts(runs)?;
    let here: BTreeSet<Shard> = shards.iter().map(|run| run.shard).collect();
    let of = shards[0].shard.of;
    let absent: BTreeSet<Shard> = cases.keys().map(|case| Shard::of_case(case, of)).collect();
    let absent: Vec<String> = absent.difference(&here).map(ToString::to_string).collect();
    if absent.is_empty() {
        return Ok(());
    }
    let (absent, ids): (String, Vec<&str>) = (absent.join(", "), runs.iter().map(RunFolder::id).collect());
    Err(format!("{id}: no run of shard {absent} is here: bring it, or name those that are here: {}", ids.join(" "))
        .into())
}

/// The shards of one run, in order, and its cases.
fn parts(runs: &[RunFolder]) -> Result<(Vec<ShardRun<'_>>, AllCases), Problem> {
    let mut shards = runs.iter().map(ShardRun::open).collect::<Result<Vec<_>, _>>()?;
    shards.sort_by_key(|run| run.shard);
    let Some(first) = shards.first() else { return Err("no shard to merge".into()) };
    let cases = first.cases()?;
    shards.windows(2).try_for_each(|pair| check_alike(&pair[0], &pair[1]))?;
    Ok((shards, cases))
}

/// Refuses to replace a run with trials that the shards lack.
fn check_kept(old: &RunFolder, merged: &MergedRun) -> Result<(), Problem> {
    // One that cannot be read is not given up either.
    let mut lost = merged.missing.iter().filter(|(id, _)| old.trial(id).has_grade().unwrap_or(true));
    let Some((first, _)) = lost.next() else { return Ok(()) };
    let (id, count) = (old.id(), lost.count() + 1);
    Err(format!(
        "the run `{id}` has {count} trials that these shards lack, as {first}: bring their shards, or choose another name with --run-id"
    ).into())
}

struct ShardRun<'a> {
    folder: &'a RunFolder,
    record: RunRecord,
    shard: Shard,
    /// The digest of the cases of all shards.
    all_cases: String,
}

impl<'a> ShardRun<'a> {
    fn open(folder: &'a RunFolder) -> Result<Self, Problem> {
        let id = folder.id();
        let record = folder.run_record()?;
        let Some((record, shard)) = record.and_then(|record| record.chosen.shard.map(|shard| (record, shard))) else {
            return Err(format!(
                "{id} is not a shard, which `skill-evals run --shard M/N` makes; `skill-evals summary A B` summarizes other runs"
            ).into());
        };
        let Some(all_cases) = record.all_cases.clone() else {
            if is_live(folder) {
                return Err(format!("{id} is still starting: try again when it runs").into());
            }
            return Err(format!("{id} ended before it began; to resume: {}", folder.resume_command()).into());
        };
        Ok(Self { folder, record, shard, all_cases })
    }

    fn cases(&self) -> Result<AllCases, Problem> {
        let cases = self.folder.all_cases(&self.all_cases)?;
        Ok(cases.into_iter().map(|case| (case.case.clone(), case)).collect())
    }
}

/// Refuses two shards that are not different parts of one run.
fn check_alike(one: &ShardRun<'_>, other: &ShardRun<'_>) -> Result<(), Problem> {
    let both = format!("{} and {}", one.folder.path().display(), other.folder.path().display());
    let chosen = |run: &ShardRun<'_>| RunChoices { shard: None, ..run.record.chosen.clone() };
    let sides = |run: &ShardRun<'_>| run.record.sides.as_ref().map(ComparedSides::of_all_shards);
    if one.shard == other.shard {
        Err(format!("{both} are both shard {}: name one of them", one.shard).into())
    } else if one.shard.of != other.shard.of {
        Err(format!("{both} are shards {} and {}: all shards of a run have the same N", one.shard, other.shard).into())
    } else if one.all_cases != other.all_cases {
        let differences = differences(&one.cases()?, &other.cases()?);
        Err(format!("{both} had different inputs, so they are not merged: {differences}").into())
    } else if one.record.version != other.record.version {
        let versions = format!("{} and {}", one.record.version, other.record.version);
        Err(format!("{both} were run by different versions of skill-evals: {versions}").into())
    } else if chosen(one) != chosen(other) || sides(one) != sides(other) {
        Err(format!("{both} were started with different options: see `chosen` and `sides` in the run.json of each")
            .into())
    } else {
        Ok(())
    }
}

/// The cases that differ, each with what differs.
fn differences(one: &AllCases, other: &AllCases) -> String {
    let names: BTreeSet<&CaseInMode> = one.keys().chain(other.keys()).collect();
    let mut found = Vec::new();
    for name in names {
        let what = match (one.get(name), other.get(name)) {
            (Some(one), Some(other)) if one == other => continue,
            (Some(one), Some(other)) if one.inputs != other.inputs => "its skill, prompt or settings",
            (Some(one), Some(other)) if one.checks != other.checks => "its checks",
            (Some(_), Some(_)) => "its number of trials",
            _ => "in one of them only",
        };
        found.push(format!("{} ({what})", name.compared_as(true)));
    }
    cut::names(&found, MAX_NAMED)
}

/// The old run `id`, locked, if there is one. Only a merged run is replaced.
fn replaceable(root: &Path, id: &str) -> Result<Option<(RunFolder, RunLock)>, Problem> {
    let text = |error: StoreError| error.to_string();
    if Shard::of_run(id).is_some() {
        return Err(format!("the run id `{id}` is that of a shard: choose another name with --run-id").into());
    }
    match RunFolder::check_new(root, id) {
        Ok(()) => Ok(None),
        Err(StoreError::Exists(_)) => {
            let old = RunFolder::open(root, id).map_err(text)?;
            let record = old.run_record().map_err(text)?;
            if record.is_none_or(|record| record.merged.is_empty()) {
                return Err(format!(
                    "the run `{id}` exists and has trials of its own: choose another name with --run-id"
                )
                .into());
            }
            let lock = old.lock(background::this_process()).map_err(text)?;
            Ok(Some((old, lock)))
        }
        Err(other) => Err(text(other).into()),
    }
}

/// Writes the merged run next to the others.
fn write(
    root: &Path,
    settings: &Settings,
    shards: &[ShardRun<'_>],
    cases: &AllCases,
    id: &str,
) -> Result<(Staging, MergedRun), StoreError> {
    let staging = Staging::of_runs(root)?;
    let run = staging.new_run(id)?;
    let summary = Summary::new(vec![id.to_owned()], settings);
    let of = shards[0].shard.of;
    let mut of_shard: BTreeMap<Shard, Vec<&ShardedCase>> = BTreeMap::new();
    for case in cases.values() {
        of_shard.entry(Shard::of_case(&case.case, of)).or_default().push(case);
    }
    let mut merger = Merger {
        cases,
        of_shard,
        journal: run.journal()?,
        run,
        summary,
        planned: 0,
        missing: Vec::new(),
        absent: Vec::new(),
        versions: AgentVersions::default(),
    };
    let sides: Vec<ComparedSides> = shards.iter().filter_map(|run| run.record.sides.clone()).collect();
    let sides = ComparedSides::merged(&sides, of);
    for shard in (1..=of).map(|number| Shard { number, of }) {
        merger.add(shard, shards.iter().find(|run| run.shard == shard).map(|run| run.folder))?;
    }
    if sides.is_some() {
        add_pairs(shards, &merger.run)?;
    }
    let Merger { run, mut summary, planned, missing, absent, versions, .. } = merger;
    shards.iter().try_for_each(|shard| run.add_snapshots(shard.folder))?;
    summary.planned = Some(planned);
    let absent_names = absent.iter().map(ToString::to_string).collect();
    let record = RunRecord { sides: sides.clone(), absent: absent_names, ..record(shards, id, planned) };
    run.write_run(&record)?;
    if let Some(sides) = &sides {
        let course = stored_comparison::course(&run, sides)?;
        run.write_comparison(&stored_comparison::compared(&run, sides, &course)?)?;
    }
    run.write_summary(&summary, &markdown::summary(&summary))?;
    Ok((staging, MergedRun { run, summary, missing, absent, mixed_agents: versions.mixed() }))
}

/// Adds the pairs of all shards: first those on which the answers of the shards rest.
fn add_pairs(shards: &[ShardRun<'_>], run: &RunFolder) -> Result<(), StoreError> {
    let mut others = Vec::new();
    for shard in shards {
        let Some(sides) = &shard.record.sides else { continue };
        let (used, rest) = stored_comparison::used_first(shard.folder, sides)?;
        used.iter().try_for_each(|pair| run.add_pair(pair))?;
        others.extend(rest);
    }
    others.iter().try_for_each(|pair| run.add_pair(pair))
}

/// Whether a shard measured the cases of this run with what its agents see and its checks today; if not, what differs.
pub fn check_cases(run: &PlannedRun, shard: &RunFolder) -> Result<(), Problem> {
    let now = run.plan.entries.iter().map(|entry| case_digests::sharded(run, entry));
    let now: AllCases = now.map(|case| (case.case.clone(), case)).collect();
    let then = ShardRun::open(shard)?.cases()?;
    if now == then {
        return Ok(());
    }
    let (id, differences) = (shard.id(), differences(&then, &now));
    Err(format!("{id} measured something else than what is here: {differences}; check out the commit that it ran on")
        .into())
}

/// The record of the run `id` of these shards.
fn record(shards: &[ShardRun<'_>], id: &str, planned: usize) -> RunRecord {
    let records = || shards.iter().map(|run| &run.record);
    let finished = |record: &&RunRecord| record.ended.as_ref().is_some_and(|end| end.how == RunEndKind::Finished);
    // A shard that was killed has no end.
    let ended = match records().find(|record| !finished(record)) {
        Some(unfinished) => unfinished.ended.clone(),
        None => records().filter_map(|record| record.ended.clone()).max_by(|a, b| a.at.cmp(&b.at)),
    };
    let first = shards[0].record.clone();
    RunRecord {
        id: id.to_owned(),
        created: records().map(|record| record.created.clone()).min().unwrap_or_default(),
        planned,
        grows: records().any(|record| record.grows),
        chosen: RunChoices { shard: None, ..first.chosen },
        contents: None,
        all_cases: None,
        merged: shards.iter().map(|run| run.folder.id().to_owned()).collect(),
        ended,
        ..first
    }
}

struct Merger<'a> {
    cases: &'a AllCases,
    /// The same by shard.
    of_shard: BTreeMap<Shard, Vec<&'a ShardedCase>>,
    run: RunFolder,
    journal: Journal,
    summary: Summary,
    planned: usize,
    missing: Vec<(TrialId, String)>,
    absent: Vec<Shard>,
    versions: AgentVersions,
}

impl Merger<'_> {
    /// Adds the trials of a shard, and those that its run should have.
    fn add(&mut self, shard: Shard, from: Option<&RunFolder>) -> Result<(), StoreError> {
        let mut plan = self.plan(shard);
        let mut ended = BTreeSet::new();
        let mut reasons = None;
        if from.is_none() && !plan.is_empty() {
            self.absent.push(shard);
        }
        if let Some(from) = from {
            from.each_planned(|line| _ = plan.insert(line.id.clone(), line))?;
            ended = self.add_results(shard, from)?;
            reasons = Some(NotRunReasons::of(from));
        }
        let lines: Vec<PlanLine> = plan.into_values().collect();
        self.run.plan_further(&lines)?;
        self.planned += lines.len();
        for PlanLine { id, .. } in lines.into_iter().filter(|line| !ended.contains(&line.id)) {
            let why = match &reasons {
                Some(reasons) => reasons.why(&id).clone(),
                None => NotRun::Other(NO_SHARD.to_owned()),
            };
            self.missing.push((id.clone(), why.to_string()));
            self.summary.add_not_run(&id, why);
        }
        Ok(())
    }

    fn plan(&self, shard: Shard) -> BTreeMap<TrialId, PlanLine> {
        let mut plan = BTreeMap::new();
        for case in self.of_shard.get(&shard).into_iter().flatten() {
            let threshold = case.max_trials.map(|_| case.threshold);
            for number in 1..=case.trials {
                let CaseInMode { skill, case: name, mode } = case.case.clone();
                let id = TrialId { skill, case: name, mode, number };
                plan.insert(id.clone(), PlanLine { id, threshold, max_trials: case.max_trials });
            }
        }
        plan
    }

    fn add_results(&mut self, shard: Shard, from: &RunFolder) -> Result<BTreeSet<TrialId>, StoreError> {
        // What is missing is reported with the reason.
        let (records, rest) = run_status::all_ended_here(from)?;
        for trial in from.trials()? {
            let Some(id) = trial.id() else { continue };
            // A damaged trial would make the merged run as little worth as its shard.
            if trial.has_grade()? {
                self.versions.add(trial.meta()?.agent);
            }
            self.run.add_trial(&trial, &id)?;
        }
        let record = from.run_record()?;
        // The baseline of a comparison runs in a mode of its own.
        let is_compared = record.is_some_and(|record| record.sides.is_some());
        let is_known = |case: &CaseInMode| shard.has(case) && self.cases.contains_key(case);
        let foreign = |id: &&TrialId| !is_compared && !is_known(&CaseInMode::of(id));
        if let Some(id) = records.keys().find(foreign) {
            let why = format!("it has the trial {id}, which is not in the plan of shard {shard}");
            return Err(StoreError::Damaged { path: from.progress_path(), why });
        }
        for (id, spent) in rest.refused {
            self.summary.add_refused(&id, spent);
            self.journal.append(&ProgressLine::Refused { refused: id, spent })?;
        }
        let ended = records.keys().cloned().collect();
        for record in records.into_values() {
            self.summary.add(&record);
            self.journal.append(&ProgressLine::Ended(Box::new(record)))?;
        }
        Ok(ended)
    }
}
