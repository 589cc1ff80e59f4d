//! Qwen Code (`qwen --output-format=stream-json`).
//!
//! Standard output (`trace.jsonl`) has the conversation and the states of the MCP servers. Its session file (`session.jsonl`)
//! has the times, what the model saw of each call, the exit codes, and each request that failed. Neither has the list of
//! skills: Qwen Code logs its requests, and the trial adds the list of the first one to the session file.

mod command;
mod lines;
mod login;
mod offered;

use std::path::Path;

use serde_json::{Value, json};

use crate::agent::arguments;
use crate::agent::stream::{FillCommand, FindLogin, JsonLinesAgent, ReadSetup, ReadSigns, ResumeSession, SlimSession};
use crate::agent::trial_env::TrialEnv;
use crate::profile::AgentKind;

/// The directory of the logged requests, in the trial's home.
const REQUESTS: &str = ".qwen/requests";

#[derive(Debug)]
pub struct Qwen;

impl JsonLinesAgent for Qwen {
    const KIND: AgentKind = AgentKind::Qwen;
    type Reader = lines::QwenLines;
    const ARGUMENTS: &[&str] = &["--output-format=stream-json", "--approval-mode=yolo", "--openai-logging"];
    const LOGIN: FindLogin = login::find;
    const COMMAND: FillCommand = command::fill;
    const SETUP: ReadSetup = login::users_setup;
    const SIGNS: ReadSigns = lines::turn_signs;
    const RESUME: ResumeSession = |_, args, message| arguments::resumed(args, message, "--resume=");
    const SLIM_SESSION: SlimSession = |line, skills| lines::slim_session(&line, skills);

    /// `projects/<working directory>/chats/<id>.jsonl`.
    fn is_session(path: &Path) -> bool {
        path.iter().count() == 3 && path.iter().nth(1).is_some_and(|name| name == "chats")
    }

    fn more_session(trial_env: &TrialEnv) -> Option<Value> {
        offered::in_first_request(trial_env)
    }

    fn slim(line: Value, _: &[&str]) -> Value {
        let keys = ["type", "subtype", "qwen_code_version", "model", "mcp_servers", "slash_commands"];
        if line["subtype"] != "init" {
            return line;
        }
        keys.into_iter().map(|key| (key.to_owned(), json!(line[key]))).collect::<serde_json::Map<_, _>>().into()
    }
}
