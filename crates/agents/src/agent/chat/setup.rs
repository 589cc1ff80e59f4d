//! What a trial tells the agent's process, in the first line of its standard input. So neither files nor variables have the key.

use serde::{Deserialize, Serialize};

use crate::text::word_enum::word_enum;
use crate::trial::history::HistoryMessage;

/// The one argument with which this program starts itself as the agent. Test filters are never like that.
pub(super) const ARGUMENT: &str = "agent-chat";

word_enum! {
    /// The protocol of an endpoint.
    pub enum ChatApi {
        /// `/chat/completions` of `OpenAI`.
        Completions = "completions",
        /// `/responses` of `OpenAI`.
        Responses = "responses",
        /// Anthropic's `/v1/messages`.
        Messages = "messages",
    }
}

/// All that the process has to know. Each further line of its input is a message of the user, a JSON string.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ChatSetup {
    pub api: ChatApi,
    pub base_url: String,
    /// `None` for a local server that needs none.
    pub key: Option<String>,
    pub model: String,
    /// The most tokens of one answer.
    pub max_tokens: Option<u64>,
    pub max_turns: Option<u64>,
    /// Whether the model calls tools. Without, each of its answers is an action that follows a JSON schema.
    pub has_tools: bool,
    /// Whether there is a tool that writes files.
    pub writes: bool,
    pub system_prompt: Option<String>,
    pub history: Vec<HistoryMessage>,
}

/// What the user's arguments for the agent choose.
#[derive(Debug, Default)]
pub(super) struct ChatOptions {
    pub api: Option<ChatApi>,
    pub no_tools: bool,
    pub max_tokens: Option<u64>,
}

impl ChatOptions {
    pub(super) fn parse<'a>(args: impl Iterator<Item = &'a String>) -> Result<Self, String> {
        let mut options = Self::default();
        for arg in args {
            let (name, value) = arg.split_once('=').unwrap_or((arg, ""));
            match (name, ChatApi::named(value), value.parse().ok().filter(|number| *number > 0)) {
                ("--api", Some(api), _) => options.api = Some(api),
                ("--max-tokens", _, Some(most)) => options.max_tokens = Some(most),
                ("--no-tools", ..) if arg == name => options.no_tools = true,
                _ => {
                    let apis = ChatApi::WORDS.join(", ");
                    return Err(format!(
                        "unknown argument `{arg}` in `args` of the agent chat; known: --api=NAME ({apis}), --no-tools, \
                         --max-tokens=N"
                    ));
                }
            }
        }
        Ok(options)
    }
}
