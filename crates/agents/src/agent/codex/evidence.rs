//! What codex leaves after a run, as a trial and a recording store it, and how it becomes a trace.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::events::EventDecoder;
use super::rollout::{RolloutDecoder, SKILL, may_be_item};
use super::wire::{CompletedItem, RolloutContent, RolloutLine, RolloutPayload};
use super::{LAST_MESSAGE, ROLLOUT};
use crate::agent::codex::rollout;
use crate::agent::files::{DerivedFile, SUB_AGENTS, TRACE, is_history, slimmed};
use crate::agent::interface::{UnreadPrompt, UserSession, chosen, has_unread};
use crate::agent::recorder::TraceRecorder;
use crate::agent::trial_env::TrialEnv;
use crate::files::bounded;
use crate::files::rooted::WalkControl;
use crate::profile::AgentKind;
use crate::text::lines::for_each_line;
use crate::trace::Trace;
use crate::trace::exposure::Reference;

/// Where codex stores sessions, in its home.
pub(super) const SESSIONS: &str = ".codex/sessions";

/// The length of a session's id, which is a UUID.
const ID_LENGTH: usize = 36;

/// The largest rollout file that is stored, in bytes.
const MAX_ROLLOUT: u64 = 512 << 20;

/// The largest trace that a recording stores, in bytes.
const MAX_TRACE: u64 = 1 << 30;

pub(super) fn store(trial_env: &TrialEnv, directory: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
    // `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`: the first is the agent's own, the others are its sub-agents'.
    let mut rollout = None;
    let mut sub_agents = DerivedFile::new(directory.join(SUB_AGENTS), mask);
    let mut stored = Ok(());
    // Without a session the directory does not exist.
    let _ = trial_env.home().join(SESSIONS).walk(|_| false, &mut |entry| {
        if is_rollout(entry.path) {
            if rollout.is_none() {
                rollout = Some(entry.open());
            } else {
                stored = entry.open().and_then(|from| sub_agents.add(from));
            }
        }
        if stored.is_ok() { WalkControl::On } else { WalkControl::Stop }
    });
    let with_name = |error: io::Error| io::Error::new(error.kind(), format!("codex's rollout file: {error}"));
    stored.and_then(|()| sub_agents.finish()).map_err(with_name)?;
    if let Some(rollout) = rollout {
        let content = rollout.and_then(|file| bounded::read_file(file, MAX_ROLLOUT)).map_err(with_name)?;
        let lines = content.split_inclusive(|byte| *byte == b'\n').filter(|line| !is_history(line));
        fs::write(directory.join(ROLLOUT), mask(&lines.collect::<Vec<_>>().concat()))?;
    }
    match trial_env.tmp().join(LAST_MESSAGE).read(bounded::MAX_FILE) {
        // codex creates the file when it starts and leaves it empty when it fails.
        Ok(content) if !content.is_empty() => fs::write(directory.join("final.txt"), mask(&content)),
        Ok(_) => Ok(()),
        // An agent may remove its directory for temporary files, or put something else there.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), format!("the final message, {LAST_MESSAGE}: {error}"))),
    }
}

/// The rollout of the running session.
pub(super) fn session(trial_env: &TrialEnv) -> Option<File> {
    trial_env.home().join(SESSIONS).first(is_rollout)
}

/// The id of the running session: the last part of its rollout's name, `rollout-<time>-<id>.jsonl`.
pub(super) fn session_id(trial_env: &TrialEnv) -> Option<String> {
    let mut id = None;
    trial_env
        .home()
        .join(SESSIONS)
        .walk(|_| false, &mut |entry| {
            let name = entry.path.file_stem().filter(|_| is_rollout(entry.path)).map(|name| name.to_string_lossy());
            id = name.and_then(|name| Some(name.get(name.len().checked_sub(ID_LENGTH)?..)?.to_owned()));
            if id.is_some() { WalkControl::Stop } else { WalkControl::On }
        })
        .ok()?;
    id
}

fn is_rollout(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rollout-"))
}

pub(super) fn recorded(directory: &Path, skills: &[&str]) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let mut files = vec![(TRACE, bounded::read_at_most(&directory.join(TRACE), MAX_TRACE)?)];
    for name in [ROLLOUT, SUB_AGENTS] {
        let content = slimmed(&directory.join(name), |line| slim_rollout_line(line, skills))?;
        if !content.is_empty() {
            files.push((name, content));
        }
    }
    Ok(files)
}

