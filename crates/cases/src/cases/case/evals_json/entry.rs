//! One case of an evals.json or a trigger set.

use std::collections::{BTreeSet, HashSet};

use super::own_key::{self, KeySays, OwnKey};
use super::{EvalEntry, ForeignReader, NOTES, PROMPT_FILES, PROMPTS, SKILL, SKILLS, skill_named};
use crate::cases::case::document::{Node, NodeValue};
use crate::cases::case::foreign_reader::Meaning::{By, EachBy, Known};
use crate::cases::case::foreign_reader::{KeyTable, name};
use crate::cases::case::graders::{Asks, Graders};
use crate::cases::case::key_words::{kind_words, words};
use crate::cases::case::{Assertion, ForeignFile, FoundCase, Unsupported};
use crate::cases::repo_files::FileKind;
use crate::checks::pattern::{Pattern, Style};
use crate::checks::text_test::TextTest;
use crate::checks::{self, CaseCheck, FileWant, InvalidCheck, TextPlace};
use crate::text::diagnostic::{Code, shorten, slip};
use crate::trial::outcome::Weight;

/// The key of whether the skill should trigger, or of the skill that should.
pub(super) const SHOULD_TRIGGER: &str = "should_trigger";

/// Words for true and false, which are the name of no skill.
const FLAGS: [([&str; 4], bool); 2] = [(["true", "yes", "y", "on"], true), (["false", "no", "n", "off"], false)];

/// The keys of the skill that should trigger.
pub(super) const EXPECTED_SKILL: [&str; 2] = ["expect_skill", "expected_skill"];

/// The key of the skills that should trigger.
pub(super) const ACTIVATED: &str = "skills_expected_to_activate";

/// The key of the files that the workspace holds.
const FILES: &str = "files";

/// What a file says of its cases.
pub(super) struct FileSays<'n> {
    /// The skill that it names.
    pub skill: Option<String>,
    /// The keys of its own that say which skills should trigger.
    pub own_keys: Vec<OwnKey<'n>>,
    /// The skills of which one triggers where a case expects any, and none where it expects none.
    pub tested: Vec<String>,
    /// Those of which none triggers where a case says `null`, if the file lists none itself.
    pub around: Vec<String>,
    /// Whether nothing but the place of the file says which skills these are.
    pub names_none: bool,
    /// The names of the cases that have one.
    names: HashSet<String>,
    /// Whether a case has the name of a skill at [`SHOULD_TRIGGER`].
    names_at_should: bool,
}

impl<'n> FileSays<'n> {
    pub fn new(own_keys: Vec<OwnKey<'n>>, entries: &[EvalEntry<'n>]) -> Self {
        let says_name = |entry: &EvalEntry<'_>| {
            let text = entry.node.get(SHOULD_TRIGGER).and_then(Node::text);
            text.is_some_and(|text| !is_none(text) && flag(text).is_none())
        };
        Self {
            skill: None,
            own_keys,
            tested: Vec::new(),
            around: Vec::new(),
            names_none: false,
            names: entries.iter().filter_map(|entry| name_of(entry.node)).collect(),
            names_at_should: entries.iter().any(says_name),
        }
    }

    /// The keys of its own that say this.
    fn own(&self, says: KeySays) -> impl Iterator<Item = &'n str> {
        self.own_keys.iter().filter(move |own| own.says == says).map(|own| own.key)
    }

    /// The keys of the skill that should trigger.
    fn expected(&self) -> impl Iterator<Item = &'n str> {
        let should = self.names_at_should.then_some(SHOULD_TRIGGER);
        EXPECTED_SKILL.into_iter().chain(self.own(KeySays::Expected)).chain(should)
    }

    /// Whether a case says that no skill is expected: there is the key, and nothing at it.
    fn expects_none(&self, node: &Node) -> bool {
        let mut expected = self.expected().filter_map(|key| node.entry(key));
        expected.any(|entry| entry.value.value == NodeValue::Null || entry.value.text().is_some_and(is_none))
    }

    /// The skills that its cases expect.
    pub fn expected_skills(&self, entries: &[EvalEntry<'_>], file: &ForeignFile<'_>) -> Vec<String> {
        let values = entries.iter().flat_map(|entry| self.expected().filter_map(|key| entry.node.get(key)));
        let names = values.filter_map(|value| own_key::skill_at(value, file)).filter(|name| !name.is_empty());
        let names: BTreeSet<String> = names.map(|name| file.skill_slug(name)).collect();
        names.into_iter().collect()
    }

    /// The skills that it lists and that are here, if its cases name the expected one of them.
    pub fn offered(&self, root: &Node, file: &ForeignFile<'_>) -> Vec<String> {
        let is_routed = self.own(KeySays::Expected).next().is_some();
        let skills = root.get(SKILLS).filter(|_| is_routed).map(Node::each).unwrap_or_default();
        let names = skills.iter().filter_map(Node::text).filter(|name| file.has_skill(name));
        let names: Vec<String> = names.map(|name| file.skill_slug(name)).collect();
        if names.len() > 1 { names } else { Vec::new() }
    }
}

