//! The shapes of codex's rollout lines, as far as they are read, and of what its two streams have in common.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::agent::field::Lenient;
use crate::agent::refusal::Refusal;
use crate::trace::trouble::TroubleKind;
use crate::trace::{StopReason, Usage};
use crate::trial::evidence::digest;

#[derive(Deserialize)]
pub(super) struct RolloutLine<'a> {
    #[serde(rename = "type")]
    pub kind: String,
    pub timestamp: Lenient<String>,
    #[serde(borrow)]
    pub payload: &'a RawValue,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RolloutPayload {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub role: Option<String>,
    /// Null for encrypted thoughts.
    pub content: Option<Vec<RolloutContent>>,
    /// Of thoughts: what codex may show of them.
    pub summary: Lenient<Vec<RolloutContent>>,
    pub cli_version: Lenient<String>,
    pub model: Lenient<String>,
    pub name: Option<String>,
    pub namespace: Option<String>,
    /// A text; for a search for tools, an object.
    pub arguments: Value,
    pub input: Option<String>,
    pub call_id: Option<String>,
    /// The thread's own id, in its first line.
    pub id: Lenient<String>,
    /// The thread that started it, in the first line of a sub-agent.
    pub parent_thread_id: Lenient<String>,
    /// The name by which its parent knows it, in the same line.
    pub agent_path: Lenient<String>,
    pub output: Value,
    /// The tools that a search found.
    pub tools: Value,
    pub usage: Lenient<CodexTokens>,
    /// How long a completed task took.
    pub duration_ms: Lenient<u64>,
    error: Value,
    codex_error_info: Value,
    pub item: Lenient<CompletedItem>,
}

impl RolloutPayload {
    /// The error that the line reports. Its code is a word, or an object with the word as its key and the HTTP status in it.
    pub(super) fn reported_error(&self) -> Option<RolloutError> {
        let info = self.error.get("codex_error_info").unwrap_or(&self.codex_error_info);
        let object = info.as_object().and_then(|object| object.iter().next());
        let code = info.as_str().or_else(|| object.map(|(key, _)| key.as_str()))?;
        let status = object.and_then(|(_, value)| value.get("http_status_code")?.as_u64());
        let message = self.error.get("message").and_then(Value::as_str).unwrap_or_default();
        Some(RolloutError { code: Some(code.to_owned()), status, message: message.to_owned() })
    }
}

/// A part of a message.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RolloutContent {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
}

impl RolloutContent {
    /// Its text; the kind of a part that is not known as an error. Recordings have no kinds.
    pub(super) fn text(&self) -> Result<&str, &str> {
        match (self.kind.as_deref(), &self.text) {
            (Some("input_image"), None) => Ok(""),
            (None | Some("text" | "input_text" | "output_text" | "summary_text" | "reasoning_text"), Some(text)) => {
                Ok(text)
            }
            (kind, _) => Err(kind.unwrap_or("without a text")),
        }
    }
}

/// An error as a rollout reports it.
#[derive(Clone, Debug, Default)]
pub(super) struct RolloutError {
    /// Its kind, in codex's word.
    pub code: Option<String>,
    /// The HTTP status behind it.
    pub status: Option<u64>,
    pub message: String,
}

impl RolloutError {
    /// The kind of trouble that it is, if codex describes it with this message.
    pub(super) fn kind(&self, message: &str) -> TroubleKind {
        Refusal { status: self.status, code: self.code.as_deref(), message, retried: None }.kind()
    }

    /// Why the model ended its turn early, if it did. The provider's reason is at the end of codex's message.
    pub(super) fn stop_reason(&self, message: &str) -> Option<StopReason> {
        if self.code.as_deref() == Some("context_window_exceeded") {
            return Some(StopReason::ContextWindow);
        }
        match message.split_once("Incomplete response returned, reason: ")?.1.trim() {
            "content_filter" => Some(StopReason::Refusal),
            "max_output_tokens" | "max_tokens" => Some(StopReason::MaxTokens),
            _ => None,
        }
    }
}

