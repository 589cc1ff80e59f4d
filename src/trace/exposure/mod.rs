//! What of the skills' own texts came before a model: told by the texts themselves, found again in what tools answered and
//! what programs put into the conversation, whatever the command was.
//!
//! # The rule
//!
//! 1. Of files and of answers only letters and digits count, in lower case. `\n`, `\t`, `\"` and `\uXXXX` are undone; a number at
//!    the start of a line is left out, and so is a file's name with a number.
//! 2. What is looked for are *shingles*: every sixteen bytes in a row of a file. The front matter of a SKILL.md is none of
//!    it: a catalogue of skills shows as much.
//! 3. A file is *named* where the call has `<slug>/<path>` as components of a path, or `skills/<slug>` and then no file of
//!    that skill. Nothing in an answer names a file.
//! 4. The shingles in an answer count for a file that is named, or of which eight are in it that no other file has; a
//!    quarter, of a short file. What the model wrote itself before it was shown counts only for a file that is named.
//! 5. A file was loaded where a tenth of it or six hundred shingles were seen while it was named, or half of it at all.
//! 6. A file of less than a shingle was loaded where it was named and the call went well and its whole text is in the answer.
//!    One without a text is known by a call for it alone.

mod changes;
mod index;
mod paths;
mod shingles;
mod texts;

use std::collections::{BTreeMap, BTreeSet};

use crate::settings::ToolNames;
use crate::trace::change::ChangeMeta;
use index::IndexedFile;
pub use index::{TextIndex, TextIndexBuilder};
pub use paths::Paths;
pub use texts::SkillTexts;

/// How much of one answer is looked at, in bytes. Agents cut what a tool answers far below that.
pub const MAX_ANSWER: usize = 1 << 20;

/// The share of a file, in percent, and the shingles of it that have to be seen while it is named.
const OF_NAMED: (u64, u64) = (10, 600);

/// The share of a file that has to be seen where nothing names it, in percent.
const OF_ANY: u64 = 50;

/// The shingles that no other file has which an answer must have of a file that is not named; of a short file, a quarter.
const OWN: u32 = 8;

/// Shingles after which those that were found twice are dropped.
const MANY_HITS: usize = 1 << 15;

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

/// A file of which something was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenFile {
    /// The skill's slug.
    pub skill: String,
    /// The file below the skill's directory.
    pub path: String,
    /// The share of it that has been seen so far, from 0 to 1.
    pub share: f64,
    /// Whether that is enough to say that it was loaded.
    pub loaded: bool,
}

/// The files that a call names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedFiles(BTreeSet<FileId>);

impl NamedFiles {
    /// Whether it is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A collection of files, and the file in it.
type FileId = (usize, usize);

/// What has come before a model so far.
#[derive(Debug)]
pub struct Exposure<'a> {
    texts: &'a SkillTexts,
    parts: Vec<Coverage>,
    /// The changes that are still to be made.
    to_come: BTreeSet<usize>,
}

/// What has come of a collection of files: a bit for each shingle of a file, and how many there are by file.
#[derive(Debug)]
struct Coverage {
    seen: BitSet,
    /// Those that came while the file was named.
    named: BitSet,
    /// Those that the model wrote before it was shown them.
    own: BitSet,
    /// Those that no earlier collection has, where this one comes with a change.
    new: BitSet,
    files: Vec<ShingleCounts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ShingleCounts {
    seen: u32,
    named: u32,
    /// Of those that are new with a change: all, and how many came.
    new: u32,
    new_seen: u32,
    new_named: u32,
    /// Whether all of a short file came.
    short: bool,
}

/// A shingle that was found: the collection, and where it stands there first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Hit {
    hash: u64,
    part: usize,
    first: u32,
}

impl<'a> Exposure<'a> {
    /// Nothing has come yet.
    #[must_use]
    pub fn new(texts: &'a SkillTexts) -> Self {
        let part = |number| Coverage::new(texts, number);
        Self { texts, parts: (0..texts.0.len()).map(part).collect(), to_come: BTreeSet::new() }
    }

    /// Whether the files of this skill are known.
    #[must_use]
    pub fn knows(&self, slug: &str) -> bool {
        self.texts.knows(slug)
    }

    /// Whether the skill has such a file.
    #[must_use]
    pub fn has(&self, slug: &str, path: &str) -> bool {
        self.texts.of_skill(slug).any(|(_, file)| file.path == path)
    }

