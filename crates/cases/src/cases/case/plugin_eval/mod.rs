//! Cases of `claude plugin eval`, a directory each: `prompt.md` with `graders/*.md`, or `case.yaml`, or both.
//!
//! ```yaml
//! # evals/green-tea/case.yaml
//! schema_version: "1.1"
//! name: green-tea
//! execution: { prompt: How hot is green tea?, allowed_tools: [Read] }
//! graders:
//!   - { name: hot, type: regex, pattern: '\d+ °C' }
//!   - { name: brews, type: tool_used, tool: Skill, input_match: 'tea:brew' }
//! ```
//!
//! The format is that of Claude Code 2.1.332 (code.claude.com/docs/en/plugin-evals), measured with that program.

mod graders;
mod mocks;
mod plugin;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use self::graders::FoundGrader;
use self::mocks::FrontMatter;
use self::plugin::EvalPlugin;
use super::document::{Document, Node, NodeEntry, NodeValue, Syntax};
use super::fields::CaseDraft;
use super::foreign_reader::Meaning::{By, EachBy, Field, Known, List, Number, Part};
use super::foreign_reader::{ForeignReader, KeyTable};
use super::graders::quoted;
use crate::cases::case::{
    Case, CaseFormat, FileCases, FileKeys, ForeignFile, ForeignFiles, FoundCase, ReadCase, ToolLimits, Unsupported,
    id_of,
};
use crate::cases::repo_files::FileKind;
use crate::settings::trials::{Repetition, Trials};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, shorten};
use crate::text::name::{RelativePath, resolved};
use crate::trial::input_file::InputContent;
use crate::trial::input_file::Sandbox;
use crate::trial::input_file::{HistoryMessage, Speaker};

pub use mocks::servers;

/// Cases whose prompt is a file.
pub static PROSE: CaseFormat = format(&[PROMPT], "", &[], "cases of plugin evals, with graders, in a plugin's `evals`");

/// Cases in a YAML file.
pub static YAML: CaseFormat = format(&[CASE], VERSION, &[VERSION, "name", "execution", GRADERS], "the same in YAML");

const fn format(
    possible_names: &'static [&'static str],
    mark: &'static str,
    keys: &'static [&'static str],
    about: &'static str,
) -> CaseFormat {
    CaseFormat::foreign(
        "plugin eval",
        ForeignFiles {
            names: &[],
            possible_names,
            mark,
            keys,
            about,
            all_keys: || FileKeys::of(&[&HEAD, &EXECUTION, &CONTEXT]).with_names(&graders::TYPES),
            parse,
        },
    )
}

/// The file with the prompt.
pub(in crate::cases) const PROMPT: &str = "prompt.md";

/// The file with all of a case.
pub(in crate::cases) const CASE: &str = "case.yaml";

/// The directory of graders in that of a case.
pub(in crate::cases) const GRADERS: &str = "graders";

/// The key of the format's version.
pub(in crate::cases) const VERSION: &str = "schema_version";

/// What is about the case as a whole.
static HEAD: KeyTable = KeyTable::of(&[
    (VERSION, By(version)),
    ("name", By(name)),
    ("description expected_outcome", Known),
    ("tags", List(|case| &mut case.tags)),
    ("runs", Number(1, 50, "a number from 1 to 50", runs)),
    ("plugins", Part(other_plugins, "other plugins than the one whose directory holds the case")),
]);

/// What is about a run.
static EXECUTION: KeyTable = KeyTable::of(&[
    ("prompt", By(prompt)),
    ("model artifact_publish growthbook_overrides", Known),
    ("max_turns", Number(1, 200, "a number from 1 to 200", |case, most| case.max_turns = Some(most))),
    (
        "timeout_seconds",
        Number(1, 3600, "a number from 1 to 3600", |case, most| case.timeout = Some(Duration::from_secs(most))),
    ),
    ("allowed_tools", List(|case| &mut case.tools.get_or_insert_default().allowed)),
    ("disallowed_tools", List(|case| &mut case.tools.get_or_insert_default().disallowed)),
    ("append_system_prompt", Field("system_prompt")),
    ("env", By(environment)),
]);

/// What is about the state before a run.
static CONTEXT: KeyTable = KeyTable::of(&[
    ("scaffold_script", Part(scaffold, "a scaffold script that looks for files next to itself")),
    ("history_file", Part(history_file, "a history of anything but texts of the user and the agent in turn")),
    ("add_dirs", EachBy(copied)),
]);

