//! Searches a text for a pattern. Most patterns take linear time. Look-ahead and back-references may take more, so their work is
//! limited: a search that reaches the limit is an error, and never says that there is no match.

use std::ops::Range;

use thiserror::Error;

use super::javascript;

/// The longest regular expression, in bytes. Plain text may have any length.
pub const LONGEST: usize = 64 << 10;

/// How often the search for one match may go back.
const MOST_STEPS_BACK: usize = 100_000;

/// How many bytes of the text all steps of such a search may look at: a step may look at the whole text. This takes some seconds.
const MOST_BYTES: usize = 1_000_000_000;

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
        Ok(Self::JavaScript(Box::new(javascript::compile(pattern, flags)?)))
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
            Self::JavaScript(regex) => javascript::matches(regex, text, most),
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

/// How often a search in a text of this many bytes may go back.
pub fn steps_for(length: usize) -> usize {
    (MOST_BYTES / length.max(1)).clamp(1, MOST_STEPS_BACK)
}

/// Whether a pattern uses what linear patterns cannot have. The end of the text, `\Z`, means something else to each program.
fn is_fancy(pattern: &str) -> bool {
    let refers_back = || (b'1'..=b'9').any(|digit| pattern.contains(&format!("\\{}", char::from(digit))));
    if pattern.contains(r"\Z") {
        return false;
    }
    ["(?=", "(?!", "(?<=", "(?<!", "(?>", "(?P=", r"\k"].iter().any(|part| pattern.contains(part)) || refers_back()
}
