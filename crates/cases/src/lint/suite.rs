//! The cases of a skill together, and the skills and cases of a repository: similar descriptions, impossible changes.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use crate::cases::case::{Case, FoundCase, file_formats, files_of_skill};
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::checks::SOURCES;
use crate::decide::threshold;
use crate::lint::skill;
use crate::settings::trials::MOST_TRIALS;
use crate::settings::{EffectiveRepetition, Settings};
use crate::skill::{SKILL_FILE, Skill, SkillFile};
use crate::text::diagnostic::{Code, Diagnostic, Severity, SourceLocation, suggest};
use crate::text::name::resolved;
use crate::trace::file::{ChangeKind, SkillChange};

/// The problems of a skill's cases together. That it has none is as bad as `no_cases` says.
pub(super) fn check(
    catalog: &Catalog,
    slug: &str,
    tree: &dyn RepoFiles,
    no_cases: Option<Severity>,
) -> Vec<Diagnostic> {
    let Some(found) = catalog.skill(slug) else { return Vec::new() };
    if !found.curated {
        return no_cases.map(|severity| Diagnostic { severity, ..without_cases(found) }).into_iter().collect();
    }
    let files = files_of_skill(slug).filter(|path| tree.kind(path) == FileKind::File);
    files.flat_map(|path| one_sided(catalog, slug, &path)).collect()
}

/// The skills without cases of their own, if the settings ask for them.
pub fn no_cases(settings: &Settings, catalog: &Catalog) -> Vec<Diagnostic> {
    let skills = catalog.skills.iter().filter(|found| settings.lint.asks_for(Code::NoCases) && !found.curated);
    skills.map(without_cases).collect()
}

fn without_cases(found: &FoundSkill) -> Diagnostic {
    let slug = &found.skill().slug;
    let message = format!("no file has cases of the skill `{slug}`, so the built-in ones run");
    let place = SourceLocation::file(found.skill().folder.join(SKILL_FILE));
    let paths = file_formats().map(|(_, files)| {
        if files.are_of_skills() { files.path_of(slug) } else { files.path.into() }.display().to_string()
    });
    let paths = paths.collect::<Vec<_>>().join(" or ");
    let help = format!("write {paths}; cases in Rust are not looked at here");
    Diagnostic::new(Code::NoCases, place, message).help(help)
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

// Descriptions that are too similar for an agent to choose between.

/// Two descriptions are similar if they share this percentage of the content words of the shorter one. Distinct skills of one family
/// share about a third.
const SIMILAR: usize = 60;

/// Descriptions with fewer content words are not compared.
const FEWEST_WORDS: usize = 7;

/// Words that are in the descriptions of many skills.
const STOP_WORDS: [&str; 48] = [
    "about", "all", "also", "and", "any", "are", "asked", "asks", "can", "for", "from", "has", "have", "help", "helps",
    "how", "into", "its", "not", "one", "other", "should", "skill", "skills", "some", "somebody", "someone", "such",
    "task", "tasks", "than", "that", "the", "their", "them", "these", "they", "this", "use", "used", "user", "users",
    "using", "want", "wants", "when", "will", "with",
];

/// The skills, each with the one whose description is the most similar.
pub(super) struct Descriptions<'a> {
    skills: Vec<&'a FoundSkill>,
    /// The index of each skill, and the percentage of words that they share; `None` if no description is similar.
    nearest: Vec<Option<(usize, usize)>>,
}

impl<'a> Descriptions<'a> {
    pub(super) fn of(catalog: &'a Catalog) -> Self {
        let skills: Vec<&FoundSkill> = catalog.skills.iter().collect();
        let mut numbers: HashMap<String, usize> = HashMap::new();
        // The numbers of the words of each skill, and the indexes of the skills with a word.
        let mut words: Vec<Vec<usize>> = Vec::new();
        let mut by_word: Vec<Vec<usize>> = Vec::new();
        for (index, found) in skills.iter().enumerate() {
            let mut own = Vec::new();
            for word in content_words(&found.skill().description) {
                let next = numbers.len();
                let number = *numbers.entry(word).or_insert(next);
                by_word.resize_with(numbers.len(), Vec::new);
                by_word[number].push(index);
                own.push(number);
            }
            words.push(own);
        }
        let mut common = vec![0; skills.len()];
        let nearest = (0..skills.len()).map(|index| nearest(index, &skills, (&words, &by_word), &mut common)).collect();
        Self { skills, nearest }
    }

    /// The problem of a skill if the description of another one is similar. Of two that are most similar to each other, the first
    /// has it.
    pub(super) fn check(&self, found: &FoundSkill) -> Option<Diagnostic> {
        let index = self.skills.iter().position(|skill| std::ptr::eq(*skill, found))?;
        let (nearest, share) = self.nearest[index]?;
        let [skill, other] = [found, self.skills[nearest]].map(FoundSkill::skill);
        if other.slug < skill.slug && self.nearest[nearest].is_some_and(|(most, _)| most == index) {
            return None;
        }
        let message = format!(
            "the descriptions of `{}` and `{}` share {share} % of their words: agents choose by the description alone",
            skill.name, other.name
        );
        Some(
            Diagnostic::new(Code::SimilarDescription, description_place(found), message)
                .help("say what each is for that the other is not, and what it is not for"),
        )
    }
}

