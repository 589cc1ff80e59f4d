//! What a case expects of the output: statements for the judge, and assertions with a `type` as checks.
//!
//! Public files have types for graders of their own, in different words: `{ "type": "contains", "text": "three minutes" }`. A type that
//! names no check is a label.

use super::ForeignReader;
use crate::cases::case::document::Node;
use crate::cases::case::foreign_reader::words;
use crate::cases::case::{Assertion, Unsupported};
use crate::checks::pattern::{Pattern, Style};
use crate::checks::text_test::TextTest;
use crate::checks::{self, CaseCheck, FileWant, InvalidCheck, TextPlace};
use crate::text::diagnostic::{Code, shorten};

/// The keys of the output in words.
const EXPECTED: [&str; 2] = ["expected_output", "ground_truth"];

/// The keys of what must not happen.
const FORBIDDEN: [&str; 2] = ["forbidden_behaviors", "must_not"];

const LISTS: [&str; 5] = ["expectations", "assertions", "expected_behavior", "expected_behaviors", CHECKS];

/// The key of statements that is also one of objects of another form.
const CHECKS: &str = "checks";

/// All keys that are read here.
pub(super) const KEYS: [&str; 9] =
    [EXPECTED[0], EXPECTED[1], FORBIDDEN[0], FORBIDDEN[1], LISTS[0], LISTS[1], LISTS[2], LISTS[3], LISTS[4]];

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

/// Types that look for a text, the first as all others.
const CONTAINS: &str = "contains contain contains_text contains_phrase contains_string include includes output_contains \
                        response_contains icontains substring";

/// Types that look for a regular expression.
const MATCHES: &str =
    "regex match matches pattern contains_pattern regex_match output_matches contains_regex matches_regex";

/// Words that negate a type and say nothing else.
const NOT: &str = "not does do must should doesnt dont";

/// How the words of types begin that mean the opposite of something: a statement would be turned around.
const NEGATIONS: &str =
    "absent avoid cannot disallow doesn dont exclud forbid lack miss negat never no omit prohibit reject without";

/// How the words of types begin that a program checks, and no judge.
const PROGRAMS: &str = "command contain count end equal exact exist exit file greater includ json length less match pattern prefix \
                        range regex schema script start substring suffix tool";

/// Adds the assertions of a case.
pub(super) fn read(reader: &mut ForeignReader<'_>, node: &Node) {
    // In other files, an object of checks has kinds of its own.
    let is_other = |key: &str| key == CHECKS && node.get(CHECKS).is_some_and(Node::is_map);
    if let Some(checks) = node.get(CHECKS).filter(|_| is_other(CHECKS)) {
        reader.not_done(checks, format!("the key `{CHECKS}`"));
    }
    for key in LISTS.into_iter().filter(|key| !is_other(key)) {
        for assertion in list(reader, node, key) {
            read_one(reader, assertion);
        }
    }
    for key in FORBIDDEN {
        for text in list(reader, node, key) {
            match text.text() {
                Some(said) => add(reader, text, &Assertion::forbidding(said)),
                None => reader.wrong_type(&format!("an element of `{key}`"), "a string", text),
            }
        }
    }
    // In words, as everything else here: a judge reads it, nothing compares it.
    for key in EXPECTED {
        if let Some(expected) = reader.text(node, key).filter(|text| !text.trim().is_empty())
            && let Some(place) = node.get(key)
        {
            add(reader, place, expected);
        }
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
        match typed(node, &kind_words(kind)) {
            Typed::Words => {}
            Typed::CaseCheck(check) => {
                let before = reader.case.checks.len();
                reader.add(node, check);
                return reader.locate_checks("assertions", node, before);
            }
            Typed::Unknown => {
                let what = format!("an assertion of the type `{}` with these keys", shorten(kind));
                return reader.not_done(node, what);
            }
        }
    }
    let key = words(TEXTS).into_iter().find(|key| node.get(key).is_some());
    // Another key, as `value`, may say that no judge is meant.
    let is_known = |other: &str| Some(other) == key || words(NAMES).contains(&other);
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
    let is = |types: &str| words(types).contains(&&*name);
    let value = |keys: &'static str| {
        words(keys).into_iter().find(|key| node.get(key).is_some_and(|node| node.text().is_some()))
    };
    let test = |key: &'static str, is_pattern: bool| test(node, key, is_pattern, name == "icontains", negated);
    let is_pattern = |key: &str| ["pattern", "regex"].contains(&key);
    let found = if is(CONTAINS) || is(MATCHES) {
        value(VALUES).filter(|key| !(name == "icontains" && is_pattern(key))).map(|key| {
            let test = test(key, is(MATCHES) || is_pattern(key));
            (vec![key], test.map(|test| checks::text(TextPlace::Final, test)))
        })
    } else if is("file_exists file_exist exists file_created") {
        let key = value(PATHS).or_else(|| value("value"));
        key.map(|key| (vec![key], checks::file(text(node, key), FileWant::Exists(!negated))))
    } else if is("file_contains file_contain file_matches file_match") {
        value(PATHS).zip(value(VALUES)).map(|(key, searched)| {
            let test = test(searched, name.starts_with("file_match") || is_pattern(searched));
            (vec![key, searched], test.and_then(|test| checks::file(text(node, key), FileWant::Content(test))))
        })
    } else if is("command_succeeds command command_exit_zero run_command") && !negated {
        value(COMMANDS).map(|key| (vec![key], Ok(checks::run(text(node, key).to_owned(), 0, None, None))))
    } else {
        let is_meant = |word: &String| {
            [NEGATIONS, PROGRAMS].iter().flat_map(|list| words(list)).any(|start| word.starts_with(start))
        };
        return if kind.iter().any(is_meant) { Typed::Unknown } else { Typed::Words };
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

/// The words of a type, in lower case: `notContains`, `not-contains` and `not_contains` have the same.
fn kind_words(kind: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in kind.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
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
    let kept = kind.iter().map(String::as_str).filter(|word| !negated || !words(NOT).contains(word));
    (kept.collect::<Vec<_>>().join("_"), negated)
}

fn text<'n>(node: &'n Node, key: &str) -> &'n str {
    node.get(key).and_then(Node::text).unwrap_or_default()
}

/// The test of the text at a key, if its pattern compiles.
fn test(
    node: &Node,
    key: &'static str,
    is_pattern: bool,
    ignores_case: bool,
    negated: bool,
) -> Result<TextTest, InvalidCheck> {
    let style = match (is_pattern, ignores_case) {
        (true, _) => Style::Exact,
        (false, true) => Style::Literal,
        (false, false) => Style::Verbatim,
    };
    let pattern = Pattern { text: text(node, key).to_owned(), style };
    if let Err(error) = pattern.check() {
        let (message, help) = pattern.problem(key, &error);
        return Err(InvalidCheck::new(key, message, help));
    }
    Ok(TextTest { negated, ..pattern.into() })
}
