//! claude's session file: every message, with its time and those that standard output hides.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::listing::{Attachment, AttachmentFacts};
use crate::agent::lenient;
use crate::agent::skill_calls::SkillCalls;
use crate::agent::turns::TurnSign;
use crate::trace::{Mechanism, TraceBuilder};

/// Most times kept.
const MAX_TIMES: usize = 20_000;

/// How the body of a skill begins that claude puts into the conversation.
pub(super) const BODY: &str = "Base directory for this skill:";

#[derive(Deserialize)]
struct SessionLine {
    uuid: Option<String>,
    #[serde(rename = "parentUuid")]
    parent: Option<String>,
    timestamp: Option<String>,
    #[serde(default, rename = "isMeta")]
    meta: bool,
    message: Option<SessionMessage>,
    #[serde(default, deserialize_with = "lenient::option")]
    attachment: Option<Attachment>,
}

/// What the session file has told.
#[derive(Default)]
pub(super) struct SessionFacts {
    /// When each line was written, by its id.
    pub times: HashMap<String, String>,
    /// What of the skills the model was shown at the start.
    pub listed: AttachmentFacts,
}

#[derive(Deserialize)]
struct SessionMessage {
    #[serde(default)]
    role: String,
    /// The same in every line of one answer of the model.
    #[serde(default, deserialize_with = "lenient::option")]
    id: Option<String>,
    #[serde(default)]
    content: Value,
}

/// Reads the session file of one run.
pub(super) struct SessionDecoder<'a, 's> {
    skills: &'a mut SkillCalls<'s>,
    told: SessionFacts,
    /// The commands that the prompt gave, by the ids of their lines.
    commands: HashMap<String, String>,
}

impl<'a, 's> SessionDecoder<'a, 's> {
    pub(super) fn new(skills: &'a mut SkillCalls<'s>) -> Self {
        Self { skills, told: SessionFacts::default(), commands: HashMap::new() }
    }

    pub(super) fn line(&mut self, trace: &mut TraceBuilder, line: &[u8]) {
        // Of what is not understood here standard output tells all the same.
        let Ok(line) = serde_json::from_slice::<SessionLine>(line) else { return };
        self.skills.at(line.timestamp.as_deref());
        if let (Some(id), Some(time)) = (&line.uuid, line.timestamp)
            && self.told.times.len() < MAX_TIMES
        {
            self.told.times.insert(id.clone(), time);
        }
        if let Some(attachment) = line.attachment {
            self.told.listed.add(attachment, self.skills);
        }
        let Some(message) = line.message.filter(|message| message.role == "user") else { return };
        let text = first_text(&message.content);
        if let (Some(id), Some(name)) = (line.uuid, command(text)) {
            self.commands.insert(id, name.to_owned());
        }
        // What the user types is never meta, so nobody feigns it.
        let called = line.parent.and_then(|parent| self.commands.remove(&parent));
        if let Some(name) = called.filter(|_| line.meta && text.starts_with(BODY)) {
            // A prompt of the MCP server of skills is called by the server's name and its own.
            let skill = self.skills.prompt_of_server(&name).unwrap_or(&name);
            // What it shows of the skill; recordings of earlier versions keep the first line only.
            let _ = self.skills.injected(skill, text);
            trace.activate(skill, Mechanism::Injected, &format!("the prompt called /{name}"));
        }
    }

    /// What it has told.
    pub(super) fn told(self) -> SessionFacts {
        self.told
    }
}

fn first_text(content: &Value) -> &str {
    let block = || content.get(0)?.get("text")?.as_str();
    content.as_str().or_else(block).unwrap_or_default()
}

/// The name in `<command-name>/greeting</command-name>`, as claude rewrites a prompt that starts with `/greeting`.
fn command(text: &str) -> Option<&str> {
    let (_, rest) = text.strip_prefix("<command-")?.split_once("<command-name>/")?;
    Some(rest.split_once("</command-name>")?.0)
}

/// What a line says of the model's calls. Those of sub-agents stand in files of their own.
pub(super) fn signs(line: &[u8]) -> Vec<TurnSign> {
    let line = serde_json::from_slice::<SessionLine>(line).ok();
    let Some(SessionMessage { role, id, content }) = line.and_then(|line| line.message) else { return Vec::new() };
    let text = |block: &Value, key: &str| block.get(key).and_then(Value::as_str).map(str::to_owned);
    let sign = |block: &Value| match (role.as_str(), block.get("type")?.as_str()?) {
        ("assistant", "tool_use") => Some(TurnSign::Called { call: text(block, "id")?, answer: id.clone() }),
        ("user", "tool_result") => Some(TurnSign::Answered(text(block, "tool_use_id")?)),
        _ => None,
    };
    content.as_array().into_iter().flatten().filter_map(sign).collect()
}

/// A line as a recording keeps it: skills that were offered, those with the slugs `skills` with their descriptions, or called
/// by the prompt. `None` for the rest.
pub(super) fn slimmed(line: &[u8], skills: &[&str]) -> Option<Vec<u8>> {
    let value: SessionLine = serde_json::from_slice(line).ok()?;
    if let Some(kept) = value.attachment.and_then(|attachment| attachment.slimmed(skills)) {
        let line = json!({ "type": "attachment", "attachment": kept });
        return Some(format!("{line}\n").into_bytes());
    }
    let message = value.message.filter(|message| message.role == "user")?;
    let text = first_text(&message.content);
    if !(value.meta && text.starts_with(BODY)) {
        command(text)?;
    }
    let line = json!({
        "type": "user",
        "uuid": value.uuid,
        "parentUuid": value.parent,
        "isMeta": value.meta,
        "message": { "role": "user", "content": text },
    });
    Some(format!("{line}\n").into_bytes())
}
