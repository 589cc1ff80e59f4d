//! The judge's template and the schema of its answer in a repository: its own, or the built-in ones.

use std::io;
use std::path::Path;

use crate::files::inside;
use crate::settings::Settings;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::relative_path::RelativePath;

/// A repository's own template, from its root, unless the settings name another.
pub const TEMPLATE: &str = "evals/judge.md";

/// A repository's own schema of the judge's answer, from its root.
pub const SCHEMA: &str = "evals/schemas/style_rubric.schema.json";

pub const BUILT_IN_TEMPLATE: &str = include_str!("judge.md");

pub const BUILT_IN_SCHEMA: &str = include_str!("style_rubric.schema.json");

/// The texts of the template and of the schema.
pub fn texts(root: &Path, settings: &Settings) -> Result<[String; 2], Box<Diagnostic>> {
    let [template, schema] = paths(settings);
    let template = read_file(root, template, settings.judge.template.is_some(), BUILT_IN_TEMPLATE)?;
    Ok([template, read_file(root, schema, false, BUILT_IN_SCHEMA)?])
}

/// Where a repository has the template and the schema, from its root.
pub fn paths(settings: &Settings) -> [&Path; 2] {
    [settings.judge.template.as_ref().map_or(Path::new(TEMPLATE), RelativePath::as_path), Path::new(SCHEMA)]
}

/// The text of a file of the repository, or `built_in` if an optional file does not exist.
fn read_file(root: &Path, path: &Path, is_required: bool, built_in: &str) -> Result<String, Box<Diagnostic>> {
    match inside::read_text(root, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_required => Ok(built_in.to_owned()),
        text => text.map_err(|error| {
            let message = format!("the judge cannot be asked: {error}");
            Box::new(Diagnostic::new(Code::Unreadable, SourceLocation::file(path), message))
        }),
    }
}
