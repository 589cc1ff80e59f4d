//! Searches a text for a pattern. Most patterns take linear time; look-ahead and back-references may take more, so their
//! work is limited.

use std::ops::Range;

use thiserror::Error;

/// How often the search for one match may go back. A hundred times as many take a second.
const MOST_STEPS_BACK: usize = 100_000;

/// A compiled pattern.
#[derive(Debug)]
pub enum PatternSearch {
    /// Takes linear time.
    Linear(regex::Regex),
    /// Has look-ahead, look-behind, back-references or atomic groups.
    Backtracking(Box<fancy_regex::Regex>),
    /// Searches the text in lower case.
    Lower(Box<PatternSearch>),
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
    /// It has a group or a repetition that JavaScript does not know.
    #[error("JavaScript does not know one of its groups or repetitions")]
    JavaScript,
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
        let mut builder = fancy_regex::RegexBuilder::new(pattern);
        builder.case_insensitive(loose).multi_line(loose).crlf(loose).backtrack_limit(MOST_STEPS_BACK);
        Ok(Self::Backtracking(Box::new(builder.build().map_err(Box::new)?)))
    }

    /// Searches plain text.
    pub(super) fn literal(text: &str) -> Result<Self, PatternError> {
        // A long text exceeds the usual limit.
        Ok(Self::Linear(regex::RegexBuilder::new(&regex::escape(text)).size_limit(1 << 28).build()?))
    }

    /// The same search of texts in lower case.
    pub(super) fn lower(self) -> Self {
        Self::Lower(Box::new(self))
    }

    /// The first `most` matches, in order.
    pub fn matches(&self, text: &str, most: usize) -> Result<Vec<Range<usize>>, SearchError> {
        match self {
            Self::Linear(regex) => Ok(regex.find_iter(text).take(most).map(|found| found.range()).collect()),
            Self::Backtracking(regex) => {
                let found = regex.find_iter(text).take(most);
                found.map(|found| found.map(|found| found.range()).map_err(|_| SearchError)).collect()
            }
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
            Self::Linear(_) => true,
            Self::Backtracking(_) => false,
            Self::Lower(search) => search.is_local(),
        }
    }
}

/// Whether a pattern uses what linear patterns cannot have. The end of the text, `\Z`, means something else to each program.
pub(super) fn is_fancy(pattern: &str) -> bool {
    let refers_back = || (b'1'..=b'9').any(|digit| pattern.contains(&format!("\\{}", char::from(digit))));
    if pattern.contains(r"\Z") {
        return false;
    }
    ["(?=", "(?!", "(?<=", "(?<!", "(?>", "(?P=", r"\k"].iter().any(|part| pattern.contains(part)) || refers_back()
}