/// An item that is complete: what codex reports about commands and calls outside the conversation.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CompletedItem {
    #[serde(rename = "type")]
    kind: Lenient<String>,
    pub id: Lenient<String>,
    pub command: Lenient<Vec<String>>,
    pub aggregated_output: Lenient<String>,
    pub exit_code: Lenient<i64>,
    server: Lenient<String>,
    tool: Lenient<String>,
    arguments: Value,
    status: Lenient<String>,
    error: Value,
}

impl CompletedItem {
    /// Whether the model's code caused it. If the model calls a tool itself, the item has the id of that call.
    pub(super) fn is_by_code(&self) -> bool {
        self.id.0.as_ref().is_some_and(|id| id.starts_with("exec-"))
    }

    /// Whether it is a command that the model's code ran.
    pub(super) fn is_command_by_code(&self) -> bool {
        self.kind.0.as_deref() == Some("CommandExecution") && self.is_by_code()
    }

    /// The call of an MCP server's tool, if it is one.
    pub(super) fn mcp_call(&self) -> Option<McpCall> {
        if self.kind.0.as_deref() != Some("McpToolCall") {
            return None;
        }
        let failed = self.status.0.as_deref() == Some("failed") || !self.error.is_null();
        let tool = mcp_tool(self.server.0.as_deref().unwrap_or_default(), self.tool.0.as_deref().unwrap_or_default());
        Some(McpCall { tool, input: self.arguments.to_string(), failed })
    }
}

/// A command that ended, as one of the two streams tells of it.
#[derive(Debug)]
pub(super) struct RanCommand {
    pub command: String,
    /// A digest of what it printed; `None` if not all of it is there.
    printed: Option<String>,
}

impl RanCommand {
    pub(super) fn new(command: String, printed: Option<&str>) -> Self {
        // codex cuts the middle of long outputs, and answers before a long command has ended.
        let is_whole = |text: &&str| !text.contains(" truncated…") && !text.contains("session ID");
        let printed = printed.filter(is_whole).map(|text| digest(text.trim().as_bytes()));
        Self { command, printed }
    }

    /// Whether one of these is the same, as far as both say what it printed. Without one of its name, nothing says that it is not.
    pub(super) fn is_among(&self, others: &[Self]) -> bool {
        let mut same = others.iter().filter(|other| other.command.trim() == self.command.trim()).peekable();
        let is_open = same.peek().is_none() || self.printed.is_none();
        is_open || same.any(|other| other.printed.is_none() || other.printed == self.printed)
    }
}

/// A call of an MCP server's tool.
#[derive(Debug)]
pub(super) struct McpCall {
    /// The tool, by the name that the model sees.
    pub tool: String,
    pub input: String,
    pub failed: bool,
}

/// The name under which the model sees a tool of an MCP server.
pub(super) fn mcp_tool(server: &str, tool: &str) -> String {
    match tool {
        // Tools of codex, reported as if they were the server's.
        "read_mcp_resource" | "list_mcp_resources" | "list_mcp_resource_templates" => tool.to_owned(),
        _ => format!("mcp__{server}__{tool}"),
    }
}

/// Tokens of one request or turn.
#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names on the wire")]
pub(super) struct CodexTokens {
    pub input_tokens: Option<u64>,
    cached_input_tokens: Option<u64>,
    cache_write_input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    reasoning_output_tokens: Option<u64>,
}

impl CodexTokens {
    /// The tokens in the common form. A number that is not reported counts as 0.
    pub(super) fn usage(&self) -> Usage {
        Usage {
            input_tokens: self.input_tokens.unwrap_or(0),
            cached_input_tokens: self.cached_input_tokens.unwrap_or(0),
            cache_write_input_tokens: self.cache_write_input_tokens.unwrap_or(0),
            output_tokens: self.output_tokens.unwrap_or(0),
            reasoning_output_tokens: self.reasoning_output_tokens.unwrap_or(0),
            cost_usd: None,
        }
    }
}