/// A file of a case.
struct EvalFile {
    path: PathBuf,
    /// The name of the grader that it is, if it is one.
    grader: Option<String>,
    content: Result<FrontMatter, Diagnostic>,
}

fn parse(reader: ForeignReader<'_>) -> Option<FileCases> {
    let file = reader.file;
    let plugin = EvalPlugin::of(file)?;
    if ![PROMPT, CASE].iter().any(|name| file.path.ends_with(name)) {
        return None;
    }
    let folder = file.path.parent()?;
    let exists = |name: &str| file.tree.kind(&folder.join(name)) != FileKind::Missing;
    let (has_prompt, has_case) = (exists(PROMPT), exists(CASE));
    // Any program may have a file of this name.
    if !has_case && !exists(GRADERS) {
        return None;
    }
    if has_prompt && file.path.ends_with(CASE) {
        // Its case is read with the other file.
        return Some(FileCases::default());
    }
    let parts = parts(file, folder, has_case, has_prompt);
    let mut reader = reader;
    // What is read later replaces what was read before.
    reader.case = CaseDraft::of(Case {
        id: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        repetition: Repetition { trials: Some(Trials::Times(3)), threshold: None },
        max_turns: Some(10),
        timeout: Some(Duration::from_secs(300)),
        tools: Some(ToolLimits::default()),
        ..Case::default()
    });
    let (names, graders) = (HashSet::new(), Vec::new());
    let (unsupported, problems, warnings) = (Vec::new(), Vec::new(), Vec::new());
    let mut case = CaseReader { reader, plugin, graders, names, unsupported, problems, warnings };
    for part in &parts {
        case.read_part(part);
    }
    // All that is next to the case belongs to it.
    Some(FileCases { claims: vec![folder.to_path_buf()], ..case.found() })
}

/// The files of a case. If one of the first three is a link, it is the only one.
fn parts(file: &ForeignFile<'_>, folder: &Path, has_case: bool, has_prompt: bool) -> Vec<EvalFile> {
    let is_link = |path: &PathBuf| file.tree.kind(path) == FileKind::Symlink;
    let part = |path: PathBuf, grader| {
        let content = if is_link(&path) {
            let message = "this is a link, and `claude plugin eval` reads only plain files";
            let problem = Diagnostic::new(Code::Symlink, SourceLocation::file(&path), message);
            Err(problem.help("copy what it points to"))
        } else {
            let unreadable = |error| Diagnostic::new(Code::Unreadable, SourceLocation::file(&path), format!("{error}"));
            file.tree.read(&path).map_err(unreadable)
        };
        let content = content.map(|bytes| FrontMatter::split(bytes, path.ends_with(CASE)));
        EvalFile { path, grader, content }
    };
    let links: Vec<EvalFile> = [PROMPT, CASE, GRADERS]
        .map(|name| folder.join(name))
        .into_iter()
        .filter(is_link)
        .map(|path| part(path, None))
        .collect();
    if !links.is_empty() {
        return links;
    }
    let own = [(CASE, has_case), (PROMPT, has_prompt)].into_iter().filter(|(_, is_there)| *is_there);
    let mut parts: Vec<EvalFile> = own.map(|(name, _)| part(folder.join(name), None)).collect();
    let folder = folder.join(GRADERS);
    for name in file.tree.names(&folder).unwrap_or_default() {
        let path = folder.join(&name);
        if let Some(grader) = name.to_str().and_then(|name| name.strip_suffix(".md"))
            && file.tree.kind(&path) != FileKind::Folder
        {
            parts.push(part(path, Some(grader.to_owned())));
        }
    }
    parts
}

/// Reports keys without a value.
fn no_nulls(document: &mut Document<'_>, object: &Node) {
    for NodeEntry { key, value, .. } in object.entries().iter().filter(|entry| entry.value.value == NodeValue::Null) {
        document.wrong_type(&format!("`{key}`"), "a value", value);
    }
}

/// Reads a case: up to two files, and those of its graders.
struct CaseReader<'a> {
    reader: ForeignReader<'a>,
    plugin: EvalPlugin<'a>,
    graders: Vec<FoundGrader>,
    /// The names of the graders.
    names: HashSet<String>,
    /// What graders ask for and this program does not do.
    unsupported: Vec<Unsupported>,
    /// What keeps the case from running.
    problems: Vec<Diagnostic>,
    /// What the real program ignores in silence.
    warnings: Vec<Diagnostic>,
}

