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

use super::foreign_tasks::ForeignTasks;
use super::vally::quoted;
use crate::cases::case::document::{Document, Node};
use crate::cases::case::fields::{self, CaseDraft};
use crate::cases::case::{Assertion, Case, CaseFormat, FileCases, ForeignFile, ForeignFiles};
use crate::cases::repo_files::FileKind;
use crate::checks::{self, Check, Origin};
use crate::profile::DEFAULT_MODE;
use crate::skill::SKILL_FILE;
use crate::text::diagnostic::{Code, shorten};
use crate::text::relative_path::{RelativePath, resolved};
use crate::trial::input_file::{InputContent, InputFile};
use crate::trial::outcome::Weight;

/// Tasks and the graders of what the agent made.
pub static FORMAT: CaseFormat = CaseFormat {
    name: "skillgrade task",
    default_mode: DEFAULT_MODE,
    files: None,
    foreign: Some(ForeignFiles {
        names: &[],
        possible_names: &["eval.yaml"],
        mark: INSTRUCTION,
        keys: &["tasks", INSTRUCTION, "graders"],
        parse,
    }),
};

/// The key of a prompt.
const INSTRUCTION: &str = "instruction";

const GRADERS: &str = "graders";

/// The key of what a grader counts in the score of a trial.
const WEIGHT: &str = "weight";

/// The key of the container.
const DOCKER: &str = "docker";

/// The workspace of a task in its container.
const WORKSPACE: &str = "/workspace";

/// The keys that say how often and how long a task runs, and the columns of the same meaning. `threshold` is about the mean score of
/// the trials. The share of trials with full scores is never more, so to reach it asks for no less.
const RUNS: [(&str, &str); 3] = [("trials", "trials"), ("timeout", "timeout_s"), ("threshold", "threshold")];

/// Keys that choose agents, judges and machines, or that no trial needs.
const NOTES: [&str; 8] = ["acp", "agent", "description", "environment", "grader_model", "provider", "solution", WEIGHT];

fn parse(file: &ForeignFile<'_>, mut document: Document<'_>, root: &Node) -> Option<FileCases> {
    let tasks = root.get("tasks")?.elements()?;
    if !tasks.iter().any(|task| task.entry(INSTRUCTION).is_some()) {
        return None;
    }
    let mut shared = document.unsupported_keys(root, &["version", "skill", "defaults", "tasks"], &[]);
    document.duplicate_keys(root, &["tasks"]);
    let defaults = document.map(root, "defaults");
    if let Some(defaults) = defaults {
        let known: Vec<&str> = RUNS.iter().map(|(key, _)| *key).chain([DOCKER]).collect();
        shared.extend(document.unsupported_keys(defaults, &known, &NOTES));
    }
    let skill = skill(&mut document, file, root);
    let reader = TaskReader { file, folder: file.path.parent().unwrap_or(Path::new("")), defaults };
    let all = ForeignTasks { format: &FORMAT, file, skill, shared, name: "name", prompt: INSTRUCTION };
    Some(all.read(document, tasks, |document, task, draft| reader.read(document, task, draft)))
}

/// The slug of the skill under test: that of the directory which the file names, or which holds the file.
fn skill(document: &mut Document<'_>, file: &ForeignFile<'_>, root: &Node) -> String {
    let folder = file.path.parent().unwrap_or(Path::new(""));
    let named = document.text(root, "skill").and_then(|named| resolved(&folder.join(named)));
    let directory = named.map(|path| if path.ends_with(SKILL_FILE) { path.with_file_name("") } else { path });
    let name = directory.as_deref().and_then(Path::file_name).map(|name| file.skill_slug(&name.to_string_lossy()));
    name.or_else(|| file.skill.map(str::to_owned)).unwrap_or_default()
}

struct TaskReader<'a> {
    file: &'a ForeignFile<'a>,
    /// The directory of the file.
    folder: &'a Path,
    defaults: Option<&'a Node>,
}

