//! Brings the skills to the agent.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::agent::room::{Room, Scratch, WorkspaceError, copy_tree};
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cases::skill::SKILL_FILE;
use crate::files::bounded;
use crate::files::material::Material;
use crate::settings::mode::Mode;

/// The skills as they were when the run began: `<slug>/…`, outside the repository, so that no agent finds its way
/// from a skill to the grading files.
#[derive(Debug)]
pub struct Snapshot {
    folder: PathBuf,
    /// The digest of each skill's folder as it was copied, or why it was not, by slug.
    digests: BTreeMap<String, Result<String, String>>,
}

impl Snapshot {
    /// Copies the skills of `catalog`, found below `root`, into the scratch folder. A skill that cannot be copied is left
    /// out; [`Self::digest`] says why.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn take(scratch: &Scratch, root: &Path, catalog: &Catalog) -> Result<Self, WorkspaceError> {
        let folder = scratch.path().join("skills");
        let io = |path: &Path, source| WorkspaceError::Io { path: path.to_path_buf(), source };
        fs::create_dir(&folder).map_err(|source| io(&folder, source))?;
        let mut digests = BTreeMap::new();
        for found in &catalog.skills {
            let skill = found.skill();
            let to = folder.join(&skill.slug);
            fs::create_dir(&to).map_err(|source| io(&to, source))?;
            let digest = copy_skill(&root.join(&skill.folder), found, &to);
            if digest.is_err() {
                // Half a skill would be offered to the trials of the others.
                fs::remove_dir_all(&to).map_err(|source| io(&to, source))?;
            }
            digests.insert(skill.slug.clone(), digest);
        }
        Ok(Self { folder, digests })
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

    /// Keeps a copy at `folder`, unless one is there already.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub fn keep(&self, folder: &Path) -> Result<(), WorkspaceError> {
        if folder.exists() {
            return Ok(());
        }
        // Beside it first: of several processes that share a run one keeps its copy, and none sees half of one.
        let io = |source| WorkspaceError::Io { path: folder.to_path_buf(), source };
        let parent = folder.parent().unwrap_or(Path::new("."));
        let beside = tempfile::Builder::new().prefix(".new-").tempdir_in(parent).map_err(io)?;
        let copy = beside.path().join("skills");
        copy_tree(&self.folder, &copy, &|_| true)?;
        match fs::rename(&copy, folder) {
            Err(_) if folder.exists() => Ok(()),
            result => result.map_err(io),
        }
    }

    /// The folder that holds a folder for each skill.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }
}

/// Copies the skill in the folder `from` to the folder `to`. Returns its digest.
fn copy_skill(from: &Path, found: &FoundSkill, to: &Path) -> Result<String, String> {
    let skill = found.skill();
    let cannot = |problem| format!("the skill `{}` cannot be given to an agent: {problem}", skill.slug);
    let mode = |executable| if executable { 0o555 } else { 0o444 };
    let copied = Material::list(from).whole().and_then(|material| material.copy(to, mode)).map_err(cannot)?;
    // What cases and checks know of it has been read before.
    let same = bounded::read(&to.join(SKILL_FILE)).is_ok_and(|copied| copied == found.bytes);
    if same { Ok(copied.digest) } else { Err(format!("the SKILL.md of `{}` changed while the run began", skill.slug)) }
}

/// Puts the skills where the mode's agent looks for them.
///
/// # Errors
/// When a folder or link cannot be made.
pub fn deliver(mode: &Mode, snapshot: &Snapshot, room: &Room) -> io::Result<()> {
    if !mode.delivery.native() {
        // By MCP the skills stay where they are, and the agent must not find them by itself.
        return Ok(());
    }
    for folder in crate::agent::of(mode.agent).skill_folders() {
        let link = room.workspace().join(folder);
        if let Some(parent) = link.parent() {
            fs::create_dir_all(parent)?;
        }
        room.link(&link, &snapshot.folder)?;
    }
    Ok(())
}
