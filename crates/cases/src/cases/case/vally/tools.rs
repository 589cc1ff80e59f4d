//! Graders of tool calls.

use std::path::Path;

use super::Document;
use crate::cases::case::document::Node;
use crate::cases::case::known_tool::{KnownTool, read_named};
use crate::cases::case::{Case, ForeignFile};
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::checks;
use crate::checks::pattern::{Pattern, PatternSearch};
use crate::skill::SKILL_FILE;
use crate::text::diagnostic::shorten;

/// The name of the tool that shows a file.
const VIEW: &str = "view";

/// Adds the checks of `tool-calls` and `shell-command-invoked`, written at `node`.
pub(super) fn read(
    document: &mut Document<'_>,
    file: &ForeignFile<'_>,
    config: &Node,
    node: &Node,
    kind: &str,
    case: &mut Case,
) {
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
        let calls = document.list(config, key).unwrap_or_default();
        for call in calls {
            if call.text().is_some() && !of_shell {
                read_named(document, call, calls, is_required, case);
            } else {
                read_call(document, file, call, of_shell, is_required, case);
            }
        }
    }
}

fn read_call(
    document: &mut Document<'_>,
    file: &ForeignFile<'_>,
    call: &Node,
    of_shell: bool,
    is_required: bool,
    case: &mut Case,
) {
    let command = if call.text().is_some() {
        document.pattern("command", call)
    } else if call.is_map() {
        case.unsupported.extend(document.unsupported_keys(
            call,
            &["name", "command", "description", "path", "args"],
            &[],
        ));
        let name = document.text(call, "name").map(str::to_owned);
        let has_more = ["path", "args"].into_iter().find_map(|key| call.get(key));
        let names_shell = of_shell || name.as_deref().and_then(KnownTool::of) == Some(KnownTool::Shell);
        if name.is_none() && !of_shell {
            return document.missing(call, "name");
        }
        if let (Some(VIEW), true, None, Some(_)) = (name.as_deref(), is_required, call.get("args"), call.get("path")) {
            let Some(path) = call.get("path").and_then(|path| document.pattern("path", path)) else { return };
            if has_resource(file, &case.skill, &path) {
                return case.checks.push(checks::loads(path));
            }
        }
        if let (false, _) | (_, Some(_)) = (names_shell, has_more) {
            let what = format!("a call of the tool `{}`", shorten(name.as_deref().unwrap_or("shell")));
            return case.unsupported.push(document.unsupported(what, call));
        }
        let Some(command) = call.get("command") else {
            return case.checks.push(KnownTool::Shell.called(is_required));
        };
        document.pattern("command", command)
    } else {
        return document.wrong_type("a tool call", "a string or an object", call);
    };
    case.checks.extend(command.map(|command| checks::script_command(command, is_required)));
}

/// Whether the skill has a file besides its SKILL.md whose path in its directory matches.
fn has_resource(file: &ForeignFile<'_>, skill: &str, path: &Pattern) -> bool {
    let Ok(search) = path.compile() else { return false };
    file.directory_of(skill).is_some_and(|directory| has_file(file.tree, directory, Path::new(""), &search))
}

fn has_file(tree: &dyn RepoFiles, root: &Path, directory: &Path, search: &PatternSearch) -> bool {
    tree.names(&root.join(directory)).unwrap_or_default().into_iter().any(|name| {
        let path = directory.join(name);
        match tree.kind(&root.join(&path)) {
            FileKind::File => path != Path::new(SKILL_FILE) && is_match(search, &path.to_string_lossy()),
            FileKind::Folder => has_file(tree, root, &path, search),
            _ => false,
        }
    })
}

fn is_match(search: &PatternSearch, text: &str) -> bool {
    search.matches(text, 1).is_ok_and(|found| !found.is_empty())
}
