//! What a task expects besides its graders.

use super::messages::message;
use super::trigger_claim::TriggerClaim;
use super::{Document, behavior};
use crate::cases::case::document::Node;
use crate::cases::case::{Case, known_tool};
use crate::checks;
use crate::checks::pattern::{Pattern, Style};
use crate::text::diagnostic::shorten;

/// The key of what is expected.
pub(super) const KEY: &str = "expected";

/// The key of the texts of which one must be there.
const ANY: &str = "output_contains_any";

/// The keys of texts, and whether they must not be there.
const TEXTS: [(&str, bool); 2] = [("output_contains", false), ("output_not_contains", true)];

/// Adds the checks.
pub(super) fn read(document: &mut Document<'_>, root: &Node, case: &mut Case, triggering: &mut TriggerClaim) {
    let Some(expected) = document.map(root, KEY) else { return };
    let before = case.checks.len();
    let known = ["outcomes", "behavior", "should_trigger", ANY, TEXTS[0].0, TEXTS[1].0];
    case.unsupported.extend(document.unsupported_keys(expected, &known, &[]));
    for (key, negated) in TEXTS {
        for text in document.text_list(expected, key) {
            case.checks.push(message(Pattern { text, style: Style::Literal }, negated));
        }
    }
    let texts = document.text_list(expected, ANY);
    if !texts.is_empty() {
        case.checks.push(message(Pattern::one_of(texts.iter().map(|text| (text.as_str(), true))), false));
    }
    for outcome in document.list(expected, "outcomes").unwrap_or_default() {
        read_outcome(document, outcome, case);
    }
    if let Some(behavior) = document.map(expected, "behavior") {
        behavior::read(document, behavior, case);
    }
    document.locate(KEY, expected, &mut case.checks[before..]);
    if let Some(should) = document.flag(expected, "should_trigger") {
        triggering.agrees(should);
    }
}

fn read_outcome(document: &mut Document<'_>, outcome: &Node, case: &mut Case) {
    let Some(kind) = document.required_text(outcome, "type") else { return };
    let known = ["type", "tool_name"];
    match (kind, outcome.get("tool_name")) {
        ("task_completed", None) => case.checks.push(checks::final_message()),
        ("tool_called", Some(tool)) => known_tool::read_named(document, tool, &[], true, case),
        _ => {
            let what = format!("the outcome `{}`", shorten(kind));
            return case.unsupported.push(document.unsupported(what, outcome));
        }
    }
    case.unsupported.extend(document.unsupported_keys(outcome, &known, &[]));
}
