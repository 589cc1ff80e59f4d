//! Answers of MCP servers, in the form of `claude plugin eval`: `mocks/<server>/<tool>.md` in the directory of the cases, and in that of
//! a case, whose files replace the others one by one.
//!
//! ```markdown
//! ---
//! expect: { id: number, state: [open, closed], team: /^red/ }
//! ---
//! {"id": {{input.id}}, "title": "Boiler", "log": {{file:fixtures/{input.id}.json}}}
//! ```
//!
//! `error: true` makes it an error of the tool. `_tools.json` is the list of tools of the real server, which describes them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cases::case::document::{Document, Node, NodeValue, Syntax};
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::checks::pattern::PatternSearch;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::trial::input_file::{Expected, MockServer, MockTool};

/// The file with the tools of the real server.
const TOOLS: &str = "_tools.json";

/// The file of a model that answers for several tools.
const SERVER: &str = "_server.md";

/// The directory with texts that answers insert.
const FIXTURES: &str = "fixtures";

/// How deep that directory may be.
const MAX_DEPTH: usize = 8;

/// The largest texts of a server, in bytes.
const MAX_SIZE: usize = 16 << 20;

/// The types of values.
const TYPES: [&str; 5] = ["string", "number", "boolean", "array", "object"];

/// The name of the tool that a file of a server answers for, if it is one of a tool.
fn tool_name(path: &str) -> Option<&str> {
    path.strip_suffix(".md").filter(|tool| !tool.starts_with('_') && !tool.contains('/'))
}

/// Whether agents take this as the name of a server or tool.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// The files of each server in these directories, by their paths in its directory. The later ones replace files of the earlier ones.
fn files(
    tree: &dyn RepoFiles,
    folders: &[PathBuf],
    problems: &mut Vec<Diagnostic>,
) -> BTreeMap<String, BTreeMap<String, PathBuf>> {
    let mut files: BTreeMap<String, BTreeMap<String, PathBuf>> = BTreeMap::new();
    for folder in folders {
        // What is not there has no names.
        for name in tree.names(folder).unwrap_or_default() {
            let name = name.to_string_lossy().into_owned();
            let server = folder.join(&name);
            if name.starts_with('.') || !is_kind(tree, &server, FileKind::Folder, problems) {
                continue;
            }
            list(tree, &server, Path::new(""), files.entry(name).or_default(), problems);
        }
    }
    files
}

/// The servers in these directories, and what is wrong with them.
pub fn servers(tree: &dyn RepoFiles, folders: &[PathBuf]) -> (Vec<MockServer>, Vec<Diagnostic>) {
    let mut problems = Vec::new();
    let mut servers = Vec::new();
    for (name, files) in files(tree, folders, &mut problems) {
        let is_tool = |path: &&String| tool_name(path).is_some();
        if let Some(path) = files.get(SERVER) {
            problems.push(unsupported(path));
        }
        let Some(first) = files.keys().find(is_tool).and_then(|tool| files.get(tool)) else { continue };
        if !is_name(&name) {
            let place = SourceLocation::file(first.parent().unwrap_or(first));
            let message = format!("{name:?} is not a name for a server: use letters, digits, `-` and `_`");
            problems.push(Diagnostic::new(Code::BadChoice, place, message));
            continue;
        }
        servers.push(ServerReader { tree, files: &files, problems: &mut problems, size: 0 }.read(name));
    }
    (servers, problems)
}

/// Whether a file of this kind is there. A link is a problem: what it leads to is no part of the case.
fn is_kind(tree: &dyn RepoFiles, path: &Path, kind: FileKind, problems: &mut Vec<Diagnostic>) -> bool {
    let found = tree.kind(path);
    if found == FileKind::Symlink {
        let message = "a mock is reached through a symbolic link";
        problems.push(Diagnostic::new(Code::Symlink, SourceLocation::file(path), message).help("copy the files"));
    }
    found == kind
}

