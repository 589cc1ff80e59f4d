//! What claude leaves after a run, as a trial and a recording store it, and how it becomes a trace.

use std::fs::File;
use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::SESSION;
use super::events::StreamDecoder;
use super::session::{self, Forks, SessionDecoder, TOOLS};
use super::wire::{Assistant, LineHead, ResultLine, SYNTHETIC, parse};
use crate::agent::files::{DerivedFile, SUB_AGENTS, TRACE, slimmed};
use crate::agent::interface::{UnreadPrompt, UserSession, chosen, has_unread};
use crate::agent::recorder::TraceRecorder;
use crate::agent::trial_env::TrialEnv;
use crate::files::rooted::WalkControl;
use crate::profile::AgentKind;
use crate::text::lines::for_each_line;
use crate::trace::Trace;
use crate::trace::exposure::Reference;

/// Where claude stores sessions, in its home.
pub(super) const SESSIONS: &str = ".claude/projects";

pub(super) fn store(trial_env: &TrialEnv, directory: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
    let mut session = DerivedFile::new(directory.join(SESSION), mask);
    let mut sub_agents = DerivedFile::new(directory.join(SUB_AGENTS), mask);
    let mut stored = Ok(());
    // Without a session the directory does not exist.
    let _ = trial_env.home().join(SESSIONS).walk(|_| false, &mut |entry| {
        // A run has one session: `projects/<working directory>/<id>.jsonl`. Its sub-agents, nested or not, have one file each:
        // `<id>/subagents/agent-<id>.jsonl`.
        let file = match entry.path {
            path if is_session(path) && !session.is_begun() => &mut session,
            path if is_sub_agent(path) => &mut sub_agents,
            _ => return WalkControl::On,
        };
        stored = entry.open().and_then(|from| file.add(from));
        if stored.is_ok() { WalkControl::On } else { WalkControl::Stop }
    });
    stored.and_then(|()| session.finish()).and_then(|()| sub_agents.finish())
}

/// The file of the running session.
pub(super) fn open_session(trial_env: &TrialEnv) -> Option<File> {
    trial_env.home().join(SESSIONS).first(is_session)
}

fn is_session(path: &Path) -> bool {
    path.iter().count() == 2 && path.extension() == Some("jsonl".as_ref())
}

fn is_sub_agent(path: &Path) -> bool {
    path.iter().count() > 2
        && path.iter().any(|part| part == "subagents")
        && path.extension() == Some("jsonl".as_ref())
        && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-"))
}

pub(super) fn recorded(directory: &Path, skills: &[&str]) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let mut files = vec![
        (TRACE, slimmed(&directory.join(TRACE), slim_line)?),
        (SESSION, slimmed(&directory.join(SESSION), |line| session::slimmed(line, skills))?),
        (SUB_AGENTS, slimmed(&directory.join(SUB_AGENTS), slim_sub_agents_line)?),
    ];
    files.retain(|(name, content)| *name == TRACE || !content.is_empty());
    Ok(files)
}

pub(super) fn decode(reference: &Reference, directory: &Path) -> io::Result<Trace> {
    let mut recorder = TraceRecorder::new(reference, AgentKind::ClaudeCli);
    let mut session = SessionDecoder::new(&mut recorder);
    for_each_line(&directory.join(SESSION), |line| session.line(line))?;
    let facts = session.facts;
    let mut forks = Forks::default();
    for_each_line(&directory.join(SUB_AGENTS), |line| forks.line(line))?;
    let mut events = StreamDecoder::new(&mut recorder, facts, forks);
    for_each_line(&directory.join(TRACE), |line| events.line(line))?;
    for_each_line(&directory.join(SUB_AGENTS), |line| events.sub_agents_line(line))?;
    events.finish();
    Ok(recorder.finish())
}

// A line of claude's output as a recording stores it: what grading and readers need, without ids and without long lists
// that are the same in every run.

/// The keys that each kind of line keeps. Other kinds keep all keys.
const KEYS: [(&str, &[&str]); 4] = [
    (
        "system",
        &[
            "type",
            "subtype",
            "tools",
            "skills",
            "mcp_servers",
            "model",
            "permissionMode",
            "claude_code_version",
            "attempt",
            "max_retries",
            "retry_delay_ms",
            "error_status",
            "error",
            "task_id",
            "task_type",
            "tool_use_id",
        ],
    ),
    ("assistant", &["type", "message", "parent_tool_use_id", "error"]),
    ("user", &["type", "message", "parent_tool_use_id", "isSynthetic"]),
    (
        "result",
        &[
            "type",
            "subtype",
            "is_error",
            "api_error_status",
            "stop_reason",
            "num_turns",
            "duration_ms",
            "duration_api_ms",
            "result",
            "errors",
            "total_cost_usd",
            "usage",
            "modelUsage",
            "permission_denials",
        ],
    ),
];

