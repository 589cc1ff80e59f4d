//! What became of each file that holds cases, looks like it, or is a SKILL.md. It is in one of four lists: there is no other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cases::catalog::Catalog;
use crate::cases::other_skill::{FileStanding, NotRead};
use crate::skill::SKILL_FILE;
use crate::text::diagnostic::{Code, Diagnostic, Severity};

/// The files of a repository that hold cases, look like it, or are a SKILL.md.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Census {
    /// The files, from the repository's root, each with what became of it.
    pub files: BTreeMap<PathBuf, FileStanding>,
    /// How many more are only counted: directories of installed packages and of what is built, and each SKILL.md that git ignores.
    pub not_searched: usize,
}

impl Census {
    /// The census by a catalog and all that `lint` says of it.
    pub fn of(catalog: &Catalog, problems: &[Diagnostic]) -> Self {
        let mut files = BTreeMap::new();
        let skills = catalog.skills.iter().map(|found| found.skill().folder.join(SKILL_FILE));
        let written = catalog.cases.iter().filter(|found| !found.format().is_built_in());
        let read = skills.chain(written.map(|found| found.file.to_path_buf()));
        files.extend(read.map(|file| (file, FileStanding::Read)));
        let (ignored, others): (Vec<_>, Vec<_>) =
            catalog.others.iter().partition(|other| other.why == NotRead::Ignored);
        files.extend(others.into_iter().map(|other| (other.file.clone(), FileStanding::NotRead)));
        for (file, standing) in &catalog.passed_over {
            files.entry(file.clone()).or_insert(*standing);
        }
        for problem in problems {
            let file = problem.place.path.clone();
            match problem.code {
                Code::UnreadCases => _ = files.insert(file, FileStanding::NotRead),
                Code::MisplacedCases | Code::OrphanCases => {
                    let is_error = problem.severity == Severity::Error;
                    files.insert(file, if is_error { FileStanding::Wrong } else { FileStanding::NotRead });
                }
                _ if problem.severity != Severity::Error => {}
                _ => {
                    if let Some(standing) = files.get_mut(&file).filter(|standing| **standing == FileStanding::Read) {
                        *standing = FileStanding::Wrong;
                    }
                }
            }
        }
        Self { files, not_searched: catalog.closed.len() + ignored.len() }
    }

    /// The files with this standing.
    pub fn with(&self, standing: FileStanding) -> impl Iterator<Item = &Path> {
        self.files.iter().filter(move |(_, of)| **of == standing).map(|(file, _)| file.as_path())
    }
}
