//! Brings the skills to the agent.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::trial_env::{OriginalSkills, ScratchDir, TrialEnv, WorkspaceError};
use crate::cases::case::Case;
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::files::at::PathError;
use crate::files::bounded;
use crate::files::material::Material;
use crate::settings::mode::{Delivery, Mode};
use crate::skill::SKILL_FILE;

/// The skills as they were when the run began: `<slug>/…`, outside the repository, so that no agent finds its way
/// from a skill to the grading files. Each trial gets a copy of its own, or is shown them by a sandbox.
#[derive(Debug)]
pub struct SkillSnapshot {
    originals: Arc<OriginalSkills>,
    /// The digest of each skill's folder as it was copied, or why it was not, by slug.
    digests: BTreeMap<String, Result<String, String>>,
}

/// The folders and files of a snapshot, by paths below it: each file with its content's digest and its permissions.
#[derive(Default)]
struct SnapshotContents {
    folders: Vec<PathBuf>,
    files: Vec<(PathBuf, blake3::Hash, u32)>,
}

impl SkillSnapshot {
    /// Copies the skills of `catalog`, found below `root`, into the folder `name` of the scratch folder. A skill that cannot
    /// be copied is left out; [`Self::digest`] says why.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn take(scratch: &ScratchDir, name: &str, root: &Path, catalog: &Catalog) -> Result<Self, WorkspaceError> {
        let folder = scratch.path().join(name);
        let io = |path: &Path, source| WorkspaceError::from(PathError { path: path.to_path_buf(), source });
        fs::create_dir(&folder).map_err(|source| io(&folder, source))?;
        let mut digests = BTreeMap::new();
        let mut contents = SnapshotContents::default();
        for found in &catalog.skills {
            let slug = &found.skill().slug;
            let to = folder.join(slug);
            fs::create_dir(&to).map_err(|source| io(&to, source))?;
            let digest = copy_skill(&root.join(&found.skill().folder), found, &to, &mut contents);
            if digest.is_err() {
                // Half a skill would be offered to the trials of the others.
                fs::remove_dir_all(&to).map_err(|source| io(&to, source))?;
            }
            digests.insert(slug.clone(), digest);
        }
        let originals = OriginalSkills::new(folder, contents.folders, contents.files)?;
        Ok(Self { originals: Arc::new(originals), digests })
    }

    /// The digest of the folder of the skill with this slug, as [`InputReader`](crate::run::digests::InputReader) has
    /// it: computed while it was copied, so that it is of what agents are given.
    ///
    /// # Errors
    /// Why the skill is not in the snapshot: trials of it cannot be run, those of others can.
    pub fn digest(&self, slug: &str) -> Result<&str, String> {
        match self.digests.get(slug) {
            Some(Ok(digest)) => Ok(digest),
            Some(Err(why)) => Err(why.clone()),
            None => Err(format!("the skill `{slug}` was not there when the run began")),
        }
    }

    /// The slugs of its skills.
    pub fn slugs(&self) -> impl Iterator<Item = &str> {
        self.digests.keys().map(String::as_str)
    }

    /// Of these skills those with these slugs.
    #[must_use]
    pub fn part(&self, slugs: &[String]) -> Self {
        let wanted = |slug: &str| slugs.iter().any(|wanted| wanted == slug);
        let of_wanted = |path: &Path| path.iter().next().is_some_and(|slug| wanted(&slug.to_string_lossy()));
        let digests = self.digests.iter().filter(|(slug, _)| wanted(slug));
        Self {
            originals: Arc::new(self.originals.part(of_wanted)),
            digests: digests.map(|(slug, digest)| (slug.clone(), digest.clone())).collect(),
        }
    }

    /// Keeps a copy at `folder`, unless one is there already.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub fn keep(&self, folder: &Path) -> Result<(), WorkspaceError> {
        if folder.exists() {
            return Ok(());
        }
        // Beside it first: of several processes that share a run one keeps its copy, and none sees half of one.
        let io = |source| WorkspaceError::from(PathError { path: folder.to_path_buf(), source });
        let parent = folder.parent().unwrap_or(Path::new("."));
        let beside = tempfile::Builder::new().prefix(".new-").tempdir_in(parent).map_err(io)?;
        let copy = beside.path().join("skills");
        self.originals.copy(&copy)?;
        match fs::rename(&copy, folder) {
            Err(_) if folder.exists() => Ok(()),
            result => result.map_err(io),
        }
    }
}

