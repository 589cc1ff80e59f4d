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

mod front_matter;
mod graders;
mod keys;
mod mocks;
mod plugin;

use std::path::{Path, PathBuf};

use front_matter::FrontMatter;
use graders::Graders;
use keys::Asked;
pub use mocks::servers;
use plugin::Plugin;

use crate::cases::case::document::{Document, Node, NodeEntry, NodeValue, Syntax};
use crate::cases::case::fields::CaseDraft;
use crate::cases::case::foreign_reader::ForeignReader;
use crate::cases::case::{Case, CaseFormat, FileCases, ForeignFile, ForeignFiles, FoundCase, ReadCase, Unsupported};
use crate::cases::repo_files::FileKind;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

/// Cases whose prompt is a file.
pub static PROSE: CaseFormat = format(&[PROMPT], "", &[]);

/// Cases in a YAML file.
pub static YAML: CaseFormat = format(&[CASE], keys::VERSION, &[keys::VERSION, "name", "execution", GRADERS]);

/// The key of the format's version.
pub(in crate::cases) const VERSION: &str = keys::VERSION;

const fn format(
    possible_names: &'static [&'static str],
    mark: &'static str,
    keys: &'static [&'static str],
) -> CaseFormat {
    CaseFormat::foreign("plugin eval", ForeignFiles { names: &[], possible_names, mark, keys, parse })
}

/// The file with the prompt.
pub(in crate::cases) const PROMPT: &str = "prompt.md";

/// The file with all of a case.
pub(in crate::cases) const CASE: &str = "case.yaml";

/// The directory of graders in that of a case.
pub(in crate::cases) const GRADERS: &str = "graders";

fn parse(reader: ForeignReader<'_>) -> Option<FileCases> {
    let file = reader.file;
    let plugin = Plugin::of(file)?;
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
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut reader = CaseReader {
        file,
        plugin: &plugin,
        folder,
        asked: Asked::named(name),
        graders: Graders::default(),
        problems: Vec::new(),
        warnings: Vec::new(),
    };
    if !reader.has_links(&[PROMPT, CASE, GRADERS].map(|name| folder.join(name))) {
        if has_case {
            reader.case_file();
        }
        if has_prompt {
            reader.prompt_file();
        }
        reader.grader_files();
    }
    let (case, warnings) = reader.found();
    // All that is next to the case belongs to it.
    Some(FileCases { cases: vec![case], problems: warnings, claims: vec![folder.to_path_buf()] })
}

/// Reports keys without a value.
fn no_nulls(document: &mut Document<'_>, object: &Node) {
    for NodeEntry { key, value, .. } in object.entries().iter().filter(|entry| entry.value.value == NodeValue::Null) {
        document.wrong_type(&format!("`{key}`"), "a value", value);
    }
}

/// Reads a case: up to two files, and those of its graders.
struct CaseReader<'a> {
    file: &'a ForeignFile<'a>,
    plugin: &'a Plugin<'a>,
    folder: &'a Path,
    asked: Asked,
    graders: Graders,
    /// What keeps the case from running.
    problems: Vec<Diagnostic>,
    /// What the real program ignores in silence.
    warnings: Vec<Diagnostic>,
}

