//! The two tools and their arguments.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::library::Library;
use super::skill_list;
use crate::profile::ToolDisplay;
use crate::settings::BuiltIn;

/// The tool that loads a skill.
pub(super) const SKILL: &str = "skill";

/// The tool that reads files of a skill.
pub(super) const RESOURCE: &str = "skill-resource";

pub(super) fn all(library: &Library, settings: BuiltIn, client: ToolDisplay) -> Vec<Tool> {
    let (description, argument) = skill_list::tool_and_argument(library, settings.wording, client);
    let name = json!({ "type": "string", "description": argument });
    let skill = json!({ "type": "string", "description": "The skill's name" });
    let path = json!({
        "type": "string",
        "description": "A file or directory below the skill's directory, with `/` between the parts; left out or \
         empty: the list of all files",
    });
    let resource = skill_list::resource_tool(settings);
    let resource_arguments = json!({ "skill": skill, "path": path });
    vec![
        tool(SKILL, "Load a skill", description, json!({ "name": name }), json!(["name"])),
        tool(RESOURCE, "Read files of a skill", resource, resource_arguments, json!(["skill"])),
    ]
}

fn tool(name: &'static str, title: &str, description: String, properties: Value, required: Value) -> Tool {
    let schema = JsonObject::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), properties),
        ("required".to_owned(), required),
        ("additionalProperties".to_owned(), json!(false)),
    ]);
    // Without these hints codex does not run a tool if nobody can approve it.
    let annotations =
        ToolAnnotations::with_title(title).read_only(true).destructive(false).idempotent(true).open_world(false);
    Tool::new(name, description, Arc::new(schema)).with_title(title).with_annotations(annotations)
}

/// A string argument of a call. `None` if it is missing or null. The error is an answer of the tool: a protocol error would
/// not reach the model.
pub(super) fn string<'a>(tool: &str, arguments: Option<&'a JsonObject>, key: &str) -> Result<Option<&'a str>, String> {
    match arguments.and_then(|arguments| arguments.get(key)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(value) => Err(format!("the argument `{key}` of `{tool}` must be a string, not {value}")),
    }
}

/// A required [`string`] argument.
pub(super) fn required<'a>(tool: &str, arguments: Option<&'a JsonObject>, key: &str) -> Result<&'a str, String> {
    string(tool, arguments, key)?.ok_or_else(|| {
        let known = if tool == RESOURCE { "`skill`, `path`" } else { "`name`" };
        format!("`{tool}` needs the argument `{key}`; it takes {known}")
    })
}
