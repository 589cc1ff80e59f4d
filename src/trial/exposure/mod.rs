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
//!
//! What came counts by what points to the file. Where the call is for that file it came from there, also what the model has
//! written before. Where the call or its answer points to skills, or the front matter came too, a part is enough. Of what
//! merely looks the same, such as a heading in the user's own file, only whole lines count, and only most of a file.

mod changes;
mod stretch;
mod texts;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::cases::skill::SKILL_FILE;
use crate::settings::ToolNames;
use crate::trial::evidence::ChangeMeta;
use texts::{File, units};
pub use texts::{SkillTexts, Texts};

/// How much of one answer is looked at, in bytes. Agents cut what a tool answers far below that.
pub const MAX_ANSWER: usize = 1 << 20;

/// The share of a file that has to be seen for it to count as loaded.
const ENOUGH: f64 = 0.1;

/// As much of a long file is enough, in bytes.
const ENOUGH_BYTES: u64 = 600;

/// The share of a file that has to be seen where nothing but its lines points to it.
pub const MOST: f64 = 0.5;

/// What a file's own lines have to count for so that they alone can tell that it is the file.
const TELLING: u64 = 24;

/// What a trace is read against.
#[derive(Clone, Debug, Default)]
pub struct Reference {
    /// What the MCP server of skills and its tools are called.
    pub names: ToolNames,
    /// The texts of the skills that the agent was given.
    pub texts: SkillTexts,
    /// What became of the changes to them in mid-session, where it is to be told whether they came before the model.
    pub changes: Vec<ChangeMeta>,
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
    /// Whether more than lines that look the same pointed to the file this time.
    pub pointed: bool,
}

/// What has come before a model so far.
#[derive(Debug)]
pub struct Exposure<'a> {
    texts: &'a SkillTexts,
    seen: BTreeMap<FileId, Seen>,
    /// Units that the model wrote itself before it was shown them: what it reads again is its own.
    wrote: HashSet<u64>,
    /// Of the files that come with a change the units that are new with it and were seen.
    new: BTreeMap<FileId, HashSet<u64>>,
    /// The changes that are still to be made.
    to_come: BTreeSet<usize>,
}

/// A collection of files, and the file in it.
type FileId = (usize, usize);

#[derive(Debug, Default)]
struct Seen {
    units: HashSet<u64>,
    weight: u64,
    /// Those that came where something pointed to the file.
    sure: HashSet<u64>,
    sure_weight: u64,
}

/// What points to a file beside its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pointer {
    /// Nothing.
    None,
    /// The call or its answer is about skills.
    Skills,
    /// The call names the file, or its front matter came too.
    File,
    /// The call is for this file.
    Source,
}

/// A unit that was found in an answer, with what it counts for in each file that holds it.
struct Hit {
    hash: u64,
    /// Whether it is there as it stands in the file, and not set anew.
    as_is: bool,
    files: Vec<(FileId, u32)>,
}

impl<'a> Exposure<'a> {
    /// Nothing has come yet.
    #[must_use]
    pub fn new(texts: &'a SkillTexts) -> Self {
        Self { texts, seen: BTreeMap::new(), wrote: HashSet::new(), new: BTreeMap::new(), to_come: BTreeSet::new() }
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
        self.shown_of(text, how, &[])
    }

    /// The model was shown `text`, in answer to `how`, a call for these files: each by its skill's slug and its path, or that
    /// of a folder of it. Returns the files of which something was in it.
    pub fn shown_of(&mut self, text: &str, how: &str, sources: &[(String, String)]) -> Vec<Sighting> {
        let mut hits = self.hits(text);
        let pointers = self.pointers(&hits, text, how, sources);
        let pointer = |id: &FileId| pointers.get(id).copied().unwrap_or(Pointer::None);
        for hit in &mut hits {
            let own = self.wrote.contains(&hit.hash);
            hit.files.retain(|(id, _)| match pointer(id) {
                Pointer::Source => true,
                Pointer::None => !own && hit.as_is,
                Pointer::Skills | Pointer::File => !own,
            });
        }
        hits.retain(|hit| !hit.files.is_empty());
        let certain: HashSet<FileId> = hits
            .iter()
            .filter(|hit| self.is_of_one_file(hit))
            .flat_map(|hit| hit.files.iter().map(|(id, _)| *id))
            .collect();
        let mut touched = BTreeSet::new();
        for hit in hits {
            let alone = self.is_of_one_file(&hit);
            self.note_new(&hit);
            for (id, weight) in hit.files {
                if alone || certain.contains(&id) || self.is_named(id, how) {
                    touched.insert(id);
                    let seen = self.seen.entry(id).or_default();
                    if seen.units.insert(hit.hash) {
                        seen.weight += u64::from(weight);
                    }
                    if self.is_sure(id, pointer(&id)) && self.seen.entry(id).or_default().sure.insert(hit.hash) {
                        self.seen.entry(id).or_default().sure_weight += u64::from(weight);
                    }
                }
            }
        }
        let mut sightings: Vec<Sighting> = Vec::new();
        let now = |id| Some(Sighting { pointed: pointer(&id) != Pointer::None, ..self.sighting(id)? });
        for sighting in touched.into_iter().filter_map(now) {
            let is_it = |known: &&mut Sighting| known.skill == sighting.skill && known.path == sighting.path;
            match sightings.iter_mut().find(is_it) {
                // As it was at one time and at another: the one of which there was more.
                Some(known) if known.share < sighting.share => *known = sighting,
                Some(_) => {}
                None => sightings.push(sighting),
            }
        }
        sightings
    }

