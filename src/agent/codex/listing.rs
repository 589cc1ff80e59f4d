//! The list of skills that codex puts before its model, in a message of its own.

use crate::lint::SkillList;
use crate::skill::{Skill, slug};

/// Two hundredths of the model's window, in tokens of four bytes of which a line takes whole ones; 432 of them go to
/// codex's own skills. Measured with 0.169.0 and its default window of 272,000 tokens.
pub const LISTINGS: [SkillList; 1] = [SkillList {
    agent: "codex 0.169",
    window: "272,000",
    room: 5_440 - 432,
    unit: "tokens",
    takes: |skill: &Skill| {
        let description: usize = skill.description.chars().take(LONGEST).map(char::len_utf8).sum();
        (OVERHEAD + skill.name.len() + skill.slug.len() + description).div_ceil(4)
    },
    bare: |_| 0,
    beyond: "it cuts the longest descriptions, and where that is not enough all of them",
}];

/// The characters of a description that it shows at most.
const LONGEST: usize = 1_024;

/// `- : (file: r0//SKILL.md)` and the end of the line.
const OVERHEAD: usize = 26;

/// What stands around the list.
const MARKS: [&str; 2] = ["<skills_instructions>", "</skills_instructions>"];

/// What stands before its entries.
const HEADING: &str = "### Available skills";

/// What a recording has in the place of a description that it does not keep.
const LEFT_OUT: &str = "…";

/// The list in a message of codex's, where there is one.
pub(super) fn within(text: &str) -> Option<&str> {
    let rest = &text[text.find(MARKS[0])? + MARKS[0].len()..];
    Some(&rest[..rest.find(MARKS[1]).unwrap_or(rest.len())])
}

/// A line `- name: description (file: r1/name/SKILL.md)`.
struct ListedSkill<'a> {
    name: &'a str,
    /// The description, as much of it as codex shows.
    shown: &'a str,
    /// `r1/name/SKILL.md)`.
    file: &'a str,
}

fn entries(list: &str) -> impl Iterator<Item = ListedSkill<'_>> {
    let list = list.split_once(HEADING).map_or(list, |(_, list)| list);
    list.lines().filter_map(|line| {
        let (entry, file) = line.strip_prefix("- ")?.rsplit_once("(file: ")?;
        let (name, shown) = entry.split_once(": ")?;
        Some(ListedSkill { name, shown, file })
    })
}

/// The skills in a list: each one's name, and as much of its description as codex shows.
pub(super) fn skills(list: &str) -> impl Iterator<Item = (&str, &str)> {
    entries(list).map(|entry| (entry.name, entry.shown))
}

/// A list as a recording keeps it: of the descriptions those of the skills with these slugs. Those of codex's own skills
/// are codex's.
pub(super) fn slimmed(list: &str, skills: &[&str]) -> String {
    let kept = entries(list).map(|ListedSkill { name, shown, file }| {
        let shown = if skills.contains(&slug(name).as_str()) { shown.trim_end() } else { LEFT_OUT };
        let space = if shown.is_empty() { "" } else { " " };
        format!("- {name}: {shown}{space}(file: {file}\n")
    });
    let [open, close] = MARKS;
    format!("{open}\n{HEADING}\n{}{close}", kept.collect::<String>())
}
