//! Trigger sets that are lists of queries: those that should trigger a skill, and those that should not. A file has them for one
//! skill or for each of several.

use super::{Node, PROMPTS, SKILL, SKILLS};
use crate::cases::case::ForeignFile;
use crate::cases::case::document::NodeEntry;
use crate::cases::case::results::plain;

/// Ends of the keys that only say what is in the list.
const ENDS: [&str; 3] = ["prompts", "queries", "phrases"];

/// An object with lists of queries.
pub(super) struct Group<'n> {
    /// The skill that they are for, if the group names one.
    pub skill: Option<&'n str>,
    /// Its key in the file.
    pub key: Option<&'n str>,
    pub node: &'n Node,
}

/// Whether the queries at a key should trigger the skill; `None` if it is another key.
fn side(key: &str) -> Option<bool> {
    let key = plain(key);
    let word = ENDS.iter().find_map(|end| key.strip_suffix(end)).unwrap_or(&key);
    match word.strip_suffix('s').unwrap_or(word) {
        "shouldtrigger" | "shouldactivate" | "positive" | "trigger" => Some(true),
        "shouldnottrigger" | "shouldnotactivate" | "negative" | "nontrigger" | "notrigger" => Some(false),
        _ => None,
    }
}

/// Whether a key can be nothing but one of such a list.
pub(super) fn is_certain_side(key: &str) -> bool {
    side(key).is_some() && plain(key).starts_with("should")
}

/// The lists of queries of an object, each with whether they should trigger the skill. Words that mean something else elsewhere count
/// only if there are lists of both sides, with prompts.
pub(super) fn sides(node: &Node) -> impl Iterator<Item = (&NodeEntry, bool)> {
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

/// The groups of a file: itself, or those of its skills.
pub(super) fn groups<'n>(root: &'n Node, file: &ForeignFile<'_>) -> Vec<Group<'n>> {
    let of_entries = |node: &'n Node, is_inside: bool| {
        let entries = node.entries().iter();
        entries.map(move |entry| {
            let key = &*entry.key;
            let is_skill = is_inside || file.skills.contains(&&*file.skill_slug(key));
            Group { skill: is_skill.then_some(key), key: Some(key), node: &entry.value }
        })
    };
    let of_list = |node: &'n Node| {
        let name = |node: &'n Node| SKILL.into_iter().chain(["name"]).find_map(|key| node.get(key)?.text());
        node.elements().unwrap_or_default().iter().map(move |node| Group { skill: name(node), key: None, node })
    };
    let whole = [Group { skill: None, key: None, node: root }].into_iter();
    let inner = root.get(SKILLS).into_iter().flat_map(|skills| of_entries(skills, true).chain(of_list(skills)));
    let all = whole.chain(of_entries(root, false)).chain(of_list(root)).chain(inner);
    all.filter(|group| sides(group.node).next().is_some()).collect()
}
