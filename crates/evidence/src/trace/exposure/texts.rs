//! The texts of skills, in several collections of files.

use std::sync::Arc;

use super::index::{IndexedFile, TextIndex};
use super::{Exposure, FileId};
use crate::trace::description::DescriptionVisibility;

/// The share of a file that a text has at least if it is the same text.
const SAME: f64 = 0.9;

/// The texts of skills.
#[derive(Clone, Debug, Default)]
pub struct SkillTexts(pub(super) Vec<Arc<TextIndex>>);

impl SkillTexts {
    /// Combines collections of files. A file may be in several of them only if the later ones are
    /// [changes](super::TextIndexBuilder::of_change).
    pub fn new(parts: Vec<Arc<TextIndex>>) -> Self {
        Self(parts)
    }

    /// Appends collections.
    #[must_use]
    pub fn and(mut self, others: impl IntoIterator<Item = Arc<TextIndex>>) -> Self {
        self.0.extend(others);
        self
    }

    /// The changes that are visible in `shown`, the text next to a skill's name in an agent's skill list: it has more of the
    /// new description than of the previous one.
    pub fn changes_in_list(&self, slug: &str, shown: &str) -> Vec<usize> {
        use DescriptionVisibility::{Cut, NameOnly, Unknown, Whole};
        let mut changes = Vec::new();
        for (part, texts) in self.0.iter().enumerate() {
            let (Some(change), Some(new)) = (texts.change, texts.descriptions.get(slug)) else { continue };
            let old = self.description_before(part, slug);
            let old_visibility = old.map(|old| DescriptionVisibility::in_list(old, shown));
            let is_visible = match (old_visibility, DescriptionVisibility::in_list(new, shown)) {
                (_, Unknown) | (Some(_), NameOnly) => false,
                (None | Some(Unknown | NameOnly), _) => true,
                (Some(Whole), new_visibility) => {
                    new_visibility == Whole && old.is_some_and(|old| new.len() > old.len())
                }
                (Some(Cut { .. }), new_visibility) => new_visibility == Whole,
            };
            changes.extend(is_visible.then_some(change));
        }
        changes
    }

    /// The changes whose whole new description is in `text`.
    pub fn changes_in(&self, text: &str) -> Vec<usize> {
        let mut changes = Vec::new();
        for (part, texts) in self.0.iter().enumerate() {
            let Some(change) = texts.change else { continue };
            let is_visible = texts.descriptions.iter().any(|(slug, new)| {
                let is_new = self.description_before(part, slug).is_none_or(|old| !old.contains(new.as_str()));
                is_new && DescriptionVisibility::within(new, text) == DescriptionVisibility::Whole
            });
            changes.extend(is_visible.then_some(change));
        }
        changes
    }

    /// The description of a skill before the change with the collection `part`.
    fn description_before(&self, part: usize, slug: &str) -> Option<&str> {
        self.0[..part].iter().rev().find_map(|texts| texts.descriptions.get(slug)).map(String::as_str)
    }

    /// Whether the files of this skill are known.
    pub fn knows(&self, slug: &str) -> bool {
        self.description(slug).is_some()
    }

    /// Whether `text` has nearly all of a skill's file.
    pub fn is_text_of(&self, slug: &str, path: &str, text: &str) -> bool {
        let mut exposure = Exposure::new(self);
        let named = exposure.asked(slug, path);
        exposure.shown(text, &named, true);
        exposure.share(slug, path).is_some_and(|share| share >= SAME)
    }

    /// How much of a skill's description is in `shown`, the text next to its name in an agent's skill list.
    pub fn in_list(&self, slug: &str, shown: &str) -> DescriptionVisibility {
        self.description(slug)
            .map_or(DescriptionVisibility::Unknown, |description| DescriptionVisibility::in_list(description, shown))
    }

    /// The slugs of the skills whose whole descriptions are in `text`.
    pub fn described_in(&self, text: &str) -> Vec<String> {
        let mut slugs = Vec::new();
        for (slug, description) in self.0.iter().flat_map(|texts| &texts.descriptions) {
            if DescriptionVisibility::within(description, text) == DescriptionVisibility::Whole {
                slugs.push(slug.clone());
            }
        }
        slugs
    }

    /// The files of a skill.
    pub(super) fn of_skill(&self, slug: &str) -> impl Iterator<Item = (FileId, &IndexedFile)> {
        let parts = self.0.iter().enumerate();
        parts.flat_map(move |(part, texts)| texts.of_skill(slug).map(move |(number, file)| ((part, number), file)))
    }

    fn description(&self, slug: &str) -> Option<&str> {
        self.0.iter().find_map(|texts| texts.descriptions.get(slug)).map(String::as_str)
    }
}