    /// Whether there is a file that has no text to be known by.
    #[must_use]
    pub fn is_without_text(&self, slug: &str, path: &str) -> bool {
        let mut files = self.texts.of_skill(slug).filter(|(_, file)| file.path == path);
        files.next().is_some_and(|(_, file)| file.is_without_text())
    }

    /// The files that a call names by the paths in it.
    #[must_use]
    pub fn named(&self, paths: &Paths) -> NamedFiles {
        let of_skill = paths.below_skills().flat_map(|(slug, path)| {
            let is_file = self.has(slug, &path);
            self.texts.of_skill(slug).filter(move |(_, file)| !is_file || file.path == path)
        });
        let by_path = paths
            .below_any()
            .flat_map(|(slug, path)| self.texts.of_skill(slug).filter(move |(_, file)| file.path == path));
        NamedFiles(of_skill.chain(by_path).map(|(id, _)| id).collect())
    }

    /// The file that a call is for, or those in the directory that it is for.
    #[must_use]
    pub fn asked(&self, slug: &str, path: &str) -> NamedFiles {
        let is_it = |file: &IndexedFile| {
            file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        NamedFiles(self.texts.of_skill(slug).filter(|(_, file)| is_it(file)).map(|(id, _)| id).collect())
    }

    /// The model wrote `text`: into a file, a command, a message.
    pub fn wrote(&mut self, text: &str) {
        for shingle in self.scan(text).chunk_by(|one, next| one.hash == next.hash) {
            let was_seen =
                |hit: &Hit| self.texts.0[hit.part].run(hit.first).any(|at| self.parts[hit.part].seen.has(at));
            if !shingle.iter().any(was_seen) {
                for hit in shingle {
                    self.parts[hit.part].own.set(hit.first as usize);
                }
            }
        }
    }

    /// The model was shown `text`, in answer to a call that names these files; `well` says whether the call went well.
    /// Returns the files of which something was in it.
    pub fn shown(&mut self, text: &str, named: &NamedFiles, well: bool) -> Vec<SeenFile> {
        let hits = self.scan(text);
        let counting = self.counting(&hits, named);
        let mut touched = BTreeSet::new();
        for hit in &hits {
            let own = self.parts[hit.part].own.has(hit.first as usize);
            let texts = &self.texts.0[hit.part];
            for at in texts.run(hit.first) {
                let id = (hit.part, texts.owners[at] as usize);
                let is_named = named.0.contains(&id);
                if is_named || (!own && counting.contains(&id)) {
                    touched.insert(id);
                    self.parts[hit.part].note(at, id.1, is_named);
                }
            }
        }
        for &(part, number) in &named.0 {
            let short = self.texts.0[part].files[number].short.as_ref().filter(|_| well && self.is_there(part));
            if short.is_some_and(|short| has_whole(text, short)) {
                self.parts[part].files[number].short = true;
                touched.insert((part, number));
            }
        }
        self.sightings(touched.into_iter())
    }

    /// The files, not named, that an answer with these shingles is of.
    fn counting(&self, hits: &[Hit], named: &NamedFiles) -> BTreeSet<FileId> {
        let mut own: BTreeMap<FileId, u32> = BTreeMap::new();
        for shingle in hits.chunk_by(|one, next| one.hash == next.hash) {
            let files = || {
                shingle.iter().flat_map(|hit| {
                    let texts = &self.texts.0[hit.part];
                    texts.run(hit.first).map(|at| (hit.part, texts.owners[at] as usize))
                })
            };
            let Some(first) = files().next() else { continue };
            let was_written = shingle.iter().any(|hit| self.parts[hit.part].own.has(hit.first as usize));
            if !was_written && files().all(|id| self.file(id).is(self.file(first))) {
                files().filter(|id| !named.0.contains(id)).for_each(|id| *own.entry(id).or_default() += 1);
            }
        }
        let is_enough = |(id, count): &(FileId, u32)| {
            let file = self.file(*id);
            *count >= (OWN >> file.sample).min(file.shingles.div_ceil(4)).max(1)
        };
        own.into_iter().filter(is_enough).map(|(id, _)| id).collect()
    }

    /// The share of a file that has been seen so far, from 0 to 1; `None` where nothing of it has been.
    #[must_use]
    pub fn share(&self, slug: &str, path: &str) -> Option<f64> {
        self.all_seen(slug, path).first().map(|sighting| sighting.share)
    }

    /// Whether so much of a file has been seen so far that it counts as loaded.
    #[must_use]
    pub fn has_loaded(&self, slug: &str, path: &str) -> bool {
        self.all_seen(slug, path).first().is_some_and(|sighting| sighting.loaded)
    }

    fn all_seen(&self, slug: &str, path: &str) -> Vec<SeenFile> {
        let files = self.texts.of_skill(slug).filter(|(_, file)| file.path == path);
        self.sightings(files.map(|(id, _)| id).filter(|(part, file)| self.parts[*part].files[*file].is_seen()))
    }

    fn file(&self, id: FileId) -> &IndexedFile {
        &self.texts.0[id.0].files[id.1]
    }

    /// Whether the files of a collection are there by now.
    fn is_there(&self, part: usize) -> bool {
        self.texts.0[part].change.is_none_or(|change| self.is_made(change))
    }

    /// What was seen of these files; of one as it was at several times, the one of which there was more.
    fn sightings(&self, ids: impl Iterator<Item = FileId>) -> Vec<SeenFile> {
        let mut all: Vec<SeenFile> = Vec::new();
        for (id, file) in ids.map(|id| (id, self.file(id))).filter(|(_, file)| !file.is_head) {
            let counts = self.parts[id.0].files[id.1];
            let share = if counts.short { 1.0 } else { f64::from(counts.seen) / f64::from(file.shingles.max(1)) };
            let loaded = counts.short || is_enough(counts.named, counts.seen, file.shingles, file.sample);
            match all.iter_mut().find(|known| known.skill == file.skill && known.path == file.path) {
                Some(known) => {
                    known.share = known.share.max(share);
                    known.loaded |= loaded;
                }
                None => all.push(SeenFile { skill: file.skill.clone(), path: file.path.clone(), share, loaded }),
            }
        }
        all
    }

    /// The known shingles in `text`, each once.
    fn scan(&self, text: &str) -> Vec<Hit> {
        let (mut hits, mut limit) = (Vec::new(), MANY_HITS);
        let parts: Vec<_> = self.texts.0.iter().enumerate().filter(|(part, _)| self.is_there(*part)).collect();
        if parts.is_empty() {
            return hits;
        }
        let tidy = |hits: &mut Vec<Hit>| {
            hits.sort_unstable();
            hits.dedup();
        };
        shingles::each(within(text, MAX_ANSWER), |hash| {
            for (part, texts) in &parts {
                if let Some(first) = texts.find(hash) {
                    hits.push(Hit { hash, part: *part, first });
                }
            }
            if hits.len() >= limit {
                tidy(&mut hits);
                limit = 2 * hits.len().max(MANY_HITS);
            }
        });
        tidy(&mut hits);
        hits
    }
}

impl Coverage {
    /// Notes a shingle of a file.
    fn note(&mut self, at: usize, file: usize, is_named: bool) {
        let is_new = self.new.has(at);
        let counts = &mut self.files[file];
        if self.seen.set(at) {
            counts.seen += 1;
            counts.new_seen += u32::from(is_new);
        }
        if is_named && self.named.set(at) {
            counts.named += 1;
            counts.new_named += u32::from(is_new);
        }
    }
}

impl ShingleCounts {
    fn is_seen(self) -> bool {
        self.seen > 0 || self.short
    }
}

/// Whether so many shingles of a file are enough to say that it was loaded.
fn is_enough(named: u32, seen: u32, all: u32, sample: u32) -> bool {
    let [named, seen, all] = [named, seen, all].map(u64::from);
    let (percent, many) = OF_NAMED;
    (named > 0 && (100 * named >= percent * all || named << sample >= many)) || (seen > 0 && 100 * seen >= OF_ANY * all)
}

/// Whether a text has this one in it, and not within a word.
fn has_whole(text: &str, short: &str) -> bool {
    let ends = |at: usize| {
        !text[..at].ends_with(char::is_alphanumeric) && !text[at + short.len()..].starts_with(char::is_alphanumeric)
    };
    !short.is_empty() && text.match_indices(short).any(|(at, _)| ends(at))
}

/// The start of `text`, of at most so many bytes.
fn within(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    &text[..end]
}

/// A set of small numbers.
#[derive(Debug, Default)]
struct BitSet(Vec<u64>);

impl BitSet {
    fn of(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn has(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word & (1 << (at % 64)) != 0)
    }

    /// Adds a number. Says whether it is new.
    fn set(&mut self, at: usize) -> bool {
        let Some(word) = self.0.get_mut(at / 64) else { return false };
        let is_new = *word & (1 << (at % 64)) == 0;
        *word |= 1 << (at % 64);
        is_new
    }
}
