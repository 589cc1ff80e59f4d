//! Which texts a regular expression matches: some, none or every one. Decided on the automaton that the engine itself searches with,
//! so that `^`, `$` and `\b` count as they do in a search.

use std::collections::HashSet;
use std::ops::Range;

use regex_automata::Anchored;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::start;
use regex_syntax::hir::{Class, ClassUnicodeRange, Hir, HirKind, LookSet, Repetition};
use regex_syntax::utf8::Utf8Sequences;
use thiserror::Error;

use crate::checks::pattern;

/// The largest automaton that is looked at, in bytes, and how many of its states.
const MOST_BYTES: usize = 1 << 20;
const MOST_STATES: usize = 2000;

/// Whether every text has a match, or none has; `None` if that depends on the text, or is not sure.
pub(super) fn same_for_all(hir: &Hir) -> Option<bool> {
    let looks = hir.properties().look_set();
    let same = if looks.contains_word_unicode() { of_texts(&without_words(hir)) } else { of_texts(hir) };
    // A place next to a word may be missing, or within a character, where no match can be.
    same.filter(|has_match| !has_match || !looks.contains_word())
}

fn of_texts(hir: &Hir) -> Option<bool> {
    if let (true, Some(least)) = (hir.properties().look_set().is_empty(), hir.properties().minimum_len()) {
        // Nothing else decides whether the empty text matches, and a match of it is in every text.
        return (least == 0).then_some(true);
    }
    match Texts::of(hir)? {
        Texts { some_match: false, .. } => Some(false),
        Texts { some_lacks_match: false, .. } => Some(true),
        Texts { .. } => None,
    }
}

/// The pattern without its places of words of Unicode, which no automaton has. It matches where the pattern does, or more.
fn without_words(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Look(look) if LookSet::singleton(*look).contains_word_unicode() => Hir::empty(),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => hir.clone(),
        HirKind::Repetition(repetition) => {
            Hir::repetition(Repetition { sub: Box::new(without_words(&repetition.sub)), ..repetition.clone() })
        }
        HirKind::Capture(capture) => without_words(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(without_words).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(without_words).collect()),
    }
}

/// What the texts have that a pattern is searched in.
#[derive(Clone, Copy, Debug, Default)]
struct Texts {
    some_match: bool,
    some_lacks_match: bool,
}

impl Texts {
    /// `None` if the automaton is too large.
    fn of(hir: &Hir) -> Option<Self> {
        let size =
            thompson::Config::new().nfa_size_limit(Some(MOST_BYTES)).which_captures(thompson::WhichCaptures::None);
        let nfa = thompson::Compiler::new().configure(size).build_from_hir(hir).ok()?;
        let config = DFA::config().cache_capacity(MOST_BYTES).skip_cache_capacity_check(true);
        let config = config.minimum_cache_clear_count(Some(0));
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa).ok()?;
        let mut cache = dfa.create_cache();
        TextWalk { dfa: &dfa, cache: &mut cache, bytes: bytes_of(&dfa), found: Self::default() }.run()
    }
}

/// A walk through all texts: each state of the automaton with each place in a character.
struct TextWalk<'a> {
    dfa: &'a DFA,
    cache: &'a mut Cache,
    bytes: Vec<u8>,
    found: Texts,
}

impl TextWalk<'_> {
    fn run(mut self) -> Option<Texts> {
        let start = start::Config::new().anchored(Anchored::No);
        let start = (self.dfa.start_state(self.cache, &start).ok()?, Utf8::Boundary);
        let (mut known, mut open) = (HashSet::from([start]), vec![start]);
        while let Some((state, place)) = open.pop() {
            for next in self.step(state, place)? {
                if known.insert(next) {
                    open.push(next);
                }
            }
            if self.found.some_match && self.found.some_lacks_match {
                return Some(self.found);
            }
            if known.len() > MOST_STATES {
                return None;
            }
        }
        Some(self.found)
    }

    /// Ends a text in this state, and goes on with each byte that may be next.
    fn step(&mut self, state: LazyStateID, place: Utf8) -> Option<Vec<(LazyStateID, Utf8)>> {
        if place == Utf8::Boundary {
            let end = self.dfa.next_eoi_state(self.cache, state).ok()?;
            self.found.some_match |= end.is_match();
            self.found.some_lacks_match |= !end.is_match();
        }
        let mut next = Vec::new();
        for byte in &self.bytes {
            let Some(place) = place.after(*byte) else { continue };
            let state = self.dfa.next_state(self.cache, state, *byte).ok()?;
            self.found.some_match |= state.is_match();
            self.found.some_lacks_match |= state.is_dead();
            if !state.is_match() && !state.is_dead() {
                next.push((state, place));
            }
        }
        Some(next)
    }
}

