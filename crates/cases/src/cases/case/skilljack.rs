//! `tasks.yaml` of skilljack-evals.
//!
//! ```yaml
//! skill: greeting
//! tasks:
//!   - id: gr-001
//!     prompt: Please greet Ada
//!     expected_skill_load: greeting        # or none
//!     deterministic: { expect_skill_activation: true, expect_marker: GREETING_SUCCESS }
//!     criteria: { output: { weight: 1, description: The greeting is friendly } }
//!     golden_checklist: [It names Ada]
//! ```
//!
//! Other programs have files of this name. A file is one of skilljack-evals if it names a skill and a task says in its words what is
//! expected.

use super::document::Node;
use super::fields::assertions;
use super::foreign_reader::Meaning::{By, EachBy, Field, Known, Object};
use super::foreign_reader::{ForeignReader, KeyTable};
use super::graders::said;
use crate::cases::case::{CaseFormat, FileCases, FileKeys, ForeignFiles};
use crate::checks::TextPlace;
use crate::checks::pattern::{Pattern, Style};

/// Tasks with what is expected of activation, of the answer and of tools.
pub static FORMAT: CaseFormat = CaseFormat::foreign(
    "skilljack task",
    ForeignFiles {
        names: &[],
        possible_names: &["tasks.yaml", "tasks.yml"],
        mark: "skill",
        keys: &["skill", "tasks", "prompt"],
        about: "[tasks of skilljack-evals](#what-a-task-of-skilljack-evals-asks-for)",
        all_keys: || FileKeys::of(&[&FILE, &TASK, &DETERMINISTIC]),
        parse,
    },
);

const EXPECTED_SKILL: &str = "expected_skill_load";

/// The skill that loads if none may.
const NONE: &str = "none";

const ACTIVATION: &str = "expect_skill_activation";

static FILE: KeyTable = KeyTable::of(&[("skill tasks", Known), ("defaults", Object(&DEFAULTS))]).and_notes("version");

static DEFAULTS: KeyTable = KeyTable::of(&[("expected_skill_load criteria", Known)]);

static TASK: KeyTable = KeyTable::of(&[
    // What no judge checks is at `deterministic`.
    ("id deterministic", Known),
    ("prompt", Field("prompt")),
    (EXPECTED_SKILL, By(activation)),
    ("criteria", By(criteria)),
    ("golden_checklist", By(checklist)),
]);

static DETERMINISTIC: KeyTable = KeyTable::of(&[
    (ACTIVATION, Known),
    ("expect_marker", By(marker)),
    ("expect_tool_calls expect_no_tool_calls", EachBy(other_tool)),
]);

fn parse(mut reader: ForeignReader<'_>) -> Option<FileCases> {
    let root = reader.root;
    let tasks = root.get("tasks")?.elements()?;
    let skill = root.get("skill")?.text()?;
    // The keys of a task that other programs do not have, with a prompt and a skill.
    let marks = [EXPECTED_SKILL, "deterministic", "criteria", "golden_checklist"];
    let is_ours = |task: &Node| task.get("prompt").is_some() && marks.iter().any(|key| task.get(key).is_some());
    if !tasks.iter().any(is_ours) {
        return None;
    }
    reader.read_root(&FILE, &["tasks"]);
    reader.case.skill = reader.file.skill_slug(skill);
    Some(reader.tasks(tasks, "id", "prompt", &TASK))
}

fn activation(reader: &mut ForeignReader<'_>, task: &Node, key: &'static str) {
    let mut expected = [Some(task), reader.root.get("defaults")].into_iter().flatten();
    let expected = expected.find_map(|object| reader.text(object, key)).filter(|name| !name.is_empty());
    let is_activated = reader.map(task, "deterministic").map(|deterministic| {
        reader.check_keys(deterministic, &DETERMINISTIC);
        let is_activated = reader.flag(deterministic, ACTIVATION).unwrap_or(true);
        reader.read_keys(deterministic, &DETERMINISTIC);
        is_activated
    });
    if is_activated.unwrap_or(expected != Some(NONE)) {
        match expected.filter(|name| *name != NONE).map(|name| reader.file.skill_slug(name)) {
            Some(other) if other != reader.case.skill => reader.names_skills(vec![other], true),
            None if is_activated.is_none() => {}
            _ => reader.case.should_trigger = Some(true),
        }
    } else {
        reader.case.should_trigger = Some(false);
        // No other skill may load either.
        reader.names_skills(vec!["*".to_owned()], false);
    }
}

fn marker(reader: &mut ForeignReader<'_>, deterministic: &Node, key: &'static str) {
    if let (Some(marker), Some(value)) = (reader.text(deterministic, key), deterministic.get(key)) {
        let pattern = Pattern { text: marker.to_owned(), style: Style::Literal };
        reader.add_at(key, value, said(TextPlace::Final, pattern, false));
    }
}

fn other_tool(reader: &mut ForeignReader<'_>, tool: &Node) {
    reader.other_tool(tool, tool.text().unwrap_or_default());
}

/// Adds what a judge scores: the description of each dimension in the first of the objects that has one.
fn criteria(reader: &mut ForeignReader<'_>, task: &Node, key: &'static str) {
    let dimensions = ["discovery", "adherence", "output"];
    let objects = [Some(task), reader.root.get("defaults")].into_iter().flatten();
    let criteria: Vec<&Node> = objects.filter_map(|object| reader.map(object, key)).collect();
    for criteria in &criteria {
        reader.only_keys(criteria, &dimensions, "");
    }
    for dimension in dimensions {
        let scored: Vec<&Node> = criteria.iter().filter_map(|criteria| reader.map(criteria, dimension)).collect();
        for scored in &scored {
            reader.only_keys(scored, &["description"], "weight");
        }
        let described = scored.into_iter().find_map(|scored| Some((scored, scored.get("description")?)));
        if let Some((scored, written)) = described
            && let Some(text) = reader.text(scored, "description").filter(|text| !text.trim().is_empty())
        {
            reader.judge(written, text);
        }
    }
}

fn checklist(reader: &mut ForeignReader<'_>, task: &Node, key: &'static str) {
    if let Some(list) = task.get(key).filter(|list| list.elements().is_none_or(|list| !list.is_empty())) {
        let statements = assertions(reader, key, list);
        reader.case.assertions.extend(statements);
    }
}
