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

mod graders;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use graders::{BEHAVIOR, read_pattern};

use super::document::{Document, Node, NodeEntry, Syntax};
use super::foreign_reader::Meaning::{By, EachBy, Known, Object, Said, Texts, Trials};
use super::foreign_reader::{ForeignReader, KeyTable, SECONDS, name, said};
use super::named_files::PathPatterns;
use crate::cases::case::{CaseFormat, FileCases, ForeignFiles, FoundCase};
use crate::cases::repo_files::FileKind;
use crate::checks::pattern::{Pattern, Style};
use crate::checks::{self, TextPlace};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, nearest, shorten};
use crate::text::relative_path::{RelativePath, resolved};
use crate::trial::input_file::InputContent;

/// Tasks and how their trials are graded.
pub static FORMAT: CaseFormat = CaseFormat::foreign(
    "waza task",
    ForeignFiles {
        names: &[],
        possible_names: &["*eval.yaml", "*eval.yml", "eval-trigger.yaml", "eval-trigger.yml"],
        // Waza runs no file without it.
        mark: TRIALS,
        keys: &[TRIALS, TASKS],
        parse,
    },
);

/// The key of the patterns of task files.
const TASKS: &str = "tasks";

/// The key of the settings of the runs.
const CONFIG: &str = "config";

/// The key of the number of trials.
const TRIALS: &str = "trials_per_task";

/// The key of the directory of a task's files.
const CONTEXT_DIR: &str = "context_dir";

static SPEC: KeyTable = KeyTable::of(&[
    ("schemaVersion", By(version)),
    ("hooks", By(hooks)),
    (CONFIG, Object(&RUNS)),
    ("skill", By(skill_under_test)),
    (TASKS, Known),
    (GRADERS, Known),
])
.and_notes("$schema name description version metrics baseline");

/// What else is about runs asks for nothing of a trial, or the settings of this program decide it: the agent, its model and its skills,
/// and what runs at once.
static RUNS: KeyTable = KeyTable::of(&[(TRIALS, Trials), ("timeout_seconds", SECONDS)]).and_notes(
    "parallel workers \
    max_workers fail_fast executor model judge_model group_by max_attempts inject_skill_body skill_directories \
    required_skills reasoning_effort",
);

static TASK: KeyTable = KeyTable::of(&[
    ("id", Known),
    ("enabled", By(is_enabled)),
    ("tags", Texts(|case| &mut case.tags)),
    ("timeout_seconds", SECONDS),
    ("inputs", By(inputs)),
    (CONTEXT_DIR, Known),
    ("expected", By(expected)),
    (GRADERS, By(all_graders)),
])
.and_notes("name description golden schemaVersion");

static INPUTS: KeyTable = KeyTable::of(&[
    ("prompt_file", Known),
    ("prompt", By(prompt)),
    ("follow_up_prompts", Texts(|case| &mut case.follow_ups)),
    ("files", Known),
])
.and_notes("context");

static EXPECTED: KeyTable = KeyTable::of(&[
    ("output_contains", Said(TextPlace::Messages, Style::Literal, false)),
    ("output_not_contains", Said(TextPlace::Messages, Style::Literal, true)),
    ("output_contains_any", By(contains_any)),
    ("outcomes", EachBy(outcome)),
    ("behavior", Object(&BEHAVIOR)),
    ("should_trigger", Known),
]);

/// The key of the graders of a spec or a task.
const GRADERS: &str = "graders";

fn parse(mut reader: ForeignReader<'_>) -> Option<FileCases> {
    let (file, root) = (reader.file, reader.root);
    // The word may be in the prompt of another program.
    let trials =
        |config: &&NodeEntry| config.value.entries().iter().any(|entry| nearest(&entry.key, [TRIALS]).is_some());
    root.entries().iter().filter(|entry| nearest(&entry.key, [CONFIG]).is_some()).find(trials)?;
    reader.duplicate_keys(root, &[]);
    if let Some(config) = reader.required(root, CONFIG) {
        reader.required(config, TRIALS);
    }
    reader.read_pattern = read_pattern;
    reader.read(root, &SPEC);
    let paths = tasks(&mut reader);
    let read = paths.iter().map(|path| file.tree.read(path)).collect::<Vec<_>>();
    let tasks = paths.iter().zip(&read).collect::<Vec<_>>();
    let mut reader = reader;
    let documents = tasks
        .iter()
        .map(|(path, bytes)| Document::new(path, bytes.as_ref().map(Vec::as_slice).unwrap_or_default(), Syntax::Yaml));
    reader.documents.extend(documents);
    Some(reader.cases(&tasks, |reader, (path, bytes), number| found(reader, path, bytes.as_ref().err(), number)))
}

