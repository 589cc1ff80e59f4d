//! The list of skills in what an agent tells its model, as several agents write it: `<available_skills>`, and in it an entry
//! `<skill>` for each, with `<name>` and `<description>`.

use std::collections::BTreeSet;

use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use crate::profile::{AgentTools, PROFILES};
use crate::skill::{SKILL_FILE, slug};
use crate::trace::OfferedMcp;
use crate::trace::exposure::Reference;

/// The tags around the list.
pub(super) const TAGS: [&str; 2] = ["<available_skills>", "</available_skills>"];

/// How XML escapes characters. The last one comes first in escaped text.
const ESCAPED: [(&str, &str); 5] = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];

pub(super) struct SkillEntry<'a>(&'a str);

impl<'a> SkillEntry<'a> {
    /// The text of this tag. A description may contain tags, if the agent does not escape it.
    pub(super) fn tagged(&self, tag: &str) -> Option<&'a str> {
        let (_, rest) = self.0.split_once(&format!("<{tag}>"))?;
        let end = format!("</{tag}>");
        let (text, _) = if tag == "description" { rest.rsplit_once(&end)? } else { rest.split_once(&end)? };
        Some(text.trim())
    }
}

/// The entries of the list in a text; `None` if it has no list.
pub(super) fn within(text: &str) -> Option<impl Iterator<Item = SkillEntry<'_>>> {
    let (list, _) = text.split_once(TAGS[0])?.1.split_once(TAGS[1])?;
    Some(list.split("<skill>").skip(1).map(SkillEntry))
}

/// The text that XML escaped.
pub(super) fn unescaped(text: &str) -> String {
    ESCAPED.into_iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The names and descriptions in a text whose list XML escaped.
pub(super) fn unescaped_within(text: &str) -> Option<Vec<(String, String)>> {
    let skill =
        |entry: SkillEntry<'_>| Some((unescaped(entry.tagged("name")?), unescaped(entry.tagged("description")?)));
    Some(within(text)?.filter_map(skill).collect())
}

/// The names and descriptions in a list of pairs, as our own scripts write it.
pub(super) fn pairs(list: &Value) -> Option<Vec<(String, String)>> {
    let skill = |skill: &Value| Some((skill[0].as_str()?.to_owned(), skill[1].as_str()?.to_owned()));
    Some(list.as_array()?.iter().filter_map(skill).collect())
}

/// Makes of such a list what a recording stores.
pub(super) fn record_pairs(list: Option<&mut Value>, slugs: &[&str]) {
    for skill in list.and_then(Value::as_array_mut).into_iter().flatten() {
        let text = |at: usize| skill[at].as_str().unwrap_or_default();
        *skill = json!([text(0), recorded_description(text(0), text(1), slugs)]);
    }
}

/// A description as a recording stores it: only those of skills with these slugs.
pub(super) fn recorded_description(name: &str, description: &str, slugs: &[&str]) -> String {
    if slugs.contains(&slug(name).as_str()) { description.to_owned() } else { "…".to_owned() }
}

/// The list in a text as a recording stores it.
pub(super) fn recorded(text: &str, slugs: &[&str]) -> Option<String> {
    let entry = |entry: SkillEntry<'_>| {
        let (name, description) = (entry.tagged("name")?, entry.tagged("description")?);
        let description = recorded_description(name, description, slugs);
        Some(format!("<skill>\n<name>{name}</name>\n<description>{description}</description>\n</skill>\n"))
    };
    Some(format!("{}\n{}{}", TAGS[0], within(text)?.filter_map(entry).collect::<String>(), TAGS[1]))
}

// The addresses by which agents ask an MCP server for the files of skills.

/// The skill and the file of `skill://greeting/references/formal.md`; `skill://greeting` is its SKILL.md.
pub(super) fn file_of_uri(uri: &str) -> Option<(String, String)> {
    let rest = uri.strip_prefix("skill://").filter(|rest| !rest.is_empty())?;
    let (skill, path) = rest.split_once('/').unwrap_or((rest, SKILL_FILE));
    let path = normalized(&percent_decode_str(path).decode_utf8_lossy());
    (!path.is_empty()).then(|| (percent_decode_str(skill).decode_utf8_lossy().into_owned(), path))
}

/// `.//references/./formal.md` as `references/formal.md`.
pub(super) fn normalized(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    parts.join("/")
}

// Which tools somebody knows: the agent's profile, the session, or an MCP server names them.

