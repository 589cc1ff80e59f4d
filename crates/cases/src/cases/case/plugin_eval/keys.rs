//! What a case asks for besides its graders.

use std::path::Path;
use std::time::Duration;

use super::plugin::Plugin;
use crate::cases::case::document::{Document, Node, NodeEntry};
use crate::cases::case::foreign_reader::quoted;
use crate::cases::case::{Case, ForeignFile, ToolLimits, Unsupported};
use crate::cases::repo_files::FileKind;
use crate::settings::trials::Trials;
use crate::text::diagnostic::{Code, shorten};
use crate::text::relative_path::{RelativePath, resolved};
use crate::trial::history::{HistoryMessage, Speaker};
use crate::trial::input_file::{InputContent, InputFile};
use crate::trial::sandbox::Sandbox;

/// The key of the format's version.
pub(super) const VERSION: &str = "schema_version";

const VERSIONS: [&str; 2] = ["1.0", "1.1"];

pub(super) const OF_PROMPT: [&str; 16] = [
    VERSION,
    "name",
    "description",
    "expected_outcome",
    "tags",
    "plugins",
    "runs",
    "model",
    "max_turns",
    "timeout_seconds",
    "allowed_tools",
    "disallowed_tools",
    "append_system_prompt",
    "env",
    "artifact_publish",
    "growthbook_overrides",
];

pub(super) const OF_CASE: [&str; 10] =
    [VERSION, "name", "description", "expected_outcome", "tags", "plugins", "runs", "graders", "context", "execution"];

pub(super) const OF_EXECUTION: [&str; 10] = [
    "prompt",
    "model",
    "max_turns",
    "timeout_seconds",
    "allowed_tools",
    "disallowed_tools",
    "append_system_prompt",
    "env",
    "artifact_publish",
    "growthbook_overrides",
];

pub(super) const OF_CONTEXT: [&str; 3] = ["scaffold_script", "history_file", "add_dirs"];

/// The start of the variables that a case may set.
const VARIABLE: &str = "EVAL_";

/// Tools that change files: without one of them, the agent may only read.
const WRITERS: [&str; 4] = ["Bash", "Write", "Edit", "NotebookEdit"];

/// How a script names its own path.
const OWN_PATH: [&str; 2] = ["BASH_SOURCE", "$0"];

/// What a case asks for so far. What is read later replaces what was read before.
#[derive(Default)]
pub(super) struct Asked {
    pub name: String,
    pub prompt: Option<String>,
    tags: Vec<String>,
    runs: Option<u64>,
    max_turns: Option<u64>,
    timeout: Option<u64>,
    allowed: Vec<String>,
    disallowed: Vec<String>,
    system_prompt: Option<String>,
    env: Vec<(String, String)>,
    scaffold: Option<String>,
    history: Vec<HistoryMessage>,
    files: Vec<InputFile>,
    unsupported: Vec<Unsupported>,
}

impl Asked {
    /// What a case of this name asks for that says nothing.
    pub fn named(name: String) -> Self {
        Self { name, ..Self::default() }
    }

    /// Reads the keys that are about the case as a whole.
    pub fn head(&mut self, document: &mut Document<'_>, object: &Node, plugin: &Plugin<'_>, folder: &Path) {
        if let Some(version) = document.text(object, VERSION).filter(|version| !VERSIONS.contains(version)) {
            let message = format!("`{VERSION}` is {:?}; expected one of {}", shorten(version), VERSIONS.join(", "));
            let range = object.get(VERSION).unwrap_or(object).range.clone();
            document.problem(Code::BadChoice, range, message);
        }
        if object.get("name").is_some() {
            document.required_text(object, "name").unwrap_or_default().clone_into(&mut self.name);
        }
        if object.get("tags").is_some() {
            self.tags = document.text_list(object, "tags");
        }
        self.runs = document.count(object, "runs", 1..=50, "a number from 1 to 50").or(self.runs);
        if let Some(written) = object.get("plugins") {
            let paths = document.text_list(object, "plugins");
            let is_own = |path: &String| resolved(&folder.join(path)).is_some_and(|path| path == plugin.root);
            if paths.len() != 1 || !paths.iter().all(is_own) {
                let what = "other plugins than the one whose directory holds the case";
                self.unsupported.push(document.unsupported(what, written));
            }
        }
    }

    /// Reads the keys that are about a run.
    pub fn execution(&mut self, document: &mut Document<'_>, object: &Node) {
        self.prompt = document.text(object, "prompt").map(|prompt| prompt.trim().to_owned()).or(self.prompt.take());
        self.max_turns = document.count(object, "max_turns", 1..=200, "a number from 1 to 200").or(self.max_turns);
        let seconds = "a number from 1 to 3600";
        self.timeout = document.count(object, "timeout_seconds", 1..=3600, seconds).or(self.timeout);
        for (key, list) in [("allowed_tools", &mut self.allowed), ("disallowed_tools", &mut self.disallowed)] {
            if object.get(key).is_some() {
                *list = document.text_list(object, key);
            }
        }
        let system_prompt = document.text(object, "append_system_prompt").map(str::to_owned);
        self.system_prompt = system_prompt.or(self.system_prompt.take());
        if let Some(env) = document.map(object, "env") {
            self.env = env.entries().iter().filter_map(|entry| variable(document, entry)).collect();
        }
    }

