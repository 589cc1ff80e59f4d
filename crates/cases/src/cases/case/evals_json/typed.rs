//! Assertions of an evals.json with a `type`: `{ "type": "contains", "text": "three minutes" }`.
//!
//! Public files have them for graders of their own, in different words. A type that names no check is a label.

use super::Document;
use crate::cases::case::document::Node;
use crate::checks::pattern::{Pattern, Style};
use crate::checks::text_test::{TextTest, TextWant};
use crate::checks::{self, Check, FileWant, InvalidCheck, TextPlace};
use crate::text::diagnostic::Code;

/// The key of the type.
pub(super) const TYPE: &str = "type";

/// The keys of what is searched. `text` comes last: next to others, it says in words what they mean.
const VALUES: [&str; 8] = ["phrase", PATTERN, REGEX, "substring", "value", "expected", "content", "text"];

/// The keys of a regular expression, whatever the type is.
const PATTERN: &str = "pattern";
const REGEX: &str = "regex";

/// The keys of a file of the workspace.
const PATHS: [&str; 4] = ["path", "file", "filename", "file_path"];

/// The keys of a command.
const COMMANDS: [&str; 4] = ["command", "cmd", "run", "value"];

/// The keys that may be next to those of a check.
const WORDS: [&str; 7] = ["text", "description", "id", "name", "reason", "message", TYPE];

/// Types that look for a text.
const CONTAINS: [&str; 11] = [
    "contain",
    "contains",
    "contains_text",
    "contains_phrase",
    "contains_string",
    "include",
    "includes",
    "output_contains",
    "response_contains",
    "icontains",
    "substring",
];

/// Types that look for a regular expression.
const MATCHES: [&str; 9] = [
    REGEX,
    "match",
    "matches",
    PATTERN,
    "contains_pattern",
    "regex_match",
    "output_matches",
    "contains_regex",
    "matches_regex",
];

/// Words that negate a type and say nothing else.
const NOT: [&str; 7] = ["not", "does", "do", "must", "should", "doesnt", "dont"];

/// How the words of types begin that mean the opposite of something.
const NEGATIONS: [&str; 17] = [
    "absent", "avoid", "cannot", "disallow", "doesn", "dont", "exclud", "forbid", "lack", "miss", "negat", "never",
    "no", "omit", "prohibit", "reject", "without",
];

/// How the words of types begin that a program checks, and no judge.
const PROGRAMS: [&str; 25] = [
    "command",
    "contain",
    "count",
    "end",
    "equal",
    "exact",
    "exist",
    "exit",
    "file",
    "greater",
    "includ",
    "json",
    "length",
    "less",
    "match",
    "pattern",
    "prefix",
    "range",
    "regex",
    "schema",
    "script",
    "start",
    "substring",
    "suffix",
    "tool",
];

/// What an assertion with a type asks for.
pub(super) enum Typed {
    /// This check.
    Check(Box<Check>),
    /// A statement for the judge: the type is a label.
    Words,
    /// Something that is not done here.
    Unknown,
}

