//! What an agent printed, as a grader of `claude plugin eval` looks at it: lines of JSON, each with a message whose blocks are texts
//! and calls. The session of an agent that prints other lines is read from its trace.

use std::cell::OnceCell;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::checks::GradingInput;
use crate::checks::grading_input::Unknown;
use crate::trace::{Step, kept_part};
use crate::trial::outcome::Status;

/// The session of a trial, which is read when a check first asks for it. Several graders look at one session.
#[derive(Debug, Default)]
pub struct PrintedOnce(OnceCell<Result<PrintedSession, Unknown>>);

impl PrintedOnce {
    /// The session of this trial, or why it is not known.
    pub(super) fn of<'a>(subject: &GradingInput<'a>) -> Result<&'a PrintedSession, Unknown> {
        subject.printed.0.get_or_init(|| PrintedSession::of(subject)).as_ref().map_err(Clone::clone)
    }
}

/// A session by its printed lines.
#[derive(Debug)]
pub(super) struct PrintedSession {
    /// The calls of the agent and of its sub-agents, in the order in which the model made them.
    pub calls: Vec<Call>,
    /// The last text of the agent itself that is not empty; empty if there is none. An error says why it is not known.
    pub last_text: Result<String, Unknown>,
    /// All lines; an error says why they are not known.
    pub lines: Result<String, Unknown>,
}

/// A call of a tool.
#[derive(Debug)]
pub(super) struct Call {
    pub tool: String,
    /// The input as JSON without blanks.
    pub input: String,
    /// Whether only the start of the input is known.
    pub is_cut: bool,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
    #[serde(default)]
    parent_tool_use_id: Option<String>,
    #[serde(default)]
    session_id: Option<String>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

/// JSON as JavaScript's `JSON.stringify` writes its strings: only what must be escaped is.
fn stringified(json: &str) -> String {
    let mut written = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        written.push_str(&rest[..at]);
        let length = if rest[at..].starts_with("\\u") { 6 } else { 2 };
        // The halves of a character are two escapes.
        let is_half = matches!(rest.get(at + 2..at + 4), Some("d8" | "d9" | "da" | "db" | "D8" | "D9" | "DA" | "DB"));
        let pair = rest.get(at..at + 12).filter(|_| length == 6 && is_half);
        let decoded = |escape: &str| serde_json::from_str::<String>(&format!("\"{escape}\"")).ok();
        let (length, text) = match pair.and_then(decoded) {
            Some(text) => (12, Some(text)),
            None => (length, rest.get(at..at + length).and_then(decoded)),
        };
        let escape = rest.get(at..at + length).unwrap_or(&rest[at..]);
        match text.as_deref().map(serde_json::to_string) {
            Some(Ok(quoted)) => written.push_str(&quoted[1..quoted.len() - 1]),
            // Half of a character stays an escape.
            _ => written.push_str(&escape.to_lowercase()),
        }
        rest = &rest[at + escape.len()..];
    }
    written + rest
}

impl PrintedSession {
    fn of(subject: &GradingInput<'_>) -> Result<Self, Unknown> {
        if let Some(gap) = subject.evidence.gap() {
            return Err(Unknown(gap));
        }
        let output = subject.contents.of_output();
        let lines = output.ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let answer = match subject.final_text() {
            Ok(text) => Ok(text),
            Err((Status::Unknown, why)) => Err(Unknown(why)),
            Err(_) => Ok(""),
        };
        let Some(mut session) = lines.and_then(|text| Self::read(&text)).transpose()? else {
            return Self::of_trace(subject, answer);
        };
        let shown = session.last_text.clone().unwrap_or_default();
        // The lines of other agents may parse too, and show nothing of what the trace has.
        if shown.is_empty() && session.calls.is_empty() && answer != Ok("") {
            return Self::of_trace(subject, answer);
        }
        // Two sources that show one text must agree. An answer may go on where the text before it ended.
        session.last_text = answer.and_then(|answer| {
            // An agent that was stopped, or said nothing last, has no final message.
            let agrees = answer.is_empty() || (answer.trim().ends_with(shown.trim()) && !shown.is_empty());
            let why = "the last text in the agent's lines is not its final message: one of them was not read";
            if agrees { Ok(shown) } else { Err(why.into()) }
        });
        Ok(session)
    }

