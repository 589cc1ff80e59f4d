//! Eval specs of waza: `eval.yaml` that names task files, each a case.
//!
//! ```yaml
//! skill: greeting
//! config: { trials_per_task: 3, timeout_seconds: 300 }
//! graders:                                   # of every case
//!   - { type: text, name: polite, config: { not_contains: [damn] } }
//! tasks: ["tasks/*.yaml"]
//! ```
//!
//! ```yaml
//! # tasks/ada.yaml
//! id: ada
//! inputs: { prompt: Greet Ada }
//! expected: { output_contains: [Ada], should_trigger: true }
//! ```
//!
//! What waza calls the output are all messages of the agent. A run passes if each of its graders passes, so no weight and no score
//! matters here. Its trigger sets are read as all others are ([`super::evals_json`]).

mod assertion;
mod behavior;
mod expected;
mod graders;
mod messages;
mod pattern;
mod task;
mod trigger_claim;

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::cases::case::document::{Document, Node, NodeEntry};
use crate::cases::case::named_files::PathPatterns;
use crate::cases::case::{Case, CaseFormat, FileCases, ForeignFile, ForeignFiles};
use crate::profile::DEFAULT_MODE;
use crate::settings::limits::LONGEST_TIMEOUT;
use crate::text::diagnostic::{Code, nearest};

use task::WazaTask;

/// Tasks and how their trials are graded.
pub static FORMAT: CaseFormat = CaseFormat {
    name: "waza task",
    default_mode: DEFAULT_MODE,
    files: None,
    foreign: Some(ForeignFiles {
        names: &[],
        possible_names: &["*eval.yaml", "*eval.yml", "eval-trigger.yaml", "eval-trigger.yml"],
        // Waza runs no file without it.
        mark: TRIALS,
        keys: &[TRIALS, TASKS],
        parse,
    }),
};

/// The key of the patterns of task files.
const TASKS: &str = "tasks";

/// The key of the settings of the runs.
const CONFIG: &str = "config";

/// The key of the number of trials.
const TRIALS: &str = "trials_per_task";

/// The key of commands that waza runs around tasks.
const HOOKS: &str = "hooks";

/// The key of the version of the format.
const SCHEMA_VERSION: &str = "schemaVersion";

/// The versions that are read, by their first number.
const MAJOR_VERSIONS: [&str; 2] = ["1", "2"];

/// Keys of a file that ask for nothing of a trial. Waza computes no metrics, and compares with a baseline besides grading.
const NOTES: [&str; 6] = ["$schema", "name", "description", "version", "metrics", "baseline"];

/// Settings of a run that ask for nothing of a trial, or that the settings of this program decide: the agent, its model and its
/// skills, and what runs at once.
const CONFIG_NOTES: [&str; 13] = [
    "parallel",
    "workers",
    "max_workers",
    "fail_fast",
    "executor",
    "model",
    "judge_model",
    "group_by",
    // Waza repeats a failed run. Here, none is lost.
    "max_attempts",
    "inject_skill_body",
    "skill_directories",
    "required_skills",
    "reasoning_effort",
];

fn parse(file: &ForeignFile<'_>, mut document: Document<'_>, root: &Node) -> Option<FileCases> {
    // The word may be in the prompt of another program.
    let trials =
        |config: &&NodeEntry| config.value.entries().iter().any(|entry| nearest(&entry.key, [TRIALS]).is_some());
    root.entries().iter().filter(|entry| nearest(&entry.key, [CONFIG]).is_some()).find(trials)?;
    document.duplicate_keys(root, &[]);
    if let Some(config) = document.required(root, CONFIG) {
        document.required(config, TRIALS);
    }
    let mut shared = Case::default();
    let known = ["skill", TASKS, CONFIG, HOOKS, SCHEMA_VERSION, graders::KEY];
    shared.unsupported = document.unsupported_keys(root, &known, &NOTES);
    settings(&mut document, root, &mut shared);
    let skill = document.text(root, "skill").map(str::to_owned).or_else(|| file.skill.map(str::to_owned));
    shared.skill = skill.map(|name| file.skill_slug(&name)).unwrap_or_default();
    let tasks = tasks(&mut document, root, file);
    let problems = document.problems.take();
    let mut reader = WazaTask { file, spec: document, root, shared, names: HashSet::new() };
    let cases = tasks.iter().map(|path| reader.found(path)).collect();
    Some(FileCases { cases, problems, ..FileCases::default() })
}

/// What the file says about the runs of every case.
fn settings(document: &mut Document<'_>, root: &Node, shared: &mut Case) {
    if let Some(version) = document.text(root, SCHEMA_VERSION)
        && !MAJOR_VERSIONS.iter().any(|major| version.split('.').next() == Some(major))
        && let Some(written) = root.get(SCHEMA_VERSION)
    {
        shared.unsupported.push(document.unsupported("this version of the format", written));
    }
    for hook in document.map(root, HOOKS).map(Node::entries).unwrap_or_default() {
        if hook.value.elements().is_none_or(|commands| !commands.is_empty()) {
            shared.unsupported.push(document.unsupported(format!("the hook `{}`", hook.key), &hook.value));
        }
    }
    let Some(config) = document.map(root, CONFIG) else { return };
    let known = [TRIALS, "timeout_seconds"];
    shared.unsupported.extend(document.unsupported_keys(config, &known, &CONFIG_NOTES));
    shared.repetition.trials = document.trials(config, TRIALS);
    shared.timeout = timeout(document, config);
}

/// The number of seconds at `timeout_seconds`, which may be absent.
fn timeout(document: &mut Document<'_>, object: &Node) -> Option<Duration> {
    let (bounds, expected) = (1..=LONGEST_TIMEOUT.as_secs(), "a number of seconds, up to a day");
    document.count(object, "timeout_seconds", bounds, expected).map(Duration::from_secs)
}

/// The task files, each once. A pattern that names none is a problem.
fn tasks(document: &mut Document<'_>, root: &Node, file: &ForeignFile<'_>) -> Vec<PathBuf> {
    let mut tasks = Vec::new();
    if let Some(list) = document.required(root, TASKS) {
        document.not_empty(TASKS, list);
    }
    for pattern in document.list(root, TASKS).unwrap_or_default() {
        let Some(text) = pattern.text() else {
            document.wrong_type(
                "an element of `tasks`",
                "the path of a task file, or a pattern of such paths",
                pattern,
            );
            continue;
        };
        match PathPatterns::Go.files(text, file) {
            Ok(paths) if paths.is_empty() => {
                document.problem(Code::EmptyValue, pattern.range.clone(), format!("`{text}` names no file"));
            }
            Ok(paths) => tasks.extend(paths),
            Err(why) => document.bad_path(text, &why, pattern),
        }
    }
    let mut seen = HashSet::new();
    tasks.retain(|path| seen.insert(path.clone()));
    tasks
}
