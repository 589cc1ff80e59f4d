//! One case of an evals.json or a trigger set.

use std::collections::HashSet;

use super::{EvalEntry, ForeignReader, NOTES, PROMPTS, SKILL, SKILLS, assertions, skill_named};
use crate::cases::case::FoundCase;
use crate::cases::case::document::{Node, NodeValue};
use crate::cases::case::foreign_reader::name;
use crate::checks::pattern::{Pattern, Style};
use crate::checks::{self, CaseCheck, Origin};
use crate::text::diagnostic::{Code, slip};
use crate::text::relative_path::RelativePath;
use crate::trial::input_file::InputContent;

/// The key of whether the skill should trigger, or of the skill that should.
pub(super) const SHOULD_TRIGGER: &str = "should_trigger";

/// Words for true and false, which are the name of no skill.
const FLAGS: [([&str; 4], bool); 2] = [(["true", "yes", "y", "on"], true), (["false", "no", "n", "off"], false)];

/// The keys of the skill that should trigger.
pub(super) const EXPECTED_SKILL: [&str; 2] = ["expect_skill", "expected_skill"];

/// The key of the skills that should trigger.
const ACTIVATED: &str = "skills_expected_to_activate";

/// The key of the script that the agent runs.
const SCRIPT: &str = "expected_script";

/// The key of the files that the workspace holds.
const FILES: &str = "files";

/// What a file says of its cases.
pub(super) struct FileSays {
    /// The skill that it names.
    pub skill: Option<String>,
    /// The skills of which none may trigger where a case expects none.
    pub tested: Vec<String>,
    /// The names of the cases that have one.
    pub names: HashSet<String>,
}

/// The case with this number, from 1.
pub(super) fn found(
    reader: &mut ForeignReader<'_>,
    says: &FileSays,
    entry: &EvalEntry<'_>,
    number: usize,
) -> FoundCase {
    let node = entry.node;
    let name = name_of(node).unwrap_or_else(|| {
        // No other case has it.
        let mut name = number.to_string();
        while says.names.contains(&name) {
            name.push_str("-unnamed");
        }
        name
    });
    reader.start(reader.file.case_id(&name), node);
    reader.duplicate_keys(node, &[]);
    let skill = expected(reader, says, entry);
    read(reader, node);
    reader.case.skill = reader.file.skill_slug(&skill);
    reader.finish()
}

fn read(reader: &mut ForeignReader<'_>, node: &Node) {
    if let Some(text) = node.text() {
        text.clone_into(&mut reader.case.prompt);
        return reader.locate_value("prompt", Some(node));
    }
    if !node.is_map() {
        return reader.wrong_type("a case", "an object", node);
    }
    let meant = || node.entries().iter().find_map(|entry| slip(&entry.key, PROMPTS));
    let key = PROMPTS.into_iter().find(|key| node.get(key).is_some()).or_else(meant).unwrap_or(PROMPTS[0]);
    if let Some(prompt) = reader.required_text(node, key) {
        prompt.clone_into(&mut reader.case.prompt);
    }
    assertions::read(reader, node);
    let tags = node.get("tags").and_then(Node::elements).unwrap_or_default();
    reader.case.tags = tags.iter().filter_map(Node::text).map(str::to_owned).collect();
    files(reader, node);
    script(reader, node);
    let own = ["id", SHOULD_TRIGGER, ACTIVATED, FILES, SKILLS, SCRIPT, key];
    let known: Vec<&str> = own.into_iter().chain(SKILL).chain(EXPECTED_SKILL).chain(assertions::KEYS).collect();
    reader.only_keys(node, &known, NOTES);
    reader.locate_value("prompt", node.get(key));
    reader.locate_value(FILES, node.get(FILES));
}

/// The script that a command runs, wherever the agent has it.
fn script(reader: &mut ForeignReader<'_>, node: &Node) {
    let script = reader.text(node, SCRIPT).filter(|text| !is_none(text));
    if let (Some(script), Some(value)) = (script, node.get(SCRIPT)) {
        let name = script.rsplit('/').next().unwrap_or(script).to_owned();
        let check = checks::script_command(Pattern { text: name, style: Style::Verbatim }, true);
        add_check(reader, SCRIPT, value, check);
    }
}

fn files(reader: &mut ForeignReader<'_>, node: &Node) {
    for file in reader.list(node, FILES).unwrap_or_default() {
        reader.only_keys(file, &["path", "content"], "description");
        let path = if file.is_map() { reader.required_text(file, "path") } else { file.text() };
        let Some(path) = path else {
            if !file.is_map() {
                reader.wrong_type(&format!("an element of `{FILES}`"), "a path", file);
            }
            continue;
        };
        match RelativePath::parse(path.strip_prefix("./").unwrap_or(path)) {
            Ok(path) => {
                let content = match reader.text(file, "content") {
                    Some(text) => InputContent::Text(text.to_owned()),
                    None => InputContent::Source(reader.file.named_file(&path)),
                };
                reader.add_file(path, content);
            }
            Err(why) => reader.bad_path(path, why, file),
        }
    }
}

/// Whether the skill should trigger, by the key or by the list of the case.
fn said(reader: &mut ForeignReader<'_>, entry: &EvalEntry<'_>) -> Option<bool> {
    let node = entry.node;
    let Some(written) = node.get(SHOULD_TRIGGER) else {
        // `null` at the key of the skill that should trigger says that it should not.
        return entry.should_trigger.or(expects_none(node).then_some(false));
    };
    match &written.value {
        NodeValue::Flag(flag) => return Some(*flag),
        NodeValue::Text(text) if flag(text).is_none() => {
            return reader.required_text(node, SHOULD_TRIGGER).and(entry.should_trigger);
        }
        _ => {}
    }
    let (what, expected) = (format!("`{SHOULD_TRIGGER}`"), "true, false or the name of a skill");
    match written.text().and_then(flag) {
        Some(flag) => {
            let message = format!("{what} is {}; expected {expected}", written.kind());
            let help = format!("did you mean {flag}?");
            reader.problem_with_help(Code::ValueType, written.range.clone(), message, help);
        }
        None => reader.wrong_type(&what, expected, written),
    }
    None
}

