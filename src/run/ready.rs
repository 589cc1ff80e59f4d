//! What keeps a run from beginning, or each of its trials from measuring anything, found before an agent is started:
//! asked by the run itself and by a dry run.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::agent;
use crate::agent::isolation::{self, IsolationStatus};
use crate::agent::login::{Login, LoginSources};
use crate::cases::case::{Case, FoundCase};
use crate::cases::catalog::FoundSkill;
use crate::cases::repository::Repository;
use crate::cases::test_case::TestCase;
use crate::lint;
use crate::process::open_files;
use crate::report::diagnostics;
use crate::report::paint::Paint;
use crate::run::budget;
use crate::run::context::RunContext;
use crate::run::plan::PlannedCase;
use crate::run::skill_version::SkillVersion;
use crate::settings::Settings;
use crate::settings::mode::{AgentKind, Delivery, Mode, SkillSelection};
use crate::store::RunFolder;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, once, suggest};
use crate::trial::outcome::NoOutcome;

/// A case in a mode that can run: what trials are made of.
#[derive(Clone, Copy, Debug)]
pub struct ReadyCase<'a> {
    /// The case and the mode.
    pub planned: &'a TestCase,
    /// The case, without errors.
    pub case: &'a Case,
    /// The skill under test, in the version that the mode asks for.
    pub skill: &'a FoundSkill,
}

/// The planned case, if it can run.
pub fn ready<'a>(run: &'a RunContext, planned: &'a TestCase) -> Result<ReadyCase<'a>, NoOutcome> {
    let errors = case_errors(run, &planned.found);
    let (Ok(case), []) = (planned.found.case(), errors) else { return Err(NoOutcome::BadCase(errors.to_vec())) };
    let commit = planned.mode.commit.as_deref();
    let gone = || {
        let place = commit.map_or_else(String::new, |commit| format!(" in the commit {commit}"));
        NoOutcome::Unreadable(format!("unknown skill `{}`{place}", case.skill))
    };
    let skill = run.skills_of(commit).and_then(|catalog| catalog.skill(&case.skill)).ok_or_else(gone)?;
    Ok(ReadyCase { planned, case, skill })
}

/// What keeps a case from running in any mode, found once for all its trials.
fn case_errors<'a>(run: &RunContext, found: &'a FoundCase) -> &'a [Diagnostic] {
    let tree = Repository { root: run.root.clone() };
    found.refused(|found| lint::case_errors(found, &run.catalog, &tree, &run.settings.lint))
}

/// What keeps the run from beginning.
pub fn check(run: &RunContext) -> Result<(), String> {
    run.checked.get_or_init(|| chosen(run).and_then(|()| agents(run))).clone()
}

/// The same but for the agents.
fn chosen(run: &RunContext) -> Result<(), String> {
    let unknown = run.settings.repetition.unknown_skills(&run.catalog.slugs());
    if !unknown.is_empty() {
        return Err(diagnostics::render(&unknown, Paint::Plain));
    }
    if run.plan.is_judged(&run.settings) {
        run.rubric().map_err(|problem| diagnostics::render(std::slice::from_ref(problem), Paint::Plain))?;
    }
    offers(run)?;
    decidable(run)?;
    if !run.settings.live {
        return Ok(());
    }
    budget::check(&run.settings, &run.plan)?;
    open_files::allow(run.settings.jobs.min(run.plan.most()))?;
    RunFolder::check_place(&run.root).map_err(|error| error.to_string())
}

/// Whether every agent that is to run is there, and has a login as far as can be seen: without one it would try for a minute.
pub fn agents(run: &RunContext) -> Result<(), String> {
    let settings = &run.settings;
    if !settings.live {
        return Ok(());
    }
    let modes = run.plan.entries.iter().map(|entry| (entry.planned.mode.agent, Some(entry.planned.mode.as_ref())));
    let judge = Some((settings.judge.agent, None)).filter(|_| run.plan.is_judged(settings));
    let mut missing = BTreeSet::new();
    for (kind, mode) in modes.chain(judge).collect::<HashSet<_>>() {
        missing.extend(lacks(settings, kind, mode));
    }
    if missing.is_empty() {
        return Ok(());
    }
    // Who chose no mode may not know that there are others.
    let mut others = Mode::built_in().into_iter().filter(|mode| mode.delivery == Delivery::Native);
    let other = others.find(|mode| lacks(settings, mode.agent, Some(mode)).is_none());
    let other = other.filter(|_| settings.selected_modes.is_none()).map(|Mode { name, agent, .. }| {
        format!("{} is here: choose it with --mode {name}, or SKILL_EVALS_MODE={name}", agent.as_str())
    });
    Err(missing.into_iter().chain(other).collect::<Vec<_>>().join("\n"))
}

