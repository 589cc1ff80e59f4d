//! Skills that run in a sub-agent of their own (`context: fork`): claude begins its conversation with the skill's body.
//! Where the prompt called the skill, nothing else tells of it; where the model did, there is a call of the skill tool.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::session::BODY;
use super::wire::UserLine;
use crate::agent::lenient;
use crate::skill::slug;

/// Most sub-agents that are told apart.
const MAX_AGENTS: usize = 10_000;

/// What tells in a line of a sub-agent's file whether it is the body of a skill that claude put there.
#[derive(Deserialize)]
struct SkillBodyHead {
    #[serde(default, rename = "agentId", deserialize_with = "lenient::or_default")]
    agent: String,
    #[serde(default, rename = "isMeta", deserialize_with = "lenient::or_default")]
    meta: bool,
}

/// The skills that ran in sub-agents of their own.
#[derive(Debug, Default)]
pub(super) struct Forks {
    /// Of each sub-agent the skill that it began with, by its id.
    began: HashMap<String, Option<String>>,
    /// Those that the prompt called.
    by_user: HashSet<String>,
}

impl Forks {
    /// Reads a line of the sub-agents' files, for how each of them began.
    pub(super) fn line(&mut self, line: &[u8]) {
        let Ok(SkillBodyHead { agent, meta }) = serde_json::from_slice(line) else { return };
        if self.began.len() < MAX_AGENTS && !self.began.contains_key(&agent) {
            // What a model gives a sub-agent to do is never meta, so no model feigns it.
            let skill = serde_json::from_slice(line).ok().filter(|_| meta).and_then(|line| body_of(&line));
            self.began.insert(agent, skill);
        }
    }

    /// The skill that the sub-agent with this id began with.
    pub(super) fn of(&self, agent: &str) -> Option<&str> {
        self.began.get(agent)?.as_deref()
    }

    /// Whether a sub-agent began with this skill.
    pub(super) fn has(&self, skill: &str) -> bool {
        self.began.values().flatten().any(|known| own_slug(known) == own_slug(skill))
    }

    /// Notes that it was the prompt that had this sub-agent begin.
    pub(super) fn called_by_user(&mut self, agent: &str) {
        self.by_user.insert(agent.to_owned());
    }

    /// Whether the prompt had this sub-agent begin.
    pub(super) fn is_by_user(&self, agent: &str) -> bool {
        self.by_user.contains(agent)
    }

    /// Whether the prompt had one begin.
    pub(super) fn any_by_user(&self) -> bool {
        !self.by_user.is_empty()
    }
}

/// The slug of a skill's own name, without that of a plugin before it.
pub(super) fn own_slug(name: &str) -> String {
    slug(name.rsplit(':').next().unwrap_or(name))
}

/// The folder of the skill whose body a line is.
fn body_of(line: &UserLine) -> Option<String> {
    let text = line.message.content.0.iter().find_map(|block| block.text.as_deref())?;
    let folder = text.strip_prefix(BODY)?.lines().next()?.trim();
    Some(folder.rsplit(['/', '\\']).next()?.to_owned()).filter(|name| !name.is_empty())
}
