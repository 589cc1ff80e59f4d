//! Sessions of the user, as codex keeps them in `~/.codex/sessions`: rollout files, as a trial has one. What codex prints
//! besides, at the end of a turn, is made from what the rollout shows.

use serde_json::{Value, json};

use crate::agent::user_session::{UnreadPrompt, UserSession, chosen, has_unread};

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
