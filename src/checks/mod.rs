//! What a case can ask of its trial. A [`Check`] is a value: which kind, where it was written, and how to evaluate it.
//!
//! Each kind of check is one file in `kinds` and one line in [`KINDS`]. The file says how cases write the check ([`Field`]),
//! what it is about, and how the evidence answers it. Case formats, grading, lint and reports iterate over the registry
//! and never match on a kind.

pub mod field;
mod kinds;
pub mod pattern;
pub mod schema;
pub mod subject;

use std::fmt;
use std::sync::Arc;

pub use field::{Field, FieldForm, FieldValue, InvalidField};
pub use kinds::{NOT_TRIGGERED, TRIGGERED, changes_seen, invoked_skills, max_commands, output_schema, triggers};
pub use subject::{CheckAnswer, Subject};

use crate::checks::kinds::{answer, changes, commands, description, file, resource, text, tokens, trigger};
use crate::checks::pattern::Pattern;
use crate::text::relative_path::RelativePath;
use crate::trial::outcome::{CheckResult, Goal};

/// Every kind of check, in the order in which a case's checks are made.
pub static KINDS: [&CheckKind; 16] = [
    &trigger::TRIGGERED_KIND,
    &trigger::NOT_TRIGGERED_KIND,
    &text::OUTPUT_CONTAINS,
    &text::OUTPUT_MATCHES,
    &resource::LOADED,
    &description::DESCRIBED,
    &changes::SEEN,
    &answer::OUTPUT_SCHEMA,
    &answer::INVOKED_SKILLS,
    &text::MUST_INCLUDE,
    &text::MUST_NOT_INCLUDE,
    &file::REQUIRED,
    &commands::MAX_COMMANDS,
    &tokens::MAX_INPUT,
    &tokens::MAX_OUTPUT,
    &tokens::MAX_TOTAL,
];

/// A kind of check.
#[derive(Debug)]
pub struct CheckKind {
    /// Its stable name in results, kebab-case.
    pub id: &'static str,
    /// What it is about.
    pub goal: Goal,
    /// Whether it asks what became of the skill under test: no question for an agent without the skill.
    pub asks_for_skill: bool,
    /// How cases write it; `None` if it follows from something else that the case says.
    pub field: Option<CheckField>,
}

/// How cases write a kind of check.
#[derive(Debug)]
pub struct CheckField {
    /// The name and the form of the value.
    pub field: Field,
    /// Makes the question of a value; `None` if the value asks for nothing.
    pub ask: fn(FieldValue) -> Option<Arc<dyn Ask>>,
}

/// What one check asks, and how the evidence answers it.
pub trait Ask: fmt::Debug + Send + Sync {
    /// Answers by the evidence of a trial; `None` if this evidence cannot be asked.
    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer>;

    /// The text that the final message must hold, or must not.
    fn text(&self) -> Option<(&Pattern, Presence)> {
        None
    }

    /// The file that the workspace must hold.
    fn required_file(&self) -> Option<&RelativePath> {
        None
    }
}

/// Whether a text must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It must.
    Present,
    /// It must not.
    Absent,
}

/// One thing that a case asks of its trial.
#[derive(Clone, Debug)]
pub struct Check {
    /// What kind of check.
    pub kind: &'static CheckKind,
    /// Where the case asks for it.
    pub origin: Origin,
    /// What exactly it asks.
    pub ask: Arc<dyn Ask>,
}

/// Where in the file of its case a check was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The column or key as it is spelled there; empty for what every case of the format asks.
    pub key: &'static str,
    /// The line, from 1; 0 if the check stands nowhere.
    pub line: usize,
}

impl Check {
    /// A check that follows from the format of its case and stands nowhere in the file.
    pub fn implied(kind: &'static CheckKind, ask: impl Ask + 'static) -> Self {
        Self { kind, origin: Origin::default(), ask: Arc::new(ask) }
    }

    /// Answers the check; `None` if this trial cannot be asked.
    pub fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckResult> {
        if self.kind.asks_for_skill && !subject.evidence.meta.delivery.offers_skills() {
            return None;
        }
        let CheckAnswer { status, expected, found, spans } = self.ask.evaluate(subject)?;
        let CheckKind { id, goal, .. } = *self.kind;
        Some(CheckResult { id: id.to_owned(), goal, status, expected, found, custom: false, spans })
    }
}

/// Whether checks with this id ask what became of the skill under test.
pub fn asks_for_skill(id: &str) -> bool {
    KINDS.iter().any(|kind| kind.id == id && kind.asks_for_skill)
}
