//! What of the skills' own texts came before a model: told by the texts themselves, found again in what tools answered
//! and what programs put into the conversation, whatever the command was.
//!
//! A file is taken apart into *units*, its lines without the white space around and between words; long lines count as
//! several. A unit that is in an answer was seen, also behind the line numbers and file names that programs print. A
//! unit that stands in several files speaks for those of them that the answer, or the command, shows by other signs. The
//! front matter of a SKILL.md tells whose file it is and counts for nothing: a catalogue of skills shows as much.
//!
//! What has no unit at all, a picture or a number, is no more than its name; a SKILL.md without one is known by its front
//! matter where that comes with it.
//!
//! A text whose lines were set anew is known by its letters: a unit was seen where the forty that it begins with are.

mod stretch;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::cases::skill::{SKILL_FILE, SkillFile};
use crate::settings::ToolNames;
use crate::trial::described::Described;

/// Longest file that is taken apart, in bytes.
const MAX_FILE: usize = 1 << 20;

/// Most units of all files together.
const MAX_UNITS: usize = 2_000_000;

/// How much of one answer is looked at, in bytes. Agents cut what a tool answers far below that.
pub const MAX_ANSWER: usize = 1 << 20;

/// Longest unit, in bytes without white space.
const MAX_UNIT: u32 = 160;

/// Fewest letters and digits of a unit, in bytes.
const MIN_LETTERS: u32 = 3;

/// The share of a file that has to be seen for it to count as loaded.
const ENOUGH: f64 = 0.1;

/// As much of a long file is enough, in bytes.
const ENOUGH_BYTES: u64 = 600;

/// What a trace is read against.
#[derive(Clone, Debug, Default)]
pub struct Reference {
    /// What the MCP server of skills and its tools are called.
    pub names: ToolNames,
    /// The texts of the skills that the agent was given.
    pub texts: SkillTexts,
}

/// The texts of skills.
#[derive(Clone, Debug, Default)]
pub struct SkillTexts(Vec<Arc<Texts>>);

impl SkillTexts {
    /// Several collections of files; no file may be in two of them.
    #[must_use]
    pub fn new(parts: Vec<Arc<Texts>>) -> Self {
        Self(parts)
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
    files: Vec<File>,
    /// The skills' descriptions, by slug.
    descriptions: HashMap<String, String>,
    /// The files that hold a unit, and what it counts for in each.
    units: HashMap<u64, Vec<(usize, u32)>>,
    /// The units that begin with a stretch of letters.
    stretches: HashMap<u64, u64>,
}

#[derive(Debug)]
struct File {
    skill: String,
    path: String,
    /// What its units count for together.
    weight: u64,
    /// Whether its body has no unit. Then those of its front matter count.
    is_bare: bool,
}

/// What tells whether a file came before the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Its text.
    ByText,
    /// The call for it, since it has no text to be known by.
    ByName,
    /// Nothing: the skill has no such file, or one that was not read.
    NoFile,
    /// The call for it, since the skill's files are not known.
    NoSkill,
}

impl Texts {
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

