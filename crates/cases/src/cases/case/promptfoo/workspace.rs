//! The directory in which the agent works: its files are those of the workspace.

use std::path::Path;

use crate::cases::case::document::{Document, Node};
use crate::cases::case::{Case, ForeignFile};
use crate::cases::repo_files::FileKind;
use crate::text::diagnostic::shorten;
use crate::text::relative_path::{RelativePath, resolved};
use crate::trial::input_file::{InputContent, InputFile};

/// The directory of skills in an agent's own directory. Agents get the repository's skills in its place.
const SKILLS: &str = "skills";

/// Adds the files of the directory that `node` names.
pub(in crate::cases::case) fn read(document: &Document<'_>, file: &ForeignFile<'_>, node: &Node, case: &mut Case) {
    let name = node.text().unwrap_or_default();
    let here = file.path.parent().unwrap_or(Path::new(""));
    let unsupported =
        |why: &str| document.unsupported(format!("the working directory `{}`, {why}", shorten(name)), node);
    let Some(folder) = resolved(&here.join(name)).filter(|folder| file.tree.kind(folder) == FileKind::Folder) else {
        return case.unsupported.push(unsupported("which is not a directory of the repository"));
    };
    if here.starts_with(&folder) {
        return case.unsupported.push(unsupported("which holds the cases"));
    }
    match files(file, &folder) {
        Some(files) => case.files.extend(files),
        None => case.unsupported.push(unsupported("which cannot be read")),
    }
}

/// The files and directories in `folder`, without the skills in it.
fn files(file: &ForeignFile<'_>, folder: &Path) -> Option<Vec<InputFile>> {
    let mut files = Vec::new();
    for name in file.tree.names(folder).ok()? {
        let path = Path::new(&name);
        let is_hidden = name.to_string_lossy().starts_with('.');
        if !is_hidden || file.tree.kind(&folder.join(path).join(SKILLS)) != FileKind::Folder {
            files.push(copy(folder, path)?);
            continue;
        }
        for inner in file.tree.names(&folder.join(path)).ok()?.into_iter().filter(|inner| inner != SKILLS) {
            files.push(copy(folder, &path.join(inner))?);
        }
    }
    Some(files)
}

fn copy(folder: &Path, path: &Path) -> Option<InputFile> {
    let source = RelativePath::parse(folder.join(path).to_str()?).ok()?;
    Some(InputFile { path: RelativePath::parse(path.to_str()?).ok()?, content: InputContent::Source(source) })
}
