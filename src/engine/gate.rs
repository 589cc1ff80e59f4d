//! One answer about a change: finds what differs from the base, then lints, replays the recordings, and compares trials.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::choose::{self, planned};
use super::compare::{self, ComparisonRequest, MeasuredComparison, PreparedComparison};
use super::{Engine, Host, Loaded};
use crate::cases::case::Case;
use crate::cases::catalog::Catalog;
use crate::cases::repository::Repository;
use crate::cases::selection;
use crate::decide::result::CompareResult;
use crate::decide::sequential::Pair;
use crate::files::look;
use crate::process::git;
use crate::results::gate::{GateAnswer, GateResults, SkillDifference, SkillEdit};
use crate::results::stored_comparison;
use crate::results::summary::Summary;
use crate::run::changed_skills::{Differences, changed_skills, other_changes};
use crate::run::custom_check::custom_checks;
use crate::run::merge::{self, MergedRun};
use crate::run::planned::quarantine;
use crate::run::skill_version::{ReadTree, SkillVersion};
use crate::run::{preflight, scheduler};
use crate::settings::{GateSettings, Settings, Stop};
use crate::store::{self, RECORDINGS, RunFolder};
use crate::text::diagnostic::{Diagnostic, once};
use crate::text::problem::Problem;
use crate::trial::event::{EventListener, RunEvent};
use crate::trial::outcome::{TrialError, Verdict};
use crate::trial::run_record::{ComparedSides, RunChoices, RunRecord};
use crate::trial::shard::Shard;
use crate::{agent, lint};

/// What to do about numbers that can decide nothing.
const REMEDY: &str = "raise --max-trials, which counts both trials of a pair, choose another --plan, or fail on other results with \
                      --fail-on";
const REMEDY_OF_YEAR: &str = "raise --max-trials, which counts both trials of a pair, or promise less by `promise` or `gates_a_year` \
                              in [gate]";

/// A change, and what is asked about it.
pub struct Gate {
    loaded: Loaded,
    asked: GateSettings,
    shard: Option<Shard>,
    /// The base.
    version: SkillVersion,
    /// What is known so far.
    pub results: GateResults,
    /// The cases that the change touches, as `skill/id`.
    pub cases: Vec<String>,
}

impl Gate {
    /// Finds what differs from the base of `asked`. Starts nothing.
    ///
    /// # Errors
    ///
    /// If the base or the working tree cannot be read.
    pub fn of(loaded: Loaded, mut asked: GateSettings, shard: Option<Shard>) -> Result<Self, Problem> {
        if asked.fail_on.is_empty() {
            asked.fail_on = CompareResult::HARM.to_vec();
        }
        asked.check_reachable()?;
        let Loaded { repository, settings, catalog } = &loaded;
        let root = &repository.root;
        let (commit, base) = base(repository, asked.base.as_deref())?;
        let version = SkillVersion::or_empty(root, &commit, settings)?;
        let now = ReadTree { root, settings, catalog };
        let mut results = found(&version, base, now, &asked)?;
        let mut cases = cases_to_compare(&results.changed, &version.catalog, catalog, asked.neighbors);
        cases.retain(|name| selection::wants_tags_of(&settings.selection, name, catalog));
        let in_quarantine = |name: &String| {
            let (skill, id) = name.split_once('/')?;
            let found = catalog.cases_of(skill).find(|found| found.id == id)?;
            Some((name.clone(), quarantine(found.case().ok()?)?))
        };
        results.quarantined = cases.iter().filter_map(in_quarantine).collect();
        cases.retain(|name| !results.quarantined.iter().any(|(case, _)| case == name));
        results.to_compare.clone_from(&cases);
        Ok(Self { loaded, asked, shard, version, results, cases })
    }

    /// The base, by its full hash.
    pub fn commit(&self) -> &str {
        &self.version.commit
    }

    /// What was read of the working tree.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// The rule of its comparison.
    pub fn asked(&self) -> &GateSettings {
        &self.asked
    }

