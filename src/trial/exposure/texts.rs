//! The texts of skills, taken apart so that they can be found again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::stretch;
use crate::cases::skill::{SKILL_FILE, SkillFile};
use crate::trial::described::Described;

/// Longest file that is taken apart, in bytes.
const MAX_FILE: usize = 1 << 20;

/// Most units of all files together.
const MAX_UNITS: usize = 2_000_000;

/// Longest unit, in bytes without white space.
const MAX_UNIT: u32 = 160;

/// Fewest letters and digits of a unit, in bytes.
const MIN_LETTERS: u32 = 3;

/// The texts of skills.
#[derive(Clone, Debug, Default)]
pub struct SkillTexts(pub(super) Vec<Arc<Texts>>);

impl SkillTexts {
    /// Several collections of files; no file may be in two of them, but for those of [changes](Texts::of_change), which come
    /// behind what they change.
    #[must_use]
    pub fn new(parts: Vec<Arc<Texts>>) -> Self {
        Self(parts)
    }

    /// These, and behind them others.
    #[must_use]
    pub fn and(mut self, others: impl IntoIterator<Item = Arc<Texts>>) -> Self {
        self.0.extend(others);
        self
    }

    /// The changes in mid-session of which the text `shown` beside a skill's name in an agent's list tells: it has the
    /// description as it is from then on, and more of it than of the one before.
    #[must_use]
    pub fn changes_in_list(&self, slug: &str, shown: &str) -> Vec<usize> {
        let told = |(part, texts): (usize, &Arc<Texts>)| {
            let now = texts.descriptions.get(slug)?;
            let before = self.before(part, slug).map(|before| (Described::in_list(before, shown), before.len()));
            let tells = match (before, Described::in_list(now, shown)) {
                (_, Described::Unknown) => false,
                (None, _) => true,
                (_, Described::NameOnly) => false,
                (Some((Described::Whole, length)), seen) => seen == Described::Whole && now.len() > length,
                (Some((Described::Cut { .. }, _)), seen) => seen == Described::Whole,
                (Some((Described::Unknown | Described::NameOnly, _)), _) => true,
            };
            texts.change.filter(|_| tells)
        };
        self.0.iter().enumerate().filter_map(told).collect()
    }

