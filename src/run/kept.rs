//! Trials of earlier comparisons that stand for trials of the baseline. They are found by what decided them, graded again,
//! and used only if their agent, model and checks are those of today.

use std::collections::{BTreeMap, BTreeSet};

use crate::agent;
use crate::cases::case::Case;
use crate::cases::start_files::start_files;
use crate::cases::test_case::TestCase;
use crate::files::material::Material;
use crate::run::context::RunContext;
use crate::run::digests::{SkillFolders, opened_skills};
use crate::run::live::LiveRun;
use crate::run::preflight::{self, ReadyCase};
use crate::run::record;
use crate::run::trial;
use crate::settings::mode::AgentKind;
use crate::store::{KeptTrial, KeptTrials, StoreError};
use crate::trial::event::RunEvent;
use crate::trial::evidence::{Inputs, Meta, SKILL_PART, digest};
use crate::trial::outcome::{CheckResult, Outcome, Verdict};

/// The kept trials that may stand for the next trial of this case.
pub fn find(run: &RunContext, planned: &TestCase) -> Vec<KeptTrial> {
    let found = || {
        let (kept, live) = (run.kept.as_ref()?, run.opened()?);
        let ready = preflight::ready(run, planned).ok()?;
        Some(kept.unused(&key_now(run, live, &ready)?))
    };
    found().unwrap_or_default()
}

/// How many of these cases have a kept trial that may stand for a trial, before the run is open: one that had the same inputs.
/// The agent and its setup decide later.
pub fn foreseen<'a>(run: &RunContext, cases: impl Iterator<Item = &'a TestCase>) -> usize {
    let Some(kept) = &run.kept else { return 0 };
    let young: Vec<KeptTrial> = kept.all().into_iter().flat_map(|(key, _)| kept.unused(&key)).collect();
    let may_stand = |planned: &&TestCase| {
        let commit = planned.mode.commit.as_deref();
        let version = run.versions.iter().find(|version| Some(version.commit.as_str()) == commit);
        let (root, skills) = match version {
            Some(version) => (version.root(), &version.catalog),
            None => (run.root.as_path(), &run.catalog),
        };
        let Some((skill, case)) = skills.skill(&planned.found.skill).zip(planned.found.case().ok()) else {
            return false;
        };
        let Ok(mut now) = run.digested(&SkillFolders::Repository, case, &planned.mode, &[]) else { return false };
        if let Some(digest) = now.0.get_mut(&format!("{SKILL_PART}{}", case.skill)) {
            let files = Material::list(&root.join(&skill.skill().folder)).whole();
            *digest = files.and_then(|files| files.digest()).unwrap_or_default();
        }
        young.iter().any(|KeptTrial { meta, .. }| {
            let is_of_case = meta.case.id == case.id && meta.skill.slug == case.skill;
            is_of_case && meta.agent.kind == planned.mode.agent && known_before(&meta.inputs, &case.skill).eq(&now.0)
        })
    };
    cases.filter(may_stand).count()
}

/// The outcome of repeat `number` of a planned trial by one of the kept trials `found`, which is copied into the run. Its agent,
/// model and isolation are those of the trial `today`.
pub fn take(run: &RunContext, planned: &TestCase, number: u32, found: Vec<KeptTrial>, today: &Meta) -> Option<Outcome> {
    let (kept, live) = (run.kept.as_ref()?, run.opened()?);
    let ready = preflight::ready(run, planned).ok()?;
    let facts = |meta: &Meta| (meta.agent.clone(), meta.isolation, meta.scripted.clone());
    for candidate in found {
        let snapshot =
            live.snapshots.offered(&planned.mode, &ready.case.skill, run.plugin_for(&planned.mode, ready.case)).ok()?;
        let opened = opened_skills(&candidate.meta.inputs);
        let now = run.digested(&SkillFolders::Snapshot(&snapshot), ready.case, &planned.mode, &opened).ok()?;
        if now != candidate.meta.inputs || facts(&candidate.meta) != facts(today) || !kept.take(&candidate) {
            continue;
        }
        match reuse(run, live, &ready, number, &candidate) {
            Ok(Some(outcome)) => {
                run.emit(&RunEvent::Resumed { outcome: Box::new(outcome.clone()), attempts: 1, news: true });
                return Some(outcome);
            }
            Ok(None) => {}
            Err(why) => kept.warn(format!("{}: {why}; this kept trial is not used", candidate.folder.path().display())),
        }
    }
    None
}

