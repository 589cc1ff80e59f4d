//! The fuzz targets, a module each, and what they share. The tests of the library try the seeds of each.

pub mod claude_trace;
pub mod codex_trace;
pub mod evals_toml;
pub mod foreign_cases;
pub mod masker;
pub mod mcp;
pub mod prompts_csv;
pub mod rubric;
pub mod run_folder;
pub mod shell;
pub mod skill_md;
pub mod task_json;
pub mod trace;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use skill_evals_cases::cases::repo_files::{FileKind, RepoFiles};
use skill_evals_evidence::files::material::MaterialProblem;
use skill_evals_evidence::text::diagnostic::Diagnostic;
use skill_evals_evidence::text::diagnostic::ends_line;

/// Checks that every problem points into `bytes`, and that it can be drawn.
pub fn assert_inside(bytes: &[u8], problems: &[Diagnostic]) {
    let lines = (0..bytes.len()).filter(|at| ends_line(bytes, *at)).count() + 1;
    for problem in problems {
        let place = &problem.place;
        if place.line == 0 {
            continue;
        }
        assert!(place.line <= lines, "{problem} in {lines} lines");
        // Replacement characters may count for several bytes.
        assert!((1..=3 * bytes.len() + 1).contains(&place.column), "{problem}");
        let excerpt = place.excerpt.as_ref().expect("a place in a line has its text");
        assert!(excerpt.text.get(excerpt.mark.clone()).is_some(), "{problem}: {excerpt:?}");
    }
    let _ = skill_evals_report::diagnostics::render(problems, skill_evals_report::paint::Paint::Color);
}

/// Parts of an input, separated by NUL bytes; as many as are asked for, the last with all that is left.
pub fn parts<const N: usize>(bytes: &[u8]) -> [&[u8]; N] {
    let mut parts = bytes.splitn(N, |byte| *byte == 0);
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}

/// A directory in memory, if the system has one.
pub fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a folder")
}

/// Writes a file, with its directories.
pub fn write(path: &Path, bytes: &[u8]) {
    if fs::write(path, bytes).is_err() {
        fs::create_dir_all(path.parent().expect("a folder above")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }
}

/// A repository without files.
pub struct Nothing;

impl RepoFiles for Nothing {
    fn kind(&self, _: &Path) -> FileKind {
        FileKind::Missing
    }

    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn names(&self, _: &Path) -> io::Result<Vec<OsString>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn material_problems(&self, _: &Path) -> Vec<MaterialProblem> {
        Vec::new()
    }
}
