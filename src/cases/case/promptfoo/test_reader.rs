//! A test while its assertions are read.

use super::Dialect;
use super::template::{self, Vars};
use crate::cases::case::document::{Document, Node, NodeValue};
use crate::cases::case::{Case, ForeignFile};
use crate::text::diagnostic::{Code, shorten};
use crate::trial::outcome::Weight;

/// The key of the assertions.
pub(super) const ASSERT: &str = "assert";

/// The key of the value.
pub(super) const VALUE: &str = "value";

/// The key of the weight of an assertion.
pub(super) const WEIGHT: &str = "weight";

/// A test while it is read.
pub(super) struct TestReader<'r, 'a> {
    pub dialect: &'static Dialect,
    pub file: &'r ForeignFile<'a>,
    pub document: &'r mut Document<'a>,
    pub vars: &'r Vars<'r>,
    pub case: &'r mut Case,
    /// Whether the skill under test should trigger, if the test says so.
    pub should_trigger: &'r mut Option<bool>,
    /// What counts for that in the score.
    pub weight_of_trigger: &'r mut Option<Weight>,
    /// Whether something looks at the answer.
    pub reads_answer: &'r mut bool,
    /// What an assertion of weight 1 counts in the score; `None` if each must hold.
    pub share: Option<f64>,
    /// The number of assertions so far.
    pub parts: &'r mut u32,
}

impl TestReader<'_, '_> {
    /// What is not done of the test.
    pub(super) fn not_done(&mut self, node: &Node, what: impl Into<String>) {
        self.case.unsupported.push(self.document.unsupported(what, node));
    }

    /// Reports a value that is empty.
    pub(super) fn empty(&mut self, value: &Node) {
        self.document.problem(Code::EmptyValue, value.range.clone(), format!("`{VALUE}` is empty"));
    }

    /// A text of `value` with the values of its variables.
    pub(super) fn rendered(&mut self, value: &Node, text: &str) -> Option<String> {
        if template::is_reference(text) {
            self.not_done(value, format!("the file of an assertion, `{}`", shorten(text)));
            return None;
        }
        template::render(text, self.vars).map_err(|what| self.not_done(value, what)).ok()
    }
}

/// The number at a key.
pub(super) fn number(object: &Node, key: &str) -> Option<f64> {
    match &object.get(key)?.value {
        NodeValue::Number(number) => number.parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}

/// The weight of an assertion in the list that it is in.
pub(super) fn weight(assertion: &Node) -> f64 {
    number(assertion, WEIGHT).unwrap_or(1.0)
}