    /// Reads the keys that are about the state before a run.
    pub fn context(&mut self, document: &mut Document<'_>, object: &Node, file: &ForeignFile<'_>, folder: &Path) {
        if let Some(script) = near(document, object, "scaffold_script", file, folder) {
            if OWN_PATH.iter().any(|own| script.contains(own)) {
                let what = "a scaffold script that looks for files next to itself";
                self.unsupported.push(document.unsupported(what, object.get("scaffold_script").unwrap_or(object)));
            }
            self.scaffold = Some(script);
        }
        if let Some(lines) = near(document, object, "history_file", file, folder) {
            self.history = history(&lines).unwrap_or_else(|| {
                let what = "a history of anything but texts of the user and the agent in turn";
                self.unsupported.push(document.unsupported(what, object.get("history_file").unwrap_or(object)));
                Vec::new()
            });
        }
        for directory in document.list(object, "add_dirs").unwrap_or_default() {
            self.files.extend(copied(document, directory, file, folder));
        }
    }

    /// Gives the case all of it.
    pub fn fill(self, case: &mut Case) {
        let prompt = self.prompt.unwrap_or_default();
        case.unsupported = self.unsupported;
        let is_writer = |tool: &String| WRITERS.contains(&ToolLimits::name(tool));
        case.sandbox = if self.allowed.iter().any(is_writer) { Sandbox::WorkspaceWrite } else { Sandbox::ReadOnly };
        case.tools = Some(ToolLimits { allowed: self.allowed, disallowed: self.disallowed });
        case.prompt = prompt;
        case.tags = self.tags;
        case.repetition.trials = u32::try_from(self.runs.unwrap_or(3)).ok().map(Trials::Times);
        case.max_turns = Some(self.max_turns.unwrap_or(10));
        case.timeout = Some(Duration::from_secs(self.timeout.unwrap_or(300)));
        case.system_prompt = self.system_prompt;
        case.env = self.env;
        case.setup.extend(self.scaffold.map(|script| format!("bash -c {}", quoted(&script))));
        case.history = self.history;
        case.files = self.files;
    }
}

/// The text of the file of the case at the path in this key.
fn near(
    document: &mut Document<'_>,
    object: &Node,
    key: &str,
    file: &ForeignFile<'_>,
    folder: &Path,
) -> Option<String> {
    let path = document.text(object, key)?;
    let written = object.get(key)?;
    let Some(inside) = resolved(Path::new(path)) else {
        document.bad_path(path, "is not inside the directory of the case", written);
        return None;
    };
    let read = file.tree.read(&folder.join(inside)).map_err(|error| error.to_string());
    let text = read.and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned()));
    let unusable = |why| format!("the file `{}` cannot be used: {why}", shorten(path));
    text.map_err(|why| document.problem(Code::Unreadable, written.range.clone(), unusable(why))).ok()
}

/// A directory of the case that the agent finds in its workspace, under its own name.
fn copied(document: &mut Document<'_>, written: &Node, file: &ForeignFile<'_>, folder: &Path) -> Option<InputFile> {
    let Some(text) = written.text() else {
        document.wrong_type("an element of `add_dirs`", "a string", written);
        return None;
    };
    let inside = resolved(Path::new(text)).and_then(|path| RelativePath::parse(&path.to_string_lossy()).ok());
    let source = inside.map(|path| path.under(folder));
    let source = source.filter(|source| file.tree.kind(source.as_path()) == FileKind::Folder);
    if source.is_none() {
        document.bad_path(text, "is not a directory inside that of the case", written);
    }
    let source = source?;
    Some(InputFile { path: source.name(), content: InputContent::Source(source) })
}

fn variable(document: &mut Document<'_>, entry: &NodeEntry) -> Option<(String, String)> {
    let NodeEntry { key, key_range, value } = entry;
    let rest = key.strip_prefix(VARIABLE);
    if !rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')) {
        let message = format!("the variable `{}` would end each run; expected a name as EVAL_NAME", shorten(key));
        document.problem(Code::BadChoice, key_range.clone(), message);
    }
    let text = value.text();
    if text.is_none() {
        document.wrong_type(&format!("`env.{key}`"), "a string", value);
    }
    Some((key.clone(), text?.to_owned()))
}

/// The conversation in lines of JSON; `None` if it is another than our own histories can be.
fn history(lines: &str) -> Option<Vec<HistoryMessage>> {
    let mut messages: Vec<HistoryMessage> = Vec::new();
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let line: serde_json::Value = serde_json::from_str(line).ok()?;
        let message = if line["message"].is_object() { &line["message"] } else { &line };
        let content = match &message["content"] {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Array(blocks) => {
                let texts = blocks.iter().map(|block| block["text"].as_str().filter(|_| block["type"] == "text"));
                texts.collect::<Option<Vec<_>>>()?.join("\n")
            }
            _ => return None,
        };
        let role = Speaker::of_message(messages.len());
        if message["role"] != role.as_str() {
            return None;
        }
        messages.push(HistoryMessage { role, content });
    }
    messages.len().is_multiple_of(2).then_some(messages)
}
