//! Schemas of cases that cannot be used.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::checks::schema::Schema;
use crate::text::diagnostic::Code;

/// The problems of schema files. Many cases share a file.
#[derive(Default)]
pub(super) struct Schemas(HashMap<PathBuf, Option<(Code, String)>>);

impl Schemas {
    pub(super) fn problem(&mut self, path: &Path, tree: &dyn RepoFiles) -> Option<(Code, String)> {
        self.0.entry(path.to_path_buf()).or_insert_with(|| check(path, tree).err()).clone()
    }
}

fn check(path: &Path, tree: &dyn RepoFiles) -> Result<(), (Code, String)> {
    let shown = path.display();
    match tree.kind(path) {
        FileKind::File => {}
        FileKind::Missing => return Err((Code::MissingSchema, format!("the schema {shown} does not exist"))),
        FileKind::Symlink => {
            return Err((Code::Symlink, format!("the schema {shown} is reached through a symbolic link")));
        }
        FileKind::Folder | FileKind::Other => {
            return Err((Code::MissingSchema, format!("the schema {shown} is not a file")));
        }
    }
    let bytes = tree.read(path).map_err(|error| (Code::Unreadable, format!("the schema {shown}: {error}")))?;
    match Schema::parse(&bytes) {
        Ok(_) => Ok(()),
        Err(error) => Err((Code::BadSchema, format!("the schema {shown} {error}"))),
    }
}
