//! The events that `codex exec --json` prints, one JSON object a line.

use serde::Deserialize;

use super::{note_touches, skill_calls};
use crate::agent::failure::classify;
use crate::settings::ToolNames;
use crate::trial::outcome::Trouble;
use crate::trial::trace::{Progress, Step, Trace, excerpt};

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    item: Option<Item>,
    usage: Option<Tokens>,
    message: Option<String>,
    error: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    message: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names on the wire")]
struct Tokens {
    input_tokens: u64,
    cached_input_tokens: u64,
    cache_write_input_tokens: u64,
    output_tokens: u64,
    reasoning_output_tokens: u64,
}

#[derive(Deserialize)]
struct Item {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    message: Option<String>,
    command: Option<String>,
    aggregated_output: Option<String>,
    exit_code: Option<i64>,
    #[serde(default)]
    changes: Vec<Change>,
    server: Option<String>,
    tool: Option<String>,
    arguments: Option<serde_json::Value>,
    result: Option<serde_json::Value>,
    error: Option<serde_json::Value>,
    status: Option<String>,
    query: Option<String>,
}

#[derive(Deserialize)]
struct Change {
    path: String,
}

/// What an event says that the agent does.
pub(super) fn describe(line: &[u8]) -> Option<String> {
    let event: Event = serde_json::from_slice(line).ok()?;
    let words = match (event.kind.as_str(), event.item) {
        ("turn.started", _) => "asked the model".to_owned(),
        ("item.started" | "item.updated" | "item.completed", Some(item)) => match item.kind.as_str() {
            "agent_message" => format!("says: {}", item.text?),
            "reasoning" => "thinks".to_owned(),
            "command_execution" => match item.exit_code {
                Some(code) => format!("ran ({code}): {}", item.command?),
                None => format!("runs: {}", item.command?),
            },
            "mcp_tool_call" => format!("calls {}/{}", item.server?, item.tool?),
            "file_change" => {
                let paths: Vec<String> = item.changes.into_iter().map(|change| change.path).collect();
                format!("writes {}", paths.join(", "))
            }
            "web_search" => format!("searches: {}", item.query?),
            _ => return None,
        },
        ("turn.completed", _) => "is done".to_owned(),
        ("turn.failed", _) => "failed".to_owned(),
        ("error", _) => event.message?,
        _ => return None,
    };
    Some(excerpt(&words))
}

/// Reads the events of one run.
pub(super) struct Reader<'a> {
    names: &'a ToolNames,
    /// Whether the rollout has told messages and commands already.
    told_by_rollout: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(names: &'a ToolNames, told_by_rollout: bool) -> Self {
        Self { names, told_by_rollout }
    }

    pub(super) fn line(&mut self, trace: &mut Trace, line: &[u8]) {
        let Ok(event) = serde_json::from_slice::<Event>(line) else {
            trace.damaged_lines += 1;
            return;
        };
        match event.kind.as_str() {
            "thread.started" | "turn.started" => trace.reached(Progress::Started),
            "item.started" | "item.updated" => {
                // An `error` item may come before the model says anything.
                if event.item.is_some_and(|item| item.kind != "error") {
                    trace.reached(Progress::Answering);
                }
            }
            "item.completed" => {
                if let Some(item) = event.item {
                    self.item(trace, item);
                }
            }
            "turn.completed" => {
                trace.reached(Progress::Done);
                if let Some(tokens) = event.usage {
                    let usage = trace.usage.get_or_insert_default();
                    usage.input_tokens += tokens.input_tokens;
                    usage.cached_input_tokens += tokens.cached_input_tokens;
                    usage.cache_write_input_tokens += tokens.cache_write_input_tokens;
                    usage.output_tokens += tokens.output_tokens;
                    usage.reasoning_output_tokens += tokens.reasoning_output_tokens;
                }
            }
            "turn.failed" => {
                let message =
                    event.error.and_then(|error| error.message).unwrap_or_else(|| "no reason given".to_owned());
                trace.trouble = Some(Trouble::new(classify(&message), format!("turn.failed: {message}")));
            }
            // Retries are announced so; what becomes of them the turn's end says.
            "error" => trace.push(Step::Notice(event.message.unwrap_or_default())),
            other => trace.unknown(other),
        }
    }

    fn item(&mut self, trace: &mut Trace, item: Item) {
        if item.kind != "error" {
            trace.reached(Progress::Answering);
        }
        match item.kind.as_str() {
            "agent_message" => {
                let text = item.text.unwrap_or_default();
                if !self.told_by_rollout {
                    trace.push(Step::Message(text.clone()));
                }
                trace.final_message = Some(text);
            }
            "command_execution" if !self.told_by_rollout => {
                let command = item.command.unwrap_or_default();
                let output = item.aggregated_output.unwrap_or_default();
                note_touches(trace, &command, item.exit_code, &output);
                trace.command(command, item.exit_code, output);
            }
            // The rollout has the call too, but not whether it failed.
            "mcp_tool_call" => {
                let name = format!("mcp__{}__{}", item.server.unwrap_or_default(), item.tool.unwrap_or_default());
                let failed =
                    item.status.as_deref() == Some("failed") || item.error.as_ref().is_some_and(|e| !e.is_null());
                let input = item.arguments.map(|value| value.to_string()).unwrap_or_default();
                let output = item.result.or(item.error).map(|value| value.to_string()).unwrap_or_default();
                skill_calls::note(trace, self.names, &name, &input, failed);
                if !self.told_by_rollout {
                    trace.push(Step::Tool { name, input, output, failed });
                } else if failed {
                    trace.failed(&name, &input);
                }
            }
            "file_change" => trace.push(Step::FileChange(item.changes.into_iter().map(|change| change.path).collect())),
            "error" => trace.push(Step::Notice(item.message.unwrap_or_default())),
            "web_search" => {
                let input = item.query.unwrap_or_default();
                trace.push(Step::Tool { name: "web_search".to_owned(), input, output: String::new(), failed: false });
            }
            "command_execution" | "reasoning" | "todo_list" => {}
            other => trace.unknown(&format!("item {other}")),
        }
    }
}