/// A byte of each class of the automaton and of UTF-8.
fn bytes_of(dfa: &DFA) -> Vec<u8> {
    const OF_UTF8: [u8; 12] = [0x80, 0x90, 0xA0, 0xC0, 0xC2, 0xE0, 0xE1, 0xED, 0xEE, 0xF0, 0xF1, 0xF4];
    let classes = dfa.byte_classes();
    let is_first = |byte: &u8| *byte == 0 || classes.get(*byte) != classes.get(byte - 1) || OF_UTF8.contains(byte);
    (0..=0xF4).filter(is_first).collect()
}

/// A place in a text of UTF-8: which bytes may be next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Utf8 {
    /// Between two characters.
    Boundary,
    /// So many bytes are missing, of which the next is in this range.
    Within(u8, u8, u8),
}

impl Utf8 {
    fn after(self, byte: u8) -> Option<Self> {
        let more = |missing| Self::Within(missing, 0x80, 0xBF);
        match self {
            Self::Boundary => Some(match byte {
                0..=0x7F => Self::Boundary,
                0xC2..=0xDF => more(1),
                0xE0 => Self::Within(2, 0xA0, 0xBF),
                0xED => Self::Within(2, 0x80, 0x9F),
                0xE1..=0xEF => more(2),
                0xF0 => Self::Within(3, 0x90, 0xBF),
                0xF1..=0xF3 => more(3),
                0xF4 => Self::Within(3, 0x80, 0x8F),
                _ => return None,
            }),
            Self::Within(missing, first, last) if (first..=last).contains(&byte) => {
                Some(if missing == 1 { Self::Boundary } else { more(missing - 1) })
            }
            Self::Within(..) => None,
        }
    }
}

// Searches a text for a pattern. Most patterns take linear time. Look-ahead and back-references may take more, so their work is
// limited: a search that reaches the limit is an error, and never says that there is no match.

/// The longest regular expression, in bytes. Plain text may have any length.
pub const LONGEST: usize = 64 << 10;

/// How often the search for one match may go back.
const MOST_STEPS_BACK: usize = 100_000;

/// How many bytes of the text all steps of such a search may look at: a step may look at the whole text. This takes some seconds.
const MOST_SEARCHED_BYTES: usize = 1_000_000_000;

/// The largest program, in bytes, of a part without look-around. Programs take time: one of ten megabytes, half a second.
const MOST_PROGRAM: usize = 2 << 20;

/// A compiled pattern.
#[derive(Debug)]
pub enum PatternSearch {
    /// Plain text.
    Plain(String),
    /// Takes linear time.
    Linear(regex::Regex),
    /// Has look-ahead, look-behind, back-references or atomic groups.
    Backtracking(Box<Backtracking>),
    /// By the rules of JavaScript.
    JavaScript(Box<corvus_regex_ecma262::Regex>),
    /// Searches the text in lower case.
    Lower(Box<PatternSearch>),
}

/// A regular expression whose work depends on the text.
#[derive(Debug)]
pub struct Backtracking {
    /// With the most steps.
    regex: fancy_regex::Regex,
    pattern: String,
    loose: bool,
}

