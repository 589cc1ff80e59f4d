//! Which texts of skills entered a model's context. The texts are searched in the answers of tools and in what programs added
//! to the conversation, whatever the command was.
//!
//! # The rule
//!
//! 1. Only letters and digits count, in lower case. `\n`, `\t`, `\"` and `\uXXXX` are decoded. A number at the start of a line
//!    is ignored, also after the name of a file.
//! 2. A *shingle* is a sequence of sixteen bytes of a file. The front matter of a SKILL.md has none: skill lists also show it.
//! 3. A call *names* a file if it has `<slug>/<path>` as components of a path, or `skills/<slug>` without a file of that
//!    skill. An answer names no file.
//! 4. The shingles in an answer count for a named file. They also count for a file if the answer has eight of its shingles
//!    that no other file has, or a quarter of a short file. What the model wrote before it saw it counts only for a named
//!    file.
//! 5. A file is loaded if a tenth of it or 600 shingles were seen while it was named, or half of it at all.
//! 6. A file without shingles is loaded if a successful call names it and its whole text is in the answer. A file without
//!    text is loaded by a call for it.

mod index;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::profile::{self, Profile};
use crate::settings::ToolNames;
use crate::skill::{SKILL_FILE, slug};
use crate::trace::file::ChangeMeta;
use index::IndexedFile;

pub use index::SkillTexts;
pub use index::{TextIndex, TextIndexBuilder};

/// Maximum length of a searched answer, in bytes. Agents cut answers to much less.
pub const MAX_ANSWER: usize = 1 << 20;

/// Minimum share of a named file in percent, and minimum number of its shingles. One of them is enough.
const MIN_NAMED: (u64, u64) = (10, 600);

/// Minimum share of a file that is not named, in percent.
const MIN_UNNAMED: u64 = 50;

/// Minimum number of shingles in an answer that only one file has, for a file that is not named.
const MIN_UNIQUE: u32 = 8;

/// Number of hits after which duplicates are removed.
const MANY_HITS: usize = 1 << 15;

/// What a trace is compared with.
#[derive(Clone, Debug, Default)]
pub struct Reference {
    /// The names of the MCP server of skills and of its tools.
    pub names: ToolNames,
    /// The tools of that server, by their own names, if it was asked.
    pub served: Vec<String>,
    /// The texts of the agent's skills.
    pub texts: SkillTexts,
    /// The changes to skills during the session that are to be searched for.
    pub changes: Vec<ChangeMeta>,
    /// Number of messages that the case has after its prompt.
    pub follow_ups: usize,
    /// The name of the skill under test in the agent's list, `plugin:skill`, with its slug, if the agent got it with its plugin.
    pub in_plugin: Option<(String, String)>,
}

impl Reference {
    /// The slug of the skill of this name, `plugin:skill`, if it is one of the plugin that the agent got.
    pub fn slug_in_plugin(&self, name: &str) -> Option<String> {
        let (tested, slug_of_tested) = self.in_plugin.as_ref()?;
        if name == tested {
            return Some(slug_of_tested.clone());
        }
        let (plugin, own) = name.rsplit_once(':')?;
        let is_of_it = tested.rsplit_once(':').is_some_and(|(of_tested, _)| of_tested == plugin);
        Some(slug(own)).filter(|own| is_of_it && self.texts.knows(own))
    }
}

/// A file of which a part was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenFile {
    /// The skill's slug.
    pub skill: String,
    /// The file's path in the skill's directory.
    pub path: String,
    /// The share that was seen so far, from 0 to 1.
    pub share: f64,
    /// Whether this counts as loaded.
    pub loaded: bool,
}

/// The files that a call names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedFiles(BTreeSet<FileId>);

impl NamedFiles {
    /// Whether the call names no file.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The indexes of a collection and of a file in it.
type FileId = (usize, usize);

/// What entered a model's context so far.
#[derive(Debug)]
pub struct Exposure<'a> {
    texts: &'a SkillTexts,
    parts: Vec<Coverage>,
    /// The changes that are not made yet.
    to_come: BTreeSet<usize>,
}

