//! The MCP server of skills, on standard input and output.
//!
//! It serves agents that have no skills of their own kind, and lets a user compare the two ways. The tool `skill` loads a
//! skill, and `skill-resource` reads its files. The skill list is in the tool's description and in the server's
//! instructions, and follows the files on disk. Skills are also resources (`skill://<slug>/<path>`) and prompts, and the skills
//! extension (SEP-2640) describes them. Nothing outside a skill's directory can be read, and nothing is written. Problems with skills go to standard error.

#[cfg(not(feature = "mcp"))]
mod off;
#[cfg(feature = "mcp")]
mod service;

use std::fmt::{self, Display};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[cfg(not(feature = "mcp"))]
pub use off::{McpMissing, serve, serve_tools};
#[cfg(feature = "mcp")]
pub use service::{McpError, directories_in, serve, serve_on, serve_roots, serve_tools};

/// A tool of a server that is no server of skills.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OfferedTool {
    pub name: String,
    pub description: Option<String>,
    /// Without one, any object is an input.
    pub input_schema: Option<Map<String, Value>>,
}

/// Answers a call of such a tool by its name and input.
pub type ToolAnswer = dyn Fn(&str, &Map<String, Value>) -> Result<String, NotAnswered> + Send + Sync;

/// Why a request is not answered as it asks, for the model or the user of a client who asked: they read it and ask again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAnswered(pub String);

impl Display for NotAnswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for NotAnswered {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<&str> for NotAnswered {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl From<std::io::Error> for NotAnswered {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

// The log of the lists that a client requests, for the trial that started the server.

/// The entry for the notification that the skills have changed.
const NOTIFIED: &str = "told";

/// The variable that names the log file. Each line is `<milliseconds since 1970> <list>`, or has `told` as its list when
/// the server notified the client of a change.
pub const ASKED_VARIABLE: &str = "SKILL_EVALS_MCP_ASKED";

/// The lists that the client requested after its first notification since `since`, each once. `None` if it got no
/// notification. `log` is the text of the log file.
pub fn lists_requested_since(log: &str, since: SystemTime) -> Option<Vec<String>> {
    let since = since.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let entries = log.lines().filter_map(|line| line.split_once(' '));
    let later = entries.filter(|(time, _)| time.parse().is_ok_and(|time: u128| time >= since));
    let mut from_notification = later.map(|(_, list)| list).skip_while(|list| *list != NOTIFIED);
    from_notification.next()?;
    let mut lists: Vec<String> = from_notification.filter(|list| *list != NOTIFIED).map(str::to_owned).collect();
    lists.sort_unstable();
    lists.dedup();
    Some(lists)
}