/// Reads whether the skill under test should trigger. Returns that skill.
fn expected(reader: &mut ForeignReader<'_>, says: &FileSays, entry: &EvalEntry<'_>) -> String {
    let (file, node) = (reader.file, entry.node);
    let own = skill_named(reader, node);
    let own = own.or_else(|| entry.skill.map(str::to_owned)).or_else(|| says.skill.clone());
    let named = named(reader, node);
    let said = said(reader, entry);
    // The directory says it if nothing else does.
    let about = own.as_deref().or(file.skill);
    contradiction(reader, node, said, named);
    reader.should_trigger = said;
    let skill = about.unwrap_or_default();
    let is_own = |own: Option<&str>, name: &str| own.is_none_or(|own| file.skill_slug(own) == file.skill_slug(name));
    let slugs = |names: &[String]| names.iter().map(|name| file.skill_slug(name)).collect::<Vec<_>>();
    let skills = named.map(|(key, _)| reader.texts(node, key)).unwrap_or_default();
    match (named, &skills[..]) {
        // Next to `should_trigger`, its name says only which skill the case is about.
        (Some(_), [name]) if is_own(about.filter(|_| said == Some(false)).or(own.as_deref()), name) => {
            reader.should_trigger = said.or(Some(true));
            name.clone()
        }
        (Some((key, value)), [first, rest @ ..]) => {
            if rest.is_empty() {
                // Another skill activates instead of the one under test.
                reader.should_trigger = said.or(Some(false));
            }
            add_check(reader, key, value, checks::activates(slugs(&skills), false));
            about.unwrap_or(first).to_owned()
        }
        (Some((key @ ACTIVATED, value)), []) => {
            add_check(reader, key, value, checks::rejects(vec!["*".to_owned()]));
            skill.to_owned()
        }
        (Some((key, value)), []) => {
            reader.not_empty(key, value);
            skill.to_owned()
        }
        _ if own.is_none() && said == Some(false) && says.tested.len() > 1 => {
            add_check(reader, SHOULD_TRIGGER, node, checks::rejects(slugs(&says.tested)));
            about.unwrap_or(&says.tested[0]).to_owned()
        }
        _ => match (&says.tested[..], &own) {
            ([only], None) => only.clone(),
            _ => skill.to_owned(),
        },
    }
}

/// Reports a case whose skill should trigger although none is expected, or is expected to be "".
fn contradiction(
    reader: &mut ForeignReader<'_>,
    node: &Node,
    said: Option<bool>,
    named: Option<(&'static str, &Node)>,
) {
    let is_blank = |node: &Node| node.text().is_some_and(|text| text.trim().is_empty());
    let mut expected = EXPECTED_SKILL.iter().filter_map(|key| node.entry(key));
    if let Some(entry) = expected.find(|entry| is_blank(&entry.value)) {
        let (message, help) = (format!("`{}` is empty", entry.key), "write null if no skill should activate");
        return reader.problem_with_help(Code::EmptyValue, entry.value.range.clone(), message, help);
    }
    let is_none =
        expects_none(node) || named.is_some_and(|(_, value)| value.elements().is_some_and(<[Node]>::is_empty));
    if said == Some(true) && is_none {
        let place = node.get(SHOULD_TRIGGER).unwrap_or(node).range.clone();
        let message = "the case contradicts itself: the skill should trigger, and no skill is expected";
        reader.problem_with_help(Code::BadChoice, place, message, "remove one of the two");
    }
}

/// The first key that names skills which trigger, and its value. Other skills at another key are unsupported.
fn named<'n>(reader: &mut ForeignReader<'_>, node: &'n Node) -> Option<(&'static str, &'n Node)> {
    let keys = [SHOULD_TRIGGER, EXPECTED_SKILL[0], EXPECTED_SKILL[1], ACTIVATED];
    let mut all = keys
        .into_iter()
        .filter_map(|key| Some((key, node.get(key)?)))
        .filter(|(key, value)| *key != SHOULD_TRIGGER || value.text().is_some_and(|text| flag(text).is_none()))
        .filter(|(_, value)| !value.text().is_some_and(|text| is_none(text) || text.trim().is_empty()));
    let first = all.next()?;
    for (key, value) in all.filter(|(_, value)| value.json() != first.1.json()) {
        reader.not_done(value, format!("`{key}` next to other skills that activate"));
    }
    Some(first)
}

/// Adds a check that is written in `value`, the value of `key`.
fn add_check(reader: &mut ForeignReader<'_>, key: &'static str, value: &Node, check: CaseCheck) {
    let line = reader.line_of(value.range.start);
    reader.case.checks.push(CaseCheck { origin: Origin { key: key.into(), line, elsewhere: None }, ..check });
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

/// What a text says that is a word for true or false.
fn flag(text: &str) -> Option<bool> {
    let has_it = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    FLAGS.iter().find(|(words, _)| has_it(words)).map(|(_, flag)| *flag)
}

pub(super) fn name_of(node: &Node) -> Option<String> {
    let text = |key: &str| node.get(key).and_then(name).filter(|text| !text.trim().is_empty());
    text("name").or_else(|| text("id"))
}