    /// Lints and replays the recordings, which costs nothing. Returns whether the change fails by that.
    ///
    /// # Errors
    ///
    /// If recordings cannot be read, or the harness of the crate cannot be asked.
    pub fn check_for_free(&mut self, host: &dyn Host) -> Result<bool, Problem> {
        let Loaded { repository, settings, catalog } = &self.loaded;
        let problems = lint_errors(repository, settings, catalog);
        let results = &mut self.results;
        let unread = std::mem::take(&mut results.problems);
        (results.problems, results.older_problems) = own_problems(problems, repository, &self.version)?;
        let is_new = |unread: &Diagnostic| {
            let mut known = results.problems.iter().chain(&results.older_problems);
            known.all(|known| known.place.path != unread.place.path)
        };
        let unread: Vec<Diagnostic> = unread.into_iter().filter(is_new).collect();
        results.problems.extend(unread);
        results.needs_recordings = settings.needs_recordings();
        results.waives_recordings = settings.require_recordings == Some(false);
        let (replayed, not_graded) = replay(self.loaded.clone(), host)?;
        results.replayed = replayed;
        // What `lint` found in a case is said already.
        let is_said = |problem: &Diagnostic| {
            let mut known = results.problems.iter().chain(&results.older_problems);
            known.any(|known| known.code == problem.code && known.place.path == problem.place.path)
        };
        let not_said = not_graded.0.into_iter().filter(|(_, problems)| !problems.iter().any(is_said));
        results.not_graded = not_said.map(|(line, _)| line).collect();
        results.not_graded.sort();
        let (recordings, _) = store::recordings(&repository.root);
        let metas = recordings.iter().filter_map(|recording| recording.meta().ok());
        results.recorded_versions = metas.filter_map(|meta| meta.agent.name_and_version()).collect();
        Ok(results.answer() == GateAnswer::Failed)
    }

    /// The comparison of the cases that the change touches with the base.
    pub fn request(&self) -> ComparisonRequest {
        let mut rule = self.asked.rule();
        if let Some(shard) = self.shard {
            rule.alpha /= f64::from(shard.of);
        }
        let base = compare::at_commit(self.version.commit.clone(), format!("the skills of {}", self.results.base));
        let sides = compare::sides(base, compare::working_tree(), &rule, self.asked.plan);
        ComparisonRequest {
            chosen: RunChoices { shard: self.shard, ..RunChoices::of_cases(self.cases.clone()) },
            fails: self.asked.fail_on.clone(),
            is_gate: true,
            max_trials: self.asked.max_trials,
            max_age: Some(self.asked.max_age),
            stop: Stop::Settled,
            remedy: if self.asked.promised_for > 1 { REMEDY_OF_YEAR } else { REMEDY },
            ..ComparisonRequest::about(sides)
        }
    }

    /// Runs the comparison. `None` if there is nothing to compare.
    ///
    /// # Errors
    ///
    /// If it cannot begin, or what it measured not be read.
    pub fn compare(&self, engine: &Engine<'_>) -> Result<Option<MeasuredComparison>, Problem> {
        match engine.prepare(self.loaded.clone(), self.request())? {
            PreparedComparison::Ready(ready) => engine.compare(*ready),
            PreparedComparison::Unchanged(unchanged) => Ok(Some(unchanged.answer())),
            PreparedComparison::NoCase(shard, all) => {
                engine.host.note(&format!("{}: nothing to run", compare::no_case(shard, all)));
                Ok(None)
            }
        }
    }

    /// Takes in what was compared. Returns the directory of its run, if a trial of it has ended.
    pub fn take(&mut self, measured: MeasuredComparison) -> Option<PathBuf> {
        let results = &mut self.results;
        results.ended_early = measured.ended_early;
        results.remedy = measured.remedy;
        results.compared = Some(measured.compared);
        results.run = measured.folder.is_some().then_some(measured.took);
        measured.folder.filter(|run| RunFolder::at(run).noted().is_ok_and(|run| !run.records.is_empty()))
    }

    /// The whole answer: what is free first, and what fails by that is not paid for.
    ///
    /// # Errors
    ///
    /// If recordings cannot be read, or the comparison cannot begin.
    pub fn run(mut self, engine: &Engine<'_>) -> Result<GateResults, Problem> {
        let fails = self.check_for_free(engine.host)?;
        if !fails
            && !self.cases.is_empty()
            && let Some(measured) = self.compare(engine)?
        {
            self.take(measured);
        }
        Ok(self.results)
    }
}

