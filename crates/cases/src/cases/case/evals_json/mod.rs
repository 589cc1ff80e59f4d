//! `evals.json` of skill-creator and agentskills.io, and trigger sets, in the forms that public repositories have. Waza writes its
//! trigger sets in YAML.
//!
//! ```json
//! { "skill_name": "greeting",
//!   "evals": [ { "id": 1, "prompt": "…", "expected_output": "…", "files": [], "expectations": ["It greets by name"] } ] }
//! [ { "query": "…", "should_trigger": true } ]
//! { "should_trigger": ["…"], "should_not_trigger": ["…"] }
//! { "skills": { "greeting": { "positive": ["…"], "negative": ["…"] } } }
//! ```
//!
//! What is expected of the output is an assertion for the judge. A case that does not say whether the skill should trigger is
//! not checked for it. A key that may ask for something and is not known makes the case unsupported.

mod entry;
mod own_key;

pub(super) use entry::is_none;

use entry::{ACTIVATED, EXPECTED_SKILL, FileSays, SHOULD_TRIGGER, assertion_keys};
use own_key::KeySays;

use super::document::{Document, Node, NodeEntry, NodeValue};
use super::foreign_reader::ForeignReader;
use super::key_words::{plain, words};
use crate::cases::case::{CaseFormat, FileCases, FileKeys, ForeignFile, ForeignFiles};
use crate::settings::{FILE, key_rows};
use crate::skill::SKILL_FILE;
use crate::text::diagnostic::{Code, nearest, shorten, slip};

/// Cases with expectations of the output.
pub static FORMAT: CaseFormat = CaseFormat::foreign(
    "eval",
    ForeignFiles {
        names: &["evals/evals.json", "*.evals.json", "evals/evals.jsonl", "evals/evals.yaml", "evals/evals.yml"],
        possible_names: &["evals/*.json", "*evals.json", "*eval.json"],
        mark: "",
        keys: &["prompt"],
        about: "[`evals.json`](#what-a-case-of-an-evalsjson-asks-for) of skill-creator, agentskills.io and others",
        all_keys,
        parse,
    },
);

/// Queries and whether they should trigger the skill.
pub static TRIGGERS: CaseFormat = CaseFormat::foreign(
    "trigger query",
    ForeignFiles {
        names: &[
            "*trigger-eval.json",
            "*trigger-evals.json",
            "*trigger_eval.json",
            "*trigger_evals.json",
            "*trigger-queries.json",
            "trigger_tests.yaml",
            "trigger_tests.yml",
        ],
        possible_names: &["evals/*.json", "*evals.json", "*eval.json"],
        mark: "should_trigger",
        keys: &["query", "should_trigger"],
        about: "trigger sets: the same; lists at `should_trigger` and `should_not_trigger`, or `positive` and `negative`, also for each skill",
        all_keys: FileKeys::default,
        parse,
    },
);

fn all_keys() -> FileKeys {
    let read = LISTS.into_iter().chain(PROMPTS).chain(SKILL).chain([SKILLS_TESTED]).chain(entry::keys());
    FileKeys { read: read.collect(), notes: words(NOTES), ..FileKeys::default() }.with_graders(&entry::TYPES)
}

/// The keys of lists of cases.
const LISTS: [&str; 8] = ["evals", "cases", "tests", "test_cases", QUERIES, "trigger_evals", "expects", "prompts"];

const QUERIES: &str = "queries";

/// The values of an object that are lists of cases, or should be, each with its key.
pub(in crate::cases) fn case_lists(root: &Node) -> impl Iterator<Item = (&str, &Node)> {
    let keys = root.entries().iter().map(|entry| &*entry.key);
    let keys = keys.filter(|key| LISTS.contains(key) || is_certain_side(key));
    keys.filter_map(|key| Some((key, root.get(key)?)))
}

/// The keys of what a case expects, and that mean nothing else elsewhere.
pub(in crate::cases) fn expectation_keys() -> impl Iterator<Item = &'static str> {
    let keys = assertion_keys().filter(|key| !entry::RUBRIC.contains(key));
    keys.chain(EXPECTED_SKILL).chain([SHOULD_TRIGGER])
}

/// The keys of lists of cases, for messages.
pub(in crate::cases) fn list_names() -> String {
    LISTS.join(", ")
}

