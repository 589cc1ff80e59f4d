//! A regular expression that a user wrote.

mod dialect;

use crate::text::diagnostic::shorten;

pub use dialect::DialectDifference;

/// A text to search for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The text.
    pub text: String,
    /// Its meaning.
    pub style: Style,
}

/// The meaning of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Plain text, in any case.
    Literal,
    /// A regular expression, exactly as written.
    Exact,
    /// A regular expression in any case, with `^` and `$` at each line, whatever ends the line.
    Loose,
}

impl Pattern {
    /// Whether it is plain text, which always compiles. Reading a large file spends most time compiling patterns.
    pub fn is_literal(&self) -> bool {
        self.style == Style::Literal || !self.text.chars().any(regex_syntax_char)
    }

    /// Whether it compiles. Most patterns are only parsed, in a tenth of the time, which matters for a hundred thousand cases.
    pub fn check(&self) -> Result<(), regex::Error> {
        // A short pattern can only grow too large by counted repetition.
        let small = self.text.len() <= 200 && !self.text.contains('{');
        if self.is_literal() || (small && regex_syntax::parse(&self.text).is_ok()) {
            return Ok(());
        }
        self.compile().map(drop)
    }

    /// Compiles it by its meaning.
    pub fn compile(&self) -> Result<regex::Regex, regex::Error> {
        match self.style {
            Style::Literal => {
                // A long text in any case exceeds the usual limit.
                let mut builder = regex::RegexBuilder::new(&regex::escape(&self.text));
                builder.case_insensitive(true).size_limit(1 << 28).build()
            }
            Style::Exact => regex::Regex::new(&self.text),
            Style::Loose => {
                regex::RegexBuilder::new(&self.text).case_insensitive(true).multi_line(true).crlf(true).build()
            }
        }
    }

    /// The parts that mean something else in Python, whose regular expressions other runners use.
    pub fn differences(&self) -> Vec<DialectDifference<'_>> {
        if self.is_literal() { Vec::new() } else { dialect::differences(&self.text) }
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
    pub fn problem(&self, name: &str, error: &regex::Error) -> (String, String) {
        let whole = error.to_string();
        // The crate draws the pattern over several lines and ends with "error: what".
        let what = whole.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let help = if what.contains("look-around") {
            "look-ahead and look-behind are not supported; say it with two patterns"
        } else if what.contains("backreferences") || self.text.contains("(?P=") {
            "a pattern cannot refer to what a group of it has matched; write that part out"
        } else if self.text.contains(r"\Z") {
            r"write `\z` for the end of the text"
        } else if self.text.contains("(?>") {
            "groups that give nothing back are not supported, nor needed: nothing here takes more than linear time"
        } else if name.starts_with("must") && what.contains("unclosed group") {
            "`|` parts patterns here, also inside a group; write one pattern for each alternative, or a class like [ab]"
        } else {
            "patterns are Rust regular expressions"
        };
        (format!("`{name}`: the pattern {:?} does not compile: {what}", shorten(&self.text)), help.to_owned())
    }
}

/// Characters with a meaning of their own in a regular expression.
fn regex_syntax_char(c: char) -> bool {
    r"\.+*?()|[]{}^$".contains(c)
}
