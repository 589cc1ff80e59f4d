//! Which changes to skills during a session entered a model's context: their new shingles were seen after the change.

use std::collections::BTreeSet;

use super::{BitSet, Coverage, Exposure, ShingleCounts, SkillTexts, is_enough};

impl Coverage {
    /// The empty coverage of the collection with this number.
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
    /// Sets the changes that are not made yet. Their texts are not counted.
    pub fn still_to_come(&mut self, changes: BTreeSet<usize>) {
        self.to_come = changes;
    }

    /// Whether a change is made.
    pub fn is_made(&self, change: usize) -> bool {
        !self.to_come.contains(&change)
    }

    /// The changes with enough new shingles seen that a file of them would count as loaded.
    pub fn changes(&self) -> BTreeSet<usize> {
        self.changes_with(|counts, sample| is_enough(counts.new_named, counts.new_seen, counts.new, sample))
    }

    /// Whether a change has new shingles, so that it can be seen.
    pub fn is_distinct(&self, change: usize) -> bool {
        self.changes_with(|counts, _| counts.new > 0).contains(&change)
    }

    fn changes_with(&self, has: impl Fn(&ShingleCounts, u32) -> bool) -> BTreeSet<usize> {
        let mut changes = BTreeSet::new();
        for (texts, part) in self.texts.0.iter().zip(&self.parts) {
            if texts.files.iter().zip(&part.files).any(|(file, counts)| has(counts, file.sample)) {
                changes.extend(texts.change);
            }
        }
        changes
    }
}
