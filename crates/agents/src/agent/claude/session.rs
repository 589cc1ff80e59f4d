//! What standard output does not show: the session file, the sub-agents, and what the model was shown of the skills.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;
use serde_json::{Value, json};

use super::wire::{Assistant, parse};
use crate::agent::field::Lenient;
use crate::agent::interface::TurnSign;
use crate::agent::recorder::TraceRecorder;
use crate::lint::SkillList;
use crate::skill::{Skill, of_plugin, slug};
use crate::trace::Mechanism;
use crate::trace::exposure::DescriptionVisibility;

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

// The sub-agents of a run. Standard output shows only those that the agent itself started. Their own files show all,
// including those that sub-agents started.

/// The tools that start a sub-agent, in the versions of claude so far.
pub(super) const TOOLS: [&str; 2] = ["Agent", "Task"];

/// The most lines of standard output that are recognized in the sub-agents' files.
const MAX_LINES: usize = 200_000;

/// The field that only lines of a sub-agent's own file have.
#[derive(Deserialize)]
pub(super) struct TranscriptLine {
    #[serde(rename = "agentId")]
    agent: Lenient<String>,
}

impl TranscriptLine {
    /// The id of the sub-agent.
    pub(super) fn agent(&self) -> &str {
        self.agent.0.as_deref().unwrap_or_default()
    }
}

#[derive(Deserialize)]
pub(super) struct StartedTask {
    task_id: Lenient<String>,
    task_type: Lenient<String>,
    tool_use_id: Lenient<String>,
}

#[derive(Deserialize)]
pub(super) struct FinishedTask {
    task_id: Lenient<String>,
    pub status: Lenient<String>,
    /// The call that started it.
    pub tool_use_id: Lenient<String>,
}

/// What the run shows about its sub-agents.
#[derive(Debug, Default)]
pub(super) struct SubAgents {
    /// Lines of sub-agents on standard output, by id: the calls that started the sub-agents.
    shown_lines: HashMap<String, String>,
    /// The sub-agents that started, by id: the calls that started them.
    started: HashMap<String, String>,
    /// The sub-agents with a file, by id: the calls that started them, if standard output shows them too.
    with_file: HashMap<String, Option<String>>,
    /// How many calls of sub-agents started one.
    nested_calls: usize,
    running: HashSet<String>,
    /// Whether the agent gave its answer.
    agent_answered: bool,
    pub forks: Forks,
}

impl SubAgents {
    pub(super) fn new(forks: Forks) -> Self {
        Self { forks, ..Self::default() }
    }

    /// Standard output showed the line with this id, of the sub-agent that the call `parent` started.
    pub(super) fn shown(&mut self, line_id: Option<String>, parent: &str) {
        if let Some(id) = line_id.filter(|_| self.shown_lines.len() < MAX_LINES) {
            self.shown_lines.insert(id, parent.to_owned());
        }
    }

    pub(super) fn task_started(&mut self, task: StartedTask) {
        if task.task_type.0.as_deref() == Some("local_agent") && self.started.len() < MAX_LINES {
            let id = task.task_id.0.unwrap_or_default();
            self.running.insert(id.clone());
            self.started.insert(id, task.tool_use_id.0.unwrap_or_default());
        }
    }

    /// A task ended. After the agent's answer, a stopped task did not end: claude stops it because claude is ended.
    pub(super) fn task_ended(&mut self, task: &FinishedTask) {
        if !self.agent_answered || matches!(task.status.0.as_deref(), Some("completed" | "failed")) {
            self.running.remove(task.task_id.0.as_deref().unwrap_or_default());
        }
    }

    pub(super) fn agent_answered(&mut self) {
        self.agent_answered = true;
    }

    /// Whether the agent answered while sub-agents ran in the background: claude waits for them.
    pub(super) fn are_waited_for(&self) -> bool {
        self.agent_answered && !self.running.is_empty()
    }

    /// A sub-agent's call of this tool was answered.
    pub(super) fn called(&mut self, tool: &str, failed: bool) {
        self.nested_calls += usize::from(TOOLS.contains(&tool) && !failed);
    }

    /// Reads a line of a sub-agent's file with this id. Returns the name under which its calls are listed, unless standard
    /// output showed the line.
    pub(super) fn line(&mut self, line: TranscriptLine, id: Option<&str>) -> Option<String> {
        let shown = id.and_then(|id| self.shown_lines.get(id));
        let agent = line.agent.0.unwrap_or_default();
        let parent = self.with_file.entry(agent.clone()).or_default();
        if let Some(shown) = shown {
            parent.get_or_insert_with(|| shown.clone());
            return None;
        }
        Some(parent.clone().unwrap_or(agent))
    }

