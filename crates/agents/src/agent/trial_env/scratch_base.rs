//! The directory in which all processes of a user have their directories for trials. Others may write next to it: it is used only
//! if it is the user's own, and nobody else can enter it.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::unistd::getuid;

use super::{At, WorkspaceError};
use crate::files::rooted;

/// Where it is by default. Not /tmp: the agents' sandboxes let every agent write there.
const PARENT: &str = "/var/tmp";

/// The directory of all processes, or one of this process alone.
#[derive(Debug)]
pub(super) struct ScratchBase {
    pub path: PathBuf,
    /// Why it is one of this process alone.
    pub note: Option<String>,
}

impl Drop for ScratchBase {
    fn drop(&mut self) {
        if self.note.is_some() {
            // It has the name of no user: nobody else uses it.
            let _ = rooted::remove(&self.path);
        }
    }
}

impl ScratchBase {
    /// The directory that a user named, or the default one.
    pub fn open(named: Option<&Path>) -> Result<Self, WorkspaceError> {
        let Some(named) = named else { return Self::of_user(Path::new(PARENT)) };
        let path = std::path::absolute(named).at(named)?;
        DirBuilder::new().recursive(true).mode(0o700).create(&path).at(&path)?;
        Ok(Self { path: path.canonicalize().at(&path)?, note: None })
    }

    fn of_user(parent: &Path) -> Result<Self, WorkspaceError> {
        let parent = parent.canonicalize().at(parent)?;
        let path = parent.join(format!("work-{}", getuid()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error).at(&path)?,
            _ => {}
        }
        let Err(why) = check(&path) else { return Ok(Self { path, note: None }) };
        let own = tempfile::Builder::new().prefix("work-").tempdir_in(&parent).at(&parent)?.keep();
        fs::set_permissions(&own, Permissions::from_mode(0o700)).at(&own)?;
        let note = format!("{}: {why}: not used, trials run in {}; remove it", path.display(), own.display());
        Ok(Self { path: own, note: Some(note) })
    }
}

/// Checks the directory by its descriptor. Nobody can rename it afterwards: others may remove nothing of ours in /var/tmp.
fn check(path: &Path) -> Result<(), String> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    let directory = open(path, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::ELOOP | Errno::ENOTDIR => "it is not a directory".to_owned(),
        errno => errno.desc().to_owned(),
    })?;
    let found = fstat(&directory).map_err(|errno| errno.desc().to_owned())?;
    let mode = Mode::from_bits_truncate(found.st_mode & !SFlag::S_IFMT.bits());
    if found.st_uid != getuid().as_raw() {
        return Err("it belongs to another user".to_owned());
    }
    if mode.intersects(Mode::S_IRWXG | Mode::S_IRWXO) {
        return Err(format!("others can enter it (mode {:o})", mode.bits()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    #[test]
    fn a_directory_that_another_user_may_have_made_is_not_used() {
        let top = tempfile::tempdir().expect("a directory");
        let usual = top.path().canonicalize().expect("a path").join(format!("work-{}", getuid()));
        let opened = || ScratchBase::of_user(top.path()).expect("a directory");
        let first = opened();
        assert_eq!((&first.path, first.note.as_ref()), (&usual, None));
        assert_eq!(fs::metadata(&usual).expect("a directory").mode() & 0o777, 0o700);
        let refused = |words: &str| {
            let own = opened();
            let note = own.note.as_deref().unwrap_or_default();
            assert!(own.path != usual && note.contains(words), "{note}");
            assert_eq!(fs::metadata(&own.path).expect("a directory").mode() & 0o777, 0o700);
        };
        for mode in [0o777, 0o750, 0o1701] {
            fs::set_permissions(&usual, Permissions::from_mode(mode)).expect("permissions");
            refused("others can enter it");
        }
        fs::remove_dir(&usual).expect("a directory");
        let victim = top.path().join("victim");
        fs::create_dir(&victim).expect("a directory");
        symlink(&victim, &usual).expect("a link");
        refused("it is not a directory");
        assert_eq!(fs::read_dir(&victim).expect("a directory").count(), 0);
        fs::remove_file(&usual).expect("a link");
        fs::write(&usual, "").expect("a file");
        refused("it is not a directory");
        if getuid().is_root() {
            fs::remove_file(&usual).expect("a file");
            fs::create_dir(&usual).expect("a directory");
            fs::set_permissions(&usual, Permissions::from_mode(0o700)).expect("permissions");
            std::os::unix::fs::chown(&usual, Some(12_345), None).expect("an owner");
            refused("it belongs to another user");
        }
    }
}
