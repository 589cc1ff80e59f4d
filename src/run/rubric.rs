//! What judges are asked in a repository: its own template and schema, or the built-in ones.

use std::io;
use std::path::Path;

use crate::files::bounded;
use crate::grade::rubric::{self, Rubric};
use crate::settings::Settings;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::relative_path::RelativePath;

/// The rubric of the repository at `root`: its own template and schema, each where it has one.
pub fn read(root: &Path, settings: &Settings) -> Result<Rubric, Box<Diagnostic>> {
    let named = settings.judge.template.as_ref().map(RelativePath::as_path);
    let own = |path: &Path, must_be_there: bool| match bounded::read_text(&root.join(path)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !must_be_there => Ok(None),
        Err(error) => {
            let message = format!("the judge cannot be asked: {error}");
            Err(Box::new(Diagnostic::new(Code::Unreadable, SourceLocation::file(path), message)))
        }
    };
    let (template, schema) = (named.unwrap_or(Path::new(rubric::TEMPLATE)), Path::new(rubric::SCHEMA));
    let template_text = own(template, named.is_some())?;
    let schema_text = own(schema, false)?;
    Rubric::new(
        (template, template_text.as_deref().unwrap_or(rubric::BUILT_IN_TEMPLATE)),
        (schema, schema_text.as_deref().unwrap_or(rubric::BUILT_IN_SCHEMA)),
    )
}
