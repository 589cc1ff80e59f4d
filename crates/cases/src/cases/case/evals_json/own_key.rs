//! Keys of a file's own that say which skill a case is about, which should trigger, may or must not, or whether the one under test
//! should: their values in all cases show it.

use std::collections::BTreeSet;

use super::{
    ACTIVATED, EXPECTED_SKILL, EvalEntry, NOTES, PROMPTS, SHOULD_TRIGGER, SKILL, SKILLS, asks_more, assertion_keys,
    is_none, side,
};
use crate::cases::case::ForeignFile;
use crate::cases::case::document::{Node, NodeValue};
use crate::cases::case::key_words::{kind_words, words};

/// A key of the cases, and what its values say.
pub(super) struct OwnKey<'n> {
    pub key: &'n str,
    pub says: KeySays,
}

/// What the values of a key say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeySays {
    /// Whether the skill under test should trigger.
    Sides,
    /// The skill that should trigger.
    Expected,
    /// The skill that a case is about.
    Subject,
    /// Skills that may trigger in place of the expected one, or with it.
    Welcome,
    /// Skills that must not trigger.
    Rejected,
    /// What kind of prompt a case has, next to what it expects.
    Kind,
}

/// What the names of skills at a key are called, whatever they mean there.
const NEUTRAL: &str = "activate activated activates activation call called id invoke invoked load loaded loads mission name names \
                       route routed routes select selected skill skills slug trigger triggered triggers use used";

/// Words in the keys of a skill that should trigger. Next to others, as `not` or `previous`, nobody knows what they mean.
const EXPECTED: &str = "correct expect expected expects expecting must right should target";

/// Words in the keys of skills that must not trigger.
const REJECTED: &str = "avoid disallowed excluded exclude forbid forbidden must never not prohibited reject rejected should unexpected \
                        unwanted wrong";

/// Words in the keys of skills that are not the expected one, and are more than that in no way that is sure.
const OTHER_SKILLS: &str = "no without other others";

/// Words in the keys of skills that may trigger, too.
const WELCOME: &str = "acceptable accepted allowed also alternate alternates alternative alternatives fallback fallbacks may ok optional \
                       permitted secondary";

/// Keys that say something else, whatever their values are.
const OTHERS: [&str; 5] = ["id", "name", "files", "tags", SKILLS];

/// The keys. Of those that say what should trigger there is one at most, and none next to a usual one.
pub(super) fn find<'n>(root: &Node, entries: &[EvalEntry<'n>], file: &ForeignFile<'_>) -> Vec<OwnKey<'n>> {
    let has = |key: &str| entries.iter().any(|entry| entry.node.entry(key).is_some());
    let names_skill = [ACTIVATED].into_iter().chain(EXPECTED_SKILL).any(has);
    let has_sides = has(SHOULD_TRIGGER) || entries.iter().any(|entry| entry.should_trigger.is_some());
    let main = match (names_skill, has_sides) {
        (true, _) => None,
        (false, true) => subject(root, entries, file),
        (false, false) => expected(root, entries, file),
    };
    let is_routed = names_skill || main.as_ref().is_some_and(|own| own.says == KeySays::Expected);
    let mut beside = if is_routed { beside(entries, file) } else { Vec::new() };
    beside.retain(|own| main.as_ref().is_none_or(|main| main.key != own.key));
    main.into_iter().chain(beside).collect()
}

/// The keys of the cases that no table has, nor the settings as labels.
fn open_keys<'n>(entries: &[EvalEntry<'n>], file: &ForeignFile<'_>) -> Vec<&'n str> {
    let is_label = |key: &str| file.own_keys.iter().any(|own| own == key);
    let all: BTreeSet<&str> = entries.iter().flat_map(|entry| entry.node.entries()).map(|entry| &*entry.key).collect();
    let is_open = |key: &&str| {
        !is_label(key)
            && !OTHERS.contains(key)
            && !PROMPTS.contains(key)
            && !assertion_keys().any(|known| known == *key)
    };
    all.into_iter().filter(is_open).collect()
}

fn values<'n>(key: &str, entries: &[EvalEntry<'n>]) -> Vec<&'n Node> {
    entries.iter().filter_map(|entry| Some(&entry.node.entry(key)?.value)).collect()
}

/// Whether a key has a word of the list, and otherwise only what names of skills are called.
fn is_of(key: &str, list: &str) -> bool {
    let (list, neutral) = (words(list), words(NEUTRAL));
    let all = kind_words(key);
    all.iter().any(|word| list.contains(&&**word))
        && all.iter().all(|word| list.contains(&&**word) || neutral.contains(&&**word))
}

/// Whether a key is of skills that must not trigger: `must` and `should` say so only with `not` or `never`.
fn is_rejected(key: &str) -> bool {
    let all = kind_words(key);
    let has = |list: &str| all.iter().any(|word| words(list).contains(&&**word));
    is_of(key, REJECTED) && (has("not never") == has("must should"))
}

/// Whether a key is of the skill that should trigger, or that a case is about.
fn is_positive(key: &str) -> bool {
    let all = kind_words(key);
    let is_plain = |word: &String| ![REJECTED, WELCOME, OTHER_SKILLS].iter().any(|list| words(list).contains(&&**word));
    let is_expected = || all.first().is_some_and(|word| word.starts_with("expect")) && all.iter().all(is_plain);
    is_of(key, EXPECTED) || all.iter().all(|word| words(NEUTRAL).contains(&&**word)) || is_expected()
}

