//! A test while it is read. With a prompt it is a case.

use std::ops::{Deref, DerefMut};

use super::{PROVIDERS, SIGN, TestsFile, is_text_file, providers, template};
use crate::cases::case::document::{Node, NodeValue};
use crate::cases::case::foreign_reader::ForeignReader;
use crate::cases::case::{ForeignFile, FoundCase};
use crate::checks;
use crate::skill::SKILL_FILE;
use crate::text::diagnostic::{Code, shorten};
use crate::text::name::resolved;

pub(super) const ASSERT: &str = "assert";

/// The key of the value of an assertion.
pub(super) const VALUE: &str = "value";

/// The kind of assertion that a skill is used.
pub(super) const SKILL_USED: &str = "skill-used";

/// The key of a score that is enough.
pub(super) const THRESHOLD: &str = "threshold";

/// The key of the weight of an assertion.
pub(super) const WEIGHT: &str = "weight";

/// What `rejects` names for every skill.
const ANY: &str = "*";

/// The keys of a test, and of what every test has.
pub(super) const KEYS: [&str; 6] = ["vars", ASSERT, "options", THRESHOLD, PROVIDERS[0], PROVIDERS[1]];

/// A test while it is read.
pub(super) struct TestReader<'r, 'a> {
    reader: &'r mut ForeignReader<'a>,
    pub suite: &'r TestsFile<'a>,
    /// It, and the position of its document.
    test: (usize, &'a Node),
    /// Variables and their values, or what of a value is unsupported.
    vars: Vec<(&'a str, Result<String, String>)>,
    /// Whether something looks at the answer.
    pub reads_answer: bool,
    /// What an assertion of weight 1 counts in the score; `None` if each must hold.
    pub share: Option<f64>,
    /// The number of assertions so far.
    pub parts: u32,
}

impl<'a> Deref for TestReader<'_, 'a> {
    type Target = ForeignReader<'a>;

    fn deref(&self) -> &ForeignReader<'a> {
        self.reader
    }
}

impl<'a> DerefMut for TestReader<'_, 'a> {
    fn deref_mut(&mut self) -> &mut ForeignReader<'a> {
        self.reader
    }
}

/// The case of the prompt at this position with the test of this number, from 1.
pub(super) fn found<'a>(
    reader: &mut ForeignReader<'a>,
    suite: &TestsFile<'a>,
    prompt: usize,
    test: (usize, &'a Node),
    number: usize,
) -> FoundCase {
    let (at, node) = test;
    reader.at = at;
    let id = id(reader, node, (suite.prompts.len() > 1).then_some(prompt + 1), number);
    reader.start(id, node);
    reader.case.skill = skill(reader, suite, node);
    let vars = Vec::new();
    let mut test = TestReader { reader, suite, test, vars, reads_answer: false, share: None, parts: 0 };
    match node.text() {
        Some(name) => test.not_done(node, format!("the tests in `{}`", shorten(name))),
        None if node.is_map() => test.read(prompt),
        None => test.wrong_type("a test", "an object", node),
    }
    let used = template::names(&suite.prompts[prompt].0).find_map(|name| node.get("vars")?.get(name));
    reader.locate_value("prompt", used.or(Some(node)));
    reader.finish()
}

/// The id of a test with one of several prompts.
fn id(reader: &mut ForeignReader<'_>, test: &Node, prompt: Option<usize>, number: usize) -> String {
    // `promptfooconfig.greeting.yaml` has other cases than `promptfooconfig.yaml`.
    let name = reader.file.path.file_name().unwrap_or_default().to_string_lossy();
    let middle = name.split('.').skip(1).filter(|part| !part.eq_ignore_ascii_case("eval"));
    let mut parts: Vec<String> = middle.map(str::to_owned).collect();
    parts.pop();
    let named = ["id", "description"].iter().find_map(|key| test.get(key)?.text());
    parts.push(named.map_or_else(|| number.to_string(), str::to_owned));
    let end = prompt.map_or_else(String::new, |prompt| format!("-{prompt}"));
    let name = parts.join("-");
    reader.free_id(&format!("{name}{end}"), || format!("{number}{end}-{name}"))
}

/// The skill under test: the one that the file's place stands for, or that the test requires, or that it forbids, or that
/// another test names if this one names none. Of these, the first that is here.
fn skill(reader: &ForeignReader<'_>, suite: &TestsFile<'_>, test: &Node) -> String {
    let file = reader.file;
    let lists = [Some(test), suite.default, Some(reader.root)].into_iter().flatten();
    let mut asked: Vec<(String, bool)> = lists.clone().flat_map(skills).collect();
    asked.sort_by_key(|(_, is_required)| !is_required);
    asked.extend(lists.clone().filter_map(|object| skill_of_vars(object, file)).map(|name| (name, false)));
    let names = file.skill.into_iter().chain(asked.iter().map(|(name, _)| name.as_str()));
    // A test of a skill that is not here is none of another one.
    let other = lists.clone().find_map(skill_variable).or(suite.other_skill.as_deref());
    file.first_here(names.chain(other))
}

