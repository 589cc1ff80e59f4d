//! What the prompts of a skill's cases measure: a prompt that hands over the choice of the skill measures nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cases::case::{Case, FoundCase};
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cases::repo_files::RepoFiles;
use crate::lint::is_curated;
use crate::lint::similar::{content_words, function_words};
use crate::profile;
use crate::skill::Skill;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

/// A prompt that shares this many words in a row with a description copies it. Users' own phrases, which authors quote in
/// descriptions, are shorter.
const COPIED_WORDS: usize = 10;

/// A whole description of fewer words may be in a prompt by chance.
const FEWEST_WORDS: usize = 4;

/// A prompt that shares fewer function words with all descriptions is too short, or in another language, to be compared.
const SHARED_FUNCTION_WORDS: usize = 2;

/// Whether a prompt calls the skill as users of any agent do.
pub fn calls_skill(prompt: &str, skill: &Skill) -> bool {
    let mut calls = profile::listed().filter_map(|profile| profile.call_of(&skill.name));
    calls
        .any(|call| prompt.split_whitespace().any(|word| word.trim_end_matches(['.', ',', ':', ';', '!', '?']) == call))
}

/// Whether a prompt tells the agent which skill to use. A name of one word, such as `pdf`, must be next to the word "skill",
/// since users have the same word for their files.
pub fn names_skill(prompt: &str, skill: &Skill) -> bool {
    if calls_skill(prompt, skill) {
        return true;
    }
    let words: Vec<String> = words(prompt).collect();
    let name: Vec<String> = self::words(&skill.name).collect();
    let runs = words.windows(name.len().max(1)).enumerate().filter(|(_, run)| *run == name);
    let near = |at: Option<usize>| at.and_then(|at| words.get(at)).is_some_and(|word| word == "skill");
    let has_whole_name = name.len() > 1 && prompt.to_lowercase().contains(&skill.name.to_lowercase());
    has_whole_name || runs.into_iter().any(|(at, _)| near(at.checked_sub(1)) || near(Some(at + name.len())))
}

/// Whether the prompt is the skill's description, or a long part of it.
pub fn copies_description(prompt: &str, skill: &Skill) -> bool {
    let description: Vec<String> = words(&skill.description).collect();
    let length = description.len().min(COPIED_WORDS);
    if length < FEWEST_WORDS {
        return false;
    }
    let prompt: Vec<String> = words(prompt).collect();
    let runs: BTreeSet<&[String]> = prompt.windows(length).collect();
    description.windows(length).any(|run| runs.contains(run))
}

#[derive(Debug)]
pub struct SkillWords {
    /// The slug of each skill, with the content words of its name and description.
    skills: Vec<(String, BTreeSet<String>)>,
    function_words: BTreeSet<String>,
}

impl SkillWords {
    pub fn of(catalog: &Catalog) -> Self {
        let mut all = Self { skills: Vec::new(), function_words: BTreeSet::new() };
        for skill in catalog.skills.iter().map(FoundSkill::skill) {
            let text = format!("{} {}", skill.name, skill.description);
            all.function_words.extend(function_words(&text));
            all.skills.push((skill.slug.clone(), content_words(&text)));
        }
        all
    }

    /// Whether a prompt that must not trigger the skill `slug` is near it, or is a task of another skill. A prompt that cannot be
    /// compared counts as near.
    pub fn come_near(&self, prompt: &str, slug: &str) -> bool {
        if function_words(prompt).intersection(&self.function_words).count() < SHARED_FUNCTION_WORDS {
            return true;
        }
        let words = content_words(prompt);
        // Any two texts may share a word.
        let fewest = |other: &str| if other == slug { 1 } else { 2 };
        self.skills.iter().any(|(other, known)| words.intersection(known).count() >= fewest(other))
    }
}

/// The problem of a positive case whose prompt is not what a user writes.
pub(super) fn positive(
    found: &FoundCase,
    case: &Case,
    catalog: &Catalog,
    place: impl Fn(Option<&str>) -> SourceLocation,
) -> Option<Diagnostic> {
    let skill = catalog.skill(&case.skill)?.skill();
    if copies_description(&case.prompt, skill) {
        let message = format!("this prompt copies the description of `{}`: no user writes that", skill.name);
        return Some(
            Diagnostic::new(Code::DescriptionAsPrompt, place(None), message)
                .help("write a task as a user would: with names, files and details of their own"),
        );
    }
    let is_called_implicit = words(&found.id).any(|word| word == "implicit");
    if !is_called_implicit || !names_skill(&case.prompt, skill) {
        return None;
    }
    let message = format!("the case `{}` names the skill `{}` in its prompt", found.id, skill.name);
    Some(
        Diagnostic::new(Code::ImplicitNamesSkill, place(Some(&skill.name)), message)
            .help("ask for the task without the name: only then does the model choose; or call the case explicit"),
    )
}

/// The problems of all cases of a skill together: none leaves the choice to the model.
pub(super) fn of_skill(catalog: &Catalog, skill: &Skill, known: &SkillWords, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    let mut positive = Vec::new();
    let mut negative = Vec::new();
    for found in catalog.cases_of(&skill.slug).filter(|found| is_curated(found)) {
        // A case that cannot be read may be the one that is missing.
        let Ok(case) = found.case() else { return Vec::new() };
        if case.should_trigger { positive.push((found, case)) } else { negative.push((found, case)) }
    }
    let mut problems = Vec::new();
    let place = |(found, case): &(&Arc<FoundCase>, &Case)| {
        found.source.place("prompt", None, tree).unwrap_or_else(|| case.origin.clone())
    };
    if let Some(first) = positive.first().filter(|_| !skill.user_only)
        && positive.iter().all(|(_, case)| names_skill(&case.prompt, skill))
    {
        let message = format!("every prompt for `{}` names it: no case shows whether the model finds it", skill.name);
        problems.push(
            Diagnostic::new(Code::NoImplicit, place(first), message)
                .help("add a task as a user would write it, without the skill's name"),
        );
    }
    if let Some(first) = negative.first()
        && !negative.iter().any(|(_, case)| known.come_near(&case.prompt, &skill.slug))
    {
        let message = format!(
            "no prompt that must not trigger `{}` is near it or near another skill: a model passes without a choice",
            skill.name
        );
        problems.push(
            Diagnostic::new(Code::FarNegatives, place(first), message)
                .help("add a near miss: a task of another skill, or one that the description excludes"),
        );
    }
    problems
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}