/// The lines of the program itself that are read.
const READ: [&str; 4] = ["init", "api_retry", "task_started", "task_notification"];

/// Whether the decoder can read the line. One that it cannot read (with a duplicate key, say) must not become readable.
fn is_readable(line: &[u8]) -> bool {
    parse::<LineHead>(line).is_some_and(|head| match head.kind.as_str() {
        "assistant" | "user" => parse::<Assistant>(line).is_some(),
        "result" => parse::<ResultLine>(line).is_some(),
        _ => true,
    })
}

/// The slim line; `None` if nobody needs it.
pub(super) fn slim_line(line: &[u8]) -> Option<Vec<u8>> {
    let (Some(Value::Object(mut value)), true) = (parse(line), is_readable(line)) else {
        // A damaged line is evidence, too.
        return Some([line, b"\n"].concat());
    };
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    // The answer to `initialize` lists every command and model.
    if kind == "control_response" {
        return None;
    }
    // A sub-agent's own file repeats its lines; the ids show which.
    let of_sub_agent = value.get("parent_tool_use_id").is_some_and(Value::is_string);
    // What a line of another kind says, nobody knows.
    let is_known =
        kind != "system" || value.get("subtype").and_then(Value::as_str).is_some_and(|subtype| READ.contains(&subtype));
    if let Some((_, keys)) = KEYS.iter().find(|(known, _)| *known == kind && is_known) {
        value
            .retain(|key, value| (keys.contains(&key.as_str()) || (of_sub_agent && key == "uuid")) && !value.is_null());
    }
    slim_message(&mut value);
    for usage in ["usage", "modelUsage"] {
        if let Some(Value::Object(usage)) = value.get_mut(usage) {
            usage.retain(|_, value| match value {
                Value::Object(tokens) => {
                    tokens.retain(|key, _| key.ends_with("Tokens") || key == "costUSD");
                    tokens.contains_key("inputTokens")
                }
                value => value.is_number(),
            });
        }
    }
    Some(format!("{}\n", Value::Object(value)).into_bytes())
}

/// A slim line of a sub-agent's own file: its conversation. `None` for the rest.
fn slim_sub_agents_line(line: &[u8]) -> Option<Vec<u8>> {
    let Some(Value::Object(mut value)) = parse(line) else {
        return Some([line, b"\n"].concat());
    };
    let kind = value.get("type").and_then(Value::as_str);
    kind.filter(|kind| ["assistant", "user"].contains(kind))?;
    value.retain(|key, value| {
        ["type", "uuid", "agentId", "isMeta", "message"].contains(&key.as_str()) && !value.is_null()
    });
    slim_message(&mut value);
    Some(format!("{}\n", Value::Object(value)).into_bytes())
}

fn slim_message(line: &mut Map<String, Value>) {
    let Some(Value::Object(message)) = line.get_mut("message") else { return };
    message.retain(|key, value| {
        !value.is_null() && ["id", "role", "model", "content", "usage", "stop_reason"].contains(&key.as_str())
    });
    if let Some(Value::Object(usage)) = message.get_mut("usage") {
        usage.retain(|_, value| value.is_number());
    }
}

// Sessions of the user, as Claude Code keeps them in `~/.claude/projects`. The lines of messages are those that it prints in
// a trial. What it prints besides them, at the start and at the end, is made from what the file shows.

/// The starts of lines that claude itself wrote as the user.
const NOTES: [&str; 6] = [
    "<local-command-",
    "<bash-",
    "<task-notification",
    "<system-reminder",
    "[Request interrupted",
    "Caveat: The messages below",
];

/// The kinds of lines that are claude's own notes: copies of requests, and what its screen shows.
const OWN: [&str; 27] = [
    "agent-name",
    "ai-title",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "atis-latch",
    "attachment",
    "attribution-snapshot",
    "content-replacement",
    "cost-state",
    "custom-title",
    "file-history-delta",
    "file-history-snapshot",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "relocated",
    "speculation-accept",
    "summary",
    "system",
    "tag",
    "task-summary",
    "tools-used",
    "worktree-state",
];

