//! Assertions that a skill is used.

use super::suite::VALUE;
use super::test_reader::TestReader;
use crate::cases::case::document::Node;
use crate::checks;

/// What `rejects` names for every skill.
const ANY: &str = "*";

impl TestReader<'_, '_> {
    /// The skills of a value are used, or none of them is.
    pub(super) fn skill_use(&mut self, value: &Node, is_not: bool) {
        let (names, is_not) = if value.is_map() {
            let Some((name, is_not)) = self.counted(value, is_not) else { return };
            (vec![name], is_not)
        } else {
            let names: Vec<&str> = value.each().iter().filter_map(Node::text).map(str::trim).collect();
            if names.len() < value.each().len() {
                return self.document().wrong_type(&format!("`{VALUE}`"), "names of skills", value);
            }
            if names.is_empty() || names.contains(&"") {
                return self.empty(value);
            }
            (names, is_not)
        };
        let names: Option<Vec<String>> = names.into_iter().map(|name| self.rendered(value, name)).collect();
        let slug = |name: String| if name == ANY { name } else { self.suite.file.skill_slug(&name) };
        let Some(slugs) = names.map(|names| names.into_iter().map(slug).collect::<Vec<_>>()) else { return };
        // Triggering has a check of its own, which is also counted over all cases.
        if self.should_trigger.is_none() && slugs.iter().all(|slug| *slug == self.case.skill) {
            self.should_trigger = Some(!is_not);
        } else {
            self.case.checks.push(if is_not { checks::rejects(slugs) } else { checks::activates(slugs, false) });
        }
    }

    /// The skill of `{ name, pattern, min, max }`, and whether it must not be used.
    fn counted<'n>(&mut self, value: &'n Node, is_not: bool) -> Option<(&'n str, bool)> {
        self.unsupported_keys(value, &["name", "pattern", "min", "max"], &[]);
        for key in ["min", "max"] {
            if let Some(written) = value.get(key).filter(|written| written.count().is_none()) {
                self.document().wrong_type(&format!("`{key}`"), "a number of uses", written);
                return None;
            }
        }
        let count = |key: &str| value.get(key).and_then(Node::count);
        let is_not = match (count("min"), count("max"), is_not) {
            (None, None | Some(0), true) | (None | Some(0), Some(0), false) => true,
            (None | Some(1), None, false) => false,
            _ => {
                self.not_done(value, "how often a skill is used");
                return None;
            }
        };
        let [name, pattern] = ["name", "pattern"].map(|key| self.document().text(value, key).unwrap_or("").trim());
        match (name, pattern) {
            ("", "") => self.document().missing(value, "name"),
            ("", ANY) if is_not => return Some((ANY, true)),
            ("", name) | (name, "") if !name.contains(['*', '?']) => return Some((name, is_not)),
            _ => self.not_done(value, "a pattern of names of skills"),
        }
        None
    }
}
