//! A regular expression that a user wrote.

mod dialect;
mod javascript;
mod search;

use regex_syntax::hir::{Class, HirKind, Look};
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
        let hir = regex_syntax::parse(&self.text).ok()?;
        match hir.kind() {
            HirKind::Class(Class::Unicode(class)) if class.ranges().is_empty() => return Some(false),
            HirKind::Class(Class::Bytes(class)) if class.ranges().is_empty() => return Some(false),
            _ => {}
        }
        // An empty match is at the start of every text, or at its end, unless the pattern looks at more than that.
        let looks = || hir.properties().look_set().iter();
        let start = [Look::Start, Look::StartLF, Look::StartCRLF];
        let end = [Look::End, Look::EndLF, Look::EndCRLF];
        let is_anywhere = looks().all(|look| start.contains(&look)) || looks().all(|look| end.contains(&look));
        (hir.properties().minimum_len() == Some(0) && is_anywhere).then_some(true)
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

/// Characters with a meaning of their own in a regular expression.
fn regex_syntax_char(c: char) -> bool {
    r"\.+*?()|[]{}^$".contains(c)
}