/// The case in the file at this path, whose document has this position.
fn found(reader: &mut ForeignReader<'_>, path: &Path, error: Option<&std::io::Error>, at: usize) -> FoundCase {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    reader.at = at;
    let root = if error.is_none() { reader.documents[at].root() } else { None };
    let named = root.as_ref().and_then(|root| root.get("id").or_else(|| root.get("name")));
    let name = named.and_then(name).filter(|name| !name.trim().is_empty()).unwrap_or_else(|| stem.to_string());
    let id = reader.free_id(&name, || format!("{stem}-{name}"));
    let Some(root) = root else {
        let unreadable = error.map(|error| {
            Diagnostic::new(Code::Unreadable, SourceLocation::file(path), format!("cannot be read: {error}"))
        });
        let problems = unreadable.map_or_else(|| reader.problems.take(), |problem| vec![problem]);
        return reader.broken(id, path, problems);
    };
    reader.start(id, &root);
    reader.locate_value("prompt", root.get("inputs").and_then(|inputs| inputs.get("prompt")));
    reader.duplicate_keys(&root, &[]);
    reader.read(&root, &TASK);
    let of_spec = reader.documents[0].problems.take();
    reader.problems.extend(of_spec);
    reader.finish()
}

/// The versions that are read, by their first number, are 1 and 2.
fn version(reader: &mut ForeignReader<'_>, root: &Node, key: &'static str) {
    if let Some(version) = reader.text(root, key)
        && !["1", "2"].iter().any(|major| version.split('.').next() == Some(major))
        && let Some(written) = root.get(key)
    {
        reader.not_done(written, "this version of the format");
    }
}

/// Commands that waza runs around tasks.
fn hooks(reader: &mut ForeignReader<'_>, root: &Node, key: &'static str) {
    for hook in reader.map(root, key).map(Node::entries).unwrap_or_default() {
        if hook.value.elements().is_none_or(|commands| !commands.is_empty()) {
            reader.not_done(&hook.value, format!("the hook `{}`", hook.key));
        }
    }
}

fn skill_under_test(reader: &mut ForeignReader<'_>, root: &Node, key: &'static str) {
    let name = reader.text(root, key).or(reader.file.skill);
    reader.case.skill = name.map(|name| reader.file.skill_slug(name)).unwrap_or_default();
}

/// The task files, each once. A pattern that names none is a problem.
fn tasks(reader: &mut ForeignReader<'_>) -> Vec<PathBuf> {
    let root = reader.root;
    if let Some(list) = reader.required(root, TASKS) {
        reader.not_empty(TASKS, list);
    }
    let mut tasks = Vec::new();
    for pattern in reader.list(root, TASKS).unwrap_or_default() {
        let Some(text) = pattern.text() else {
            let expected = "the path of a task file, or a pattern of such paths";
            reader.wrong_type("an element of `tasks`", expected, pattern);
            continue;
        };
        match PathPatterns::Go.files(text, reader.file) {
            Ok(paths) if paths.is_empty() => {
                reader.problem(Code::EmptyValue, pattern.range.clone(), format!("`{text}` names no file"));
            }
            Ok(paths) => tasks.extend(paths),
            Err(why) => reader.bad_path(text, &why, pattern),
        }
    }
    let mut seen = HashSet::new();
    tasks.retain(|path| seen.insert(path.clone()));
    tasks
}

fn is_enabled(reader: &mut ForeignReader<'_>, root: &Node, key: &'static str) {
    if reader.flag(root, key) == Some(false) {
        reader.not_done(root.get(key).unwrap_or(root), "a task that is switched off");
    }
}