/// The keys of the skill under test, of a file or of a case. Some have the path of it.
const SKILL: [&str; 4] = ["skill_name", "skill", "skill_url", "skill_path"];

/// The key of the skills that are offered: the first that is here is the one under test.
const SKILLS: &str = "skills";

/// The skills of which a query may name one.
const SKILLS_TESTED: &str = "skills_tested";

const PROMPTS: [&str; 7] = ["prompt", "query", "input", "question", "task", PROMPT_FILES[0], PROMPT_FILES[1]];

/// Those of them whose text is the path of a file with the prompt.
const PROMPT_FILES: [&str; 2] = ["prompt_file", "prompt_path"];

/// Keys that ask for nothing.
pub(in crate::cases::case) const NOTES: &str = "$schema area author category classification comment _comment confidence created \
    date default_model derived_from description difficulty domain eval_id eval_name failure_mode generated_at harness intent \
    kind lang language license locale metadata name note notes owner product_area purpose rationale reason reasoning scenario_name \
    schema_version severity slug source tags title updated version why";

fn parse(mut reader: ForeignReader<'_>) -> Option<FileCases> {
    let (file, root) = (reader.file, reader.root);
    let groups = groups(root, file);
    let entries = entries(root, &groups);
    let own_keys = own_key::find(root, &entries, file);
    let says_what_triggers = own_keys.iter().any(|own| matches!(own.says, KeySays::Sides | KeySays::Expected));
    let is_set = is_trigger_set(root, &entries, says_what_triggers);
    let holds_results = || is_result(root) || entries.iter().any(|entry| is_result(entry.node));
    let shows_cases = || {
        has_prompts(&entries, file.is_in_cases())
            && (!is_set || says_what_triggers || entries.iter().any(is_about_trigger))
            && !holds_results()
    };
    // A file with a name of cases is one, even if its content does not say so.
    if !file.is_certain && !shows_cases() {
        return None;
    }
    if is_set {
        reader.format = &TRIGGERS;
    }
    let is_one_case = matches!(&entries[..], [only] if std::ptr::eq(only.node, root));
    for (key, _) in case_lists(root).filter(|_| !is_one_case) {
        reader.list(root, key);
    }
    if entries.is_empty() {
        missing_cases(&mut reader, root);
        return Some(reader.no_cases());
    }
    check_keys(&mut reader, &groups, is_one_case);
    let mut says = FileSays::new(own_keys, &entries);
    let offered = says.offered(root, file);
    says.skill = if offered.is_empty() { skill_named(&mut reader, root) } else { None };
    says.tested = reader.texts(root, SKILLS_TESTED);
    if says.tested.is_empty() && says.skill.is_none() && file.skill.is_none() {
        // No skill is more than none of those that other cases expect.
        says.around = if offered.is_empty() { file.skills_around() } else { Vec::new() };
        says.tested = if offered.is_empty() { says.expected_skills(&entries, file) } else { offered };
        says.names_none = says.tested.is_empty() && is_set;
        if says.names_none {
            says.tested = file.skill_around().map_or_else(|| file.skills_around(), |slug| vec![slug.to_owned()]);
        }
    }
    Some(reader.cases(&entries, |reader, entry, number| entry::found(reader, &says, entry, number)))
}

/// Keys of the file that may ask for something make all its cases unsupported.
fn check_keys(reader: &mut ForeignReader<'_>, groups: &[Group<'_>], is_one_case: bool) {
    let root = reader.root;
    let of_lists = sides(root).map(|(entry, _)| &*entry.key).chain(case_lists(root).map(|(key, _)| key));
    let of_groups = groups.iter().filter_map(|group| group.key);
    let known: Vec<&str> = of_lists.chain(of_groups).chain(LISTS).chain(SKILL).chain([SKILLS_TESTED, SKILLS]).collect();
    if !is_one_case {
        reader.only_keys(root, &known, NOTES);
    }
    if root.is_map() {
        reader.duplicate_keys(root, &known);
    }
    for group in groups.iter().filter(|group| !std::ptr::eq(group.node, root)) {
        let own = sides(group.node).map(|(entry, _)| &*entry.key);
        let own = own.chain(queries_of_skill(group.node).map(|_| QUERIES)).collect::<Vec<_>>();
        if own.is_empty() {
            continue;
        }
        // The key of a group is the name of its skill.
        let names = SKILL.into_iter().filter(|_| group.key.is_none());
        let known: Vec<&str> = own.into_iter().chain(SIDES).chain(names).collect();
        reader.only_keys(group.node, &known, NOTES);
        reader.duplicate_keys(group.node, &[]);
    }
}

