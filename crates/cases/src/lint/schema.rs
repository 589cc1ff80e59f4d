//! Schemas of cases that cannot be used.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::cases::repo_files::{NoPlainFile, RepoFiles, plain_file};
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
    let bytes = plain_file(tree, path).map_err(|why| {
        let code = match why {
            NoPlainFile::Missing | NoPlainFile::NoFile => Code::MissingSchema,
            NoPlainFile::Symlink => Code::Symlink,
            NoPlainFile::Unreadable(_) => Code::Unreadable,
        };
        (code, format!("the schema {shown} {why}"))
    })?;
    match Schema::parse(&bytes) {
        Ok(_) => Ok(()),
        Err(error) => Err((Code::BadSchema, format!("the schema {shown} {error}"))),
    }
}
