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
pub use off::{McpMissing, serve};
pub use request_log::{ASKED_VARIABLE, lists_requested_since};
#[cfg(feature = "mcp")]
pub use service::{McpError, directories_in, serve, serve_on, serve_roots};
