//! Which trials there are, and what they are called.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::case::Found;
use crate::mode::Mode;

/// The name of one trial: a case, a mode, and which of its repeats.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TrialId {
    /// The skill's slug.
    pub skill: String,
    /// The case's id.
    pub case: String,
    /// The mode's name.
    pub mode: String,
    /// Which repeat, from 1.
    #[serde(rename = "trial")]
    pub number: u32,
}

impl TrialId {
    /// The test's name: `<skill>::<case>::<mode>` as a Rust path.
    #[must_use]
    pub fn test_name(&self) -> String {
        test_name(&self.skill, &self.case, &self.mode)
    }
}

/// As in artifact paths and messages: `xlsx/verify/codex`, `/2` behind it for a repeat.
impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.skill, self.case, self.mode)?;
        if self.number > 1 {
            write!(f, "/{}", self.number)?;
        }
        Ok(())
    }
}

/// A case in a mode: one test.
#[derive(Clone, Debug)]
pub struct Planned<'a> {
    /// The case.
    pub found: &'a Found,
    /// The mode.
    pub mode: &'a Mode,
}

impl Planned<'_> {
    /// The test's name.
    #[must_use]
    pub fn test_name(&self) -> String {
        test_name(&self.found.skill, &self.found.id, &self.mode.name)
    }

    /// The id of repeat `number`, from 1.
    #[must_use]
    pub fn trial(&self, number: u32) -> TrialId {
        TrialId { skill: self.found.skill.clone(), case: self.found.id.clone(), mode: self.mode.name.clone(), number }
    }
}

/// `<skill>::<case>::<mode>` as a Rust path, so that IDEs can find it.
#[must_use]
pub fn test_name(skill: &str, case: &str, mode: &str) -> String {
    format!("{}::{}::{}", segment(skill), segment(case), segment(mode))
}

/// A name as a segment of a Rust path: everything but letters, digits and `_` becomes `_`, and what Rust would not
/// take as an identifier gets a `_` in front.
#[must_use]
pub fn segment(name: &str) -> String {
    const KEYWORDS: [&str; 51] = [
        "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false", "fn",
        "for", "gen", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self",
        "Self", "static", "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while", "abstract",
        "become", "box", "do", "final", "macro", "override", "priv", "try", "typeof", "unsized", "virtual",
    ];
    let mut segment: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let starts_badly = !segment.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if segment.is_empty() {
        segment.push('_');
    }
    if starts_badly || segment == "_" || segment == "yield" || KEYWORDS.contains(&segment.as_str()) {
        segment.insert(0, '_');
    }
    segment
}
