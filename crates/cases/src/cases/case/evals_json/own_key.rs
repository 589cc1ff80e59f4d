//! A key of a file's own that says which skill should trigger, or whether the one under test should: its values in all cases show it.

use std::collections::BTreeSet;

use super::{
    ACTIVATED, ASSERTION_KEYS, EXPECTED_SKILL, EvalEntry, NOTES, PROMPTS, SHOULD_TRIGGER, SKILL, SKILLS, asks_more,
    is_none, kind_words, side,
};
use crate::cases::case::ForeignFile;
use crate::cases::case::document::{Node, NodeValue};
use crate::cases::case::foreign_reader::words;

/// A key of the cases, and what its values say.
pub(super) struct OwnKey<'n> {
    pub key: &'n str,
    /// Whether they are names of skills; else they say whether the skill under test should trigger.
    pub names_skills: bool,
}

/// Words in the keys of skills that should not trigger.
const OPPOSITES: &str =
    "not no never without avoid forbid forbidden exclude excluded reject rejected wrong other others";

/// Keys that say something else, whatever their values are.
const OTHERS: [&str; 5] = ["id", "name", "files", "tags", SKILLS];

/// The key, if no other one says what should trigger and only one can be meant.
pub(super) fn find<'n>(root: &Node, entries: &[EvalEntry<'n>], file: &ForeignFile<'_>) -> Option<OwnKey<'n>> {
    let says = |entry: &EvalEntry<'_>| {
        let mut known = [SHOULD_TRIGGER, ACTIVATED].into_iter().chain(EXPECTED_SKILL);
        entry.should_trigger.is_some() || known.any(|key| entry.node.entry(key).is_some())
    };
    if entries.iter().any(says) {
        return None;
    }
    let asks_more = entries.iter().any(asks_more);
    let all: BTreeSet<&str> = entries.iter().flat_map(|entry| entry.node.entries()).map(|entry| &*entry.key).collect();
    let is_open = |key: &&str| !OTHERS.contains(key) && !PROMPTS.contains(key) && !ASSERTION_KEYS.contains(key);
    // Next to other expectations, the name of a skill may say anything.
    let is_expected = |key: &&str| key.starts_with("expect");
    let open: Vec<&str> = all.into_iter().filter(is_open).filter(|key| !asks_more || is_expected(key)).collect();
    let values = |key: &str| entries.iter().filter_map(|entry| Some(&entry.node.entry(key)?.value)).collect::<Vec<_>>();
    let says_sides = |key: &&str| values(key).into_iter().all(|value| said_at(key, value).is_some());
    let mut sides = open.iter().copied().filter(says_sides);
    if let (Some(key), None) = (sides.next(), sides.next()) {
        return Some(OwnKey { key, names_skills: false });
    }
    let is_opposite = |key: &str| kind_words(key).iter().any(|word| words(OPPOSITES).contains(&&**word));
    let is_label = |key: &str| words(NOTES).contains(&key) || is_opposite(key);
    let names_skills = |key: &&str| {
        let all: Vec<Option<&str>> = values(key).into_iter().map(|value| skill_at(value, file)).collect();
        // A key that is called so names what is expected, also if that is not here.
        !is_label(key)
            && (is_expected(key) || all.iter().all(Option::is_some))
            && all.iter().flatten().any(|name| !name.is_empty())
    };
    let named: Vec<&str> = open.into_iter().filter(names_skills).collect();
    let others: Vec<&str> = named.iter().copied().filter(|key| !SKILL.contains(key)).collect();
    // A query that names a skill and says nothing else is one for it.
    let are_queries = || root.get("queries").is_some() || entries.iter().any(|entry| entry.node.get("query").is_some());
    let expected: Vec<&str> = others.iter().copied().filter(is_expected).collect();
    let others = if expected.is_empty() { others } else { expected };
    match (&others[..], &named[..]) {
        // Next to it, a usual key says only which skill the case is about.
        ([key], _) => Some(OwnKey { key, names_skills: true }),
        ([], [key]) if are_queries() => Some(OwnKey { key, names_skills: true }),
        _ => None,
    }
}

/// What the value of an own key says of triggering, if it says only that.
pub(super) fn said_at(key: &str, value: &Node) -> Option<bool> {
    let is_expected = ["expect", "expected"].contains(&key);
    match &value.value {
        NodeValue::Text(text) => side(text),
        NodeValue::Flag(flag) => side(key).or(is_expected.then_some(true)).map(|side| side == *flag),
        _ => None,
    }
}

/// The skill here that a value names, empty if it names none; `None` if it says something else.
pub(super) fn skill_at<'n>(value: &'n Node, file: &ForeignFile<'_>) -> Option<&'n str> {
    match &value.value {
        NodeValue::Null => Some(""),
        NodeValue::Text(text) if is_none(text) => Some(""),
        NodeValue::Text(text) => file.has_skill(text).then_some(text),
        NodeValue::List(list) => match &list[..] {
            [] => Some(""),
            [only] => skill_at(only, file),
            _ => None,
        },
        _ => None,
    }
}
