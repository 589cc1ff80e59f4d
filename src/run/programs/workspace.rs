//! A copy of the workspace that a trial left.

use std::collections::HashSet;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::agent::trial_env::TrialEnv;
use crate::cases::case_parts::files_part;
use crate::cases::program_content;
use crate::cases::start_files::start_files;
use crate::checks::program::WorkspaceProgram;
use crate::files::bounded;
use crate::files::material::Material;
use crate::files::rooted::{RootedPath, WalkedFile};
use crate::run::context::RunContext;
use crate::run::stored_trial::TrialEvidence;
use crate::text::cut;
use crate::text::problem::Problem;

/// The target of links in a copy, which does not exist.
const NOT_FOLLOWED: &str = "/dev/null/links-are-not-followed";

/// How many missing files a message names.
const MAX_NAMED: usize = 3;

/// Copies the case's files that nothing changed, and the stored files that its setup or the agent created or changed. Fails if the
/// copy would not have every file: a program would take a file that was not stored for one that the agent did not write.
pub(super) fn restore(run: &RunContext, exhibit: &TrialEvidence<'_>, trial_env: &TrialEnv) -> Result<(), Problem> {
    let meta = exhibit.evidence.meta;
    let to = trial_env.workspace();
    copy_start_files(run, exhibit, &to)?;
    trial_env.create_directories(&run.settings.create).map_err(|error| error.to_string())?;
    let cannot = |error: io::Error| format!("the workspace cannot be copied: {error}");
    for directory in meta.files.iter().filter(|file| file.is_folder()) {
        to.join(&directory.path).create_dir_all().map_err(|error| cannot(error.into()))?;
    }
    exhibit.folder.each_workspace_file(|file| copy(file, &to.join(file.path))).map_err(cannot)?;
    for link in &meta.links {
        copy_link(&to.join(link)).map_err(cannot)?;
    }
    if meta.files_truncated {
        return Err("the workspace holds more files than are stored".into());
    }
    let missing: Vec<String> = meta
        .files
        .iter()
        .filter(|file| !file.is_folder() && !to.join(&file.path).exists())
        .map(|file| format!("`{}` ({})", file.path.display(), bounded::bytes(file.size)))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("the stored workspace lacks {}: too large to be kept", cut::names(&missing, MAX_NAMED)).into())
}

/// Adds the program's own files to a copy of the workspace, except those that are there.
pub(super) fn add_files(root: &Path, program: &WorkspaceProgram, to: &RootedPath) -> Result<(), Problem> {
    let mut files = program_content::added(root, program);
    let is_new = |path: &Path| !to.join(path).exists();
    files.files.retain(|file| is_new(&file.path));
    files.directories.retain(|directory| is_new(directory));
    let files = files.whole().map_err(|problem| format!("a file of the check: {problem}"))?;
    let mode = |executable| if executable { 0o755 } else { 0o644 };
    files.copy(to, mode).map(drop).map_err(|problem| format!("a file of the check: {problem}").into())
}

/// The files with which the workspace of a trial started. Fails if they have changed since.
pub(in crate::run) fn unchanged_start_files(
    run: &RunContext,
    exhibit: &TrialEvidence<'_>,
) -> Result<Option<Material>, Problem> {
    let (case, meta) = (exhibit.case, exhibit.evidence.meta);
    let Some(files) = start_files(&run.root, case) else { return Ok(None) };
    let files = files.whole().map_err(|problem| format!("a file of the case: {problem}"))?;
    let digest = files.digest().map_err(|problem| format!("a file of the case: {problem}"))?;
    if meta.inputs.0.get(files_part(case)) != Some(&digest) {
        return Err("the files of the case have changed since the trial".into());
    }
    Ok(Some(files))
}

/// Copies the case's files that neither its setup nor the agent changed.
fn copy_start_files(run: &RunContext, exhibit: &TrialEvidence<'_>, to: &RootedPath) -> Result<(), Problem> {
    let meta = exhibit.evidence.meta;
    let Some(mut files) = unchanged_start_files(run, exhibit)? else { return Ok(()) };
    let unchanged: HashSet<&Path> =
        meta.files.iter().filter(|file| file.is_as_in_repository()).map(|file| file.path.as_path()).collect();
    files.files.retain(|file| unchanged.contains(file.path.as_path()));
    let mode = |executable| if executable { 0o755 } else { 0o644 };
    files.copy(to, mode).map(drop).map_err(|problem| format!("a file of the case: {problem}").into())
}

/// Makes a link that leads nowhere: a program sees that it is there, and cannot read or write through it.
fn copy_link(to: &RootedPath) -> io::Result<()> {
    // A file that the case requires is stored as the link's target.
    if to.exists() { Ok(()) } else { Ok(to.link_to(NOT_FOLLOWED)?) }
}

fn copy(file: &WalkedFile<'_>, to: &RootedPath) -> io::Result<()> {
    let from = file.open()?;
    let is_executable = from.metadata()?.permissions().mode() & 0o111 != 0;
    let content = bounded::read_file(from, bounded::MAX_FILE)?;
    Ok(to.replace(&content, if is_executable { 0o755 } else { 0o644 })?)
}
