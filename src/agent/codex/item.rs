//! Items of a rollout: what codex tells of commands and calls beside the conversation.

use serde::Deserialize;
use serde_json::Value;

use crate::agent::lenient;

/// The kind of an item that is a command.
const COMMAND: &str = "CommandExecution";

/// The kind of an item that is a call of an MCP server's tool.
const MCP: &str = "McpToolCall";

/// How the ids of items begin that the model's code brought about.
const BY_CODE: &str = "exec-";

/// The tools of codex's own that it tells of as if they were the server's.
const OF_CODEX: [&str; 3] = ["read_mcp_resource", "list_mcp_resources", "list_mcp_resource_templates"];

/// An item that is complete.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CompletedItem {
    #[serde(rename = "type", deserialize_with = "lenient::or_default")]
    kind: String,
    #[serde(deserialize_with = "lenient::or_default")]
    pub(super) id: String,
    #[serde(deserialize_with = "lenient::or_default")]
    pub(super) command: Vec<String>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub(super) aggregated_output: String,
    #[serde(deserialize_with = "lenient::option")]
    pub(super) exit_code: Option<i64>,
    #[serde(deserialize_with = "lenient::or_default")]
    server: String,
    #[serde(deserialize_with = "lenient::or_default")]
    tool: String,
    arguments: Value,
    #[serde(deserialize_with = "lenient::or_default")]
    status: String,
    error: Value,
}

impl CompletedItem {
    /// Whether it is of the model's code: models of today write JavaScript that calls the tools, and only what the code prints
    /// comes before them. Where the model calls a tool itself, the item has its call's id.
    pub(super) fn is_by_code(&self) -> bool {
        self.id.starts_with(BY_CODE)
    }

    /// Whether it is a command that the model's code ran.
    pub(super) fn is_run_by_code(&self) -> bool {
        self.kind == COMMAND && self.is_by_code()
    }

    /// What it says, where it is a call of an MCP server's tool.
    pub(super) fn mcp_call(&self) -> Option<McpCall> {
        let failed = self.status == "failed" || !self.error.is_null();
        let tool = mcp_tool(&self.server, &self.tool);
        (self.kind == MCP).then(|| McpCall { tool, input: self.arguments.to_string(), failed })
    }
}

/// A call of an MCP server's tool.
#[derive(Debug)]
pub(super) struct McpCall {
    /// The tool, by the name that the model sees.
    pub(super) tool: String,
    /// Its input as JSON.
    pub(super) input: String,
    pub(super) failed: bool,
}

/// The name under which the model sees a tool of an MCP server.
pub(super) fn mcp_tool(server: &str, tool: &str) -> String {
    if OF_CODEX.contains(&tool) { tool.to_owned() } else { format!("mcp__{server}__{tool}") }
}
