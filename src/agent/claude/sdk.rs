//! The Claude Agent SDK's side of its dialogue with `claude`: the arguments, environment and lines of version 0.3.330. The SDK
//! itself would need Node.

use std::collections::VecDeque;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::call;
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, settings_args_of};
use crate::cases::case::Case;
use crate::process::{OutputListener, Reply};
use crate::settings::mode::Mode;
use crate::trace::trouble::Trouble;

/// What the SDK adds to the environment.
const ENVIRONMENT: [(&str, &str); 3] = [
    ("CLAUDE_CODE_ENTRYPOINT", "sdk-ts"),
    ("CLAUDE_AGENT_SDK_VERSION", "0.3.330"),
    ("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1"),
];

/// Why claude does not get the permission that it asks for.
const NOBODY: &str = "nobody is here to ask: this is an eval";

/// How to start `program` for a trial.
pub(super) fn command(assignment: &Assignment<'_>, program: PathBuf) -> Result<AgentCommand, Trouble> {
    let fixed = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];
    let schema = call::schema(assignment)?;
    let mut command = call::command(assignment, program, &fixed, schema.as_ref())?;
    command.args.extend(settings_args_of(assignment).map(Into::into));
    command.env.extend(ENVIRONMENT.map(|(name, value)| (name.into(), value.into())));
    command.dialogue =
        Some(Box::new(Dialogue::new(initialize(assignment.case, assignment.mode, schema), assignment.case)));
    Ok(command)
}

/// The first line.
fn initialize(case: &Case, mode: &Mode, schema: Option<Value>) -> String {
    let mut request = json!({ "subtype": "initialize" });
    // With skills in its own directory claude has its own system prompt; with MCP alone it has none.
    let has_own_prompt = !mode.delivery.mcp() || mode.delivery.native();
    match (has_own_prompt, &case.system_prompt) {
        (true, None) => {}
        (true, Some(text)) => request["appendSystemPrompt"] = json!(text),
        (false, text) => request["systemPrompt"] = json!([text.as_deref().unwrap_or_default()]),
    }
    if let Some(schema) = schema {
        request["jsonSchema"] = schema;
    }
    let initialize = json!({ "request_id": "skill-evals", "type": "control_request", "request": request });
    format!("{initialize}\n")
}

/// Sends what the SDK sends, and answers claude's requests.
#[derive(Debug)]
pub(super) struct Dialogue {
    opening: String,
    /// The messages that are not sent yet.
    messages: VecDeque<String>,
}

impl Dialogue {
    /// Sends these first lines, then the prompt of the case, and each further message when claude has answered the one before.
    pub(super) fn new(opening: String, case: &Case) -> Self {
        let messages = std::iter::once(&case.prompt).chain(&case.follow_ups);
        Self { opening, messages: messages.map(|text| message(text)).collect() }
    }
}

/// A message of the user.
fn message(text: &str) -> String {
    let content = json!([{ "type": "text", "text": text }]);
    let message = json!({
        "type": "user",
        "session_id": "",
        "message": { "role": "user", "content": content },
        "parent_tool_use_id": null,
    });
    format!("{message}\n")
}

impl OutputListener for Dialogue {
    fn opening(&mut self) -> Option<Vec<u8>> {
        let prompt = self.messages.pop_front().unwrap_or_default();
        Some([std::mem::take(&mut self.opening), prompt].concat().into_bytes())
    }

    fn line(&mut self, line: &[u8]) -> Reply {
        // The type is near the line's start, so most lines need no parsing.
        let has = |word: &[u8]| line.windows(word.len()).take(200).any(|window| window == word);
        if has(b"\"type\":\"result\"") {
            // Nothing more is asked of a session that failed.
            let next = self.messages.pop_front().filter(|_| !has(b"\"is_error\":true"));
            let close = next.is_none();
            return Reply { close, write: next.unwrap_or_default().into_bytes(), ..Reply::default() };
        }
        if !has(b"\"type\":\"control_request\"") {
            return Reply::default();
        }
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return Reply::default() };
        Reply { write: answer(&message), ..Reply::default() }
    }

    fn long_line(&mut self, start: &[u8]) -> Reply {
        self.line(start)
    }
}

fn answer(message: &Value) -> Vec<u8> {
    let id = message.get("request_id").unwrap_or(&Value::Null);
    let subtype = message.pointer("/request/subtype").and_then(Value::as_str).unwrap_or_default();
    let response = if subtype == "can_use_tool" {
        let deny = json!({ "behavior": "deny", "message": NOBODY });
        json!({ "subtype": "success", "request_id": id, "response": deny })
    } else {
        json!({ "subtype": "error", "request_id": id, "error": format!("{NOBODY}: {subtype}") })
    };
    format!("{}\n", json!({ "type": "control_response", "response": response })).into_bytes()
}
