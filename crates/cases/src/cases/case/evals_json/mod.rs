//! `evals.json` of skill-creator and agentskills.io, and trigger sets, in the forms that public repositories have. Waza writes its
//! trigger sets in YAML.
//!
//! ```json
//! { "skill_name": "greeting",
//!   "evals": [ { "id": 1, "prompt": "…", "expected_output": "…", "files": [], "expectations": ["It greets by name"] } ] }
//! [ { "query": "…", "should_trigger": true } ]
//! { "should_trigger": ["…"], "should_not_trigger": ["…"] }
//! ```
//!
//! What is expected of the output is an assertion for the judge. A case that does not say whether the skill should trigger is
//! not checked for it. A key that may ask for something and is not known makes the case unsupported.

mod assertions;
mod entry;
mod typed;

use crate::cases::case::document::{Document, Node};
use crate::cases::case::results::is_result;
use crate::cases::case::{CaseFormat, FileCases, ForeignFile, ForeignFiles};
use crate::profile::DEFAULT_MODE;
use crate::text::diagnostic::Code;

use entry::EntryReader;

/// Cases with expectations of the output.
pub static FORMAT: CaseFormat = CaseFormat {
    name: "eval",
    default_mode: DEFAULT_MODE,
    files: None,
    foreign: Some(ForeignFiles {
        names: &["evals/evals.json", "*.evals.json", "evals/evals.jsonl", "evals/evals.yaml", "evals/evals.yml"],
        possible_names: &["evals/*.json", "*evals.json", "*eval.json"],
        mark: "",
        keys: &["prompt"],
        parse: |file, document, root| parse(&FORMAT, false, file, document, root),
    }),
};

/// Queries and whether they should trigger the skill.
pub static TRIGGERS: CaseFormat = CaseFormat {
    name: "trigger query",
    default_mode: DEFAULT_MODE,
    files: None,
    foreign: Some(ForeignFiles {
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
        parse: |file, document, root| parse(&TRIGGERS, true, file, document, root),
    }),
};

/// The keys of lists of cases.
const LISTS: [&str; 7] = ["evals", "cases", "tests", "test_cases", "queries", "trigger_evals", "expects"];

/// The keys of lists of queries, and whether these should trigger the skill.
const SIDES: [(&str, bool); 4] = [
    ("should_trigger", true),
    ("should_not_trigger", false),
    ("should_trigger_prompts", true),
    ("should_not_trigger_prompts", false),
];

/// The keys of all lists of cases.
pub(in crate::cases) fn list_keys() -> impl Iterator<Item = &'static str> {
    LISTS.into_iter().chain(SIDES.map(|(key, _)| key))
}

/// The keys of the skill under test, of a file or of a case.
const SKILL: [&str; 2] = ["skill_name", "skill"];

/// The key of the skills that are offered: the first that is here is the one under test.
const SKILLS: &str = "skills";

/// The skills of which a query may name one.
const SKILLS_TESTED: &str = "skills_tested";

const PROMPTS: [&str; 4] = ["prompt", "query", "input", "question"];

/// Keys that ask for nothing.
pub(in crate::cases::case) const NOTES: [&str; 33] = [
    "$schema",
    "area",
    "author",
    "category",
    "comment",
    "_comment",
    "confidence",
    "created",
    "date",
    "description",
    "difficulty",
    "eval_name",
    "failure_mode",
    "generated_at",
    "harness",
    "instructions",
    "language",
    "license",
    "metadata",
    "name",
    "note",
    "notes",
    "rationale",
    "reason",
    "reasoning",
    "scenario_name",
    "schema_version",
    "source",
    "tags",
    "title",
    "updated",
    "version",
    "why",
];