impl<'a> CaseReader<'a> {
    fn read_part(&mut self, part: &'a EvalFile) {
        let front = match &part.content {
            Ok(front) => front,
            Err(problem) => return self.problems.push(problem.clone()),
        };
        // A note, if it is a grader's.
        if part.grader.is_some() && front.yaml.is_empty() {
            return;
        }
        self.reader.documents = vec![Document::new(&part.path, &front.yaml, Syntax::Yaml)];
        let body = front.body.trim();
        if part.path.ends_with(CASE) {
            self.whole_case();
        } else if let Some(root) = front.root(&mut self.reader) {
            if let Some(name) = &part.grader {
                self.grader(&root, Some((name, body)));
            } else {
                no_nulls(&mut self.reader, &root);
                let known = HEAD.keys().chain(EXECUTION.keys().skip(1)).map(|(key, _)| key);
                self.reader.unknown_keys(&root, &known.collect::<Vec<_>>());
                self.reader.read_keys(&root, &HEAD);
                self.reader.read_keys(&root, &EXECUTION);
            }
        }
        if part.path.ends_with(PROMPT) && part.grader.is_none() {
            body.clone_into(&mut self.reader.case.prompt);
        }
        self.problems.append(&mut self.reader.problems.take());
    }

    fn whole_case(&mut self) {
        let Some(root) = self.reader.documents[0].root() else { return };
        if !root.is_map() {
            return self.reader.wrong_type("a case", "an object", &root);
        }
        self.reader.duplicate_keys(&root, &[]);
        no_nulls(&mut self.reader, &root);
        self.reader.required(&root, VERSION);
        self.reader.required_text(&root, "name");
        self.ignored(&root, &HEAD, &[GRADERS, "context", "execution"]);
        self.reader.read_keys(&root, &HEAD);
        for (key, table) in [("execution", &EXECUTION), ("context", &CONTEXT)] {
            if let Some(object) = self.reader.map(&root, key) {
                no_nulls(&mut self.reader, object);
                self.ignored(object, table, &[]);
                self.reader.read_keys(object, table);
            }
        }
        for grader in self.reader.list(&root, GRADERS).unwrap_or_default() {
            self.grader(grader, None);
        }
    }

    /// Notes the keys that the real program ignores in silence.
    fn ignored(&mut self, object: &Node, known: &KeyTable, more: &[&str]) {
        let known = known.keys().map(|(key, _)| key).chain(more.iter().copied()).collect::<Vec<_>>();
        for entry in object.entries().iter().filter(|entry| !known.contains(&&*entry.key)) {
            let message = format!("`claude plugin eval` ignores the key `{}` here", entry.key);
            let place = self.reader.place(entry.key_range.clone());
            self.warnings.push(Diagnostic::new(Code::Inert, place, message));
        }
    }

    fn found(mut self) -> FileCases {
        let file = self.reader.file;
        let origin = SourceLocation { line: 1, column: 1, ..SourceLocation::file(file.path) };
        let missing = |what: &str| Diagnostic::new(Code::MissingKey, origin.clone(), format!("the case has no {what}"));
        let is_linked = self.problems.iter().any(|problem| problem.code == Code::Symlink);
        if !is_linked && self.reader.case.prompt.is_empty() {
            self.problems.push(missing("prompt"));
        }
        if self.graders.is_empty() && self.problems.is_empty() {
            self.problems.push(missing("graders"));
        }
        let mut case = std::mem::take(&mut self.reader.case);
        case.id = id_of(&case.id);
        case.skill = self.plugin.skill_under_test(file, graders::skill_calls(&self.graders));
        case.origin = origin.clone();
        let is_writer = |tool: &String| ["Bash", "Write", "Edit", "NotebookEdit"].contains(&ToolLimits::name(tool));
        let writes = case.tools.as_ref().is_some_and(|tools| tools.allowed.iter().any(is_writer));
        case.sandbox = if writes { Sandbox::WorkspaceWrite } else { Sandbox::ReadOnly };
        let mocks = self.plugin.mocks(self.reader.folder());
        let (_, of_mocks) = servers(file.tree, &mocks.folders);
        let of_mocks = of_mocks.into_iter().filter(|problem| problem.code == Code::Unsupported);
        let what = "a mock that a model answers".to_owned();
        case.unsupported.extend(of_mocks.map(|Diagnostic { place, .. }| Unsupported { what: what.clone(), place }));
        case.unsupported.append(&mut self.unsupported);
        case.mock_servers = Some(mocks);
        graders::fill(self.graders, &mut case);
        let (id, skill) = (case.id.clone(), case.skill.clone());
        let case = if self.problems.is_empty() { Ok(case.finish_foreign()) } else { Err(self.problems) };
        let source = ReadCase { format: &PROSE, case, places: vec![("id", origin.clone()), ("prompt", origin)] };
        let cases = vec![FoundCase::new(id, skill, file.path, 1, source)];
        FileCases { cases, problems: self.warnings, ..FileCases::default() }
    }
}

