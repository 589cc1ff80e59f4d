//! Writes files in one step, and those that a user named.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::StoreError;
use crate::files::at::{At, PathError};
use crate::files::inside;
use crate::files::rooted::RootedPath;
use crate::process::git;

/// The name of standard output among output files.
pub const STDOUT: &str = "-";

/// Writes a file in one step: into a temporary file next to it, which is then renamed. An existing file stays untouched on
/// errors, and keeps its permissions; a new one gets those of the user's umask.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    write_with(path, |file| file.write_all(content))
}

/// The same for a file that is too long for memory: `write` writes it piece by piece.
pub fn write_with(path: &Path, write: impl FnOnce(&mut fs::File) -> io::Result<()>) -> Result<(), StoreError> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(Err(io::ErrorKind::IsADirectory.into()).at(path)?);
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let opened = match RootedPath::open(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(folder).and_then(|()| RootedPath::open(folder))
        }
        opened => opened,
    };
    let written = opened.at(folder)?.join(name).put(write);
    Ok(written.map_err(|error| PathError { path: path.to_path_buf(), ..error })?)
}

/// Writes a file that a user named. It follows links, and writes into an existing pipe or device. [`STDOUT`] is standard output.
#[expect(clippy::disallowed_methods, reason = "a document that the user asks for")]
pub fn write_out(path: &Path, write: impl FnOnce(&mut fs::File) -> io::Result<()>) -> Result<(), StoreError> {
    if path == Path::new(STDOUT) {
        let out = io::stdout().as_fd().try_clone_to_owned();
        return Ok(out.and_then(|out| write(&mut fs::File::from(out))).at(path)?);
    }
    let place = behind_links(path)?;
    if place.exists() && !place.is_file() {
        return Ok(fs::OpenOptions::new().write(true).open(&place).and_then(|mut file| write(&mut file)).at(path)?);
    }
    write_with(&place, write)
}

/// Makes a new directory that a user named, in one step: `fill` writes into one next to it, which is then renamed.
pub fn write_folder<E: From<StoreError>>(path: &Path, fill: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), E> {
    check_new_folder(path)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let made = || -> Result<_, StoreError> {
        fs::create_dir_all(parent).at(parent)?;
        let usual = fs::Permissions::from_mode(0o777);
        Ok(tempfile::Builder::new().prefix(".new-").permissions(usual).tempdir_in(parent).at(parent)?)
    };
    let folder = made()?;
    fill(folder.path())?;
    fs::rename(folder.path(), path).at(path).map_err(StoreError::from)?;
    // It has no longer the name under which it would be removed.
    let _ = folder.keep();
    Ok(())
}

/// Checks that [`write_folder`] can make this directory: nothing or an empty directory is there.
pub fn check_new_folder(path: &Path) -> Result<(), StoreError> {
    behind_links(path)?;
    match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(false) => Err(StoreError::NotEmpty(path.to_path_buf())),
        Err(error) => Ok(Err(error).at(path)?),
    }
}

/// The path of a file that a user named, behind the user's own links. A link that git tracks is not the user's: it may lead to
/// another place of its repository only.
fn behind_links(path: &Path) -> Result<PathBuf, StoreError> {
    let written = std::path::absolute(path).at(path)?;
    if let Some(tree) = written.ancestors().skip(1).find(|folder| folder.join(".git").exists())
        && let Err(error) = inside::place(tree, &written)
    {
        let mut links = written.ancestors().take_while(|part| *part != tree).filter(|part| part.is_symlink());
        let is_tracked = |part: &Path| {
            let part = part.strip_prefix(tree).unwrap_or(part);
            git::tracked(tree, part).is_ok_and(|found| !found.is_empty())
        };
        if links.any(is_tracked) {
            return Ok(Err(error).at(path)?);
        }
    }
    Ok(match (path.canonicalize(), fs::read_link(path)) {
        (Ok(place), _) => place,
        // The target of a link may not exist yet.
        (Err(_), Ok(target)) => path.parent().unwrap_or(Path::new("")).join(target),
        (Err(_), Err(_)) => path.to_path_buf(),
    })
}

/// Checks, before hours of work, that [`write_out`] can write to this path. Leaves no file.
pub fn check_out(path: &Path) -> Result<(), StoreError> {
    let place = behind_links(path)?;
    if place.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Ok(Err(io::ErrorKind::IsADirectory.into()).at(path)?);
    }
    // A name may be too long, or lead through a file.
    match fs::symlink_metadata(&place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Ok(Err(error).at(path)?),
        _ => {}
    }
    if path == Path::new(STDOUT) || place.exists() && !place.is_file() {
        return Ok(());
    }
    // Missing directories are created with the file.
    let mut folders = place.ancestors().skip(1).filter(|folder| folder.exists());
    Ok(tempfile::tempfile_in(folders.next().unwrap_or(Path::new("."))).map(drop).at(path)?)
}

/// How much disk space is reserved at a time.
const ROOM: usize = 64 << 10;

/// Reserves disk space for a small trial, until the file is dropped.
pub fn take_room(folder: &Path) -> Result<File, StoreError> {
    let mut room = tempfile::tempfile_in(folder).at(folder)?;
    match room.write_all(&vec![0; ROOM]) {
        // The size of files may be limited on a disk with space.
        Err(error) if error.kind() != io::ErrorKind::FileTooLarge => Ok(Err(error).at(folder)?),
        _ => Ok(room),
    }
}
