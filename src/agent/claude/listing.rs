//! What claude puts before its model of the skills, as attachments in its session file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::agent::lenient;
use crate::agent::skill_calls::SkillCalls;
use crate::lint::SkillList;
use crate::skill::{Skill, slug};
use crate::trace::description::DescriptionVisibility;

/// A hundredth of the model's window, at three characters to a token where newer models count so; 4,250 of them go to
/// claude's own skills. Measured with 2.1.197, the narrowest first.
const SMALL: SkillList = SkillList {
    agent: "Claude Code 2.1",
    window: "200,000",
    room: 6_000 - OWN,
    unit: "characters",
    takes,
    bare,
    beyond: "from this one on those that do not fit are names without a description",
};

/// The same for what it asks for where no model is chosen.
const LARGE: SkillList = SkillList { window: "1,000,000", room: 30_000 - OWN, ..SMALL };

/// Both.
pub const LISTINGS: [SkillList; 2] = [SMALL, LARGE];

/// What claude's own skills take.
const OWN: usize = 4_250;

/// The characters of a description that it shows at most.
const LONGEST: usize = 1_536;

/// `- name: description` and the end of the line; nothing for a skill that it hides from its model.
fn takes(skill: &Skill) -> usize {
    let (name, description) = (skill.name.chars().count(), skill.description.chars().count().min(LONGEST));
    if skill.user_only { 0 } else { 5 + name + description }
}

/// `- name` and the end of the line: names of all skills have their room before any description has.
fn bare(skill: &Skill) -> usize {
    if skill.user_only { 0 } else { 3 + skill.name.chars().count() }
}

/// What a recording has in the place of a description that it does not keep.
const LEFT_OUT: &str = "…";

/// The list of skills: a line `- name: description` and more lines for each of them; a name alone where there is no room for
/// the description.
const SKILLS: &str = "skill_listing";

/// The instructions of MCP servers.
const SERVERS: &str = "mcp_instructions_delta";

/// What claude adds to the conversation by itself.
#[derive(Deserialize)]
pub(super) struct Attachment {
    #[serde(rename = "type")]
    kind: String,
    /// Of a list of skills: their names, in its order.
    #[serde(default)]
    names: Vec<String>,
    /// Its text.
    #[serde(default, deserialize_with = "lenient::option")]
    content: Option<String>,
    /// Of instructions: the servers.
    #[serde(default, rename = "addedNames", deserialize_with = "lenient::or_default")]
    servers: Vec<String>,
    /// What each of them says.
    #[serde(default, rename = "addedBlocks", deserialize_with = "lenient::or_default")]
    blocks: Vec<String>,
}

/// What the attachments have told.
#[derive(Default)]
pub(super) struct AttachmentFacts {
    /// The skills that the model was offered, where the session file says so.
    pub names: Option<Vec<String>>,
    /// How much of their descriptions it was shown, by slug.
    pub described: BTreeMap<String, DescriptionVisibility>,
}

impl AttachmentFacts {
    pub(super) fn add(&mut self, attachment: Attachment, skills: &mut SkillCalls<'_>) {
        if attachment.kind == SKILLS {
            let entries = attachment.entries();
            self.know(skills.listed(entries.iter().map(|(name, shown)| (*name, shown.as_str()))));
            self.names.get_or_insert_default().extend(attachment.names);
        } else if attachment.kind == SERVERS {
            let told = attachment.servers.iter().zip(&attachment.blocks);
            let whole = told.flat_map(|(server, text)| skills.told_by(server, text));
            self.know(whole.map(|skill| (skill, DescriptionVisibility::Whole)));
        }
    }

    /// What was shown in one place counts, whatever another place shows.
    fn know(&mut self, described: impl IntoIterator<Item = (String, DescriptionVisibility)>) {
        for (skill, described) in described {
            let known = self.described.entry(skill).or_default();
            *known = described.max(*known);
        }
    }
}

impl Attachment {
    /// The entries of a list, each with what stands behind the name. A description may have lines that look like entries,
    /// but the next one is that of the next name.
    fn entries(&self) -> Vec<(&str, String)> {
        let mut entries: Vec<(&str, String)> = Vec::new();
        let mut left = self.names.iter().map(String::as_str).peekable();
        for line in self.content.iter().flat_map(|content| content.lines()) {
            let behind = |name: &&str| line.strip_prefix("- ")?.strip_prefix(*name);
            let begins = left.peek().and_then(behind).filter(|behind| behind.is_empty() || behind.starts_with(':'));
            if let (Some(behind), Some(name)) = (begins, left.peek()) {
                entries.push((name, behind.trim_start_matches(':').to_owned()));
                left.next();
            } else if let Some((_, shown)) = entries.last_mut() {
                shown.extend(["\n", line]);
            }
        }
        entries
    }

    /// It as a recording keeps it: of the descriptions those of the skills with these slugs, since those of claude's own skills
    /// are claude's. `None` where it is of no use later.
    pub(super) fn slimmed(&self, skills: &[&str]) -> Option<Value> {
        if self.kind == SERVERS {
            return Some(json!({ "type": SERVERS, "addedNames": self.servers, "addedBlocks": self.blocks }));
        }
        let mut slim = (self.kind == SKILLS).then(|| json!({ "type": SKILLS, "names": self.names }))?;
        if self.content.is_some() {
            let entry = |(name, shown): (&str, String)| match skills.contains(&slug(name).as_str()) {
                true if shown.is_empty() => format!("- {name}"),
                true => format!("- {name}:{shown}"),
                false => format!("- {name}: {LEFT_OUT}"),
            };
            let kept: Vec<String> = self.entries().into_iter().map(entry).collect();
            slim["content"] = kept.join("\n").into();
        }
        Some(slim)
    }
}
