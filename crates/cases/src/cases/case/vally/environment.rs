//! What the workspace holds at the start, and the commands that prepare it.

use std::path::{Path, PathBuf};

use super::{Document, is_spec};
use crate::cases::case::document::Node;
use crate::cases::case::{Case, ForeignFile};
use crate::cases::repo_files::FileKind;
use crate::skill::SKILL_FILE;
use crate::text::diagnostic::{Code, shorten};
use crate::text::relative_path::{RelativePath, resolved};
use crate::trial::input_file::{InputContent, InputFile};

/// The key of the environment, of a file or of a stimulus.
pub(super) const KEY: &str = "environment";

/// Adds what the environment in `object` asks for.
pub(super) fn read(document: &mut Document<'_>, file: &ForeignFile<'_>, object: &Node, case: &mut Case) {
    let Some(node) = object.get(KEY) else { return };
    if let Some(name) = node.text() {
        let what = format!("the environment `{}` of another file", shorten(name));
        case.unsupported.push(document.unsupported(what, node));
        return;
    }
    let Some(environment) = document.map(object, KEY) else { return };
    case.unsupported.extend(document.unsupported_keys(environment, &["files", "commands", "skills"], &[]));
    // The skill under test is offered in any case.
    let folder = file.path.parent().unwrap_or(Path::new(""));
    let under_test = file.skill.and_then(|slug| file.directory_of(slug));
    let is_under_test = |path: &Node| {
        let path = path.text().and_then(|path| resolved(&folder.join(path)));
        path.is_some_and(|path| under_test.is_some_and(|skill| skill == path || skill.join(SKILL_FILE) == path))
    };
    let others = environment.get("skills").filter(|skills| !skills.each().iter().all(is_under_test));
    if let Some(skills) = others {
        case.unsupported.push(document.unsupported("that only some skills are offered", skills));
    }
    for written in document.list(environment, "files").unwrap_or_default() {
        add_files(document, file, written, case);
    }
    case.setup.extend(document.texts(environment, "commands"));
}

fn add_files(document: &mut Document<'_>, file: &ForeignFile<'_>, written: &Node, case: &mut Case) {
    if !written.is_map() {
        return document.wrong_type("an element of `files`", "an object with `src` and `dest`", written);
    }
    case.unsupported.extend(document.unsupported_keys(written, &["src", "dest", "content"], &[]));
    let content = document.text(written, "content").map(str::to_owned);
    if let Some(content) = content {
        let Some(dest) = document.required_text(written, "dest") else { return };
        match RelativePath::parse(dest) {
            Ok(path) => case.files.push(InputFile { path, content: InputContent::Text(content) }),
            Err(why) => document.bad_path(dest, why, written),
        }
        return;
    }
    let Some(src) = document.required_text(written, "src") else { return };
    let dest = document.text(written, "dest").unwrap_or(src);
    let problems = document.problems.found();
    let folder = file.path.parent().unwrap_or(Path::new(""));
    let from = resolved(&folder.join(src));
    let to = resolved(Path::new(dest));
    for (path, text) in [(&from, src), (&to, dest)] {
        if path.is_none() {
            document.bad_path(text, "is absolute, or leaves its directory", written);
        }
    }
    let (Some(from), Some(to), true) = (from, to, problems == document.problems.found()) else { return };
    // The directory of the spec holds the spec, which says what is expected.
    let is_parts = folder.starts_with(&from) || to.as_os_str().is_empty() && file.tree.kind(&from) == FileKind::Folder;
    let files: Vec<(PathBuf, PathBuf)> = if is_parts {
        let names = match file.tree.names(&from) {
            Ok(names) => names,
            Err(error) => {
                let message = format!("the directory `{}` cannot be read: {error}", shorten(src));
                document.problem(Code::Unreadable, written.range.clone(), message);
                return;
            }
        };
        let files = names.into_iter().map(|name| (from.join(&name), to.join(&name)));
        files.filter(|(from, _)| !is_spec(from) && !folder.starts_with(from)).collect()
    } else {
        vec![(from, to)]
    };
    for (from, to) in files {
        let path = |path: &Path| RelativePath::parse(&path.to_string_lossy());
        match (path(&from), path(&to)) {
            (Ok(source), Ok(path)) => case.files.push(InputFile { path, content: InputContent::Source(source) }),
            (Err(why), _) | (_, Err(why)) => document.bad_path(src, why, written),
        }
    }
}