/// The errors of `lint`, as the settings judge them.
fn lint_errors(repository: &Repository, settings: &Settings, catalog: &Catalog) -> Vec<Diagnostic> {
    let options = lint::LintOptions { no_cases: None, listings: &agent::LISTINGS, partial: settings.partial };
    let mut problems = preflight::all_problems(repository, settings, catalog, options);
    problems.retain(Diagnostic::is_error);
    problems
}

/// The recordings that could not be graded, each with the reason, and what is wrong with their cases.
#[derive(Debug, Default)]
struct NotGraded(Vec<(String, Vec<Diagnostic>)>);

impl EventListener for NotGraded {
    fn on_event(&mut self, event: &RunEvent) {
        let RunEvent::Finished { id, result, .. } = event else { return };
        let (why, problems) = match result.as_ref() {
            Err(TrialError::Unreadable(why)) => (why.clone(), Vec::new()),
            Err(TrialError::BadCase(problems)) => (Problem::Files(problems.clone()).to_string(), problems.clone()),
            Ok(outcome) if outcome.grade.verdict == Verdict::Error => {
                (outcome.grade.trouble.as_ref().map(ToString::to_string).unwrap_or_default(), Vec::new())
            }
            _ => return,
        };
        let name = id.to_string();
        let line = if why.starts_with(&name) { why } else { format!("{name}: {why}") };
        self.0.push((line, problems));
    }
}

