//! Which changes to the skills in mid-session came before a model: by shingles that are new with them, once they were made.

use std::collections::BTreeSet;

use super::{BitSet, Coverage, Exposure, ShingleCounts, SkillTexts, is_enough};

impl Coverage {
    /// Nothing has come of the collection with this number.
    pub(super) fn new(all: &SkillTexts, number: usize) -> Self {
        let texts = &all.0[number];
        let bits = || BitSet::of(texts.hashes.len());
        let mut files = vec![ShingleCounts::default(); texts.files.len()];
        let mut new = BitSet::default();
        if texts.change.is_some() {
            new = bits();
            let is_new = |hash: u64| all.0[..number].iter().all(|earlier| earlier.find(hash).is_none());
            for (at, hash) in texts.hashes.iter().enumerate().filter(|(_, hash)| is_new(**hash)) {
                debug_assert!(texts.find(*hash).is_some());
                new.set(at);
                files[texts.owners[at] as usize].new += 1;
            }
        }
        Self { seen: bits(), named: bits(), own: bits(), new, files }
    }
}

impl Exposure<'_> {
    /// From now on these changes are still to be made: what stands in their texts only is none of theirs.
    pub fn still_to_come(&mut self, changes: BTreeSet<usize>) {
        self.to_come = changes;
    }

    /// Whether a change has been made by now.
    #[must_use]
    pub fn is_made(&self, change: usize) -> bool {
        !self.to_come.contains(&change)
    }

    /// The changes of which so much that is new was seen as a file takes to count as loaded.
    #[must_use]
    pub fn changes(&self) -> BTreeSet<usize> {
        self.changes_with(|counts, sample| is_enough(counts.new_named, counts.new_seen, counts.new, sample))
    }

    /// Whether anything is new with a change, so that it could be seen.
    #[must_use]
    pub fn is_distinct(&self, change: usize) -> bool {
        self.changes_with(|counts, _| counts.new > 0).contains(&change)
    }

    fn changes_with(&self, has: impl Fn(&ShingleCounts, u32) -> bool) -> BTreeSet<usize> {
        let parts = self.texts.0.iter().zip(&self.parts);
        let with = parts
            .filter(|(texts, part)| texts.files.iter().zip(&part.files).any(|(file, counts)| has(counts, file.sample)));
        with.filter_map(|(texts, _)| texts.change).collect()
    }
}
