//! What claude shows its model of the skills: attachments in its session file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::agent::lenient::Lenient;
use crate::agent::recorder::TraceRecorder;
use crate::lint::SkillList;
use crate::skill::{Skill, of_plugin, slug};
use crate::trace::description::DescriptionVisibility;

/// claude gives the list 1 % of the model's window, at four characters per token, and at three for newer models, which have the
/// larger window. The first window is the smallest, the second the one without a chosen model.
pub(super) static LISTINGS: [SkillList; 2] =
    [SMALL, SkillList { window: "1,000,000", room: 30_000 - OWN_SKILLS, ..SMALL }];

const SMALL: SkillList = SkillList {
    agent: "Claude Code",
    window: "200,000",
    room: 8_000 - OWN_SKILLS,
    unit: "characters",
    takes,
    bare,
    beyond: "from this one on those that do not fit are names without a description",
};

/// The characters that claude's own skills take, two of them without their descriptions.
const OWN_SKILLS: usize = 6_076;

/// How many characters of a description claude shows at most.
const MAX_DESCRIPTION: usize = 1_536;

/// `- name: description` and the line break; nothing for a skill that claude hides from its model.
fn takes(skill: &Skill) -> usize {
    let (name, description) = (skill.name.chars().count(), skill.description.chars().count().min(MAX_DESCRIPTION));
    if skill.user_only { 0 } else { 5 + name + description }
}

/// `- name` and the line break: all names get their space before any description does.
fn bare(skill: &Skill) -> usize {
    if skill.user_only { 0 } else { 3 + skill.name.chars().count() }
}

/// The kind of an attachment with a list of skills. Each skill has a line `- name: description` and maybe more lines,
/// or only its name if the description does not fit.
const SKILL_LIST: &str = "skill_listing";

/// The kind of an attachment with the instructions of MCP servers.
const SERVER_INSTRUCTIONS: &str = "mcp_instructions_delta";

/// What claude adds to the conversation by itself.
#[derive(Deserialize)]
pub(super) struct Attachment {
    #[serde(rename = "type")]
    kind: String,
    /// The names of the skills in a list, in its order.
    #[serde(default)]
    names: Vec<String>,
    /// The text of a list of skills.
    content: Lenient<String>,
    /// The servers with instructions.
    #[serde(rename = "addedNames")]
    servers: Lenient<Vec<String>>,
    /// The instructions of each server.
    #[serde(rename = "addedBlocks")]
    blocks: Lenient<Vec<String>>,
}

/// What the attachments showed.
#[derive(Clone, Default)]
pub(super) struct AttachmentFacts {
    /// The skills that the model was offered, if the session file has a list.
    pub names: Option<Vec<String>>,
    /// Those of a plugin that are skills under test, with the slugs of these.
    pub by_plugin: BTreeMap<String, String>,
    /// How much of their descriptions the model saw, by slug.
    pub described: BTreeMap<String, DescriptionVisibility>,
}

impl AttachmentFacts {
    pub(super) fn add(&mut self, attachment: Attachment, recorder: &mut TraceRecorder<'_>) {
        if attachment.kind == SKILL_LIST {
            let entries = attachment.entries();
            self.add_visibilities(recorder.listed(entries.iter().map(|(name, text)| (*name, text.as_str()))));
            let own = |(name, text): &(&str, String)| Some(((*name).to_owned(), recorder.described_so(name, text)?));
            self.by_plugin.extend(entries.iter().filter_map(own));
            self.names.get_or_insert_default().extend(attachment.names);
        } else if attachment.kind == SERVER_INSTRUCTIONS {
            for (server, instructions) in
                attachment.servers.0.iter().flatten().zip(attachment.blocks.0.iter().flatten())
            {
                let skills = recorder.described_by_server(server, instructions);
                self.add_visibilities(skills.into_iter().map(|skill| (skill, DescriptionVisibility::Whole)));
            }
        }
    }

    /// Keeps the best visibility of each skill.
    fn add_visibilities(&mut self, visibilities: impl IntoIterator<Item = (String, DescriptionVisibility)>) {
        for (skill, visibility) in visibilities {
            let known = self.described.entry(skill).or_default();
            *known = visibility.max(*known);
        }
    }
}

impl Attachment {
    /// The entries of a list: each name, and the text after it. A description may have lines that look like entries, but
    /// the next entry starts with the next name.
    fn entries(&self) -> Vec<(&str, String)> {
        let mut entries: Vec<(&str, String)> = Vec::new();
        let mut names = self.names.iter().map(String::as_str).peekable();
        for line in self.content.0.iter().flat_map(|content| content.lines()) {
            let entry = names.peek().and_then(|name| Some((*name, line.strip_prefix("- ")?.strip_prefix(*name)?)));
            match entry {
                Some((name, text)) if text.is_empty() || text.starts_with(':') => {
                    entries.push((name, text.trim_start_matches(':').to_owned()));
                    names.next();
                }
                _ => {
                    if let Some((_, text)) = entries.last_mut() {
                        text.extend(["\n", line]);
                    }
                }
            }
        }
        entries
    }

    /// The attachment as a recording stores it: only with the descriptions of skills with these slugs. `None` for other kinds.
    pub(super) fn slimmed(&self, skills: &[&str]) -> Option<Value> {
        if self.kind == SERVER_INSTRUCTIONS {
            return Some(
                json!({ "type": SERVER_INSTRUCTIONS, "addedNames": self.servers.0, "addedBlocks": self.blocks.0 }),
            );
        }
        let mut slim = (self.kind == SKILL_LIST).then(|| json!({ "type": SKILL_LIST, "names": self.names }))?;
        if self.content.0.is_some() {
            let is_asked = |name: &str| skills.contains(&slug(name).as_str());
            let is_known = |name: &str| is_asked(name) || of_plugin(name).is_some_and(is_asked);
            let entry = |(name, text): (&str, String)| match is_known(name) {
                true if text.is_empty() => format!("- {name}"),
                true => format!("- {name}:{text}"),
                false => format!("- {name}: …"),
            };
            let entries: Vec<String> = self.entries().into_iter().map(entry).collect();
            slim["content"] = entries.join("\n").into();
        }
        Some(slim)
    }
}