/// Copies a kept trial into the run and grades it again. `None` if today's checks differ from those that graded it.
fn reuse(
    run: &RunContext,
    live: &LiveRun,
    ready: &ReadyCase<'_>,
    number: u32,
    kept: &KeptTrial,
) -> Result<Option<Outcome>, String> {
    let mode = &ready.planned.mode;
    let folder = live.folder.trial(&ready.planned.trial(number));
    let text = |error: StoreError| error.to_string();
    let before = kept.folder.grade().map_err(text)?;
    record::write(&kept.folder, &folder, number, u64::MAX).map_err(text)?;
    let meta = Meta {
        kept_from: Some(kept.meta.run_id.clone()),
        run_id: live.folder.id().to_owned(),
        mode: mode.name.clone(),
        commit: mode.commit.clone(),
        trial: number,
        ..kept.meta.clone()
    };
    folder.write_meta(&meta).and_then(|()| folder.write_grade(&before)).map_err(text)?;
    let outcome = trial::kept(run, ready, number).map_err(|why| format!("{why:?}"))?;
    let asked = |checks: &[CheckResult]| -> BTreeSet<String> { checks.iter().map(CheckResult::question).collect() };
    match outcome {
        Some((outcome, _)) if asked(&outcome.grade.checks) == asked(&before.checks) => Ok(Some(outcome)),
        _ => folder.remove().map(|()| None).map_err(text),
    }
}

/// Keeps the trials of this run that were measured and are whole, and removes old ones.
pub fn keep(run: &RunContext) -> Result<(), StoreError> {
    let (Some(kept), Some(live)) = (&run.kept, run.opened()) else { return Ok(()) };
    let mut today: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for trial in live.folder.trials() {
        let (Ok(meta), Ok(grade)) = (trial.meta(), trial.grade()) else { continue };
        let is_measured = matches!(grade.verdict, Verdict::Pass | Verdict::Fail) && grade.trouble.is_none();
        // Nobody knows whether an agent without a version is the same tomorrow.
        let is_known = meta.agent.version.is_some();
        if !is_measured || !is_known || meta.kept_from.is_some() || meta.ending.trouble.is_some() {
            continue;
        }
        // The setup may have changed since the start.
        let kind = meta.agent.kind;
        let now = today.entry(kind.as_str()).or_insert_with(|| setup(run, live, kind));
        let Some(setup) = kept.setup(kind.as_str(), || now.clone()).filter(|start| Some(start) == now.as_ref()) else {
            continue;
        };
        let mut found = run.catalog.cases_of(&meta.skill.slug);
        let found = found.find(|found| found.id == meta.case.id).and_then(|found| found.case().ok());
        let around = setup + &executable_files(run, found) + &limits(run, meta.case.timeout_s);
        let key = key(live, &meta.inputs, &meta.skill.slug, meta.commit.as_deref(), around);
        kept.add(&key, |folder| {
            record::write(&trial, folder, 1, record::workspace_limit(found))?;
            folder.write_grade(&grade)
        })?;
    }
    kept.remove_old()
}

/// The key of the kept trials that may stand for trials of this case.
fn key_now(run: &RunContext, live: &LiveRun, ready: &ReadyCase<'_>) -> Option<String> {
    let (case, mode) = (ready.case, &ready.planned.mode);
    let snapshot = live.snapshots.offered(mode, &case.skill, run.plugin_for(mode, case)).ok()?;
    let inputs = run.digested(&SkillFolders::Snapshot(&snapshot), case, mode, &[]).ok()?;
    let limits = limits(run, case.timeout.unwrap_or(run.settings.timeout).as_secs());
    let setup = run.kept.as_ref()?.setup(mode.agent.as_str(), || setup(run, live, mode.agent))?;
    let around = setup + &executable_files(run, Some(case)) + &limits;
    Some(key(live, &inputs, &case.skill, mode.commit.as_deref(), around))
}

/// What reaches the agent besides its inputs, without secrets; `None` if that cannot be read.
fn setup(run: &RunContext, live: &LiveRun, kind: AgentKind) -> Option<String> {
    let text = agent::users_setup(kind, &run.settings).ok()?;
    Some(digest(&live.redactors.masking(Vec::new()).mask(text.as_bytes())))
}

/// The files of a case that agents can execute.
fn executable_files(run: &RunContext, case: Option<&Case>) -> String {
    case.and_then(|case| start_files(&run.root, case)).map(|files| files.programs()).unwrap_or_default()
}

/// When a trial of this run ends at the latest.
fn limits(run: &RunContext, timeout_s: u64) -> String {
    format!("timeout {timeout_s}\nstop {}\n", run.settings.stops().as_str())
}

/// A digest of what is known of a trial before it runs: all that its agent sees, but of skills only the one under test whole.
fn key(live: &LiveRun, inputs: &Inputs, skill: &str, commit: Option<&str>, around: String) -> String {
    let parts = known_before(inputs, skill).map(|(name, content)| format!("{name}\n{content}\n"));
    let programs = Material::list(&live.folder.snapshot(commit).join(skill)).programs();
    let lines: Vec<String> = parts.chain([around, programs]).collect();
    digest(lines.concat().as_bytes())
}

/// The inputs without the skills that the agent opened besides the one under test.
fn known_before<'a>(inputs: &'a Inputs, skill: &str) -> impl Iterator<Item = (&'a String, &'a String)> {
    let own = format!("{SKILL_PART}{skill}");
    inputs.0.iter().filter(move |(name, _)| !name.starts_with(SKILL_PART) || **name == own)
}

/// Warnings about kept trials that were passed over.
pub fn warnings(run: &RunContext) -> Vec<String> {
    run.kept.as_ref().map(KeptTrials::warnings).unwrap_or_default()
}
