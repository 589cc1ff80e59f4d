//! The Claude Agent SDK's side of its dialogue with `claude`: the arguments, environment and lines. The SDK itself
//! would need Node.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::call;
use super::wire::{ControlBody, parse};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, settings_args_of};
use crate::agent::lenient::Lenient;
use crate::cases::case::Case;
use crate::process::{OutputListener, Reply};
use crate::settings::mode::Mode;
use crate::trace::trouble::Trouble;

/// The version of the SDK, which is installed with the measured version of claude.
const SDK: &str = "0.3.332";

/// What the SDK adds to the environment.
const ENVIRONMENT: [(&str, &str); 3] = [
    ("CLAUDE_CODE_ENTRYPOINT", "sdk-ts"),
    ("CLAUDE_AGENT_SDK_VERSION", SDK),
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
        Some(Box::new(Dialogue::new(&initialize(assignment.case, assignment.mode, schema), assignment.case)));
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
}

impl Dialogue {
    /// Sends these first lines, then the prompt of the case.
    pub(super) fn new(opening: &str, case: &Case) -> Self {
        Self { opening: [opening, &message(&case.prompt)].concat() }
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
        Some(std::mem::take(&mut self.opening).into_bytes())
    }

    fn message(&mut self, text: &str) -> Vec<u8> {
        message(text).into_bytes()
    }

    fn line(&mut self, line: &[u8]) -> Reply {
        let Some(line) = parse::<DialogueLine>(line) else { return Reply::default() };
        let subtype = line.request.0.and_then(|request| request.subtype.0).unwrap_or_default();
        match line.kind.as_str() {
            "result" => {
                // Nothing more is asked of a session that failed.
                let failed = line.is_error.0 == Some(true);
                Reply { close: failed, answered: !failed, ..Reply::default() }
            }
            "control_request" => Reply { write: answer(&line.request_id, &subtype), ..Reply::default() },
            _ => Reply::default(),
        }
    }

    fn long_line(&mut self, line: &[u8]) -> Reply {
        self.line(line)
    }
}

/// What of a line decides what the SDK does.
#[derive(Deserialize)]
struct DialogueLine {
    #[serde(rename = "type")]
    kind: String,
    is_error: Lenient<bool>,
    #[serde(default)]
    request_id: Value,
    request: Lenient<ControlBody>,
}

fn answer(id: &Value, subtype: &str) -> Vec<u8> {
    let response = if subtype == "can_use_tool" {
        let deny = json!({ "behavior": "deny", "message": NOBODY });
        json!({ "subtype": "success", "request_id": id, "response": deny })
    } else {
        json!({ "subtype": "error", "request_id": id, "error": format!("{NOBODY}: {subtype}") })
    };
    format!("{}\n", json!({ "type": "control_response", "response": response })).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialogue() -> Dialogue {
        Dialogue { opening: message("one") }
    }

    /// The results of a session of Claude Code 2.1.332, in which `type` comes after byte 1,400.
    fn results() -> impl Iterator<Item = &'static str> {
        let trace = include_str!("../../../../../tests/fixtures/traces/claude/async-agents/trace.jsonl");
        trace.lines().filter(|line| line.contains("num_turns"))
    }

    #[test]
    fn a_result_answers_a_message_wherever_its_type_is() {
        let mut dialogue = dialogue();
        assert!(dialogue.opening().is_some_and(|opening| String::from_utf8_lossy(&opening).contains("one")));
        let replies: Vec<Reply> = results().map(|line| dialogue.line(line.as_bytes())).collect();
        assert_eq!(replies.iter().map(|reply| (reply.answered, reply.close)).collect::<Vec<_>>(), [(true, false); 2]);
        assert!(String::from_utf8_lossy(&dialogue.message("two")).contains("two"));
    }

    #[test]
    fn what_a_message_says_about_a_result_is_no_result() {
        let line = br#"{"message":{"content":"\"type\":\"result\"","type":"result"},"type":"assistant"}"#;
        assert!(!dialogue().line(line).answered);
    }

    #[test]
    fn nothing_follows_a_result_that_is_an_error() {
        let reply = dialogue().line(br#"{"usage":{},"is_error":true,"type":"result"}"#);
        assert_eq!((reply.answered, reply.close), (false, true));
    }
}