impl<'a> TestReader<'_, 'a> {
    fn read(&mut self, prompt: usize) {
        let node = self.test.1;
        self.duplicate_keys(node, &[]);
        let default = self.suite.default.map(|default| (0, default));
        let own = [&["id"], self.suite.dialect.test_keys].concat();
        for (placed, more) in [(Some(self.test), &own[..]), (default, &[])] {
            let Some((at, object)) = placed else { continue };
            self.at = at;
            self.only_keys(object, &[&KEYS, more].concat(), "description metadata tags");
            if let Some(options) = self.map(object, "options") {
                // The judge's own settings choose its model.
                self.only_keys(options, &["disableVarExpansion", "transform"], "provider runSerially storeOutputAs");
            }
            let programs = PROVIDERS.iter().filter_map(|key| object.get(key)).flat_map(Node::each);
            let programs: Vec<&Node> = programs.filter(|program| program.is_map()).collect();
            providers(self, object, &programs);
            self.read_vars(object);
        }
        self.at = self.test.0;
        self.ask(prompt);
        self.threshold();
        let levels = [default, Some((0, self.root)), Some(self.test)].into_iter().flatten();
        let mut assertions = levels.clone().filter_map(|(_, object)| object.get(ASSERT)?.elements()).flatten();
        let has_weight = assertions.any(|assertion| assertion.get(WEIGHT).is_some());
        self.share = (self.case.least_score.is_some() || has_weight).then_some(1.0);
        for (at, object) in levels {
            self.at = at;
            if let Some(criteria) = object.get("criteria").filter(|_| self.suite.dialect.has_criteria) {
                self.assertion(criteria);
            }
            self.assertions(object);
        }
        if let Some((at, transform)) = self.option("transform").filter(|_| self.reads_answer) {
            self.at = at;
            self.not_done(transform, "a change of the answer before it is checked");
        }
        self.at = self.test.0;
    }

    /// Reads the variables of an object that are not set yet.
    fn read_vars(&mut self, object: &'a Node) {
        let written = if object.text().is_some() { Some(object) } else { object.get("vars") };
        if let Some(name) = written.filter(|vars| !vars.is_map()) {
            return self.not_done(name, "values of another file");
        }
        let input = self.suite.dialect.test_keys.first().and_then(|key| object.entry(key));
        let expands = self.option("disableVarExpansion").is_none_or(|(_, flag)| flag.value != NodeValue::Flag(true));
        for entry in object.get("vars").into_iter().flat_map(Node::entries).chain(input) {
            let (name, value) = (entry.key.as_str(), &entry.value);
            if self.vars.iter().any(|(known, _)| *known == name) {
                continue;
            }
            if expands && value.elements().and_then(<[Node]>::first).is_some_and(|first| first.text().is_some()) {
                self.not_done(value, format!("several values of the variable `{name}`"));
            }
            let message = self.suite.dialect.message;
            let read = message(value).or_else(|| self.text_file(value).map(Ok));
            let read = read.unwrap_or_else(|| template::value(name, value));
            self.vars.push((name, read));
        }
    }

    /// What is in the text file that a value names.
    fn text_file(&mut self, value: &Node) -> Option<String> {
        let path = value.text()?.strip_prefix(SIGN).filter(|path| is_text_file(path))?;
        let path = resolved(&self.folder().join(path))?;
        let text = self.file.text_of(&path).ok()?;
        self.claims.push(path);
        Some(text.trim_end().to_owned())
    }

    /// The value of an option of the test, or of every test.
    fn option(&self, key: &str) -> Option<(usize, &'a Node)> {
        self.objects().find_map(|(at, object)| Some((at, object.get("options")?.get(key)?)))
    }

    /// The test, and what every test has, each with the position of its document.
    fn objects(&self) -> impl Iterator<Item = (usize, &'a Node)> + Clone + use<'a> {
        [Some(self.test), self.suite.default.map(|default| (0, default))].into_iter().flatten()
    }

    /// Fills the prompt.
    fn ask(&mut self, prompt: usize) {
        let node = self.test.1;
        let (template, not_done) = &self.suite.prompts[prompt];
        self.case.unsupported.extend(not_done.iter().cloned());
        match template::render(template, &self.vars) {
            _ if !not_done.is_empty() => {}
            Ok(prompt) if prompt.trim().is_empty() => {
                let range = node.range.start..node.range.start + 1;
                self.problem(Code::EmptyValue, range, "the prompt is empty");
            }
            Ok(prompt) => self.case.prompt = prompt,
            Err(what) => self.not_done(node, what),
        }
        if self.case.prompt.is_empty() {
            template.clone_into(&mut self.case.prompt);
        }
    }

    /// The score that is enough for a pass.
    fn threshold(&mut self) {
        let objects = self.objects().chain([(0, self.root)]);
        let found = objects.map(|(at, object)| Some((at, object.get(THRESHOLD)?))).find_map(|found| found);
        self.case.least_score = match found {
            None => self.suite.dialect.threshold,
            Some((at, written)) => {
                let least = written.amount().filter(|least| (0.0..=1.0).contains(least));
                if least.is_none() {
                    self.documents[at].wrong_type("`threshold`", "a score from 0 to 1", written);
                }
                least
            }
        };
    }

    /// Reports a value that is empty.
    pub fn empty(&mut self, value: &Node) {
        self.problem(Code::EmptyValue, value.range.clone(), format!("`{VALUE}` is empty"));
    }

    /// A text of `value` with the values of its variables.
    pub fn rendered(&mut self, value: &Node, text: &str) -> Option<String> {
        if template::is_reference(text) {
            self.not_done(value, format!("the file of an assertion, `{}`", shorten(text)));
            return None;
        }
        template::render(text, &self.vars).map_err(|what| self.not_done(value, what)).ok()
    }

    /// The skills of a value are used, or none of them is.
    pub(super) fn skill_use(&mut self, value: &Node, is_not: bool) {
        let (names, is_not) = if value.is_map() {
            let Some((name, is_not)) = self.counted(value, is_not) else { return };
            (vec![name], is_not)
        } else {
            let names: Vec<&str> = value.each().iter().filter_map(Node::text).map(str::trim).collect();
            if names.len() < value.each().len() {
                return self.wrong_type(&format!("`{VALUE}`"), "names of skills", value);
            }
            if names.is_empty() || names.contains(&"") {
                return self.empty(value);
            }
            (names, is_not)
        };
        let names: Option<Vec<String>> = names.into_iter().map(|name| self.rendered(value, name)).collect();
        let slug = |name: String| if name == ANY { name } else { self.file.skill_slug(&name) };
        let Some(slugs) = names.map(|names| names.into_iter().map(slug).collect::<Vec<_>>()) else { return };
        if !self.triggers(&slugs, !is_not, false) {
            self.case.checks.push(if is_not { checks::rejects(slugs) } else { checks::activates(slugs, false) });
        }
    }

    /// The skill of `{ name, pattern, min, max }`, and whether it must not be used.
    fn counted<'n>(&mut self, value: &'n Node, is_not: bool) -> Option<(&'n str, bool)> {
        self.only_keys(value, &["name", "pattern", "min", "max"], "");
        let found = self.problems.found();
        let [least, most] = ["min", "max"].map(|key| self.count(value, key, 0..=u64::MAX, "a number of uses"));
        if self.problems.found() > found {
            return None;
        }
        let is_not = match (least, most, is_not) {
            (None, None | Some(0), true) | (None | Some(0), Some(0), false) => true,
            (None | Some(1), None, false) => false,
            _ => {
                self.not_done(value, "how often a skill is used");
                return None;
            }
        };
        let [name, pattern] = ["name", "pattern"].map(|key| self.text(value, key).unwrap_or("").trim());
        match (name, pattern) {
            ("", "") => self.missing(value, "name"),
            ("", ANY) if is_not => return Some((ANY, true)),
            ("", name) | (name, "") if !name.contains(['*', '?']) => return Some((name, is_not)),
            _ => self.not_done(value, "a pattern of names of skills"),
        }
        None
    }
}

