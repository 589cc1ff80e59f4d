//! The list of skills that codex shows its model, in a message of its own.

use crate::lint::SkillList;
use crate::skill::{Skill, slug};

/// codex gives the list 2 % of the model's window, in tokens of four bytes; each line takes whole tokens. codex's own skills
/// take 432 of them. Measured with its default window of 272,000 tokens.
pub(super) static LISTINGS: [SkillList; 1] = [SkillList {
    agent: "codex",
    window: "272,000",
    room: 5_440 - 432,
    unit: "tokens",
    takes: |skill: &Skill| {
        let description: usize = skill.description.chars().take(MAX_DESCRIPTION).map(char::len_utf8).sum();
        (LINE_BYTES + skill.name.len() + skill.slug.len() + description).div_ceil(4)
    },
    bare: |_| 0,
    beyond: "it cuts the longest descriptions, and where that is not enough all of them",
}];

/// How many characters of a description codex shows at most.
const MAX_DESCRIPTION: usize = 1_024;

/// The bytes of `- : (file: r0//SKILL.md)` and the line break.
const LINE_BYTES: usize = 26;

/// The tags around the list.
const TAGS: [&str; 2] = ["<skills_instructions>", "</skills_instructions>"];

/// The heading before the entries.
const HEADING: &str = "### Available skills";

/// The list in a message of codex, if it has one.
pub(super) fn within(text: &str) -> Option<&str> {
    let list = text.split_once(TAGS[0])?.1;
    Some(list.split_once(TAGS[1]).map_or(list, |(list, _)| list))
}

/// A line `- name: description (file: r1/name/SKILL.md)`.
struct ListedSkill<'a> {
    name: &'a str,
    /// As much of the description as codex shows.
    description: &'a str,
    /// `r1/name/SKILL.md)`.
    file: &'a str,
}

fn entries(list: &str) -> impl Iterator<Item = ListedSkill<'_>> {
    let list = list.split_once(HEADING).map_or(list, |(_, list)| list);
    list.lines().filter_map(|line| {
        let (entry, file) = line.strip_prefix("- ")?.rsplit_once("(file: ")?;
        let (name, description) = entry.split_once(": ")?;
        Some(ListedSkill { name, description, file })
    })
}

/// The names of the skills in a list, each with as much of its description as codex shows.
pub(super) fn skills(list: &str) -> impl Iterator<Item = (&str, &str)> {
    entries(list).map(|entry| (entry.name, entry.description))
}

/// A list as a recording stores it: only with the descriptions of skills with these slugs.
pub(super) fn slimmed(list: &str, skills: &[&str]) -> String {
    let entries = entries(list).map(|ListedSkill { name, description, file }| {
        let description = if skills.contains(&slug(name).as_str()) { description.trim_end() } else { "…" };
        let space = if description.is_empty() { "" } else { " " };
        format!("- {name}: {description}{space}(file: {file}\n")
    });
    let [open, close] = TAGS;
    format!("{open}\n{HEADING}\n{}{close}", entries.collect::<String>())
}
