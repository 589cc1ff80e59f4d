//! Takes the place of the MCP server if the feature `mcp` is off: it says so, and serves nothing.

#[expect(dead_code, reason = "only the server writes the log")]
mod request_log;

use std::path::PathBuf;

use thiserror::Error;

use crate::settings::BuiltIn;
pub use request_log::{ASKED_VARIABLE, lists_requested_since};

/// Why nothing is served.
#[derive(Debug, Error)]
#[error("this program was built without the MCP server; add \"mcp\" to the `features` of skill-evals in Cargo.toml")]
pub struct McpMissing;

/// Fails: the server is not part of this build.
pub fn serve(_: &[PathBuf], _: BuiltIn) -> Result<(), McpMissing> {
    Err(McpMissing)
}
