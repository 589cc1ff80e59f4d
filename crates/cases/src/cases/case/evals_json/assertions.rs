//! What a case expects of the output, as assertions for the judge.

use super::Document;
use super::typed::{self, Typed};
use crate::cases::case::document::Node;
use crate::cases::case::{Assertion, Case, Unsupported};
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
const TEXTS: [&str; 7] = ["text", "assertion", "expectation", "description", "check", "criterion", "criteria"];

/// The keys of an assertion that ask for nothing.
const NAMES: [&str; 7] = [typed::TYPE, "id", "name", "title", "category", "notes", "rationale"];

/// Adds the assertions of a case.
pub(super) fn read(document: &mut Document<'_>, node: &Node, case: &mut Case) {
    if let Some(checks) = node.get(CHECKS).filter(|checks| checks.is_map()) {
        case.unsupported.push(document.unsupported(format!("the key `{CHECKS}`"), checks));
    }
    for key in LISTS {
        for assertion in list(document, node, key) {
            read_one(document, assertion, case);
        }
    }
    for key in FORBIDDEN {
        for text in list(document, node, key) {
            match text.text() {
                Some(said) => add(document, text, Assertion::forbidding(said), case),
                None => document.wrong_type(&format!("an element of `{key}`"), "a string", text),
            }
        }
    }
    // In words, as everything else here: a judge reads it, nothing compares it.
    for key in EXPECTED {
        if let Some(expected) = document.text(node, key).filter(|text| !text.trim().is_empty()).map(str::to_owned)
            && let Some(place) = node.get(key)
        {
            add(document, place, expected, case);
        }
    }
}

fn list<'n>(document: &mut Document<'_>, node: &'n Node, key: &str) -> &'n [Node] {
    match node.get(key) {
        Some(text) if text.text().is_some() => std::slice::from_ref(text),
        // In other files, an object of checks has kinds of its own.
        Some(other) if key == CHECKS && other.is_map() => &[],
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
    if node.get(typed::TYPE).is_some() {
        match typed::read(document, node) {
            Some(Typed::Check(check)) => return case.checks.push(*check),
            Some(Typed::Words) => {}
            Some(Typed::Unknown) => {
                let kind = node.get(typed::TYPE).and_then(Node::text).unwrap_or_default();
                let what = format!("an assertion of the type `{}` with these keys", shorten(kind));
                return case.unsupported.push(document.unsupported(what, node));
            }
            None => return,
        }
    }
    let key = TEXTS.into_iter().find(|key| node.get(key).is_some());
    // Another key, as `value`, may say that no judge is meant.
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
