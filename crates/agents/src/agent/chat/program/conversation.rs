//! A conversation in a form that all protocols share.

use serde_json::{Map, Value};

use crate::trace::{StopReason, Usage};

/// A part of the conversation.
pub(super) enum Turn {
    User(String),
    Assistant { text: String, calls: Vec<ChatCall> },
    Results(Vec<ToolResult>),
}

/// A call of a tool.
#[derive(Clone)]
pub(super) struct ChatCall {
    pub id: String,
    pub tool: String,
    /// The input, or why it cannot be used and what the model wrote.
    pub input: Result<Map<String, Value>, (String, Value)>,
    /// The call as the provider sent it: some expect their own keys back.
    pub raw: Value,
}

/// What a call returned to the model.
pub(super) struct ToolResult {
    pub id: String,
    pub output: String,
    pub failed: bool,
    /// That of a shell command.
    pub exit_code: Option<i32>,
}

/// One answer of the model.
#[derive(Default)]
pub(super) struct ChatAnswer {
    pub text: String,
    pub thought: Option<String>,
    pub calls: Vec<ChatCall>,
    pub usage: Option<Usage>,
    /// Why it ended early.
    pub stopped: Option<StopReason>,
}

impl ChatCall {
    /// A call whose input the model wrote as JSON text.
    pub(super) fn of_text(id: &Value, tool: &Value, input: &Value, raw: Value) -> Self {
        let text = input.as_str().unwrap_or_default();
        // Some servers send no text, or an object, for a call without an input.
        let value = if input.is_object() {
            Ok(input.clone())
        } else if text.trim().is_empty() {
            Ok(Value::Object(Map::new()))
        } else {
            serde_json::from_str(text).map_err(|error| format!("the input is not JSON: {error}"))
        };
        let input = match value {
            Ok(Value::Object(map)) => Ok(map),
            Ok(_) => Err(("the input is not a JSON object".to_owned(), input.clone())),
            Err(why) => Err((why, input.clone())),
        };
        let name = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self { id: name(id), tool: name(tool), input, raw }
    }

    /// The input as evidence: what the model wrote.
    pub(super) fn written(&self) -> Value {
        match &self.input {
            Ok(map) => Value::Object(map.clone()),
            Err((_, written)) => written.clone(),
        }
    }

    /// The input as the model gets it back: servers fail if it is not an object.
    pub(super) fn object(&self) -> Value {
        self.input.as_ref().map_or_else(|_| Value::Object(Map::new()), |map| Value::Object(map.clone()))
    }
}

impl ChatAnswer {
    /// Gives each call an id that no other call of the session has. `turn` is the answer's number.
    pub(super) fn name_calls(&mut self, turn: u64) {
        let mut seen: Vec<String> = Vec::new();
        for (index, call) in self.calls.iter_mut().enumerate() {
            if call.id.is_empty() || seen.contains(&call.id) {
                call.id = format!("call_{turn}_{index}");
            }
            seen.push(call.id.clone());
        }
    }
}

/// The tokens of a request to `OpenAI`'s protocols, by their names of those of the input and of the output.
pub(super) fn usage(usage: &Value, [input, output]: [&str; 2]) -> Option<Usage> {
    let details = |key: &str, part: &str| usage[format!("{key}_details")][part].as_u64().unwrap_or(0);
    Some(Usage {
        input_tokens: usage[input].as_u64()?,
        cached_input_tokens: details(input, "cached_tokens"),
        output_tokens: usage[output].as_u64()?,
        reasoning_output_tokens: details(output, "reasoning_tokens"),
        ..Usage::default()
    })
}

/// The text in a value; `None` if it is empty or not a text.
pub(super) fn text_of(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
