//! Eval specs of dotnet/skills before Vally: `eval.yaml` with `scenarios`. Each is read as the stimulus that asks for the same.
//!
//! ```yaml
//! scenarios:
//!   - name: greets
//!     prompt: Greet Ada
//!     setup: { copy_test_files: true, files: [{ path: a.txt, source: fixtures/a.txt }] }
//!     assertions:
//!       - { type: output_contains, value: Ada }
//!     expect_tools: [bash]
//! ```

use std::path::{Path, PathBuf};

use super::{ENVIRONMENT, ForeignReader, graders};
use crate::cases::case::document::{Node, NodeEntry, NodeValue};
use crate::cases::case::foreign_reader::words;
use crate::text::diagnostic::{Code, nearest};

pub(super) const KEY: &str = "scenarios";

/// The types of assertions. Their names are those of graders, with `_` in place of `-`.
const TYPES: &str = "file_exists file_not_exists file_contains file_not_contains output_contains output_not_contains output_matches \
                     output_not_matches exit_success";

/// The keys that a stimulus has in its constraints.
const CONSTRAINTS: [&str; 4] = ["expect_tools", "reject_tools", "max_turns", "max_tokens"];

/// The keys of a scenario, besides those of a stimulus with the same meaning.
const SETUP: &str = "setup";
const ASSERTIONS: &str = "assertions";

/// The scenarios of a file. Other programs have lists of this name with other keys.
pub(super) fn list(root: &Node) -> Option<&[Node]> {
    let is_ours = |scenario: &Node| ["prompt", ASSERTIONS].into_iter().any(|key| scenario.get(key).is_some());
    root.get(KEY)?.elements().filter(|scenarios| scenarios.iter().any(is_ours))
}

/// The stimulus that asks for the same as a scenario.
pub(super) fn stimulus(reader: &mut ForeignReader<'_>, scenario: &Node) -> Node {
    let (mut entries, mut constraints) = (Vec::new(), Vec::new());
    for entry in scenario.entries() {
        match entry.key.as_str() {
            // As if it were absent.
            _ if entry.value.value == NodeValue::Null => {}
            SETUP => {
                let setup = reader.map(scenario, SETUP).map(|setup| environment_of(reader, setup));
                entries.extend(setup.map(|setup| renamed(entry, ENVIRONMENT, setup)));
            }
            ASSERTIONS => {
                let assertions = reader.list(scenario, ASSERTIONS).unwrap_or_default();
                let graders = assertions.iter().filter_map(|assertion| grader(reader, assertion)).collect();
                entries.push(renamed(entry, graders::KEY, like(&entry.value, NodeValue::List(graders))));
            }
            key if CONSTRAINTS.contains(&key) => constraints.push(entry.clone()),
            _ => entries.push(entry.clone()),
        }
    }
    if !constraints.is_empty() {
        entries.push(added(scenario, "constraints", NodeValue::Map(constraints)));
    }
    // A scenario that says nothing expects that the skill activates.
    if scenario.get("expect_activation").is_none() {
        entries.push(added(scenario, "expect_activation", NodeValue::Flag(true)));
    }
    like(scenario, NodeValue::Map(entries))
}

/// A value in the place of another one.
fn like(node: &Node, value: NodeValue) -> Node {
    Node { value, range: node.range.clone() }
}

fn renamed(entry: &NodeEntry, key: &str, value: Node) -> NodeEntry {
    NodeEntry { key: key.to_owned(), key_range: entry.key_range.clone(), value }
}

/// An entry that is not written.
fn added(object: &Node, key: &str, value: NodeValue) -> NodeEntry {
    let start = object.range.start;
    NodeEntry { key: key.to_owned(), key_range: start..start + 1, value: like(object, value) }
}