    /// Whether neither standard output nor a file shows what some sub-agent did.
    pub(super) fn are_hidden(&self) -> bool {
        let shown: HashSet<&String> = self.shown_lines.values().collect();
        if self.started.iter().any(|(id, call)| !self.with_file.contains_key(id) && !shown.contains(call)) {
            return true;
        }
        // The file of a skill's fork does not belong to a nested call.
        let nested = self.with_file.iter().filter(|(id, call)| call.is_none() && self.forks.skill_of(id).is_none());
        self.nested_calls > nested.count()
    }

    /// Whether standard output does not show the sub-agent with this name.
    pub(super) fn is_hidden(&self, name: &str) -> bool {
        self.with_file.get(name).is_some_and(Option::is_none)
    }

    /// Whether a sub-agent started the sub-agent with this name.
    pub(super) fn is_nested(&self, name: &str) -> bool {
        self.is_hidden(name) && !self.forks.is_by_user(name)
    }
}

// Skills that run in a sub-agent of their own (`context: fork`). claude starts the sub-agent's conversation with the skill's
// body. If the model called the skill, there is a call of the skill tool; if the prompt did, only the body shows it.

/// The maximum number of sub-agents that are distinguished.
const MAX_AGENTS: usize = 10_000;

/// The fields that show whether a line of a sub-agent's file is a skill's body.
#[derive(Deserialize)]
struct SkillBodyHead {
    #[serde(rename = "agentId")]
    agent: Lenient<String>,
    #[serde(rename = "isMeta")]
    is_meta: Lenient<bool>,
}

/// The skills that ran in sub-agents of their own.
#[derive(Debug, Default)]
pub(super) struct Forks {
    /// The skill with which each sub-agent began, by the sub-agent's id.
    skills: HashMap<String, Option<String>>,
    /// The sub-agents that the prompt started.
    by_user: HashSet<String>,
}

impl Forks {
    /// Reads a line of the sub-agents' files.
    pub(super) fn line(&mut self, line: &[u8]) {
        let Some(SkillBodyHead { agent, is_meta }) = parse(line) else { return };
        let agent = agent.0.unwrap_or_default();
        if self.skills.len() < MAX_AGENTS && !self.skills.contains_key(&agent) {
            // The task that a model gives to a sub-agent is never meta, so no model can fake a body.
            let skill = parse(line).filter(|_| is_meta.0 == Some(true)).and_then(|line| skill_of_first_text(&line));
            self.skills.insert(agent, skill);
        }
    }

    /// The skill with which the sub-agent with this id began.
    pub(super) fn skill_of(&self, agent: &str) -> Option<&str> {
        self.skills.get(agent)?.as_deref()
    }

    /// Whether a sub-agent began with this skill.
    pub(super) fn has(&self, skill: &str) -> bool {
        self.skills.values().flatten().any(|known| slug_without_plugin(known) == slug_without_plugin(skill))
    }

    /// Notes that the prompt started this sub-agent.
    pub(super) fn called_by_user(&mut self, agent: &str) {
        self.by_user.insert(agent.to_owned());
    }

    fn is_by_user(&self, agent: &str) -> bool {
        self.by_user.contains(agent)
    }

    pub(super) fn any_by_user(&self) -> bool {
        !self.by_user.is_empty()
    }
}

/// The slug of the skill's own name in `plugin:name`.
pub(super) fn slug_without_plugin(name: &str) -> String {
    slug(of_plugin(name).unwrap_or(name))
}

/// The skill whose body a line is, by the name of its directory.
fn skill_of_first_text(line: &Assistant) -> Option<String> {
    let text = line.message.content.iter().flat_map(|content| &content.0).find_map(|block| block.text.as_deref())?;
    let directory = text.strip_prefix(BODY)?.lines().next()?.trim();
    Some(directory.rsplit(['/', '\\']).next()?.to_owned()).filter(|name| !name.is_empty())
}

// What claude shows its model of the skills: attachments in its session file.

/// claude gives the list 1 % of the model's window, at four characters per token, and at three for newer models, which have the
/// larger window. The first window is the smallest, the second the one without a chosen model.
pub(super) static LISTINGS: [SkillList; 2] =
    [SMALL, SkillList { window: "1,000,000", room: 30_000 - OWN_SKILLS, ..SMALL }];

const SMALL: SkillList = SkillList {
    agent: "Claude Code",
    window: "200,000",
    room: 8_000 - OWN_SKILLS,
    unit: "characters",
    takes,
    bare,
    beyond: "from this one on those that do not fit are names without a description",
};

/// The characters that claude's own skills take, two of them without their descriptions.
const OWN_SKILLS: usize = 6_076;

/// How many characters of a description claude shows at most.
const MAX_DESCRIPTION: usize = 1_536;

/// `- name: description` and the line break; nothing for a skill that claude hides from its model.
fn takes(skill: &Skill) -> usize {
    let (name, description) = (skill.name.chars().count(), skill.description.chars().count().min(MAX_DESCRIPTION));
    if skill.user_only { 0 } else { 5 + name + description }
}