/// The case with this number, from 1.
pub(super) fn found(
    reader: &mut ForeignReader<'_>,
    says: &FileSays<'_>,
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
    read(reader, says, node);
    reader.case.skill = reader.file.skill_slug(&skill);
    reader.finish()
}

fn read(reader: &mut ForeignReader<'_>, says: &FileSays<'_>, node: &Node) {
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
        reader.case.prompt = reader.prompt_in(prompt, node.get(key).unwrap_or(node).range.clone());
        if PROMPT_FILES.contains(&key) && reader.case.prompt == prompt {
            reader.problem_at(
                Code::Unreadable,
                node,
                key,
                format!("`{key}` is {:?}, which is not a text file here", shorten(prompt)),
            );
        }
    }
    reader.read_keys(node, &STATEMENTS);
    let tags = node.get("tags").and_then(Node::elements).unwrap_or_default();
    reader.case.tags = tags.iter().filter_map(Node::text).map(str::to_owned).collect();
    reader.read_keys(node, &OTHERS);
    let known: Vec<&str> = keys().chain(SKILL).collect();
    let own: Vec<&str> = says.own_keys.iter().map(|own| own.key).chain([key]).collect();
    reader.only_keys(node, &[&known[..], &own[..]].concat(), NOTES);
    reader.locate_value("prompt", node.get(key));
    reader.locate_value(FILES, node.get(FILES));
}

/// What a case expects: keys that mean nothing else elsewhere.
static STATEMENTS: KeyTable = KeyTable::of(&[
    ("expectations assertions expected_behavior expected_behaviors", By(statements)),
    // They are also keys of objects of other forms.
    ("checks success_criteria acceptance_criteria criteria rubric rubrics", By(open_statements)),
    ("must_contain must_include must_not_contain must_not_include", By(contains)),
    ("forbidden_behaviors must_not", By(forbid)),
    ("expected_output ground_truth", By(expected_output)),
]);

static OTHERS: KeyTable = KeyTable::of(&[
    ("should_contain should_not_contain contains not_contains output_contains output_not_contains", By(contains)),
    ("required_references expected_references", By(references)),
    ("files", EachBy(file)),
    ("fixture", By(fixture)),
    ("expected_script", By(script)),
    ("id should_trigger expect_skill expected_skill skills_expected_to_activate skills", Known),
]);

/// The keys of what a case expects of the work.
pub(super) fn assertion_keys() -> impl Iterator<Item = &'static str> {
    STATEMENTS.keys().map(|(key, _)| key)
}

/// The keys of a case besides its prompt and its skill.
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    assertion_keys().chain(OTHERS.keys().map(|(key, _)| key))
}

/// The script that a command runs, wherever the agent has it.
fn script(reader: &mut ForeignReader<'_>, node: &Node, key: &'static str) {
    let script = reader.text(node, key).filter(|text| !is_none(text));
    if let (Some(script), Some(value)) = (script, node.get(key)) {
        let name = script.rsplit('/').next().unwrap_or(script).to_owned();
        let check = checks::script_command(Pattern { text: name, style: Style::Verbatim }, true);
        reader.add_at(key, value, check);
    }
}

/// A directory that the workspace is a copy of.
fn fixture(reader: &mut ForeignReader<'_>, node: &Node, key: &'static str) {
    let Some(written) = node.get(key) else { return };
    let path = written.text().map(|path| path.trim_end_matches('/'));
    match path.and_then(|path| reader.file.here(path, FileKind::Folder)) {
        Some(path) => reader.case.fixture = Some(path),
        None => reader.not_done(written, format!("the key `{key}`, whose value is not a directory here")),
    }
}

