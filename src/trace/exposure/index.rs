//! Where the shingles of skills' files are.

use std::collections::HashMap;
use std::sync::Arc;

use super::shingles;
use crate::skill::{SKILL_FILE, SkillFile};

/// Shingles of a file that are all kept, and of all files together. Of longer files a sample is kept.
const OF_FILE: usize = 1 << 18;
const OF_ALL: usize = 1 << 20;

/// Where there are so many, as many of each file.
const AT_LEAST: usize = 512;

/// Collects the files of skills.
#[derive(Debug, Default)]
pub struct TextIndexBuilder {
    texts: TextIndex,
    shingles: Vec<(u64, u32)>,
}

/// Files of skills, by their shingles.
#[derive(Debug, Default)]
pub struct TextIndex {
    pub(super) files: Vec<IndexedFile>,
    /// The files of a skill, by its slug.
    by_slug: HashMap<String, Vec<u32>>,
    /// The skills' descriptions, by slug.
    pub(super) descriptions: HashMap<String, String>,
    /// The shingles in order, and the file of each: one that several files have stands there several times.
    pub(super) hashes: Vec<u64>,
    pub(super) owners: Vec<u32>,
    /// Where those begin that begin with the same bits.
    starts: Vec<u32>,
    /// A bit for the last bits of each.
    known: Vec<u64>,
    /// The change in mid-session that they come with.
    pub(super) change: Option<usize>,
}

#[derive(Debug)]
pub(super) struct IndexedFile {
    pub skill: String,
    pub path: String,
    /// How many shingles of it are kept.
    pub shingles: u32,
    /// One in two to the power of this is kept.
    pub sample: u32,
    /// Its text, where that is too short for one.
    pub short: Option<String>,
    /// Whether it is no file, but the front matter of one: that tells whether it changed, and no more.
    pub is_head: bool,
}

impl IndexedFile {
    /// Whether there is nothing in it to know it by.
    pub fn is_without_text(&self) -> bool {
        self.shingles == 0 && self.short.is_none()
    }

    pub fn is(&self, other: &Self) -> bool {
        self.path == other.path && self.skill == other.skill
    }
}

impl TextIndexBuilder {
    /// For the files of a skill as it is from the change with this number on.
    #[must_use]
    pub fn of_change(number: usize) -> Self {
        Self { texts: TextIndex { change: Some(number), ..TextIndex::default() }, ..Self::default() }
    }

    /// Adds the file at `path` below the directory of the skill with this slug. Of files that are no text only the name is
    /// known.
    pub fn add(&mut self, slug: &str, path: &str, content: &[u8]) {
        let text = std::str::from_utf8(content).ok().filter(|text| !text.contains('\0')).unwrap_or_default();
        let (head, body) = text.split_at(if path == SKILL_FILE { body_start(text) } else { 0 });
        if path == SKILL_FILE {
            self.texts.descriptions.insert(slug.to_owned(), SkillFile::parse("", content).skill.description);
            self.add_text(slug, path, head, true);
        }
        self.add_text(slug, path, body, false);
    }

    fn add_text(&mut self, slug: &str, path: &str, text: &str, is_head: bool) {
        let most = if self.shingles.len() < OF_ALL { OF_FILE } else { AT_LEAST };
        let mut sample = 0;
        while text.len() >> sample > most {
            sample += 1;
        }
        // Neither the first nor the last bits: by those it is looked up.
        let is_kept = |hash: &u64| (hash >> 24) & ((1 << sample) - 1) == 0;
        let mut all = Vec::new();
        let letters = shingles::each(text, |hash| all.extend(Some(hash).filter(is_kept)));
        all.sort_unstable();
        all.dedup();
        let file = u32::try_from(self.texts.files.len()).unwrap_or(u32::MAX);
        self.shingles.extend(all.iter().map(|hash| (*hash, file)));
        let short = ((1..shingles::LENGTH).contains(&letters) && !is_head).then(|| text.trim().to_owned());
        let shingles = u32::try_from(all.len()).unwrap_or(u32::MAX);
        self.texts.by_slug.entry(slug.to_owned()).or_default().push(file);
        let (skill, path) = (slug.to_owned(), path.to_owned());
        self.texts.files.push(IndexedFile { skill, path, shingles, sample, short, is_head });
    }

    /// The files, so that they can be found again.
    #[must_use]
    pub fn build(self) -> Arc<TextIndex> {
        let Self { mut texts, mut shingles } = self;
        shingles.sort_unstable();
        (texts.hashes, texts.owners) = shingles.into_iter().unzip();
        let count = texts.hashes.len();
        texts.known = vec![0; (count / 4).next_power_of_two().clamp(1 << 7, 1 << 18)];
        for hash in &texts.hashes {
            let (word, bit) = texts.bit(*hash);
            texts.known[word] |= bit;
        }
        let buckets = count.next_power_of_two().max(2);
        texts.starts = vec![0; buckets + 1];
        for hash in &texts.hashes {
            let bucket = bucket(*hash, buckets);
            texts.starts[bucket + 1] += 1;
        }
        for at in 0..buckets {
            texts.starts[at + 1] += texts.starts[at];
        }
        Arc::new(texts)
    }
}

impl TextIndex {
    fn bit(&self, hash: u64) -> (usize, u64) {
        ((hash >> 6) as usize & (self.known.len() - 1), 1 << (hash & 63))
    }

    /// Where a shingle stands first in [`owners`](Self::owners).
    pub(super) fn find(&self, hash: u64) -> Option<u32> {
        if self.hashes.is_empty() {
            return None;
        }
        let (word, bit) = self.bit(hash);
        if self.known[word] & bit == 0 {
            return None;
        }
        let bucket = bucket(hash, self.starts.len() - 1);
        (self.starts[bucket]..self.starts[bucket + 1]).find(|at| self.hashes[*at as usize] == hash)
    }

    /// Where a shingle stands that stands first at `first`.
    pub(super) fn run(&self, first: u32) -> std::ops::Range<usize> {
        let (first, hash) = (first as usize, self.hashes[first as usize]);
        first..first + self.hashes[first..].iter().take_while(|next| **next == hash).count()
    }

    /// The numbers of a skill's files.
    pub(super) fn of_skill(&self, slug: &str) -> impl Iterator<Item = (usize, &IndexedFile)> {
        let numbers = self.by_slug.get(slug).into_iter().flatten().map(|number| *number as usize);
        numbers.map(|number| (number, &self.files[number])).filter(|(_, file)| !file.is_head)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "there are fewer buckets than that")]
fn bucket(hash: u64, buckets: usize) -> usize {
    (hash >> (64 - buckets.trailing_zeros())) as usize
}

/// Where the body of a SKILL.md begins, in bytes: its front matter ends at the second line of three dashes. Of a file without
/// a body its front matter is the text.
fn body_start(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_start_matches('\u{feff}').starts_with("---")) else {
        return 0;
    };
    let mut end = first.len();
    for line in lines {
        end += line.len();
        if line.trim_end() == "---" {
            break;
        }
    }
    if text[end..].contains(char::is_alphanumeric) { end } else { 0 }
}
