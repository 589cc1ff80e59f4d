//! Which sub-agents of a run are told of, and where. Standard output shows those that the agent itself started; their own
//! files show all, those that sub-agents started too.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::forks::Forks;
use crate::agent::lenient;

/// The tools that start a sub-agent, in the versions of claude so far.
pub(super) const TOOLS: [&str; 2] = ["Agent", "Task"];

/// Most lines of standard output that are recognised in the sub-agents' files.
const MAX_LINES: usize = 200_000;

/// A line of a sub-agent's own file, but for what lines of standard output have too.
#[derive(Deserialize)]
pub(super) struct TranscriptLine {
    #[serde(default, rename = "agentId", deserialize_with = "lenient::or_default")]
    agent: String,
}

/// A task that has begun.
#[derive(Deserialize)]
pub(super) struct StartedTask {
    #[serde(default, deserialize_with = "lenient::or_default")]
    task_id: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    task_type: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    tool_use_id: String,
}

/// A task that has ended.
#[derive(Deserialize)]
pub(super) struct FinishedTask {
    #[serde(default, deserialize_with = "lenient::or_default")]
    task_id: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub status: String,
    /// The call that started it.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub tool_use_id: String,
}

/// What is known of the sub-agents.
#[derive(Debug, Default)]
pub(super) struct SubAgents {
    /// The lines of standard output that are a sub-agent's, by id: the calls that started it.
    shown: HashMap<String, String>,
    /// Those that have begun, by id: the calls that started them.
    begun: HashMap<String, String>,
    /// Those that have a file, by id: the calls that started them, where standard output shows them too.
    told: HashMap<String, Option<String>>,
    /// How many calls of sub-agents started one.
    nested: usize,
    /// Those that have begun and not ended.
    running: HashSet<String>,
    /// Whether the agent has answered.
    answered: bool,
    /// The skills with which they began.
    pub(super) forks: Forks,
}

impl SubAgents {
    pub(super) fn with(forks: Forks) -> Self {
        Self { forks, ..Self::default() }
    }

    /// Standard output showed the line with this id, of the sub-agent that the call `parent` started.
    pub(super) fn shown(&mut self, id: Option<String>, parent: &str) {
        if let Some(id) = id.filter(|_| self.shown.len() < MAX_LINES) {
            self.shown.insert(id, parent.to_owned());
        }
    }

    /// Standard output told of a task.
    pub(super) fn begun(&mut self, task: StartedTask) {
        if task.task_type == "local_agent" && self.begun.len() < MAX_LINES {
            self.running.insert(task.task_id.clone());
            self.begun.insert(task.task_id, task.tool_use_id);
        }
    }

    /// Standard output told of a task's end. Once the agent has answered, those that are stopped are so because it is ended.
    pub(super) fn ended(&mut self, task: &FinishedTask) {
        if !self.answered || matches!(task.status.as_str(), "completed" | "failed") {
            self.running.remove(&task.task_id);
        }
    }

    /// The agent answered.
    pub(super) fn answered(&mut self) {
        self.answered = true;
    }

    /// Whether the agent answered while some ran on in the background, which claude waits for.
    pub(super) fn are_waited_for(&self) -> bool {
        self.answered && !self.running.is_empty()
    }

    /// A sub-agent's call of this tool was answered.
    pub(super) fn called(&mut self, tool: &str, failed: bool) {
        self.nested += usize::from(TOOLS.contains(&tool) && !failed);
    }

    /// A line of a sub-agent's file, with this id. Returns whose calls it belongs to, unless standard output showed it.
    pub(super) fn line(&mut self, line: TranscriptLine, id: Option<&str>) -> Option<String> {
        let shown = id.and_then(|id| self.shown.get(id));
        let parent = self.told.entry(line.agent.clone()).or_default();
        if let Some(shown) = shown {
            parent.get_or_insert_with(|| shown.clone());
            return None;
        }
        Some(parent.clone().unwrap_or(line.agent))
    }

    /// Whether one did something that nothing tells of.
    pub(super) fn are_hidden(&self) -> bool {
        let shown: HashSet<&String> = self.shown.values().collect();
        let hidden = |(id, call): (&String, &String)| !self.told.contains_key(id) && !shown.contains(call);
        // That a skill's fork is there says nothing of the others.
        let is_one = |(id, parent): &(&String, &Option<String>)| parent.is_none() && self.forks.of(id).is_none();
        let nested = self.told.iter().filter(is_one).count();
        self.begun.iter().any(hidden) || self.nested > nested
    }

    /// Whether calls with this prefix are those of a sub-agent that standard output does not show.
    pub(super) fn is_untold(&self, prefix: &str) -> bool {
        self.told.get(prefix).is_some_and(Option::is_none)
    }

    /// Whether they are those of a sub-agent's sub-agent.
    pub(super) fn is_nested(&self, prefix: &str) -> bool {
        self.is_untold(prefix) && !self.forks.is_by_user(prefix)
    }
}
