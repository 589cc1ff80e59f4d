//! Assertions that a skill is used.

use super::test_reader::{ASSERT, TestReader};
use crate::cases::case::document::{Node, NodeValue};
use crate::checks;
use crate::text::diagnostic::Code;

/// The kind of assertion.
pub(super) const KIND: &str = "skill-used";

/// What `rejects` names for every skill.
const ANY: &str = "*";

/// The skills that the assertions of an object name, and whether each is required.
pub(super) fn named(object: &Node) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for assertion in object.get(ASSERT).and_then(Node::elements).unwrap_or_default() {
        found.extend(named(assertion));
        let kind = assertion.get("type").and_then(Node::text).unwrap_or_default();
        let (is_not, kind) = kind.strip_prefix("not-").map_or((false, kind), |kind| (true, kind));
        if let Some(value) = assertion.get("value").filter(|_| kind == KIND) {
            let value = value.get("name").or_else(|| value.get("pattern")).unwrap_or(value);
            let names = value.elements().unwrap_or(std::slice::from_ref(value)).iter().filter_map(Node::text);
            found.extend(names.map(|name| (name.trim().to_owned(), !is_not)));
        }
    }
    found
}

impl TestReader<'_, '_> {
    /// These skills are used, or none of them is.
    pub(super) fn skill_use(&mut self, assertion: &Node, is_not: bool) {
        let Some(value) = self.document.required(assertion, "value") else { return };
        let (names, is_not) = if value.is_map() {
            match self.counted(value, is_not) {
                Some((name, is_not)) => (vec![name], is_not),
                None => return,
            }
        } else {
            let problems = self.document.problems.len();
            let written = self.document.texts(assertion, "value");
            let names: Vec<String> = written.iter().map(|name| name.trim().to_owned()).collect();
            if names.is_empty() || names.iter().any(String::is_empty) {
                if self.document.problems.len() == problems {
                    self.empty(value);
                }
                return;
            }
            (names, is_not)
        };
        let Some(names) = names.iter().map(|name| self.rendered(value, name)).collect::<Option<Vec<_>>>() else {
            return;
        };
        let slugs: Vec<String> = names.iter().map(|name| self.slug(name)).collect();
        // Triggering has a check of its own, which is also counted over all cases.
        let is_own = slugs.iter().all(|slug| *slug == self.case.skill);
        if is_own && self.should_trigger.is_none() {
            *self.should_trigger = Some(!is_not);
        } else {
            self.case.checks.push(if is_not { checks::rejects(slugs) } else { checks::activates(slugs, false) });
        }
    }

    fn slug(&self, name: &str) -> String {
        if name == ANY { name.to_owned() } else { self.file.skill_slug(name) }
    }

    /// The skill of `{ name, pattern, min, max }`, and whether it must not be used.
    fn counted(&mut self, value: &Node, is_not: bool) -> Option<(String, bool)> {
        let unknown = self.document.unsupported_keys(value, &["name", "pattern", "min", "max"], &[]);
        self.case.unsupported.extend(unknown);
        let count = |key: &str| match value.get(key).map(|node| &node.value) {
            None => Some(None),
            Some(NodeValue::Number(number)) => number.parse::<u64>().ok().map(Some),
            _ => None,
        };
        let is_not = match (count("min"), count("max"), is_not) {
            (Some(None), Some(None | Some(0)), true) | (Some(None | Some(0)), Some(Some(0)), false) => true,
            (Some(None | Some(1)), Some(None), false) => false,
            (None, ..) | (_, None, _) => {
                let key = if count("min").is_none() { "min" } else { "max" };
                let written = value.get(key).unwrap_or(value);
                let message = format!("`{key}` is not a number of uses");
                self.document.problem(Code::ValueType, written.range.clone(), message);
                return None;
            }
            _ => {
                let what = "how often a skill is used";
                self.not_done(value, what);
                return None;
            }
        };
        let name = self.document.text(value, "name").map(|name| name.trim().to_owned());
        let pattern = self.document.text(value, "pattern").map(|pattern| pattern.trim().to_owned());
        match (name.filter(|name| !name.is_empty()), pattern.filter(|pattern| !pattern.is_empty())) {
            (Some(name), None) if name != ANY => Some((name, is_not)),
            (None, Some(pattern)) if pattern == ANY && is_not => Some((pattern, is_not)),
            (None, Some(pattern)) if !pattern.contains(['*', '?']) => Some((pattern, is_not)),
            (None, None) => {
                self.document.missing(value, "name");
                None
            }
            _ => {
                self.not_done(value, "a pattern of names of skills");
                None
            }
        }
    }
}