    /// Notes the stretches that the units of a file's body begin with, or else end the file with, but for those that its
    /// front matter has too.
    fn add_stretches(&mut self, head: &str, body: &str) {
        let letters: Vec<u64> = stretch::letters(head).chain(stretch::letters(body)).collect();
        let of_head: HashSet<u64> = stretch::all(head).collect();
        let Some(last) = letters.len().checked_sub(stretch::LENGTH) else { return };
        let mut offset = stretch::letters(head).count();
        for line in body.lines() {
            for unit in units(line) {
                let stretch = stretch::first(&letters[last.min(offset + unit.letters)..]);
                if let Some(stretch) = stretch.filter(|stretch| !of_head.contains(stretch)) {
                    self.stretches.entry(stretch).or_insert(unit.hash);
                }
            }
            offset += stretch::letters(line).count();
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

/// A file of which something was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Sighting {
    /// The skill's slug.
    pub skill: String,
    /// The file below the skill's folder.
    pub path: String,
    /// The share of it that has been seen so far, from 0 to 1.
    pub share: f64,
    /// Whether that is enough to say that it was loaded.
    pub loaded: bool,
}

/// What has come before a model so far.
#[derive(Debug)]
pub struct Exposure<'a> {
    texts: &'a SkillTexts,
    seen: BTreeMap<FileId, Seen>,
    /// Units that the model wrote itself before it was shown them: what it reads again is its own.
    wrote: HashSet<u64>,
}

/// A collection of files, and the file in it.
type FileId = (usize, usize);

#[derive(Debug, Default)]
struct Seen {
    units: HashSet<u64>,
    weight: u64,
}

/// A unit that was found in an answer, with what it counts for in each file that holds it.
struct Hit {
    hash: u64,
    files: Vec<(FileId, u32)>,
}

impl<'a> Exposure<'a> {
    /// Nothing has come yet.
    #[must_use]
    pub fn new(texts: &'a SkillTexts) -> Self {
        Self { texts, seen: BTreeMap::new(), wrote: HashSet::new() }
    }

    /// Whether the files of this skill are known, so that their texts alone decide.
    #[must_use]
    pub fn knows(&self, slug: &str) -> bool {
        self.texts.knows(slug)
    }

    /// What tells whether a file came before the model.
    #[must_use]
    pub fn known(&self, slug: &str, path: &str) -> Known {
        let mut files = self.texts.0.iter().flat_map(|texts| &texts.files);
        match files.find(|file| file.skill == slug && file.path == path) {
            _ if !self.knows(slug) => Known::NoSkill,
            Some(file) if file.is_bare => Known::ByName,
            Some(_) => Known::ByText,
            None => Known::NoFile,
        }
    }

    /// The model wrote `text`: into a file, a command, a message.
    pub fn wrote(&mut self, text: &str) {
        let seen =
            |hit: &Hit| hit.files.iter().any(|(id, _)| self.seen.get(id).is_some_and(|s| s.units.contains(&hit.hash)));
        let own: Vec<u64> = self.hits(text).into_iter().filter(|hit| !seen(hit)).map(|hit| hit.hash).collect();
        self.wrote.extend(own);
    }

    /// The model was shown `text`, in answer to `how`. Returns the files of which something was in it.
    pub fn shown(&mut self, text: &str, how: &str) -> Vec<Sighting> {
        let mut hits = self.hits(text);
        hits.retain(|hit| !self.wrote.contains(&hit.hash));
        let certain: HashSet<FileId> =
            hits.iter().filter(|hit| hit.files.len() == 1).map(|hit| hit.files[0].0).collect();
        let mut touched = BTreeSet::new();
        for Hit { hash, files } in hits {
            let alone = files.len() == 1;
            for (id, weight) in files {
                if alone || certain.contains(&id) || self.is_named(id, how) {
                    touched.insert(id);
                    let seen = self.seen.entry(id).or_default();
                    if seen.units.insert(hash) {
                        seen.weight += u64::from(weight);
                    }
                }
            }
        }
        touched.into_iter().filter_map(|id| self.sighting(id)).collect()
    }

    /// The share of a file that has been seen so far, from 0 to 1; `None` where nothing of it has been.
    #[must_use]
    pub fn share(&self, slug: &str, path: &str) -> Option<f64> {
        let is_it = |id: &&FileId| self.file(**id).is_some_and(|file| file.skill == slug && file.path == path);
        self.seen.keys().find(is_it).and_then(|id| Some(self.sighting(*id)?.share))
    }

    /// Whether so much of a file has been seen so far that it counts as loaded.
    #[must_use]
    pub fn has_loaded(&self, slug: &str, path: &str) -> bool {
        let mut seen = self.seen.keys().filter_map(|id| self.sighting(*id));
        seen.any(|sighting| sighting.loaded && sighting.skill == slug && sighting.path == path)
    }

    fn file(&self, id: FileId) -> Option<&File> {
        self.texts.0.get(id.0)?.files.get(id.1)
    }