fn parse(
    format: &'static CaseFormat,
    triggers: bool,
    file: &ForeignFile<'_>,
    mut document: Document<'_>,
    root: &Node,
) -> Option<FileCases> {
    let entries = entries(root);
    let holds_results = || is_result(root) || entries.iter().any(|entry| is_result(entry.node));
    let shows_cases = || has_prompts(&entries) && !holds_results();
    let is_set = is_trigger_set(root, &entries);
    let is_other = match (file.is_certain, triggers) {
        // The formats before this one have left a file with a name of trigger sets: it is one, even if its content does not say so.
        (true, true) => false,
        // Trigger sets of another name are taken by what they show.
        (true, false) => is_set && shows_cases(),
        (false, _) => is_set != triggers || !shows_cases(),
    };
    if is_other {
        return None;
    }
    for key in list_keys() {
        document.list(root, key);
    }
    if entries.is_empty() {
        missing_cases(&mut document, root);
        return Some(FileCases { problems: document.problems.into_vec(), ..FileCases::default() });
    }
    let known: Vec<&str> = list_keys().chain(SKILL).chain([SKILLS_TESTED, SKILLS]).collect();
    let is_one_case = matches!(&entries[..], [only] if std::ptr::eq(only.node, root));
    let shared = if is_one_case { Vec::new() } else { document.unsupported_keys(root, &known, &NOTES) };
    if root.is_map() {
        document.duplicate_keys(root, &known);
    }
    let (skill, tested) = (skill_named(file, &mut document, root), document.texts(root, SKILLS_TESTED));
    let mut problems = document.problems.take();
    let names = entries.iter().filter_map(|entry| entry::name(entry.node)).collect();
    let mut reader = EntryReader { format, file, document, shared, skill, tested, names };
    let cases = (1..).zip(&entries).map(|(number, entry)| reader.found(entry, number)).collect();
    problems.extend(reader.document.comments());
    Some(FileCases { cases, problems, ..FileCases::default() })
}

/// A case in the file.
struct Entry<'n> {
    node: &'n Node,
    /// Whether its list says that the skill should trigger.
    should_trigger: Option<bool>,
}

/// The cases, in the order of their lists.
fn entries(root: &Node) -> Vec<Entry<'_>> {
    let lists = LISTS.into_iter().map(|key| (root.get(key), None));
    let sides = SIDES.into_iter().map(|(key, side)| (root.get(key), Some(side)));
    let lists = std::iter::once((Some(root), None)).chain(lists).chain(sides);
    let lists = lists.filter_map(|(list, side)| Some((list?.elements()?, side)));
    let entries: Vec<Entry<'_>> = lists
        .flat_map(|(nodes, should_trigger)| nodes.iter().map(move |node| Entry { node, should_trigger }))
        .collect();
    if entries.is_empty() && is_case(root) { vec![Entry { node: root, should_trigger: None }] } else { entries }
}

/// Whether a file is one case.
fn is_case(root: &Node) -> bool {
    let has = |keys: &[&str]| keys.iter().any(|key| root.entry(key).is_some());
    !has(&LISTS)
        && has(&PROMPTS)
        && (has(&assertions::KEYS) || has(&[entry::SHOULD_TRIGGER]) || has(&entry::EXPECTED_SKILL))
}

/// Whether the cases say only which queries trigger the skill.
fn is_trigger_set(root: &Node, entries: &[Entry<'_>]) -> bool {
    let has_queries = root.get("queries").is_some() || SIDES.iter().any(|(key, _)| root.get(key).is_some());
    let asks_more = |entry: &Entry<'_>| assertions::KEYS.iter().any(|key| entry.node.get(key).is_some());
    let is_query = |entry: &Entry<'_>| entry.node.get("query").is_some() || entry.node.get("should_trigger").is_some();
    (has_queries || entries.iter().any(is_query)) && !entries.iter().any(asks_more)
}

fn has_prompts(entries: &[Entry<'_>]) -> bool {
    let has_prompt =
        |entry: &Entry<'_>| PROMPTS.iter().any(|key| entry.node.get(key).is_some_and(|node| node.text().is_some()));
    entries.iter().any(|entry| entry.should_trigger.is_some() || has_prompt(entry))
}

fn missing_cases(document: &mut Document<'_>, root: &Node) {
    if !document.problems.is_empty() {
        return;
    }
    let (code, message) = match list_keys().find_map(|key| Some((key, root.get(key)?))) {
        Some((key, _)) => (Code::EmptyValue, format!("`{key}` is empty")),
        None if root.elements().is_some() => (Code::EmptyValue, "the file is an empty array".to_owned()),
        None => (Code::MissingKey, "the file has no cases: the key `evals` is missing".to_owned()),
    };
    let range = list_keys().find_map(|key| root.get(key)).unwrap_or(root).range.clone();
    let help = format!("cases are a list at one of the keys {}, or the whole file", LISTS.join(", "));
    document.problem_with_help(code, range.start..range.start + 1, message, help);
}

fn skill_named(file: &ForeignFile<'_>, document: &mut Document<'_>, node: &Node) -> Option<String> {
    let Some(key) = SKILL.into_iter().find(|key| node.get(key).is_some()) else {
        let names = document.texts(node, SKILLS);
        let is_here = |name: &&String| file.skills.contains(&&*file.skill_slug(name));
        // The directory of a skill says more than a name that no skill has.
        return names.iter().find(is_here).or(names.first().filter(|_| file.skill.is_none())).cloned();
    };
    document.required_text(node, key).map(str::to_owned)
}
