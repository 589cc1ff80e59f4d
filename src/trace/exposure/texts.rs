//! The texts of skills: several collections of files, and what is known of descriptions.

use std::sync::Arc;

use super::FileId;
use super::index::{IndexedFile, TextIndex};
use crate::trace::description::DescriptionVisibility;

/// The texts of skills.
#[derive(Clone, Debug, Default)]
pub struct SkillTexts(pub(super) Vec<Arc<TextIndex>>);

impl SkillTexts {
    /// Several collections of files; no file may be in two of them, but for those of [changes](super::TextsBuilder::of_change), which come
    /// behind what they change.
    #[must_use]
    pub fn new(parts: Vec<Arc<TextIndex>>) -> Self {
        Self(parts)
    }

    /// These, and behind them others.
    #[must_use]
    pub fn and(mut self, others: impl IntoIterator<Item = Arc<TextIndex>>) -> Self {
        self.0.extend(others);
        self
    }

    /// The changes in mid-session of which the text `shown` beside a skill's name in an agent's list tells: it has the
    /// description as it is from then on, and more of it than of the one before.
    #[must_use]
    pub fn changes_in_list(&self, slug: &str, shown: &str) -> Vec<usize> {
        let told = |(part, texts): (usize, &Arc<TextIndex>)| {
            let now = texts.descriptions.get(slug)?;
            let before =
                self.before(part, slug).map(|before| (DescriptionVisibility::in_list(before, shown), before.len()));
            let tells = match (before, DescriptionVisibility::in_list(now, shown)) {
                (_, DescriptionVisibility::Unknown) => false,
                (None, _) => true,
                (_, DescriptionVisibility::NameOnly) => false,
                (Some((DescriptionVisibility::Whole, length)), seen) => {
                    seen == DescriptionVisibility::Whole && now.len() > length
                }
                (Some((DescriptionVisibility::Cut { .. }, _)), seen) => seen == DescriptionVisibility::Whole,
                (Some((DescriptionVisibility::Unknown | DescriptionVisibility::NameOnly, _)), _) => true,
            };
            texts.change.filter(|_| tells)
        };
        self.0.iter().enumerate().filter_map(told).collect()
    }

    /// The changes in mid-session of which `text` tells: it has the whole description as it is from then on.
    #[must_use]
    pub fn changes_in(&self, text: &str) -> Vec<usize> {
        let told = |(part, texts): (usize, &Arc<TextIndex>)| {
            let tells = |(slug, now): (&String, &String)| {
                let is_new = self.before(part, slug).is_none_or(|before| !before.contains(now.as_str()));
                is_new && DescriptionVisibility::within(now, text) == DescriptionVisibility::Whole
            };
            texts.change.filter(|_| texts.descriptions.iter().any(tells))
        };
        self.0.iter().enumerate().filter_map(told).collect()
    }

    /// The description of a skill before the change that a collection of files comes with.
    fn before(&self, part: usize, slug: &str) -> Option<&str> {
        self.0[..part].iter().rev().find_map(|texts| texts.descriptions.get(slug)).map(String::as_str)
    }

    /// Whether the files of this skill are known.
    #[must_use]
    pub fn knows(&self, slug: &str) -> bool {
        self.description(slug).is_some()
    }

    /// What the text `shown` beside a skill's name in an agent's list is of its description.
    #[must_use]
    pub fn in_list(&self, slug: &str, shown: &str) -> DescriptionVisibility {
        self.description(slug)
            .map_or(DescriptionVisibility::Unknown, |description| DescriptionVisibility::in_list(description, shown))
    }

    /// The slugs of the skills whose whole descriptions are in `text`.
    #[must_use]
    pub fn described_in(&self, text: &str) -> Vec<String> {
        let all = self.0.iter().flat_map(|texts| &texts.descriptions);
        let whole = all.filter(|(_, description)| {
            DescriptionVisibility::within(description, text) == DescriptionVisibility::Whole
        });
        whole.map(|(slug, _)| slug.clone()).collect()
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