/// What was seen of a collection of files: a bit per shingle of each file, and counts per file.
#[derive(Debug)]
struct Coverage {
    seen: BitSet,
    /// Shingles that were seen while the file was named.
    named: BitSet,
    /// Shingles that the model wrote before it saw them.
    own: BitSet,
    /// Shingles of a change that no earlier collection has.
    new: BitSet,
    files: Vec<ShingleCounts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ShingleCounts {
    seen: u32,
    named: u32,
    /// Numbers of new shingles of a change: all, seen, and seen while named.
    new: u32,
    new_seen: u32,
    new_named: u32,
    /// Whether all of a file without shingles was seen.
    short: bool,
}

/// A shingle that was found: its collection, and its first position in that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Hit {
    hash: u64,
    part: usize,
    first: u32,
}

impl<'a> Exposure<'a> {
    pub fn new(texts: &'a SkillTexts) -> Self {
        let parts = (0..texts.0.len()).map(|number| Coverage::new(texts, number)).collect();
        Self { texts, parts, to_come: BTreeSet::new() }
    }

    /// Whether the files of this skill are known.
    pub fn knows(&self, slug: &str) -> bool {
        self.texts.knows(slug)
    }

    /// Whether the skill has this file.
    pub fn has(&self, slug: &str, path: &str) -> bool {
        self.texts.of_skill(slug).any(|(_, file)| file.path == path)
    }

    /// Whether the file exists and has no text.
    pub fn is_without_text(&self, slug: &str, path: &str) -> bool {
        let mut files = self.texts.of_skill(slug).filter(|(_, file)| file.path == path);
        files.next().is_some_and(|(_, file)| file.is_without_text())
    }

    /// The files that the paths in a call name.
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

    /// The file at `path`, or the files in the directory at `path`.
    pub fn asked(&self, slug: &str, path: &str) -> NamedFiles {
        let files = self.texts.of_skill(slug).filter(|(_, file)| {
            file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        NamedFiles(files.map(|(id, _)| id).collect())
    }

    /// Reports that the model wrote `text`: to a file, a command or a message.
    pub fn wrote(&mut self, text: &str) {
        for shingle in self.scan(text).chunk_by(|one, next| one.hash == next.hash) {
            let was_seen = shingle
                .iter()
                .any(|hit| self.texts.0[hit.part].run(hit.first).any(|at| self.parts[hit.part].seen.has(at)));
            if !was_seen {
                for hit in shingle {
                    self.parts[hit.part].own.set(hit.first as usize);
                }
            }
        }
    }

    /// Reports that the model saw `text`, the answer to a call that names these files. Returns the files with a part in it.
    pub fn shown(&mut self, text: &str, named: &NamedFiles, succeeded: bool) -> Vec<SeenFile> {
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
            let short = self.texts.0[part].files[number].short.as_ref().filter(|_| succeeded && self.exists(part));
            if short.is_some_and(|short| has_whole(text, short)) {
                self.parts[part].files[number].short = true;
                touched.insert((part, number));
            }
        }
        self.seen_files(touched.into_iter())
    }

    /// The files for which the shingles of an answer count although they are not named.
    fn counting(&self, hits: &[Hit], named: &NamedFiles) -> BTreeSet<FileId> {
        let mut unique: BTreeMap<FileId, u32> = BTreeMap::new();
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
                files().filter(|id| !named.0.contains(id)).for_each(|id| *unique.entry(id).or_default() += 1);
            }
        }
        unique.retain(|id, count| {
            let file = self.file(*id);
            *count >= (MIN_UNIQUE >> file.sample).min(file.shingles.div_ceil(4)).max(1)
        });
        unique.into_keys().collect()
    }

    /// The share of a file that was seen so far, from 0 to 1. `None` if no part was seen.
    pub fn share(&self, slug: &str, path: &str) -> Option<f64> {
        self.all_seen(slug, path).first().map(|file| file.share)
    }

    /// Whether a file counts as loaded.
    pub fn has_loaded(&self, slug: &str, path: &str) -> bool {
        self.all_seen(slug, path).first().is_some_and(|file| file.loaded)
    }

    fn all_seen(&self, slug: &str, path: &str) -> Vec<SeenFile> {
        let files = self.texts.of_skill(slug).filter(|(_, file)| file.path == path);
        self.seen_files(files.map(|(id, _)| id).filter(|(part, file)| self.parts[*part].files[*file].is_seen()))
    }

    fn file(&self, id: FileId) -> &IndexedFile {
        &self.texts.0[id.0].files[id.1]
    }

    /// Whether the files of a collection exist at this point of the session.
    fn exists(&self, part: usize) -> bool {
        self.texts.0[part].change.is_none_or(|change| self.is_made(change))
    }

    /// What was seen of these files. Of several versions of a file, the one that was seen more.
    fn seen_files(&self, ids: impl Iterator<Item = FileId>) -> Vec<SeenFile> {
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

    /// The known shingles in `text`, without duplicates.
    fn scan(&self, text: &str) -> Vec<Hit> {
        let (mut hits, mut limit) = (Vec::new(), MANY_HITS);
        let parts: Vec<_> = self.texts.0.iter().enumerate().filter(|(part, _)| self.exists(*part)).collect();
        if parts.is_empty() {
            return hits;
        }
        let letters = index::letters(within(text, MAX_ANSWER));
        for (part, texts) in parts {
            texts.each_known(&letters, |hash, first| {
                hits.push(Hit { hash, part, first });
                if hits.len() >= limit {
                    sort_unique(&mut hits);
                    limit = 2 * hits.len().max(MANY_HITS);
                }
            });
        }
        sort_unique(&mut hits);
        hits
    }
}

