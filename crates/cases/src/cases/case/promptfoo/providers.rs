//! The programs that answer, as far as their settings say something about the task.

use super::workspace;
use crate::cases::case::document::{Document, Node};
use crate::cases::case::{Case, ForeignFile};
use crate::text::diagnostic::shorten;

/// Their keys in a file.
pub(super) const OF_FILE: [&str; 2] = ["providers", "targets"];

/// Their keys in a test. A text there is the name of one of the file.
pub(super) const OF_TEST: [&str; 2] = ["provider", "providers"];

/// The key of the directory in which such a program works.
const WORKING_DIR: &str = "working_dir";

/// The key of the skills that it is offered.
const SKILLS: &str = "skills";

/// Settings that change what it is asked. The mode sets all others.
const TOLD: [&str; 9] = [
    "system_prompt",
    "append_system_prompt",
    "custom_system_prompt",
    "output_format",
    "output_schema",
    "additional_directories",
    "prompts",
    "transform",
    "transformResponse",
];

/// Reads the programs at these keys of a file or a test.
pub(super) fn read(document: &Document<'_>, file: &ForeignFile<'_>, object: &Node, keys: &[&str; 2], case: &mut Case) {
    let written = keys.iter().filter_map(|key| object.get(key)).flat_map(Node::each);
    let providers: Vec<&Node> = written.filter(|provider| *keys == OF_FILE || provider.is_map()).collect();
    let mut folders: Vec<Option<&Node>> = Vec::new();
    for provider in providers {
        // A provider may be an object whose only key is its id.
        let provider = match provider.entries() {
            [only] if only.value.is_map() => &only.value,
            _ => provider,
        };
        let config = provider.get("config");
        for told in [Some(provider), config].into_iter().flatten().flat_map(Node::entries) {
            if TOLD.contains(&told.key.as_str()) {
                case.unsupported
                    .push(document.unsupported(format!("the setting `{}` of an agent", told.key), &told.value));
            }
        }
        let config = config.unwrap_or(provider);
        folders.push(config.get(WORKING_DIR));
        if let Some(skills) = config.get(SKILLS).filter(|skills| skills.elements().is_some()) {
            case.unsupported.push(document.unsupported("that only some skills are offered", skills));
        }
    }
    let folder = folders.iter().flatten().next().copied();
    let value = |folder: Option<&'_ Node>| folder.map(|folder| folder.value.clone());
    if folders.iter().any(|other| value(*other) != value(folder)) || !folders.is_empty() && !case.files.is_empty() {
        return case.unsupported.push(document.unsupported("several working directories", folder.unwrap_or(object)));
    }
    let Some(folder) = folder else { return };
    match folder.text() {
        Some(text) if text.contains("{{") => {
            let what = format!("the working directory `{}`", shorten(text));
            case.unsupported.push(document.unsupported(what, folder));
        }
        _ => workspace::read(document, file, folder, case),
    }
}
