//! Whether the schemas that cases name can be used.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::checks::schema::Schema;
use crate::text::diagnostic::Code;

/// What was found out about schema files: many cases share one.
#[derive(Default)]
pub(super) struct Schemas(HashMap<PathBuf, Option<(Code, String)>>);

impl Schemas {
    /// Why the schema at `path` cannot be used.
    pub(super) fn problem(&mut self, path: &Path, tree: &dyn RepoFiles) -> Option<(Code, String)> {
        self.0.entry(path.to_path_buf()).or_insert_with(|| check(path, tree).err()).clone()
    }
}

fn check(path: &Path, tree: &dyn RepoFiles) -> Result<(), (Code, String)> {
    let shown = path.display();
    match tree.kind(path) {
        FileKind::File => {}
        FileKind::Missing => return Err((Code::MissingSchema, format!("the schema {shown} is not there"))),
        FileKind::Symlink => {
            return Err((Code::Symlink, format!("the schema {shown} is reached through a symbolic link")));
        }
        FileKind::Folder | FileKind::Other => {
            return Err((Code::MissingSchema, format!("the schema {shown} is not a file")));
        }
    }
    let bytes = tree.read(path).map_err(|error| (Code::Unreadable, format!("the schema {shown}: {error}")))?;
    let read = Schema::parse(&bytes).map(drop);
    read.map_err(|error| (Code::BadSchema, format!("the schema {shown} {error}")))
}
