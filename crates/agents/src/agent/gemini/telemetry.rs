//! Gemini's telemetry in a file: JSON values over several lines, one for each event and each span. Each has the whole system
//! prompt or all tools again, so a trial keeps the part that shows what the model was offered.

use serde_json::{Map, Value, json};

use crate::agent::recorder::texts;
use crate::agent::skill_list;

/// The name of an event, and the time when it happened.
pub(super) const NAME: &str = "event.name";

/// What a request to the model was for.
pub(super) const ROLE: &str = "role";

/// The role of the requests of the conversation.
pub(super) const MAIN: &str = "main";

/// The attribute with the system prompt.
const SYSTEM: &str = "gen_ai.system_instructions";

/// The attribute with the tools.
const TOOLS: &str = "gen_ai.tool.definitions";

/// Our attributes with the skills in the system prompt, and with the names of the tools.
pub(super) const SKILLS: &str = "skills";
pub(super) const TOOL_NAMES: &str = "tools";

/// The attributes that are kept.
const KEPT: [&str; 13] = [
    NAME,
    ROLE,
    "event.timestamp",
    "mcp_servers",
    "model",
    "status_code",
    "error.message",
    "finish_reasons",
    "input_token_count",
    "output_token_count",
    "cached_content_token_count",
    "thoughts_token_count",
    "tool_token_count",
];

/// The events that are kept as they are.
const EVENTS: [&str; 5] = [
    "gemini_cli.config",
    "gemini_cli.user_prompt",
    "gemini_cli.api_request",
    "gemini_cli.api_response",
    "gemini_cli.api_error",
];

/// The heading of the skills in the system prompt.
const HEADING: &str = "# Available Agent Skills";

/// Reads the lines of files, some of which hold a JSON value over several lines.
#[derive(Default)]
pub(super) struct Values {
    /// The lines of the value that is not complete, and how many objects and lists are open.
    value: Vec<u8>,
    open: u32,
    /// The last lists of skills and of tools.
    skills: Option<Vec<Value>>,
    tools: Option<Vec<Value>>,
}

impl Values {
    /// What a trial keeps at the end of this line.
    pub(super) fn line(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        if self.value.is_empty() && line != b"{" {
            return Some(line.to_vec());
        }
        self.value.extend_from_slice(line);
        // A line has one part of a value: no text ends or begins like these.
        self.open += u32::from(matches!(line, [.., b'{' | b'[']));
        self.open = self.open.saturating_sub(u32::from(matches!(line, [b'}' | b']', ..])));
        if self.open > 0 {
            return None;
        }
        let value: Value = serde_json::from_slice(&std::mem::take(&mut self.value)).ok()?;
        let kept = json!({ "attributes": self.kept(value.get("attributes")?)? });
        Some(kept.to_string().into_bytes())
    }

    fn kept(&mut self, attributes: &Value) -> Option<Map<String, Value>> {
        let text = |key: &str| attributes.get(key)?.as_str();
        if let Some(name) = text(NAME) {
            let kept = KEPT.into_iter().filter_map(|key| Some((key.to_owned(), attributes.get(key)?.clone())));
            return EVENTS.contains(&name).then(|| kept.collect());
        }
        // A request without tools is one of Gemini's own. A sub-agent may have no skills.
        let tools = tools(text(TOOLS)?).filter(|tools| !tools.is_empty())?;
        let system = texts(&serde_json::from_str(text(SYSTEM)?).ok()?);
        let skills = skills(&system).or_else(|| self.skills.clone()).unwrap_or_default();
        let mut kept = Map::new();
        for (key, list, last) in [(SKILLS, skills, &mut self.skills), (TOOL_NAMES, tools, &mut self.tools)] {
            if last.as_ref() != Some(&list) {
                *last = Some(list.clone());
                kept.insert(key.to_owned(), list.into());
            }
        }
        (!kept.is_empty()).then_some(kept)
    }
}

/// The names of the tools.
fn tools(definitions: &str) -> Option<Vec<Value>> {
    let definitions: Value = serde_json::from_str(definitions).ok()?;
    let groups = definitions.as_array()?.iter().filter_map(|group| group.get("functionDeclarations")?.as_array());
    Some(groups.flatten().filter_map(|tool| tool.get("name").cloned()).collect())
}

/// The names and descriptions of the skills in a system prompt; `None` if it has none.
fn skills(system: &str) -> Option<Vec<Value>> {
    let entries = skill_list::within(system.split_once(HEADING)?.1)?;
    Some(entries.filter_map(|entry| Some(json!([entry.tagged("name")?, entry.tagged("description")?]))).collect())
}

/// The value with descriptions only of skills with these slugs.
pub(super) fn without_descriptions(mut value: Value, slugs: &[&str]) -> Value {
    skill_list::record_pairs(value["attributes"].get_mut(SKILLS), slugs);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> Vec<String> {
        let mut values = Values::default();
        let lines = text.lines().filter_map(|line| values.line(line.trim().as_bytes()));
        lines.map(|line| String::from_utf8(line).expect("UTF-8")).collect()
    }

    #[test]
    fn lines_stay_and_values_over_several_lines_are_one_line_with_what_counts() {
        let event = "{\n  \"resource\": {},\n  \"attributes\": {\n    \"event.name\": \"gemini_cli.api_request\",\n    \
                     \"role\": \"main\",\n    \"x\": 1\n  }\n}\n";
        let kept = kept(&format!("{{\"id\":\"1\"}}\n{event}{{\"id\":\"2\"}}\n"));
        let expected = [
            r#"{"id":"1"}"#,
            r#"{"attributes":{"event.name":"gemini_cli.api_request","role":"main"}}"#,
            r#"{"id":"2"}"#,
        ];
        assert_eq!(kept, expected);
    }

    #[test]
    fn the_skills_are_those_below_their_heading() {
        let entry =
            "<skill>\n<name>a</name>\n<description>Does < b.</description>\n<location>/x</location>\n</skill>\n";
        let list = format!("<available_skills>\n{entry}</available_skills>");
        let found = skills(&format!("{HEADING}\nCall.\n{list}\n# Else"));
        assert_eq!(found, Some(vec![json!(["a", "Does < b."])]));
        assert_eq!(skills(&list), None);
    }
}
