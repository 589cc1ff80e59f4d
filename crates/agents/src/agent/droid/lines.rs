//! The lines of Droid's output, which has the conversation, and of what is kept of its session files and its log.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Value, json};

use super::CALLER;
use crate::agent::field::{plain, text};
use crate::agent::interface::TurnSign;
use crate::agent::recorder::{AgentEvent, CallEnding};
use crate::agent::refusal::refused;
use crate::agent::skill_list::recorded_description;
use crate::agent::stream::LineReader;
use crate::trace::trouble::Trouble;
use crate::trace::{StopReason, Usage};

/// What comes before the list of skills: a line for each, `name: description`.
const LIST: &str = "Available skills (invoke by exact name when its description matches the request):\n";

const LIST_END: &str = "\n</system-reminder>";

/// How the id of a message begins that says that a sub-agent is done.
const COMPLETED: &str = "task-completion:";

/// How Droid puts a skill into the user's message, before its name.
const CALLED: &str = "The user has selected the following skill for immediate execution.";

/// What comes before the exit code of a command, at the end of its output.
const EXIT_CODE: &str = "[Process exited with code ";

/// What Droid says if the model's answer ended with a refusal.
const REFUSED: &str = "Request failed due to triggering the model provider's content moderation policy";

#[derive(Default)]
pub struct DroidLines {
    version: Option<String>,
    /// The model of the first answer.
    model: Option<String>,
    /// The skills that the model was offered.
    offered: Option<Vec<(String, String)>>,
    /// The sub-agent whose session file is read.
    reads_sub_agent: Option<String>,
    /// The messages of each sub-agent that are not reported yet.
    sub_agents: HashMap<String, Vec<Value>>,
    /// The ids of the calls in the session file that no line of the output showed so far.
    unshown: BTreeSet<String>,
    /// When each message came, by its id.
    times: HashMap<String, String>,
    /// The tokens of each answer, by its id.
    usage: HashMap<String, Usage>,
    /// The requests that failed: the session, how many answers it had before, and why.
    failed: Vec<(String, usize, Trouble)>,
    /// How many answers the log has of each session.
    in_log: HashMap<String, usize>,
    /// The ids of the answers so far.
    answers: HashSet<String>,
    /// The thoughts so far, which may come again.
    thoughts: HashSet<(String, String)>,
}

impl LineReader for DroidLines {
    fn session(&mut self, line: &Value) {
        match line["type"].as_str() {
            Some("program") => self.version = text(line, "version"),
            Some("request") => {
                let session = text(line, "session").unwrap_or_default();
                *self.in_log.entry(session).or_default() += 1;
                self.usage.extend(text(line, "message").zip(usage(&line["tokens"])));
            }
            Some("retry") => {
                let session = text(line, "session").unwrap_or_default();
                let answers = self.in_log.get(&session).copied().unwrap_or_default();
                let trouble = refusal(line["error"].as_str().unwrap_or_default());
                self.failed.push((session, answers, trouble));
            }
            Some("session_start") => {
                self.reads_sub_agent = text(line, CALLER).and_then(|_| text(line, "id"));
            }
            Some("message") => self.message(line),
            _ => {}
        }
    }

    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        let mut said = Vec::new();
        match (line["type"].as_str()?, line["role"].as_str()) {
            ("system", _) => {}
            ("message", Some("user")) => match Self::sub_agent(line) {
                Some(id) => {
                    let messages = self.sub_agents.remove(id).unwrap_or_default();
                    said.extend(messages.iter().flat_map(|message| self.of_sub_agent(message)));
                    said.push(AgentEvent::Asks);
                }
                None => said.extend(self.begins(line["text"].as_str().unwrap_or_default())),
            },
            ("message", Some("assistant")) => {
                said.extend(text(line, "id").and_then(|id| self.answers(id)));
                said.push(AgentEvent::or_gap(text(line, "text").map(AgentEvent::Message), "a message of the agent"));
            }
            ("message", _) => said.push(AgentEvent::Lost("a message of nobody who is known".to_owned())),
            ("reasoning", _) => {
                let (id, thought) = (text(line, "id")?, text(line, "text")?);
                said.extend(self.answers(id.clone()));
                said.extend(self.thoughts.insert((id, thought.clone())).then_some(AgentEvent::Thought(thought)));
            }
            ("tool_call", _) => {
                said.extend(self.answers(text(line, "messageId")?));
                let (id, tool) = (text(line, "id")?, text(line, "toolName")?);
                self.unshown.remove(&id);
                said.push(AgentEvent::Called { id, tool: named(tool), input: line["parameters"].clone() });
            }
            ("tool_result", _) => {
                let output = line["error"]["message"].as_str().map(str::to_owned);
                let output = output.or_else(|| plain(&line["value"]));
                said.push(answered(text(line, "id")?, output, line["isError"] == true));
            }
            ("completion", _) => {
                said.extend(line["numTurns"].as_u64().map(AgentEvent::Counted));
                said.push(AgentEvent::Done);
            }
            ("error", _) => said.extend(error(line)),
            _ => return None,
        }
        self.failures(line["session_id"].as_str().unwrap_or_default(), &mut said);
        Some(said)
    }

    fn unshown(&self) -> Option<&BTreeSet<String>> {
        Some(&self.unshown)
    }

    /// The sub-agent that is done, whose work is reported with that.
    fn sub_agent(line: &Value) -> Option<&str> {
        line["id"].as_str().filter(|id| id.starts_with(COMPLETED))?;
        line["text"].as_str()?.split_once("task_id: ")?.1.lines().next()
    }

    fn time<'a>(&'a self, line: &'a Value) -> Option<&'a str> {
        let id = line["messageId"].as_str().or_else(|| line["id"].as_str())?;
        self.times.get(id).map(String::as_str)
    }
}

