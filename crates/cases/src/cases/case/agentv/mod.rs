//! Evals of AgentV: `*.eval.yaml` with `tests`.
//!
//! ```yaml
//! environment: { type: host, workdir: workspace }
//! tests:
//!   - id: greets
//!     vars: { input: Greet Ada }
//!     assert:
//!       - { type: skill-used, value: greeting }
//!       - It greets by name
//! ```
//!
//! The assertions are those of promptfoo. A text among them is a statement for the judge.

use crate::cases::case::document::{Document, Node};
use crate::cases::case::promptfoo::{Dialect, parse, workspace};
use crate::cases::case::{Case, CaseFormat, ForeignFile, ForeignFiles};
use crate::profile::DEFAULT_MODE;

/// Inputs, and what is expected of the answers.
pub static FORMAT: CaseFormat = CaseFormat {
    name: "AgentV test",
    default_mode: DEFAULT_MODE,
    files: None,
    foreign: Some(ForeignFiles {
        names: &[],
        possible_names: &["*eval.yaml", "*eval.yml", "*suite.yaml", "*suite.yml"],
        mark: "",
        keys: &["tests", "input", "assert"],
        parse: |file, document, root| parse(&DIALECT, file, document, root),
    }),
};

/// The key of the place where the agent works.
const ENVIRONMENT: &str = "environment";

/// The key of what runs around the tests.
const EXTENSIONS: &str = "extensions";

/// The extension that gives an agent the rules and skills of its place.
const AGENT_RULES: &str = "agentv:agent-rules";

static DIALECT: Dialect = Dialect {
    format: &FORMAT,
    default_test: "default_test",
    run_options: "evaluate_options",
    timeout_ms: "timeout_ms",
    cost: "budget",
    notes: &[
        "$schema",
        "name",
        "description",
        "category",
        "version",
        "author",
        "tags",
        "license",
        "requires",
        "defaults",
        "derived_metrics",
        "output_path",
        "env",
        "nunjucks_filters",
    ],
    keys: &["assert", "threshold", ENVIRONMENT, EXTENSIONS],
    test_keys: &["input", "criteria"],
    implied_prompt: Some("{{ input }}"),
    has_criteria: true,
    trims: true,
    threshold: Some(0.8),
    read_suite,
    message,
};

fn read_suite(document: &mut Document<'_>, file: &ForeignFile<'_>, root: &Node, case: &mut Case) {
    let is_other = |extensions: &&Node| extensions.each().iter().any(|name| name.text() != Some(AGENT_RULES));
    if let Some(extensions) = root.get(EXTENSIONS).filter(is_other) {
        case.unsupported.push(document.unsupported("the key `extensions`", extensions));
    }
    let Some(written) = root.get(ENVIRONMENT) else { return };
    if !written.is_map() {
        return case.unsupported.push(document.unsupported("the environment of another file", written));
    }
    case.unsupported.extend(document.unsupported_keys(written, &["type", "workdir"], &[]));
    if let Some(other) = written.get("type").filter(|kind| kind.text() != Some("host")) {
        case.unsupported.push(document.unsupported("an environment that is not `host`", other));
    }
    if let Some(folder) = written.get("workdir") {
        workspace::read(document, file, folder, case);
    }
}

/// The text of a message of the user, or of a list with only that one; `None` if it is none.
fn message(node: &Node) -> Option<Result<String, String>> {
    let message = match node.elements() {
        Some([only]) => only,
        Some([first, ..]) if first.get("role").is_some() => return Some(Err("several messages".to_owned())),
        _ => node,
    };
    let (role, content) = (message.get("role")?.text()?, message.get("content")?);
    if role != "user" {
        return Some(Err(format!("a message of the role `{role}`")));
    }
    let has_more = |object: &Node, known: [&str; 2]| {
        let other = object.entries().iter().find(|entry| !known.contains(&entry.key.as_str()));
        other.map(|other| format!("the key `{}` of a message", other.key))
    };
    let parts = content.each();
    let more = has_more(message, ["role", "content"]);
    if let Some(what) = more.or_else(|| parts.iter().find_map(|part| has_more(part, ["type", "value"]))) {
        return Some(Err(what));
    }
    let text = |part: &Node| match part.text().or_else(|| part.get("value")?.text()) {
        Some(text) if part.get("type").is_none_or(|kind| kind.text() == Some("text")) => {
            let is_plain = !text.contains("{{") && !text.contains("{%") && !text.starts_with("file://");
            if is_plain { Ok(text.to_owned()) } else { Err("a template in a message".to_owned()) }
        }
        _ => Err("a part of a message that is not text".to_owned()),
    };
    Some(parts.iter().map(text).collect::<Result<Vec<_>, _>>().map(|texts| texts.join("\n")))
}
