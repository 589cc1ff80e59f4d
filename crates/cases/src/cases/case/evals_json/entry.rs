//! One case of an evals.json or a trigger set.

use std::collections::HashSet;

use super::{Document, Entry, NOTES, PROMPTS, SKILL, SKILLS, assertions, skill_named};
use crate::cases::case::document::{Node, NodeValue};
use crate::cases::case::foreign_case::ForeignCase;
use crate::cases::case::{Case, CaseFormat, ForeignFile, FoundCase, Unsupported};
use crate::checks::pattern::{Pattern, Style};
use crate::checks::{self, Check, Origin};
use crate::text::diagnostic::{Code, slip};
use crate::text::relative_path::RelativePath;
use crate::trial::input_file::{InputContent, InputFile};

/// The key of whether the skill should trigger, or of the skill that should.
pub(super) const SHOULD_TRIGGER: &str = "should_trigger";

/// Words for true and false, which are the name of no skill.
const FLAGS: [(&str, bool); 8] = [
    ("true", true),
    ("yes", true),
    ("y", true),
    ("on", true),
    ("false", false),
    ("no", false),
    ("n", false),
    ("off", false),
];

/// The keys of the skill that should trigger.
pub(super) const EXPECTED_SKILL: [&str; 2] = ["expect_skill", "expected_skill"];

/// The key of the skills that should trigger.
const ACTIVATED: &str = "skills_expected_to_activate";

/// The key of the script that the agent runs.
const SCRIPT: &str = "expected_script";

/// The key of the files that the workspace holds.
const FILES: &str = "files";

/// Reads the cases of a file.
pub(super) struct EntryReader<'a> {
    pub format: &'static CaseFormat,
    pub file: &'a ForeignFile<'a>,
    pub document: Document<'a>,
    /// What the file asks of every case and is not known.
    pub shared: Vec<Unsupported>,
    /// The skill that the file names.
    pub skill: Option<String>,
    /// The skills of which none may trigger where a case expects none.
    pub tested: Vec<String>,
    /// The names of the cases that have one.
    pub names: HashSet<String>,
}

/// The skill under test, and whether it should trigger.
struct Expected {
    skill: String,
    should_trigger: Option<bool>,
}

