//! Writes files in one step, and those that a user named.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::StoreError;
use crate::files::at::{At, PathError};
use crate::files::rooted::{self, NEW, RootedPath};
use crate::files::{inside, look};
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
    if look::kind(&place)?.is_some_and(|kind| !kind.is_file()) {
        return Ok(fs::OpenOptions::new().write(true).open(&place).and_then(|mut file| write(&mut file)).at(path)?);
    }
    write_with(&place, write)
}

/// Makes a new directory that a user named, in one step: `fill` writes into one next to it, which is then renamed.
pub fn write_folder<E: From<StoreError>>(path: &Path, fill: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), E> {
    check_new_folder(path)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Locked while this process lives.
    let (folder, _lock) = new_folder(parent)?;
    fill(folder.path())?;
    fs::rename(folder.path(), path).at(path).map_err(StoreError::from)?;
    // It has no longer the name under which it would be removed.
    let _ = folder.keep();
    Ok(())
}

/// Makes a directory for what gets its name when it is written, and removes those of killed processes.
fn new_folder(parent: &Path) -> Result<(TempDir, File), StoreError> {
    fs::create_dir_all(parent).at(parent)?;
    // Another process must not remove the new directory before it is locked.
    let gate = File::open(parent).at(parent)?;
    gate.lock().at(parent)?;
    for entry in look::usable_entries(parent) {
        let is_new = entry.file_type().is_dir() && entry.file_name().as_encoded_bytes().starts_with(NEW.as_bytes());
        if is_new && File::open(entry.path()).is_ok_and(|lock| lock.try_lock().is_ok()) {
            rooted::remove(entry.path())?;
        }
    }
    let usual = fs::Permissions::from_mode(0o777);
    let folder = tempfile::Builder::new().prefix(NEW).permissions(usual).tempdir_in(parent).at(parent)?;
    let lock = File::open(folder.path()).at(folder.path())?;
    lock.lock().at(folder.path())?;
    Ok((folder, lock))
}

/// Checks that [`write_folder`] can make this directory: nothing or an empty directory is there.
pub fn check_new_folder(path: &Path) -> Result<(), StoreError> {
    behind_links(path)?;
    match look::names(path).map(|names| names.is_empty()) {
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
    if let Some(tree) = written.ancestors().skip(1).find(|folder| look::is_usable(&folder.join(".git")))
        && let Err(error) = inside::place(tree, &written)
    {
        let is_link = |part: &Path| look::own_kind(part).is_ok_and(|kind| kind.is_some_and(|kind| kind.is_symlink()));
        let mut links = written.ancestors().take_while(|part| *part != tree).filter(|part| is_link(part));
        let is_tracked = |part: &Path| {
            let part = part.strip_prefix(tree).unwrap_or(part);
            git::tracked(tree, part).map_or(true, |found| found.is_some_and(|found| !found.is_empty()))
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
    let kind = look::kind(&place)?;
    if kind.is_some_and(|kind| kind.is_dir()) || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Ok(Err(io::ErrorKind::IsADirectory.into()).at(path)?);
    }
    // A name may be too long, or lead through a file.
    match fs::symlink_metadata(&place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Ok(Err(error).at(path)?),
        _ => {}
    }
    if path == Path::new(STDOUT) || kind.is_some_and(|kind| !kind.is_file()) {
        return Ok(());
    }
    // Missing directories are created with the file.
    let mut folders = place.ancestors().skip(1).filter(|folder| look::is_usable(folder));
    Ok(tempfile::tempfile_in(folders.next().unwrap_or(Path::new("."))).map(drop).at(path)?)
}

/// How much disk space is reserved at a time.
const ROOM: usize = 64 << 10;

/// Reserves disk space for a small trial, until the file is dropped.
pub fn take_disk_space(folder: &Path) -> Result<File, StoreError> {
    let mut room = tempfile::tempfile_in(folder).at(folder)?;
    match room.write_all(&vec![0; ROOM]) {
        // The size of files may be limited on a disk with space.
        Err(error) if error.kind() != io::ErrorKind::FileTooLarge => Ok(Err(error).at(folder)?),
        _ => Ok(room),
    }
}
