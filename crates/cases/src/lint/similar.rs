//! Descriptions that are too similar for an agent to choose between.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use crate::cases::catalog::{Catalog, FoundSkill};
use crate::skill::SKILL_FILE;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

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

/// The content words of every skill's description.
pub(super) struct Descriptions<'a> {
    /// Each skill, with its content words.
    skills: Vec<(&'a FoundSkill, BTreeSet<String>)>,
    /// The indexes of the skills with a word.
    by_word: HashMap<String, Vec<usize>>,
}

impl<'a> Descriptions<'a> {
    pub(super) fn of(catalog: &'a Catalog) -> Self {
        let mut by_word: HashMap<String, Vec<usize>> = HashMap::new();
        let mut skills = Vec::new();
        for (index, found) in catalog.skills.iter().enumerate() {
            let words = content_words(&found.skill().description);
            for word in &words {
                by_word.entry(word.clone()).or_default().push(index);
            }
            skills.push((found, words));
        }
        Self { skills, by_word }
    }

    /// The problem of a skill if the description of another one is similar. Of two that are most similar to each other, the first
    /// has it.
    pub(super) fn check(&self, found: &FoundSkill) -> Option<Diagnostic> {
        let (share, sibling) = self.most_similar(found)?;
        let [skill, other] = [found, sibling].map(FoundSkill::skill);
        if other.slug < skill.slug && self.most_similar(sibling).is_some_and(|(_, most)| std::ptr::eq(most, found)) {
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

    /// The skill with the most similar description if one is similar, and the percentage of words that they share.
    fn most_similar(&self, found: &FoundSkill) -> Option<(usize, &'a FoundSkill)> {
        let words = content_words(&found.skill().description);
        let mut lists: Vec<(&String, &Vec<usize>)> =
            words.iter().filter_map(|word| Some((word, self.by_word.get(word)?))).collect();
        lists.sort_by_key(|(_, skills)| skills.len());
        // A similar one has another word too than the most frequent few, which all skills may have.
        let (rare, frequent) = lists.split_at(lists.len().saturating_sub(FEWEST_WORDS * SIMILAR / 100));
        let mut common: HashMap<usize, usize> = HashMap::new();
        for index in rare.iter().flat_map(|(_, skills)| *skills) {
            *common.entry(*index).or_default() += 1;
        }
        let shares = common.into_iter().filter_map(|(index, rare)| {
            let (sibling, others) = &self.skills[index];
            let fewer = words.len().min(others.len());
            if std::ptr::eq(*sibling, found) || fewer < FEWEST_WORDS {
                return None;
            }
            let share = (rare + frequent.iter().filter(|(word, _)| others.contains(*word)).count()) * 100 / fewer;
            Some((share, &sibling.skill().name, Reverse(index)))
        });
        let (share, _, Reverse(index)) = shares.max().filter(|(share, ..)| *share >= SIMILAR)?;
        Some((share, self.skills[index].0))
    }
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
