//! Whether the schemas that cases name can be used.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::cases::repo_files::{Kind, Tree};
use crate::text::cut;
use crate::text::diagnostic::Code;

/// What was found out about schema files: many cases share one.
#[derive(Default)]
pub(super) struct Schemas(HashMap<PathBuf, Option<(Code, String)>>);

impl Schemas {
    /// Why the schema at `path` cannot be used.
    pub(super) fn problem(&mut self, path: &Path, tree: &dyn Tree) -> Option<(Code, String)> {
        self.0.entry(path.to_path_buf()).or_insert_with(|| check(path, tree).err()).clone()
    }
}

fn check(path: &Path, tree: &dyn Tree) -> Result<(), (Code, String)> {
    let shown = path.display();
    match tree.kind(path) {
        Kind::File => {}
        Kind::Missing => return Err((Code::MissingSchema, format!("the schema {shown} is not there"))),
        Kind::Symlink => {
            return Err((Code::Symlink, format!("the schema {shown} is reached through a symbolic link")));
        }
        Kind::Folder | Kind::Other => return Err((Code::MissingSchema, format!("the schema {shown} is not a file"))),
    }
    let bytes = tree.read(path).map_err(|error| (Code::Unreadable, format!("the schema {shown}: {error}")))?;
    let schema: serde_json::Value = serde_json::from_slice(&bytes)
        .map_err(|error| (Code::BadSchema, format!("the schema {shown} is not JSON: {error}")))?;
    match jsonschema::validator_for(&schema) {
        Ok(_) => Ok(()),
        Err(error) => {
            let at = error.instance_path().to_string();
            let at = if at.is_empty() { String::new() } else { format!(" at {at}") };
            let why = cut::start(&error.to_string(), 200);
            Err((Code::BadSchema, format!("the schema {shown} does not compile{at}: {why}")))
        }
    }
}
