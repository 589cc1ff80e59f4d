//! The files of the repository that a case is made of, and those that its workspace holds when its agent starts.

use std::path::{Path, PathBuf};

use crate::cases::case::Case;
use crate::checks::SCRIPT_KEY;
use crate::files::material::Material;
use crate::settings::AnswerText;
use crate::text::relative_path::RelativePath;
use crate::trial::input_file::InputContent;

/// The fixture of `case` and its own files, which win; `None` if its workspace is empty. `root` is the repository's.
pub fn start_files(root: &Path, case: &Case) -> Option<Material> {
    if case.fixture.is_none() && case.files.is_empty() {
        return None;
    }
    let mut material =
        case.fixture.as_ref().map(|fixture| Material::list_in(root, fixture.as_path())).unwrap_or_default();
    for file in &case.files {
        match &file.content {
            InputContent::Text(text) => material.add_text(file.path.as_path(), text),
            InputContent::Source(source) => {
                material.add(file.path.as_path(), root, source.as_path());
            }
        }
    }
    Some(material)
}

/// The sources of a case, from the repository's root, each behind the column of the field that names it.
pub fn sources(case: &Case) -> impl Iterator<Item = (&'static str, &RelativePath)> {
    let Case { fixture, solution, answer, output_schema, files, during, mocks, checks, .. } = case;
    let single = [(FIXTURE, fixture), ("solution", solution), ("answer", answer), ("output_schema", output_schema)];
    let single = single.into_iter().filter_map(|(field, path)| Some((field, path.as_ref()?)));
    let files = files.iter().filter_map(|file| match &file.content {
        InputContent::Source(source) => Some((FILES, source)),
        InputContent::Text(_) => None,
    });
    let changes = during.iter().filter_map(|change| Some((DURING, change.folder.as_ref()?)));
    let outputs = mocks.iter().filter_map(|answer| match &answer.stdout {
        AnswerText::File(path) => Some(("mocks", path)),
        AnswerText::Here(_) => None,
    });
    let scripts = checks.iter().filter_map(|check| Some((SCRIPT_KEY, check.script()?)));
    let snapshots = checks.iter().filter_map(|check| Some(("snapshot", check.ask.names().snapshot?)));
    single.chain(files).chain(changes).chain(outputs).chain(scripts).chain(snapshots)
}

/// The fields whose sources agents get.
const FIXTURE: &str = "fixture";
const FILES: &str = "files";
const DURING: &str = "during";

/// The files and directories of the repository that are copied for the agent of `case`, from its root.
pub fn copied(case: &Case) -> impl Iterator<Item = PathBuf> {
    let copied = sources(case).filter(|(field, _)| [FIXTURE, FILES, DURING].contains(field));
    copied.map(|(_, path)| path.as_path().to_path_buf())
}