    /// What points to the files that these hits are of.
    fn pointers(&self, hits: &[Hit], text: &str, how: &str, sources: &[(String, String)]) -> BTreeMap<FileId, Pointer> {
        let about_skills = how.contains("skill") || names(how, SKILL_FILE);
        let mut pointers = BTreeMap::new();
        for (id, weight) in hits.iter().flat_map(|hit| &hit.files) {
            let Some(file) = self.file(*id) else { continue };
            let of_front_matter = *weight == 0;
            let known = *pointers.entry(*id).or_insert_with(|| {
                let is_of = |(skill, path): &(String, String)| {
                    let rest = file.path.strip_prefix(path.as_str());
                    *skill == file.skill && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                };
                match () {
                    () if sources.iter().any(is_of) => Pointer::Source,
                    () if self.is_named(*id, how) => Pointer::File,
                    () if about_skills || names(text, &format!("{}/{}", file.skill, file.path)) => Pointer::Skills,
                    () => Pointer::None,
                }
            });
            if of_front_matter && known != Pointer::Source {
                pointers.insert(*id, Pointer::File);
            }
        }
        pointers
    }

    /// Whether what came of a file came from it for sure, by what points to it. Of a few letters anything may be the source.
    fn is_sure(&self, id: FileId, pointer: Pointer) -> bool {
        match pointer {
            Pointer::None => false,
            Pointer::Skills => self.file(id).is_some_and(|file| file.weight >= TELLING),
            Pointer::File | Pointer::Source => true,
        }
    }

    /// The share of a file that has been seen so far, from 0 to 1; `None` where nothing of it has been.
    #[must_use]
    pub fn share(&self, slug: &str, path: &str) -> Option<f64> {
        self.sightings(slug, path).map(|sighting| sighting.share).max_by(f64::total_cmp)
    }

    /// Whether so much of a file has been seen so far that it counts as loaded.
    #[must_use]
    pub fn has_loaded(&self, slug: &str, path: &str) -> bool {
        self.sightings(slug, path).any(|sighting| sighting.loaded)
    }

    /// What was seen of a file, as it was at one time or several.
    fn sightings(&self, slug: &str, path: &str) -> impl Iterator<Item = Sighting> {
        let all = self.seen.keys().filter_map(|id| self.sighting(*id));
        all.filter(move |sighting| sighting.skill == slug && sighting.path == path)
    }

    fn file(&self, id: FileId) -> Option<&File> {
        self.texts.0.get(id.0)?.files.get(id.1)
    }

    /// Whether the unit stands in one file of a skill only, as it was at one time or several.
    fn is_of_one_file(&self, hit: &Hit) -> bool {
        let mut files = hit.files.iter().filter_map(|(id, _)| self.file(*id));
        let first = files.next();
        files.all(|file| first.is_some_and(|first| first.skill == file.skill && first.path == file.path))
    }

    /// Whether a command names the file, by its own name and its skill's.
    fn is_named(&self, id: FileId, how: &str) -> bool {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        self.file(id).is_some_and(|file| names(how, &file.skill) && names(how, &name(&file.path)))
    }

    fn sighting(&self, id: FileId) -> Option<Sighting> {
        let (file, seen) = (self.file(id)?, self.seen.get(&id)?);
        let is_enough =
            |weight: u64, enough: f64| weight > 0 && (share(weight, file.weight) >= enough || weight >= ENOUGH_BYTES);
        let by_lines = seen.weight >= TELLING && is_enough(seen.weight, MOST);
        let loaded = by_lines || is_enough(seen.sure_weight, ENOUGH);
        let share = share(seen.weight, file.weight);
        Some(Sighting { skill: file.skill.clone(), path: file.path.clone(), share, loaded, pointed: false })
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
                self.unit(*unit, false, &mut hits);
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
        // Texts in JSON, a line each or several.
        for literal in literals(line).filter(|_| whole) {
            let text: String = serde_json::from_str(literal).unwrap_or_default();
            text.lines().for_each(|line| self.line(line, false, hits));
        }
        // A text as a language prints it: line breaks are `\n`.
        if whole && hits.len() == before && line.contains("\\n") {
            for part in line.split("\\n") {
                let part = part.replace("\\\"", "\"").replace("\\t", "\t").replace("\\\\", "\\");
                self.line(&part, false, hits);
            }
        }
    }

    fn plain(&self, line: &str, hits: &mut Vec<Hit>) {
        for unit in units(line) {
            self.unit(unit.hash, true, hits);
        }
    }

    fn unit(&self, hash: u64, as_is: bool, hits: &mut Vec<Hit>) {
        let mut files = Vec::new();
        for (part, texts) in self.texts.0.iter().enumerate() {
            let is_there = texts.change.is_none_or(|change| self.is_made(change));
            let found = texts.units.get(&hash).into_iter().flatten().filter(|_| is_there);
            files.extend(found.map(|(file, weight)| ((part, *file), *weight)));
        }
        if !files.is_empty() {
            hits.push(Hit { hash, as_is, files });
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share of files of at most some megabytes")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Whether a text names this as a word or as parts of a path, and not within another name.
fn names(text: &str, name: &str) -> bool {
    let of_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let ends = |at: usize| !text[..at].ends_with(of_name) && !text[at + name.len()..].starts_with(of_name);
    !name.is_empty() && text.match_indices(name).any(|(at, _)| ends(at))
}

/// The texts in double quotes, with them, of a line.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let from = rest.find('"')?;
        let bytes = rest.as_bytes();
        let mut at = from + 1;
        while *bytes.get(at)? != b'"' {
            at += if bytes[at] == b'\\' { 2 } else { 1 };
        }
        let literal = &rest[from..=at];
        rest = &rest[at + 1..];
        Some(literal)
    })
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