/// Why a pattern does not compile.
#[derive(Debug, Error)]
pub enum PatternError {
    /// By the rules of linear patterns.
    #[error(transparent)]
    Linear(#[from] regex::Error),
    /// By the rules of the others.
    #[error(transparent)]
    Backtracking(#[from] Box<fancy_regex::Error>),
    /// By the rules of JavaScript.
    #[error("JavaScript: {0}")]
    JavaScript(String),
    /// A part without look-around would become a program of more than 2 MiB.
    #[error("a repetition in it is too large: its program has more than {MOST_PROGRAM} bytes")]
    TooLarge,
    /// It has this many bytes.
    #[error("it has {0} bytes; at most {LONGEST} are read")]
    TooLong(usize),
}

/// A search that took too much work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the search for the pattern took too many steps")]
pub struct SearchError;

impl PatternSearch {
    /// Compiles a regular expression; a `loose` one ignores case and has `^` and `$` at each line, whatever ends the line.
    pub(super) fn new(pattern: &str, loose: bool) -> Result<Self, PatternError> {
        let mut linear = regex::RegexBuilder::new(pattern);
        match linear.case_insensitive(loose).multi_line(loose).crlf(loose).build() {
            Ok(regex) => return Ok(Self::Linear(regex)),
            Err(regex::Error::Syntax(_)) if is_fancy(pattern) => {}
            // The message of the usual rules shows the place in the pattern.
            Err(error) => return Err(error.into()),
        }
        let regex = backtracking(pattern, loose, MOST_STEPS_BACK)?;
        Ok(Self::Backtracking(Box::new(Backtracking { regex, pattern: pattern.to_owned(), loose })))
    }

    /// Compiles a regular expression of JavaScript with these flags.
    pub fn javascript(pattern: &str, flags: &str) -> Result<Self, PatternError> {
        Ok(Self::JavaScript(Box::new(pattern::compile_javascript(pattern, flags)?)))
    }

    /// The same search of texts in lower case.
    pub(super) fn lower(self) -> Self {
        Self::Lower(Box::new(self))
    }

    /// The first `most` matches, in order.
    pub fn matches(&self, text: &str, most: usize) -> Result<Vec<Range<usize>>, SearchError> {
        match self {
            Self::Plain(wanted) => {
                let found = text.match_indices(wanted.as_str()).take(most);
                Ok(found.map(|(start, found)| start..start + found.len()).collect())
            }
            Self::Linear(regex) => Ok(regex.find_iter(text).take(most).map(|found| found.range()).collect()),
            Self::Backtracking(search) => search.matches(text, most),
            Self::JavaScript(regex) => pattern::matches_javascript(regex, text, most),
            Self::Lower(search) => {
                let found = search.matches(&text.to_lowercase(), most)?;
                // A character in lower case may have more bytes, or fewer.
                let mut ends = text.char_indices().scan(0, |end, (at, c)| {
                    *end += c.to_lowercase().map(char::len_utf8).sum::<usize>();
                    Some((*end, at..at + c.len_utf8()))
                });
                let mut last = (0, 0..0);
                let mut written = |at: usize| {
                    while last.0 < at {
                        last = ends.next().unwrap_or((at, text.len()..text.len()));
                    }
                    last.1.clone()
                };
                let range = |found: &Range<usize>| {
                    let start = written(found.start + 1).start;
                    start..if found.is_empty() { start } else { written(found.end).end }
                };
                Ok(found.iter().map(range).collect())
            }
        }
    }

    /// Whether a match depends only on the text that it covers and the characters next to it.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Plain(_) | Self::Linear(_) => true,
            Self::Backtracking(_) | Self::JavaScript(_) => false,
            Self::Lower(search) => search.is_local(),
        }
    }
}

impl Backtracking {
    fn matches(&self, text: &str, most: usize) -> Result<Vec<Range<usize>>, SearchError> {
        let steps = steps_for(text.len());
        let Some(first) = self.with(steps)?.find(text).map_err(|_| SearchError)? else { return Ok(Vec::new()) };
        let mut matches = vec![first.range()];
        if most > 1 {
            // There is a match, whatever the others are: all of them together take no more work than the first may.
            let regex = self.with((steps / most).max(1))?;
            matches.extend(regex.find_iter(text).take(most).skip(1).map_while(|found| Some(found.ok()?.range())));
        }
        Ok(matches)
    }

    fn with(&self, steps: usize) -> Result<fancy_regex::Regex, SearchError> {
        if steps == MOST_STEPS_BACK {
            return Ok(self.regex.clone());
        }
        backtracking(&self.pattern, self.loose, steps).map_err(|_| SearchError)
    }
}

fn backtracking(pattern: &str, loose: bool, steps: usize) -> Result<fancy_regex::Regex, PatternError> {
    let mut builder = fancy_regex::RegexBuilder::new(pattern);
    builder.case_insensitive(loose).multi_line(loose).crlf(loose).backtrack_limit(steps);
    builder.delegate_size_limit(MOST_PROGRAM).build().map_err(|error| match &error {
        fancy_regex::Error::CompileError(why) if is_too_large(why) => PatternError::TooLarge,
        _ => Box::new(error).into(),
    })
}

