//! Graders of tool calls. Agents name their tools differently, so only those that run commands have an equal here.

use super::{Document, compiled, pattern};
use crate::cases::case::Case;
use crate::cases::case::document::Node;
use crate::checks;
use crate::checks::pattern::{Pattern, Style};
use crate::text::diagnostic::shorten;

/// The names of tools that run commands.
const SHELLS: [&str; 4] = ["bash", "powershell", "pwsh", "shell"];

/// Names of other tools, by which a pattern of names is tried.
const OTHERS: [&str; 14] = [
    "view",
    "create",
    "edit",
    "grep",
    "glob",
    "task",
    "skill",
    "web_fetch",
    "web_search",
    "read_file",
    "write_file",
    "create_file",
    "str_replace_editor",
    "update_todo",
];

/// Adds the checks of `tool-calls` and `shell-command-invoked`, written at `node`.
pub(super) fn read(document: &mut Document<'_>, config: &Node, node: &Node, kind: &str, case: &mut Case) {
    case.unsupported.extend(document.unsupported_keys(
        config,
        &["required", "disallowed", "sequence", "type", "config", "name"],
        &[],
    ));
    if let Some(sequence) = config.get("sequence") {
        case.unsupported.push(document.unsupported("a sequence of tool calls", sequence));
    } else if config.get("required").is_none() && config.get("disallowed").is_none() {
        return document.missing(node, "required");
    }
    let of_shell = kind == "shell-command-invoked";
    for (key, is_required) in [("required", true), ("disallowed", false)] {
        for call in document.list(config, key).unwrap_or_default() {
            read_call(document, call, of_shell, is_required, case);
        }
    }
}

fn read_call(document: &mut Document<'_>, call: &Node, of_shell: bool, is_required: bool, case: &mut Case) {
    if call.text().is_some() && !of_shell {
        return read_named(document, call, is_required, case);
    }
    let command = if call.text().is_some() {
        compiled(document, call, "command")
    } else if call.is_map() {
        case.unsupported.extend(document.unsupported_keys(
            call,
            &["name", "command", "description", "path", "args"],
            &[],
        ));
        let name = document.text(call, "name").map(str::to_owned);
        let has_more = ["path", "args"].into_iter().find_map(|key| call.get(key));
        let names_shell = of_shell || name.as_deref().is_some_and(is_shell);
        if name.is_none() && !of_shell {
            return document.missing(call, "name");
        }
        if let (false, _) | (_, Some(_)) = (names_shell, has_more) {
            let what = format!("a call of the tool `{}`", shorten(name.as_deref().unwrap_or("shell")));
            return case.unsupported.push(document.unsupported(what, call));
        }
        if call.get("command").is_some() { pattern(document, call, "command") } else { Some(any()) }
    } else {
        return document.wrong_type("a tool call", "a string or an object", call);
    };
    case.checks.extend(command.map(|command| checks::script_command(command, is_required)));
}

/// A tool by its name alone, which is a pattern.
pub(super) fn read_named(document: &mut Document<'_>, tool: &Node, is_required: bool, case: &mut Case) {
    match tool.text() {
        Some(name) if is_shell(name) => case.checks.push(checks::script_command(any(), is_required)),
        Some(name) => {
            let what = format!("a call of the tool `{}`", shorten(name));
            case.unsupported.push(document.unsupported(what, tool));
        }
        None => document.wrong_type("a tool", "a string", tool),
    }
}

/// Whether a pattern of names is that of tools that run commands, and of no other.
fn is_shell(name: &str) -> bool {
    let pattern = Pattern { text: name.to_owned(), style: Style::Exact };
    let Ok(search) = pattern.compile() else { return false };
    let is_match = |name: &&'static str| search.matches(name, 1).is_ok_and(|found| !found.is_empty());
    SHELLS.iter().any(is_match) && !OTHERS.iter().any(is_match)
}

/// Any command.
fn any() -> Pattern {
    Pattern { text: "(?s).".to_owned(), style: Style::Exact }
}
