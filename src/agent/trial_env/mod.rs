//! The trial environment: the directories of a trial's agent, which are its workspace, its home and its temporary files. They
//! are outside every repository, and are removed after the trial.

pub mod capture;
mod paths;
mod prepared;
mod scratch;
mod skills;
mod versions;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tempfile::TempDir;
use thiserror::Error;

use crate::files::at::{At, PathError};
use crate::files::below;
use crate::files::material::{Material, MaterialProblem};
use crate::files::stamp::Stamp;
use crate::text::relative_path::RelativePath;
use crate::trace::change::ChangeMeta;
use prepared::PreparedPath;
use scratch::FreeEnvs;
use skills::EnvSkills;
use versions::PreparedChanges;

pub use paths::{masked, relative, without_trial_paths};
pub use scratch::ScratchDir;
pub(crate) use skills::{OriginalSkills, SkillContents, file_mode};

/// Why the trial environment could not be prepared.
#[derive(Debug, Error)]
pub enum WorkspaceError {
    /// A directory or file cannot be created.
    #[error(transparent)]
    Io(#[from] PathError),
    /// The scratch directory is where agents would follow somebody's instructions.
    #[error(
        "{directory} is in {repository}, which holds {sign}: agents would read it; set SKILL_EVALS_SCRATCH to a \
         directory outside"
    )]
    InsideRepository {
        directory: PathBuf,
        /// The directory above it.
        repository: PathBuf,
        /// What makes agents read it.
        sign: &'static str,
    },
    /// A file of the case cannot be given to an agent.
    #[error("the case's files: {0}")]
    Files(MaterialProblem),
    /// The new version of a skill cannot be given to an agent.
    #[error("the skill in {directory}: {problem}", directory = directory.display())]
    Skill {
        directory: PathBuf,
        /// Why it cannot be copied.
        problem: MaterialProblem,
    },
    /// The original skills changed.
    #[error("{0} was changed during the run: an agent wrote outside its directories")]
    SkillsChanged(PathBuf),
}

/// The most bytes of an MCP server's request log that are read.
const MAX_REQUEST_LOG: u64 = 1 << 20;

/// The directories of one trial. Dropping it removes them, or leaves them empty to the next trial of its kind.
#[derive(Debug)]
pub struct TrialEnv {
    /// `None` only during the drop.
    directory: Option<TempDir>,
    /// The case's files as they were copied, by path in the workspace.
    start_files: HashMap<PathBuf, (Stamp, blake3::Hash)>,
    /// Those that setup commands made or changed.
    setup_files: HashSet<PathBuf>,
    /// Whether another trial may use it after this one.
    is_reusable: bool,
    /// What it had when its agent started, if it is reusable.
    prepared: OnceLock<Vec<PreparedPath>>,
    skills: Option<EnvSkills>,
    changes: Option<PreparedChanges>,
    /// Whether the skills were untouched at the trial's end, once that was checked.
    untouched: OnceLock<bool>,
    kind: String,
    free: Arc<Mutex<FreeEnvs>>,
}

impl Drop for TrialEnv {
    fn drop(&mut self) {
        let untouched = self.is_untouched();
        let Some(directory) = self.directory.take() else { return };
        if !untouched {
            return;
        }
        if let Some(EnvSkills::Own(copy, originals)) = self.skills.take() {
            originals.take_back(copy);
        }
        if let Some(prepared) = self.prepared.take()
            && prepared::clear_except(directory.path(), &prepared)
        {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            free.entry(std::mem::take(&mut self.kind)).or_default().push(directory);
        }
    }
}

impl TrialEnv {
    const WORKSPACE: &str = "workspace";
    const HOME: &str = "home";
    const TMP: &str = "tmp";
    const SKILLS: &str = "skills";
    const REQUEST_LOG: &str = "mcp-asked";

    /// The directory with the others in it; the agent does not know it.
    pub fn path(&self) -> &Path {
        self.directory.as_ref().map_or(Path::new(""), TempDir::path)
    }

    /// Allows later trials of its kind to use it: it has nothing of its own trial except what the agent needs in its home. One
    /// with files, or with skills that change, is never used again.
    pub fn allow_reuse(&mut self) {
        self.is_reusable = self.start_files.is_empty() && self.changes.is_none();
    }

