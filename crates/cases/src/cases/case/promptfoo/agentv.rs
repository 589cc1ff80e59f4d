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

use super::{Dialect, LONG, RUN_NOTES, milliseconds, of_file, parse, working_directory};
use crate::cases::case::document::Node;
use crate::cases::case::foreign_reader::Meaning::{By, Field, Known, Object, Only, Part};
use crate::cases::case::foreign_reader::{ForeignReader, KeyTable};
use crate::cases::case::{CaseFormat, ForeignFiles};

/// Inputs, and what is expected of the answers.
pub static FORMAT: CaseFormat = CaseFormat::foreign(
    "AgentV test",
    ForeignFiles {
        names: &[],
        possible_names: &["*eval.yaml", "*eval.yml", "*suite.yaml", "*suite.yml"],
        mark: "",
        keys: &["tests", "input", "assert"],
        about: "[evals of AgentV](#what-a-test-of-promptfoo-or-agentv-asks-for), if they are about a skill",
        all_keys: || super::keys(&DIALECT),
        parse: |reader| parse(&DIALECT, reader),
    },
);

static DIALECT: Dialect = Dialect {
    file: KeyTable::of(&[
        ("tests prompts default_test assert threshold targets", Known),
        ("providers", By(of_file)),
        ("extensions", Part(extensions, "the key `extensions`")),
        ("environment", Part(environment, "the environment of another file")),
        ("evaluate_options", Object(&RUNS)),
    ])
    .and_notes(
        "$schema name description category version author tags license requires defaults derived_metrics output_path env \
         nunjucks_filters",
    ),
    default_test: "default_test",
    cost: "budget",
    test_keys: &["input", "criteria"],
    implied_prompt: Some("{{ input }}"),
    has_criteria: true,
    trims: true,
    threshold: Some(0.8),
    message,
};

static RUNS: KeyTable =
    KeyTable::of(&[("repeat", Field("trials")), ("timeout_ms", Part(milliseconds, LONG))]).and_notes(RUN_NOTES);

static ENVIRONMENT: KeyTable =
    KeyTable::of(&[("type", Only("host", "an environment that is not `host`")), ("workdir", By(directory))]);

/// What runs around the tests. The only known one gives an agent the rules and skills of its place.
fn extensions<'n>(_: &mut ForeignReader<'_>, root: &'n Node, key: &'static str) -> Option<&'n Node> {
    let is_other = |extensions: &&Node| extensions.each().iter().any(|name| name.text() != Some("agentv:agent-rules"));
    root.get(key).filter(is_other)
}

/// The place where the agent works.
fn environment<'n>(reader: &mut ForeignReader<'_>, root: &'n Node, key: &'static str) -> Option<&'n Node> {
    let written = root.get(key)?;
    if !written.is_map() {
        return Some(written);
    }
    reader.read(written, &ENVIRONMENT);
    None
}

fn directory(reader: &mut ForeignReader<'_>, environment: &Node, key: &'static str) {
    if let Some(folder) = environment.get(key) {
        working_directory(reader, folder);
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
