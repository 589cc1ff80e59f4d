//! claude's session file: every message with its time, including messages that standard output hides.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::{Value, json};

use super::listing::{Attachment, AttachmentFacts};
use super::wire::parse;
use crate::agent::lenient::Lenient;
use crate::agent::recorder::TraceRecorder;
use crate::agent::turns::TurnSign;
use crate::trace::Mechanism;

/// The most times, and the most ends of turns, that are stored.
const MAX_TIMES: usize = 20_000;

/// The start of a skill's body that claude put into the conversation.
pub(super) const BODY: &str = "Base directory for this skill:";

#[derive(Deserialize)]
struct SessionLine {
    #[serde(rename = "type")]
    kind: Lenient<String>,
    uuid: Option<String>,
    #[serde(rename = "parentUuid")]
    parent: Option<String>,
    timestamp: Option<String>,
    #[serde(default, rename = "isMeta")]
    is_meta: bool,
    message: Option<SessionMessage>,
    attachment: Lenient<Attachment>,
    error: Lenient<ApiError>,
}

/// What claude met when it asked its provider.
#[derive(Deserialize)]
struct ApiError {
    formatted: Lenient<String>,
    message: Lenient<String>,
}

#[derive(Deserialize)]
struct SessionMessage {
    #[serde(default)]
    role: String,
    /// The same in every line of one answer of the model.
    id: Lenient<String>,
    #[serde(default)]
    content: Value,
    stop_reason: Lenient<String>,
}

impl SessionMessage {
    /// Whether the model gave its answer with this message, and calls nothing more.
    fn ends_turn(&self) -> bool {
        self.role == "assistant" && self.stop_reason.0.as_deref() == Some("end_turn")
    }
}

impl SessionLine {
    /// The message that the line is. Other lines may have copies of messages.
    fn message(&mut self) -> Option<SessionMessage> {
        self.message.take().filter(|_| matches!(self.kind.0.as_deref(), Some("user" | "assistant")))
    }
}

/// What the session file reports.
#[derive(Default)]
pub(super) struct SessionFacts {
    /// When each line was written, by its id.
    pub times: HashMap<String, String>,
    /// The ids of the agent's answers. Claude prints them without a reason to stop, and a result only when the sub-agents that
    /// run in the background have ended.
    pub turn_ends: HashSet<String>,
    pub attachments: AttachmentFacts,
    /// The skills whose bodies claude put into the conversation, and those that the prompt calls.
    pub bodies: Vec<String>,
    /// What it met last at its provider's address, in its words.
    pub met: Option<String>,
}

/// Reads the session file of one run.
pub(super) struct SessionDecoder<'a, 's> {
    recorder: &'a mut TraceRecorder<'s>,
    pub facts: SessionFacts,
    /// The commands in the prompt, by the ids of their lines.
    commands: HashMap<String, String>,
}

impl<'a, 's> SessionDecoder<'a, 's> {
    pub(super) fn new(recorder: &'a mut TraceRecorder<'s>) -> Self {
        Self { recorder, facts: SessionFacts::default(), commands: HashMap::new() }
    }

