//! A regular expression that a user wrote.

mod dialect;
mod javascript;
mod language;
mod search;
mod translate;

use serde::Serialize;

use crate::text::diagnostic::shorten;

pub use dialect::DialectDifference;
pub use search::{LONGEST, PatternError, PatternSearch, SearchError, steps_for};

/// A text to search for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pattern {
    pub text: String,
    /// Its meaning.
    pub style: Style,
}

/// The meaning of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Style {
    /// Plain text, in any case: both texts are compared in lower case.
    Literal,
    /// Plain text, exactly as written.
    Verbatim,
    /// A regular expression, exactly as written.
    Exact,
    /// The same of the text in lower case.
    Lower,
    /// A regular expression of JavaScript without flags.
    JavaScript,
    /// A regular expression in any case, with `^` and `$` at each line, whatever ends the line.
    Loose,
}

impl Pattern {
    /// One of these texts, each as written or in any case.
    pub fn one_of<'a>(texts: impl Iterator<Item = (&'a str, bool)>) -> Self {
        let parts: Vec<String> = texts
            .map(|(text, ignores_case)| format!("(?{}:{})", if ignores_case { "i" } else { "-i" }, regex::escape(text)))
            .collect();
        Self { text: parts.join("|"), style: Style::Exact }
    }

    /// Whether it is plain text. Reading a large file spends most time compiling patterns.
    pub fn is_literal(&self) -> bool {
        matches!(self.style, Style::Literal | Style::Verbatim) || !self.text.chars().any(regex_syntax_char)
    }

    /// Whether it compiles. Most patterns are only parsed, in a tenth of the time, which matters for a hundred thousand cases.
    pub fn check(&self) -> Result<(), PatternError> {
        // A short pattern can only grow too large by counted repetition.
        let small = self.text.len() <= 200 && !self.text.contains('{') && self.style != Style::JavaScript;
        let is_short_literal = self.is_literal() && self.text.len() <= LONGEST;
        if is_short_literal || (small && regex_syntax::parse(&self.text).is_ok()) {
            return Ok(());
        }
        self.compile().map(drop)
    }

    /// Compiles it by its meaning.
    pub fn compile(&self) -> Result<PatternSearch, PatternError> {
        let plain = || PatternSearch::Plain(self.text.clone());
        match self.style {
            Style::Literal => Ok(PatternSearch::Plain(self.text.to_lowercase()).lower()),
            Style::Verbatim => Ok(plain()),
            Style::Exact | Style::JavaScript if self.is_literal() => Ok(plain()),
            Style::Lower if self.is_literal() => Ok(plain().lower()),
            _ if self.text.len() > LONGEST => Err(PatternError::TooLong(self.text.len())),
            Style::Exact => PatternSearch::new(&self.text, false),
            Style::Lower => PatternSearch::new(&self.text, false).map(PatternSearch::lower),
            Style::JavaScript => PatternSearch::javascript(&self.text, ""),
            Style::Loose => PatternSearch::new(&self.text, true),
        }
    }

    /// The parts that mean something else in Python, whose regular expressions other runners use.
    pub fn differences(&self) -> Vec<DialectDifference<'_>> {
        if self.is_literal() || self.text.len() > LONGEST { Vec::new() } else { dialect::differences(&self.text) }
    }

    /// Whether every text has a match of it, or none has; `None` if that depends on the text, or is not sure.
    pub fn same_for_all(&self) -> Option<bool> {
        if self.text.is_empty() {
            return Some(true);
        }
        if self.is_literal() || self.text.len() > LONGEST {
            return None;
        }
        // This look-ahead is how people write a pattern that never matches.
        if self.text == "(?!)" {
            return Some(false);
        }
        let is_loose = match self.style {
            Style::JavaScript => return javascript_same_for_all(&self.text, ""),
            style => style == Style::Loose,
        };
        let mut parser = regex_syntax::ParserBuilder::new();
        parser.case_insensitive(is_loose).multi_line(is_loose).crlf(is_loose);
        language::same_for_all(&parser.build().parse(&self.text).ok()?)
    }

    /// Splits at bars except `\|`, trims the parts and drops empty ones.
    pub fn split(text: &str) -> Vec<String> {
        let mut patterns = vec![String::new()];
        let mut escaped = false;
        for c in text.chars() {
            if c == '|' && !escaped {
                patterns.push(String::new());
                continue;
            }
            escaped = c == '\\' && !escaped;
            if let Some(last) = patterns.last_mut() {
                last.push(c);
            }
        }
        patterns.into_iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
    }

    /// Message and help for a pattern of the field `name` that does not compile.
    pub fn problem(&self, name: &str, error: &PatternError) -> (String, String) {
        let whole = error.to_string();
        // The crate draws the pattern over several lines and ends with "error: what".
        let what = whole.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let help = if matches!(error, PatternError::TooLong(_) | PatternError::TooLarge) {
            "write several shorter patterns"
        } else if self.style == Style::JavaScript {
            "patterns of this file are regular expressions of JavaScript without flags"
        } else if self.text.contains(r"\Z") {
            r"write `\z` for the end of the text"
        } else if name.starts_with("must") && what.contains("unclosed group") {
            "`|` separates patterns here, also inside a group: write one pattern for each alternative, or a class like [ab]"
        } else {
            "patterns are Rust regular expressions, with look-ahead and back-references"
        };
        (format!("`{name}`: the pattern {:?} does not compile: {what}", shorten(&self.text)), help.to_owned())
    }
}

