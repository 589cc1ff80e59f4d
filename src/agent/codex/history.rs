//! The history of a case as a rollout, which `codex exec resume` continues.

use serde_json::{Value, json};

use super::evidence::SESSIONS;
use crate::agent::history::{self, TIME};
use crate::agent::trial_env::TrialEnv;
use crate::trace::trouble::Trouble;
use crate::trial::history::{HistoryMessage, Speaker};

/// Writes the rollout into the home. Returns the session's id.
pub(super) fn write(trial_env: &TrialEnv, messages: &[HistoryMessage]) -> Result<String, Trouble> {
    let id = history::session_id(trial_env);
    let name = format!("1970/01/01/rollout-1970-01-01T00-00-00-{id}.jsonl");
    let first = json!({
        "type": "session_meta",
        "payload": {
            "id": id, "timestamp": TIME, "cwd": trial_env.workspace(), "originator": "skill-evals", "cli_version": "",
        },
    });
    let lines = std::iter::once(first).chain(messages.iter().map(line));
    history::write(&trial_env.home().join(SESSIONS).join(name), lines)?;
    Ok(id)
}

fn line(message: &HistoryMessage) -> Value {
    let kind = match message.role {
        Speaker::User => "input_text",
        Speaker::Assistant => "output_text",
    };
    let content = json!([{ "type": kind, "text": message.content }]);
    json!({ "type": "response_item", "payload": { "type": "message", "role": message.role, "content": content } })
}
