//! Calls of the MCP server's tools that load a skill or read its files, the same under every agent.

use serde_json::Value;

use crate::settings::ToolNames;
use crate::trial::trace::{Mechanism, Trace, excerpt};

/// Notes what a call of the tool `tool`, by the name that the model sees, did to the skills; nothing where it is another
/// tool or failed: a skill that could not be loaded was not used.
pub(super) fn note(trace: &mut Trace, names: &ToolNames, tool: &str, input: &str, failed: bool) {
    let (loads, reads) = (tool == names.skill_tool(), tool == names.resource_tool());
    if failed || !(loads || reads) {
        return;
    }
    let evidence = format!("{tool} {}", excerpt(input));
    let input: Value = serde_json::from_str(input).unwrap_or_default();
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    if loads {
        // Ours takes `name`; a repository's own server may call it otherwise.
        let any = || input.as_object()?.values().find_map(Value::as_str);
        if let Some(skill) = text("name").or_else(|| text("skill")).or_else(any) {
            trace.activate(skill, Mechanism::McpTool, &evidence);
        }
    } else if let Some(skill) = text("skill").or_else(|| text("name")) {
        // Without a path it lists the files, and loads none.
        match text("path").map(|path| path.trim_matches('/')).filter(|path| !path.is_empty() && *path != ".") {
            Some(crate::cases::skill::SKILL_FILE) => trace.explore(&evidence),
            Some(path) => trace.load(skill, path, &evidence),
            None => {}
        }
    }
}