fn sort_unique(hits: &mut Vec<Hit>) {
    hits.sort_unstable();
    hits.dedup();
}

impl Coverage {
    /// Counts a shingle of a file.
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

/// Whether a file with these counts of shingles is loaded.
fn is_enough(named: u32, seen: u32, all: u32, sample: u32) -> bool {
    let [named, seen, all] = [named, seen, all].map(u64::from);
    let (percent, many) = MIN_NAMED;
    (named > 0 && (100 * named >= percent * all || named << sample >= many))
        || (seen > 0 && 100 * seen >= MIN_UNNAMED * all)
}

/// Whether `text` contains `short` as whole words.
fn has_whole(text: &str, short: &str) -> bool {
    let ends = |at: usize| {
        !text[..at].ends_with(char::is_alphanumeric) && !text[at + short.len()..].starts_with(char::is_alphanumeric)
    };
    !short.is_empty() && text.match_indices(short).any(|(at, _)| ends(at))
}

/// The start of `text` with at most this many bytes.
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

    /// Adds a number. Returns whether it is new.
    fn set(&mut self, at: usize) -> bool {
        let Some(word) = self.0.get_mut(at / 64) else { return false };
        let is_new = *word & (1 << (at % 64)) == 0;
        *word |= 1 << (at % 64);
        is_new
    }
}

// Which changes to skills during a session entered a model's context: their new shingles were seen after the change.