impl DroidLines {
    /// Notes a message of a session file.
    fn message(&mut self, line: &Value) {
        self.times.extend(text(line, "id").zip(text(line, "timestamp")));
        if let Some(id) = &self.reads_sub_agent {
            return self.sub_agents.entry(id.clone()).or_default().push(line.clone());
        }
        let calls = parts(line).filter(|part| part["type"] == "tool_use");
        self.unshown.extend(calls.filter_map(|call| text(call, "id")));
        if self.model.is_none() {
            self.model = text(&line["message"], "modelId");
        }
        if self.offered.is_none() && is_context(line) {
            self.offered = Some(texts(line).find_map(list).unwrap_or_default());
        }
    }

    /// A message of the user.
    fn begins(&self, message: &str) -> Vec<AgentEvent> {
        let version = self.version.clone().map(AgentEvent::Version);
        let model = self.model.clone().map(AgentEvent::Model);
        let offered = self.offered.clone().map(AgentEvent::Offered);
        let all = [version, model, offered, Some(AgentEvent::Asks)].into_iter().flatten();
        all.chain(called_by_user(message)).collect()
    }

    /// An answer, if this is the first part of it.
    fn answers(&mut self, id: String) -> Option<AgentEvent> {
        let usage = self.usage.get(&id).copied();
        self.answers.insert(id).then_some(AgentEvent::Answers(usage))
    }

    /// The requests that failed before what comes next.
    fn failures(&mut self, session: &str, said: &mut Vec<AgentEvent>) {
        let answers = self.answers.len();
        self.failed.retain(|(of, before, trouble)| {
            let is_next = of == session && *before <= answers;
            if is_next {
                said.push(AgentEvent::AsksAgain(trouble.clone(), None));
            }
            !is_next
        });
    }

    fn of_sub_agent(&self, line: &Value) -> Vec<AgentEvent> {
        let is_answer = line["message"]["role"] == "assistant";
        let id = text(line, "id").unwrap_or_default();
        let first = is_answer.then(|| AgentEvent::Answers(self.usage.get(&id).copied()));
        let part = |part: &Value| match part["type"].as_str()? {
            "text" if is_answer => text(part, "text").map(AgentEvent::Message),
            "thinking" => text(part, "thinking").map(AgentEvent::Thought),
            "tool_use" => {
                let (id, tool) = (text(part, "id")?, text(part, "name")?);
                Some(AgentEvent::Called { id, tool: named(tool), input: part["input"].clone() })
            }
            "tool_result" => {
                Some(answered(text(part, "tool_use_id")?, plain(&part["content"]), part["is_error"] == true))
            }
            _ => None,
        };
        // What it was asked is no part of what it did.
        let parts = parts(line).filter(|part| is_answer || part["type"] != "text");
        let said = parts.map(|one| AgentEvent::or_gap(part(one), "a part of a message of a sub-agent"));
        first.into_iter().chain(said).collect()
    }
}