fn version(reader: &mut ForeignReader<'_>, object: &Node, key: &'static str) {
    graders::choice(reader, object, key, &["1.0", "1.1"]);
}

fn prompt(reader: &mut ForeignReader<'_>, object: &Node, key: &'static str) {
    if let Some(prompt) = reader.text(object, key) {
        prompt.trim().clone_into(&mut reader.case.prompt);
    }
}

fn name(reader: &mut ForeignReader<'_>, object: &Node, key: &'static str) {
    if object.get(key).is_some() {
        reader.required_text(object, key).unwrap_or_default().clone_into(&mut reader.case.id);
    }
}

fn runs(case: &mut Case, runs: u64) {
    case.repetition.trials = u32::try_from(runs).ok().map(Trials::Times);
}

fn environment(reader: &mut ForeignReader<'_>, object: &Node, key: &'static str) {
    if let Some(env) = reader.map(object, key) {
        reader.case.env = env.entries().iter().filter_map(|entry| variable(reader, entry)).collect();
    }
}

fn other_plugins<'n>(reader: &mut ForeignReader<'_>, object: &'n Node, key: &'static str) -> Option<&'n Node> {
    let written = object.get(key)?;
    let (paths, folder) = (reader.text_list(object, key), reader.folder());
    let plugin = EvalPlugin::of(reader.file);
    let root = plugin.map(|plugin| plugin.root.to_path_buf());
    let is_own = matches!(&paths[..], [only] if resolved(&folder.join(only)) == root);
    (!is_own).then_some(written)
}

fn scaffold<'n>(reader: &mut ForeignReader<'_>, object: &'n Node, key: &'static str) -> Option<&'n Node> {
    let script = near(reader, object, key)?;
    reader.case.setup.push(format!("bash -c {}", quoted(&script)));
    // How a script names its own path.
    object.get(key).filter(|_| ["BASH_SOURCE", "$0"].iter().any(|own| script.contains(own)))
}

fn history_file<'n>(reader: &mut ForeignReader<'_>, object: &'n Node, key: &'static str) -> Option<&'n Node> {
    let history = history(&near(reader, object, key)?);
    let is_other = history.is_none();
    reader.case.history = history.unwrap_or_else(|| std::mem::take(&mut reader.case.history));
    object.get(key).filter(|_| is_other)
}

/// The text of the file of the case at the path in this key.
fn near(reader: &mut ForeignReader<'_>, object: &Node, key: &str) -> Option<String> {
    let path = reader.text(object, key)?;
    let Some(inside) = resolved(Path::new(path)) else {
        reader.bad_path(path, "is not inside the directory of the case", object.get(key)?);
        return None;
    };
    let text = reader.file.text_of(&reader.folder().join(inside));
    let unusable = |why| format!("the file `{}` cannot be used: {why}", shorten(path));
    text.map_err(|why| reader.problem_at(Code::Unreadable, object, key, unusable(why))).ok()
}

/// A directory of the case that the agent finds in its workspace, under its own name.
fn copied(reader: &mut ForeignReader<'_>, written: &Node) {
    let Some(text) = written.text() else {
        return reader.wrong_type("an element of `add_dirs`", "a string", written);
    };
    let inside = resolved(Path::new(text)).and_then(|path| RelativePath::parse(&path.to_string_lossy()).ok());
    let source = inside.map(|path| path.under(reader.folder()));
    match source.filter(|source| reader.file.tree.kind(source.as_path()) == FileKind::Folder) {
        Some(source) => reader.add_file(source.name(), InputContent::Source(source)),
        None => reader.bad_path(text, "is not a directory inside that of the case", written),
    }
}

/// A variable that a case may set.
fn variable(document: &mut Document<'_>, entry: &NodeEntry) -> Option<(String, String)> {
    let NodeEntry { key, key_range, value } = entry;
    let rest = key.strip_prefix("EVAL_");
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
