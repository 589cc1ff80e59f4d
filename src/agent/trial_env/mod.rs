//! The folders that a trial's agent lives in: its workspace, its home, its temporary files. Outside every repository,
//! one set for each trial, gone afterwards.

mod capture;
mod paths;
mod prepared;
mod scratch;
mod skills;
mod versions;

use std::collections::HashMap;
use std::fs;
use std::io;
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

pub use capture::{CapturedFiles, wanted};
pub use paths::{masked, relative, without_rooms};
pub use scratch::ScratchDir;
pub(crate) use skills::OriginalSkills;

/// Why a trial has no place to run.
#[derive(Debug, Error)]
pub enum WorkspaceError {
    /// A folder or file could not be made.
    #[error(transparent)]
    Io(#[from] PathError),
    /// The scratch folder lies where agents would pick up somebody's instructions.
    #[error(
        "{folder} is in {repository}, which holds {sign}: agents would read it; set SKILL_EVALS_SCRATCH to a \
         directory outside"
    )]
    InsideRepository {
        /// The scratch folder.
        folder: PathBuf,
        /// The folder above it.
        repository: PathBuf,
        /// What marks it.
        sign: &'static str,
    },
    /// A fixture cannot be given to an agent.
    #[error("the fixture {folder}: {problem}", folder = folder.display())]
    Fixture {
        /// The fixture's folder.
        folder: PathBuf,
        /// What keeps it from being copied.
        problem: MaterialProblem,
    },
    /// A skill as it is to be later cannot be given to an agent.
    #[error("the skill in {folder}: {problem}", folder = folder.display())]
    Skill {
        /// Its folder.
        folder: PathBuf,
        /// What keeps it from being copied.
        problem: MaterialProblem,
    },
    /// What the skills of every trial are copied from is not what it was.
    #[error("{0} was changed during the run: an agent wrote outside its directories")]
    SkillsChanged(PathBuf),
}

/// Most bytes that are read of what an MCP server notes.
const MAX_ASKED: u64 = 1 << 20;

/// A trial's folders. What is in them goes when this is dropped.
#[derive(Debug)]
pub struct TrialEnv {
    /// There until the drop.
    folder: Option<TempDir>,
    /// The files of the fixture as they were copied, by path below the workspace.
    fixture: HashMap<PathBuf, (Stamp, blake3::Hash)>,
    /// Whether another trial may have it after this one.
    reusable: bool,
    /// What was in it when its agent was started, where another trial may find it so.
    pieces: OnceLock<Vec<PreparedPath>>,
    skills: Option<EnvSkills>,
    /// The changes to the skills that are to be made while the agent is at work.
    ready: Option<PreparedChanges>,
    /// Whether that copy was as it was given when the trial had ended, where that was looked at.
    untouched: OnceLock<bool>,
    kind: String,
    free: Arc<Mutex<FreeEnvs>>,
}

impl Drop for TrialEnv {
    fn drop(&mut self) {
        let untouched = self.is_untouched();
        let Some(folder) = self.folder.take() else { return };
        if let Some(EnvSkills::Own(copy, originals)) = self.skills.take().filter(|_| untouched) {
            originals.take_back(copy);
        }
        let Some(pieces) = self.pieces.take().filter(|_| untouched) else { return };
        // A room that is not as it was goes as a whole.
        if prepared::clear_all_but(folder.path(), &pieces) {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            free.entry(std::mem::take(&mut self.kind)).or_default().push(folder);
        }
    }
}

impl TrialEnv {
    const WORKSPACE: &str = "workspace";
    const HOME: &str = "home";
    const TMP: &str = "tmp";
    const SKILLS: &str = "skills";
    const ASKED: &str = "mcp-asked";

    /// The folder that holds the others; the agent is not told of it.
    #[must_use]
    pub fn path(&self) -> &Path {
        // Only the drop takes the folder away.
        self.folder.as_ref().map_or(Path::new(""), TempDir::path)
    }

    /// Says that the room holds nothing of its own trial but what its agent needs in its home: later trials of its kind may
    /// have it. One with a fixture, or with skills that change, is never used again.
    pub fn prepared(&mut self) {
        self.reusable = self.fixture.is_empty() && self.ready.is_none();
    }

    /// Says that the agent is about to start: later trials find the folders and links as they are now, and nothing else.
    pub fn begin(&self) {
        if self.reusable {
            let own = matches!(self.skills, Some(EnvSkills::Own(..)));
            self.pieces.get_or_init(|| prepared::all_below(self.path(), own.then_some(Self::SKILLS)));
        }
    }

