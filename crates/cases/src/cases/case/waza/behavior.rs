//! How the agent may work: which tools, how many calls, tokens and how long.

use std::time::Duration;

use super::{Document, pattern};
use crate::cases::case::Case;
use crate::cases::case::document::Node;
use crate::cases::case::known_tool::{KnownTool, read_named};
use crate::checks;
use crate::checks::call_count::CallCount;
use crate::checks::pattern::Pattern;
use crate::text::diagnostic::shorten;

/// The keys of tools by their names, and whether they are required.
const NAMED: [(&str, bool); 2] = [("required_tools", true), ("forbidden_tools", false)];

/// The keys of a time in milliseconds; those of an expectation and of a grader differ.
const TIMES: [&str; 2] = ["max_duration_ms", "max_response_time_ms"];

/// Adds the checks of the grader `behavior`, or of what is expected of the behavior.
pub(super) fn read(document: &mut Document<'_>, object: &Node, case: &mut Case) {
    let known = ["max_tool_calls", "max_tokens", TIMES[0], TIMES[1], NAMED[0].0, NAMED[1].0];
    case.unsupported.extend(document.unsupported_keys(object, &known, &[]));
    named_tools(document, object, case);
    if let Some(most) = limit(document, object, "max_tool_calls") {
        let check = checks::any_tool(CallCount { least: 0, most: Some(most) });
        case.checks.extend(document.check(object, check));
    }
    case.checks.extend(limit(document, object, "max_tokens").map(checks::max_total_tokens));
    for key in TIMES {
        let most = limit(document, object, key).map(Duration::from_millis);
        case.checks.extend(most.map(checks::max_duration));
    }
}

/// Adds the checks of the grader `tool_calls`.
pub(super) fn read_calls(document: &mut Document<'_>, object: &Node, case: &mut Case) {
    let known = ["min_calls", "max_calls", NAMED[0].0, NAMED[1].0];
    case.unsupported.extend(document.unsupported_keys(object, &known, &[]));
    named_tools(document, object, case);
    let [least, most] = ["min_calls", "max_calls"].map(|key| count(document, object, key));
    if least.is_some() || most.is_some() {
        let check = checks::any_tool(CallCount { least: least.unwrap_or_default(), most });
        case.checks.extend(document.check(object, check));
    }
}

/// Adds the checks of the grader `tool_constraint`.
pub(super) fn read_constraints(document: &mut Document<'_>, object: &Node, case: &mut Case) {
    case.unsupported.extend(document.unsupported_keys(object, &["expect_tools", "reject_tools"], &[]));
    for (key, is_required) in [("expect_tools", true), ("reject_tools", false)] {
        for call in document.list(object, key).unwrap_or_default() {
            read_constraint(document, call, is_required, case);
        }
    }
}

fn read_constraint(document: &mut Document<'_>, call: &Node, is_required: bool, case: &mut Case) {
    let Some(tool) = document.required_text(call, "tool") else { return };
    if call.get("tool").is_some_and(|tool| pattern::read(document, "tool", tool, case).is_none()) {
        return;
    }
    let others = ["skill_pattern", "path_pattern", "args"];
    case.unsupported.extend(document.unsupported_keys(call, &["tool", "command_pattern"], &others));
    // All its patterns ignore case.
    let known = KnownTool::of(&format!("(?i){}", tool.trim()));
    match (known, call.get("command_pattern")) {
        _ if others.iter().any(|key| call.get(key).is_some()) => {}
        (Some(known), None) => return case.checks.push(known.called(is_required)),
        (Some(KnownTool::Shell), Some(command)) => {
            let pattern = pattern::read(document, "command_pattern", command, case);
            let ignoring_case = pattern.map(|pattern| Pattern { text: format!("(?i){}", pattern.text), ..pattern });
            return case.checks.extend(ignoring_case.map(|pattern| checks::script_command(pattern, is_required)));
        }
        _ => {}
    }
    case.unsupported.push(document.unsupported(format!("a call of the tool `{}`", shorten(tool)), call));
}

fn named_tools(document: &mut Document<'_>, object: &Node, case: &mut Case) {
    for (key, is_required) in NAMED {
        let tools = document.list(object, key).unwrap_or_default();
        for tool in tools {
            read_named(document, tool, tools, is_required, case);
        }
    }
}

/// The limit at a key; 0 is none.
fn limit(document: &mut Document<'_>, object: &Node, key: &str) -> Option<u64> {
    count(document, object, key).filter(|most| *most > 0)
}

/// The number at a key, which may be absent.
fn count(document: &mut Document<'_>, object: &Node, key: &str) -> Option<u64> {
    let written = object.get(key)?;
    let count = written.count();
    if count.is_none() {
        document.wrong_type(&format!("`{key}`"), "a whole number", written);
    }
    count
}