/// Whether a line is an event: a message, what cannot be read, or a kind that is not known.
fn is_event(line: &Value) -> bool {
    match line["type"].as_str() {
        Some("user" | "assistant") => line["message"].is_object(),
        Some(kind) => !OWN.contains(&kind),
        None => line.is_string(),
    }
}

/// The session in these lines, and in those of its sub-agents' files. `None` if Claude Code did not write them.
pub(super) fn read(lines: &[Value], sub_agents: &[Value], turn: Option<usize>) -> Option<UserSession> {
    let first = lines.iter().find(|line| line["sessionId"].is_string() && line["version"].is_string())?;
    let is_own = |line: &Value| line["isSidechain"] != true;
    let mut prompts: Vec<(usize, Option<String>)> = Vec::new();
    let (mut is_answered, mut is_asked, mut ended) = (true, false, &Value::Null);
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| is_own(line)) {
        let (is_answer, id) = (line["type"] == "assistant", &line["message"]["id"]);
        // An answer may have several lines.
        let goes_on = id == ended && !id.is_null();
        if let Some(text) = prompt(line) {
            if !is_answered {
                prompts.pop();
            }
            prompts.push((at, text.ok()));
            is_answered = false;
        } else if is_answer && !is_asked && !goes_on {
            // Nobody asked for this answer: the line with the prompt is lost.
            prompts.push((at, None));
        }
        is_answered |= is_answer;
        is_asked |= line["type"] == "user" || (is_answer && !goes_on);
        if is_answer && line["message"]["stop_reason"] == "end_turn" {
            (is_asked, ended) = (false, id);
        }
    }
    let starts: Vec<usize> = prompts.iter().map(|(at, _)| *at).collect();
    let range = chosen(&starts, lines.len(), turn);
    // What was offered before still is.
    let before = lines[..range.start].iter().filter(|line| line["attachment"].is_object());
    let session: Vec<Value> = before.chain(&lines[range.clone()]).filter(|line| is_own(line)).cloned().collect();
    let of_sub_agents = lines[range.clone()].iter().filter(|line| !is_own(line)).chain(sub_agents);
    let model =
        session.iter().rev().find_map(|line| line["message"]["model"].as_str().filter(|model| *model != SYNTHETIC));
    let version = first["version"].as_str();
    Some(UserSession {
        prompts: prompts.into_iter().map(|(_, text)| text).collect(),
        is_unclear: turn.is_some() && has_unread(&lines[..range.end]),
        folder: first["cwd"].as_str().map(str::to_owned),
        started: lines[range].first().and_then(|line| line["timestamp"].as_str()).map(str::to_owned),
        version: version.map(str::to_owned),
        model: model.map(str::to_owned),
        events: events(&session, version, model),
        sub_agents: of_sub_agents.cloned().collect(),
        session,
    })
}

/// What the user asked with this line.
fn prompt(line: &Value) -> Option<Result<String, UnreadPrompt>> {
    let of_user = line["type"] == "user" && line["isMeta"] != true && line["isCompactSummary"] != true;
    let content = Some(&line["message"]["content"]).filter(|_| of_user)?;
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) if blocks.iter().any(|block| block["type"] == "tool_result") => return None,
        Value::Array(blocks) if blocks.iter().all(is_read) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => return Some(Err(UnreadPrompt)),
    };
    if text.is_empty() || NOTES.iter().any(|note| text.starts_with(note)) {
        return None;
    }
    // claude rewrites `/greeting Ada`.
    let tag = |name: &str| Some(text.split_once(&format!("<{name}>"))?.1.split_once(&format!("</{name}>"))?.0.trim());
    let command = tag("command-name").filter(|_| text.starts_with("<command-"));
    Some(Ok(match command {
        Some(name) => format!("{name} {}", tag("command-args").unwrap_or_default()).trim_end().to_owned(),
        None => text,
    }))
}

/// Whether a block of a message has what its type says.
fn is_read(block: &Value) -> bool {
    block["type"].is_string() && (block["type"] != "text" || block["text"].is_string())
}