/// Replays the recordings of all cases. Returns the results, and what could not be graded.
fn replay(mut loaded: Loaded, host: &dyn Host) -> Result<(Summary, NotGraded), Problem> {
    let chosen = RunChoices { replay: true, ..RunChoices::default() };
    choose::apply(&chosen, &mut loaded.settings)?;
    let mut run = planned(loaded, chosen)?;
    run.custom_checks = custom_checks(&run.root, run.settings.harness.as_ref(), |line| host.note(line))?;
    let run = run.start();
    let not_graded = Arc::<Mutex<NotGraded>>::default();
    run.read_by(Arc::clone(&not_graded));
    scheduler::run(&run);
    let summary = run.figures().summary.clone();
    let not_graded = std::mem::take(&mut *not_graded.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((summary, not_graded))
}

/// That nothing says what to compare with, and why.
fn no_base(root: &Path) -> Problem {
    let why = match git::commit(root, "HEAD") {
        Ok(_) => {
            "no default branch found: name the base, as in `skill-evals gate main`; a shallow checkout has to fetch it first"
        }
        Err(_) if look::is_usable(&root.join(".git")) => {
            "no commit to compare with: commit the skills first, and change them then"
        }
        Err(_) => "nothing to compare with, without a git repository: `git init`, and commit the skills first",
    };
    why.into()
}

/// The commit to compare with, and its name for people.
pub fn base(repository: &Repository, reference: Option<&str>) -> Result<(String, String), Problem> {
    let root = &repository.root;
    let (commit, name) = if let Some(reference) = reference {
        (git::commit(root, reference)?, reference.to_owned())
    } else {
        let branch = git::default_branch(root).ok_or_else(|| no_base(root))?;
        (git::merge_base(root, &branch)?, git::short_name(&branch).to_owned())
    };
    let short = commit.get(..12).unwrap_or(&commit);
    // CI names the base by its commit.
    let label = if name == commit { short.to_owned() } else { format!("{name} ({short})") };
    Ok((commit, label))
}

/// What differs from the base, before anything is measured.
fn found(
    version: &SkillVersion,
    base: String,
    now: ReadTree<'_>,
    asked: &GateSettings,
) -> Result<GateResults, Problem> {
    let Differences { changed, mut unread } = changed_skills(version.tree(), now)?;
    let others = other_changes(version.tree(), now)?;
    unread.extend(others.unread);
    let others = others.changed;
    let head = git::commit(now.root, "HEAD").ok();
    let is_head = head.as_ref().is_some_and(|head| *head == version.commit);
    let differs = !changed.is_empty() || !others.is_empty();
    let commit = head.map(|head| {
        let is_clean = || git::is_clean(now.root).is_ok_and(|is_clean| is_clean);
        let is_uncommitted = if is_head { differs } else { !is_clean() && differs_from(&head, now) };
        let more = if is_uncommitted { " and uncommitted changes" } else { "" };
        format!("{}{more}", head.get(..12).unwrap_or(&head))
    });
    let both = changed.iter().filter(|skill| skill.edit.is_on_both_sides()).map(|skill| skill.slug.clone());
    let (with_cases, without_cases): (Vec<String>, Vec<String>) =
        both.partition(|slug| now.catalog.cases_of(slug).next().is_some());
    let had_cases = |slug: &String| version.catalog.cases_of(slug).next().is_some();
    let cases = &now.catalog.cases;
    Ok(GateResults {
        base,
        warning: version.warning.clone(),
        skills: now.catalog.skills.len(),
        compares_nothing: is_head && !differs,
        names_base: asked.base.is_some(),
        neighbors: asked.neighbors,
        changed,
        others,
        problems: once(unread),
        comparable: with_cases.into_iter().filter(had_cases).collect(),
        without_cases,
        cases: cases.len(),
        broken_cases: cases.iter().filter(|found| found.case().is_err()).count(),
        nothing_compared: asked.nothing_compared,
        commit,
        fails: asked.fail_on.clone(),
        ..GateResults::default()
    })
}

/// Whether the working tree differs from a commit in anything that is read.
fn differs_from(commit: &str, now: ReadTree<'_>) -> bool {
    SkillVersion::or_empty(now.root, commit, now.settings).is_ok_and(|version| {
        changed_skills(version.tree(), now).map_or(true, |skills| !skills.changed.is_empty())
            || other_changes(version.tree(), now).map_or(true, |others| !others.changed.is_empty())
    })
}

/// The errors of `lint` in the repository that the change brings, and those that its base has too.
fn own_problems(
    problems: Vec<Diagnostic>,
    repository: &Repository,
    version: &SkillVersion,
) -> Result<(Vec<Diagnostic>, Vec<Diagnostic>), Problem> {
    if problems.is_empty() {
        return Ok((problems, Vec::new()));
    }
    if problems.iter().any(|problem| problem.place.path.starts_with(RECORDINGS)) {
        version.add_recordings()?;
    }
    // Lines move, and a message may say where the repository is.
    let key = |problem: &Diagnostic, repository: &Repository| {
        let message = problem.message.replace(&*repository.root.to_string_lossy(), "");
        (problem.code.as_str(), problem.place.path.clone(), message)
    };
    let mut before: HashMap<_, usize> = HashMap::new();
    for problem in lint_errors(&version.repository, &version.settings, &version.catalog) {
        *before.entry(key(&problem, &version.repository)).or_default() += 1;
    }
    // Each error of the base stands for one.
    Ok(problems.into_iter().partition(|problem| match before.get_mut(&key(problem, repository)) {
        Some(left @ 1..) => {
            *left -= 1;
            false
        }
        _ => true,
    }))
}

/// The cases that a change touches, as `skill/id`: all of each changed skill, and the positive ones of the skills most like
/// one whose description changed, unless their prompt calls the skill: no description takes these away. A skill without a
/// version on both sides has nothing to compare.
fn cases_to_compare(changed: &[SkillDifference], before: &Catalog, now: &Catalog, neighbors: usize) -> Vec<String> {
    let is_changed = |slug: &str| changed.iter().any(|skill| skill.slug == slug);
    let mut cases = Vec::new();
    for skill in changed.iter().filter(|skill| skill.edit.is_on_both_sides()) {
        // What is wrong with the others, `lint` reports.
        let can_run = now.cases_of(&skill.slug).filter(|found| found.case().is_ok());
        cases.extend(can_run.map(|found| format!("{}/{}", found.skill, found.id)));
    }
    for skill in changed.iter().filter(|skill| skill.edit.changes_descriptions()) {
        let catalog = if skill.edit == SkillEdit::Removed { before } else { now };
        for near in lint::nearest_skills(catalog, &skill.slug, neighbors) {
            let Some(skill) = now.skill(near).filter(|_| !is_changed(near) && before.skill(near).is_some()) else {
                continue;
            };
            let is_routed = |case: &Case| case.should_trigger && !lint::calls_skill(&case.prompt, skill.skill());
            let routed = now.cases_of(near).filter(|found| found.case().is_ok_and(is_routed));
            cases.extend(routed.map(|found| format!("{}/{}", found.skill, found.id)));
        }
    }
    cases.sort();
    cases.dedup();
    cases
}

// The comparison of a gate that ran in shards.

impl Gate {
    /// Merges the shards of this gate into one run, and compares its sides. They must have compared the same cases, as they are here,
    /// with the same base.
    ///
    /// # Errors
    ///
    /// If they do not belong together.
    pub fn merge(&self, engine: &Engine<'_>, shards: &[RunFolder]) -> Result<MeasuredComparison, Problem> {
        let request = self.request();
        let run = engine.once_each(self.loaded().clone(), request.chosen.clone(), &request, true)?;
        for shard in shards {
            check(shard, self.commit(), self.asked())?;
            merge::check_cases(&run, shard)?;
        }
        // The directory may have another name than the run had.
        let record = shards.first().map(RunFolder::run_record).transpose()?.flatten();
        let id = record.as_ref().and_then(|record| Shard::of_run(&record.id)).map_or("merged", |(id, _)| id);
        let merged = merge::merge(&run.root, &run.settings, shards, id)?;
        for agents in &merged.mixed_agents {
            engine.host.warn(&format!("the shards ran different versions of an agent: {agents}"));
        }
        let record = merged.run.run_record()?.ok_or("the merged run has no record")?;
        let sides = record.sides.as_ref().ok_or("the merged run compares nothing")?;
        let course = stored_comparison::course(&merged.run, sides)?;
        let time = time(&record).unwrap_or_default();
        let mut took = stored_comparison::run_cost(&merged.run, sides, &merged.summary, time)?;
        took.max_cost_usd = run.settings.max_cost_usd;
        let (ended_early, remedy) = behind(&merged, &record.merged, sides)?;
        Ok(MeasuredComparison {
            compared: stored_comparison::compared(&merged.run, sides, &course)?,
            folder: Some(merged.run.path().to_path_buf()),
            ended_early,
            remedy,
            cost_usd: took.spent.cost_usd,
            took,
        })
    }
}

/// The time from the start of the first shard to the end of the last.
fn time(record: &RunRecord) -> Option<Duration> {
    let read = |text: &str| text.parse::<Timestamp>().ok();
    Some(read(&record.ended.as_ref()?.at)?.duration_since(read(&record.created)?).unsigned_abs())
}

/// Refuses a shard that compared something else.
fn check(shard: &RunFolder, commit: &str, asked: &GateSettings) -> Result<(), Problem> {
    let id = shard.id();
    // The directory may have another name than the run had.
    let record = shard.run_record()?;
    let of = record.as_ref().and_then(|record| record.chosen.shard).map_or(1, |shard| shard.of);
    let sides = record.and_then(|record| record.sides);
    let sides =
        sides.ok_or_else(|| format!("{id} compares nothing: `skill-evals gate --shard` makes what is merged here"))?;
    if sides.baseline.commit.as_deref() != Some(commit) {
        return Err(
            format!("{id} compared with {}: give every shard and --merge the same base", sides.baseline.label).into()
        );
    }
    if sides.plan != asked.plan {
        return Err(format!(
            "{id} had the plan `{}`: give every shard and --merge the same --plan",
            sides.plan.as_str()
        )
        .into());
    }
    let alpha = asked.alpha() / f64::from(of);
    if (sides.alpha / alpha - 1.0).abs() > 1e-6 {
        return Err(
            format!("{id} ran under another `promise` of evals.toml: give every shard and --merge the same").into()
        );
    }
    Ok(())
}

/// Why shards keep the comparison from its end, and how to measure trials that were lost.
fn behind(merged: &MergedRun, ids: &[String], sides: &ComparedSides) -> Result<(Option<String>, String), Problem> {
    let absent = merged.absent.iter().map(|shard| format!("shard {shard} is not here: run it, then merge again"));
    let (mut early, mut lost): (Vec<String>, Vec<&str>) = (absent.collect(), Vec::new());
    for (id, shard) in ids.iter().zip(&sides.shards) {
        let course = stored_comparison::course(&merged.run, shard)?;
        if !course.is_done() {
            early.push(format!("{id} ended early: {}", remedy(&[id])));
        }
        if !course.pairs().iter().all(Pair::is_measured) {
            lost.push(id);
        }
    }
    Ok(((!early.is_empty()).then(|| early.join("; ")), remedy(&lost)))
}

/// How to measure what shards did not.
fn remedy(shards: &[&str]) -> String {
    let shards: Vec<String> = shards.iter().filter_map(|id| Some(Shard::of_run(id)?.1.to_string())).collect();
    format!("run shard {} again, then merge again", shards.join(", "))
}
