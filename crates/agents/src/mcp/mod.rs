//! The MCP server of skills, on standard input and output.
//!
//! It serves agents that have no skills of their own kind, and lets a user compare the two ways. The tool `skill` loads a
//! skill, and `skill-resource` reads its files. The skill list is in the tool's description and in the server's
//! instructions, and follows the files on disk. Skills are also resources (`skill://<slug>/<path>`) and prompts, and the skills
//! extension (SEP-2640) describes them. Nothing outside a skill's directory can be read, and nothing is written. Problems with skills go to standard error.

#[cfg(not(feature = "mcp"))]
mod off;
mod request_log;
#[cfg(feature = "mcp")]
mod service;

#[cfg(not(feature = "mcp"))]
pub use off::{McpMissing, serve, serve_tools};
pub use request_log::{ASKED_VARIABLE, lists_requested_since};
#[cfg(feature = "mcp")]
pub use service::{McpError, directories_in, serve, serve_on, serve_roots, serve_tools};

use serde_json::{Map, Value};

/// A tool of a server that is no server of skills.
#[derive(Clone, Debug)]
pub struct OfferedTool {
    pub name: String,
    pub description: Option<String>,
    /// Without one, any object is an input.
    pub input_schema: Option<Map<String, Value>>,
}

/// Answers a call of such a tool by its name and input; the error is one of the tool.
pub type ToolAnswer = dyn Fn(&str, &Map<String, Value>) -> Result<String, String> + Send + Sync;