/// `- name` and the line break: all names get their space before any description does.
fn bare(skill: &Skill) -> usize {
    if skill.user_only { 0 } else { 3 + skill.name.chars().count() }
}

/// The kind of an attachment with a list of skills. Each skill has a line `- name: description` and maybe more lines,
/// or only its name if the description does not fit.
const SKILL_LIST: &str = "skill_listing";

/// The kind of an attachment with the instructions of MCP servers.
const SERVER_INSTRUCTIONS: &str = "mcp_instructions_delta";

/// What claude adds to the conversation by itself.
#[derive(Deserialize)]
pub(super) struct Attachment {
    #[serde(rename = "type")]
    kind: String,
    /// The names of the skills in a list, in its order.
    #[serde(default)]
    names: Vec<String>,
    /// The text of a list of skills.
    content: Lenient<String>,
    /// The servers with instructions.
    #[serde(rename = "addedNames")]
    servers: Lenient<Vec<String>>,
    /// The instructions of each server.
    #[serde(rename = "addedBlocks")]
    blocks: Lenient<Vec<String>>,
}

/// What the attachments showed.
#[derive(Clone, Default)]
pub(super) struct AttachmentFacts {
    /// The skills that the model was offered, if the session file has a list.
    pub names: Option<Vec<String>>,
    /// Those of a plugin that are skills under test, with the slugs of these.
    pub by_plugin: BTreeMap<String, String>,
    /// How much of their descriptions the model saw, by slug.
    pub described: BTreeMap<String, DescriptionVisibility>,
}

impl AttachmentFacts {
    pub(super) fn add(&mut self, attachment: Attachment, recorder: &mut TraceRecorder<'_>) {
        if attachment.kind == SKILL_LIST {
            let entries = attachment.entries();
            self.add_visibilities(recorder.listed(entries.iter().map(|(name, text)| (*name, text.as_str()))));
            let own = |(name, text): &(&str, String)| Some(((*name).to_owned(), recorder.described_so(name, text)?));
            self.by_plugin.extend(entries.iter().filter_map(own));
            self.names.get_or_insert_default().extend(attachment.names);
        } else if attachment.kind == SERVER_INSTRUCTIONS {
            for (server, instructions) in
                attachment.servers.0.iter().flatten().zip(attachment.blocks.0.iter().flatten())
            {
                let skills = recorder.described_by_server(server, instructions);
                self.add_visibilities(skills.into_iter().map(|skill| (skill, DescriptionVisibility::Whole)));
            }
        }
    }

    /// Keeps the best visibility of each skill.
    fn add_visibilities(&mut self, visibilities: impl IntoIterator<Item = (String, DescriptionVisibility)>) {
        for (skill, visibility) in visibilities {
            let known = self.described.entry(skill).or_default();
            *known = visibility.max(*known);
        }
    }
}

impl Attachment {
    /// The entries of a list: each name, and the text after it. A description may have lines that look like entries, but
    /// the next entry starts with the next name.
    fn entries(&self) -> Vec<(&str, String)> {
        let mut entries: Vec<(&str, String)> = Vec::new();
        let mut names = self.names.iter().map(String::as_str).peekable();
        for line in self.content.0.iter().flat_map(|content| content.lines()) {
            let entry = names.peek().and_then(|name| Some((*name, line.strip_prefix("- ")?.strip_prefix(*name)?)));
            match entry {
                Some((name, text)) if text.is_empty() || text.starts_with(':') => {
                    entries.push((name, text.trim_start_matches(':').to_owned()));
                    names.next();
                }
                _ => {
                    if let Some((_, text)) = entries.last_mut() {
                        text.extend(["\n", line]);
                    }
                }
            }
        }
        entries
    }

    /// The attachment as a recording stores it: only with the descriptions of skills with these slugs. `None` for other kinds.
    pub(super) fn slimmed(&self, skills: &[&str]) -> Option<Value> {
        if self.kind == SERVER_INSTRUCTIONS {
            return Some(
                json!({ "type": SERVER_INSTRUCTIONS, "addedNames": self.servers.0, "addedBlocks": self.blocks.0 }),
            );
        }
        let mut slim = (self.kind == SKILL_LIST).then(|| json!({ "type": SKILL_LIST, "names": self.names }))?;
        if self.content.0.is_some() {
            let is_asked = |name: &str| skills.contains(&slug(name).as_str());
            let is_known = |name: &str| is_asked(name) || of_plugin(name).is_some_and(is_asked);
            let entry = |(name, text): (&str, String)| match is_known(name) {
                true if text.is_empty() => format!("- {name}"),
                true => format!("- {name}:{text}"),
                false => format!("- {name}: …"),
            };
            let entries: Vec<String> = self.entries().into_iter().map(entry).collect();
            slim["content"] = entries.join("\n").into();
        }
        Some(slim)
    }
}