impl TaskReader<'_> {
    fn read(&self, document: &mut Document<'_>, task: &Node, draft: &mut CaseDraft) {
        let known = ["name", INSTRUCTION, "workspace", GRADERS, DOCKER];
        let known: Vec<&str> = known.into_iter().chain(RUNS.map(|(key, _)| key)).collect();
        draft.case.unsupported.extend(document.unsupported_keys(task, &known, &NOTES));
        draft.case.prompt = self.text(document, task, INSTRUCTION).unwrap_or_default();
        for (key, column) in RUNS {
            let written = [Some(task), self.defaults].into_iter().flatten().find_map(|object| object.get(key));
            let field = fields::all().find(|field| field.field().column == column);
            let (Some(written), Some(field)) = (written, field) else { continue };
            if let Some(value) = document.field_value(key, field.field().form, written) {
                draft.set(field, key, document.line_of(written.range.start), value);
            }
        }
        let case = &mut draft.case;
        for object in [self.defaults, Some(task)].into_iter().flatten() {
            let Some(docker) = document.map(object, DOCKER) else { continue };
            // The image itself is the machine that this program runs on.
            case.unsupported.extend(document.unsupported_keys(docker, &[], &["base"]));
        }
        for written in document.list(task, "workspace").unwrap_or_default() {
            self.copy(document, written, case);
        }
        for (grader, number) in document.list(task, GRADERS).unwrap_or_default().iter().zip(1..) {
            let (checks, assertions) = (case.checks.len(), case.assertions.len());
            self.grader(document, grader, case);
            let weight =
                grader.get(WEIGHT).map_or(Some(1.0), |weight| weight.json().as_f64().filter(|weight| *weight >= 0.0));
            match (weight, grader.get(WEIGHT)) {
                (None, Some(written)) => document.wrong_type(&format!("`{WEIGHT}`"), "a number, 0 or more", written),
                (weight, _) => case.weigh(checks, assertions, Weight::new(weight.unwrap_or(1.0), number)),
            }
        }
    }

    /// The text at a key. A text on one line may be the path of a file that holds it.
    fn text(&self, document: &mut Document<'_>, object: &Node, key: &str) -> Option<String> {
        let text = document.required_text(object, key)?.trim();
        let file = (!text.contains('\n')).then(|| resolved(&self.folder.join(text))).flatten();
        let Some(path) = file.filter(|path| self.file.tree.kind(path) == FileKind::File) else {
            return Some(text.to_owned());
        };
        let read = self.file.tree.read(&path).map_err(|error| error.to_string());
        let read = read.and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned()));
        match read.and_then(|text| if text.trim().is_empty() { Err("it is empty".to_owned()) } else { Ok(text) }) {
            Ok(text) => Some(text.trim().to_owned()),
            Err(why) => {
                let message = format!("{} cannot be used: {why}", path.display());
                let range = object.get(key).unwrap_or(object).range.clone();
                document.problem(Code::Unreadable, range, message);
                None
            }
        }
    }

    /// Reads a file or directory that is copied into the workspace.
    fn copy(&self, document: &mut Document<'_>, written: &Node, case: &mut Case) {
        let (src, dest) = match written.text() {
            Some(src) => (src, src.rsplit('/').next().unwrap_or(src)),
            None if written.is_map() => {
                case.unsupported.extend(document.unsupported_keys(written, &["src", "dest", "chmod"], &[]));
                let src = document.required_text(written, "src").map(str::to_owned);
                let (Some(_), Some(dest)) = (src, document.required_text(written, "dest")) else { return };
                (written.get("src").and_then(Node::text).unwrap_or_default(), dest)
            }
            None => return document.wrong_type("an element of `workspace`", "a path, or `src` and `dest`", written),
        };
        let dest = Path::new(dest).strip_prefix(WORKSPACE).unwrap_or(Path::new(dest));
        if dest.is_absolute() {
            let what = format!("`{}`, a file outside the workspace", shorten(&dest.to_string_lossy()));
            return case.unsupported.push(document.unsupported(what, written));
        }
        // The directory of the file holds what is expected.
        let from = resolved(&self.folder.join(src)).filter(|from| !self.file.path.starts_with(from));
        let to = resolved(dest);
        let mut files = Vec::new();
        if let (Some(from), Some(to)) = (from, to) {
            // What is copied onto the workspace itself is copied in parts.
            let is_whole = to.as_os_str().is_empty();
            let names = if is_whole { self.file.tree.names(&from).unwrap_or_default() } else { vec![OsString::new()] };
            files.extend(names.iter().filter_map(|name| {
                let path = |path: &Path| RelativePath::parse(&path.join(name).to_string_lossy()).ok();
                Some((path(&from)?, path(&to)?))
            }));
        }
        if files.is_empty() {
            document.bad_path(src, "cannot be copied into the workspace", written);
        }
        for (source, path) in files {
            if let Some(mode) = document.text(written, "chmod") {
                case.setup.push(format!("chmod {} {}", quoted(mode), quoted(&path.to_string())));
            }
            case.files.push(InputFile { path, content: InputContent::Source(source) });
        }
    }

    fn grader(&self, document: &mut Document<'_>, grader: &Node, case: &mut Case) {
        let Some(kind) = document.required_text(grader, "type") else { return };
        let (key, known) = match kind {
            "deterministic" => ("run", ["type", "run"]),
            "llm_rubric" => ("rubric", ["type", "rubric"]),
            _ => {
                let what = format!("the grader `{}`", shorten(kind));
                return case.unsupported.push(document.unsupported(what, grader));
            }
        };
        case.unsupported.extend(document.unsupported_keys(grader, &known, &[WEIGHT, "model", "provider"]));
        let Some(written) = grader.get(key) else {
            let what = format!("a grader of type `{kind}` without `{key}`");
            return case.unsupported.push(document.unsupported(what, grader));
        };
        let place = document.place(written.range.clone());
        let Some(text) = self.text(document, grader, key) else { return };
        if key == "rubric" {
            return case.assertions.push(Assertion { text, place, weight: None });
        }
        let origin = Origin { key: GRADERS.into(), line: place.line, elsewhere: Some(place) };
        let check = checks::full_score(format!("bash -c {}", quoted(&text)), self.directories_in(&text));
        case.checks.push(Check { origin, ..check });
    }

    /// The directories next to the file that a script names files in, each with its path in the workspace.
    fn directories_in(&self, script: &str) -> Vec<(RelativePath, RelativePath)> {
        let words = script.split(|c: char| !(c.is_ascii_alphanumeric() || "_./-".contains(c)));
        let mut directories: Vec<(RelativePath, RelativePath)> = Vec::new();
        for word in words {
            let Some((name, rest)) = word.split_once('/') else { continue };
            let has_ending = rest.rsplit_once('.').is_some_and(|(_, ending)| !ending.is_empty());
            let Some(path) = RelativePath::parse(name).ok().filter(|_| has_ending) else { continue };
            let source = path.clone().under(self.folder);
            let is_known = directories.iter().any(|(known, _)| *known == source);
            if !is_known && self.file.tree.kind(source.as_path()) == FileKind::Folder {
                directories.push((source, path));
            }
        }
        directories
    }
}