/// What an agent lacks to run, and what to do about it.
fn lacks(settings: &Settings, kind: AgentKind, mode: Option<&Mode>) -> Option<String> {
    let agent = agent::of(kind);
    if let Err(trouble) = agent.find(settings) {
        return Some(format!("{} cannot run: {}", kind.as_str(), trouble.detail));
    }
    // A program that the settings name may bring a login of its own.
    let own = settings.agents.get(kind.as_str()).is_some_and(|agent| agent.command.is_some());
    match agent.login(&LoginSources::new(settings, kind, mode)) {
        Login::Missing(what_to_do) if !own => Some(format!("{} has no login: {what_to_do}", kind.as_str())),
        _ => None,
    }
}

/// Whether every skill that a planned mode offers by name is there, in the working tree or the version it asks for.
fn offers(run: &RunContext) -> Result<(), String> {
    let modes = run.plan.entries.iter().map(|entry| &entry.planned.mode);
    let modes: BTreeMap<_, _> = modes.map(|mode| (&mode.name, mode)).collect();
    for mode in modes.values() {
        let SkillSelection::Only(slugs) = &mode.offer else { continue };
        let catalogs = [Some(&run.catalog), run.skills_of(mode.commit.as_deref())];
        let skills = catalogs.into_iter().flatten().flat_map(|catalog| &catalog.skills);
        let known: BTreeSet<&str> = skills.map(|found| found.skill().slug.as_str()).collect();
        if let Some(slug) = slugs.iter().find(|slug| !known.contains(slug.as_str())) {
            return Err(format!(
                "the mode `{}` offers `{slug}`, which does not exist; {}",
                mode.name,
                suggest(slug, &known.into_iter().collect::<Vec<_>>())
            ));
        }
    }
    Ok(())
}

/// Refuses a run of nothing but cases that go on until they are decided and never could be. Where there are others, each of
/// these is a wrong case like any other.
fn decidable(run: &RunContext) -> Result<(), String> {
    let never = |entry: &PlannedCase| entry.until.and_then(|_| never_decided(run, &entry.planned));
    match run.plan.entries.iter().map(never).collect::<Option<Vec<Diagnostic>>>() {
        Some(all) if !all.is_empty() => Err(diagnostics::render(&once(all), Paint::Plain)),
        _ => Ok(()),
    }
}

/// That a case could never be decided, where it goes on until it is.
#[must_use]
pub fn never_decided(run: &RunContext, planned: &TestCase) -> Option<Diagnostic> {
    let tree = Repository { root: run.root.clone() };
    lint::never_decided(&planned.found, run.repetition(&planned.found), &tree)
}

/// That a skill's own files keep it from the agent of the trial, so that nothing could be measured.
#[must_use]
pub fn withheld(run: &RunContext, planned: &TestCase) -> Option<Diagnostic> {
    let (mode, case) = (&planned.mode, planned.found.case().ok()?);
    let version = run.versions.iter().find(|version| Some(&version.commit) == mode.commit.as_ref());
    let root = version.map_or(run.root.as_path(), SkillVersion::root);
    let skill = run.skills_of(mode.commit.as_deref())?.skill(&planned.found.skill)?.skill();
    let (file, why) = agent::withheld(mode, &run.settings, skill, &root.join(&skill.folder), &case.prompt)?;
    let message = format!("{why}; no trial of `{}` in the mode `{}` could measure anything", skill.name, mode.name);
    let help = "run its cases in a mode that offers it, or remove the key";
    Some(Diagnostic::new(Code::Withheld, SourceLocation::file(skill.folder.join(file)), message).help(help))
}

/// What keeps a case of the plan from running, where something does; others run all the same.
#[must_use]
pub fn wrong(run: &RunContext, entry: &PlannedCase) -> Vec<Diagnostic> {
    let never = entry.until.and_then(|_| never_decided(run, &entry.planned));
    let withheld = withheld(run, &entry.planned).filter(|_| run.settings.live);
    case_errors(run, &entry.planned.found).iter().cloned().chain(never).chain(withheld).collect()
}

/// The same for a run that does not begin, with all that it would meet on the way to its first agent; what [`agents`] lack is
/// no reason not to say what would run. `keeps` is whether it would have a folder of its own.
pub fn foresee(run: &RunContext, keeps: bool) -> Result<(), String> {
    chosen(run)?;
    if keeps {
        RunFolder::check_place(&run.root).map_err(|error| error.to_string())?;
    }
    if let Some(id) = run.settings.run_id.as_deref().filter(|_| keeps && !run.settings.resume) {
        RunFolder::check_new(&run.root, id).map_err(|error| error.to_string())?;
    }
    match isolation::held(&run.settings.isolation) {
        IsolationStatus::Refused(why) if run.settings.live => Err(why),
        _ => Ok(()),
    }
}