/// The weight of an assertion in the list that it is in.
pub(super) fn weight(assertion: &Node) -> f64 {
    assertion.get(WEIGHT).and_then(Node::amount).unwrap_or(1.0)
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

/// The skill here whose SKILL.md a variable of an object names, or that a variable of a skill names.
pub(super) fn skill_of_vars(object: &Node, file: &ForeignFile<'_>) -> Option<String> {
    let named = object.get("vars")?.entries().iter().filter_map(|entry| {
        let text = entry.value.text()?.trim();
        let folder = text.strip_suffix(SKILL_FILE).map(|path| path.trim_end_matches('/'));
        let name = folder.map(|folder| folder.rsplit('/').next().unwrap_or(folder));
        name.or(Some(text).filter(|_| entry.key.to_lowercase().contains("skill")))
    });
    named.filter(|name| file.has_skill(name)).map(str::to_owned).next()
}

/// The name at the variable `skill` of an object, also of a skill that is not here.
fn skill_variable(object: &Node) -> Option<&str> {
    let name = object.get("vars")?.get("skill")?.text()?.trim();
    (!name.is_empty() && !name.contains(char::is_whitespace)).then_some(name)
}

/// The kind of an assertion, and whether that must not hold.
pub(super) fn kind(assertion: &Node) -> (bool, &str) {
    let kind = assertion.get("type").and_then(Node::text).unwrap_or_default();
    kind.strip_prefix("not-").map_or((false, kind), |kind| (true, kind))
}
