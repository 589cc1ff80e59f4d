//! An index of the shingles of skills' files.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Exposure, FileId};
use crate::skill::{SKILL_FILE, SkillFile};
use crate::trace::exposure::DescriptionVisibility;

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
        let letters = letters(text);
        let mut all = Vec::new();
        let mut next_gram = 0;
        for (at, hash) in hashes(&letters).enumerate().filter(|(_, hash)| is_kept(*hash)) {
            all.push(hash);
            for start in next_gram.max(at)..at + STRIDE {
                self.grams.push(last_gram(&letters[..start + GRAM]));
            }
            next_gram = at + STRIDE;
        }
        all.sort_unstable();
        all.dedup();
        let file = u32::try_from(self.texts.files.len()).unwrap_or(u32::MAX);
        self.shingles.extend(all.iter().map(|hash| (*hash, file)));
        let short = ((1..LENGTH).contains(&letters.len()) && !is_head).then(|| text.trim().to_owned());
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
        while let Some(start) = rest.get(..LENGTH) {
            let (word, bit) = self.bit(last_gram(start));
            if self.grams[word] & bit != 0 {
                for hash in hashes(&rest[..rest.len().min(LENGTH + STRIDE - 1)]) {
                    if let Some(first) = self.find(hash) {
                        take(hash, first);
                    }
                }
            }
            rest = rest.get(STRIDE..).unwrap_or_default();
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

// The texts of skills, in several collections of files.

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

// Shingles: every sixteen bytes in a row of a text's letters and digits, so that it does not matter how a program set them.

/// Bytes of a shingle.
pub(super) const LENGTH: usize = 16;

/// Longest file name before a line that is looked for, in bytes.
const LONGEST_NAME: usize = 512;

const SKIP: u8 = 0;
const LINE: u8 = 1;
const ESCAPE: u8 = 2;
const WIDE: u8 = 3;

/// What a byte is: one of the above, or a letter or digit, in small.
const KINDS: [u8; 256] = {
    let mut kinds = [SKIP; 256];
    let mut byte = 0_u8;
    loop {
        kinds[byte as usize] = match byte {
            b'\n' => LINE,
            b'\\' => ESCAPE,
            0x80.. => WIDE,
            _ if byte.is_ascii_alphanumeric() => byte.to_ascii_lowercase(),
            _ => SKIP,
        };
        if byte == u8::MAX {
            break kinds;
        }
        byte += 1;
    }
};

/// Bytes that are looked up in place of each shingle that they are part of.
const GRAM: usize = LENGTH / 2;

/// A known shingle has a known gram at each of this many consecutive places, so looking at one of them is enough.
const STRIDE: usize = LENGTH - GRAM + 1;

/// The letters and digits of `text` in lower case, without what a program may have put around them.
pub(super) fn letters(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut letters = Vec::with_capacity(bytes.len());
    let mut at = decoration(bytes);
    loop {
        at += push_plain(&mut letters, &bytes[at..]);
        let Some(byte) = bytes.get(at) else { return letters };
        at += 1;
        match KINDS[usize::from(*byte)] {
            LINE => at += decoration(&bytes[at..]),
            WIDE => {
                if let Some(letter) = text.get(at - 1..).and_then(|rest| rest.chars().next()) {
                    at += letter.len_utf8() - 1;
                    push_wide(&mut letters, letter);
                }
            }
            // Text as JSON and programming languages write it.
            ESCAPE => match bytes.get(at) {
                Some(b'n') => at += 1 + decoration(&bytes[at + 1..]),
                Some(b't' | b'r' | b'"') => at += 1,
                Some(b'u') => {
                    let digits = text.get(at + 1..at + 5);
                    let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                    if let Some(letter) = code.and_then(char::from_u32) {
                        push_wide(&mut letters, letter);
                        at += 5;
                    }
                }
                _ => {}
            },
            SKIP => {}
            letter => letters.push(letter),
        }
    }
}

/// Adds the letters of plain bytes, up to the first that is something else or for as long as there is room. Returns how many
/// bytes those are.
fn push_plain(letters: &mut Vec<u8>, bytes: &[u8]) -> usize {
    const ROOM: usize = 64;
    let mut plain = [0; ROOM];
    let (mut count, mut read) = (0, 0);
    for byte in bytes.iter().take(ROOM) {
        let kind = KINDS[usize::from(*byte)];
        if matches!(kind, LINE | ESCAPE | WIDE) {
            break;
        }
        // Overwritten by the next byte unless it is a letter: no branch to predict.
        plain[count % ROOM] = kind;
        count += usize::from(kind != SKIP);
        read += 1;
    }
    letters.extend_from_slice(&plain[..count]);
    read
}

fn push_wide(letters: &mut Vec<u8>, letter: char) {
    for lower in Some(letter).filter(|letter| letter.is_alphanumeric()).into_iter().flat_map(char::to_lowercase) {
        letters.extend_from_slice(lower.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// The shingles of `letters`, each as its hash.
pub(super) fn hashes(letters: &[u8]) -> impl Iterator<Item = u64> {
    letters.windows(LENGTH).filter_map(|shingle| shingle.try_into().ok()).map(hash)
}

#[expect(clippy::cast_possible_truncation, reason = "the halves of the bytes and of the product")]
fn hash(shingle: &[u8; LENGTH]) -> u64 {
    let bytes = u128::from_be_bytes(*shingle);
    let (low, high) = (bytes as u64 ^ 0x9e37_79b9_7f4a_7c15, (bytes >> 64) as u64 ^ 0xd1b5_4a32_d192_ed03);
    let product = u128::from(low).wrapping_mul(u128::from(high));
    (product as u64) ^ (product >> 64) as u64
}

/// A hash of the gram that `letters` end with, in its upper bits.
fn last_gram(letters: &[u8]) -> u64 {
    letters.last_chunk().map_or(0, |gram| u64::from_le_bytes(*gram).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// How many bytes at the start of a line a program may have put there: a number (`cat -n`, `nl`), or a file's name and one
/// (`grep -n`). Of a skill's own file they are left out alike.
fn decoration(line: &[u8]) -> usize {
    let blank = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let digits = |from: usize| line[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = digits(blank);
    if number > 0 {
        let rest = &line[blank + number..];
        let is_apart = matches!(rest.first(), Some(b':' | b'-' | b'|' | b')' | b'.' | b'\t' | b' '))
            || ["→", "│"].iter().any(|mark| rest.starts_with(mark.as_bytes()));
        return if is_apart { blank + number } else { 0 };
    }
    let mut is_name = false;
    for (at, byte) in line.iter().enumerate().skip(blank).take(LONGEST_NAME) {
        match byte {
            b':' => {
                let number = if is_name { digits(at + 1) } else { 0 };
                return if number > 0 && line.get(at + 1 + number) == Some(&b':') { at + 1 + number } else { 0 };
            }
            b' ' | b'\t' | b'\n' => return 0,
            b'/' | b'-' | b'_' | b'.' => is_name = true,
            _ => {}
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{hash, hashes, letters};

    fn all(text: &str) -> Vec<u64> {
        hashes(&letters(text)).collect()
    }

    #[test]
    fn it_does_not_matter_how_a_text_is_set() {
        let text =
            "Greet people in the house style:\n\n- always with \"name\"\tand title;\n- never é or 你好世界 alone.\n";
        let plain = all(text);
        assert!(plain.len() > 40, "{}", plain.len());
        let json = serde_json::to_string(text).unwrap_or_default();
        let ascii = json.replace('é', "\\u00e9").replace('你', "\\u4f60").replace('好', "\\u597d");
        let lines = |of: &dyn Fn(usize, &str) -> String| {
            let lines: Vec<String> = text.lines().enumerate().map(|(at, line)| of(at + 1, line)).collect();
            lines.join("\n")
        };
        let numbered = |sign: &str| lines(&|at, line| format!("{at:6}{sign}{line}"));
        let named = lines(&|at, line| format!("./a/b.md:{at}:{line}"));
        for set in [
            text.to_uppercase(),
            text.replace(' ', "\n> "),
            serde_json::to_string(&json).unwrap_or_default(),
            json,
            ascii,
            numbered("\t"),
            numbered("→"),
            numbered(" │ "),
            numbered(": "),
            named,
        ] {
            assert_eq!(all(&set), plain, "{set}");
        }
    }

    #[test]
    fn a_text_of_fewer_letters_has_no_shingle() {
        assert_eq!(
            (all("123456789012345").len(), all("a23456789012345").len(), all("1234567890123456").len()),
            (0, 0, 1)
        );
        assert_eq!(letters("Go. 42"), b"go42");
        assert_eq!(letters("42\n17\n3 apples"), b"4217apples", "a number alone is text, one before a text is not");
    }

    #[test]
    fn a_number_before_a_line_is_left_out_and_one_in_it_stays() {
        for (text, left) in [
            ("a/b.md:3:Say it", "sayit"),
            ("a/b.md:12:Say it", "sayit"),
            ("say:\n  7: Go", "saygo"),
            ("say:\\n  7: Go", "saygo"),
            ("say:\\na/b.md:12:Go", "saygo"),
            ("Go\\nto 7: Go", "goto7go"),
            ("std_io::read", "stdioread"),
            ("time_limit:3 seconds", "timelimit3seconds"),
            ("time_limit:30 seconds", "timelimit30seconds"),
            ("read a.md, line:7:now", "readamdline7now"),
            ("read\ta.md\tline:7:now", "readamdline7now"),
            ("a.b\nc:7:now", "abc7now"),
        ] {
            assert_eq!(String::from_utf8_lossy(&letters(text)), left, "{text}");
        }
    }

    #[test]
    fn texts_that_differ_in_two_letters_have_different_shingles() {
        let alphabet = || (b'a'..=b'z').chain(b'0'..=b'9');
        for at in 1..16 {
            for (from, text) in [(0, *b"0000000000000000"), (at - 1, *b"xnyoftheselettru")] {
                let with = |first, second| {
                    let mut text = text;
                    (text[from], text[at]) = (first, second);
                    hash(&text)
                };
                let all: HashSet<u64> = alphabet().flat_map(|a| alphabet().map(move |b| with(a, b))).collect();
                assert_eq!(all.len(), 36 * 36, "at {from} and {at}");
            }
        }
    }

    #[test]
    fn damaged_escapes_are_letters() {
        for text in ["\\", "\\u", "\\u12", "\\uzzzz", "\\ud83d", "é\\", "\\é", "\\u00é"] {
            letters(text);
        }
    }
}
