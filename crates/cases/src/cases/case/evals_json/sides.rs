//! Trigger sets that are lists of queries: those that should trigger a skill, and those that should not. A file has them for one
//! skill or for each of several.

use super::{LISTS, Node, PROMPTS, SKILL, SKILLS};
use crate::cases::case::ForeignFile;
use crate::cases::case::document::NodeEntry;
use crate::cases::case::results::plain;

/// Ends of the keys that only say what is in the list.
const ENDS: [&str; 3] = ["prompts", "queries", "phrases"];

/// The keys as most files have them.
pub(super) const KEYS: [&str; 4] = ["should_trigger", "should_not_trigger", "positive", "negative"];

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

/// The groups of a file: itself, or those of its skills. If one of `skills` is a group, all are: what has no queries lacks them.
pub(super) fn groups<'n>(root: &'n Node, file: &ForeignFile<'_>) -> Vec<Group<'n>> {
    let is_group = |group: &Group<'_>| sides(group.node).next().is_some();
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
        let is_here = || file.skills.contains(&&*file.skill_slug(name));
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
