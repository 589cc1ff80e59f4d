//! Files of tests that a suite names: `tests: file://tests/*.yaml`.

use std::path::{Path, PathBuf};

use globset::GlobBuilder;

use crate::cases::case::ForeignFile;
use crate::cases::case::document::{Node, Syntax};
use crate::cases::repo_files::FileKind;
use crate::text::relative_path::resolved;

/// How the name of a file begins.
const SIGN: &str = "file://";

/// The ends of names of files that are read.
const ENDS: [&str; 3] = [".yaml", ".yml", ".json"];

/// Maximum depth of the directories that a pattern matches.
const MAX_DEPTH: usize = 6;

/// The syntax of a file.
pub(super) fn syntax(path: &Path) -> Syntax {
    if path.extension().is_some_and(|end| end == "json") { Syntax::Json } else { Syntax::Yaml }
}

/// The files that a text names, from the directory of `file`; `None` if it names none that can be read.
pub(super) fn named(file: &ForeignFile<'_>, text: &str) -> Option<Vec<PathBuf>> {
    let name = text.strip_prefix(SIGN).unwrap_or(text);
    let path = resolved(&file.path.parent()?.join(name)).filter(|_| ENDS.iter().any(|end| name.ends_with(end)))?;
    if !name.contains(['*', '?', '[', '{']) {
        return (file.tree.kind(&path) == FileKind::File).then(|| vec![path]);
    }
    let glob = GlobBuilder::new(path.to_str()?).literal_separator(true).build().ok()?.compile_matcher();
    let is_open = |part: &&Path| part.to_str().is_some_and(|part| part.contains(['*', '?', '[', '{']));
    let folder = path.ancestors().skip(1).find(|folder| !folder.ancestors().any(|part| is_open(&part)))?;
    let mut found = Vec::new();
    walk(file, folder, MAX_DEPTH, &mut |path| {
        if glob.is_match(path) {
            found.push(path.to_path_buf());
        }
    });
    (!found.is_empty()).then_some(found)
}

fn walk(file: &ForeignFile<'_>, folder: &Path, depth: usize, see: &mut dyn FnMut(&Path)) {
    for name in file.tree.names(folder).unwrap_or_default() {
        let path = folder.join(name);
        match file.tree.kind(&path) {
            FileKind::File => see(&path),
            FileKind::Folder if depth > 0 => walk(file, &path, depth - 1, see),
            _ => {}
        }
    }
}

/// The entries of a list of tests: tests, and names of files.
pub(super) fn entries(tests: &Node) -> &[Node] {
    tests.elements().unwrap_or(std::slice::from_ref(tests))
}