impl Coverage {
    /// The empty coverage of the collection with this number.
    fn new(all: &SkillTexts, number: usize) -> Self {
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

// The paths in a call, by their components.

/// The name of every directory of skills.
const SKILLS: &str = "skills";

/// The paths in a call, each as a list of components.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths(Vec<Vec<String>>);

impl Paths {
    /// The paths in a command, or in the input of another call. They must be relative to a trial's own directories, whose
    /// names mean nothing.
    pub fn of(call: &str) -> Self {
        let ends = |c: char| c.is_whitespace() || "'\"`;|&()<>,=:\\".contains(c);
        let mut paths = Vec::new();
        let mut rest = call;
        while !rest.is_empty() {
            let end = rest.find(ends).unwrap_or(rest.len());
            let word = &rest[..end];
            let parts = components(word);
            if word.contains('/') || ends_in_skills(&parts) {
                paths.push(parts);
            }
            rest = match rest[end..].strip_prefix('\\') {
                // `\n` in JSON
                Some(escaped) => escaped.strip_prefix(['n', 't', 'r']).unwrap_or(escaped),
                None => rest[end..].strip_prefix(ends).unwrap_or_default(),
            };
        }
        Self(paths)
    }

    /// For each directory `skills`: the skill's directory in it and the path in that, which may be empty.
    pub fn below_skills(&self) -> impl Iterator<Item = (&str, String)> {
        self.tails(|parts| match parts {
            // codex has its own skills one level deeper.
            [skills, system, skill, rest @ ..] if skills == SKILLS && system == ".system" => Some((skill, rest)),
            [skills, skill, rest @ ..] if skills == SKILLS => Some((skill, rest)),
            _ => None,
        })
        .filter(|(skill, _)| !skill.contains(['*', '?', '[', '{', '$']) && *skill != SKILL_FILE)
    }

    /// Each component, which may be a skill's directory, with the path in it.
    pub fn below_any(&self) -> impl Iterator<Item = (&str, String)> {
        self.tails(|parts| parts.split_first()).filter(|(_, path)| !path.is_empty())
    }

    /// Whether a path leads to skills, even if it names none.
    pub fn are_about_skills(&self) -> bool {
        self.0.iter().any(|parts| ends_in_skills(parts) || parts.iter().any(|part| part == SKILLS))
    }

    fn tails<'p>(
        &'p self,
        split: impl Fn(&'p [String]) -> Option<(&'p String, &'p [String])> + Copy + 'p,
    ) -> impl Iterator<Item = (&'p str, String)> {
        let tails = self.0.iter().flat_map(|parts| (0..parts.len()).map(|from| &parts[from..]));
        tails.filter_map(split).map(|(skill, rest)| (skill.as_str(), rest.join("/")))
    }
}

/// Whether the last component is a SKILL.md or an agent's own directory, which has skills.
fn ends_in_skills(parts: &[String]) -> bool {
    parts.last().is_some_and(|last| last == SKILL_FILE || profile::of_all(Profile::folders).any(|name| name == last))
}

fn components(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part.to_owned()),
        }
    }
    parts
}

// How much of a skill's description entered the model's context.

/// How much of a skill's description entered the model's context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "shown", rename_all = "kebab-case")]
pub enum DescriptionVisibility {
    /// The evidence does not show it.
    #[default]
    Unknown,
    /// Only the skill's name.
    NameOnly,
    /// Its start. White space counts as one character.
    Cut {
        /// Number of shown characters.
        characters: usize,
        /// Number of characters of the whole description.
        of: usize,
    },
    /// All of it.
    Whole,
}

impl DescriptionVisibility {
    /// How much of `description` is in `shown`, the text next to the skill's name in a skill list. `Unknown` for a text that
    /// is not the start of the description.
    #[doc(hidden)]
    pub fn in_list(description: &str, shown: &str) -> Self {
        let (description, shown) = (unescaped(description), unescaped(shown));
        if description.is_empty() {
            return Self::Unknown;
        }
        if shown.is_empty() {
            return Self::NameOnly;
        }
        // Agents may add text to the description.
        if shown.starts_with(&description) {
            return Self::Whole;
        }
        let start = shown.strip_suffix('…').or_else(|| shown.strip_suffix("...")).unwrap_or(&shown).trim_end();
        if start.is_empty() || !description.starts_with(start) {
            return Self::Unknown;
        }
        Self::Cut { characters: start.chars().count(), of: description.chars().count() }
    }

    /// Whether any text contains the whole `description`. `<`, `>` and `&` may be escaped as in XML.
    #[doc(hidden)]
    pub fn within(description: &str, text: &str) -> Self {
        let description = unescaped(description);
        if !description.is_empty() && unescaped(text).contains(&description) { Self::Whole } else { Self::Unknown }
    }

