//! A regular expression that a user wrote.

mod dialect;

use serde::{Deserialize, Serialize};

use crate::text::diagnostic::shorten;

pub use dialect::Difference;

/// A regular expression as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern(pub String);

impl Pattern {
    /// Whether it is plain text, which always compiles: compiling is what reading a large file spends its time on.
    pub(crate) fn is_literal(&self) -> bool {
        !self.0.chars().any(regex_syntax_char)
    }

    /// Why it does not compile, if so, as prompts.csv wants it. Without compiling it where its form tells: that takes
    /// a tenth of the time, which counts where a hundred thousand cases are read.
    ///
    /// # Errors
    /// The regex crate's error.
    pub fn check_loose(&self) -> Result<(), regex::Error> {
        // What is repeated so often can grow too large; anything else of this length cannot.
        let small = self.0.len() <= 200 && !self.0.contains('{');
        if self.is_literal() || (small && regex_syntax::parse(&self.0).is_ok()) {
            return Ok(());
        }
        self.compile_loose().map(drop)
    }

    /// Compiled as prompts.csv wants it: any case, `^` and `$` at each line, whatever ends it.
    ///
    /// # Errors
    /// The regex crate's error.
    pub fn compile_loose(&self) -> Result<regex::Regex, regex::Error> {
        regex::RegexBuilder::new(&self.0).case_insensitive(true).multi_line(true).crlf(true).build()
    }

    /// Compiled as task files want it: exactly as written.
    ///
    /// # Errors
    /// The regex crate's error.
    pub fn compile_exact(&self) -> Result<regex::Regex, regex::Error> {
        regex::Regex::new(&self.0)
    }

    /// The parts that other runners' regular expressions, those of Python, accept and take for something else.
    #[must_use]
    pub fn differences(&self) -> Vec<Difference<'_>> {
        if self.is_literal() { Vec::new() } else { dialect::differences(&self.0) }
    }

    /// Splits at bars, `\|` aside; trims; drops what is empty.
    #[must_use]
    pub fn list(text: &str) -> Vec<Self> {
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
        patterns.into_iter().map(|text| Self(text.trim().to_owned())).filter(|pattern| !pattern.0.is_empty()).collect()
    }

    /// Message and help for a pattern, written in the cell or under the key `name`, that does not compile.
    #[must_use]
    pub fn problem(&self, name: &str, error: &regex::Error) -> (String, String) {
        let whole = error.to_string();
        // The crate draws the pattern over several lines and ends with "error: what".
        let what = whole.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let help = if what.contains("look-around") {
            "look-ahead and look-behind are not supported; say it with two patterns"
        } else if what.contains("backreferences") || self.0.contains("(?P=") {
            "a pattern cannot refer to what a group of it has matched; write that part out"
        } else if self.0.contains(r"\Z") {
            r"write `\z` for the end of the text"
        } else if self.0.contains("(?>") {
            "groups that give nothing back are not supported, nor needed: nothing here takes more than linear time"
        } else if name.starts_with("must") && what.contains("unclosed group") {
            "`|` parts patterns here, also inside a group; write one pattern for each alternative, or a class like [ab]"
        } else {
            "patterns are Rust regular expressions"
        };
        (format!("`{name}`: the pattern {:?} does not compile: {what}", shorten(&self.0)), help.to_owned())
    }
}

/// Characters with a meaning of their own in a regular expression.
fn regex_syntax_char(c: char) -> bool {
    r"\.+*?()|[]{}^$".contains(c)
}
