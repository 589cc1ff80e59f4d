//! What a case expects of the output, as assertions for the judge.

use super::Document;
use crate::cases::case::document::Node;
use crate::cases::case::{Assertion, Case, Unsupported};
use crate::text::diagnostic::Code;

/// The key of the output in words.
const EXPECTED: &str = "expected_output";

/// The key of what must not happen.
const FORBIDDEN: &str = "forbidden_behaviors";

const LISTS: [&str; 2] = ["expectations", "assertions"];

/// All keys that are read here.
pub(super) const KEYS: [&str; 4] = [EXPECTED, FORBIDDEN, LISTS[0], LISTS[1]];

/// The keys of the statement in an assertion that is an object.
const TEXTS: [&str; 7] = ["text", "assertion", "expectation", "description", "check", "criterion", "criteria"];

/// The keys of an assertion that ask for nothing.
const NAMES: [&str; 6] = ["id", "name", "title", "category", "notes", "rationale"];

/// Adds the assertions of a case.
pub(super) fn read(document: &mut Document<'_>, node: &Node, case: &mut Case) {
    for key in LISTS {
        for assertion in list(document, node, key) {
            read_one(document, assertion, case);
        }
    }
    for text in list(document, node, FORBIDDEN) {
        match text.text() {
            Some(said) => add(document, text, Assertion::forbidding(said), case),
            None => document.wrong_type(&format!("an element of `{FORBIDDEN}`"), "a string", text),
        }
    }
    // In words, as everything else here: a judge reads it, nothing compares it.
    if let Some(expected) = document.text(node, EXPECTED).filter(|text| !text.trim().is_empty()).map(str::to_owned)
        && let Some(place) = node.get(EXPECTED)
    {
        add(document, place, expected, case);
    }
}

fn list<'n>(document: &mut Document<'_>, node: &'n Node, key: &str) -> &'n [Node] {
    match node.get(key) {
        Some(text) if text.text().is_some() => std::slice::from_ref(text),
        _ => document.list(node, key).unwrap_or_default(),
    }
}

fn read_one(document: &mut Document<'_>, node: &Node, case: &mut Case) {
    if let Some(text) = node.text() {
        return add(document, node, text.to_owned(), case);
    }
    if !node.is_map() {
        return document.wrong_type("an assertion", "a string or an object", node);
    }
    let key = TEXTS.into_iter().find(|key| node.get(key).is_some());
    // Another key, as `type` or `value`, may say that no judge is meant.
    let other = node.entries().iter().find(|entry| Some(&*entry.key) != key && !NAMES.contains(&entry.key.as_str()));
    match (other, key) {
        (Some(other), _) => case.unsupported.push(Unsupported {
            what: format!("the key `{}` of an assertion", other.key),
            place: document.place(other.key_range.clone()),
        }),
        (None, Some(key)) => {
            if let Some(text) = document.text(node, key).map(str::to_owned) {
                add(document, node, text, case);
            }
        }
        (None, None) => document.missing(node, TEXTS[0]),
    }
}

fn add(document: &mut Document<'_>, node: &Node, text: String, case: &mut Case) {
    if node.text().unwrap_or(&text).trim().is_empty() {
        document.problem(Code::EmptyValue, node.range.clone(), "an assertion is an empty text".to_owned());
        return;
    }
    case.assertions.push(Assertion { text, place: document.place(node.range.clone()), weight: None });
}