impl EntryReader<'_> {
    /// The case with this number, from 1.
    pub fn found(&mut self, entry: &Entry<'_>, number: usize) -> FoundCase {
        let node = entry.node;
        let id = self.file.case_id(&name(node).unwrap_or_else(|| self.unnamed(number)));
        let base = Case { unsupported: self.shared.clone(), ..Case::default() };
        let mut case = ForeignCase::new(&self.document, node, id, base);
        self.document.duplicate_keys(node, &[]);
        let expected = self.expected(entry, &mut case.draft.case);
        self.read(node, &mut case);
        case.draft.case.skill = self.file.skill_slug(&expected.skill);
        case.draft.should_trigger(expected.should_trigger);
        case.found(self.format, self.document.problems.take())
    }

    /// A name for the case with this number that no other case has.
    fn unnamed(&self, number: usize) -> String {
        let mut name = number.to_string();
        while self.names.contains(&name) {
            name.push_str("-unnamed");
        }
        name
    }

    fn read(&mut self, node: &Node, foreign: &mut ForeignCase) {
        let case = &mut foreign.draft.case;
        if let Some(text) = node.text() {
            text.clone_into(&mut case.prompt);
            return foreign.locate(&self.document, "prompt", Some(node));
        }
        if !node.is_map() {
            return self.document.wrong_type("a case", "an object", node);
        }
        let meant = || node.entries().iter().find_map(|entry| slip(&entry.key, PROMPTS));
        let key = PROMPTS.into_iter().find(|key| node.get(key).is_some()).or_else(meant).unwrap_or(PROMPTS[0]);
        if let Some(prompt) = self.document.required_text(node, key) {
            case.prompt = prompt.to_owned();
        }
        assertions::read(&mut self.document, node, case);
        let tags = node.get("tags").and_then(Node::elements).unwrap_or_default();
        case.tags = tags.iter().filter_map(Node::text).map(str::to_owned).collect();
        self.files(node, case);
        self.script(node, case);
        let own = ["id", SHOULD_TRIGGER, ACTIVATED, FILES, SKILLS, SCRIPT];
        let known: Vec<&str> =
            own.into_iter().chain([key]).chain(SKILL).chain(EXPECTED_SKILL).chain(assertions::KEYS).collect();
        case.unsupported.extend(self.document.unsupported_keys(node, &known, &NOTES));
        foreign.locate(&self.document, "prompt", node.get(key));
        foreign.locate(&self.document, FILES, node.get(FILES));
    }

    /// The script that a command runs, wherever the agent has it.
    fn script(&mut self, node: &Node, case: &mut Case) {
        let Some(script) = self.document.text(node, SCRIPT).filter(|text| !is_none(text)) else { return };
        let name = script.rsplit('/').next().unwrap_or(script).to_owned();
        let check = checks::script_command(Pattern { text: name, style: Style::Verbatim }, true);
        if let Some(value) = node.get(SCRIPT) {
            self.add_check(case, SCRIPT, value, check);
        }
    }

    fn files(&mut self, node: &Node, case: &mut Case) {
        for file in self.document.list(node, FILES).unwrap_or_default() {
            case.unsupported.extend(self.document.unsupported_keys(file, &["path", "content"], &["description"]));
            let path = if file.is_map() { self.document.required_text(file, "path") } else { file.text() };
            let Some(path) = path else {
                if !file.is_map() {
                    self.document.wrong_type(&format!("an element of `{FILES}`"), "a path", file);
                }
                continue;
            };
            match RelativePath::parse(path.strip_prefix("./").unwrap_or(path)) {
                Ok(path) => {
                    let content = match self.document.text(file, "content") {
                        Some(text) => InputContent::Text(text.to_owned()),
                        None => InputContent::Source(self.file.named_file(&path)),
                    };
                    case.files.push(InputFile { path, content });
                }
                Err(why) => self.document.bad_path(path, why, file),
            }
        }
    }

    fn expected(&mut self, entry: &Entry<'_>, case: &mut Case) -> Expected {
        let node = entry.node;
        let own = skill_named(self.file, &mut self.document, node);
        let own = own.or_else(|| entry.skill.map(str::to_owned)).or_else(|| self.skill.clone());
        let default = || own.clone().or_else(|| self.file.skill.map(str::to_owned));
        let named = self.named(node, case);
        let said = match node.get(SHOULD_TRIGGER).map(|node| &node.value) {
            Some(NodeValue::Flag(flag)) => Some(*flag),
            Some(NodeValue::Text(text)) if !is_flag(text) => {
                self.document.required_text(node, SHOULD_TRIGGER).and(entry.should_trigger)
            }
            // `null` at the key of the skill that should trigger says that it should not.
            None => entry.should_trigger.or(expects_none(node).then_some(false)),
            Some(value) => {
                let written = node.get(SHOULD_TRIGGER).unwrap_or(node);
                let expected = "true, false or the name of a skill";
                let what = format!("`{SHOULD_TRIGGER}`");
                let is_meant = |word: &str| matches!(value, NodeValue::Text(text) if text.eq_ignore_ascii_case(word));
                match FLAGS.iter().find(|(word, _)| is_meant(word)) {
                    Some((_, flag)) => {
                        let message = format!("{what} is {}; expected {expected}", written.kind());
                        let help = format!("did you mean {flag}?");
                        self.document.problem_with_help(Code::ValueType, written.range.clone(), message, help);
                    }
                    None => self.document.wrong_type(&what, expected, written),
                }
                None
            }
        };
        let about = own.as_deref().or(self.file.skill).map(str::to_owned);
        self.contradiction(node, said, named);
        let mut expected = Expected { skill: default().unwrap_or_default(), should_trigger: said };
        let expected_skills = named.map(|(key, _)| self.document.texts(node, key)).unwrap_or_default();
        match (named, &expected_skills[..]) {
            // Next to `should_trigger`, its name says only which skill the case is about.
            (Some(_), [name])
                if self.is_own(about.as_deref().filter(|_| said == Some(false)).or(own.as_deref()), name) =>
            {
                expected = Expected { skill: name.clone(), should_trigger: said.or(Some(true)) };
            }
            (Some((key, value)), [first, rest @ ..]) => {
                if rest.is_empty() {
                    // Another skill activates instead of the one under test.
                    expected.should_trigger = said.or(Some(false));
                }
                expected.skill = default().unwrap_or_else(|| first.clone());
                self.add_check(case, key, value, checks::activates(self.slugs(&expected_skills), false));
            }
            (Some((key @ ACTIVATED, value)), []) => {
                self.add_check(case, key, value, checks::rejects(vec!["*".to_owned()]));
            }
            (Some((key, value)), []) => self.document.not_empty(key, value),
            _ if own.is_none() && said == Some(false) && self.tested.len() > 1 => {
                expected.skill = default().unwrap_or_else(|| self.tested[0].clone());
                self.add_check(case, SHOULD_TRIGGER, node, checks::rejects(self.slugs(&self.tested)));
            }
            _ => {
                if let ([only], None) = (&self.tested[..], &own) {
                    expected.skill.clone_from(only);
                }
            }
        }
        expected
    }

    /// Reports a case whose skill should trigger although none is expected, or is expected to be "".
    fn contradiction(&mut self, node: &Node, said: Option<bool>, named: Option<(&'static str, &Node)>) {
        for entry in EXPECTED_SKILL.iter().filter_map(|key| node.entry(key)) {
            if entry.value.text().is_some_and(|text| text.trim().is_empty()) {
                let message = format!("`{}` is empty", entry.key);
                let help = "write null if no skill should activate";
                self.document.problem_with_help(Code::EmptyValue, entry.value.range.clone(), message, help);
                return;
            }
        }
        let is_none =
            expects_none(node) || named.is_some_and(|(_, value)| value.elements().is_some_and(<[Node]>::is_empty));
        if said == Some(true) && is_none {
            let place = node.get(SHOULD_TRIGGER).unwrap_or(node).range.clone();
            let message = "the case contradicts itself: the skill should trigger, and no skill is expected";
            self.document.problem_with_help(Code::BadChoice, place, message, "remove one of the two");
        }
    }

    /// The first key that names skills which trigger, and its value. Other skills at another key are unsupported.
    fn named<'n>(&self, node: &'n Node, case: &mut Case) -> Option<(&'static str, &'n Node)> {
        let keys = [SHOULD_TRIGGER, EXPECTED_SKILL[0], EXPECTED_SKILL[1], ACTIVATED];
        let mut all = keys
            .into_iter()
            .filter_map(|key| Some((key, node.get(key)?)))
            .filter(|(key, value)| *key != SHOULD_TRIGGER || value.text().is_some_and(|text| !is_flag(text)))
            .filter(|(_, value)| !value.text().is_some_and(|text| is_none(text) || text.trim().is_empty()));
        let first = all.next()?;
        for (key, value) in all.filter(|(_, value)| value.json() != first.1.json()) {
            let what = format!("`{key}` next to other skills that activate");
            case.unsupported.push(self.document.unsupported(what, value));
        }
        Some(first)
    }

    /// Whether `name` is the skill under test, which may be open.
    fn is_own(&self, own: Option<&str>, name: &str) -> bool {
        own.is_none_or(|own| self.file.skill_slug(own) == self.file.skill_slug(name))
    }

    fn slugs(&self, names: &[String]) -> Vec<String> {
        names.iter().map(|name| self.file.skill_slug(name)).collect()
    }

    /// Adds a check that is written in `value`, the value of `key`.
    fn add_check(&self, case: &mut Case, key: &'static str, value: &Node, check: Check) {
        let line = self.document.line_of(value.range.start);
        case.checks.push(Check { origin: Origin { key: key.into(), line, elsewhere: None }, ..check });
    }
}

/// Whether a case says that no skill is expected: there is the key, and nothing at it.
fn expects_none(node: &Node) -> bool {
    let mut expected = EXPECTED_SKILL.iter().filter_map(|key| node.entry(key));
    expected.any(|entry| entry.value.value == NodeValue::Null || entry.value.text().is_some_and(is_none))
}

/// Whether a text stands for nothing.
fn is_none(text: &str) -> bool {
    ["none", "null", "n/a", "-"].iter().any(|word| text.trim().eq_ignore_ascii_case(word))
}

/// Whether a text is a word for true or false.
fn is_flag(text: &str) -> bool {
    FLAGS.iter().any(|(word, _)| text.eq_ignore_ascii_case(word))
}

pub(super) fn name(node: &Node) -> Option<String> {
    let text = |key: &str| match &node.get(key)?.value {
        NodeValue::Text(text) | NodeValue::Number(text) if !text.trim().is_empty() => Some(text.clone()),
        _ => None,
    };
    text("name").or_else(|| text("id"))
}
