//! What a line of an agent's output says, as those say it who describe the agent: by rules in the settings, or in Rust.

use serde_json::Value;

use crate::trace::Usage;

/// One thing that a line of an agent's output says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// The agent's version, such as `1.4.0`.
    Version(String),
    /// The model that answers, by its provider's name.
    Model(String),
    /// The model says this. Pieces in a row are one message.
    Message {
        /// The whole message, or the piece as it is, with its spaces.
        text: String,
        /// Whether the text is a piece.
        is_piece: bool,
    },
    /// The model thinks this. Pieces in a row are one thought.
    Thought {
        /// The whole thought, or the piece as it is, with its spaces.
        text: String,
        /// Whether the text is a piece.
        is_piece: bool,
    },
    /// The model calls a tool.
    ToolCall {
        /// The id that its result has. No other call of the trial has it.
        id: String,
        /// The tool's name, as in `[agents.NAME.tools]`.
        name: String,
        /// The arguments, an object. `path` is a file, `command` that of a shell, `name` a skill.
        input: Value,
    },
    /// A tool has answered. A call that never is makes it unknown what the model saw.
    ToolResult {
        /// The id of its call.
        id: String,
        /// What the model gets, whole. A skill whose text is in it is activated.
        output: String,
        /// Whether the call failed, or was not allowed.
        failed: bool,
        /// The exit status of a shell command.
        exit_code: Option<i64>,
    },
    /// The tokens of one request to the model.
    Usage {
        /// Tokens, the cached ones among those of the input.
        usage: Usage,
        /// The request's id, if several lines report the same request: each id counts once.
        request: Option<String>,
    },
    /// The tokens of all requests of the session so far.
    TotalUsage(Usage),
    /// The provider refused, or failed, and the agent gave up: the trial is an error.
    Error {
        /// Its message.
        text: String,
        /// The status of HTTP. It says whether the trial is run again.
        status: Option<u64>,
    },
    /// The agent has answered the user's message. A trial without this is an error, and so is one whose program does not exit
    /// with status 0.
    Done,
    /// The line says something that is not known, such as a call. What it may say is unknown: a check that something did not
    /// happen does not pass.
    Unknown,
}
