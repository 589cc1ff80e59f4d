//! An index of the shingles of skills' files.

use std::collections::HashMap;
use std::sync::Arc;

use super::shingles;
use crate::skill::{SKILL_FILE, SkillFile};

/// Maximum number of shingles of a file. Of a longer file, a sample is indexed.
const MAX_PER_FILE: usize = 1 << 18;

/// Number of shingles of all files after which [`MIN_PER_FILE`] is the maximum for each further file.
const MAX_IN_ALL: usize = 1 << 20;

const MIN_PER_FILE: usize = 512;

/// Builds an index of skills' files.
#[derive(Debug, Default)]
pub struct TextIndexBuilder {
    texts: TextIndex,
    shingles: Vec<(u64, u32)>,
    grams: Vec<u64>,
}

/// An index of skills' files by their shingles.
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
    /// A bit for each gram in a shingle.
    grams: Vec<u64>,
    /// The change during the session that they come with.
    pub(super) change: Option<usize>,
}

#[derive(Debug)]
pub(super) struct IndexedFile {
    pub skill: String,
    pub path: String,
    /// Number of indexed shingles.
    pub shingles: u32,
    /// One of 2^`sample` shingles is indexed.
    pub sample: u32,
    /// Its text, if that is too short for a shingle.
    pub short: Option<String>,
    /// Whether this is the front matter of a file. It only shows whether the file changed.
    pub is_head: bool,
}

impl IndexedFile {
    /// Whether the file has no letters and digits.
    pub fn is_without_text(&self) -> bool {
        self.shingles == 0 && self.short.is_none()
    }

    pub fn is(&self, other: &Self) -> bool {
        self.path == other.path && self.skill == other.skill
    }
}

impl TextIndexBuilder {
    /// An index of the skill's files after the change with this number.
    pub fn of_change(number: usize) -> Self {
        Self { texts: TextIndex { change: Some(number), ..TextIndex::default() }, ..Self::default() }
    }

    /// Adds the file at `path` in the directory of the skill with this slug. Only the name of a binary file is indexed.
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
        let most = if self.shingles.len() < MAX_IN_ALL { MAX_PER_FILE } else { MIN_PER_FILE };
        let mut sample = 0;
        while text.len() >> sample > most {
            sample += 1;
        }
        // Not the first bits: a shingle is looked up by those.
        let is_kept = |hash: u64| (hash >> 24) & ((1 << sample) - 1) == 0;
        let letters = shingles::letters(text);
        let mut all = Vec::new();
        let mut next_gram = 0;
        for (at, hash) in shingles::hashes(&letters).enumerate().filter(|(_, hash)| is_kept(*hash)) {
            all.push(hash);
            for start in next_gram.max(at)..at + shingles::STRIDE {
                self.grams.push(shingles::last_gram(&letters[..start + shingles::GRAM]));
            }
            next_gram = at + shingles::STRIDE;
        }
        all.sort_unstable();
        all.dedup();
        let file = u32::try_from(self.texts.files.len()).unwrap_or(u32::MAX);
        self.shingles.extend(all.iter().map(|hash| (*hash, file)));
        let short = ((1..shingles::LENGTH).contains(&letters.len()) && !is_head).then(|| text.trim().to_owned());
        let shingles = u32::try_from(all.len()).unwrap_or(u32::MAX);
        self.texts.by_slug.entry(slug.to_owned()).or_default().push(file);
        let (skill, path) = (slug.to_owned(), path.to_owned());
        self.texts.files.push(IndexedFile { skill, path, shingles, sample, short, is_head });
    }

    /// Returns the index.
    pub fn build(self) -> Arc<TextIndex> {
        let Self { mut texts, mut shingles, grams } = self;
        shingles.sort_unstable();
        (texts.hashes, texts.owners) = shingles.into_iter().unzip();
        let count = texts.hashes.len();
        // Large enough that few other grams share a bit with a known one.
        texts.grams = vec![0; grams.len().next_power_of_two().clamp(1 << 7, 1 << 18)];
        for gram in grams {
            let (word, bit) = texts.bit(gram);
            texts.grams[word] |= bit;
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
    fn bit(&self, gram: u64) -> (usize, u64) {
        ((gram >> 32) as usize & (self.grams.len() - 1), 1 << (gram >> 58))
    }

    /// Calls `take` for every known shingle of `letters`, with its hash and its first index in [`owners`](Self::owners).
    pub(super) fn each_known(&self, letters: &[u8], mut take: impl FnMut(u64, u32)) {
        if self.hashes.is_empty() {
            return;
        }
        let mut rest = letters;
        while let Some(start) = rest.get(..shingles::LENGTH) {
            let (word, bit) = self.bit(shingles::last_gram(start));
            if self.grams[word] & bit != 0 {
                for hash in shingles::hashes(&rest[..rest.len().min(shingles::LENGTH + shingles::STRIDE - 1)]) {
                    if let Some(first) = self.find(hash) {
                        take(hash, first);
                    }
                }
            }
            rest = rest.get(shingles::STRIDE..).unwrap_or_default();
        }
    }

    /// Where a shingle stands first in [`owners`](Self::owners).
    pub(super) fn find(&self, hash: u64) -> Option<u32> {
        if self.hashes.is_empty() {
            return None;
        }
        let bucket = bucket(hash, self.starts.len() - 1);
        (self.starts[bucket]..self.starts[bucket + 1]).find(|at| self.hashes[*at as usize] == hash)
    }

    /// All positions of the shingle whose first position is `first`.
    pub(super) fn run(&self, first: u32) -> std::ops::Range<usize> {
        let (first, hash) = (first as usize, self.hashes[first as usize]);
        first..first + self.hashes[first..].iter().take_while(|next| **next == hash).count()
    }

    /// A skill's files and their numbers.
    pub(super) fn of_skill(&self, slug: &str) -> impl Iterator<Item = (usize, &IndexedFile)> {
        let numbers = self.by_slug.get(slug).into_iter().flatten().map(|number| *number as usize);
        numbers.map(|number| (number, &self.files[number])).filter(|(_, file)| !file.is_head)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "there are fewer buckets than that")]
fn bucket(hash: u64, buckets: usize) -> usize {
    (hash >> (64 - buckets.trailing_zeros())) as usize
}

/// The position of the body of a SKILL.md, in bytes: after the second line `---`. 0 without a body: then the front
/// matter is the text.
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