/// The skill whose description is the most similar to that of `index`, if one is similar, and the percentage of words that they
/// share. `common` is zero for every skill, before and after.
fn nearest(
    index: usize,
    skills: &[&FoundSkill],
    (words, by_word): (&[Vec<usize>], &[Vec<usize>]),
    common: &mut [usize],
) -> Option<(usize, usize)> {
    let mut siblings = Vec::new();
    for &other in words[index].iter().flat_map(|word| &by_word[*word]) {
        if common[other] == 0 {
            siblings.push(other);
        }
        common[other] += 1;
    }
    let shares = siblings.into_iter().filter_map(|other| {
        let shared = std::mem::take(&mut common[other]);
        let fewer = words[index].len().min(words[other].len());
        let is_compared = other != index && fewer >= FEWEST_WORDS;
        is_compared.then(|| (shared * 100 / fewer, &skills[other].skill().name, Reverse(other)))
    });
    let (share, _, Reverse(other)) = shares.max()?;
    (share >= SIMILAR).then_some((other, share))
}

/// The skills whose descriptions share the most words with that of `slug`, the nearest first, then by name. One that shares
/// none counts too: a description that takes every prompt need not share a word with any.
pub fn nearest_skills<'a>(catalog: &'a Catalog, slug: &str, count: usize) -> Vec<&'a str> {
    let Some(found) = catalog.skill(slug) else { return Vec::new() };
    let words = content_words(&found.skill().description);
    let mut others: Vec<(usize, &str)> = Vec::new();
    for other in catalog.skills.iter().map(FoundSkill::skill).filter(|other| other.slug != slug) {
        others.push((content_words(&other.description).intersection(&words).count(), &other.slug));
    }
    others.sort_by_key(|(common, slug)| (Reverse(*common), *slug));
    others.into_iter().take(count).map(|(_, slug)| slug).collect()
}

pub(super) fn description_place(found: &FoundSkill) -> SourceLocation {
    let path = found.skill().folder.join(SKILL_FILE);
    match found.file.entries.iter().find(|entry| entry.key == "description") {
        Some(entry) => {
            // If bytes are not UTF-8, ranges count in the text with replacement characters.
            let text = String::from_utf8_lossy(&found.bytes);
            SourceLocation::in_text(path, text.as_bytes(), entry.value.range.clone())
        }
        None => SourceLocation::file(path),
    }
}

pub(super) fn content_words(description: &str) -> BTreeSet<String> {
    description
        .to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= 3 && !STOP_WORDS.contains(word))
        // Plurals count as their singular.
        .map(|word| word.strip_suffix('s').filter(|stem| !stem.ends_with('s')).unwrap_or(word).to_owned())
        .collect()
}

/// The words that say nothing about a subject, but show the language of a text.
pub(super) fn function_words(text: &str) -> BTreeSet<String> {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.filter(|word| word.chars().count() < 3 || STOP_WORDS.contains(word)).map(str::to_owned).collect()
}

// Changes of skills during a session that are impossible.

pub(super) fn check_changes(case: &Case, catalog: &Catalog, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    if case.during.is_empty() {
        return Vec::new();
    }
    let mut skills: BTreeSet<&str> =
        catalog.skills.iter().map(FoundSkill::skill).map(|skill| skill.slug.as_str()).collect();
    let mut changes: Vec<&SkillChange> = case.during.iter().collect();
    // Changes after one turn keep their order.
    changes.sort_by_key(|change| change.after_turn);
    let mut problems = Vec::new();
    for change in changes {
        problems.extend(apply(change, &mut skills).or_else(|| check_directory(change, tree)));
    }
    problems
}

/// Applies a change to the set of skills. Returns why that is impossible.
fn apply<'a>(change: &'a SkillChange, skills: &mut BTreeSet<&'a str>) -> Option<Diagnostic> {
    let skill = change.skill.as_str();
    let (message, help) = match change.kind {
        ChangeKind::Add if !skills.insert(skill) => {
            (format!("the skill `{skill}` exists already"), "`edit` gives it the files of another directory")
        }
        ChangeKind::Edit if !skills.contains(skill) => {
            (format!("the skill `{skill}` does not exist by then"), "`add` it; the directory has the name of the skill")
        }
        ChangeKind::Remove if !skills.remove(skill) => {
            (format!("the skill `{skill}` does not exist by then"), "`remove` takes the name of a skill")
        }
        _ => return None,
    };
    Some(problem(change, message, help))
}

fn check_directory(change: &SkillChange, tree: &dyn RepoFiles) -> Option<Diagnostic> {
    let path = change.folder.as_ref()?.as_path();
    let shown = path.display();
    let help = &format!("name the directory of a skill, such as evals/changes/NAME; paths start in {SOURCES}");
    let kind = match tree.kind(path) {
        FileKind::Folder => None,
        FileKind::Missing => Some(format!("the directory {shown} does not exist")),
        FileKind::Symlink => Some(format!("the directory {shown} is reached through a symbolic link")),
        FileKind::Unreadable => Some(format!("the directory {shown} cannot be read")),
        FileKind::File | FileKind::Other => Some(format!("{shown} is not a directory")),
    };
    if let Some(message) = kind {
        return Some(problem(change, message, help));
    }
    let Ok(bytes) = tree.read(&path.join(SKILL_FILE)) else {
        return Some(problem(change, format!("the directory {shown} has no {SKILL_FILE}"), help));
    };
    let slug = SkillFile::parse(path, &bytes).skill.slug;
    if slug != change.skill {
        let message = format!("the skill in {shown} is called `{slug}`");
        return Some(problem(change, message, "give the directory the name in the front matter"));
    }
    skill::case_material(path, change.origin.clone(), "skill", tree)
}

fn problem(change: &SkillChange, message: String, help: &str) -> Diagnostic {
    Diagnostic::new(Code::BadChange, change.origin.clone(), message).help(help)
}
