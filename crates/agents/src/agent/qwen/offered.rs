//! The list of skills that the model was offered: a part of the first message of each request, and so of the first request
//! that Qwen Code logged.

use serde_json::{Value, json};

use super::REQUESTS;
use crate::agent::skill_list::{self, SkillEntry, unescaped};
use crate::agent::trial_env::TrialEnv;
use crate::files::bounded;

/// A line of the session file with the list in the first request, if a request was logged. Names begin with the time.
pub(super) fn in_first_request(trial_env: &TrialEnv) -> Option<Value> {
    let file = trial_env.home().join(REQUESTS).first(|_| true)?;
    let log: Value = serde_json::from_slice(&bounded::read_file(file, bounded::MAX_FILE).ok()?).ok()?;
    let skills = log["request"]["messages"].as_array()?.iter().find_map(|message| match &message["content"] {
        Value::String(text) => list(text),
        parts => parts.as_array()?.iter().find_map(|part| list(part["text"].as_str()?)),
    });
    Some(json!({ "type": "offered", "skills": skills.unwrap_or_default() }))
}

/// The names and descriptions in the text with the list, which is escaped. Instructions of the workspace are in another one.
fn list(text: &str) -> Option<Vec<Value>> {
    let text = text.strip_prefix("<system-reminder>")?;
    Some(skill_list::within(text)?.filter_map(|entry| skill(&entry)).collect())
}

fn skill(entry: &SkillEntry<'_>) -> Option<Value> {
    let tagged = |tag: &str| entry.tagged(tag).map(unescaped);
    let description = tagged("description")?;
    // Qwen Code adds where the skill is from: `(project)`.
    let own = tagged("location").and_then(|from| Some(description.strip_suffix(&format!(" ({from})"))?.to_owned()));
    Some(json!({ "name": tagged("name")?, "description": own.unwrap_or(description) }))
}