fn events(session: &[Value], version: Option<&str>, model: Option<&str>) -> Vec<Value> {
    let mut events = Vec::new();
    // Without a list nothing shows what was offered.
    if session.iter().any(|line| line["attachment"]["names"].is_array()) {
        events.push(json!({ "type": "system", "subtype": "init", "model": model, "claude_code_version": version }));
    }
    let mut last = &Value::Null;
    for line in session.iter().filter(|line| is_event(line)) {
        let blocks = line["message"]["content"].as_array().into_iter().flatten();
        let task = |subtype: &str, call: &Value, agent: &Value| {
            json!({
                "type": "system", "subtype": subtype, "task_type": "local_agent", "status": "completed",
                "task_id": if agent.is_string() { agent } else { call }, "tool_use_id": call,
            })
        };
        let agent = &line["toolUseResult"]["agentId"];
        for block in blocks {
            let is_task = block["name"].as_str().is_some_and(|name| TOOLS.contains(&name));
            if block["type"] == "tool_use" && is_task {
                // Its file may show what it did. The line of its answer has its name.
                let answer = session.iter().find(|line| answers(line, &block["id"]));
                events.push(task(
                    "task_started",
                    &block["id"],
                    answer.map_or(&Value::Null, |line| &line["toolUseResult"]["agentId"]),
                ));
            }
            if block["type"] == "tool_result" && agent.is_string() {
                events.push(task("task_notification", &block["tool_use_id"], agent));
            }
        }
        events.push(line.clone());
        // Notes of claude end no turn.
        if line["type"] == "assistant"
            || prompt(line).is_some()
            || line["message"]["content"][0]["type"] == "tool_result"
        {
            last = line;
        }
    }
    events.extend(end(last));
    events
}

fn answers(line: &Value, call: &Value) -> bool {
    let mut blocks = line["message"]["content"].as_array().into_iter().flatten();
    blocks.any(|block| block["type"] == "tool_result" && block["tool_use_id"] == *call)
}

/// The end of the last turn, if the last line is an answer of the model that calls no tool.
fn end(last: &Value) -> Option<Value> {
    let message = &last["message"];
    let reason =
        message["stop_reason"].as_str().filter(|_| last["type"] == "assistant" && message["model"] != SYNTHETIC)?;
    let texts = message["content"].as_array()?.iter().filter_map(|block| block["text"].as_str());
    (reason != "tool_use").then(|| {
        json!({
            "type": "result", "subtype": "success", "is_error": false, "stop_reason": reason,
            "result": texts.collect::<Vec<_>>().join("\n"),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<Value> {
        let line = |kind: &str, message: Value| json!({ "type": kind, "sessionId": "s", "version": "2.1.332", "cwd": "/w", "message": message });
        let asks = |text: &str| line("user", json!({ "role": "user", "content": text }));
        let says = |id: &str, text: &str| {
            let content = json!([{ "type": "text", "text": text }]);
            line("assistant", json!({ "id": id, "model": "m", "stop_reason": "end_turn", "content": content }))
        };
        vec![asks("first"), says("1", "a"), says("1", "b"), asks("second"), says("2", "c")]
    }

    fn prompts(lines: &[Value]) -> Vec<Option<String>> {
        read(lines, &[], None).expect("a session").prompts
    }

    #[test]
    fn a_prompt_that_is_lost_or_cannot_be_read_has_its_place_among_the_prompts() {
        let known = |text: &str| Some(text.to_owned());
        assert_eq!(prompts(&lines()), [known("first"), known("second")]);
        assert_eq!(prompts(&lines()[1..]), [None, known("second")]);
        let mut without_second = lines();
        without_second.remove(3);
        assert_eq!(prompts(&without_second), [known("first"), None]);
        for content in [json!(7), json!([{ "type": "text", "txt": "first" }]), Value::Null] {
            let mut changed = lines();
            changed[0]["message"]["content"] = content;
            assert_eq!(prompts(&changed), [None, known("second")]);
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_leaves_open_which_prompt_is_which() {
        let is_unclear = |at: usize, turn: Option<usize>| {
            let mut changed = lines();
            changed[at] = "damaged".into();
            changed.insert(0, json!({ "type": "system", "sessionId": "s", "version": "2.1.332" }));
            read(&changed, &[], turn).expect("a session").is_unclear
        };
        assert!(is_unclear(0, Some(1)) && is_unclear(0, Some(2)));
        assert!(!is_unclear(4, Some(1)), "it comes after the chosen prompt");
        assert!(!is_unclear(0, None), "the decoder counts it");
    }
}