    /// Notes its directories and links before its agent starts: later trials find these and nothing else.
    pub fn begin(&self) {
        if self.is_reusable {
            let has_own_skills = matches!(self.skills, Some(EnvSkills::Own(..)));
            self.prepared.get_or_init(|| prepared::all_in(self.path(), has_own_skills.then_some(Self::SKILLS)));
        }
    }

    /// Gives it its own copy of the skills.
    pub(crate) fn copy_skills(&mut self, originals: &Arc<OriginalSkills>) -> Result<(), WorkspaceError> {
        if self.skills.is_none() {
            self.skills = Some(EnvSkills::Own(originals.copy_for(&self.skills())?, Arc::clone(originals)));
        }
        Ok(())
    }

    /// Lets the agent's sandbox show the skills at the place of a copy, so that nobody can write to them.
    pub(crate) fn show_skills(&mut self, originals: &Arc<OriginalSkills>) -> Result<(), WorkspaceError> {
        if originals.is_spoiled() {
            return Err(WorkspaceError::SkillsChanged(originals.directory().to_path_buf()));
        }
        let path = self.skills();
        fs::create_dir_all(&path).at(&path)?;
        self.skills = Some(EnvSkills::Shown(Arc::clone(originals)));
        Ok(())
    }

    /// The files of its skills that differ from the originals with the changes that were made, by path in [`Self::skills`], at
    /// most 100. The check is once, after the trial.
    pub fn changed_skills(&self, changes: &[ChangeMeta]) -> Vec<PathBuf> {
        let Some(skills) = self.skills.as_ref().filter(|_| !self.is_untouched()).and_then(EnvSkills::files) else {
            return Vec::new();
        };
        let versions = self.changes.iter().flat_map(|changes| &changes.versions).zip(changes);
        skills.changed(versions.filter(|(_, change)| change.made_ms.is_some()).map(|(version, _)| version))
    }

    fn is_untouched(&self) -> bool {
        *self.untouched.get_or_init(|| self.skills.as_ref().is_none_or(EnvSkills::are_untouched))
    }

    pub fn workspace(&self) -> PathBuf {
        self.path().join(Self::WORKSPACE)
    }

    pub fn home(&self) -> PathBuf {
        self.path().join(Self::HOME)
    }

    pub fn tmp(&self) -> PathBuf {
        self.path().join(Self::TMP)
    }

    /// Where our MCP server logs the agent's requests for lists.
    pub fn request_log_path(&self) -> PathBuf {
        self.tmp().join(Self::REQUEST_LOG)
    }

    /// What our MCP server logged; `None` if it logged nothing.
    pub fn request_log(&self) -> Option<String> {
        let log = below::read(&self.tmp(), Path::new(Self::REQUEST_LOG), MAX_REQUEST_LOG).ok()?;
        Some(String::from_utf8_lossy(&log).into_owned())
    }

    /// Where its agent finds the skills, a directory for each slug; it exists if the mode delivers skills. A sandbox mounts
    /// it read-only, since the agent must not write to it.
    pub fn skills(&self) -> PathBuf {
        self.path().join(Self::SKILLS)
    }

    /// What a sandbox mounts there: its own copy, or the originals.
    pub fn skills_to_mount(&self) -> PathBuf {
        self.skills.as_ref().and_then(EnvSkills::files).map_or_else(|| self.skills(), |files| files.directory.clone())
    }

    /// Creates these directories in the workspace, unless they exist.
    pub fn create_directories(&self, paths: &[RelativePath]) -> Result<(), WorkspaceError> {
        for path in paths {
            let path = self.workspace().join(path.as_path());
            fs::create_dir_all(&path).at(&path)?;
        }
        Ok(())
    }

    /// Copies the case's files into the workspace. Returns the digest of what the agent gets.
    pub fn copy_files(&mut self, material: Material) -> Result<String, WorkspaceError> {
        let workspace = self.workspace();
        let material = material.whole().map_err(WorkspaceError::Files)?;
        let mode = |executable| if executable { 0o755 } else { 0o644 };
        let copied = material.copy(&workspace, mode).map_err(WorkspaceError::Files)?;
        for (file, digest) in material.files.iter().zip(copied.files) {
            let path = workspace.join(&file.path);
            let stamp = Stamp::of(&fs::symlink_metadata(&path).at(&path)?);
            self.start_files.insert(file.path.clone(), (stamp, digest));
        }
        Ok(copied.digest)
    }
}