/// The tools of an agent itself.
#[derive(Debug)]
pub(super) struct KnownTools {
    of_profile: &'static AgentTools,
    of_session: BTreeSet<String>,
}

impl KnownTools {
    pub(super) fn of(of_profile: &'static AgentTools) -> Self {
        Self { of_profile, of_session: BTreeSet::new() }
    }

    /// Notes the tools that the session itself lists.
    pub(super) fn listed(&mut self, names: impl IntoIterator<Item = String>) {
        self.of_session.extend(names);
    }

    /// Whether the agent answered that it has no such tool.
    pub(super) fn lacks(&self, tool: &str, output: &str) -> bool {
        self.of_profile.lacks.iter().any(|words| output.contains(&format!("{words}{tool}")))
    }

    /// Whether somebody knows a tool of this name. An agent of which nobody knows all tools shows what a call did by what it returns.
    pub(super) fn knows(&self, tool: &str, reference: &Reference, mcp: Option<&OfferedMcp>) -> bool {
        let Reference { names, served, .. } = reference;
        let of_skills =
            tool.strip_prefix("mcp__").and_then(|rest| rest.strip_prefix(&names.server)?.strip_prefix("__"));
        match (of_skills, mcp) {
            _ if self.of_profile.has(tool).unwrap_or(true) || self.of_session.contains(tool) => true,
            (Some(tool), _) => {
                [&names.skill, &names.resource].into_iter().chain(served).any(|name| is_tool(tool, name))
            }
            (None, Some(mcp)) if !mcp.servers.is_empty() => mcp.servers.iter().any(|(server, _)| is_of(tool, server)),
            (None, _) => tool.starts_with("mcp__"),
        }
    }
}

/// Whether a tool of the agent searched for tools, or listed what servers offer, and so may have shown the skills' server.
pub(super) fn lists_skills(skill_server: &str, tool: &str, server: Option<&str>, texts: [&str; 2]) -> bool {
    if is_own_tool(tool, |tools| tools.searches) {
        return texts.into_iter().any(|text| text.contains(skill_server) || text.contains("skill"));
    }
    is_own_tool(tool, |tools| tools.lists) && server.is_none_or(|server| server == skill_server)
}

/// Whether some agent's own tool of this name is of this kind.
pub(super) fn is_own_tool(tool: &str, kind: fn(&'static AgentTools) -> &'static [&'static str]) -> bool {
    PROFILES.into_iter().any(|profile| kind(&profile.tools).contains(&tool))
}

/// Whether a tool is one of this MCP server. Names of tools have no other characters.
fn is_of(tool: &str, server: &str) -> bool {
    let plain = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_");
    let rest = tool.strip_prefix("mcp__").map(plain);
    rest.is_some_and(|rest| rest.strip_prefix(&plain(server)).is_some_and(|rest| rest.starts_with("__")))
}

/// Compares the name that the model sees with the server's: some agents show `skill_resource` for `skill-resource`.
pub(super) fn is_tool(tool: &str, name: &str) -> bool {
    tool == name || tool == name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Before.\n<available_skills>\n<skill>\n  <name>a</name>\n  <description>Does &lt;b&gt; &amp;amp; c.\
                        </description>\n</skill>\n<skill>\n<name>B c</name>\n<description>Else.</description>\n</skill>\n\
                        </available_skills>\n<skill><name>no</name></skill>";

    #[test]
    fn entries_are_those_between_the_tags_and_escapes_are_undone_once() {
        let names: Vec<_> = within(TEXT).expect("a list").filter_map(|entry| entry.tagged("name")).collect();
        assert_eq!(names, ["a", "B c"]);
        let first = within(TEXT).expect("a list").next().expect("an entry");
        assert_eq!(first.tagged("description").map(unescaped).as_deref(), Some("Does <b> &amp; c."));
        assert!(within("<available_skills>").is_none());
        let entry = SkillEntry("<name>a</name><description>Writes </name> and </description>.</description>");
        assert_eq!(
            entry.tagged("name").zip(entry.tagged("description")),
            Some(("a", "Writes </name> and </description>."))
        );
    }

    #[test]
    fn a_recording_has_the_descriptions_of_the_skills_with_these_slugs() {
        let recorded = recorded(TEXT, &["b-c"]).expect("a list");
        assert!(recorded.contains("<description>…</description>") && recorded.contains("Else."), "{recorded}");
        assert!(!recorded.contains("Does"), "{recorded}");
    }
}