pub(super) fn decode(reference: &Reference, directory: &Path) -> io::Result<Trace> {
    let mut recorder = TraceRecorder::new(reference, AgentKind::Codex);
    let mut rollout = RolloutDecoder::new(&mut recorder, false);
    for_each_line(&directory.join(ROLLOUT), |line| rollout.line(line))?;
    let facts = rollout.finish();
    let mut sub_agents = RolloutDecoder::new(&mut recorder, true);
    for_each_line(&directory.join(SUB_AGENTS), |line| sub_agents.line(line))?;
    let sub_agents = sub_agents.finish();
    let mut events = EventDecoder::new(&mut recorder, facts);
    for_each_line(&directory.join(TRACE), |line| events.line(line))?;
    events.finish(&sub_agents);
    Ok(recorder.finish())
}

// A rollout's lines as a recording stores them.

/// The longest text of a user that a recording stores, in bytes.
const MAX_USER_TEXT: usize = 64 << 10;

/// A line as a recording stores it: what [the decoder](super::rollout::RolloutDecoder) reads, without codex's own prompts, and
/// only with the descriptions of skills with the slugs `skills`. `None` for lines that the decoder does not need.
fn slim_rollout_line(line: &[u8], skills: &[&str]) -> Option<Vec<u8>> {
    let value = serde_json::from_slice::<RolloutLine<'_>>(line).and_then(|read| {
        // A line that the decoder cannot read (with a duplicate key, say) must not become readable.
        if read.kind == "response_item" {
            serde_json::from_str::<RolloutPayload>(read.payload.get())?;
        }
        serde_json::from_slice::<Value>(line)
    });
    let Ok(value) = value else {
        // A damaged line is evidence, too.
        return Some([line, b"\n"].concat());
    };
    let payload = value.get("payload")?;
    let slim = match (value.get("type")?.as_str()?, payload.get("type").and_then(Value::as_str)) {
        ("session_meta", _) if payload.get("parent_thread_id").is_some() => {
            only(payload, &["id", "parent_thread_id", "agent_path"])
        }
        ("session_meta", _) => json!({ "cli_version": payload.get("cli_version") }),
        ("turn_context", _) => json!({ "model": payload.get("model") }),
        ("token_usage_record", _) => {
            let (usage, session) = (payload.get("usage")?, payload.get("session_id"));
            if session.is_some() && session != payload.get("thread_id") {
                // No other line shows what a sub-agent took.
                only(payload, &["session_id", "thread_id", "usage"])
            } else {
                json!({ "usage": only(usage, &["input_tokens", "output_tokens"]) })
            }
        }
        ("event_msg", Some("error" | "stream_error" | "task_complete")) => {
            let info = payload.pointer("/error/codex_error_info").or_else(|| payload.get("codex_error_info"));
            let duration = payload.get("duration_ms");
            if let Some(info) = info {
                // The message shows whether the model ended its turn early.
                let error = json!({ "codex_error_info": info, "message": payload.pointer("/error/message") });
                json!({ "type": "error", "error": error, "duration_ms": duration })
            } else {
                json!({ "type": "task_complete", "duration_ms": duration? })
            }
        }
        ("event_msg", Some("item_completed")) => {
            json!({ "type": "item_completed", "item": slimmed_item(payload.get("item")?)? })
        }
        ("response_item", Some("additional_tools")) | ("event_msg", _) => return None,
        ("response_item", Some("message")) => {
            let role = payload.get("role").and_then(Value::as_str);
            let Some(content) = payload.get("content").and_then(Value::as_array) else {
                return Some([line, b"\n"].concat());
            };
            let content = content.iter();
            let content: Vec<Value> = content.filter_map(|content| slimmed_content(content, role, skills)).collect();
            // A developer message without a list shows that codex offered no skills.
            if content.is_empty() && role != Some("developer") {
                return None;
            }
            json!({ "type": "message", "role": role, "content": content })
        }
        ("response_item", Some(_)) => {
            only(payload, &["type", "name", "namespace", "arguments", "input", "call_id", "output", "tools"])
        }
        ("compacted", _) => json!({}),
        ("response_item", None) => return Some([line, b"\n"].concat()),
        (_, kind) if may_be_item(kind) => return Some([line, b"\n"].concat()),
        _ => return None,
    };
    Some(format!("{}\n", json!({ "type": value.get("type"), "payload": slim })).into_bytes())
}

/// Keeps a command of the model's code, and whether a call of an MCP server's tool failed.
fn slimmed_item(item: &Value) -> Option<Value> {
    let read: CompletedItem = serde_json::from_str(&item.to_string()).ok()?;
    if read.mcp_call().is_some() {
        return Some(only(item, &["type", "id", "server", "tool", "arguments", "status", "error"]));
    }
    read.is_command_by_code().then(|| only(item, &["type", "id", "command", "aggregated_output", "exit_code"]))
}

