//! The history of a case as a session file, which `--resume` continues.

use serde_json::{Value, json};

use super::evidence::SESSIONS;
use super::wire::SYNTHETIC;
use crate::agent::history;
use crate::agent::trial_env::TrialEnv;
use crate::files::rooted::RootedPath;
use crate::trace::trouble::Trouble;
use crate::trial::history::{HistoryMessage, Speaker};

/// Writes the session file into the home. Returns its path, by which claude finds it whatever its directory is called.
pub(super) fn write(trial_env: &TrialEnv, messages: &[HistoryMessage]) -> Result<RootedPath, Trouble> {
    let session = trial_env.session_id();
    let path = trial_env.home().join(SESSIONS).join("history").join(format!("{session}.jsonl"));
    let mut parent = Value::Null;
    let lines = messages.iter().enumerate().map(|(index, said)| {
        let id = format!("{}-{index:012}", &session[..23]);
        let parent = std::mem::replace(&mut parent, json!(id));
        json!({
            "type": said.role, "message": message(said, index), "uuid": id, "parentUuid": parent, "sessionId": session,
            "isSidechain": false,
        })
    });
    history::write(&path, "", lines)?;
    Ok(path)
}

fn message(said: &HistoryMessage, index: usize) -> Value {
    let content = json!([{ "type": "text", "text": said.content }]);
    match said.role {
        Speaker::User => json!({ "role": "user", "content": content }),
        // With a model's name claude would ask that model.
        Speaker::Assistant => json!({
            "id": format!("msg_history_{index}"), "type": "message", "role": "assistant", "model": SYNTHETIC,
            "content": content, "stop_reason": "end_turn", "stop_sequence": null,
            "usage": { "input_tokens": 0, "output_tokens": 0 },
        }),
    }
}
