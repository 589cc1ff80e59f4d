//! One task file: a case.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::trigger_claim::TriggerClaim;
use super::{Document, expected, graders, timeout};
use crate::cases::case::document::{Node, NodeValue, Syntax};
use crate::cases::case::foreign_case::ForeignCase;
use crate::cases::case::{Case, ForeignFile, FoundCase, ReadCase};
use crate::cases::repo_files::FileKind;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, shorten};
use crate::text::relative_path::{RelativePath, resolved};
use crate::trial::input_file::{InputContent, InputFile};

/// The key of what the agent gets.
const INPUTS: &str = "inputs";

/// The key of the directory of its files.
const CONTEXT_DIR: &str = "context_dir";

/// The directory of the files of all tasks, next to the spec.
const FIXTURES: &str = "fixtures";

/// Keys of a task that ask for nothing of a trial.
const NOTES: [&str; 4] = ["name", "description", "golden", "schemaVersion"];

/// Reads the task files of a spec.
pub(super) struct WazaTask<'a> {
    pub file: &'a ForeignFile<'a>,
    pub spec: Document<'a>,
    pub root: &'a Node,
    /// What the spec says of every case.
    pub shared: Case,
    /// The ids so far.
    pub names: HashSet<String>,
}

impl WazaTask<'_> {
    /// The case in this file.
    pub fn found(&mut self, path: &Path) -> FoundCase {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let bytes = match self.file.tree.read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let place = SourceLocation::file(path);
                let problem = Diagnostic::new(Code::Unreadable, place, format!("cannot be read: {error}"));
                return self.broken(path, &stem, vec![problem]);
            }
        };
        let mut document = Document::new(path, &bytes, Syntax::Yaml);
        let Some(root) = document.root() else {
            return self.broken(path, &stem, document.problems.into_vec());
        };
        let id = self.id(&name(&root).unwrap_or_else(|| stem.into_owned()), path);
        let mut case = ForeignCase::new(&document, &root, id, self.shared.clone());
        case.locate(&document, "prompt", root.get(INPUTS).and_then(|inputs| inputs.get("prompt")));
        document.duplicate_keys(&root, &[]);
        let should_trigger = self.read(&mut document, &root, &mut case.draft.case);
        case.draft.should_trigger(should_trigger);
        document.problems.extend(self.spec.problems.take());
        case.found(&super::FORMAT, document.problems.into_vec())
    }

    fn broken(&mut self, path: &Path, stem: &str, problems: Vec<Diagnostic>) -> FoundCase {
        let line = problems.first().map_or(1, |problem| problem.place.line.max(1));
        let id = self.id(stem, path);
        FoundCase::new(id, self.shared.skill.as_str(), path, line, ReadCase::new(&super::FORMAT, Err(problems)))
    }

    /// An id that no other task of the spec has.
    fn id(&mut self, name: &str, path: &Path) -> String {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        self.file.free_id(name, || format!("{stem}-{name}"), &mut self.names)
    }

    /// Fills the case. Returns whether the skill should trigger, if the task says so.
    fn read(&mut self, document: &mut Document<'_>, root: &Node, case: &mut Case) -> Option<bool> {
        let known = ["id", INPUTS, expected::KEY, graders::KEY, "timeout_seconds", CONTEXT_DIR, "enabled", "tags"];
        case.unsupported.extend(document.unsupported_keys(root, &known, &NOTES));
        if document.flag(root, "enabled") == Some(false) {
            case.unsupported
                .push(document.unsupported("a task that is switched off", root.get("enabled").unwrap_or(root)));
        }
        case.tags = document.texts(root, "tags");
        case.timeout = timeout(document, root).or(case.timeout);
        document.required(root, INPUTS);
        if let Some(inputs) = document.map(root, INPUTS) {
            self.inputs(document, root, inputs, case);
        }
        let mut triggering = TriggerClaim::default();
        expected::read(document, root, case, &mut triggering);
        graders::read(&mut self.spec, self.root, self.file, case, &mut triggering);
        graders::read(document, root, self.file, case, &mut triggering);
        triggering.0
    }

    fn inputs(&self, document: &mut Document<'_>, root: &Node, inputs: &Node, case: &mut Case) {
        let known = ["prompt", "prompt_file", "files", "follow_up_prompts"];
        // Waza gives `context` to no agent.
        case.unsupported.extend(document.unsupported_keys(inputs, &known, &["context"]));
        if let Some(written) = inputs.get("prompt_file") {
            self.prompt_file(document, inputs, written, case);
        } else if let Some(prompt) = document.required_text(inputs, "prompt") {
            prompt.clone_into(&mut case.prompt);
        }
        case.follow_ups = document.texts(inputs, "follow_up_prompts");
        let folder = self.context_folder(document, root);
        for written in document.list(inputs, "files").unwrap_or_default() {
            case.unsupported.extend(document.unsupported_keys(written, &["path", "content"], &[]));
            let Some(text) = document.required_text(written, "path") else { continue };
            match (RelativePath::parse(text), document.text(written, "content")) {
                (Ok(path), Some(content)) if !content.is_empty() => {
                    case.files.push(InputFile { path, content: InputContent::Text(content.to_owned()) });
                }
                (Ok(path), _) => {
                    let content = InputContent::Source(path.clone().under(&folder));
                    case.files.push(InputFile { path, content });
                }
                (Err(why), _) => document.bad_path(text, why, written),
            }
        }
    }

    fn prompt_file(&self, document: &mut Document<'_>, inputs: &Node, written: &Node, case: &mut Case) {
        if let Some(prompt) = inputs.get("prompt") {
            return case.unsupported.push(document.unsupported("`prompt` next to `prompt_file`", prompt));
        }
        let Some(text) = document.required_text(inputs, "prompt_file") else { return };
        let folder = document.path.parent().unwrap_or(Path::new(""));
        let read =
            resolved(&folder.join(text)).ok_or_else(|| "it is outside the repository".to_owned()).and_then(|path| {
                let bytes = self.file.tree.read(&path).map_err(|error| error.to_string())?;
                String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
            });
        match read {
            Ok(prompt) if prompt.trim().is_empty() => {
                document.problem(Code::EmptyValue, written.range.clone(), format!("`{}` is empty", shorten(text)));
            }
            Ok(prompt) => case.prompt = prompt,
            Err(why) => {
                let message = format!("`{}` cannot be read: {why}", shorten(text));
                document.problem(Code::Unreadable, written.range.clone(), message);
            }
        }
    }

    /// The directory of the files of a task. Waza starts at the directory in which it is run: mostly that of the spec, or the root.
    fn context_folder(&self, document: &mut Document<'_>, root: &Node) -> PathBuf {
        let of_spec = self.file.path.parent().unwrap_or(Path::new(""));
        let Some(text) = document.text(root, CONTEXT_DIR) else { return of_spec.join(FIXTURES) };
        let places = [resolved(&of_spec.join(text)), resolved(Path::new(text))];
        let found = places.into_iter().flatten().find(|path| self.file.tree.kind(path) == FileKind::Folder);
        if let (None, Some(written)) = (&found, root.get(CONTEXT_DIR)) {
            document.bad_path(text, "is not a directory of the repository", written);
        }
        found.unwrap_or_default()
    }
}

/// The name of a task.
fn name(root: &Node) -> Option<String> {
    match &root.get("id").or_else(|| root.get("name"))?.value {
        NodeValue::Text(text) | NodeValue::Number(text) if !text.trim().is_empty() => Some(text.clone()),
        _ => None,
    }
}