fn only(object: &Value, keys: &[&str]) -> Value {
    keys.iter().filter_map(|key| Some(((*key).to_owned(), object.get(key)?.clone()))).collect()
}

/// Keeps the list of skills, the skills that codex put into the conversation, and what the model and its user said. Drops
/// codex's own instructions, and long texts.
fn slimmed_content(content: &Value, role: Option<&str>, skills: &[&str]) -> Option<Value> {
    let read: RolloutContent = serde_json::from_str(&content.to_string()).unwrap_or_default();
    let Ok(text) = read.text() else {
        // What it says, nobody knows.
        return Some(content.clone());
    };
    content.get("text")?;
    let text = match role {
        Some("developer") => rollout::slimmed(rollout::skill_list_in(text)?, skills),
        Some("user") if text.starts_with("<environment_context>") => return None,
        Some("user") if text.len() > MAX_USER_TEXT && !text.starts_with(SKILL) => return None,
        _ => text.to_owned(),
    };
    Some(json!({ "text": text }))
}

// Sessions of the user, as codex keeps them in `~/.codex/sessions`: rollout files, as a trial has one. What codex prints
// besides, at the end of a turn, is made from what the rollout shows.

/// The session in these lines. `None` if codex did not write them.
pub(super) fn read(lines: &[Value], turn: Option<usize>) -> Option<UserSession> {
    let first =
        lines.first().filter(|line| line["type"] == "session_meta" && line["payload"]["cli_version"].is_string())?;
    let prompts = prompts(lines);
    // A turn begins before its prompt.
    let mut starts = Vec::new();
    for (at, _) in &prompts {
        let earlier = starts.last().copied().unwrap_or_default();
        let mut between = (earlier..*at).rev().skip_while(|at| event(&lines[*at], "task_started").is_none());
        starts.push(between.next().filter(|start| *start > earlier || starts.is_empty()).unwrap_or(*at));
    }
    let range = chosen(&starts, lines.len(), turn);
    let kept = |line: &&Value| {
        matches!(line["type"].as_str(), Some("session_meta" | "turn_context")) || line["payload"]["role"] == "developer"
    };
    let before = &lines[..range.start];
    let session: Vec<Value> = before.iter().filter(kept).chain(&lines[range.clone()]).cloned().collect();
    let model = session.iter().rev().find_map(|line| line["payload"]["model"].as_str());
    Some(UserSession {
        prompts: prompts.into_iter().map(|(_, text)| text).collect(),
        is_unclear: turn.is_some() && has_unread(&lines[..range.end]),
        folder: first["payload"]["cwd"].as_str().map(str::to_owned),
        started: lines[range.clone()].first().and_then(|line| line["timestamp"].as_str()).map(str::to_owned),
        version: first["payload"]["cli_version"].as_str().map(str::to_owned),
        model: model.map(str::to_owned),
        events: events(&lines[range], &tokens(before)),
        sub_agents: Vec::new(),
        session,
    })
}

/// An event of this type.
fn event<'a>(line: &'a Value, kind: &str) -> Option<&'a Value> {
    (line["type"] == "event_msg" && line["payload"]["type"] == kind).then(|| &line["payload"])
}

/// An item of this type that is complete.
fn item<'a>(line: &'a Value, kind: &str) -> Option<&'a Value> {
    event(line, "item_completed").map(|event| &event["item"]).filter(|item| item["type"] == kind)
}

/// The prompts, and the lines that have them.
fn prompts(lines: &[Value]) -> Vec<(usize, Option<String>)> {
    let mut prompts: Vec<(usize, Option<String>)> = Vec::new();
    let (mut is_asked, mut is_answered) = (false, true);
    for (at, line) in lines.iter().enumerate() {
        if let Some(text) = prompt(line).map(Result::ok) {
            // One line may be there twice, and be there in two forms.
            let is_same = !is_answered && prompts.last().is_some_and(|(_, last)| *last == text);
            if !is_same {
                prompts.push((at, text));
            }
            (is_asked, is_answered) = (true, false);
        } else if is_of_model(line) {
            if !is_asked {
                // Nobody asked for this: the line with the prompt is lost.
                prompts.push((at, None));
            }
            (is_asked, is_answered) = (true, true);
        } else if event(line, "task_started").is_some() {
            is_asked = false;
        } else if line["type"] == "compacted" {
            is_asked = true;
        }
    }
    prompts
}

/// Whether the model said something with this line, or called a tool.
fn is_of_model(line: &Value) -> bool {
    let (item, kind) = (&line["payload"], line["payload"]["type"].as_str().unwrap_or_default());
    line["type"] == "response_item" && (item["role"] == "assistant" || kind.ends_with("_call"))
}

