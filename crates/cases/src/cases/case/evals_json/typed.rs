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
const VALUES: [&str; 8] = ["phrase", "pattern", "regex", "substring", "value", "expected", "content", "text"];

/// The keys of a file of the workspace.
const PATHS: [&str; 4] = ["path", "file", "filename", "file_path"];

/// The keys of a command.
const COMMANDS: [&str; 4] = ["command", "cmd", "run", "value"];

/// The keys that may be next to those of a check.
const WORDS: [&str; 7] = ["text", "description", "id", "name", "reason", "message", TYPE];

/// Words for the check of a text in the names of types.
const CONTAINS: [&str; 9] = [
    "contains",
    "contains_text",
    "contains_phrase",
    "contains_string",
    "includes",
    "output_contains",
    "response_contains",
    "icontains",
    "substring",
];

/// The same for a regular expression.
const MATCHES: [&str; 8] = [
    "regex",
    "matches",
    "pattern",
    "contains_pattern",
    "regex_match",
    "output_matches",
    "contains_regex",
    "matches_regex",
];

/// Parts of names of types that no judge is meant by.
const PROGRAMS: [&str; 12] =
    ["contain", "match", "regex", "file", "command", "equal", "exit", "json", "script", "tool", "count", "exact"];

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
    let kind = document.required_text(node, TYPE)?.to_lowercase().replace(['-', ' '], "_");
    let (name, negated) = negation(&kind);
    let value = |keys: &[&'static str]| {
        keys.iter().copied().find(|key| node.get(key).is_some_and(|node| node.text().is_some()))
    };
    let path = || value(&PATHS);
    let (used, check) = match name {
        _ if CONTAINS.contains(&name) || MATCHES.contains(&name) => {
            let Some(key) = value(&VALUES) else { return Some(Typed::Unknown) };
            let test = test(node, key, MATCHES.contains(&name), name == "icontains", negated);
            (vec![key], checked(test).map(|test| checks::text(TextPlace::Final, test)))
        }
        "file_exists" | "exists" | "file_created" => {
            let Some(key) = path().or_else(|| value(&["value"])) else { return Some(Typed::Unknown) };
            (vec![key], checks::file(text(node, key), FileWant::Exists(!negated)))
        }
        "file_contains" | "file_matches" => {
            let (Some(key), Some(searched)) = (path(), value(&VALUES)) else { return Some(Typed::Unknown) };
            let test = test(node, searched, name == "file_matches" || searched == "pattern", false, negated);
            (vec![key, searched], checked(test).and_then(|test| checks::file(text(node, key), FileWant::Content(test))))
        }
        "command_succeeds" | "command" | "command_exit_zero" | "run_command" if !negated => {
            let Some(key) = value(&COMMANDS) else { return Some(Typed::Unknown) };
            (vec![key], Ok(checks::run(text(node, key).to_owned(), 0, None, None)))
        }
        _ => return Some(if PROGRAMS.iter().any(|part| kind.contains(part)) { Typed::Unknown } else { Typed::Words }),
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

/// The name of a type without its negation.
fn negation(kind: &str) -> (&str, bool) {
    let negated = match kind {
        "not_contains" | "does_not_contain" | "excludes" | "not_includes" | "absent" => Some("contains"),
        "not_contains_pattern" | "not_matches" | "not_regex" | "does_not_match" => Some("regex"),
        "file_not_exists" | "file_absent" | "file_does_not_exist" | "not_file_exists" => Some("file_exists"),
        "file_not_contains" | "file_does_not_contain" => Some("file_contains"),
        _ => None,
    };
    negated.map_or((kind, false), |name| (name, true))
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

/// The test if its pattern compiles and is not empty.
fn checked(test: TextTest) -> Result<TextTest, InvalidCheck> {
    let TextWant::Pattern(pattern) = &test.want else { return Ok(test) };
    if pattern.text.is_empty() {
        return Err(InvalidCheck::new("text", "the text to look for is empty", "write the text"));
    }
    match pattern.check() {
        Ok(()) => Ok(test),
        Err(error) => Err(InvalidCheck::new("pattern", error.to_string(), "fix the regular expression")),
    }
}
