//! A problem in a file that a user wrote: what, where, what was expected, what to do.
//!
//! Parsers return a value *and* diagnostics, so that one run shows every problem. A diagnostic contains the line that it
//! points into, so that drawing it reads no file.

use std::cell::{Cell, OnceCell};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::text::cut;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The settings allow it.
    Allowed,
    /// The file works, but measurements with it are less reliable.
    Warning,
    /// The case, skill or file cannot be used.
    Error,
}

/// The default severity of a kind of problem, and whether settings can change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// An error that no setting changes: something cannot be read or given to an agent.
    Fixed,
    Error,
    Warning,
}

impl Level {
    pub fn severity(self) -> Severity {
        if self == Level::Warning { Severity::Warning } else { Severity::Error }
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal: $level:ident,)+) => {
        /// A kind of problem. Its name is stable, so that scripts can match it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(with = "String"))]
        pub enum Code { $($(#[doc = $doc])+ #[serde(rename = $text)] $name,)+ }

        impl Code {
            /// Every code, in the order in which the docs list them.
            pub const ALL: &'static [Code] = &[$(Code::$name,)+];

            /// The printed name, in kebab case. It never changes after a release.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)+ }
            }

            /// Its default level.
            pub fn level(self) -> Level {
                match self { $(Code::$name => Level::$level,)+ }
            }

            /// Its meaning in one line.
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$name => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}

codes! {
    /// A file that should be there could not be read.
    Unreadable = "unreadable": Fixed,
    /// A file is not UTF-8 text.
    NotUtf8 = "not-utf8": Fixed,
    /// A text holds a NUL byte.
    NulByte = "nul-byte": Fixed,
    /// SKILL.md does not start with a front matter block.
    FrontMatterMissing = "front-matter-missing": Error,
    /// The front matter is not valid YAML.
    FrontMatterYaml = "front-matter-yaml": Warning,
    /// A front matter key has a value of the wrong type.
    FrontMatterType = "front-matter-type": Error,
    /// `allowed-tools` parts the names by commas.
    AllowedTools = "allowed-tools": Warning,
    /// A front matter key that agentskills.io does not define.
    FrontMatterUnknownKey = "front-matter-unknown-key": Warning,
    /// The skill's name is missing or breaks the naming rules.
    SkillName = "skill-name": Error,
    /// The skill's name differs from the name of its directory.
    SkillNameFolder = "skill-name-folder": Warning,
    /// The description is missing, empty or too long.
    SkillDescription = "skill-description": Error,
    /// A part of the description that no agent sees.
    CutDescription = "cut-description": Warning,
    /// `compatibility` is empty or too long.
    SkillCompatibility = "skill-compatibility": Error,
    /// A skill that no model may call by itself.
    UserOnly = "user-only": Warning,
    /// A skill or a mock that the agent of a mode does not get.
    Withheld = "withheld": Fixed,
    /// A link next to skills or cases that is not followed, or leads to nothing.
    LinkedFolder = "linked-folder": Warning,
    /// A skill that lies in no skill root.
    SkillRoot = "skill-root": Warning,
    /// The SKILL.md body is longer than agents are meant to load.
    LongBody = "long-body": Warning,
    /// A link in SKILL.md points to a file that is not there, or into a directory of cases, which agents do not get.
    DeadLink = "dead-link": Warning,
    /// A skill's description shares most of its words with a sibling's.
    SimilarDescription = "similar-description": Warning,
    /// All descriptions together are longer than an agent shows its model.
    LargeCatalogue = "large-catalogue": Warning,
    /// A CSV quote is not closed.
    CsvOpenQuote = "csv-open-quote": Fixed,
    /// A file has more cases than are read.
    TooManyCases = "too-many-cases": Fixed,
    /// A prompts.csv has no header, or lacks a required column.
    CsvMissingColumn = "csv-missing-column": Fixed,
    /// A prompts.csv has an unknown column.
    CsvUnknownColumn = "csv-unknown-column": Fixed,
    /// A prompts.csv has a header and no rows.
    CsvNoRows = "csv-no-rows": Fixed,
    /// A prompts.csv names a column twice.
    CsvDuplicateColumn = "csv-duplicate-column": Fixed,
    /// The cells of a prompts.csv are separated by something else than commas.
    CsvSeparator = "csv-separator": Fixed,
    /// The lines of a prompts.csv end in CR alone.
    CsvLineEnds = "csv-line-ends": Warning,
    /// A row has more cells than the header has columns, or one below a column without a name.
    CsvExtraCell = "csv-extra-cell": Fixed,
    /// A cell without quotes begins with a blank and others of its row do not, or a row has empty cells behind those of the header: a comma may belong to a text.
    CsvUnquotedComma = "csv-unquoted-comma": Warning,
    /// A cell is in typographic quotes, which are a part of its text.
    CsvQuotes = "csv-quotes": Warning,
    /// A cell that must not be empty is, or it has separators alone. Or a list of checks is empty.
    EmptyValue = "empty-value": Fixed,
    /// Not true or false.
    BadBoolean = "bad-boolean": Fixed,
    /// Not a whole number in the allowed range.
    BadNumber = "bad-number": Fixed,
    /// Not one of the allowed words.
    BadChoice = "bad-choice": Fixed,
    /// A part of a case that its own program ignores, or a grader that never passes or guards nothing.
    Inert = "inert": Warning,
    /// A regular expression does not compile.
    BadRegex = "bad-regex": Fixed,
    /// A regular expression that means something else to other runners.
    RegexDialect = "regex-dialect": Warning,
    /// An object of the list `checks` is not a check. Or a check says the same of every trial, as with an empty pattern.
    InvalidCheck = "invalid-check": Fixed,
    /// A path leaves its directory, is not a path, or would give the agent what is expected of it.
    BadPath = "bad-path": Fixed,
    /// A case id with characters that a test name or a directory cannot have.
    CaseId = "case-id": Fixed,
    /// Two cases of a skill have one id, or one test name.
    DuplicateCase = "duplicate-case": Fixed,
    /// A JSON text does not parse.
    JsonSyntax = "json-syntax": Fixed,
    /// A YAML file does not parse.
    YamlSyntax = "yaml-syntax": Fixed,
    /// A value in a JSON or YAML file has the wrong type.
    ValueType = "value-type": Fixed,
    /// An unknown or duplicate key in a JSON or YAML file.
    UnknownKey = "unknown-key": Fixed,
    /// A required key of a JSON or YAML file is missing.
    MissingKey = "missing-key": Fixed,
    /// A case names a skill that is not in the repository.
    UnknownSkill = "unknown-skill": Error,
    /// A check asks for calls of what the case does not mock.
    UnknownMock = "unknown-mock": Error,
    /// No check of a case asks whether every call of its mocks was answered.
    UnansweredCalls = "unanswered-calls": Warning,
    /// A change during a session that cannot be made.
    BadChange = "bad-change": Fixed,
    /// A history that no session can start from, or that has the text of a skill.
    BadHistory = "bad-history": Fixed,
    /// A user whose facts nobody needs to ask for.
    BadUser = "bad-user": Fixed,
    /// A fixture, another file of the workspace, or a reference solution is missing.
    MissingFixture = "missing-fixture": Fixed,
    /// A schema file is missing.
    MissingSchema = "missing-schema": Fixed,
    /// A schema is not a valid JSON Schema.
    BadSchema = "bad-schema": Fixed,
    /// A script that checks trials is missing.
    MissingCheck = "missing-check": Fixed,
    /// A script that checks trials cannot be started.
    BadCheck = "bad-check": Fixed,
    /// A template of the judge's prompt that cannot be used.
    BadTemplate = "bad-template": Fixed,
    /// A path is reached through a symbolic link.
    Symlink = "symlink": Fixed,
    /// A file of a skill or a fixture that cannot be given to an agent.
    NotCopied = "not-copied": Fixed,
    /// A skill has no case in which it should activate.
    NoPositive = "no-positive": Warning,
    /// A skill has no case in which it should not activate.
    NoNegative = "no-negative": Warning,
    /// A skill has no curated cases.
    NoCases = "no-cases": Warning,
    /// A directory of cases whose skill does not exist.
    OrphanCases = "orphan-cases": Error,
    /// A file of cases of our own, in a place or of a name that is not read.
    MisplacedCases = "misplaced-cases": Error,
    /// A file that looks like cases, and that no format reads.
    UnreadCases = "unread-cases": Warning,
    /// A file of cases, or of a fixture, that git ignores: a clone does not have it.
    IgnoredCases = "ignored-cases": Warning,
    /// Settings without effect: a pattern or key that no file has, or a file with keys of another program.
    UnusedSetting = "unused-setting": Warning,
    /// A file that looks like the settings, in a place or of a name that is not read.
    UnreadSettings = "unread-settings": Error,
    /// The stubs for IDEs are not those of today's trials.
    StaleStubs = "stale-stubs": Warning,
    /// A recording is not as it was made.
    DamagedRecording = "damaged-recording": Fixed,
    /// A recording of a case that does not exist: nothing replays it.
    OrphanRecording = "orphan-recording": Warning,
    /// The quarantine of a case is over: the case fails again.
    QuarantineOver = "quarantine-over": Warning,
    /// A case that runs until it is decided, and never could be.
    NeverDecided = "never-decided": Fixed,
    /// A negative case names the skill that must not activate.
    NegativeNamesSkill = "negative-names-skill": Warning,
    /// The prompt of a positive case contains the text that the case looks for.
    MarkerInPrompt = "marker-in-prompt": Warning,
    /// A pattern with `AND`, `OR` or typographic quotes, which an answer must have as they are.
    LiteralSyntax = "literal-syntax": Warning,
    /// A case that is called implicit names its skill.
    ImplicitNamesSkill = "implicit-names-skill": Warning,
    /// The prompt of a positive case copies the skill's description.
    DescriptionAsPrompt = "description-as-prompt": Warning,
    /// Every positive prompt of a skill names it.
    NoImplicit = "no-implicit": Warning,
    /// No negative prompt of a skill is near any description.
    FarNegatives = "far-negatives": Warning,
    /// What a case of another program asks for and this program does not do.
    Unsupported = "unsupported": Warning,
    /// A setting in evals.toml or the environment is unknown or not allowed.
    Config = "config": Fixed,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The longest message or help, in characters: it may quote what a file says.
const LONGEST_TEXT: usize = 4000;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Diagnostic {
    /// The kind of problem.
    pub code: Code,
    pub severity: Severity,
    pub place: SourceLocation,
    /// What is wrong, and what was expected.
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The reason that the settings give for its severity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many problems of this kind were found after it and are only counted.
    #[serde(skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub more: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Diagnostic {
    /// A problem of this kind with its default severity.
    pub fn new(code: Code, place: SourceLocation, message: impl Into<String>) -> Self {
        let severity = code.level().severity();
        let message = cut::text(message.into(), LONGEST_TEXT);
        Self { code, severity, place, message, help: None, reason: None, more: 0 }
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(cut::text(help.into(), LONGEST_TEXT));
        self
    }

    /// Whether its subject cannot be used.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// These problems without duplicates: all cases of a skill or mode share its problems.
pub fn once(problems: impl IntoIterator<Item = Diagnostic>) -> Vec<Diagnostic> {
    let mut reported = HashSet::new();
    problems.into_iter().filter(|problem| reported.insert(problem.clone())).collect()
}

/// Above this number of problems with one message, only the first is shown, and how many there are.
const MOST_ALIKE: usize = 3;

/// These problems with each cause once: the first of many with one message counts the others.
pub fn grouped(problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let key = |problem: &Diagnostic| (problem.code, problem.severity, problem.message.clone());
    let mut alike: HashMap<_, usize> = HashMap::new();
    for problem in &problems {
        *alike.entry(key(problem)).or_default() += 1 + problem.more;
    }
    let mut shown: HashSet<(Code, Severity, String)> = HashSet::new();
    let mut grouped = Vec::new();
    for mut problem in problems {
        let key = key(&problem);
        let count = alike.get(&key).copied().unwrap_or_default();
        if count > MOST_ALIKE {
            if !shown.insert(key) {
                continue;
            }
            problem.more = count - 1;
        }
        grouped.push(problem);
    }
    grouped
}

/// The known word nearest to `word`, if it is near enough for a typo.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let most = |candidate: &str| 2.max(candidate.len() / 4);
    known
        .into_iter()
        // Words differ at least by their lengths. A key may have a megabyte.
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= most(candidate))
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= most(candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The known word that `word` has one wrong, missing or additional letter of, or two that are swapped; none for short words.
pub fn slip<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known.into_iter().find(|known| known.len() > 4 && is_slip(word, known))
}

/// Whether a word is a known one but for one wrong, missing or additional letter, or two that are swapped.
pub fn is_slip(word: &str, known: &str) -> bool {
    if known.len().abs_diff(word.len()) > char::MAX.len_utf8() {
        return false;
    }
    let same = |(one, other): &(char, char)| one == other;
    let start: usize = word.chars().zip(known.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let (word, known) = (&word[start..], &known[start..]);
    let end: usize = word.chars().rev().zip(known.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let [word, known] =
        [&word[..word.len() - end], &known[..known.len() - end]].map(|rest| rest.chars().collect::<Vec<_>>());
    match (&word[..], &known[..]) {
        ([_], [] | [_]) | ([], [_]) => true,
        ([a, b], [c, d]) => (a, b) == (d, c),
        _ => false,
    }
}

/// The `most` nearest known words, those that share most with `word` first.
pub fn nearest_few<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let mut known: Vec<(f64, &str)> =
        known.into_iter().map(|known| (strsim::sorensen_dice(word, known), known)).collect();
    known.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    known.into_iter().take(most).map(|(_, known)| known).collect()
}

/// The most known words that a suggestion lists.
const MOST_KNOWN: usize = 60;

/// "did you mean `x`?" if a known word is near, otherwise the known words.
pub fn suggest(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "there are none at all".to_owned(),
        None => format!("known: {}", cut::names(known, MOST_KNOWN)),
    }
}

/// The start of `text`, for messages that quote it.
pub fn shorten(text: &str) -> String {
    cut::start(text, 60)
}

/// One line without the drawing, for logs.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: [{}] {}", self.place, self.code, self.message)?;
        if self.more > 0 { write!(f, " (and {} more)", self.more) } else { Ok(()) }
    }
}

/// `path` as messages show it: relative to `root` if it is inside `root`.
pub fn shown_path(root: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(root).unwrap_or(path).to_path_buf()
}

// A text that a user wrote, and the places in it.

/// The byte order mark.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// A text that may not be UTF-8. It finds its lines once and counts columns from the last place, so that a million places in a
/// large file, or in a file of one line, take linear time.
#[derive(Debug)]
pub struct SourceText<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    /// How many lines of the file are above it.
    above: usize,
    /// The first byte of every line, up to the line after this byte.
    lines: OnceCell<Vec<usize>>,
    up_to: usize,
    /// The last byte whose column was asked for, and its character in the line that starts at the first number.
    column: Cell<(usize, usize, usize)>,
}

impl<'a> SourceText<'a> {
    /// The content of the file at `path`, which messages show.
    pub fn new(path: &'a Path, bytes: &'a [u8]) -> Self {
        Self::up_to(path, bytes, bytes.len())
    }

    /// The same, for places that begin at most at this byte.
    fn up_to(path: &'a Path, bytes: &'a [u8], up_to: usize) -> Self {
        Self { path, bytes, above: 0, lines: OnceCell::new(), up_to, column: Cell::default() }
    }

    /// The same as a part of the file that begins on this line.
    #[must_use]
    pub fn from_line(self, line: usize) -> Self {
        Self { above: line - 1, ..self }
    }

    /// The line of a byte, from 1.
    pub fn line_of(&self, at: usize) -> usize {
        self.above + self.line_inside(at)
    }

    fn line_inside(&self, at: usize) -> usize {
        self.lines().partition_point(|start| *start <= at)
    }

    /// The place of these bytes.
    pub fn place(&self, range: Range<usize>) -> SourceLocation {
        let start = range.start.min(self.bytes.len());
        let range = start..range.end.clamp(start, self.bytes.len());
        let line = self.line_inside(start);
        let line_start = self.lines()[line - 1];
        // Editors do not count a byte order mark as a character of the first line.
        let has_mark = line == 1 && start >= MARK.len() && self.bytes.starts_with(MARK);
        let line_start = if has_mark { MARK.len() } else { line_start };
        let line_end = self.lines().get(line).map_or(self.bytes.len(), |next| next - 1);
        let column = 1 + self.characters(line_start, start);
        let excerpt = Some(Excerpt::of_line(self.bytes, line_start..line_end, range));
        SourceLocation { path: self.path.into(), line: self.above + line, column, excerpt }
    }

    fn lines(&self) -> &[usize] {
        self.lines.get_or_init(|| {
            let mut lines = vec![0];
            for at in (0..self.bytes.len()).filter(|at| ends_line(self.bytes, *at)) {
                lines.push(at + 1);
                if at >= self.up_to {
                    break;
                }
            }
            lines
        })
    }

    /// The number of characters between the start of a line and `at`.
    fn characters(&self, line_start: usize, at: usize) -> usize {
        let count = |range: Range<usize>| self.bytes[range].iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        let characters = match self.column.get() {
            (line, last, characters) if line == line_start && last <= at => characters + count(last..at),
            (line, last, characters) if line == line_start => characters - count(at..last),
            _ => count(line_start..at),
        };
        self.column.set((line_start, at, characters));
        characters
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SourceLocation {
    /// The file, relative to the repository's root if it is inside it.
    pub path: PathBuf,
    /// The line, from 1; 0 for the whole file.
    pub line: usize,
    /// The column in characters, from 1; 0 for the whole file.
    pub column: usize,
    /// The text of the line, to draw it.
    #[serde(skip)]
    pub excerpt: Option<Excerpt>,
}

/// The part of a line that a diagnostic shows, short enough for a screen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Excerpt {
    /// The shown text.
    pub text: String,
    /// The bytes of `text` to mark.
    pub mark: Range<usize>,
}

/// The most characters shown on each side of the mark.
const EXCERPT_REACH: usize = 60;

impl SourceLocation {
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), line: 0, column: 0, excerpt: None }
    }

    /// The bytes `range` of `text`, which may not be UTF-8. For many places in one text, [`SourceText`] is faster.
    pub fn in_text(path: impl AsRef<Path>, text: &[u8], range: Range<usize>) -> Self {
        SourceText::up_to(path.as_ref(), text, range.start).place(range)
    }
}

