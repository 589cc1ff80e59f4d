//! The list of skills that the model was offered: a part of the first message of each request, and so of the first request
//! that Qwen Code logged.

use std::path::Path;

use serde_json::{Value, json};

use super::REQUESTS;
use crate::agent::trial_env::TrialEnv;
use crate::files::{below, bounded};

/// The tags around the list.
const LIST: [&str; 2] = ["<available_skills>", "</available_skills>"];

/// How XML escapes the characters of names and descriptions. The last one comes first in escaped text.
const ESCAPED: [(&str, &str); 5] = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];

/// A line of the session file with the list in the first request, if a request was logged. Names begin with the time.
pub(super) fn in_first_request(trial_env: &TrialEnv) -> Option<Value> {
    let file = below::first(&trial_env.home(), Path::new(REQUESTS), |_| true)?;
    let log: Value = serde_json::from_slice(&bounded::read_file(file, bounded::MAX_FILE).ok()?).ok()?;
    let skills = log["request"]["messages"].as_array()?.iter().find_map(|message| match &message["content"] {
        Value::String(text) => list(text),
        parts => parts.as_array()?.iter().find_map(|part| list(part["text"].as_str()?)),
    });
    Some(json!({ "type": "offered", "skills": skills.unwrap_or_default() }))
}

/// The names and descriptions in a text with the list.
fn list(text: &str) -> Option<Vec<Value>> {
    let (_, rest) = text.split_once(LIST[0])?;
    let (list, _) = rest.split_once(LIST[1])?;
    let entries = list.split("<skill>").skip(1);
    Some(entries.filter_map(entry).collect())
}

fn entry(text: &str) -> Option<Value> {
    let tagged = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        let escaped = rest.split_once(&format!("</{tag}>"))?.0.trim().to_owned();
        Some(ESCAPED.into_iter().fold(escaped, |text, (from, to)| text.replace(from, to)))
    };
    let description = tagged("description")?;
    // Qwen Code adds where the skill is from: `(project)`.
    let own = tagged("location").and_then(|from| Some(description.strip_suffix(&format!(" ({from})"))?.to_owned()));
    Some(json!({ "name": tagged("name")?, "description": own.unwrap_or(description) }))
}
