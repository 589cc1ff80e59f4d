//! The two tools: how they are described, and their arguments taken apart.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::catalogue;
use super::library::Library;
use crate::profile::ToolDisplay;
use crate::settings::BuiltIn;

/// The tool that loads a skill.
pub(super) const SKILL: &str = "skill";

/// The tool that reads files of a skill.
pub(super) const RESOURCE: &str = "skill-resource";

/// The tools as this client lists them.
pub(super) fn all(library: &Library, served: BuiltIn, client: ToolDisplay) -> Vec<Tool> {
    let argument = catalogue::name_argument(library, served.wording, client);
    let name = json!({ "type": "string", "description": argument });
    let skill = json!({ "type": "string", "description": "The skill's name" });
    let path = json!({
        "type": "string",
        "description": "A file or directory below the skill's directory, with `/` between the parts; left out or \
         empty: the list of all files",
    });
    vec![
        tool(
            SKILL,
            "Load a skill",
            catalogue::skill_tool(library, served.wording, client),
            json!({ "name": name }),
            json!(["name"]),
        ),
        tool(
            RESOURCE,
            "Read files of a skill",
            catalogue::resource_tool(served),
            json!({ "skill": skill, "path": path }),
            json!(["skill"]),
        ),
    ]
}

fn tool(name: &'static str, title: &str, description: String, properties: Value, required: Value) -> Tool {
    let schema = JsonObject::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), properties),
        ("required".to_owned(), required),
        ("additionalProperties".to_owned(), json!(false)),
    ]);
    // Without these codex refuses to run a tool when nobody is there to ask.
    let annotations =
        ToolAnnotations::with_title(title).read_only(true).destructive(false).idempotent(true).open_world(false);
    Tool::new(name, description, Arc::new(schema)).with_title(title).with_annotations(annotations)
}

/// The string arguments of a call; others are passed over. What is wrong is said to the model, as an answer of the tool:
/// a protocol error would not reach it.
pub(super) fn strings<'a, const R: usize, const O: usize>(
    tool: &str,
    arguments: Option<&'a JsonObject>,
    required: [&str; R],
    optional: [&str; O],
) -> Result<([&'a str; R], [Option<&'a str>; O]), String> {
    let get = |key: &str| arguments.and_then(|arguments| arguments.get(key)).filter(|value| !value.is_null());
    let known =
        || -> String { required.iter().chain(&optional).map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ") };
    let string = |key: &str, value: &'a Value| {
        value.as_str().ok_or_else(|| format!("the argument `{key}` of `{tool}` must be a string, not {value}"))
    };
    let mut needed = [""; R];
    for (slot, key) in needed.iter_mut().zip(required) {
        let value = get(key).ok_or_else(|| format!("`{tool}` needs the argument `{key}`; it takes {}", known()))?;
        *slot = string(key, value)?;
    }
    let mut given = [None; O];
    for (slot, key) in given.iter_mut().zip(optional) {
        *slot = get(key).map(|value| string(key, value)).transpose()?;
    }
    Ok((needed, given))
}