    pub(super) fn line(&mut self, line: &[u8]) {
        let Some(mut line) = parse::<SessionLine>(line) else { return self.recorder.trace.damaged(line) };
        let message = line.message();
        self.recorder.set_time(line.timestamp.as_deref());
        if let (Some(id), Some(time)) = (&line.uuid, line.timestamp)
            && self.facts.times.len() < MAX_TIMES
        {
            self.facts.times.insert(id.clone(), time);
        }
        if let Some(attachment) = line.attachment.0 {
            self.facts.attachments.add(attachment, self.recorder);
        }
        if let Some(ApiError { formatted, message }) = line.error.0 {
            self.facts.met = formatted.0.or(message.0);
        }
        let Some(message) = message else { return };
        if message.ends_turn() {
            if self.facts.turn_ends.len() < MAX_TIMES {
                self.facts.turn_ends.extend(line.uuid);
            }
            return;
        }
        if message.role != "user" {
            return;
        }
        let text = first_text(&message.content);
        if let (Some(id), Some(name)) = (line.uuid, command(text)) {
            self.commands.insert(id, name.to_owned());
            self.facts.bodies.extend(self.recorder.knows(name).then(|| name.to_owned()));
        }
        if line.is_meta && text.starts_with(BODY) {
            let skill = skill_of_body(text);
            self.facts.bodies.extend(self.recorder.knows(skill).then(|| skill.to_owned()));
        }
        // What the user types is never meta, so no prompt can fake a body.
        let called = line.parent.and_then(|parent| self.commands.remove(&parent));
        if let Some(name) = called.filter(|_| line.is_meta && text.starts_with(BODY)) {
            // A prompt of the skills' MCP server has the server's name in it.
            let skill = self.recorder.prompt_of_server(&name).unwrap_or(&name);
            let skill = &self.recorder.own_name(skill);
            // Old recordings have only the first line of the body, so the text does not decide.
            let _ = self.recorder.injected(skill, text);
            self.recorder.trace.activate(skill, Mechanism::Injected, &format!("the prompt called /{name}"));
        }
    }
}

/// The skill whose body this is, by its directory.
pub(super) fn skill_of_body(body: &str) -> &str {
    let directory = body.lines().next().unwrap_or_default();
    directory.rsplit('/').next().unwrap_or_default()
}

fn first_text(content: &Value) -> &str {
    content.as_str().or_else(|| content.get(0)?.get("text")?.as_str()).unwrap_or_default()
}

/// The name in `<command-name>/greeting</command-name>`: claude rewrites a prompt that starts with `/greeting`.
fn command(text: &str) -> Option<&str> {
    let (_, rest) = text.strip_prefix("<command-")?.split_once("<command-name>/")?;
    Some(rest.split_once("</command-name>")?.0)
}

/// What a line says about the model's calls. The calls of sub-agents are in other files.
pub(super) fn turn_signs(line: &[u8]) -> Vec<TurnSign> {
    let Some(SessionMessage { role, id, content, .. }) = parse(line).and_then(|mut line: SessionLine| line.message())
    else {
        return Vec::new();
    };
    let blocks = content.as_array().into_iter().flatten();
    let sign = |block: &Value| match (role.as_str(), block.get("type")?.as_str()?) {
        ("assistant", "tool_use") => {
            Some(TurnSign::Called { call: block.get("id")?.as_str()?.to_owned(), answer: id.0.clone() })
        }
        ("user", "tool_result") => Some(TurnSign::Answered(block.get("tool_use_id")?.as_str()?.to_owned())),
        _ => None,
    };
    blocks.filter_map(sign).collect()
}

/// A line as a recording stores it: lists of skills (only with the descriptions of skills with the slugs `skills`), skills that
/// the prompt called, and the ends of turns. `None` for the rest.
pub(super) fn slimmed(line: &[u8], skills: &[&str]) -> Option<Vec<u8>> {
    let Some(mut line) = parse::<SessionLine>(line) else {
        // A damaged line is evidence, too.
        return Some([line, b"\n"].concat());
    };
    let message = line.message();
    if let Some(attachment) = line.attachment.0.and_then(|attachment| attachment.slimmed(skills)) {
        let line = json!({ "type": "attachment", "attachment": attachment });
        return Some(format!("{line}\n").into_bytes());
    }
    let message = message?;
    if message.ends_turn() {
        let message = json!({ "role": message.role, "stop_reason": message.stop_reason.0 });
        let line = json!({ "type": "assistant", "uuid": line.uuid, "message": message });
        return Some(format!("{line}\n").into_bytes());
    }
    if message.role != "user" {
        return None;
    }
    let text = first_text(&message.content);
    if !(line.is_meta && text.starts_with(BODY)) {
        command(text)?;
    }
    let line = json!({
        "type": "user",
        "uuid": line.uuid,
        "parentUuid": line.parent,
        "isMeta": line.is_meta,
        "message": { "role": "user", "content": text },
    });
    Some(format!("{line}\n").into_bytes())
}
