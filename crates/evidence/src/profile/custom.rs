//! Agents that a user describes in the settings: what the decoder has to know, and what the rest of the program asks of every
//! agent. The description is a part of each trial's facts, so that an old trial is read as it was described then.

use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::{AgentTools, Profile};
use crate::text::word_enum::word_enum;

word_enum! {
    /// How the program exchanges lines with us.
    pub enum Protocol {
        /// The Agent Client Protocol, version 1.
        Acp = "acp",
        /// Arguments in, JSON lines out.
        Jsonl = "jsonl",
        /// The same, and a harness in Rust says what a line says.
        Rust = "rust",
    }
}

/// What the user says about an agent, as far as its evidence is read by it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AgentDescription {
    /// Its name in the settings.
    pub name: String,
    pub protocol: Protocol,
    /// Where it looks for skills in its working directory.
    pub skills: String,
    /// Whether it shows all calls of tools, with what the model saw of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shows_calls: bool,
    /// How messages begin that the program itself writes if its provider refuses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    #[serde(default, skip_serializing_if = "ToolNamesByUse::is_none")]
    pub tools: ToolNamesByUse,
    /// What its lines say. Only for [`Protocol::Jsonl`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventRule>,
}

/// The names of its tools, by what they do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolNamesByUse {
    /// Tools that run shell commands.
    pub shells: Vec<String>,
    /// Tools that load a skill.
    pub skills: Vec<String>,
    /// Tools that read files.
    pub reads: Vec<String>,
    /// Tools that search files.
    pub finds: Vec<String>,
    /// Tools that create and edit files.
    pub edits: Vec<String>,
}

impl ToolNamesByUse {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// What lines of a kind say. Paths are JSON Pointers. In all paths of a rule, `*` is the same element of the same list.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EventRule {
    pub says: EventMeaning,
    /// What a line has if the rule is about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<FieldCondition>,
    /// What a result has if the call failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FieldCondition>,
    /// Where the line has what it says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<(EventField, String)>,
    /// Whether the text is a piece of a message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_piece: bool,
}

/// A path, and the texts of which its value is one. The text `*` is any value but null.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FieldCondition {
    pub path: String,
    pub is: Vec<String>,
}

word_enum! {
    /// What a line says.
    pub enum EventMeaning {
        Version = "version",
        Model = "model",
        Message = "message",
        Thought = "thought",
        Call = "call",
        Result = "result",
        /// The tokens of a request.
        Usage = "usage",
        /// The tokens of all requests so far.
        Total = "total",
        /// The provider refused, and the agent gave up.
        Error = "error",
        Done = "done",
        Nothing = "nothing",
    }
}

word_enum! {
    /// A part of what a line says.
    pub enum EventField {
        Text = "text",
        Id = "id",
        Name = "name",
        Input = "input",
        Output = "output",
        ExitCode = "exit_code",
        Status = "status",
        InputTokens = "input_tokens",
        CachedTokens = "cached_tokens",
        OutputTokens = "output_tokens",
    }
}

impl EventMeaning {
    /// The parts that a line has to have, and those that it may have.
    pub fn fields(self) -> (&'static [EventField], &'static [EventField]) {
        match self {
            Self::Version | Self::Model | Self::Message | Self::Thought => (&[EventField::Text], &[]),
            Self::Call => (&[EventField::Id, EventField::Name], &[EventField::Input]),
            Self::Result => (&[EventField::Id, EventField::Output], &[EventField::ExitCode]),
            Self::Usage => {
                (&[EventField::InputTokens, EventField::OutputTokens], &[EventField::CachedTokens, EventField::Id])
            }
            Self::Total => (&[EventField::InputTokens, EventField::OutputTokens], &[EventField::CachedTokens]),
            Self::Error => (&[EventField::Text], &[EventField::Status]),
            Self::Done | Self::Nothing => (&[], &[]),
        }
    }
}

/// An agent that the settings or a trial's facts describe.
#[derive(Debug)]
pub struct CustomAgent {
    pub description: AgentDescription,
    pub profile: Profile,
}

impl PartialEq for CustomAgent {
    fn eq(&self, other: &Self) -> bool {
        self.description == other.description
    }
}

impl Eq for CustomAgent {}

impl Hash for CustomAgent {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.description.hash(state);
    }
}

/// All agents that were described to this process: few, and each is kept once and for good.
static DESCRIBED: Mutex<Vec<&'static CustomAgent>> = Mutex::new(Vec::new());

impl CustomAgent {
    /// The agent with this description.
    pub fn of(description: AgentDescription) -> &'static Self {
        let mut described = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = described.iter().find(|known| known.description == description) {
            return known;
        }
        let profile = profile(&description);
        let agent: &'static Self = Box::leak(Box::new(Self { description, profile }));
        described.push(agent);
        agent
    }

    /// Whether its trials show what the model was shown by every call.
    pub fn shows_calls(&self) -> bool {
        let AgentDescription { protocol, shows_calls, events, .. } = &self.description;
        let has = |meaning| events.iter().any(|rule| rule.says == meaning);
        match protocol {
            Protocol::Acp | Protocol::Rust => *shows_calls,
            Protocol::Jsonl => has(EventMeaning::Call) && has(EventMeaning::Result),
        }
    }
}

fn kept(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn all_kept(texts: &[String]) -> &'static [&'static str] {
    Box::leak(texts.iter().map(|text| kept(text.clone())).collect())
}

fn profile(description: &AgentDescription) -> Profile {
    let AgentDescription { name, skills, tools, .. } = description;
    let how_to_get = format!("get it, or name the program as `command` under [agents.{name}] in evals/evals.toml");
    let name = kept(name.clone());
    Profile {
        name,
        provider: "custom",
        program: name,
        how_to_get: kept(how_to_get),
        skill_folders: all_kept(std::slice::from_ref(skills)),
        tools: AgentTools {
            shells: all_kept(&tools.shells),
            skills: all_kept(&tools.skills),
            reads: all_kept(&tools.reads),
            finds: all_kept(&tools.finds),
            edits: all_kept(&tools.edits),
            ..AgentTools::NONE
        },
        ..Profile::BLANK
    }
}
