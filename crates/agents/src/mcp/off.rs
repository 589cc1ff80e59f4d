//! Takes the place of the MCP server if the feature `mcp` is off: it says so, and serves nothing.

use std::path::PathBuf;

use thiserror::Error;

use crate::mcp::{OfferedTool, ToolAnswer};
use crate::settings::BuiltIn;
use crate::text::problem::Problem;

/// Why nothing is served.
#[derive(Debug, Error)]
#[error("this program was built without the MCP server; add \"mcp\" to the `features` of skill-evals in Cargo.toml")]
pub struct McpMissing;

impl From<McpMissing> for Problem {
    fn from(error: McpMissing) -> Self {
        Self::Said(error.to_string())
    }
}

/// Fails: the server is not part of this build.
pub fn serve(_: &[PathBuf], _: BuiltIn) -> Result<(), McpMissing> {
    Err(McpMissing)
}

/// The same for other tools.
pub fn serve_tools(_: &str, _: Vec<OfferedTool>, _: Box<ToolAnswer>) -> Result<(), McpMissing> {
    Err(McpMissing)
}