fn list(
    tree: &dyn RepoFiles,
    server: &Path,
    inside: &Path,
    files: &mut BTreeMap<String, PathBuf>,
    problems: &mut Vec<Diagnostic>,
) {
    for name in tree.names(&server.join(inside)).unwrap_or_default() {
        let below = inside.join(&name);
        let path = server.join(&below);
        if is_kind(tree, &path, FileKind::File, problems) {
            files.insert(below.to_string_lossy().into_owned(), path);
        } else if below.starts_with(FIXTURES)
            && below.iter().count() < MAX_DEPTH
            && tree.kind(&path) == FileKind::Folder
        {
            list(tree, server, &below, files, problems);
        }
    }
}

fn unsupported(path: &Path) -> Diagnostic {
    let problem =
        Diagnostic::new(Code::Unsupported, SourceLocation::file(path), "unsupported: a mock that a model answers");
    problem.help("write the answer as the text of a file <tool>.md; until then the tool is not there")
}

struct ServerReader<'a> {
    tree: &'a dyn RepoFiles,
    files: &'a BTreeMap<String, PathBuf>,
    problems: &'a mut Vec<Diagnostic>,
    /// The size of all texts so far.
    size: usize,
}

impl ServerReader<'_> {
    fn read(mut self, name: String) -> MockServer {
        let mut server = MockServer { name, ..MockServer::default() };
        let known = self.files.get(TOOLS).and_then(|path| self.json(path)).unwrap_or_default();
        for (name, path) in self.files {
            if name.starts_with(&format!("{FIXTURES}/")) {
                if let Some(text) = self.content(path) {
                    server.fixtures.insert(name.clone(), String::from_utf8_lossy(&text).into_owned());
                }
                continue;
            }
            let Some(tool) = tool_name(name) else { continue };
            if !is_name(tool) {
                let message = format!("{tool:?} is not a name for a tool: use letters, digits, `-` and `_`");
                self.problems.push(Diagnostic::new(Code::BadChoice, SourceLocation::file(path), message));
                continue;
            }
            let Some(bytes) = self.content(path) else { continue };
            let Some(mut tool) = self.tool(tool, path, bytes) else { continue };
            let list = known["tools"].as_array().into_iter().flatten();
            if let Some(real) = list.into_iter().find(|real| real["name"] == tool.name.as_str()) {
                tool.description = real["description"].as_str().map(str::to_owned);
                tool.input_schema = real["inputSchema"].as_object().cloned();
            }
            server.tools.push(tool);
        }
        server
    }

    fn content(&mut self, path: &Path) -> Option<Vec<u8>> {
        let read = self.tree.read(path).map_err(|error| error.to_string()).and_then(|bytes| {
            self.size += bytes.len();
            if self.size > MAX_SIZE {
                Err(format!("all mocks of a server have at most {MAX_SIZE} bytes"))
            } else {
                Ok(bytes)
            }
        });
        let problem = |why| Diagnostic::new(Code::Unreadable, SourceLocation::file(path), why);
        read.map_err(|why| self.problems.push(problem(why))).ok()
    }

    fn json(&mut self, path: &Path) -> Option<Value> {
        let bytes = self.content(path)?;
        let mut document = Document::new(path, &bytes, Syntax::Json);
        let root = document.root();
        self.problems.append(&mut document.problems.take());
        root.map(|root| root.json())
    }

    /// The tool in a file; `None` with a problem, or if a model answers.
    fn tool(&mut self, name: &str, path: &Path, bytes: Vec<u8>) -> Option<MockTool> {
        let front = FrontMatter::split(bytes, false);
        let mut document = Document::new(path, &front.yaml, Syntax::Yaml);
        let mut tool = MockTool { name: name.to_owned(), body: front.body.trim().to_owned(), ..MockTool::default() };
        let mut is_agent = false;
        if let Some(root) = front.root(&mut document) {
            document.unknown_keys(&root, &["type", "expect", "error", "abort_when"]);
            match document.text(&root, "type") {
                None | Some("fixed") => {}
                Some("agent") => is_agent = true,
                Some(other) => {
                    let range = root.get("type").unwrap_or(&root).range.clone();
                    let message = format!("unknown type of mock {other:?}; expected fixed or agent");
                    document.problem(Code::BadChoice, range, message);
                }
            }
            tool.is_error = document.flag(&root, "error").unwrap_or_default();
            if let Some(expect) = document.map(&root, "expect") {
                let entries = expect.entries().iter();
                tool.expect = entries.map(|entry| (entry.key.clone(), expected(&mut document, &entry.value))).collect();
            }
        }
        let found = document.problems.take();
        let is_valid = found.is_empty();
        self.problems.extend(found);
        if is_agent {
            self.problems.push(unsupported(path));
        }
        (is_valid && !is_agent).then_some(tool)
    }
}

