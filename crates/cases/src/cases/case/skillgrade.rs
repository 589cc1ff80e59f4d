//! `eval.yaml` of skillgrade.
//!
//! ```yaml
//! version: "1"
//! defaults: { trials: 5, timeout: 300, threshold: 0.8 }
//! tasks:
//!   - name: greets
//!     instruction: Greet Ada              # or a file with it
//!     workspace: [{ src: fixtures/names.txt, dest: names.txt }]
//!     graders:
//!       - { type: deterministic, run: bash graders/check.sh }
//!       - { type: llm_rubric, rubric: The greeting is friendly }
//! ```
//!
//! Other programs have files of this name. The tasks of skillgrade have an `instruction`.

use std::ffi::OsString;
use std::path::Path;

use super::document::Node;
use super::foreign_reader::Meaning::{By, EachBy, Field, Known, Object};
use super::foreign_reader::{ForeignReader, KeyTable};
use super::graders::{Graders, quoted};
use crate::cases::case::{CaseFormat, FileCases, FileKeys, ForeignFiles};
use crate::cases::repo_files::FileKind;
use crate::checks;
use crate::skill::SKILL_FILE;
use crate::text::diagnostic::shorten;
use crate::text::name::{RelativePath, resolved};
use crate::trial::input_file::InputContent;
use crate::trial::outcome::Weight;

/// Tasks and the graders of what the agent made.
pub static FORMAT: CaseFormat = CaseFormat::foreign(
    "skillgrade task",
    ForeignFiles {
        names: &[],
        possible_names: &["eval.yaml"],
        mark: INSTRUCTION,
        keys: &["tasks", INSTRUCTION, GRADERS],
        about: "[tasks of skillgrade](#what-a-task-of-skillgrade-asks-for)",
        all_keys: || FileKeys::of(&[&FILE, &TASK]).with_names(&KINDS),
        parse,
    },
);

/// The key of a prompt.
const INSTRUCTION: &str = "instruction";

const GRADERS: &str = "graders";

/// The graders, each with the key of what it asks.
static KINDS: Graders<&str> = Graders::of("grader", &[("deterministic", "run"), ("llm_rubric", "rubric")]);

/// The key of what a grader counts in the score of a trial.
const WEIGHT: &str = "weight";

/// Keys that choose agents, judges and machines, or that no trial needs.
const NOTES: &str = "acp agent description environment grader_model provider solution weight";

static FILE: KeyTable = KeyTable::of(&[("version skill tasks", Known), ("defaults", Object(&DEFAULTS))]);

static DEFAULTS: KeyTable = KeyTable::of(&[("trials timeout threshold docker", Known)]).and_notes(NOTES);

static TASK: KeyTable = KeyTable::of(&[
    ("name", Known),
    (INSTRUCTION, By(instruction)),
    // A threshold is about the mean score of the trials. The share of trials with full scores is never more, so to reach it asks for no
    // less.
    ("trials timeout threshold", By(run)),
    ("docker", By(docker)),
    ("workspace", EachBy(copy)),
    (GRADERS, By(graders)),
])
.and_notes(NOTES);

fn parse(mut reader: ForeignReader<'_>) -> Option<FileCases> {
    let root = reader.root;
    let tasks = root.get("tasks")?.elements()?;
    if !tasks.iter().any(|task| task.entry(INSTRUCTION).is_some()) {
        return None;
    }
    reader.read_root(&FILE, &["tasks"]);
    // The skill is that of the directory which the file names, or which holds the file.
    let named = reader.text(root, "skill").and_then(|named| resolved(&reader.folder().join(named)));
    let directory = named.map(|path| if path.ends_with(SKILL_FILE) { path.with_file_name("") } else { path });
    let name = directory.as_deref().and_then(Path::file_name);
    let slug = name.map(|name| reader.file.skill_slug(&name.to_string_lossy()));
    reader.case.skill = slug.or_else(|| reader.file.skill.map(str::to_owned)).unwrap_or_default();
    Some(reader.tasks(tasks, "name", INSTRUCTION, &TASK))
}

fn instruction(reader: &mut ForeignReader<'_>, task: &Node, key: &'static str) {
    reader.case.prompt = text(reader, task, key).unwrap_or_default();
}

/// What a task says about its runs, or else the file.
fn run(reader: &mut ForeignReader<'_>, task: &Node, key: &'static str) {
    let defaults = reader.root.get("defaults").filter(|_| task.get(key).is_none());
    let column = if key == "timeout" { "timeout_s" } else { key };
    reader.read_key(defaults.unwrap_or(task), key, Field(column));
}

/// The image itself is the machine that this program runs on.
fn docker(reader: &mut ForeignReader<'_>, task: &Node, key: &'static str) {
    for object in [reader.root.get("defaults"), Some(task)].into_iter().flatten() {
        if let Some(docker) = reader.map(object, key) {
            reader.only_keys(docker, &[], "base");
        }
    }
}