    /// The session that these lines show; `None` if they are of another form. An error says what of them was not read.
    pub fn read(text: &str) -> Option<Result<Self, Unknown>> {
        let unread = |what: &str| Some(Err(format!("{what} could not be read").into()));
        let lines = Ok(text.trim_end_matches('\n').to_owned());
        let (mut calls, mut last_text, mut is_whole) = (Vec::new(), String::new(), None);
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let line: Line<'_> = serde_json::from_str(line).ok()?;
            is_whole.get_or_insert(line.session_id.is_some());
            if line.kind != "assistant" {
                continue;
            }
            let content = line.message.and_then(|message| message.content);
            let Some(blocks) = content.and_then(|content| serde_json::from_str::<Vec<Block<'_>>>(content.get()).ok())
            else {
                return unread("a message of the model");
            };
            for block in blocks {
                match (block.kind.as_str(), block.text, block.name, block.input) {
                    ("text", Some(text), ..) if line.parent_tool_use_id.is_none() && !text.is_empty() => {
                        last_text = text;
                    }
                    ("tool_use", _, Some(tool), Some(input)) => {
                        calls.push(Call { tool, input: stringified(input.get()), is_cut: false });
                    }
                    ("tool_use", ..) | ("text", None, ..) => return unread("a part of a message of the model"),
                    _ => {}
                }
            }
        }
        let part = || Err("only a part of the lines that the agent printed is stored".into());
        let lines = if is_whole? { lines } else { part() };
        Some(Ok(Self { calls, last_text: Ok(last_text), lines }))
    }

    /// The session of an agent that prints other lines: the calls are in the order in which they ended.
    fn of_trace(subject: &GradingInput<'_>, answer: Result<&str, Unknown>) -> Result<Self, Unknown> {
        let trace = subject.evidence.trace;
        if trace.steps_dropped > 0 {
            return Err(format!("the trace lacks {} events", trace.steps_dropped).into());
        }
        let mut calls = Vec::new();
        for (step, moment) in trace.steps.iter().zip(&trace.moments) {
            let (tool, input) = match step {
                Step::Tool { name, input, .. } => (Some(name), Some(input)),
                Step::Command { .. } | Step::FileChange(_) => (moment.tool.as_ref(), moment.input.as_ref()),
                _ => continue,
            };
            let Some(tool) = tool else { continue };
            let (input, is_cut) = input.map_or(("", true), |input| kept_part(input));
            calls.push(Call { tool: tool.clone(), input: input.to_owned(), is_cut });
        }
        let lines = Err("this agent prints no lines that `target: trace` could search".into());
        Ok(Self { calls, last_text: answer.map(str::to_owned), lines })
    }
}

#[cfg(test)]
mod tests {
    use super::PrintedSession;

    #[test]
    fn a_message_of_the_model_that_cannot_be_read_is_not_one_without_words_and_calls() {
        let read = |message: &str| {
            let line = format!(r#"{{"type": "assistant", "session_id": "s", "message": {message}}}"#);
            PrintedSession::read(&line).expect("a session").map(|session| session.last_text)
        };
        assert_eq!(read(r#"{"content": [{"type": "text", "text": "hello"}]}"#), Ok(Ok("hello".to_owned())));
        assert_eq!(read(r#"{"content": []}"#), Ok(Ok(String::new())));
        for unread in [
            "{}",
            r#"{"content": {}}"#,
            r#"{"content": [{"text": "hello"}]}"#,
            r#"{"content": [{"type": "text", "txt": "hello"}]}"#,
            r#"{"content": [{"type": "tool_use", "name": "Bash"}]}"#,
        ] {
            assert!(read(unread).is_err_and(|why| why.0.contains("could not be read")), "{unread}");
        }
    }
}