    /// Gives the room its own copy of the skills.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn copy_skills(&mut self, originals: &Arc<OriginalSkills>) -> Result<(), WorkspaceError> {
        if self.skills.is_none() {
            self.skills = Some(EnvSkills::Own(originals.copy_for(&self.skills())?, Arc::clone(originals)));
        }
        Ok(())
    }

    /// Leaves it to the agent's sandbox to show the skills where a copy would be, so that nobody can write to them.
    ///
    /// # Errors
    /// When there is no place for them.
    pub(crate) fn show_skills(&mut self, originals: &Arc<OriginalSkills>) -> Result<(), WorkspaceError> {
        if originals.is_spoiled() {
            return Err(WorkspaceError::SkillsChanged(originals.folder().to_path_buf()));
        }
        let place = self.skills();
        fs::create_dir_all(&place).at(&place)?;
        self.skills = Some(EnvSkills::Shown(Arc::clone(originals)));
        Ok(())
    }

    /// The files of its copy of the skills that are not as they were given, or as those of the changes left them that were
    /// made, by their paths below [`Self::skills`], at most 100. Looked at once, when the trial has ended.
    #[must_use]
    pub fn changed_skills(&self, changes: &[ChangeMeta]) -> Vec<PathBuf> {
        if self.is_untouched() {
            return Vec::new();
        }
        let versions = self.ready.iter().flat_map(|ready| &ready.versions);
        let made = versions.zip(changes).filter(|(_, change)| change.made_ms.is_some());
        let made = made.map(|(version, _)| version);
        self.skills.as_ref().and_then(EnvSkills::given).map(|copy| copy.changed(made)).unwrap_or_default()
    }

    fn is_untouched(&self) -> bool {
        *self.untouched.get_or_init(|| self.skills.as_ref().is_none_or(EnvSkills::are_untouched))
    }

    /// Makes a link at `path` to `target`, unless the room has it already.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn link(&self, path: &Path, target: &Path) -> io::Result<()> {
        if fs::read_link(path).is_ok_and(|there| there == target) {
            return Ok(());
        }
        std::os::unix::fs::symlink(target, path)
    }

    /// The agent's working folder.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.path().join(Self::WORKSPACE)
    }

    /// The agent's home.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.path().join(Self::HOME)
    }

    /// The agent's folder for temporary files.
    #[must_use]
    pub fn tmp(&self) -> PathBuf {
        self.path().join(Self::TMP)
    }

    /// Where an MCP server of ours notes the lists that the agent asks it for.
    #[must_use]
    pub fn asked(&self) -> PathBuf {
        self.tmp().join(Self::ASKED)
    }

    /// What it has noted there; nothing where no server of ours did.
    #[must_use]
    pub fn was_asked(&self) -> Option<String> {
        let noted = below::read(&self.tmp(), Path::new(Self::ASKED), MAX_ASKED).ok()?;
        Some(String::from_utf8_lossy(&noted).into_owned())
    }

    /// Where its agent finds the skills, a folder for each slug; there where the mode delivers any. The agent has no
    /// business writing to it: where it is isolated, this is the folder to mount read-only.
    #[must_use]
    pub fn skills(&self) -> PathBuf {
        self.path().join(Self::SKILLS)
    }

    /// What a sandbox mounts there: the room's own copy, or what all rooms are given.
    #[must_use]
    pub fn skills_to_mount(&self) -> PathBuf {
        self.skills.as_ref().and_then(EnvSkills::given).map_or_else(|| self.skills(), |given| given.folder.clone())
    }

    /// Makes these folders in the workspace, where they are not there yet.
    ///
    /// # Errors
    /// When one cannot be made.
    pub fn create_folders(&self, folders: &[RelativePath]) -> Result<(), WorkspaceError> {
        for folder in folders {
            let path = self.workspace().join(folder.as_path());
            fs::create_dir_all(&path).at(&path)?;
        }
        Ok(())
    }

    /// Copies a fixture into the workspace. Returns its digest: that of what the agent is given.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub fn copy_fixture(&mut self, fixture: &Path) -> Result<String, WorkspaceError> {
        let workspace = self.workspace();
        let failed = |problem| WorkspaceError::Fixture { folder: fixture.to_path_buf(), problem };
        let material = Material::list(fixture).whole().map_err(failed)?;
        let mode = |executable| if executable { 0o755 } else { 0o644 };
        let copied = material.copy(&workspace, mode).map_err(failed)?;
        for (file, content) in material.files.iter().zip(copied.files) {
            let path = workspace.join(&file.path);
            let stamp = Stamp::of(&fs::symlink_metadata(&path).at(&path)?);
            self.fixture.insert(file.path.clone(), (stamp, content));
        }
        Ok(copied.digest)
    }
}