/// A case in the file.
struct EvalEntry<'n> {
    node: &'n Node,
    /// Whether its list says that the skill should trigger.
    should_trigger: Option<bool>,
    /// The skill whose list it is in.
    skill: Option<&'n str>,
}

/// The cases, in the order of their lists.
fn entries<'n>(root: &'n Node, groups: &[Group<'n>]) -> Vec<EvalEntry<'n>> {
    let lists = LISTS.into_iter().filter_map(|key| root.get(key)?.elements());
    let is_group = |node: &Node| groups.iter().any(|group| std::ptr::eq(group.node, node));
    let whole = root.elements().unwrap_or_default().iter().filter(|node| !is_group(node));
    let cases = whole.chain(lists.flatten());
    let is_query = |node: &Node| {
        queries_of_skill(root).is_some_and(|queries| queries.as_ptr_range().contains(&std::ptr::from_ref(node)))
    };
    let should_trigger = |node: &'n Node| is_query(node).then_some(true);
    let cases = cases.map(|node| EvalEntry { node, should_trigger: should_trigger(node), skill: None });
    let of_group = |group: &Group<'n>| {
        let (node, skill) = (group.node, group.skill);
        let lists = sides(node).filter_map(|(entry, side)| Some((entry.value.elements()?, side)));
        let of_skill = queries_of_skill(node).map(|queries| (queries, true));
        let lists: Vec<(&'n [Node], bool)> = lists.chain(of_skill.filter(|_| !std::ptr::eq(node, root))).collect();
        let has_lists = !lists.is_empty();
        let queries = lists.into_iter().flat_map(|(nodes, side)| nodes.iter().map(move |node| (node, Some(side))));
        let mut queries: Vec<(&'n Node, Option<bool>)> = queries.collect();
        if !has_lists {
            // It is reported as a case without a prompt.
            queries.push((node, None));
        }
        queries.into_iter().map(move |(node, should_trigger)| EvalEntry { node, should_trigger, skill })
    };
    let entries: Vec<EvalEntry<'n>> = cases.chain(groups.iter().flat_map(of_group)).collect();
    if entries.is_empty() && is_case(root) {
        vec![EvalEntry { node: root, should_trigger: None, skill: None }]
    } else {
        entries
    }
}

/// Whether a file is one case.
fn is_case(root: &Node) -> bool {
    let has = |key: &str| root.entry(key).is_some();
    let has_expectation = || assertion_keys().chain([SHOULD_TRIGGER]).chain(EXPECTED_SKILL).any(has);
    !LISTS.into_iter().any(has) && PROMPTS.into_iter().any(has) && has_expectation()
}

/// Whether the cases say only which queries trigger the skill.
fn is_trigger_set(root: &Node, entries: &[EvalEntry<'_>], says_what_triggers: bool) -> bool {
    let is_query = |entry: &EvalEntry<'_>| {
        entry.should_trigger.is_some() || ["query", SHOULD_TRIGGER].iter().any(|key| entry.node.get(key).is_some())
    };
    let is_set = root.get("queries").is_some() || says_what_triggers || entries.iter().any(is_query);
    is_set && !entries.iter().any(asks_more)
}

/// Whether a case expects something of the output.
fn asks_more(entry: &EvalEntry<'_>) -> bool {
    assertion_keys().any(|key| entry.node.get(key).is_some())
}

/// Whether a case says if the skill should trigger, at a key that may have a slip.
fn is_about_trigger(entry: &EvalEntry<'_>) -> bool {
    let mut keys = entry.node.entries().iter().map(|entry| &*entry.key);
    let is_named = |key: &str| key == ACTIVATED || EXPECTED_SKILL.contains(&key);
    entry.should_trigger.is_some() || keys.any(|key| is_named(key) || nearest(key, [SHOULD_TRIGGER]).is_some())
}

/// Whether a case has a prompt. In a directory of cases, its key may have a slip, and its value any type, if the case says what is
/// expected.
fn has_prompts(entries: &[EvalEntry<'_>], is_in_cases: bool) -> bool {
    let has_prompt =
        |entry: &EvalEntry<'_>| PROMPTS.iter().any(|key| entry.node.get(key).is_some_and(|node| node.text().is_some()));
    let has_slip = |node: &Node| {
        let mut keys = node.entries().iter().map(|entry| &*entry.key);
        keys.any(|key| PROMPTS.contains(&key) || slip(key, PROMPTS).is_some())
            && expectation_keys().any(|key| node.entry(key).is_some())
    };
    let is_one = |entry: &EvalEntry<'_>| {
        entry.should_trigger.is_some() || has_prompt(entry) || is_in_cases && has_slip(entry.node)
    };
    entries.iter().any(is_one)
}

fn missing_cases(document: &mut Document<'_>, root: &Node) {
    if !document.problems.is_empty() {
        return;
    }
    let is_setting = |entry: &NodeEntry| key_rows().any(|row| row.table.is_empty() && row.key == entry.key);
    if !root.entries().is_empty() && root.entries().iter().all(is_setting) {
        let message = format!("this file has settings and no cases; settings are read from {FILE} only");
        let help = format!("write them in TOML to {FILE}, and remove this file");
        return document.problem_with_help(Code::UnreadSettings, 0..0, message, help);
    }
    let list = case_lists(root).next();
    let (code, message) = match list {
        Some((key, _)) => (Code::EmptyValue, format!("`{key}` is empty")),
        None if root.elements().is_some() => (Code::EmptyValue, "the file is an empty array".to_owned()),
        None => (Code::MissingKey, "the file has no cases: the key `evals` is missing".to_owned()),
    };
    let range = list.map_or(root, |(_, list)| list).range.clone();
    let help = format!(
        "cases are a list at one of the keys {}, or the whole file; settings are in evals/evals.toml",
        list_names()
    );
    document.problem_with_help(code, range.start..range.start + 1, message, help);
}

/// The skill that an object names. At the place of a skill, the name of none is a label.
fn skill_named(reader: &mut ForeignReader<'_>, node: &Node) -> Option<String> {
    let file = reader.file;
    let Some(key) = SKILL.into_iter().find(|key| node.get(key).is_some()) else {
        // Skills with lists of their own are no names.
        let has_names = node.get(SKILLS).is_some_and(|skills| !skills.each().iter().any(Node::is_map));
        let names = if has_names { reader.texts(node, SKILLS) } else { Vec::new() };
        let is_here = |name: &&String| file.has_skill(name);
        // The directory of a skill says more than a name that no skill has.
        return names.iter().find(is_here).or(names.first().filter(|_| file.skill.is_none())).cloned();
    };
    let written = reader.required_text(node, key)?;
    let path = written.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let is_path = SKILL[2..].contains(&key) || path.ends_with(SKILL_FILE);
    let folder = path.strip_suffix(SKILL_FILE).unwrap_or(path).trim_end_matches('/');
    let last = || folder.rsplit('/').next().unwrap_or(folder);
    let name = if is_path { file.skill_at(folder).unwrap_or_else(last) } else { written };
    if file.is_of_skill() && !file.has_skill(name) {
        if !is_path {
            let place = file.skill.unwrap_or_default();
            let message = format!("`{key}` is {:?}, which is not the name of a skill here", shorten(written));
            let help = format!(
                "the cases are about `{place}`, since the file is in its directory; write that name, or remove the key"
            );
            reader.warn(Code::UnknownSkill, node.get(key).unwrap_or(node), message, help);
        }
        return None;
    }
    Some(name.to_owned())
}

/// Ends of the keys that only say what is in the list.
const ENDS: [&str; 3] = ["prompts", "queries", "phrases"];

/// The keys as most files have them.
const SIDES: [&str; 4] = ["should_trigger", "should_not_trigger", "positive", "negative"];

/// An object with lists of queries.
struct Group<'n> {
    /// The skill that they are for, if the group names one.
    skill: Option<&'n str>,
    /// Its key in the file.
    key: Option<&'n str>,
    node: &'n Node,
}

/// Whether the queries at a key should trigger the skill; `None` if it is another key.
fn side(key: &str) -> Option<bool> {
    let key = plain(key);
    let word = ENDS.iter().find_map(|end| key.strip_suffix(end)).unwrap_or(&key);
    match word.strip_suffix('s').unwrap_or(word) {
        "shouldtrigger" | "shouldactivate" | "positive" | "trigger" | "activate" => Some(true),
        "shouldnottrigger" | "shouldnotactivate" | "negative" | "nontrigger" | "notrigger" | "nottrigger"
        | "notactivate" | "noactivate" | "skip" | "donottrigger" | "donotactivate" | "donttrigger" => Some(false),
        _ => None,
    }
}

/// Whether a key can be nothing but one of such a list.
fn is_certain_side(key: &str) -> bool {
    side(key).is_some() && plain(key).starts_with("should")
}

/// The lists of queries of an object, each with whether they should trigger the skill. Words that mean something else elsewhere count
/// only if there are lists of both sides, with prompts.
fn sides(node: &Node) -> impl Iterator<Item = (&NodeEntry, bool)> {
    let is_prompt = |node: &Node| {
        node.text().is_some_and(|text| text.trim().contains(' ')) || PROMPTS.iter().any(|key| node.get(key).is_some())
    };
    let lists = node.entries().iter().filter(|entry| entry.value.elements().is_some());
    let lists = lists.filter_map(|entry| Some((entry, side(&entry.key)?))).collect::<Vec<_>>();
    let is_case = PROMPTS.iter().any(|key| node.get(key).is_some());
    let says_should = lists.iter().any(|(entry, _)| is_certain_side(&entry.key));
    let has_both = [true, false].iter().all(|side| lists.iter().any(|(_, of)| of == side));
    let has_prompts = || lists.iter().flat_map(|(entry, _)| entry.value.each()).any(is_prompt);
    let is_set = !is_case && (says_should || has_both && has_prompts());
    lists.into_iter().filter(move |_| is_set)
}

/// The texts that a skill is asked for by an object that names it and lists them.
fn queries_of_skill(node: &Node) -> Option<&[Node]> {
    SKILL.iter().find(|key| node.get(key).is_some())?;
    node.get(QUERIES)?.elements().filter(|queries| queries.iter().all(|query| query.text().is_some()))
}

/// The groups of a file: itself, or those of its skills. If one of `skills` is a group, all are: what has no queries lacks them.
fn groups<'n>(root: &'n Node, file: &ForeignFile<'_>) -> Vec<Group<'n>> {
    let is_group = |group: &Group<'_>| {
        sides(group.node).next().is_some() || !std::ptr::eq(group.node, root) && queries_of_skill(group.node).is_some()
    };
    let of_entries = |node: &'n Node| {
        let group = |entry: &'n NodeEntry| Group { skill: Some(&entry.key), key: Some(&entry.key), node: &entry.value };
        node.entries().iter().map(group)
    };
    let of_list = |node: &'n Node| {
        let name = |node: &'n Node| SKILL.into_iter().chain(["name"]).find_map(|key| node.get(key)?.text());
        node.elements().unwrap_or_default().iter().map(move |node| Group { skill: name(node), key: None, node })
    };
    let names_skill = SKILL.iter().any(|key| root.get(key).is_some());
    let has_lists = LISTS.iter().any(|key| root.get(key).is_some_and(|list| list.elements().is_some()));
    let is_skill = |name: &&str| {
        let is_here = || file.has_skill(name);
        side(name).is_none() && !LISTS.contains(name) && (!names_skill || is_here())
    };
    // Next to lists of cases, an object is something else.
    let of_root = of_entries(root).filter(|_| !has_lists);
    let of_root = of_root.map(|group| Group { skill: group.skill.filter(is_skill), ..group });
    let of_skills = root.get(SKILLS).into_iter().flat_map(|skills| of_entries(skills).chain(of_list(skills)));
    let of_skills: Vec<Group<'n>> = of_skills.collect();
    let has_groups = of_skills.iter().any(is_group);
    let whole = [Group { skill: None, key: None, node: root }].into_iter();
    let groups = whole.chain(of_root).chain(of_list(root)).filter(is_group);
    groups.chain(of_skills.into_iter().filter(|_| has_groups)).collect()
}

/// The keys of results, in lower case without what separates their words.
const RESULTS: &str = "actual actualoutput durationms grading passed response runid totaltokens transcript";

/// Whether an object is the result of a case, by its keys.
pub(in crate::cases) fn is_result(node: &Node) -> bool {
    let is_verdict = |entry: &NodeEntry| entry.key == "pass" && matches!(entry.value.value, NodeValue::Flag(_));
    node.entries().iter().any(|entry| words(RESULTS).contains(&&*plain(&entry.key)) || is_verdict(entry))
}
