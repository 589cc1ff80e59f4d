//! Skills that run in a sub-agent of their own (`context: fork`). claude starts the sub-agent's conversation with the skill's
//! body. If the model called the skill, there is a call of the skill tool; if the prompt did, only the body shows it.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::session::BODY;
use super::wire::{Assistant, parse};
use crate::agent::lenient::Lenient;
use crate::skill::{of_plugin, slug};

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
            let skill = parse(line).filter(|_| is_meta.0 == Some(true)).and_then(|line| skill_of_body(&line));
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

    pub(super) fn is_by_user(&self, agent: &str) -> bool {
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
fn skill_of_body(line: &Assistant) -> Option<String> {
    let text = line.message.content.iter().flat_map(|content| &content.0).find_map(|block| block.text.as_deref())?;
    let directory = text.strip_prefix(BODY)?.lines().next()?.trim();
    Some(directory.rsplit(['/', '\\']).next()?.to_owned()).filter(|name| !name.is_empty())
}
