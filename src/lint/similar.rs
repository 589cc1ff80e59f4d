//! Descriptions that an agent could take for each other's.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use crate::cases::catalog::{Catalog, FoundSkill};
use crate::skill::SKILL_FILE;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

/// From this share of common content words, in percent of the shorter description's, two descriptions count as
/// alike. Skills of one family that are told apart well share about a third.
pub const SIMILAR: usize = 60;

/// Descriptions with fewer content words than this are not compared: two common words in three mean nothing.
const FEWEST_WORDS: usize = 5;

/// Words that stand in descriptions of any skill.
const STOP_WORDS: [&str; 48] = [
    "about", "all", "also", "and", "any", "are", "asked", "asks", "can", "for", "from", "has", "have", "help", "helps",
    "how", "into", "its", "not", "one", "other", "should", "skill", "skills", "some", "somebody", "someone", "such",
    "task", "tasks", "than", "that", "the", "their", "them", "these", "they", "this", "use", "used", "user", "users",
    "using", "want", "wants", "when", "will", "with",
];

/// The content words of every skill's description.
pub(super) struct Descriptions<'a> {
    /// Each skill, and how many content words its description has.
    skills: Vec<(&'a FoundSkill, usize)>,
    /// Which skills, by their places, have a word.
    with: HashMap<String, Vec<usize>>,
}

impl<'a> Descriptions<'a> {
    pub(super) fn of(catalog: &'a Catalog) -> Self {
        let mut with: HashMap<String, Vec<usize>> = HashMap::new();
        let skills = catalog.skills.iter().enumerate().map(|(place, found)| {
            let words = content_words(&found.skill().description);
            let count = words.len();
            for word in words {
                with.entry(word).or_default().push(place);
            }
            (found, count)
        });
        Self { skills: skills.collect(), with }
    }

    /// The sibling most like `found`, one of these skills, if it is too much so.
    pub(super) fn check(&self, found: &FoundSkill) -> Option<Diagnostic> {
        let skill = found.skill();
        let words = content_words(&skill.description);
        let mut common = vec![0; self.skills.len()];
        words.iter().filter_map(|word| self.with.get(word)).flatten().for_each(|place| common[*place] += 1);
        let (share, sibling) = self
            .skills
            .iter()
            .zip(common)
            .filter(|((sibling, _), _)| !std::ptr::eq(*sibling, found))
            .filter_map(|((sibling, other), common)| Some((share(common, words.len().min(*other))?, sibling.skill())))
            .filter(|(share, _)| *share >= SIMILAR)
            .max_by_key(|(share, _)| *share)?;
        let message = format!(
            "the descriptions of `{}` and `{}` share {share} % of their words: agents choose by the description alone",
            skill.name, sibling.name
        );
        Some(
            Diagnostic::new(Code::SimilarDescription, description_place(found), message)
                .help("say what each is for that the other is not, and what it is not for"),
        )
    }
}

pub(super) fn description_place(found: &FoundSkill) -> SourceLocation {
    let path = found.skill().folder.join(SKILL_FILE);
    match found.file.entries.iter().find(|entry| entry.key == "description") {
        Some(entry) => place(&path, &found.bytes, entry.value_range.clone()),
        None => SourceLocation::file(path),
    }
}

/// The place of a range of the text that a SKILL.md was read as.
pub(super) fn place(path: &Path, bytes: &[u8], range: std::ops::Range<usize>) -> SourceLocation {
    // Where bytes are not UTF-8, ranges count in the text with replacement characters.
    SourceLocation::in_text(path, String::from_utf8_lossy(bytes).as_bytes(), range)
}

fn content_words(description: &str) -> BTreeSet<String> {
    description
        .to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= 3 && !STOP_WORDS.contains(word))
        // Plural or singular, it is the same word to an agent.
        .map(|word| word.strip_suffix('s').filter(|stem| !stem.ends_with('s')).unwrap_or(word).to_owned())
        .collect()
}

/// Common words in percent of the smaller set.
fn share(common: usize, smaller: usize) -> Option<usize> {
    (smaller >= FEWEST_WORDS).then(|| common * 100 / smaller)
}
