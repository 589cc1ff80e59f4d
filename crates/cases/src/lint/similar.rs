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