/// The same of a pattern of JavaScript with these flags.
pub fn javascript_same_for_all(pattern: &str, flags: &str) -> Option<bool> {
    // One that does not compile matches nothing, and is reported as such.
    javascript::compile(pattern, flags).ok()?;
    let same = language::same_for_all(&translate::javascript(pattern, flags)?)?;
    // With `y` a match is at the start of the text.
    (!same || !flags.contains('y')).then_some(same)
}

/// Characters with a meaning of their own in a regular expression.
fn regex_syntax_char(c: char) -> bool {
    r"\.+*?()|[]{}^$".contains(c)
}

#[cfg(test)]
mod tests {
    use super::{Pattern, PatternSearch, Style, javascript_same_for_all};

    fn all(style: Style, texts: &[&str]) -> Vec<Option<bool>> {
        texts.iter().map(|text| Pattern { text: (*text).to_owned(), style }.same_for_all()).collect()
    }

    const DEAD: [&str; 8] =
        ["$5.00", "$HOME", "C^2", "foo$bar", r"\bfoo$ bar\b", r"(?:a|b)$[cd]", r"x+^\d", r"[^\s\S]foo|a$b"];

    #[test]
    fn a_pattern_that_looks_past_an_end_or_before_a_start_matches_no_text() {
        assert_eq!(all(Style::Exact, &DEAD), [Some(false); 8]);
        assert_eq!(all(Style::Loose, &DEAD), [Some(false); 8]);
        assert_eq!(all(Style::Exact, &[r"\Afoo^bar", r"\zfoo", r"é$é", r"(?-u:\b\B)"]), [Some(false); 4]);
        for pattern in DEAD {
            for flags in ["", "i", "s", "u", "g", "y"] {
                assert_eq!(javascript_same_for_all(pattern, flags), Some(false), "{pattern} {flags}");
            }
        }
        assert_eq!(javascript_same_for_all("$5.00", "im"), Some(false));
    }

    #[test]
    fn the_flags_of_a_pattern_decide() {
        assert_eq!(all(Style::Exact, &["a$\nb", "(?m)a$\nb", "a$\r\nb"]), [Some(false), None, Some(false)]);
        assert_eq!(all(Style::Loose, &["a$\nb", "a$\r\nb", "a\r^\nb"]), [None, None, Some(false)]);
        assert_eq!(["", "m"].map(|flags| javascript_same_for_all("a$\nb", flags)), [Some(false), None]);
        assert_eq!(["", "m"].map(|flags| javascript_same_for_all("^", flags)), [Some(true); 2]);
    }

    #[test]
    fn a_pattern_that_matches_nothing_but_places_of_every_text_matches_every_text() {
        assert_eq!(all(Style::Exact, &["^", "$", "x*", "^x*", "(?:^|x)y?", "^.*|$"]), [Some(true); 6]);
        assert_eq!(["", "x*", "^", "(?:$|a)b?"].map(|text| javascript_same_for_all(text, "g")), [Some(true); 4]);
        assert_eq!(javascript_same_for_all("$", "y"), None);
    }

    #[test]
    fn nothing_is_said_of_a_pattern_that_depends_on_the_text_or_that_the_automaton_cannot_decide() {
        let depends = ["^$", "x+", "^.*$", r"\b", r"\B", r"^\w+$", r"\bé", "(?i)foo$", r"(?m)^a$\n^b$", "^\u{feff}?#"];
        assert_eq!(all(Style::Exact, &depends), [None; 10]);
        assert_eq!(all(Style::Exact, &["(?=x)", r"(a)\1$b", r"foo\b\Bbar"]), [None; 3]);
        let depends = [r"(?R)", r"(?=x)", "[]", "[^]", r"a\b", r"\cJ", r"^[^\n]$", "{,3}", r"\Afoo^bar", r"\p{L}$x"];
        for pattern in depends {
            assert_eq!(javascript_same_for_all(pattern, ""), None, "{pattern}");
        }
    }

    /// All strings of at most so many of these parts.
    fn strings(parts: &[&str], most: usize) -> Vec<String> {
        let mut strings = vec![String::new()];
        let mut last = strings.clone();
        for _ in 0..most {
            last = last.iter().flat_map(|start| parts.iter().map(move |part| format!("{start}{part}"))).collect();
            strings.extend(last.iter().cloned());
        }
        strings
    }

    #[test]
    fn what_is_said_of_a_pattern_holds_in_the_engine_that_searches_for_it() {
        let texts = strings(&["a", "\n", "\r", "é", " "], 3);
        let parts = ["a", "^", "$", r"\b", r"\B", r"\n", "a*", "[^a]?", "|"];
        for pattern in strings(&parts, 3) {
            let searches = [
                (
                    Pattern { text: pattern.clone(), style: Style::Exact }.same_for_all(),
                    PatternSearch::new(&pattern, false),
                ),
                (
                    Pattern { text: pattern.clone(), style: Style::Loose }.same_for_all(),
                    PatternSearch::new(&pattern, true),
                ),
                (javascript_same_for_all(&pattern, ""), PatternSearch::javascript(&pattern, "")),
                (javascript_same_for_all(&pattern, "m"), PatternSearch::javascript(&pattern, "m")),
            ];
            for (said, search) in searches {
                let (Some(said), Ok(search)) = (said, search) else { continue };
                for text in &texts {
                    let found = !search.matches(text, 1).unwrap().is_empty();
                    assert_eq!(found, said, "{pattern:?} in {text:?}");
                }
            }
        }
    }
}