impl CaseReader<'_> {
    /// Reports those of these paths that are links: the real program reads plain files only.
    fn has_links(&mut self, paths: &[PathBuf]) -> bool {
        let links = paths.iter().filter(|path| self.file.tree.kind(path) == FileKind::Symlink);
        let before = self.problems.len();
        self.problems.extend(links.map(|path| {
            let message = "this is a link, and `claude plugin eval` reads only plain files";
            let problem = Diagnostic::new(Code::Symlink, SourceLocation::file(path), message);
            problem.help("copy what it points to")
        }));
        self.problems.len() > before
    }

    fn case_file(&mut self) {
        let path = self.folder.join(CASE);
        let Some(bytes) = self.content(&path) else { return };
        let mut document = Document::new(&path, &bytes, Syntax::Yaml);
        if let Some(root) = document.root() {
            if root.is_map() {
                self.whole_case(&mut document, &root);
            } else {
                document.wrong_type("a case", "an object", &root);
            }
        }
        self.problems.append(&mut document.problems.take());
    }

    fn whole_case(&mut self, document: &mut Document<'_>, root: &Node) {
        document.duplicate_keys(root, &[]);
        no_nulls(document, root);
        document.required(root, keys::VERSION);
        document.required_text(root, "name");
        self.ignored(document, root, &keys::OF_CASE);
        self.asked.head(document, root, self.plugin, self.folder);
        if let Some(execution) = document.map(root, "execution") {
            no_nulls(document, execution);
            self.ignored(document, execution, &keys::OF_EXECUTION);
            self.asked.execution(document, execution);
        }
        if let Some(context) = document.map(root, "context") {
            no_nulls(document, context);
            self.ignored(document, context, &keys::OF_CONTEXT);
            self.asked.context(document, context, self.file, self.folder);
        }
        for grader in document.list(root, GRADERS).unwrap_or_default() {
            self.graders.read(document, grader, None, &mut self.warnings);
        }
    }

    /// Notes the keys that the real program ignores in silence.
    fn ignored(&mut self, document: &Document<'_>, object: &Node, known: &[&str]) {
        for entry in object.entries().iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            let message = format!("`claude plugin eval` ignores the key `{}` here", entry.key);
            self.warnings.push(Diagnostic::new(Code::Inert, document.place(entry.key_range.clone()), message));
        }
    }

    fn prompt_file(&mut self) {
        let path = self.folder.join(PROMPT);
        let Some(bytes) = self.content(&path) else { return };
        let front = FrontMatter::split(bytes);
        let mut document = Document::new(&path, &front.yaml, Syntax::Yaml);
        if let Some(root) = front.root(&mut document) {
            no_nulls(&mut document, &root);
            document.unknown_keys(&root, &keys::OF_PROMPT);
            self.asked.head(&mut document, &root, self.plugin, self.folder);
            self.asked.execution(&mut document, &root);
        }
        self.asked.prompt = Some(front.body.trim().to_owned());
        self.problems.append(&mut document.problems.take());
    }

    fn grader_files(&mut self) {
        let folder = self.folder.join(GRADERS);
        let names = self.file.tree.names(&folder).unwrap_or_default();
        for name in names.iter().filter_map(|name| name.to_str()?.strip_suffix(".md")) {
            let path = folder.join(format!("{name}.md"));
            if self.file.tree.kind(&path) == FileKind::Folder || self.has_links(std::slice::from_ref(&path)) {
                continue;
            }
            let Some(bytes) = self.content(&path) else { continue };
            let front = FrontMatter::split(bytes);
            if front.yaml.is_empty() {
                // A note.
                continue;
            }
            let mut document = Document::new(&path, &front.yaml, Syntax::Yaml);
            if let Some(root) = front.root(&mut document) {
                self.graders.read(&mut document, &root, Some((name, front.body.trim())), &mut self.warnings);
            }
            self.problems.append(&mut document.problems.take());
        }
    }

    fn content(&mut self, path: &Path) -> Option<Vec<u8>> {
        let read = self.file.tree.read(path);
        let unreadable = |error| Diagnostic::new(Code::Unreadable, SourceLocation::file(path), format!("{error}"));
        read.map_err(|error| self.problems.push(unreadable(error))).ok()
    }

    fn found(mut self) -> (FoundCase, Vec<Diagnostic>) {
        let path = self.file.path;
        let origin = SourceLocation { line: 1, column: 1, ..SourceLocation::file(path) };
        let missing = |what: &str| Diagnostic::new(Code::MissingKey, origin.clone(), format!("the case has no {what}"));
        let is_linked = self.problems.iter().any(|problem| problem.code == Code::Symlink);
        if !is_linked && self.asked.prompt.as_ref().is_none_or(String::is_empty) {
            self.problems.push(missing("prompt"));
        }
        if self.graders.is_empty() && self.problems.is_empty() {
            self.problems.push(missing("graders"));
        }
        let id = self.file.named_id(&self.asked.name);
        let skill = self.plugin.skill_under_test(self.file, self.graders.skill_calls());
        let mut draft =
            CaseDraft::of(Case { id: id.clone(), skill: skill.clone(), origin: origin.clone(), ..Case::default() });
        draft.should_trigger(None);
        self.asked.fill(&mut draft.case);
        let mocks = self.plugin.mocks(self.folder);
        let (_, of_mocks) = servers(self.file.tree, &mocks.folders);
        let unsupported = of_mocks.into_iter().filter(|problem| problem.code == Code::Unsupported);
        let what = "a mock that a model answers".to_owned();
        draft
            .case
            .unsupported
            .extend(unsupported.map(|Diagnostic { place, .. }| Unsupported { what: what.clone(), place }));
        draft.case.mock_servers = Some(mocks);
        self.graders.fill(&mut draft.case);
        let case = if self.problems.is_empty() { Ok(draft.finish_foreign()) } else { Err(self.problems) };
        let source = ReadCase { format: &PROSE, case, places: vec![("id", origin.clone()), ("prompt", origin)] };
        (FoundCase::new(id, skill, path, 1, source), self.warnings)
    }
}