/// Reads the type of an assertion. The problem is reported already if there is none.
pub(super) fn read(document: &mut Document<'_>, node: &Node) -> Option<Typed> {
    let words = words(document.required_text(node, TYPE)?);
    let (name, negated) = positive(&words);
    let value = |keys: &[&'static str]| {
        keys.iter().copied().find(|key| node.get(key).is_some_and(|node| node.text().is_some()))
    };
    let path = || value(&PATHS);
    let (used, check) = match &*name {
        name if CONTAINS.contains(&name) || MATCHES.contains(&name) => {
            let Some(key) = value(&VALUES) else { return Some(Typed::Unknown) };
            let is_pattern = MATCHES.contains(&name) || is_pattern(key);
            let ignores_case = name == "icontains";
            if is_pattern && ignores_case {
                return Some(Typed::Unknown);
            }
            let test = test(node, key, is_pattern, ignores_case, negated);
            (vec![key], checked(key, test).map(|test| checks::text(TextPlace::Final, test)))
        }
        "file_exists" | "file_exist" | "exists" | "file_created" => {
            let Some(key) = path().or_else(|| value(&["value"])) else { return Some(Typed::Unknown) };
            (vec![key], checks::file(text(node, key), FileWant::Exists(!negated)))
        }
        "file_contains" | "file_contain" | "file_matches" | "file_match" => {
            let (Some(key), Some(searched)) = (path(), value(&VALUES)) else { return Some(Typed::Unknown) };
            let test = test(node, searched, name.starts_with("file_match") || is_pattern(searched), false, negated);
            (
                vec![key, searched],
                checked(searched, test).and_then(|test| checks::file(text(node, key), FileWant::Content(test))),
            )
        }
        "command_succeeds" | "command" | "command_exit_zero" | "run_command" if !negated => {
            let Some(key) = value(&COMMANDS) else { return Some(Typed::Unknown) };
            (vec![key], Ok(checks::run(text(node, key).to_owned(), 0, None, None)))
        }
        _ => return Some(if is_label(&words) { Typed::Words } else { Typed::Unknown }),
    };
    let is_known = |key: &str| used.contains(&key) || WORDS.contains(&key);
    if node.entries().iter().any(|entry| !is_known(&entry.key)) {
        return Some(Typed::Unknown);
    }
    match check {
        Ok(check) => {
            let mut checks = [check];
            document.locate("assertions", node, &mut checks);
            let [check] = checks;
            Some(Typed::Check(Box::new(check)))
        }
        Err(InvalidCheck { message, help, .. }) => {
            document.problem_with_help(Code::InvalidCheck, node.range.clone(), message, help);
            None
        }
    }
}

/// The words of a type, in lower case: `notContains`, `not-contains` and `not_contains` have the same.
fn words(kind: &str) -> Vec<String> {
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
fn positive(words: &[String]) -> (String, bool) {
    match &words.join("_")[..] {
        "excludes" | "exclude" | "absent" => return (CONTAINS[0].to_owned(), true),
        "file_absent" => return ("file_exists".to_owned(), true),
        _ => {}
    }
    let is_negation = |word: &&String| ["not", "doesnt", "dont"].contains(&word.as_str());
    let negated = words.iter().filter(is_negation).count() == 1;
    let kept = words.iter().filter(|word| !negated || !NOT.contains(&word.as_str()));
    (kept.map(String::as_str).collect::<Vec<_>>().join("_"), negated)
}

/// Whether the words of an unknown type only name what its statement is about. One that negates would turn the statement around, and
/// one of a program is meant for no judge.
fn is_label(words: &[String]) -> bool {
    !words.iter().any(|word| NEGATIONS.iter().chain(&PROGRAMS).any(|start| word.starts_with(start)))
}

fn is_pattern(key: &str) -> bool {
    [PATTERN, REGEX].contains(&key)
}

fn text<'n>(node: &'n Node, key: &str) -> &'n str {
    node.get(key).and_then(Node::text).unwrap_or_default()
}

fn test(node: &Node, key: &str, is_pattern: bool, ignores_case: bool, negated: bool) -> TextTest {
    let style = match (is_pattern, ignores_case) {
        (true, _) => Style::Exact,
        (false, true) => Style::Literal,
        (false, false) => Style::Verbatim,
    };
    TextTest { negated, ..Pattern { text: text(node, key).to_owned(), style }.into() }
}

/// The test if its pattern compiles.
fn checked(key: &'static str, test: TextTest) -> Result<TextTest, InvalidCheck> {
    let TextWant::Pattern(pattern) = &test.want else { return Ok(test) };
    match pattern.check() {
        Ok(()) => Ok(test),
        Err(error) => {
            let (message, help) = pattern.problem(key, &error);
            Err(InvalidCheck::new(key, message, help))
        }
    }
}