fn is_too_large(why: &fancy_regex::CompileError) -> bool {
    matches!(why, fancy_regex::CompileError::InnerError(error) if error.size_limit().is_some())
}

// What a parsed pattern says by itself: compiling one takes much longer.

/// The largest program of a linear pattern, in bytes: half of what `regex` allows.
const SMALL_PROGRAM: usize = 5 << 20;

/// More bytes than a program has for a state.
const STATE: usize = 64;

/// Whether its program is surely small enough, so that it compiles.
pub(super) fn is_small(hir: &Hir) -> bool {
    most_bytes(hir) < SMALL_PROGRAM
}

fn most_bytes(hir: &Hir) -> usize {
    let of_range = |range: &ClassUnicodeRange| {
        let sequences = Utf8Sequences::new(range.start(), range.end());
        sequences.map(|sequence| sequence.len() * STATE).sum::<usize>()
    };
    let bytes: usize = match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len().saturating_mul(STATE),
        HirKind::Class(Class::Unicode(class)) => class.ranges().iter().map(of_range).sum(),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len() * STATE,
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min.saturating_add(1)) as usize;
            most_bytes(&repetition.sub).saturating_mul(times)
        }
        HirKind::Capture(capture) => most_bytes(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(most_bytes).fold(0, usize::saturating_add)
        }
    };
    bytes.saturating_add(STATE)
}

/// Letters of Unicode that are another case of an ASCII letter.
const LETTERS: [char; 2] = ['\u{17F}', '\u{212A}'];

/// Whether a text has each part of plain ASCII that all matches have, in any case.
pub(super) fn may_match(hir: &Hir, text: &str) -> bool {
    text.contains(LETTERS) || has_parts(hir, &text.to_ascii_lowercase())
}

fn has_parts(hir: &Hir, text: &str) -> bool {
    match hir.kind() {
        HirKind::Alternation(parts) => parts.iter().any(|part| has_parts(part, text)),
        HirKind::Capture(capture) => has_parts(&capture.sub, text),
        HirKind::Repetition(repetition) => repetition.min == 0 || has_parts(&repetition.sub, text),
        HirKind::Concat(parts) => {
            let (mut plain, mut others) = (vec![String::new()], Vec::new());
            for part in parts {
                if let (Some(part), Some(last)) = (plain_part(part), plain.last_mut()) {
                    last.push_str(&part);
                } else {
                    others.push(part);
                    plain.push(String::new());
                }
            }
            plain.iter().all(|part| text.contains(part)) && others.into_iter().all(|part| has_parts(part, text))
        }
        _ => plain_part(hir).is_none_or(|part| text.contains(&part)),
    }
}

/// A part in lower case that is one ASCII text in any case; a place is the empty text.
fn plain_part(hir: &Hir) -> Option<String> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(String::new()),
        HirKind::Literal(literal) if literal.0.is_ascii() => {
            Some(String::from_utf8_lossy(&literal.0.to_ascii_lowercase()).into_owned())
        }
        HirKind::Class(Class::Unicode(class)) if class.ranges().len() <= 3 => {
            let one = |range: &ClassUnicodeRange| (range.start() == range.end()).then_some(range.start());
            let letters: Vec<char> = class.ranges().iter().map(one).collect::<Option<_>>()?;
            let mut letters = letters.into_iter().filter(|c| !LETTERS.contains(c)).map(|c| c.to_ascii_lowercase());
            let first = letters.next().filter(char::is_ascii)?;
            letters.all(|c| c == first).then(|| first.to_string())
        }
        _ => None,
    }
}

/// How often a search in a text of this many bytes may go back.
pub fn steps_for(length: usize) -> usize {
    (MOST_SEARCHED_BYTES / length.max(1)).clamp(1, MOST_STEPS_BACK)
}

/// Whether a pattern uses what linear patterns cannot have. The end of the text, `\Z`, means something else to each program.
fn is_fancy(pattern: &str) -> bool {
    let refers_back = || (b'1'..=b'9').any(|digit| pattern.contains(&format!("\\{}", char::from(digit))));
    if pattern.contains(r"\Z") {
        return false;
    }
    ["(?=", "(?!", "(?<=", "(?<!", "(?>", "(?P=", r"\k"].iter().any(|part| pattern.contains(part)) || refers_back()
}
