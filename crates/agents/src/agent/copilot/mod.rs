//! GitHub Copilot CLI (`copilot -p`).
//!
//! Standard output (`trace.jsonl`) has the conversation, the skills that it loaded and the states of the MCP servers. Its
//! session file (`session.jsonl`) also has its version, the system message with the list of skills, and the tokens of each
//! request.

mod command;
mod lines;
mod login;

use std::path::Path;

use serde_json::{Value, json};

use crate::agent::arguments;
use crate::agent::stream::{FillCommand, FindLogin, JsonLinesAgent, ReadSetup, ReadSigns, ResumeSession, SlimSession};
use crate::profile::AgentKind;

#[derive(Debug)]
pub struct Copilot;

impl JsonLinesAgent for Copilot {
    const KIND: AgentKind = AgentKind::Copilot;
    type Reader = lines::CopilotLines;

    // An eval has no user to ask. `--allow-all` would also allow paths outside the workspace.
    const ARGUMENTS: &[&str] = &[
        "--output-format=json",
        "--allow-all-urls",
        "--no-ask-user",
        "--disable-builtin-mcps",
        "--disable-client-telemetry",
    ];
    const LOGIN: FindLogin = |around| Ok(login::find(around));
    const COMMAND: FillCommand = command::fill;
    const SETUP: ReadSetup = |_| Ok((login::PROVIDER.map(str::to_owned).to_vec(), String::new()));
    const SIGNS: ReadSigns = |line| lines::turn_sign(line).into_iter().collect();
    const RESUME: ResumeSession = |_, args, message| arguments::resumed(args, message, arguments::SESSION);
    const SLIM_SESSION: SlimSession = |line, skills| lines::slim_session(&line, skills);

    /// `session-state/<id>/events.jsonl`.
    fn is_session(path: &Path) -> bool {
        path.iter().count() == 2 && path.ends_with("events.jsonl")
    }

    fn slim(mut line: Value, _: &[&str]) -> Value {
        for skill in line.pointer_mut("/data/skills").and_then(Value::as_array_mut).into_iter().flatten() {
            *skill = json!({ "name": skill["name"], "userInvocable": skill["userInvocable"] });
        }
        line
    }
}
