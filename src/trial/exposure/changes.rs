//! Which changes to the skills in mid-session came before a model: by texts that are new with them, once they were made.

use std::collections::BTreeSet;

use super::{ENOUGH, ENOUGH_BYTES, Exposure, FileId, Hit, share};

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

    /// Notes a unit that is new with a change: no earlier collection of files has it.
    pub(super) fn note_new(&mut self, hit: &Hit) {
        let Some(part) = hit.files.iter().map(|(id, _)| id.0).min() else { return };
        if self.is_new(part, hit.hash) {
            for (id, _) in hit.files.iter().filter(|(id, _)| id.0 == part) {
                self.new.entry(*id).or_default().insert(hit.hash);
            }
        }
    }

    /// The changes of which so much that is new was seen as a file takes to count as loaded; where only a front matter is
    /// another one, anything of that.
    #[must_use]
    pub fn changes(&self) -> BTreeSet<usize> {
        let of_change = |id: &FileId| self.texts.0.get(id.0).and_then(|texts| texts.change);
        let seen = self.new.keys().filter(|id| self.has_seen_enough(**id));
        seen.filter_map(of_change).collect()
    }

    fn has_seen_enough(&self, id: FileId) -> bool {
        let (Some(texts), Some(seen)) = (self.texts.0.get(id.0), self.new.get(&id)) else { return false };
        let weight = |hash: &u64| {
            let file = texts.units.get(hash)?.iter().find(|(file, _)| *file == id.1)?;
            Some(u64::from(file.1))
        };
        let all: u64 = texts.units.keys().filter(|hash| self.is_new(id.0, **hash)).filter_map(weight).sum();
        let came: u64 = seen.iter().filter_map(weight).sum();
        all == 0 || share(came, all) >= ENOUGH || came >= ENOUGH_BYTES
    }

    /// Whether anything is new with a change, so that it could be seen.
    #[must_use]
    pub fn is_distinct(&self, change: usize) -> bool {
        let parts = self.texts.0.iter().enumerate().filter(|(_, texts)| texts.change == Some(change));
        parts.into_iter().any(|(part, texts)| texts.units.keys().any(|hash| self.is_new(part, *hash)))
    }

    /// Whether a collection of files comes with a change and no earlier one has this unit.
    fn is_new(&self, part: usize, hash: u64) -> bool {
        let of_change = self.texts.0.get(part).is_some_and(|texts| texts.change.is_some());
        of_change && !self.texts.0[..part].iter().any(|texts| texts.units.contains_key(&hash))
    }
}