fn grader(reader: &mut ForeignReader<'_>, assertion: &Node) -> Option<Node> {
    if !assertion.is_map() {
        reader.wrong_type("an assertion", "an object with `type`", assertion);
        return None;
    }
    let kind = reader.required_text(assertion, "type")?;
    if !words(TYPES).contains(&kind) {
        let Some(near) = nearest(kind, words(TYPES)) else { return Some(assertion.clone()) };
        let range = assertion.get("type").map_or(0..0, |written| written.range.clone());
        let message = format!("unknown assertion `{kind}`");
        reader.problem_with_help(Code::InvalidCheck, range, message, format!("did you mean `{near}`?"));
        return None;
    }
    let (place, how) = kind.split_once('_').unwrap_or((kind, ""));
    let (is_contains, is_matches) = (how.ends_with("contains"), how.ends_with("matches"));
    if is_contains {
        reader.required_text(assertion, "value")?;
    }
    let (mut entries, mut config) = (Vec::new(), Vec::new());
    for entry in assertion.entries() {
        let value = &entry.value;
        match (entry.key.as_str(), value.text()) {
            ("type", _) => {
                entries.push(renamed(entry, "type", like(value, NodeValue::Text(kind.replace('_', "-")))));
            }
            ("value", _) if is_contains && place == "output" => config.push(renamed(entry, "substring", value.clone())),
            ("pattern", Some(pattern)) if is_matches => {
                let any_case = NodeValue::Text(format!("(?i){pattern}"));
                config.push(renamed(entry, "pattern", like(value, any_case)));
            }
            _ => config.push(entry.clone()),
        }
    }
    if !config.is_empty() {
        entries.push(added(assertion, "config", NodeValue::Map(config)));
    }
    Some(like(assertion, NodeValue::Map(entries)))
}

fn environment_of(reader: &mut ForeignReader<'_>, setup: &Node) -> Node {
    let (mut entries, mut files) = (Vec::new(), Vec::new());
    for entry in setup.entries() {
        match entry.key.as_str() {
            "copy_test_files" => {
                if reader.flag(setup, "copy_test_files") == Some(true) {
                    let here = |key| added(&entry.value, key, NodeValue::Text(".".to_owned()));
                    files.insert(0, like(&entry.value, NodeValue::Map(vec![here("src"), here("dest")])));
                }
            }
            "files" => {
                let written = reader.list(setup, "files").unwrap_or_default();
                files.extend(written.iter().filter_map(|written| input_file(reader, written)));
            }
            "commands" => {
                let commands = reader.texts(setup, "commands").into_iter().map(|command| {
                    // A command may fail, as a build that is to be mended. A program that is missing is another matter.
                    like(&entry.value, NodeValue::Text(format!("({command}\n) || test $? -lt 126")))
                });
                let commands = NodeValue::List(commands.collect());
                entries.push(renamed(entry, "commands", like(&entry.value, commands)));
            }
            _ => entries.push(entry.clone()),
        }
    }
    if !files.is_empty() {
        entries.push(added(setup, "files", NodeValue::List(files)));
    }
    like(setup, NodeValue::Map(entries))
}

/// The source of a file is named from the directory of the skill, and `src` from that of the spec.
fn input_file(reader: &mut ForeignReader<'_>, written: &Node) -> Option<Node> {
    if !written.is_map() {
        reader.wrong_type("an element of `files`", "an object with `path`", written);
        return None;
    }
    reader.required_text(written, "path")?;
    if written.get("content").is_none() {
        reader.required_text(written, "source")?;
    }
    let entries = written.entries().iter().map(|entry| match (entry.key.as_str(), entry.value.text()) {
        ("path", _) => renamed(entry, "dest", entry.value.clone()),
        ("source", Some(source)) => {
            let source = from_spec(reader).join(source).to_string_lossy().into_owned();
            renamed(entry, "src", like(&entry.value, NodeValue::Text(source)))
        }
        _ => entry.clone(),
    });
    Some(like(written, NodeValue::Map(entries.collect())))
}

/// The directory of the skill, from that of the spec.
fn from_spec(reader: &ForeignReader<'_>) -> PathBuf {
    let (up, file) = (reader.folder().iter().map(|_| ".."), reader.file);
    up.collect::<PathBuf>().join(file.skill.and_then(|skill| file.directory_of(skill)).unwrap_or(Path::new("")))
}
