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

use super::foreign_tasks::ForeignTasks;
use crate::cases::case::document::{Document, Node};
use crate::cases::case::fields::{CaseDraft, assertions};
use crate::cases::case::{Assertion, CaseFormat, FileCases, ForeignFile, ForeignFiles};
use crate::checks::pattern::{Pattern, Style};
use crate::checks::{self, Check, Origin, TextPlace};
use crate::profile::DEFAULT_MODE;
use crate::text::diagnostic::shorten;

/// Tasks with what is expected of activation, of the answer and of tools.
pub static FORMAT: CaseFormat = CaseFormat {
    name: "skilljack task",
    default_mode: DEFAULT_MODE,
    files: None,
    foreign: Some(ForeignFiles {
        names: &[],
        possible_names: &["tasks.yaml", "tasks.yml"],
        mark: "skill",
        keys: &["skill", "tasks", "prompt"],
        parse,
    }),
};

const EXPECTED_SKILL: &str = "expected_skill_load";

/// The skill that loads if none may.
const NONE: &str = "none";

/// The key of the checks that no judge makes.
const DETERMINISTIC: &str = "deterministic";

/// The key of what a judge scores.
const CRITERIA: &str = "criteria";

/// The key of what a judge looks for.
const CHECKLIST: &str = "golden_checklist";

/// The keys of a task that other programs do not have, with a prompt and a skill.
const MARKS: [&str; 4] = [EXPECTED_SKILL, DETERMINISTIC, CRITERIA, CHECKLIST];

/// What a judge scores of a task.
const DIMENSIONS: [&str; 3] = ["discovery", "adherence", "output"];

fn parse(file: &ForeignFile<'_>, mut document: Document<'_>, root: &Node) -> Option<FileCases> {
    let tasks = root.get("tasks")?.elements()?;
    let skill = root.get("skill")?.text()?;
    let is_ours = |task: &Node| task.get("prompt").is_some() && MARKS.iter().any(|key| task.get(key).is_some());
    if !tasks.iter().any(is_ours) {
        return None;
    }
    let mut shared = document.unsupported_keys(root, &["skill", "defaults", "tasks"], &["version"]);
    document.duplicate_keys(root, &["tasks"]);
    let defaults = document.map(root, "defaults");
    if let Some(defaults) = defaults {
        shared.extend(document.unsupported_keys(defaults, &[EXPECTED_SKILL, CRITERIA], &[]));
    }
    let skill = file.skill_slug(skill);
    let tasks_of_file = ForeignTasks { format: &FORMAT, file, skill, shared, name: "id", prompt: "prompt" };
    Some(tasks_of_file.read(document, tasks, |document, task, draft| read(document, file, defaults, task, draft)))
}

fn read(
    document: &mut Document<'_>,
    file: &ForeignFile<'_>,
    defaults: Option<&Node>,
    task: &Node,
    draft: &mut CaseDraft,
) {
    let unsupported = document.unsupported_keys(task, &[&["id", "prompt"][..], &MARKS].concat(), &[]);
    draft.case.unsupported.extend(unsupported);
    if let Some(prompt) = document.required_text(task, "prompt") {
        prompt.clone_into(&mut draft.case.prompt);
    }
    let objects = [Some(task), defaults];
    let mut expected = objects.into_iter().flatten().filter_map(|object| document.text(object, EXPECTED_SKILL));
    let expected = expected.next().map(str::to_owned).filter(|name| !name.is_empty());
    let is_activated = deterministic(document, task, draft);
    if is_activated.unwrap_or(expected.as_deref() != Some(NONE)) {
        match expected.filter(|name| name != NONE).map(|name| file.skill_slug(&name)) {
            Some(other) if other != draft.case.skill => {
                draft.case.checks.push(checks::activates(vec![other], false));
            }
            None if is_activated.is_none() => {}
            _ => draft.should_trigger(Some(true)),
        }
    } else {
        draft.should_trigger(Some(false));
        // No other skill may load either.
        draft.case.checks.push(checks::rejects(vec!["*".to_owned()]));
    }
    judged(document, objects, draft);
    if let Some(list) = task.get(CHECKLIST).filter(|list| list.elements().is_none_or(|list| !list.is_empty())) {
        draft.case.assertions.extend(assertions(document, CHECKLIST, list));
    }
}

/// Adds what a judge scores: the description of each dimension in the first of these objects that has one.
fn judged(document: &mut Document<'_>, objects: [Option<&Node>; 2], draft: &mut CaseDraft) {
    let case = &mut draft.case;
    let criteria: Vec<&Node> =
        objects.into_iter().flatten().filter_map(|object| document.map(object, CRITERIA)).collect();
    for criteria in &criteria {
        case.unsupported.extend(document.unsupported_keys(criteria, &DIMENSIONS, &[]));
    }
    for dimension in DIMENSIONS {
        let scored: Vec<&Node> = criteria.iter().filter_map(|criteria| document.map(criteria, dimension)).collect();
        for scored in &scored {
            case.unsupported.extend(document.unsupported_keys(scored, &["description"], &["weight"]));
        }
        let described = scored.into_iter().find_map(|scored| Some((scored, scored.get("description")?)));
        if let Some((scored, place)) = described
            && let Some(text) = document.text(scored, "description").filter(|text| !text.trim().is_empty())
        {
            let place = document.place(place.range.clone());
            case.assertions.push(Assertion { text: text.to_owned(), place, weight: None });
        }
    }
}

/// Adds what a program can check. Returns whether a skill should be activated, if the task says so.
fn deterministic(document: &mut Document<'_>, task: &Node, draft: &mut CaseDraft) -> Option<bool> {
    let object = document.map(task, DETERMINISTIC)?;
    let tools = ["expect_tool_calls", "expect_no_tool_calls"];
    let known = ["expect_skill_activation", "expect_marker", tools[0], tools[1]];
    draft.case.unsupported.extend(document.unsupported_keys(object, &known, &[]));
    let is_activated = document.flag(object, "expect_skill_activation").unwrap_or(true);
    if let Some(marker) = document.text(object, "expect_marker") {
        let pattern = Pattern { text: marker.to_owned(), style: Style::Literal };
        let check = checks::text(TextPlace::Final, pattern.into());
        let line = object.get("expect_marker").map_or(0, |node| document.line_of(node.range.start));
        let origin = Origin { key: "expect_marker".into(), line, elsewhere: None };
        draft.case.checks.push(Check { origin, ..check });
    }
    for key in tools {
        for tool in document.list(object, key).unwrap_or_default() {
            let what = format!("a call of the tool `{}`", shorten(tool.text().unwrap_or_default()));
            draft.case.unsupported.push(document.unsupported(what, tool));
        }
    }
    Some(is_activated)
}
