//! What a change is, and what it touches.

use std::collections::HashMap;

use super::lint_errors;
use crate::cases::case::Case;
use crate::cases::catalog::Catalog;
use crate::cases::repository::Repository;
use crate::cli::CliResultOf;
use crate::lint;
use crate::process::git;
use crate::results::gate::{GateResults, SkillDifference, SkillEdit};
use crate::run::changed_skills::changed_skills;
use crate::run::other_changes::other_changes;
use crate::run::read_tree::ReadTree;
use crate::run::skill_version::SkillVersion;
use crate::settings::GateSettings;
use crate::store::RECORDINGS;
use crate::text::diagnostic::Diagnostic;

/// The commit to compare with, and its name for people.
pub fn base(repository: &Repository, reference: Option<&str>) -> CliResultOf<(String, String)> {
    let root = &repository.root;
    let (commit, name) = if let Some(reference) = reference {
        (git::commit(root, reference)?, reference.to_owned())
    } else {
        let branch =
            git::default_branch(root).ok_or("no default branch found: name the base, as in `skill-evals gate main`; a shallow checkout has to fetch it first")?;
        (git::merge_base(root, &branch)?, git::short_name(&branch).to_owned())
    };
    let short = commit.get(..12).unwrap_or(&commit);
    // CI names the base by its commit.
    let label = if name == commit { short.to_owned() } else { format!("{name} ({short})") };
    Ok((commit, label))
}

/// What differs from the base, before anything is measured.
pub(super) fn found(
    version: &SkillVersion,
    base: String,
    now: ReadTree<'_>,
    asked: &GateSettings,
) -> CliResultOf<GateResults> {
    let changed = changed_skills(version.tree(), now)?;
    let others = other_changes(version.tree(), now)?;
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
        changed_skills(version.tree(), now).map_or(true, |changed| !changed.is_empty())
            || other_changes(version.tree(), now).map_or(true, |others| !others.is_empty())
    })
}

/// The errors of `lint` in the repository that the change brings, and those that its base has too.
pub(super) fn own_problems(
    problems: Vec<Diagnostic>,
    repository: &Repository,
    version: &SkillVersion,
) -> CliResultOf<(Vec<Diagnostic>, Vec<Diagnostic>)> {
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
pub(super) fn cases_to_compare(
    changed: &[SkillDifference],
    before: &Catalog,
    now: &Catalog,
    neighbors: usize,
) -> Vec<String> {
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
