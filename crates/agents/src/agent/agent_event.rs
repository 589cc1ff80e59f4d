//! What a line of an agent's output says, in terms that all agents share, and what a call of a tool does.

use std::time::Duration;

use serde_json::Value;

use crate::agent::field::named;
use crate::agent::recorder::ToolUse;
use crate::settings::mode::AgentKind;
use crate::trace::trouble::Trouble;
use crate::trace::{StopReason, Usage};

/// One thing that a line says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AgentEvent {
    /// The agent's version.
    Version(String),
    Model(String),
    /// The skills that the model was offered: names and descriptions. A later list replaces an earlier one.
    Offered(Vec<(String, String)>),
    /// The names of the skills in the agent's directory, if the agent does not show what it offers its model.
    Placed(Vec<String>),
    /// What the agent may not show, and may have done.
    Lost(String),
    /// The tools that the session lists.
    Tools(Vec<String>),
    /// The names of skills, and of other things, that a user can call.
    CallableByUser(Vec<String>),
    /// The state of an MCP server: its name and the agent's word.
    Server(String, String),
    /// The model answered at least so often, as the agent counts it.
    Counted(u64),
    /// The agent may ask the model again without a call or a message: it makes its conversation shorter, say.
    MayAsk,
    /// The agent has asked the model.
    Asks,
    /// The model answered; the parts of its answer follow. The tokens of the request, if they are reported.
    Answers(Option<Usage>),
    /// The tokens of all requests of the session so far, also of those that no line shows.
    Total(Usage),
    /// The tokens of a request outside the conversation, to this model.
    Besides(Option<String>, Usage),
    /// The tokens of the request whose answer came last, if they are reported only at the answer's end.
    Spent(Usage),
    /// What the model said.
    Message(String),
    /// What the model thought.
    Thought(String),
    /// The model called a tool.
    Called {
        id: String,
        tool: String,
        input: Value,
    },
    /// The call was answered. Without an output, that was not read.
    Answered {
        id: String,
        output: Option<String>,
        ending: CallEnding,
        exit_code: Option<i64>,
    },
    /// The agent put this text into the conversation as the skill of this name.
    Injected {
        skill: String,
        text: String,
    },
    /// The same, because the user's message calls the skill.
    CalledByUser {
        skill: String,
        text: String,
    },
    /// A problem that did not end the session.
    Notice(String),
    /// The provider refused. The agent asks again, after this time if it says so.
    AsksAgain(Trouble, Option<Duration>),
    /// The provider refused, and the agent gave up.
    Refused(Trouble),
    /// The model ended its turn early. The agent is done, too.
    Stopped(StopReason),
    /// The agent is being ended: what it waits for now is what it waited for.
    Interrupted,
    /// The agent is done.
    Done,
}

impl AgentEvent {
    /// What was read of a part of a line; a gap if the part lacks what it must have, or is of a kind that is not known.
    pub(super) fn or_gap(read: Option<Self>, part: &str) -> Self {
        read.unwrap_or_else(|| Self::Lost(part.to_owned()))
    }
}

/// How a call of a tool ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallEnding {
    Done,
    Failed,
    /// The agent did not allow it.
    Denied,
}

/// What a call does, by the agent's names of tools. The keys are those of all agents.
pub(super) fn tool_use(kind: AgentKind, tool: &str, input: &Value, failed: bool, exit_code: Option<i64>) -> ToolUse {
    let tools = &kind.profile().tools;
    let field = |keys: &[&str]| keys.iter().find_map(|key| named(input, key));
    let path = || field(&["path", "file_path", "filePath", "absolute_path"]);
    let is = |names: &[&str]| names.contains(&tool);
    if is(tools.shells) {
        return ToolUse::Shell { command: field(&["command", "cmd"]), exit_code };
    }
    if is(tools.skills) {
        return ToolUse::LoadSkill { skill: field(&["skill", "name"]), loaded: !failed };
    }
    if is(tools.reads) {
        return ToolUse::ReadFile(path());
    }
    match path() {
        Some(path) if is(tools.edits) && !failed => ToolUse::ChangeFiles(Some(vec![path])),
        _ if is(tools.finds) => ToolUse::SearchFiles,
        _ => ToolUse::Other,
    }
}