/// Copies the skill in the folder `from` to the folder `to`, and notes what it consists of. Returns its digest.
fn copy_skill(from: &Path, found: &FoundSkill, to: &Path, contents: &mut SnapshotContents) -> Result<String, String> {
    let slug = Path::new(&found.skill().slug);
    let cannot = |problem| format!("the skill `{}` cannot be given to an agent: {problem}", slug.display());
    let material = Material::list(from).whole().map_err(cannot)?;
    let copied = material.copy(to, mode).map_err(cannot)?;
    // What cases and checks know of it has been read before.
    if !bounded::read(&to.join(SKILL_FILE)).is_ok_and(|copied| copied == found.bytes) {
        return Err(format!("the SKILL.md of `{}` changed while the run began", slug.display()));
    }
    contents.folders.push(slug.to_path_buf());
    contents.folders.extend(material.folders.iter().map(|folder| slug.join(folder)));
    let files = material.files.iter().zip(copied.files);
    contents.files.extend(files.map(|(file, content)| (slug.join(&file.path), content, mode(file.executable))));
    Ok(copied.digest)
}

/// Gets the changes ready that a case of the repository asks for in mid-session, and keeps the skills as they are from then
/// on in the folder `kept`, by the changes' numbers.
///
/// # Errors
/// When one cannot be given to an agent, or cannot be copied.
pub fn get_ready(case: &Case, repository: &Path, room: &mut TrialEnv, kept: &Path) -> Result<(), WorkspaceError> {
    for (number, change) in case.during.iter().enumerate() {
        let material = change.folder.as_ref().map(|folder| {
            let folder = repository.join(folder.as_path());
            let failed = |problem| WorkspaceError::Skill { folder: folder.clone(), problem };
            let material = Material::list(&folder).whole().map_err(failed)?;
            let to = kept.join(number.to_string());
            fs::create_dir_all(&to).map_err(|source| PathError { path: to.clone(), source })?;
            material.copy(&to, mode).map_err(failed)?;
            Ok::<_, WorkspaceError>(material)
        });
        room.get_ready(change, material.transpose()?.as_ref(), mode)?;
    }
    Ok(())
}

/// The permissions of a skill's files: read-only, as a first hurdle for an agent that wants to improve on them.
fn mode(executable: bool) -> u32 {
    if executable { 0o555 } else { 0o444 }
}

/// Gives the room the skills, and puts them where the mode's agent looks for skills. They are a copy of its own, unless
/// they are `shown` by a sandbox, which lets nobody write to them.
///
/// # Errors
/// When a copy, a folder or a link cannot be made.
pub fn deliver(mode: &Mode, snapshot: &SkillSnapshot, room: &mut TrialEnv, shown: bool) -> Result<(), WorkspaceError> {
    if mode.delivery == Delivery::None {
        return Ok(());
    }
    if shown && snapshot.originals.can_be_shown() {
        room.show_skills(&snapshot.originals)?;
    } else {
        room.copy_skills(&snapshot.originals)?;
    }
    if !mode.delivery.native() {
        // By MCP the skills stay where they are, and the agent must not find them by itself.
        return Ok(());
    }
    for folder in mode.agent.profile().skill_folders {
        let link = room.workspace().join(folder);
        let io = |source| WorkspaceError::from(PathError { path: link.clone(), source });
        if let Some(parent) = link.parent() {
            fs::create_dir_all(parent).map_err(io)?;
        }
        room.link(&link, &room.skills()).map_err(io)?;
    }
    Ok(())
}