/// What the user asked with this line, in the form of older and of current versions.
fn prompt(line: &Value) -> Option<Result<String, UnreadPrompt>> {
    if let Some(event) = event(line, "user_message") {
        return Some(event["message"].as_str().map(str::to_owned).ok_or(UnreadPrompt));
    }
    let content = item(line, "UserMessage")?["content"].as_array().filter(|parts| !parts.is_empty());
    let texts = |parts: &Vec<Value>| {
        let parts = parts.iter().filter(|part| part["type"] == "text" || part.get("text").is_some());
        let texts: Option<Vec<&str>> = parts.map(|part| part["text"].as_str()).collect();
        texts.map(|texts| texts.join("\n"))
    };
    Some(content.and_then(texts).ok_or(UnreadPrompt))
}

/// The tokens of the whole session up to the end of these lines.
fn tokens(lines: &[Value]) -> Value {
    let mut counts = lines.iter().rev().filter_map(|line| event(line, "token_count"));
    counts
        .find_map(|count| Some(count["info"]["total_token_usage"].clone()).filter(Value::is_object))
        .unwrap_or_default()
}

fn events(lines: &[Value], before: &Value) -> Vec<Value> {
    let mut events = vec![json!({ "type": "thread.started" }), json!({ "type": "turn.started" })];
    let mut end = None;
    for (number, line) in lines.iter().enumerate() {
        let changes = event(line, "patch_apply_end").filter(|patch| patch["success"] == true);
        if let Some(changed) =
            changes.or_else(|| item(line, "FileChange")).and_then(|patch| patch["changes"].as_object())
        {
            let changes: Vec<Value> = changed.keys().map(|path| json!({ "path": path })).collect();
            let item = json!({ "id": format!("change-{number}"), "type": "file_change", "changes": changes });
            events.push(json!({ "type": "item.completed", "item": item }));
        }
        if let Some(done) = event(line, "task_complete") {
            let message = json!({ "id": format!("message-{number}"), "type": "agent_message", "text": done["last_agent_message"] });
            events.extend(
                done["last_agent_message"].is_string().then(|| json!({ "type": "item.completed", "item": message })),
            );
            end = Some(json!({ "type": "turn.completed" }));
        } else if let Some(error) = event(line, "error") {
            end = Some(json!({ "type": "turn.failed", "error": { "message": error["message"] } }));
        } else if event(line, "turn_aborted").is_some() || event(line, "task_started").is_some() {
            end = None;
        }
    }
    let total = tokens(lines);
    if let Some(end) = end.as_mut().filter(|_| total.is_object()) {
        let of = |key: &str| Some(total[key].as_u64()?.saturating_sub(before[key].as_u64().unwrap_or_default()));
        end["usage"] = ["input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens"]
            .into_iter()
            .filter_map(|key| Some((key.to_owned(), of(key)?.into())))
            .collect::<serde_json::Map<_, _>>()
            .into();
    }
    events.extend(end);
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<Value> {
        let event = |payload: Value| json!({ "type": "event_msg", "payload": payload });
        let asks = |text: &str| {
            let item = json!({ "type": "UserMessage", "content": [{ "type": "text", "text": text }] });
            event(json!({ "type": "item_completed", "item": item }))
        };
        let says = json!({ "type": "response_item", "payload": { "type": "message", "role": "assistant" } });
        let starts = || event(json!({ "type": "task_started" }));
        let first = json!({ "type": "session_meta", "payload": { "cli_version": "0.171.0" } });
        vec![first, starts(), asks("first"), says.clone(), starts(), asks("second"), says]
    }

    fn prompts(lines: &[Value]) -> Vec<Option<String>> {
        read(lines, None).expect("a session").prompts
    }

    #[test]
    fn a_prompt_that_is_lost_or_cannot_be_read_has_its_place_among_the_prompts() {
        let known = |text: &str| Some(text.to_owned());
        assert_eq!(prompts(&lines()), [known("first"), known("second")]);
        let mut lost = lines();
        lost.remove(2);
        assert_eq!(prompts(&lost), [None, known("second")]);
        let mut twice = lines();
        twice.insert(3, twice[2].clone());
        assert_eq!(prompts(&twice), [known("first"), known("second")]);
        let mut changed = lines();
        changed[2]["payload"]["item"]["content"] = json!(7);
        assert_eq!(prompts(&changed), [None, known("second")]);
    }

    #[test]
    fn a_line_that_cannot_be_read_leaves_open_which_prompt_is_which() {
        let mut changed = lines();
        changed[2] = "damaged".into();
        assert!(read(&changed, Some(2)).expect("a session").is_unclear);
    }
}