fn expected(document: &mut Document<'_>, written: &Node) -> Expected {
    if let Some(elements) = written.elements() {
        return Expected::OneOf(elements.iter().map(Node::json).collect());
    }
    let Some(text) = written.text() else { return Expected::OneOf(vec![written.json()]) };
    if TYPES.contains(&text) {
        return Expected::Type(text.to_owned());
    }
    match text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
        Some(pattern) if !pattern.is_empty() => {
            if let Err(error) = PatternSearch::javascript(pattern, "") {
                document.problem(Code::BadRegex, written.range.clone(), format!("`expect`: {error}"));
            }
            Expected::Pattern(pattern.to_owned())
        }
        _ => Expected::OneOf(vec![text.into()]),
    }
}

/// The line before and after the options.
const FENCE: &str = "---";

/// The parts of a file.
pub(super) struct FrontMatter {
    /// The options with the bytes of the file before them, so that places are those of the file; empty if there are none.
    pub yaml: Vec<u8>,
    /// The rest.
    pub body: String,
    is_open: bool,
}

impl FrontMatter {
    /// Splits a file; one that is all options has no body.
    pub fn split(mut bytes: Vec<u8>, is_all_options: bool) -> Self {
        if is_all_options {
            return Self { yaml: bytes, body: String::new(), is_open: false };
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut lines = text.split_inclusive('\n');
        let is_fence = |line: &str| line.trim_end() == FENCE;
        let Some(first) = lines.next().filter(|line| is_fence(line)) else {
            return Self { yaml: Vec::new(), body: text.to_owned(), is_open: false };
        };
        let mut length = first.len();
        let mut is_open = true;
        for line in lines {
            if is_fence(line) {
                is_open = false;
                let body = text[length + line.len()..].to_owned();
                // What is not UTF-8 is longer in `text`; the reader of the options reports it.
                let start = bytes.iter().position(|byte| *byte == b'-').unwrap_or_default();
                bytes.truncate(start + length);
                // A comment in YAML.
                bytes[start] = b'#';
                return Self { yaml: bytes, body, is_open };
            }
            length += line.len();
        }
        Self { yaml: bytes, body: String::new(), is_open }
    }

    /// The options in a document of `yaml`: an object, which is empty if there are none. `None` with a problem.
    pub fn root(&self, document: &mut Document<'_>) -> Option<Node> {
        if self.is_open {
            document.problem(Code::YamlSyntax, 0..FENCE.len(), "the front matter has no end: a second line `---`");
            return None;
        }
        let empty = || Some(Node { value: NodeValue::Map(Vec::new()), range: 0..0 });
        let text = String::from_utf8_lossy(&self.yaml);
        if text
            .lines()
            .all(|line| line.trim().is_empty() || line.trim_start_matches('\u{feff}').trim().starts_with('#'))
        {
            return empty();
        }
        let root = document.root()?;
        match root.value {
            NodeValue::Map(_) => {
                document.duplicate_keys(&root, &[]);
                Some(root)
            }
            NodeValue::Null => empty(),
            _ => {
                document.wrong_type("the front matter", "an object", &root);
                None
            }
        }
    }
}
