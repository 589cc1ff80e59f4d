//! The judge's template and schema in a repository: its own, or the built-in ones.

use std::io;
use std::path::Path;

use crate::files::inside;
use crate::grade::rubric::{self, Rubric};
use crate::settings::Settings;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::relative_path::RelativePath;

pub fn read(root: &Path, settings: &Settings) -> Result<Rubric, Box<Diagnostic>> {
    let named = settings.judge.template.as_ref().map(RelativePath::as_path);
    let (template, schema) = (named.unwrap_or(Path::new(rubric::TEMPLATE)), Path::new(rubric::SCHEMA));
    let template_text = read_file(root, template, named.is_some(), rubric::BUILT_IN_TEMPLATE)?;
    let schema_text = read_file(root, schema, false, rubric::BUILT_IN_SCHEMA)?;
    Rubric::new((template, &template_text), (schema, &schema_text))
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