/// The key of the skill that each case is about and says whether it should trigger, if nothing else says which it is.
fn subject<'n>(root: &Node, entries: &[EvalEntry<'n>], file: &ForeignFile<'_>) -> Option<OwnKey<'n>> {
    let is_flag = |node: &Node| matches!(node.value, NodeValue::Flag(_));
    let is_named = SKILL.iter().any(|key| root.get(key).and_then(Node::text).is_some_and(|name| file.has_skill(name)));
    if file.skill.is_some() || is_named || !values(SHOULD_TRIGGER, entries).into_iter().all(is_flag) {
        return None;
    }
    let is_here = |node: &Node| node.text().is_some_and(|name| file.has_skill(name));
    let names_skills = |key: &&str| {
        let is_label = words(NOTES).contains(key) || SKILL.contains(key) || key.starts_with("expect");
        !is_label && is_positive(key) && values(key, entries).into_iter().all(is_here)
    };
    let mut named = open_keys(entries, file).into_iter().filter(names_skills);
    let key = named.next()?;
    named.next().is_none().then_some(OwnKey { key, says: KeySays::Subject })
}

/// The keys of skills that may trigger, or must not, next to one that should, and of kinds of prompts.
fn beside<'n>(entries: &[EvalEntry<'n>], file: &ForeignFile<'_>) -> Vec<OwnKey<'n>> {
    let says = |key: &'n str| {
        let is_kind = |value: &&Node| matches!(value.text(), Some("positive" | "negative"));
        if values(key, entries).iter().all(is_kind) {
            return Some(OwnKey { key, says: KeySays::Kind });
        }
        let names: Option<Vec<_>> = values(key, entries).into_iter().map(|value| skills_at(value, file)).collect();
        let says = if is_rejected(key) {
            KeySays::Rejected
        } else if is_of(key, WELCOME) {
            KeySays::Welcome
        } else {
            return None;
        };
        names.is_some_and(|names| names.iter().any(|names| !names.is_empty())).then_some(OwnKey { key, says })
    };
    open_keys(entries, file).into_iter().filter_map(says).collect()
}

/// The key that says what should trigger, if only one can be meant.
fn expected<'n>(root: &Node, entries: &[EvalEntry<'n>], file: &ForeignFile<'_>) -> Option<OwnKey<'n>> {
    let asks_more = entries.iter().any(asks_more);
    // Next to other expectations, the name of a skill may say anything.
    let is_expected = |key: &&str| key.starts_with("expect");
    let open: Vec<&str> = open_keys(entries, file).into_iter().filter(|key| !asks_more || is_expected(key)).collect();
    let is_label = |key: &str| words(NOTES).contains(&key) || !is_positive(key);
    let names_skills = |key: &&str| {
        let all: Vec<Option<&str>> = values(key, entries).into_iter().map(|value| skill_at(value, file)).collect();
        // A key that is called so names what is expected, also if that is not here.
        !is_label(key)
            && (is_expected(key) || all.iter().all(Option::is_some))
            && all.iter().flatten().any(|name| !name.is_empty())
    };
    let named: Vec<&str> = open.iter().copied().filter(names_skills).collect();
    let says_sides = |key: &&str| values(key, entries).into_iter().all(|value| said_at(key, value).is_some());
    let mut sides = open.iter().copied().filter(says_sides);
    // Next to the name of what is expected, `positive` and `negative` are kinds of prompts.
    if let (Some(key), None, false) = (sides.next(), sides.next(), named.iter().any(is_expected)) {
        return Some(OwnKey { key, says: KeySays::Sides });
    }
    let others: Vec<&str> = named.iter().copied().filter(|key| !SKILL.contains(key)).collect();
    // A query that names a skill and says nothing else is one for it.
    let are_queries = || root.get("queries").is_some() || entries.iter().any(|entry| entry.node.get("query").is_some());
    let expected: Vec<&str> = others.iter().copied().filter(is_expected).collect();
    let others = if expected.is_empty() { others } else { expected };
    match (&others[..], &named[..]) {
        // Next to it, a usual key says only which skill the case is about.
        ([key], _) => Some(OwnKey { key, says: KeySays::Expected }),
        ([], [key]) if are_queries() => Some(OwnKey { key, says: KeySays::Expected }),
        _ => None,
    }
}

/// What the value of an own key says of triggering, if it says only that.
pub(super) fn said_at(key: &str, value: &Node) -> Option<bool> {
    let is_expected = ["expect", "expected"].contains(&key);
    let rest = key.strip_prefix("expected").or(key.strip_prefix("expect")).unwrap_or(key);
    match &value.value {
        NodeValue::Text(text) => side(text),
        NodeValue::Flag(flag) => side(rest).or(is_expected.then_some(true)).map(|side| side == *flag),
        _ => None,
    }
}

/// The skill here that a value names, empty if it names none; `None` if it says something else.
pub(super) fn skill_at<'n>(value: &'n Node, file: &ForeignFile<'_>) -> Option<&'n str> {
    match skills_at(value, file)?[..] {
        [] => Some(""),
        [only] => Some(only),
        _ => None,
    }
}

/// The skills here that a value names; `None` if it says something else.
fn skills_at<'n>(value: &'n Node, file: &ForeignFile<'_>) -> Option<Vec<&'n str>> {
    let name = |node: &'n Node| node.text().filter(|name| file.has_skill(name));
    match &value.value {
        NodeValue::Null => Some(Vec::new()),
        NodeValue::Text(text) if is_none(text) => Some(Vec::new()),
        NodeValue::List(list) if list.iter().all(|node| node.text().is_some_and(is_none)) => Some(Vec::new()),
        NodeValue::Text(_) | NodeValue::List(_) => value.each().iter().map(name).collect(),
        _ => None,
    }
}
