//! Droid's log, which stays on this machine: `[time] LEVEL: words | Context: {…}`, and stacks between such lines.

use serde_json::{Value, json};

use crate::agent::field::text;

/// How a line begins about a request that was answered. It names the answer.
const ANSWERED: &str = "[metrics_log_droid_chat_client_success_count]";

/// How the line after that begins. It has the tokens.
const RESULT: &str = "[Agent] Streaming result";

/// How a line begins about a request that failed.
const FAILED: &str = "[useLLMStreaming] LLM error";

/// How the line after that begins, if Droid asks again. The error follows in a line of its own.
const AGAIN: &str = "Retry attempt failed";

/// Keeps of the log what the other evidence lacks.
#[derive(Default)]
pub(super) struct LogReader {
    /// The last answer: its session and its id.
    answer: Option<(String, String)>,
    /// The session of the last request that failed.
    failed: Option<String>,
    /// Whether Droid asks again, and the error is to come.
    asks_again: bool,
}

impl LogReader {
    /// A line as it is kept: a JSON object.
    pub(super) fn line(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        Some(self.read(std::str::from_utf8(line).ok()?)?.to_string().into_bytes())
    }

    fn read(&mut self, line: &str) -> Option<Value> {
        let Some((_, words)) = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) else {
            let error = line.split_once("Error: ").filter(|(kind, _)| kind.chars().all(char::is_alphanumeric))?.1;
            self.asks_again.then_some(())?;
            self.asks_again = false;
            return Some(json!({ "type": "retry", "session": self.failed.take()?, "error": error }));
        };
        let (_, words) = words.split_once(": ")?;
        let context = || -> Option<Value> { serde_json::from_str(words.split_once(" | Context: ")?.1).ok() };
        if words.starts_with(ANSWERED) {
            let context = context()?;
            self.answer = text(&context, "sessionId").zip(text(&context, "assistantMessageId"));
        } else if words.starts_with(RESULT) {
            let (session, message) = self.answer.take()?;
            return Some(
                json!({ "type": "request", "session": session, "message": message, "tokens": tokens(&context()?) }),
            );
        } else if words.starts_with(FAILED) {
            self.failed = text(&context()?["tags"], "sessionId");
        } else if words.starts_with(AGAIN) {
            self.asks_again = self.failed.is_some();
        }
        None
    }
}

/// The tokens of a request: all input, what of it was read from a cache or written to one, output, thoughts.
fn tokens(context: &Value) -> Value {
    let count = |key: &str| context[key].as_u64().unwrap_or(0);
    let (read, written) = (count("cacheReadInputTokens"), count("cachedTokensWritten"));
    let input = count("inputTokens").saturating_add(read).saturating_add(written);
    json!([input, read, written, count("outputTokens"), count("reasoningTokens")])
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [&str; 9] = [
        "[t] WARN: Retry attempt failed",
        "Error: the network is down",
        r#"[t] WARN: [useLLMStreaming] LLM error | Context: {"attempt":1,"tags":{"sessionId":"s"}}"#,
        "[t] INFO: [useLLMStreaming] S3Logging is false | Context: {}",
        "[t] WARN: Retry attempt failed",
        "Caused by:",
        "Error: 429 Too fast",
        r#"[t] INFO: [metrics_log_droid_chat_client_success_count] | Context: {"sessionId":"s","assistantMessageId":"m"}"#,
        r#"[t] INFO: [Agent] Streaming result | Context: {"inputTokens":5,"cacheReadInputTokens":2,"outputTokens":3,"cachedTokensWritten":1}"#,
    ];

    #[test]
    fn of_the_log_only_requests_and_their_failures_are_kept() {
        let mut log = LogReader::default();
        let kept: Vec<Value> = LINES.iter().filter_map(|line| log.read(line)).collect();
        let retry = json!({ "type": "retry", "session": "s", "error": "429 Too fast" });
        let request = json!({ "type": "request", "session": "s", "message": "m", "tokens": [8, 2, 1, 3, 0] });
        assert_eq!(kept, [retry, request]);
    }
}