/// The text at a key. A text on one line may be the path of a file that holds it.
fn text(reader: &mut ForeignReader<'_>, object: &Node, key: &str) -> Option<String> {
    let text = reader.required_text(object, key)?.trim();
    let file = (!text.contains('\n')).then(|| resolved(&reader.folder().join(text))).flatten();
    let Some(path) = file.filter(|path| reader.file.tree.kind(path) == FileKind::File) else {
        return Some(text.to_owned());
    };
    let text = reader.text_of(&path, object.get(key)?.range.clone())?;
    Some(text.trim().to_owned())
}

/// Reads a file or directory that is copied into the workspace.
fn copy(reader: &mut ForeignReader<'_>, written: &Node) {
    let (src, dest) = match written.text() {
        Some(src) => (src, src.rsplit('/').next().unwrap_or(src)),
        None if written.is_map() => {
            reader.only_keys(written, &["src", "dest", "chmod"], "");
            let [src, dest] = ["src", "dest"].map(|key| reader.required_text(written, key));
            let (Some(src), Some(dest)) = (src, dest) else { return };
            (src, dest)
        }
        None => return reader.wrong_type("an element of `workspace`", "a path, or `src` and `dest`", written),
    };
    // The workspace of a task in its container.
    let dest = Path::new(dest).strip_prefix("/workspace").unwrap_or(Path::new(dest));
    if dest.is_absolute() {
        let what = format!("`{}`, a file outside the workspace", shorten(&dest.to_string_lossy()));
        return reader.not_done(written, what);
    }
    // The directory of the file holds what is expected.
    let from = resolved(&reader.folder().join(src)).filter(|from| !reader.file.path.starts_with(from));
    let mut files = Vec::new();
    if let (Some(from), Some(to)) = (from, resolved(dest)) {
        // What is copied onto the workspace itself is copied in parts.
        let is_whole = to.as_os_str().is_empty();
        let names = if is_whole { reader.file.tree.names(&from).unwrap_or_default() } else { vec![OsString::new()] };
        files.extend(names.iter().filter_map(|name| {
            let path = |path: &Path| RelativePath::parse(&path.join(name).to_string_lossy()).ok();
            Some((path(&from)?, path(&to)?))
        }));
    }
    if files.is_empty() {
        reader.bad_path(src, "cannot be copied into the workspace", written);
    }
    for (source, path) in files {
        if let Some(mode) = reader.text(written, "chmod") {
            reader.case.setup.push(format!("chmod {} {}", quoted(mode), quoted(&path.to_string())));
        }
        reader.add_file(path, InputContent::Source(source));
    }
}

fn graders(reader: &mut ForeignReader<'_>, task: &Node, key: &'static str) {
    for (node, number) in reader.list(task, key).unwrap_or_default().iter().zip(1..) {
        let (checks, assertions) = (reader.case.checks.len(), reader.case.assertions.len());
        grader(reader, node);
        let weight = reader.amount(node, WEIGHT, 0.0..=f64::MAX, "a number, 0 or more");
        if weight.is_some() || node.get(WEIGHT).is_none() {
            reader.case.weigh(checks, assertions, Weight::new(weight.unwrap_or(1.0), number));
        }
    }
}

fn grader(reader: &mut ForeignReader<'_>, node: &Node) {
    let Some(kind) = reader.required_text(node, "type") else { return };
    let Some(&key) = KINDS.find(kind) else {
        return reader.not_done(node, format!("the grader `{}`", shorten(kind)));
    };
    reader.only_keys(node, &["type", key], "weight model provider");
    let Some(written) = node.get(key) else {
        return reader.not_done(node, format!("a grader of type `{kind}` without `{key}`"));
    };
    let Some(text) = text(reader, node, key) else { return };
    if key == "rubric" {
        return reader.judge(written, text);
    }
    let check = checks::full_score(format!("bash -c {}", quoted(&text)), directories_in(reader, &text));
    reader.located(GRADERS, written, |reader| reader.case.checks.push(check));
}

/// The directories next to the file that a script names files in, each with its path in the workspace.
fn directories_in(reader: &ForeignReader<'_>, script: &str) -> Vec<(RelativePath, RelativePath)> {
    let words = script.split(|c: char| !(c.is_ascii_alphanumeric() || "_./-".contains(c)));
    let mut directories: Vec<(RelativePath, RelativePath)> = Vec::new();
    for word in words {
        let Some((name, rest)) = word.split_once('/') else { continue };
        let has_ending = rest.rsplit_once('.').is_some_and(|(_, ending)| !ending.is_empty());
        let Some(path) = RelativePath::parse(name).ok().filter(|_| has_ending) else { continue };
        let source = path.clone().under(reader.folder());
        let is_known = directories.iter().any(|(known, _)| *known == source);
        if !is_known && reader.file.tree.kind(source.as_path()) == FileKind::Folder {
            directories.push((source, path));
        }
    }
    directories
}
