//! Trials of earlier comparisons that stand for trials of the baseline. They are found by what decided them, graded again,
//! and used only if their agent, model and checks are those of today.

use crate::cases::test_case::TestCase;
use crate::files::material::Material;
use crate::run::context::RunContext;
use crate::run::digests::{SkillFolders, opened_skills};
use crate::run::live::LiveRun;
use crate::run::promote;
use crate::run::ready::{self, ReadyCase};
use crate::run::trial;
use crate::store::{KeptTrial, KeptTrials, StoreError};
use crate::trial::event::RunEvent;
use crate::trial::evidence::{Inputs, Meta, SKILL_PART, digest};
use crate::trial::outcome::{CheckResult, Outcome, Verdict};

/// Whether a kept trial may stand for the next trial of this case.
pub fn may_have(run: &RunContext, planned: &TestCase) -> bool {
    let found = || {
        let (kept, live) = (run.kept.as_ref()?, run.opened()?);
        let ready = ready::ready(run, planned).ok()?;
        Some(!kept.unused(&key_now(run, live, &ready)?).is_empty())
    };
    found().unwrap_or_default()
}

/// The outcome of repeat `number` of a planned trial by a kept trial, which is copied into the run. Its agent, model and
/// isolation are those of the trial `today`.
pub fn take(run: &RunContext, planned: &TestCase, number: u32, today: &Meta) -> Option<Outcome> {
    let (kept, live) = (run.kept.as_ref()?, run.opened()?);
    let ready = ready::ready(run, planned).ok()?;
    let facts = |meta: &Meta| (meta.agent.clone(), meta.isolation, meta.scripted.clone());
    for candidate in kept.unused(&key_now(run, live, &ready)?) {
        let snapshot = live.snapshots.offered(&planned.mode, &ready.case.skill).ok()?;
        let opened = opened_skills(&candidate.meta.inputs);
        let now = run.digested(&SkillFolders::Snapshot(&snapshot), ready.case, &planned.mode, &opened).ok()?;
        if now != candidate.meta.inputs || facts(&candidate.meta) != facts(today) || !kept.take(&candidate) {
            continue;
        }
        match reuse(run, live, &ready, number, &candidate) {
            Ok(Some(outcome)) => {
                run.tell(&RunEvent::Kept { outcome: Box::new(outcome.clone()), attempts: 1, news: true });
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
    promote::write(&kept.folder, &folder, number).map_err(text)?;
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
    let asked = |checks: &[CheckResult]| -> Vec<(String, String)> {
        checks.iter().map(|check| (check.id.clone(), check.expected.clone())).collect()
    };
    match outcome {
        Some((outcome, _)) if asked(&outcome.grade.checks) == asked(&before.checks) => Ok(Some(outcome)),
        _ => folder.remove().map(|()| None).map_err(text),
    }
}

/// Keeps the trials of this run that were measured and are whole, and removes old ones.
pub fn keep(run: &RunContext) -> Result<(), StoreError> {
    let (Some(kept), Some(live)) = (&run.kept, run.opened()) else { return Ok(()) };
    for trial in live.folder.trials() {
        let (Ok(meta), Ok(grade)) = (trial.meta(), trial.grade()) else { continue };
        let is_measured = matches!(grade.verdict, Verdict::Pass | Verdict::Fail) && grade.trouble.is_none();
        if !is_measured || meta.kept_from.is_some() || meta.ending.trouble.is_some() {
            continue;
        }
        let limits = limits(run, meta.case.timeout_s);
        let key = key(live, &meta.inputs, &meta.skill.slug, meta.commit.as_deref(), limits);
        kept.add(&key, |folder| {
            promote::write(&trial, folder, 1)?;
            folder.write_grade(&grade)
        })?;
    }
    kept.remove_old()
}

/// The key of the kept trials that may stand for trials of this case.
fn key_now(run: &RunContext, live: &LiveRun, ready: &ReadyCase<'_>) -> Option<String> {
    let (case, mode) = (ready.case, &ready.planned.mode);
    let snapshot = live.snapshots.offered(mode, &case.skill).ok()?;
    let inputs = run.digested(&SkillFolders::Snapshot(&snapshot), case, mode, &[]).ok()?;
    let limits = limits(run, case.timeout.unwrap_or(run.settings.timeout).as_secs());
    Some(key(live, &inputs, &case.skill, mode.commit.as_deref(), limits))
}

/// When a trial of this run ends at the latest.
fn limits(run: &RunContext, timeout_s: u64) -> String {
    format!("timeout {timeout_s}\nstop {}\n", run.settings.stops().as_str())
}

/// A digest of what is known of a trial before it runs: all that its agent sees, but of skills only the one under test whole.
fn key(live: &LiveRun, inputs: &Inputs, skill: &str, commit: Option<&str>, limits: String) -> String {
    let own = format!("{SKILL_PART}{skill}");
    let parts = inputs.0.iter().filter(|(name, _)| !name.starts_with(SKILL_PART) || **name == own);
    let parts = parts.map(|(name, content)| format!("{name}\n{content}\n"));
    // The digest of a skill is of its contents. Agents run its programs only if they are executable.
    let files = Material::list(&live.folder.snapshot(commit).join(skill)).files;
    let programs = files.iter().filter(|file| file.executable).map(|file| format!("{}\n", file.path.display()));
    let lines: Vec<String> = parts.chain([limits]).chain(programs).collect();
    digest(lines.concat().as_bytes())
}

/// Warnings about kept trials that were passed over.
pub fn warnings(run: &RunContext) -> Vec<String> {
    run.kept.as_ref().map(KeptTrials::warnings).unwrap_or_default()
}