fn parts(line: &Value) -> impl Iterator<Item = &Value> {
    line["message"]["content"].as_array().into_iter().flatten()
}

fn texts(line: &Value) -> impl Iterator<Item = &str> {
    parts(line).filter_map(|part| part["text"].as_str())
}

/// Whether Droid wrote this message before the user's first one.
fn is_context(line: &Value) -> bool {
    line["id"].as_str().is_some_and(|id| id.starts_with("context-"))
}

/// The list of skills, if the text is it. Instructions of the workspace are other texts.
fn list(text: &str) -> Option<Vec<(String, String)>> {
    let text = text.strip_prefix("<system-reminder>\n").unwrap_or(text);
    let list = text.strip_prefix(LIST)?.split_once(LIST_END)?.0;
    let entry = |line: &str| line.split_once(": ").map(|(name, text)| (name.to_owned(), text.to_owned()));
    Some(list.lines().filter_map(entry).collect())
}

/// The skills whose texts Droid put into the user's message.
fn called_by_user(message: &str) -> impl Iterator<Item = AgentEvent> {
    message.split(CALLED).skip(1).filter_map(move |rest| {
        let skill = rest.split_once("<name>")?.1.split_once("</name>")?.0.to_owned();
        Some(AgentEvent::CalledByUser { skill, text: rest.to_owned() })
    })
}

/// The tool `server___tool` of an MCP server as every agent names it.
fn named(tool: String) -> String {
    tool.split_once("___").map(|(server, tool)| format!("mcp__{server}__{tool}")).unwrap_or(tool)
}

fn answered(id: String, output: Option<String>, failed: bool) -> AgentEvent {
    let ending = if failed { CallEnding::Failed } else { CallEnding::Done };
    let exit_code = output.as_ref().and_then(|output| output.rsplit_once(EXIT_CODE)?.1.strip_suffix(']')?.parse().ok());
    AgentEvent::Answered { id, output, ending, exit_code }
}

fn error(line: &Value) -> Option<AgentEvent> {
    let message = line["message"].as_str().unwrap_or_default();
    if message.starts_with(REFUSED) {
        return Some(AgentEvent::Stopped(StopReason::Refusal));
    }
    // This only says that another line has the error.
    (message != "Exec failed").then(|| AgentEvent::Refused(refusal(message)))
}

/// An error begins with the HTTP status, if there is one.
fn refusal(message: &str) -> Trouble {
    let status = message.split(' ').next().filter(|word| word.len() == 3).and_then(|word| word.parse().ok());
    refused(status, message)
}

fn usage(tokens: &Value) -> Option<Usage> {
    let count = |at: usize| tokens[at].as_u64();
    Some(Usage {
        input_tokens: count(0)?,
        cached_input_tokens: count(1)?,
        cache_write_input_tokens: count(2)?,
        output_tokens: count(3)?,
        reasoning_output_tokens: count(4)?,
        cost_usd: None,
    })
}

/// What a line of the session file says about the model's calls.
pub(super) fn turn_signs(line: &Value) -> Vec<TurnSign> {
    let sign = |part: &Value| match part["type"].as_str()? {
        "tool_use" => Some(TurnSign::Called { call: text(part, "id")?, answer: text(line, "id") }),
        "tool_result" => text(part, "tool_use_id").map(TurnSign::Answered),
        _ => None,
    };
    parts(line).filter_map(sign).collect()
}

/// A line of the session file as a recording stores it.
pub(super) fn slim_session(mut line: Value, skills_of_case: &[&str]) -> Option<Value> {
    match line["type"].as_str()? {
        "session_start" => line = json!({ "type": "session_start", "id": line["id"], CALLER: line[CALLER] }),
        "message" if is_context(&line) => {
            let entry = |(name, text): (String, String)| {
                format!("{name}: {}\n", recorded_description(&name, &text, skills_of_case))
            };
            let list: String = texts(&line).find_map(list).into_iter().flatten().map(entry).collect();
            let text = format!("{LIST}{}{LIST_END}", list.trim_end());
            line["message"] = json!({ "content": [{ "type": "text", "text": text }] });
        }
        "program" | "request" | "retry" | "message" => {}
        _ => return None,
    }
    Some(line)
}

// Droid's log, which stays on this machine: `[time] LEVEL: words | Context: {…}`, and stacks between such lines.

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
