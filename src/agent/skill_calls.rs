//! Calls of the MCP server's tools that load a skill or read its files, the same under every agent.

use serde_json::Value;

use crate::settings::ToolNames;
use crate::trial::trace::{Mechanism, Trace, excerpt};

/// Notes what a call of the tool `tool`, by the name that the model sees, did to the skills; nothing where it is another
/// tool. A skill that could not be loaded was not used; that it was wanted is told.
pub(super) fn note(trace: &mut Trace, names: &ToolNames, tool: &str, input: &str, failed: bool) {
    let (loads, reads) = (tool == names.skill_tool(), tool == names.resource_tool());
    if !(loads || reads) {
        return;
    }
    let evidence = format!("{tool} {}", excerpt(input));
    let input: Value = serde_json::from_str(input).unwrap_or_default();
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    if loads {
        // Ours takes `name`; a repository's own server may call it otherwise.
        let any = || input.as_object()?.values().find_map(Value::as_str);
        match text("name").or_else(|| text("skill")).or_else(any) {
            Some(skill) if failed => trace.failed_load(skill, Mechanism::McpTool, &evidence),
            Some(skill) => trace.activate(skill, Mechanism::McpTool, &evidence),
            None => trace.lose("a call of the skill tool that names no skill"),
        }
    } else if let Some(skill) = text("skill").or_else(|| text("name")).filter(|_| !failed) {
        // Without a path it lists the files, and loads none.
        match text("path").map(|path| path.trim_matches('/')).filter(|path| !path.is_empty() && *path != ".") {
            Some(crate::cases::skill::SKILL_FILE) => trace.explore(&evidence),
            Some(path) => trace.load(skill, path, &evidence),
            None => {}
        }
    }
}
