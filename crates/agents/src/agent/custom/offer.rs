//! What a trial knows of what it offered: the skills in the agent's directory, and whether the agent asked our MCP server for
//! its tools. The agent does not show what it makes of that.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agent::agent_event::AgentEvent;
use crate::agent::assignment::Assignment;
use crate::agent::trial_env::TrialEnv;
use crate::files::at::At;
use crate::files::bounded;
use crate::trace::trouble::Trouble;

/// The states of the MCP server of skills.
const ASKED: &str = "connected";
const NOT_ASKED: &str = "the agent did not ask for its tools";

fn path(trial_env: &TrialEnv) -> PathBuf {
    trial_env.control().join("offer.json")
}

/// Notes what this trial offers.
pub(super) fn note(assignment: &Assignment<'_>) -> Result<(), Trouble> {
    let Assignment { mode, trial_env, server, .. } = *assignment;
    let skills = if mode.delivery.native() { trial_env.skill_names() } else { Vec::new() };
    // Another server than ours logs nothing for us.
    let server = server.map(|server| json!({ "name": server.names.server, "logs": !server.is_own() }));
    let note = json!({ "type": "offer", "skills": skills, "server": server });
    let path = path(trial_env);
    Ok(fs::write(&path, note.to_string()).at(&path)?)
}

/// What was noted, and whether the agent asked the server by now.
pub(super) fn known(trial_env: &TrialEnv) -> Option<Value> {
    let mut note: Value = serde_json::from_str(&bounded::read_text(&path(trial_env)).ok()?).ok()?;
    if note["server"]["logs"] == true {
        let log = trial_env.request_log().unwrap_or_default();
        note["server"]["asked"] = log.lines().any(|line| line.ends_with(" tools")).into();
    }
    Some(note)
}

/// What that line says. Whether an agent uses another server than ours is not known, and then nothing is.
pub(super) fn said(line: &Value) -> Vec<AgentEvent> {
    let (true, Some(skills)) = (line["type"] == "offer", line["skills"].as_array()) else { return Vec::new() };
    let names = skills.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let server = &line["server"];
    match (server["name"].as_str(), server["asked"].as_bool()) {
        (None, _) => vec![AgentEvent::Placed(names)],
        (Some(_), None) => Vec::new(),
        (Some(name), Some(asked)) => {
            let state = if asked { ASKED } else { NOT_ASKED };
            vec![AgentEvent::Placed(names), AgentEvent::Server(name.to_owned(), state.to_owned())]
        }
    }
}