    /// Whether a command names the file, by its own name and its skill's.
    fn is_named(&self, id: FileId, how: &str) -> bool {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        self.file(id).is_some_and(|file| how.contains(&file.skill) && how.contains(&name(&file.path)))
    }

    #[expect(clippy::cast_precision_loss, reason = "a share of a file of at most a megabyte")]
    fn sighting(&self, id: FileId) -> Option<Sighting> {
        let (file, seen) = (self.file(id)?, self.seen.get(&id)?);
        let share = if file.weight == 0 { 0.0 } else { seen.weight as f64 / file.weight as f64 };
        let loaded = seen.weight > 0 && (share >= ENOUGH || seen.weight >= ENOUGH_BYTES);
        Some(Sighting { skill: file.skill.clone(), path: file.path.clone(), share, loaded })
    }

    /// The known units in `text`.
    fn hits(&self, text: &str) -> Vec<Hit> {
        if self.texts.0.is_empty() {
            return Vec::new();
        }
        let mut hits = Vec::new();
        let text = within(text, MAX_ANSWER);
        for line in text.lines() {
            self.line(line, true, &mut hits);
        }
        let found: HashSet<u64> = hits.iter().map(|hit| hit.hash).collect();
        for stretch in stretch::all(text) {
            let units = self.texts.0.iter().filter_map(|texts| texts.stretches.get(&stretch));
            for unit in units.filter(|unit| !found.contains(unit)) {
                self.unit(*unit, &mut hits);
            }
        }
        hits
    }

    fn line(&self, line: &str, whole: bool, hits: &mut Vec<Hit>) {
        let before = hits.len();
        self.plain(line, hits);
        if hits.len() > before || line.trim().is_empty() {
            return;
        }
        for rest in undecorated(line) {
            self.plain(rest, hits);
            if hits.len() > before {
                return;
            }
        }
        // A text as JSON or as a language prints it: line breaks are `\n`.
        if whole && line.contains("\\n") {
            for part in line.split("\\n") {
                let part = part.replace("\\\"", "\"").replace("\\t", "\t").replace("\\\\", "\\");
                self.line(&part, false, hits);
            }
        }
    }

    fn plain(&self, line: &str, hits: &mut Vec<Hit>) {
        for unit in units(line) {
            self.unit(unit.hash, hits);
        }
    }

    fn unit(&self, hash: u64, hits: &mut Vec<Hit>) {
        let mut files = Vec::new();
        for (part, texts) in self.texts.0.iter().enumerate() {
            let found = texts.units.get(&hash).into_iter().flatten();
            files.extend(found.map(|(file, weight)| ((part, *file), *weight)));
        }
        if !files.is_empty() {
            hits.push(Hit { hash, files });
        }
    }
}

/// The start of `text`, of at most so many bytes.
fn within(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    &text[..end]
}

/// A line without what programs put before it: line numbers, file names, marks of a comparison, quotes.
fn undecorated(line: &str) -> impl Iterator<Item = &str> {
    let line = line.trim_start();
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let behind_number =
        (digits > 0).then(|| line[digits..].trim_start_matches([':', '-', '|', '│', '→', ')', '.', '\t', ' ']));
    // `path:text`, `path:12:text`, `path-12-text`.
    let mut colons = line.match_indices(':').map(|(at, _)| &line[at + 1..]);
    let behind_colons = [colons.next(), colons.next()];
    let behind_dashes = line.match_indices('-').take(8).find_map(|(at, _)| {
        let rest = &line[at + 1..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        rest[digits..].strip_prefix('-').filter(|_| digits > 0)
    });
    let behind_mark = line.strip_prefix(['+', '-', '>', '<', '|', '│']);
    let quoted = line.trim_matches(['"', '\'', ',', '[', ']']).trim_end_matches("\\n");
    let all = [behind_number, behind_colons[0], behind_colons[1], behind_dashes, behind_mark, Some(quoted)];
    all.into_iter().flatten()
}

struct Unit {
    hash: u64,
    weight: u32,
    /// The letters and digits of the line before it.
    letters: usize,
}

/// The units of a line.
fn units(line: &str) -> Vec<Unit> {
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
