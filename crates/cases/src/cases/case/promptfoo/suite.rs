//! A file of tests while it is read.

use std::collections::HashSet;

use super::Dialect;
use crate::cases::case::document::{Document, Node};
use crate::cases::case::{Case, ForeignFile};

pub(super) const ASSERT: &str = "assert";

/// The key of the value of an assertion.
pub(super) const VALUE: &str = "value";

/// The kind of assertion that a skill is used.
pub(super) const SKILL_USED: &str = "skill-used";

/// A value, and the position of its document.
pub(super) type Placed<'n> = (usize, &'n Node);

pub(super) struct TestSuite<'a> {
    pub dialect: &'static Dialect,
    pub file: &'a ForeignFile<'a>,
    /// The file, and the files of tests that it names.
    pub documents: Vec<Document<'a>>,
    pub root: &'a Node,
    /// What every test has.
    pub default: Option<&'a Node>,
    /// What the file asks of every case.
    pub base: Case,
    /// The slug of the skill of a test that names none which is here: the first one of the file that is.
    pub other_skill: Option<String>,
    /// The ids so far.
    pub names: HashSet<String>,
}

impl TestSuite<'_> {
    /// The id of a test with one of several prompts.
    pub fn id(&mut self, test: &Node, prompt: Option<usize>, number: usize) -> String {
        // `promptfooconfig.greeting.yaml` has other cases than `promptfooconfig.yaml`.
        let name = self.file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let middle = name.split('.').skip(1).filter(|part| !part.eq_ignore_ascii_case("eval"));
        let mut parts: Vec<String> = middle.map(str::to_owned).collect();
        parts.pop();
        let named = ["id", "description"].iter().find_map(|key| test.get(key)?.text());
        parts.push(named.map_or_else(|| number.to_string(), str::to_owned));
        let end = prompt.map_or_else(String::new, |prompt| format!("-{prompt}"));
        let name = parts.join("-");
        self.file.free_id(&format!("{name}{end}"), || format!("{number}{end}-{name}"), &mut self.names)
    }

    /// The skill under test: the one that the file's place stands for, or that the test requires, or that it forbids, or that
    /// another test names. Of these, the first that is here.
    pub fn skill(&self, test: &Node) -> String {
        let lists = [Some(test), self.default, Some(self.root)].into_iter().flatten();
        let mut asked: Vec<(String, bool)> = lists.flat_map(skills).collect();
        asked.sort_by_key(|(_, is_required)| !is_required);
        let names = self.file.skill.into_iter().chain(asked.iter().map(|(name, _)| name.as_str()));
        let slugs: Vec<String> = names.map(|name| self.file.skill_slug(name)).collect();
        let mut all = slugs.iter().chain(&self.other_skill);
        let here = all.clone().find(|slug| self.file.skills.contains(&slug.as_str()));
        here.or_else(|| all.next()).cloned().unwrap_or_default()
    }
}

/// Whether a text that may be broken has an assertion that names a skill. Half of the bytes of UTF-16 are zeros.
pub(in crate::cases::case) fn mentions_skill(text: &[u8]) -> bool {
    String::from_utf8_lossy(text).replace('\0', "").contains(SKILL_USED)
}

/// The skills that the assertions of an object name, and whether each is required.
pub(super) fn skills(object: &Node) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for assertion in object.get(ASSERT).and_then(Node::elements).unwrap_or_default() {
        found.extend(skills(assertion));
        let (is_not, kind) = kind(assertion);
        if let Some(value) = assertion.get(VALUE).filter(|_| kind == SKILL_USED) {
            let value = value.get("name").or_else(|| value.get("pattern")).unwrap_or(value);
            found.extend(value.each().iter().filter_map(Node::text).map(|name| (name.trim().to_owned(), !is_not)));
        }
    }
    found
}

/// The kind of an assertion, and whether that must not hold.
pub(super) fn kind(assertion: &Node) -> (bool, &str) {
    let kind = assertion.get("type").and_then(Node::text).unwrap_or_default();
    kind.strip_prefix("not-").map_or((false, kind), |kind| (true, kind))
}
