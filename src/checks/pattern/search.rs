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

    /// The first `most` matches, in order.
    pub fn matches(&self, text: &str, most: usize) -> Result<Vec<Range<usize>>, SearchError> {
        match self {
            Self::Linear(regex) => Ok(regex.find_iter(text).take(most).map(|found| found.range()).collect()),
            Self::Backtracking(regex) => {
                let found = regex.find_iter(text).take(most);
                found.map(|found| found.map(|found| found.range()).map_err(|_| SearchError)).collect()
            }
        }
    }

    /// Whether a match depends only on the text that it covers and the characters next to it.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Linear(_))
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
