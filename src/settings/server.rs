//! `[mcp]`: the repository's own MCP server of skills.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// An MCP server of skills that the repository brings along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnServer {
    /// The program: on the PATH, or from the repository's root where it has a `/`.
    pub command: String,
    /// Its arguments; `{skills}` stands for the folder with the skills, `{root}` for the repository's root.
    pub args: Vec<String>,
    /// Its environment beside the agent's, with the same placeholders.
    pub env: BTreeMap<String, String>,
    /// What it and its tools are called.
    pub names: ToolNames,
}

/// How the MCP server of skills is called, and its tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolNames {
    /// The server.
    pub server: String,
    /// The tool that loads a skill, by `name`.
    pub skill: String,
    /// The tool that reads files of a skill, by `skill` and `path`.
    pub resource: String,
}

impl Default for ToolNames {
    fn default() -> Self {
        Self { server: "skilljack".to_owned(), skill: "skill".to_owned(), resource: "skill-resource".to_owned() }
    }
}

impl ToolNames {
    /// The skill tool as the model sees it.
    #[must_use]
    pub fn skill_tool(&self) -> String {
        format!("mcp__{}__{}", self.server, self.skill)
    }

    /// The resource tool as the model sees it.
    #[must_use]
    pub fn resource_tool(&self) -> String {
        format!("mcp__{}__{}", self.server, self.resource)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct McpTable {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    name: Option<toml::Spanned<String>>,
    tool: Option<toml::Spanned<String>>,
    resource_tool: Option<toml::Spanned<String>>,
}

impl McpTable {
    /// The server that the table describes; hands every wrong value to `wrong`.
    pub(super) fn read(self, mut wrong: impl FnMut(Range<usize>, String)) -> OwnServer {
        let mut names = ToolNames::default();
        let given = [self.name, self.tool, self.resource_tool];
        for (given, name) in given.into_iter().zip([&mut names.server, &mut names.skill, &mut names.resource]) {
            let Some(given) = given else { continue };
            if !is_tool_name(given.get_ref()) {
                let expected = "is no name for a server or tool: letters, digits, `-` and `_`";
                wrong(given.span(), format!("{:?} {expected}", given.get_ref()));
            }
            *name = given.into_inner();
        }
        OwnServer { command: self.command, args: self.args, env: self.env, names }
    }
}

/// Agents put a server's and a tool's name together and write other characters their own way.
fn is_tool_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}
