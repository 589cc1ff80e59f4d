//! Which tools somebody knows: the agent's profile, the session, or an MCP server names them.

use std::collections::BTreeSet;

use crate::profile::{AgentTools, PROFILES};
use crate::trace::OfferedMcp;
use crate::trace::exposure::Reference;

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