    /// Whether the model saw only a part.
    pub fn is_short(self) -> bool {
        matches!(self, Self::NameOnly | Self::Cut { .. })
    }
}

impl fmt::Display for DescriptionVisibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("unknown"),
            Self::NameOnly => f.write_str("name only"),
            Self::Cut { characters, of } => write!(f, "cut at {characters} of {of} characters"),
            Self::Whole => f.write_str("whole"),
        }
    }
}

fn unescaped(text: &str) -> String {
    spaced(text).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// Replaces white space by single spaces: skill lists have descriptions on one line.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(call: &str) -> Vec<(String, String)> {
        Paths::of(call).below_skills().map(|(skill, path)| (skill.to_owned(), path)).collect()
    }

    #[test]
    fn a_skill_is_named_by_components_and_by_nothing_else() {
        for (call, skill, path) in [
            ("cat .agents/skills/a/SKILL.md", "a", "SKILL.md"),
            ("S=.agents/skills/a; cat $S/x", "a", ""),
            ("cd '.agents/skills/a' && cat x/*", "a", ""),
            ("git show HEAD:skills/a/b/c.md", "a", "b/c.md"),
            ("{\"cmd\":\"x\\ncat /w/skills/./b/../a//b.md\\n\"}", "a", "b.md"),
            ("cat ~/.codex/skills/.system/a/SKILL.md", "a", "SKILL.md"),
        ] {
            assert_eq!(below(call), [(skill.to_owned(), path.to_owned())], "{call}");
        }
        for call in ["cat skills.md", "ls my-skills/a", "cat skills/*/SKILL.md", "cat skills/a/../*/SKILL.md", "", "\\"]
        {
            assert_eq!(below(call), [], "{call}");
        }
    }

    #[test]
    fn a_call_may_be_about_skills_and_name_none() {
        for call in ["ls .agents", "find . -name SKILL.md", "cat .agents/skills/*/SKILL.md", "ls x/skills/"] {
            assert!(Paths::of(call).are_about_skills(), "{call}");
        }
        for call in ["ls", "cat docs/skills.md", "echo skills", "ls /tmp/skill-evals/a"] {
            assert!(!Paths::of(call).are_about_skills(), "{call}");
        }
    }

    #[test]
    fn what_stands_in_a_list_is_all_of_a_description_or_its_start_or_tells_nothing() {
        let description = "Greets people\n  the pirate way.";
        for (shown, found) in [
            ("Greets people the pirate way.", DescriptionVisibility::Whole),
            ("Greets people\nthe pirate way. - When somebody comes.", DescriptionVisibility::Whole),
            ("", DescriptionVisibility::NameOnly),
            ("Greets people the pi", DescriptionVisibility::Cut { characters: 20, of: 29 }),
            ("Greets people the …", DescriptionVisibility::Cut { characters: 17, of: 29 }),
            ("Greets people the p...", DescriptionVisibility::Cut { characters: 19, of: 29 }),
            ("…", DescriptionVisibility::Unknown),
            ("Says goodbye.", DescriptionVisibility::Unknown),
        ] {
            assert_eq!(DescriptionVisibility::in_list(description, shown), found, "{shown:?}");
        }
        assert_eq!(DescriptionVisibility::in_list("", ""), DescriptionVisibility::Unknown);
    }

    #[test]
    fn a_text_that_holds_a_description_shows_all_of_it_and_any_other_shows_nothing() {
        let whole = |text| DescriptionVisibility::within("Compares a < b & c.", text);
        assert_eq!(whole("<description>Compares a &lt; b &amp; c.</description>"), DescriptionVisibility::Whole);
        assert_eq!(whole("compare: Compares a < b &\nc. And more"), DescriptionVisibility::Whole);
        assert_eq!(whole("<description>Compares a &lt; b</description>"), DescriptionVisibility::Unknown);
    }
}