fn file(reader: &mut ForeignReader<'_>, written: &Node) {
    reader.only_keys(written, &["path", "content"], "description");
    let path = if written.is_map() { reader.required_text(written, "path") } else { written.text() };
    let (file, content) = (reader.file, reader.text(written, "content"));
    match path {
        Some(path) => reader.input_file(written, path, content, |path| file.named_file(&path)),
        None if written.is_map() => {}
        None => reader.wrong_type(&format!("an element of `{FILES}`"), "a path", written),
    }
}

/// Whether the skill should trigger, by the key or by the list of the case.
fn said(reader: &mut ForeignReader<'_>, says: &FileSays<'_>, entry: &EvalEntry<'_>) -> Option<bool> {
    let node = entry.node;
    if let Some(key) = says.own(KeySays::Sides).next() {
        return node.get(key).and_then(|value| own_key::said_at(key, value));
    }
    let is_name = |node: &&Node| !node.text().is_some_and(is_none);
    let Some(written) = node.get(SHOULD_TRIGGER).filter(is_name) else {
        // `null` at the key of the skill that should trigger says that it should not.
        return entry.should_trigger.or(says.expects_none(node).then_some(false));
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
fn expected(reader: &mut ForeignReader<'_>, says: &FileSays<'_>, entry: &EvalEntry<'_>) -> String {
    let (file, node) = (reader.file, entry.node);
    let subject = says.own(KeySays::Subject).find_map(|key| node.get(key)?.text()).map(str::to_owned);
    let own = subject.or_else(|| skill_named(reader, node));
    let own = own.or_else(|| entry.skill.map(str::to_owned)).or_else(|| says.skill.clone());
    let named = named(reader, says, node);
    let said = said(reader, says, entry);
    // The directory says it if nothing else does.
    let about = own.as_deref().or(file.skill);
    contradiction(reader, says, node, said, named);
    reader.case.should_trigger = said;
    let skill = about.unwrap_or_default();
    let is_own = |own: Option<&str>, name: &str| own.is_none_or(|own| file.skill_slug(own) == file.skill_slug(name));
    let slugs = |names: &[String]| names.iter().map(|name| file.skill_slug(name)).collect::<Vec<_>>();
    let mut skills = named.map(|(key, _)| reader.texts(node, key)).unwrap_or_default();
    skills.retain(|name| !is_none(name));
    let [welcome, rejected] = [KeySays::Welcome, KeySays::Rejected].map(|kind| beside(reader, says, node, kind));
    if let Some((key, names)) = rejected {
        reader.add_at(key, node, checks::rejects(names));
    }
    match (named, &skills[..]) {
        (Some((key, value)), [name]) if welcome.is_some() && said.is_none() => {
            let mut one_of = slugs(&skills);
            one_of.extend(welcome.into_iter().flat_map(|(_, names)| names));
            reader.add_at(key, value, checks::activates_one(one_of));
            about.unwrap_or(name).to_owned()
        }
        // Next to `should_trigger`, its name says only which skill the case is about.
        (Some(_), [name]) if is_own(about.filter(|_| said == Some(false)).or(own.as_deref()), name) => {
            reader.case.should_trigger = said.or(Some(true));
            name.clone()
        }
        (Some((key, value)), [first, rest @ ..]) => {
            if rest.is_empty() {
                // Another skill activates instead of the one under test.
                reader.case.should_trigger = said.or(Some(false));
            }
            reader.add_at(key, value, checks::activates(slugs(&skills), false));
            about.unwrap_or(first).to_owned()
        }
        (Some((key @ ACTIVATED, value)), []) => {
            if let Some((other, _)) = welcome {
                reader.not_done(value, format!("`{key}` without a skill next to `{other}`"));
            }
            reader.add_at(key, value, checks::rejects(vec!["*".to_owned()]));
            skill.to_owned()
        }
        _ => {
            // An empty list is no skill.
            reader.case.should_trigger = said.or(named.map(|_| false));
            let allowed = welcome.map(|(_, names)| names).unwrap_or_default();
            if said.is_none() && about.is_some_and(|about| allowed.contains(&file.skill_slug(about))) {
                // It need not trigger, and may.
                reader.case.should_trigger = None;
            }
            own.clone().unwrap_or_else(|| of_tested(reader, says, node, &allowed))
        }
    }
}

/// The skill of a case that names none. It says of all that its file is about whether one of them should trigger.
fn of_tested(reader: &mut ForeignReader<'_>, says: &FileSays<'_>, node: &Node, allowed: &[String]) -> String {
    let is_for_all = says.expects_none(node) && !says.around.is_empty();
    let check = match (&says.tested[..], reader.case.should_trigger) {
        ([_, ..], Some(false)) if is_for_all => {
            checks::rejects(says.around.iter().filter(|slug| !allowed.contains(slug)).cloned().collect())
        }
        ([only], _) => return only.clone(),
        ([_, ..], Some(true)) if reader.file.skill.is_none() => checks::activates_one(says.tested.clone()),
        ([_, ..], Some(false)) => {
            let slugs = says.tested.iter().map(|name| reader.file.skill_slug(name));
            checks::rejects(slugs.filter(|slug| !allowed.contains(slug)).collect())
        }
        _ => return reader.file.skill.unwrap_or_default().to_owned(),
    };
    if says.names_none {
        let message = "this names no skill: \"should trigger\" is read as one of the skills here activates, and \"should not\" as \
                       none does";
        let help = "if the file is about one skill, name it there at the key `skill`";
        reader.warn(Code::UnknownSkill, node, message.to_owned(), help.to_owned());
    }
    if reader.case.should_trigger == Some(true) {
        reader.case.should_trigger = None;
    }
    reader.add_at(SHOULD_TRIGGER, node, check);
    reader.file.skill.unwrap_or(&says.tested[0]).to_owned()
}

/// The skills at keys of the file's own next to the expected one, if a case has some, and the first of the keys.
fn beside<'n>(
    reader: &mut ForeignReader<'_>,
    says: &FileSays<'n>,
    node: &Node,
    kind: KeySays,
) -> Option<(&'n str, Vec<String>)> {
    let mut all: Option<(&'n str, Vec<String>)> = None;
    for key in says.own(kind).filter(|key| node.get(key).is_some()) {
        let names = reader.texts(node, key).into_iter().filter(|name| !is_none(name));
        let names: Vec<String> = names.map(|name| reader.file.skill_slug(&name)).collect();
        if !names.is_empty() {
            all.get_or_insert_with(|| (key, Vec::new())).1.extend(names);
        }
    }
    all
}

/// Reports a case whose skill should trigger although none is expected, or is expected to be "".
fn contradiction(
    reader: &mut ForeignReader<'_>,
    says: &FileSays<'_>,
    node: &Node,
    said: Option<bool>,
    named: Option<(&str, &Node)>,
) {
    let is_blank = |node: &Node| node.text().is_some_and(|text| text.trim().is_empty());
    let mut expected = EXPECTED_SKILL.iter().filter_map(|key| node.entry(key));
    if let Some(entry) = expected.find(|entry| is_blank(&entry.value)) {
        let (message, help) = (format!("`{}` is empty", entry.key), "write null if no skill should activate");
        return reader.problem_with_help(Code::EmptyValue, entry.value.range.clone(), message, help);
    }
    let is_none =
        says.expects_none(node) || named.is_some_and(|(_, value)| value.elements().is_some_and(<[Node]>::is_empty));
    if said == Some(true) && is_none {
        let place = node.get(SHOULD_TRIGGER).unwrap_or(node).range.clone();
        let message = "the case contradicts itself: the skill should trigger, and no skill is expected";
        reader.problem_with_help(Code::BadChoice, place, message, "remove one of the two");
    }
}

/// The first key that names skills which trigger, and its value. Other skills at another key are unsupported.
fn named<'n>(reader: &mut ForeignReader<'_>, says: &'n FileSays<'_>, node: &'n Node) -> Option<(&'n str, &'n Node)> {
    let keys = [SHOULD_TRIGGER].into_iter().chain(says.expected()).chain([ACTIVATED]);
    let mut all = keys
        .filter_map(|key| Some((key, node.get(key)?)))
        .filter(|(key, value)| *key != SHOULD_TRIGGER || value.text().is_some_and(|text| flag(text).is_none()))
        .filter(|(_, value)| !value.text().is_some_and(|text| is_none(text) || text.trim().is_empty()));
    let first = all.next()?;
    for (key, value) in all.filter(|(_, value)| value.json() != first.1.json()) {
        reader.not_done(value, format!("`{key}` next to other skills that activate"));
    }
    Some(first)
}

/// Whether a text stands for nothing.
pub(in crate::cases::case) fn is_none(text: &str) -> bool {
    ["none", "null", "n/a", "-"].iter().any(|word| text.trim().eq_ignore_ascii_case(word))
}

/// What a text says that is a word for true or false.
fn flag(text: &str) -> Option<bool> {
    let has_it = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    FLAGS.iter().find(|(words, _)| has_it(words)).map(|(_, flag)| *flag)
}

pub(super) fn name_of(node: &Node) -> Option<String> {
    let text = |key: &str| node.get(key).and_then(name).filter(|text| !text.trim().is_empty());
    ["name", "id", "eval_id", "case_id"].into_iter().find_map(text)
}

// What a case expects of the output: statements for the judge, and assertions with a `type` as checks.
//
// Public files have types for graders of their own, in different words: `{ "type": "contains", "text": "three minutes" }`. A type that
// names no check is a label.

/// The keys of statements that may be an object with those that must hold, that are welcome, and that must not.
pub(super) const RUBRIC: [&str; 2] = ["rubric", "rubrics"];
const MUST: &str = "must";
const BONUS: &str = "bonus";
const AVOID: &str = "avoid";

/// The keys of the statement in an assertion that is an object.
const TEXTS: &str = "text assertion expectation description check criterion criteria";

/// The keys of an assertion that ask for nothing.
const NAMES: &str = "type id name title category notes rationale";

/// The keys of what a type searches. `text` comes last: next to others, it says in words what they mean.
const VALUES: &str = "phrase pattern regex substring value expected content text";

/// The keys of a file of the workspace, and of a command.
const PATHS: &str = "path file filename file_path";
const COMMANDS: &str = "command cmd run value";

/// The keys that may be next to those of a check.
const WORDS: &str = "text description id name reason message type";

/// The types that are checks, without their negations.
pub(super) static TYPES: Graders = Graders::of(
    "type",
    &[
        (
            "contains contain contains_text contains_phrase contains_string include includes output_contains response_contains substring",
            Asks::Text(TextPlace::Final, VALUES, Style::Verbatim),
        ),
        ("icontains", Asks::Text(TextPlace::Final, VALUES, Style::Literal)),
        (
            "regex match matches pattern contains_pattern regex_match output_matches contains_regex matches_regex",
            Asks::Text(TextPlace::Final, VALUES, Style::Exact),
        ),
        ("file_exists file_exist exists file_created", Asks::File),
        ("file_contains file_contain", Asks::FileText(VALUES, Style::Verbatim)),
        ("file_matches file_match", Asks::FileText(VALUES, Style::Exact)),
        ("command_succeeds command command_exit_zero run_command", Asks::Keys(&COMMAND)),
    ],
);

/// A command that exits with 0.
static COMMAND: KeyTable = KeyTable::of(&[(COMMANDS, Known)]);

/// Words that negate a type and say nothing else.
const NOT: &str = "not does do must should doesnt dont";

/// Those of them that say nothing without a negation.
const MODAL: &str = "must should";

/// How the words of types begin that mean the opposite of something: a statement would be turned around.
const NEGATIONS: &str =
    "absent avoid cannot disallow doesn dont exclud forbid lack miss negat never no omit prohibit reject without";

/// How the words of types begin that a program checks, and no judge.
const PROGRAMS: &str = "command contain count end equal exact exist exit file greater includ json length less match pattern prefix \
                        range regex schema script start substring suffix tool";

fn statements(reader: &mut ForeignReader<'_>, node: &Node, key: &'static str) {
    for assertion in list(reader, node, key) {
        read_one(reader, assertion);
    }
}

fn open_statements(reader: &mut ForeignReader<'_>, node: &Node, key: &'static str) {
    let Some(object) = node.get(key).filter(|written| written.is_map()) else { return statements(reader, node, key) };
    let entries = object.entries();
    if RUBRIC.contains(&key) && [MUST, BONUS, AVOID].iter().any(|key| object.get(key).is_some()) {
        read_rubric(reader, object);
    } else if RUBRIC.contains(&key) && entries.iter().all(|entry| entry.value.text().is_some()) {
        // A name for each statement.
        for entry in entries {
            read_one(reader, &entry.value);
        }
    } else {
        // In other files, an object has kinds of its own.
        reader.not_done(object, format!("the key `{key}`"));
    }
}

/// Files of the skill that the agent loads.
fn references(reader: &mut ForeignReader<'_>, node: &Node, key: &'static str) {
    for text in reader.texts(node, key) {
        reader.add_at(key, node, checks::loads(Pattern { text, style: Style::Verbatim }));
    }
}

/// In words, as everything else here: a judge reads it, nothing compares it.
fn expected_output(reader: &mut ForeignReader<'_>, node: &Node, key: &'static str) {
    let expected = reader.text(node, key).filter(|text| !text.trim().is_empty());
    if let (Some(expected), Some(place)) = (expected, node.get(key)) {
        add(reader, place, expected);
    }
}

/// The final message has a text, in any case, or a match of `{ regex }`. With a `not` in the key it has not.
fn contains(reader: &mut ForeignReader<'_>, node: &Node, key: &'static str) {
    for written in node.get(key).map(Node::each).unwrap_or_default() {
        let regex = written.get("regex").or(written.get("pattern"));
        reader.only_keys(written, &["regex", "pattern"], NOTES);
        let style = if regex.is_some() { Style::Loose } else { Style::Literal };
        match regex.unwrap_or(written).text().filter(|wanted| !wanted.is_empty()) {
            Some(wanted) => {
                let (_, negated) = positive(&kind_words(key));
                let test = of_pattern(key, Pattern { text: wanted.to_owned(), style }, negated);
                let check = test.map(|test| checks::text(TextPlace::Final, test));
                reader.located(key, written, |reader| reader.add(written, check));
            }
            None => reader.wrong_type(&format!("an element of `{key}`"), "a text, or an object with `regex`", written),
        }
    }
}

/// What must not happen.
fn forbid(reader: &mut ForeignReader<'_>, node: &Node, key: &'static str) {
    for text in list(reader, node, key) {
        match text.text() {
            Some(said) => add(reader, text, &Assertion::forbidding(said)),
            None => reader.wrong_type(&format!("an element of `{key}`"), "a string", text),
        }
    }
}

/// What must hold, what must not, and what is welcome: the judge says whether it does, and it decides nothing.
fn read_rubric(reader: &mut ForeignReader<'_>, rubric: &Node) {
    reader.only_keys(rubric, &[MUST, BONUS, AVOID], NOTES);
    for kind in [MUST, BONUS, AVOID] {
        for statement in list(reader, rubric, kind) {
            read_of_rubric(reader, kind, statement);
        }
    }
}

/// A statement of this kind: a text, or an object that has it at `text`.
fn read_of_rubric(reader: &mut ForeignReader<'_>, kind: &str, node: &Node) {
    reader.only_keys(node, &["type", "text"], NAMES);
    if !node.is_map() && node.text().is_none() {
        return reader.wrong_type("a statement of a rubric", "a text", node);
    }
    let text = if node.is_map() { reader.required_text(node, "text") } else { node.text() };
    let Some(text) = text else { return };
    match kind {
        BONUS => reader.weighed(Weight::new(0.0, 1), |reader| add(reader, node, text)),
        AVOID => add(reader, node, &Assertion::forbidding(text)),
        _ => add(reader, node, text),
    }
}

/// The elements of a list, or a text in its place.
fn list<'n>(reader: &mut ForeignReader<'_>, node: &'n Node, key: &str) -> &'n [Node] {
    match node.get(key) {
        Some(text) if text.text().is_some() => std::slice::from_ref(text),
        _ => reader.list(node, key).unwrap_or_default(),
    }
}

fn read_one(reader: &mut ForeignReader<'_>, node: &Node) {
    if let Some(text) = node.text() {
        return add(reader, node, text);
    }
    if !node.is_map() {
        return reader.wrong_type("an assertion", "a string or an object", node);
    }
    if node.get("type").is_some() {
        let Some(kind) = reader.required_text(node, "type") else { return };
        if [MUST, BONUS, AVOID].contains(&kind) {
            return read_of_rubric(reader, kind, node);
        }
        match typed(node, &kind_words(kind)) {
            Typed::Words => {}
            Typed::CaseCheck(check) => return reader.located("assertions", node, |reader| reader.add(node, check)),
            Typed::Unknown => {
                let what = format!("an assertion of the type `{}` with these keys", shorten(kind));
                return reader.not_done(node, what);
            }
        }
    }
    let key = words(TEXTS).into_iter().find(|key| node.get(key).is_some());
    // Another key, as `value`, may say that no judge is meant.
    let own = reader.file.own_keys;
    let is_known =
        |other: &str| Some(other) == key || words(NAMES).contains(&other) || own.iter().any(|own| own == other);
    match (node.entries().iter().find(|entry| !is_known(&entry.key)), key) {
        (Some(other), _) => {
            let place = reader.place(other.key_range.clone());
            let what = format!("the key `{}` of an assertion", other.key);
            reader.case.unsupported.push(Unsupported { what, place });
        }
        (None, Some(key)) => {
            if let Some(text) = reader.text(node, key) {
                add(reader, node, text);
            }
        }
        (None, None) => reader.missing(node, "text"),
    }
}

fn add(reader: &mut ForeignReader<'_>, node: &Node, text: &str) {
    if node.text().unwrap_or(text).trim().is_empty() {
        return reader.problem(Code::EmptyValue, node.range.clone(), "an assertion is an empty text");
    }
    reader.judge(node, text);
}

/// What an assertion with a type asks for.
enum Typed {
    CaseCheck(Result<CaseCheck, InvalidCheck>),
    /// A statement for the judge: the type is a label.
    Words,
    /// Something that is not done here.
    Unknown,
}

/// What an assertion whose type has these words asks for.
fn typed(node: &Node, kind: &[String]) -> Typed {
    let (name, negated) = positive(kind);
    let value = |keys: &'static str| {
        words(keys).into_iter().find(|key| node.get(key).is_some_and(|node| node.text().is_some()))
    };
    let is_pattern = |key: &str| ["pattern", "regex"].contains(&key);
    let test = |key: &'static str, style: Style| {
        let style = if is_pattern(key) { Style::Exact } else { style };
        of_pattern(key, Pattern { text: text(node, key).to_owned(), style }, negated)
    };
    let found = match TYPES.find(&name) {
        Some(Asks::Text(place, keys, style)) => {
            // A pattern that ignores case is something else.
            let key = value(keys).filter(|key| *style != Style::Literal || !is_pattern(key));
            key.map(|key| (vec![key], test(key, *style).map(|test| checks::text(*place, test))))
        }
        Some(Asks::File) => value(PATHS)
            .or_else(|| value("value"))
            .map(|key| (vec![key], checks::file(text(node, key), FileWant::Exists(!negated)))),
        Some(Asks::FileText(keys, style)) => value(PATHS).zip(value(keys)).map(|(key, searched)| {
            let test = test(searched, *style);
            (vec![key, searched], test.and_then(|test| checks::file(text(node, key), FileWant::Content(test))))
        }),
        Some(Asks::Keys(_)) if !negated => {
            value(COMMANDS).map(|key| (vec![key], Ok(checks::run(text(node, key).to_owned(), 0, None, None))))
        }
        _ => {
            let is_meant = |word: &String| {
                [NEGATIONS, PROGRAMS].iter().flat_map(|list| words(list)).any(|start| word.starts_with(start))
            };
            return if kind.iter().any(is_meant) { Typed::Unknown } else { Typed::Words };
        }
    };
    match found {
        Some((used, check))
            if node
                .entries()
                .iter()
                .all(|entry| used.contains(&&*entry.key) || words(WORDS).contains(&&*entry.key)) =>
        {
            Typed::CaseCheck(check)
        }
        _ => Typed::Unknown,
    }
}

/// The name of a type without its negation, and whether there was one.
fn positive(kind: &[String]) -> (String, bool) {
    match &kind.join("_")[..] {
        "excludes" | "exclude" | "absent" => return ("contains".to_owned(), true),
        "file_absent" => return ("file_exists".to_owned(), true),
        _ => {}
    }
    let is_negation = |word: &&String| ["not", "doesnt", "dont"].contains(&word.as_str());
    let negated = kind.iter().filter(is_negation).count() == 1;
    let kept = kind.iter().map(String::as_str).filter(|word| !words(if negated { NOT } else { MODAL }).contains(word));
    (kept.collect::<Vec<_>>().join("_"), negated)
}

fn text<'n>(node: &'n Node, key: &str) -> &'n str {
    node.get(key).and_then(Node::text).unwrap_or_default()
}

/// The test of a pattern that is at a key, if it compiles.
fn of_pattern(key: &str, pattern: Pattern, negated: bool) -> Result<TextTest, InvalidCheck> {
    if let Err(error) = pattern.check() {
        let (message, help) = pattern.problem(key, &error);
        return Err(InvalidCheck::new("", message, help));
    }
    Ok(TextTest { negated, ..pattern.into() })
}
