//! Tasks of Harbor, which this program does not run.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::cases::case_folders::is_direct;
use crate::text::cut;
use crate::text::diagnostic::{Code, Diagnostic, Severity, SourceLocation};

/// The files of a task.
pub(super) const HARBOR: [&str; 2] = ["task.toml", INSTRUCTION];
pub(super) const INSTRUCTION: &str = "instruction.md";

/// The most directories that a message names.
const MOST_NAMES: usize = 10;

/// The directories of tasks of Harbor among those of these files, and the warning about all of them.
pub(super) fn harbor_tasks(files: &[PathBuf]) -> (BTreeSet<PathBuf>, Option<Diagnostic>) {
    let folders = |name: &'static str| {
        let files = files.iter().filter(move |path| has_name(path, name) && !is_direct(path));
        files.filter_map(|path| path.parent()).map(Path::to_path_buf).collect::<BTreeSet<_>>()
    };
    let tasks = &folders(HARBOR[0]) & &folders(INSTRUCTION);
    let warning = tasks.first().map(|first| {
        let names: Vec<String> = tasks.iter().map(|task| task.display().to_string()).collect();
        let message = format!("tasks of Harbor are not read: {}", cut::names(&names, MOST_NAMES));
        let problem = Diagnostic::new(Code::UnreadCases, SourceLocation::file(first), message);
        let help = "run them with Harbor, or write their instructions as cases: docs/formats.md lists the formats";
        Diagnostic { severity: Severity::Warning, ..problem.help(help) }
    });
    (tasks, warning)
}

fn has_name(path: &Path, name: &str) -> bool {
    path.file_name().and_then(OsStr::to_str).is_some_and(|found| found.eq_ignore_ascii_case(name))
}