impl Excerpt {
    /// The `marked` bytes of `text` with what is around them in their line. It looks at no more than it shows: a file may be one line.
    pub fn of_line(text: &[u8], line: Range<usize>, marked: Range<usize>) -> Self {
        // One more character says that the excerpt is cut, and the outermost may be cut itself. A character has at most four bytes.
        let reach = 4 * (EXCERPT_REACH + 2);
        let starts_character = |at: &usize| text.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80);
        let far = marked.start.saturating_sub(reach);
        let first = if far <= line.start { line.start } else { (far..far + 4).find(starts_character).unwrap_or(far) };
        let before = String::from_utf8_lossy(&text[first..marked.start]);
        let shown = |start: usize, end: usize| {
            let far = start + reach;
            let last = if end <= far { end } else { (far - 3..=far).rev().find(starts_character).unwrap_or(far) };
            String::from_utf8_lossy(&text[start..last])
        };
        let end = marked.end.min(line.end);
        Self::cut(&before, &shown(marked.start, end), shown(end, line.end).trim_end_matches('\r'))
    }

    fn cut(before: &str, marked: &str, after: &str) -> Self {
        let skip = before.chars().count().saturating_sub(EXCERPT_REACH);
        let mut text = String::new();
        if skip > 0 {
            text.push('…');
        }
        text.extend(before.chars().skip(skip).map(printable));
        let start = text.len();
        text.extend(marked.chars().take(EXCERPT_REACH).map(printable));
        let end = text.len();
        // After a mark that is cut, text would seem to follow directly.
        let marked_whole = marked.chars().count() <= EXCERPT_REACH;
        text.extend(after.chars().take(if marked_whole { EXCERPT_REACH } else { 0 }).map(printable));
        if !marked_whole || after.chars().count() > EXCERPT_REACH {
            text.push('…');
        }
        Self { text, mark: start..end }
    }
}

/// Control characters as their Unicode pictures, except tabs.
fn printable(c: char) -> char {
    match c {
        '\t' => c,
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

/// `file:line:column`, the form that terminals and editors link.
impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        Ok(())
    }
}

/// Whether the byte `at` of `text` ends a line. Lines end with LF, CR LF or CR alone.
pub fn ends_line(text: &[u8], at: usize) -> bool {
    text[at] == b'\n' || (text[at] == b'\r' && text.get(at + 1) != Some(&b'\n'))
}