    /// The changes in mid-session of which `text` tells: it has the whole description as it is from then on.
    #[must_use]
    pub fn changes_in(&self, text: &str) -> Vec<usize> {
        let told = |(part, texts): (usize, &Arc<Texts>)| {
            let tells = |(slug, now): (&String, &String)| {
                let is_new = self.before(part, slug).is_none_or(|before| !before.contains(now.as_str()));
                is_new && Described::within(now, text) == Described::Whole
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
    pub fn in_list(&self, slug: &str, shown: &str) -> Described {
        self.description(slug).map_or(Described::Unknown, |description| Described::in_list(description, shown))
    }

    /// The slugs of the skills whose whole descriptions are in `text`.
    #[must_use]
    pub fn described_in(&self, text: &str) -> Vec<String> {
        let all = self.0.iter().flat_map(|texts| &texts.descriptions);
        let whole = all.filter(|(_, description)| Described::within(description, text) == Described::Whole);
        whole.map(|(slug, _)| slug.clone()).collect()
    }

    fn description(&self, slug: &str) -> Option<&str> {
        self.0.iter().find_map(|texts| texts.descriptions.get(slug)).map(String::as_str)
    }
}

/// Files of skills, taken apart.
#[derive(Debug, Default)]
pub struct Texts {
    pub(super) files: Vec<File>,
    /// The skills' descriptions, by slug.
    descriptions: HashMap<String, String>,
    /// The files that hold a unit, and what it counts for in each.
    pub(super) units: HashMap<u64, Vec<(usize, u32)>>,
    /// The units that begin with a stretch of letters.
    pub(super) stretches: HashMap<u64, u64>,
    /// The change in mid-session that they come with.
    pub(super) change: Option<usize>,
}

#[derive(Debug)]
pub(super) struct File {
    pub(super) skill: String,
    pub(super) path: String,
    /// What its units count for together.
    pub(super) weight: u64,
    /// Whether its body has no unit. Then those of its front matter count.
    pub(super) is_bare: bool,
}

impl Texts {
    /// For the files of a skill as it is from the change with this number on.
    #[must_use]
    pub fn of_change(number: usize) -> Self {
        Self { change: Some(number), ..Self::default() }
    }

    /// Adds the file at `path` below the folder of the skill with this slug. Of files that are no text, or too long, only
    /// the name is known.
    pub fn add(&mut self, slug: &str, path: &str, content: &[u8]) {
        if path == SKILL_FILE {
            self.descriptions.insert(slug.to_owned(), SkillFile::parse("", content).skill.description);
        }
        let text = std::str::from_utf8(content).ok().filter(|text| text.len() <= MAX_FILE && !text.contains('\0'));
        let text = text.filter(|_| self.units.len() < MAX_UNITS).unwrap_or_default();
        let (head, body) = text.split_at(if path == SKILL_FILE { body_start(text) } else { 0 });
        let is_bare = body.lines().all(|line| units(line).is_empty());
        let weight = self.add_units(head, is_bare) + self.add_units(body, true);
        self.add_stretches(head, body);
        self.files.push(File { skill: slug.to_owned(), path: path.to_owned(), weight, is_bare });
    }

    /// Adds the units of a part of the file that comes next; returns what they count for, if they do.
    fn add_units(&mut self, part: &str, count: bool) -> u64 {
        let number = self.files.len();
        let mut weight = 0;
        for unit in part.lines().flat_map(units) {
            let files = self.units.entry(unit.hash).or_default();
            if files.last().is_none_or(|(file, _)| *file != number) {
                let counts = if count { unit.weight } else { 0 };
                files.push((number, counts));
                weight += u64::from(counts);
            }
        }
        weight
    }

    /// Notes the stretches that the units of a file begin with, or else end the file with; of its body, but for those that its
    /// front matter has too.
    fn add_stretches(&mut self, head: &str, body: &str) {
        let letters: Vec<u64> = stretch::letters(head).chain(stretch::letters(body)).collect();
        let of_head: HashSet<u64> = stretch::all(head).collect();
        let Some(last) = letters.len().checked_sub(stretch::LENGTH) else { return };
        let in_body = stretch::letters(head).count();
        for (part, from) in [(body, in_body), (head, 0)] {
            let mut offset = from;
            for line in part.lines() {
                for unit in units(line) {
                    let stretch = stretch::first(&letters[last.min(offset + unit.letters)..]);
                    let is_own = |stretch: &u64| from < in_body || !of_head.contains(stretch);
                    if let Some(stretch) = stretch.filter(is_own) {
                        self.stretches.entry(stretch).or_insert(unit.hash);
                    }
                }
                offset += stretch::letters(line).count();
            }
        }
    }
}

/// Where the body of a SKILL.md begins, in bytes: its front matter ends at the second line of three dashes.
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
    end
}

pub(super) struct Unit {
    pub(super) hash: u64,
    weight: u32,
    /// The letters and digits of the line before it.
    letters: usize,
}

/// The units of a line.
pub(super) fn units(line: &str) -> Vec<Unit> {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut units = Vec::new();
    let mut all = 0;
    let mut unit = Unit { hash: OFFSET, weight: 0, letters: 0 };
    let mut own = 0;
    let mut end = |unit: &mut Unit, own: &mut u32, all: usize| {
        let ended = std::mem::replace(unit, Unit { hash: OFFSET, weight: 0, letters: all });
        if std::mem::take(own) >= MIN_LETTERS {
            units.push(ended);
        }
    };
    for word in line.split_whitespace() {
        // Bytes in order, and a mark between words.
        for letter in word.chars() {
            for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
                unit.hash = (unit.hash ^ u64::from(byte)).wrapping_mul(PRIME);
                unit.weight += 1;
                own += u32::from(byte.is_ascii_alphanumeric() || byte >= 0x80);
            }
            all += usize::from(letter.is_alphanumeric());
            if unit.weight >= MAX_UNIT {
                end(&mut unit, &mut own, all);
            }
        }
        unit.hash = (unit.hash ^ 0x20).wrapping_mul(PRIME);
    }
    end(&mut unit, &mut own, all);
    units
}
