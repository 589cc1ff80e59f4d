//! The sub-agents of a run. Standard output shows only those that the agent itself started. Their own files show all,
//! including those that sub-agents started.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::forks::Forks;
use crate::agent::lenient::Lenient;

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
