//! The cases of a skill together, and the skills and cases of a repository.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::cases::case::{FoundCase, file_formats, files_of_skill};
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::decide::threshold;
use crate::lint::similar::description_place;
use crate::settings::trials::MOST_TRIALS;
use crate::settings::{EffectiveRepetition, Settings};
use crate::skill::{SKILL_FILE, Skill};
use crate::text::diagnostic::{Code, Diagnostic, Severity, SourceLocation, suggest};
use crate::text::relative_path::resolved;

/// The problems of a skill's cases together. That it has none is as bad as `no_cases` says.
pub(super) fn check(
    catalog: &Catalog,
    slug: &str,
    tree: &dyn RepoFiles,
    no_cases: Option<Severity>,
) -> Vec<Diagnostic> {
    let Some(found) = catalog.skill(slug) else { return Vec::new() };
    if !found.curated {
        let Some(severity) = no_cases else { return Vec::new() };
        let message = format!("no file has cases of the skill `{slug}`, so the built-in ones run");
        let place = SourceLocation::file(found.skill().folder.join(SKILL_FILE));
        let paths = file_formats().map(|(_, files)| {
            if files.are_of_skills() { files.path_of(slug) } else { files.path.into() }.display().to_string()
        });
        let paths = paths.collect::<Vec<_>>().join(" or ");
        let help = format!("write {paths}; cases in Rust are not looked at here");
        let problem = Diagnostic::new(Code::NoCases, place, message).help(help);
        return vec![Diagnostic { severity, ..problem }];
    }
    let files = files_of_skill(slug).filter(|path| tree.kind(path) == FileKind::File);
    files.flat_map(|path| one_sided(catalog, slug, &path)).collect()
}

/// The problems of a file whose cases all expect the skill to activate, or all expect it not to.
fn one_sided(catalog: &Catalog, slug: &str, path: &Path) -> Vec<Diagnostic> {
    let cases: Vec<&Arc<FoundCase>> = catalog.cases_of(slug).filter(|case| &*case.file == path).collect();
    let expectations: Vec<Option<bool>> = cases.iter().map(|case| case.should_trigger()).collect();
    // A case that cannot be read has a problem of its own, and may be the missing one. An open quote swallows all later rows, so a
    // broken last row may hide cases.
    if expectations.contains(&None) || cases.last().is_some_and(|case| case.case().is_err()) {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for (expected, code, verb) in
        [(true, Code::NoPositive, "should trigger"), (false, Code::NoNegative, "should not activate")]
    {
        if !expectations.contains(&Some(expected)) {
            let message = format!("no case in which `{slug}` {verb}");
            let problem = Diagnostic::new(code, SourceLocation::file(path), message);
            problems.push(problem.help(format!("add a case with should_trigger {expected}")));
        }
    }
    problems
}

/// The skill list that an agent gives its model, as measured with the real program.
#[derive(Clone, Copy, Debug)]
pub struct SkillList {
    /// The agent and its version.
    pub agent: &'static str,
    /// The context window of its models, in tokens.
    pub window: &'static str,
    /// The size of the list for the skills of a repository, without the agent's own skills.
    pub room: usize,
    /// The unit of sizes.
    pub unit: &'static str,
    /// The size of a skill with its whole description.
    pub takes: fn(&Skill) -> usize,
    /// The size of a skill without its description; 0 if the agent cuts all descriptions alike.
    pub bare: fn(&Skill) -> usize,
    /// How the agent shortens a list that is too long.
    pub beyond: &'static str,
}

/// For each skill list that is too small, a problem at the first skill whose description does not fit.
pub(super) fn catalogue(catalog: &Catalog, lists: &[&[SkillList]]) -> Vec<Diagnostic> {
    let mut skills: Vec<&FoundSkill> = catalog.skills.iter().collect();
    skills.sort_by(|a, b| a.skill().slug.cmp(&b.skill().slug));
    lists.iter().copied().flatten().filter_map(|list| outgrown(&skills, list)).collect()
}

fn outgrown(skills: &[&FoundSkill], list: &SkillList) -> Option<Diagnostic> {
    let SkillList { agent, window, room, unit, takes, bare, beyond } = list;
    let total: usize = skills.iter().map(|found| takes(found.skill())).sum();
    if total <= *room {
        return None;
    }
    let names: usize = skills.iter().map(|found| bare(found.skill())).sum();
    let mut left = room.saturating_sub(names);
    for found in skills {
        let description = takes(found.skill()).saturating_sub(bare(found.skill()));
        if description > left {
            let message = format!(
                "{agent} shows models with a window of {window} tokens at most {room} {unit} of skills; the {} here have {total}: \
                 {beyond}",
                skills.len()
            );
            let help =
                "shorten descriptions, or offer fewer skills at once; the check `described` shows what the model got";
            return Some(Diagnostic::new(Code::LargeCatalogue, description_place(found), message).help(help));
        }
        left -= description;
    }
    None
}

/// What `trust` names and is no plugin: a plugin that the line means stays without its hooks and servers.
pub fn unknown_plugins(settings: &Settings, catalog: &Catalog) -> Vec<Diagnostic> {
    let plugins = catalog.skills.iter().filter_map(|found| found.plugin.as_ref()?.folder.to_str());
    let known: BTreeSet<&str> = plugins.map(|folder| if folder.is_empty() { "." } else { folder }).collect();
    let known = Vec::from_iter(known);
    let path = |name: &str| resolved(Path::new(name));
    let is_known = |name: &str| known.iter().any(|known| path(known) == path(name));
    let unknown = settings.trust_places.iter().filter(|(name, _)| !is_known(name));
    let problems = unknown.map(|(name, place)| {
        let message = format!("`trust` names {name:?}, which is no directory of a plugin with skills");
        let help =
            if known.is_empty() { "remove it: no skill here is of a plugin".to_owned() } else { suggest(name, &known) };
        Diagnostic::new(Code::Config, place.clone(), message).help(help)
    });
    problems.collect()
}

/// The problem of a case if even the maximum number of trials, all passed, would not show its threshold.
pub fn never_decided(found: &FoundCase, repetition: EffectiveRepetition, tree: &dyn RepoFiles) -> Option<Diagnostic> {
    let max_trials = repetition.at_most().map(u64::from)?;
    let threshold = repetition.threshold;
    if threshold::shown_by(threshold, max_trials).is_some() {
        return None;
    }
    let own = found.repetition();
    let key = own.trials.map(|_| "trials").or(own.threshold.map(|_| "threshold"));
    let place = key.and_then(|key| found.source.place(key, None, tree)).unwrap_or_else(|| SourceLocation {
        line: found.line,
        column: 1,
        ..SourceLocation::file(&*found.file)
    });
    let message = format!(
        "{}/{} runs until it is decided, but its maximum of {max_trials} trials cannot show its threshold of {threshold}, even if \
         all pass",
        found.skill, found.id
    );
    let help = match threshold::shown_by(threshold, u64::from(MOST_TRIALS)) {
        Some(trials) => {
            format!("write at least `trials = \"until decided at most {trials}\"`, or lower the threshold")
        }
        None => format!("no number of trials shows a threshold of {threshold}; choose a lower one"),
    };
    Some(Diagnostic::new(Code::NeverDecided, place, message).help(help))
}
