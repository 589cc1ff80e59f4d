//! The prompts of a suite.

use std::ffi::OsStr;
use std::path::Path;

use crate::cases::case::document::{Document, Node};
use crate::cases::case::{ForeignFile, Unsupported};
use crate::cases::repo_files::FileKind;
use crate::text::diagnostic::{Code, shorten};
use crate::text::relative_path::resolved;

pub(super) const KEY: &str = "prompts";

/// The line between the prompts of a text file.
const SEPARATOR: &str = "---";

/// A prompt with variables.
#[derive(Clone, Debug, Default)]
pub(super) struct Prompt {
    pub template: String,
    /// Why it cannot be asked as it is meant.
    pub unsupported: Vec<Unsupported>,
}

/// The prompts of a suite.
pub(super) fn read(
    document: &mut Document<'_>,
    file: &ForeignFile<'_>,
    root: &Node,
    implied: Option<&str>,
) -> Vec<Prompt> {
    let Some(written) = root.get(KEY) else {
        if implied.is_none() {
            document.missing(root, KEY);
        }
        return vec![plain(implied.unwrap_or_default())];
    };
    let mut prompts = Vec::new();
    for prompt in written.each() {
        let raw = prompt.get("raw").or_else(|| prompt.get("id"));
        match prompt.text().or_else(|| raw.and_then(Node::text)) {
            Some(text) => {
                let unknown = document.unsupported_keys(prompt, &["raw", "id", "label"], &[]);
                for mut read in of_text(document, file, prompt, text) {
                    read.unsupported.extend(unknown.iter().cloned());
                    prompts.push(read);
                }
            }
            None => prompts.push(unsupported(document, prompt, "this form of a prompt".to_owned())),
        }
    }
    if prompts.is_empty() {
        document.problem(Code::EmptyValue, written.range.clone(), format!("`{KEY}` is empty"));
        prompts.push(Prompt::default());
    }
    prompts
}

fn plain(template: &str) -> Prompt {
    Prompt { template: template.to_owned(), unsupported: Vec::new() }
}

fn unsupported(document: &Document<'_>, node: &Node, what: String) -> Prompt {
    Prompt { template: String::new(), unsupported: vec![document.unsupported(what, node)] }
}

/// The prompts that a text is, or that the file named by it holds.
fn of_text(document: &Document<'_>, file: &ForeignFile<'_>, node: &Node, text: &str) -> Vec<Prompt> {
    let name = text.strip_prefix("file://");
    let here = file.path.parent().unwrap_or(Path::new(""));
    let path = resolved(&here.join(name.unwrap_or(text))).filter(|path| file.tree.kind(path) == FileKind::File);
    let is_one_line = !text.contains('\n');
    let end = Path::new(text).extension().and_then(OsStr::to_str).unwrap_or_default();
    let content = match (name, path) {
        (_, Some(path)) if is_one_line && ["txt", "md"].contains(&end) => {
            file.tree.read(&path).ok().and_then(|bytes| String::from_utf8(bytes).ok())
        }
        (None, path) if path.is_none() || !is_one_line => {
            let is_chat =
                text.trim_start().starts_with(['[', '{']) && serde_json::from_str::<serde_json::Value>(text).is_ok();
            if is_chat {
                return vec![unsupported(document, node, "a prompt that is JSON".to_owned())];
            }
            return vec![plain(text)];
        }
        _ => None,
    };
    match content {
        Some(content) if end == "md" => vec![plain(&content)],
        Some(content) => parts(&content),
        None => vec![unsupported(document, node, format!("the prompt file `{}`", shorten(text)))],
    }
}

fn parts(content: &str) -> Vec<Prompt> {
    let lines: Vec<&str> = content.lines().collect();
    let parts = lines.split(|line| line.trim() == SEPARATOR).map(|lines| lines.join("\n"));
    parts.filter(|part| !part.trim().is_empty()).map(|part| plain(part.trim())).collect()
}