fn inputs(reader: &mut ForeignReader<'_>, root: &Node, key: &'static str) {
    reader.required(root, key);
    let Some(inputs) = reader.map(root, key) else { return };
    reader.read(inputs, &INPUTS);
    let folder = context_folder(reader, root);
    for written in reader.list(inputs, "files").unwrap_or_default() {
        reader.only_keys(written, &["path", "content"], "");
        let Some(text) = reader.required_text(written, "path") else { continue };
        match (RelativePath::parse(text), reader.text(written, "content")) {
            (Ok(path), Some(content)) if !content.is_empty() => {
                reader.add_file(path, InputContent::Text(content.to_owned()));
            }
            (Ok(path), _) => reader.add_file(path.clone(), InputContent::Source(path.under(&folder))),
            (Err(why), _) => reader.bad_path(text, why, written),
        }
    }
}

/// The directory of the files of a task. Waza starts at the directory in which it is run: mostly that of the spec, or the root.
fn context_folder(reader: &mut ForeignReader<'_>, root: &Node) -> PathBuf {
    let of_spec = reader.folder();
    let Some(text) = reader.text(root, CONTEXT_DIR) else { return of_spec.join("fixtures") };
    let places = [resolved(&of_spec.join(text)), resolved(Path::new(text))];
    let found = places.into_iter().flatten().find(|path| reader.file.tree.kind(path) == FileKind::Folder);
    if let (None, Some(written)) = (&found, root.get(CONTEXT_DIR)) {
        reader.bad_path(text, "is not a directory of the repository", written);
    }
    found.unwrap_or_default()
}

fn prompt(reader: &mut ForeignReader<'_>, inputs: &Node, key: &'static str) {
    let Some(written) = inputs.get("prompt_file") else {
        if let Some(prompt) = reader.required_text(inputs, key) {
            prompt.clone_into(&mut reader.case.prompt);
        }
        return;
    };
    if let Some(prompt) = inputs.get(key) {
        return reader.not_done(prompt, "`prompt` next to `prompt_file`");
    }
    let Some(text) = reader.required_text(inputs, "prompt_file") else { return };
    let path = resolved(&reader.path.parent().unwrap_or(Path::new("")).join(text));
    let path = path.ok_or_else(|| "it is outside the repository".to_owned());
    let (code, message) = match path.and_then(|path| reader.file.text_of(&path)) {
        Ok(prompt) if prompt.trim().is_empty() => (Code::EmptyValue, format!("`{}` is empty", shorten(text))),
        Ok(prompt) => return reader.case.prompt = prompt,
        Err(why) => (Code::Unreadable, format!("`{}` cannot be read: {why}", shorten(text))),
    };
    reader.problem(code, written.range.clone(), message);
}

fn expected(reader: &mut ForeignReader<'_>, root: &Node, key: &'static str) {
    let Some(expected) = reader.map(root, key) else { return };
    let before = reader.case.checks.len();
    reader.read(expected, &EXPECTED);
    reader.locate_checks(key, expected, before);
    if let Some(should) = reader.flag(expected, "should_trigger") {
        reader.agrees(should);
    }
}

fn contains_any(reader: &mut ForeignReader<'_>, expected: &Node, key: &'static str) {
    let texts = reader.text_list(expected, key);
    if !texts.is_empty() {
        let pattern = Pattern::one_of(texts.iter().map(|text| (text.as_str(), true)));
        reader.case.checks.push(said(TextPlace::Messages, pattern, false));
    }
}

fn outcome(reader: &mut ForeignReader<'_>, outcome: &Node) {
    let Some(kind) = reader.required_text(outcome, "type") else { return };
    match (kind, outcome.get("tool_name")) {
        ("task_completed", None) => reader.case.checks.push(checks::final_message()),
        ("tool_called", Some(tool)) => reader.calls_tool(tool, &[], true),
        _ => return reader.not_done(outcome, format!("the outcome `{}`", shorten(kind))),
    }
    reader.only_keys(outcome, &["type", "tool_name"], "");
}

/// Adds the checks of the graders of the spec, and of the task with this root.
fn all_graders(reader: &mut ForeignReader<'_>, root: &Node, key: &'static str) {
    let task = reader.at;
    for (at, object) in [(0, reader.root), (task, root)] {
        reader.at = at;
        for node in reader.list(object, key).unwrap_or_default() {
            graders::grader(reader, node);
        }
    }
}
