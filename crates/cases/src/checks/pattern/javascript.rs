//! Regular expressions of JavaScript, by an engine that has its grammar and its answers. Without the flag `u`, it matches UTF-16 code
//! units, of which an emoji has two.

use std::ops::Range;
use std::time::Duration;

use corvus_regex_ecma262::{MatchError, Regex, RegexBuilder};

use super::{PatternError, SearchError};

/// How long the search for one match may take. Only a back-reference in a repetition takes more than linear time.
const LONGEST_SEARCH: Duration = Duration::from_secs(2);

/// The pattern with these flags, as `new RegExp(pattern, flags)` reads it.
pub(super) fn compile(pattern: &str, flags: &str) -> Result<Regex, PatternError> {
    let built = RegexBuilder::new(pattern).flags(flags).match_timeout(Some(LONGEST_SEARCH)).build();
    built.map_err(|error| PatternError::JavaScript(error.to_string()))
}

/// The first `most` matches as bytes of the text. A match that begins or ends within a character takes all of it.
pub(super) fn matches(regex: &Regex, text: &str, most: usize) -> Result<Vec<Range<usize>>, SearchError> {
    let whole = |found: Range<usize>| {
        let (mut start, mut end) = (found.start, found.end);
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        while !text.is_char_boundary(end) {
            end += 1;
        }
        start..end
    };
    let found = regex.find_iter(text).take(most).map(|found| Ok(whole(found?.range())));
    found.collect::<Result<_, MatchError>>().map_err(|_| SearchError)
}
