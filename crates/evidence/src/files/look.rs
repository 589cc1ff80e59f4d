//! The only place that lists directories and asks whether something is there. Only what does not exist is absent: a directory that
//! cannot be read is not empty, and a path that cannot be asked about is not free. Clippy refuses the functions of the standard
//! library that take the one for the other.

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, faccessat};

use crate::files::at::{At, PathError};

/// The result, or `None` if there is nothing at the path.
pub fn unless_absent<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Fails if this user may not read the file at `path`.
pub fn check_readable(path: &Path) -> io::Result<()> {
    Ok(faccessat(AT_FDCWD, path, AccessFlags::R_OK, AtFlags::AT_EACCESS)?)
}

/// Whether this error says that there is nothing at a path.
pub fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether this error says that links lead in a circle.
pub fn is_loop(error: &io::Error) -> bool {
    // The standard library has no stable name for it.
    error.raw_os_error() == Some(Errno::ELOOP as i32)
}

/// Whether nobody knows what is there, because of this error of the system. That nothing is there, or a link that leads out or in a
/// circle, is known.
pub fn hides(error: &io::Error) -> bool {
    of_system(error).is_some_and(|error| !is_absent(error) && !is_loop(error))
}

/// What was read, or why not, unless nobody knows what is there.
pub fn known(read: io::Result<String>) -> io::Result<String> {
    read.or_else(|error| if hides(&error) { Err(error) } else { Ok(error.kind().to_string()) })
}

/// The error of the system behind an error that says where it was met.
fn of_system(error: &io::Error) -> Option<&io::Error> {
    if error.raw_os_error().is_some() {
        return Some(error);
    }
    let mut behind: &(dyn Error + 'static) = error.get_ref()?;
    loop {
        if let Some(found) = behind.downcast_ref::<io::Error>() {
            return of_system(found);
        }
        behind = behind.source()?;
    }
}

/// What is at `path`, behind links; `None` if nothing is.
pub fn kind(path: &Path) -> Result<Option<FileType>, PathError> {
    found(path, fs::metadata(path)).map(|found| found.map(|found| found.file_type()))
}

/// The same, but a link is a link.
pub fn own_kind(path: &Path) -> Result<Option<FileType>, PathError> {
    found(path, fs::symlink_metadata(path)).map(|found| found.map(|found| found.file_type()))
}

/// What the system says of a path, or `None` if there is nothing. Who may not ask may not search a directory above it: the error names
/// that directory, since the path itself may not exist.
fn found(path: &Path, answer: io::Result<Metadata>) -> Result<Option<Metadata>, PathError> {
    unless_absent(answer).map_err(|source| {
        let is_denied = source.kind() == io::ErrorKind::PermissionDenied;
        let closed = || path.ancestors().skip(1).find(|above| fs::metadata(above).is_ok());
        let path = is_denied.then(closed).flatten().unwrap_or(path);
        PathError { path: path.to_path_buf(), source }
    })
}

/// Whether anything is at `path`, behind links.
pub fn exists(path: &Path) -> Result<bool, PathError> {
    Ok(kind(path)?.is_some())
}

/// Whether a regular file is at `path`, behind links.
pub fn is_file(path: &Path) -> Result<bool, PathError> {
    Ok(kind(path)?.is_some_and(|kind| kind.is_file()))
}

/// Whether a directory is at `path`, behind links.
pub fn is_directory(path: &Path) -> Result<bool, PathError> {
    Ok(kind(path)?.is_some_and(|kind| kind.is_dir()))
}

/// Whether this user can reach what is at `path`: for parts of the machine, as programs, which are of no use if not. Not for files of
/// a repository or a run.
pub fn is_usable(path: &Path) -> bool {
    exists(path).unwrap_or(false)
}

/// The same for a regular file.
pub fn is_usable_file(path: &Path) -> bool {
    is_file(path).unwrap_or(false)
}

/// The same for a directory.
pub fn is_usable_directory(path: &Path) -> bool {
    is_directory(path).unwrap_or(false)
}

/// What is in a directory, as far as this user can reach it, for parts of the machine too.
pub fn usable_entries(path: &Path) -> Vec<Entry> {
    entries(path).unwrap_or_default()
}

/// What a directory has.
#[derive(Clone, Debug)]
pub struct Entry {
    path: PathBuf,
    depth: usize,
    kind: FileType,
}

impl Entry {
    /// Its path, which begins with that of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same.
    pub fn into_path(self) -> PathBuf {
        self.path
    }

    /// The last part of its path.
    pub fn file_name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    /// How many directories down from that of the walk, from 1.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// What it is. A link is a link, unless the walk follows links.
    pub fn file_type(&self) -> FileType {
        self.kind
    }
}

/// What is in the directory at `path`, sorted by name; nothing if that does not exist, or is no directory.
pub fn entries(path: &Path) -> Result<Vec<Entry>, PathError> {
    let mut unread = Unread::default();
    let entries = listed(path, 1, &mut unread)?;
    unread.none()?;
    Ok(entries)
}

/// The names in the directory at `path`, sorted. It must exist.
pub fn names(path: &Path) -> io::Result<Vec<OsString>> {
    names_at_most(path, usize::MAX)
}

/// The same, but at most `most` of them, whichever.
#[expect(clippy::disallowed_methods, reason = "all other code lists directories by the functions of this file")]
pub fn names_at_most(path: &Path, most: usize) -> io::Result<Vec<OsString>> {
    let names = fs::read_dir(path)?.take(most).map(|entry| Ok(entry?.file_name()));
    let mut names = names.collect::<io::Result<Vec<OsString>>>()?;
    names.sort();
    Ok(names)
}

/// What is in a directory at a depth of a walk. An entry that cannot be asked about is added to `unread`.
#[expect(clippy::disallowed_methods, reason = "see above")]
fn listed(path: &Path, depth: usize, unread: &mut Unread) -> Result<Vec<Entry>, PathError> {
    let mut entries = Vec::new();
    let Some(found) = unless_absent(fs::read_dir(path)).at(path)? else { return Ok(entries) };
    for entry in found {
        let entry = entry.at(path)?;
        // It may be gone by now.
        match unless_absent(entry.file_type()) {
            Ok(kind) => entries.extend(kind.map(|kind| Entry { path: entry.path(), depth, kind })),
            Err(source) => unread.0.push(PathError { path: entry.path(), source }),
        }
    }
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(entries)
}

/// What a walk did not see.
#[derive(Debug, Default)]
#[must_use = "what cannot be read is not absent"]
pub struct Unread(Vec<PathError>);

impl Unread {
    /// Fails with the first error, if there is one.
    pub fn none(self) -> Result<(), PathError> {
        self.0.into_iter().next().map_or(Ok(()), Err)
    }

    /// Hands each error on.
    pub fn report(self, report: impl FnMut(PathError)) {
        self.0.into_iter().for_each(report);
    }
}

/// Where a walk goes after an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkStep {
    /// Into it, if it is a directory.
    Into,
    /// To the next entry of its directory.
    Over,
    /// Nowhere: the walk ends.
    Stop,
}

/// A walk through a directory: each entry before what is in it, sorted by name.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'a> {
    root: &'a Path,
    max_depth: usize,
    follows_links: bool,
}

impl<'a> Walk<'a> {
    /// Through this directory, which a link may lead to. Links in it are not followed.
    pub fn new(root: &'a Path) -> Self {
        Self { root, max_depth: usize::MAX, follows_links: false }
    }

    /// At most so many directories down; 1 is what is directly in it.
    #[must_use]
    pub fn max_depth(self, max_depth: usize) -> Self {
        Self { max_depth, ..self }
    }

    /// Behind links too. A link that leads to a directory around it is an error.
    #[must_use]
    pub fn following_links(self) -> Self {
        Self { follows_links: true, ..self }
    }

    /// All entries, or the first error.
    pub fn all(self) -> Result<Vec<Entry>, PathError> {
        let mut all = Vec::new();
        let unread = self.each(|entry| {
            all.push(entry.clone());
            WalkStep::Into
        });
        unread.none()?;
        Ok(all)
    }

    /// Calls `visit` with each entry. Returns what could not be read.
    pub fn each(self, mut visit: impl FnMut(&Entry) -> WalkStep) -> Unread {
        let mut unread = Unread::default();
        let mut levels: Vec<OpenDirectory> = Vec::new();
        self.enter(self.root, &mut levels, &mut unread);
        while let Some(level) = levels.last_mut() {
            let Some(mut entry) = level.entries.next() else {
                levels.pop();
                continue;
            };
            if self.follows_links && entry.kind.is_symlink() {
                match kind(&entry.path) {
                    Ok(target) => entry.kind = target.unwrap_or(entry.kind),
                    Err(error) => {
                        unread.0.push(error);
                        continue;
                    }
                }
            }
            match visit(&entry) {
                WalkStep::Stop => break,
                WalkStep::Into if entry.kind.is_dir() && entry.depth < self.max_depth => {
                    self.enter(&entry.path, &mut levels, &mut unread);
                }
                WalkStep::Into | WalkStep::Over => {}
            }
        }
        unread
    }

    /// Adds the level of this directory.
    fn enter(self, path: &Path, levels: &mut Vec<OpenDirectory>, unread: &mut Unread) {
        match self.level(path, levels, unread) {
            Ok(level) => levels.push(level),
            Err(error) => unread.0.push(error),
        }
    }

    fn level(self, path: &Path, levels: &[OpenDirectory], unread: &mut Unread) -> Result<OpenDirectory, PathError> {
        let mut directory = None;
        if self.follows_links {
            let found = unless_absent(fs::metadata(path)).at(path)?;
            directory = found.map(|found| (found.dev(), found.ino()));
            if directory.is_some() && levels.iter().any(|level| level.directory == directory) {
                return Err(io::Error::other("it is a link to a directory that it is in")).at(path);
            }
        }
        Ok(OpenDirectory { entries: listed(path, levels.len() + 1, unread)?.into_iter(), directory })
    }
}

/// The entries of an open directory.
struct OpenDirectory {
    entries: IntoIter<Entry>,
    /// Its device and inode, where links are followed.
    directory: Option<(u64, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let tree = tempfile::tempdir().expect("a directory");
        for directory in ["a/b", "c"] {
            fs::create_dir_all(tree.path().join(directory)).expect("a directory");
        }
        for file in ["a/b/one", "a/two", "c/three"] {
            fs::write(tree.path().join(file), "").expect("a file");
        }
        tree
    }

    fn paths(root: &Path, entries: &[Entry]) -> Vec<String> {
        let paths = entries.iter().map(|entry| entry.path().strip_prefix(root).expect("it is in it"));
        paths.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn a_walk_visits_each_entry_once_in_order_and_stops_where_it_is_told_to() {
        let tree = tree();
        let all = Walk::new(tree.path()).all().expect("a walk");
        assert_eq!(paths(tree.path(), &all), ["a", "a/b", "a/b/one", "a/two", "c", "c/three"]);
        assert_eq!(all.iter().map(Entry::depth).collect::<Vec<_>>(), [1, 2, 3, 2, 1, 2]);
        let top = Walk::new(tree.path()).max_depth(1).all().expect("a walk");
        assert_eq!(paths(tree.path(), &top), ["a", "c"]);
        let mut seen = Vec::new();
        let unread = Walk::new(tree.path()).each(|entry| {
            seen.push(entry.clone());
            if entry.file_name() == "b" { WalkStep::Over } else { WalkStep::Into }
        });
        unread.none().expect("all can be read");
        assert_eq!(paths(tree.path(), &seen), ["a", "a/b", "a/two", "c", "c/three"]);
    }

    #[test]
    fn what_does_not_exist_is_absent_and_everything_else_is_an_error() {
        let tree = tree();
        for absent in ["none", "none/none", "a/two/none"] {
            let path = tree.path().join(absent);
            assert!(!exists(&path).expect("an answer"), "{absent}");
            assert!(entries(&path).expect("an answer").is_empty(), "{absent}");
        }
        let long = tree.path().join("x".repeat(300));
        for error in [exists(&long).expect_err("an error"), entries(&long).expect_err("an error")] {
            assert_eq!(error.path, long);
        }
        let mut named = Vec::new();
        Walk::new(&long).each(|_| WalkStep::Into).report(|error| named.push(error.path));
        assert_eq!(named, [long]);
    }

    #[test]
    fn a_link_that_leads_back_is_an_error_where_links_are_followed() {
        let tree = tree();
        std::os::unix::fs::symlink("..", tree.path().join("a/up")).expect("a link");
        std::os::unix::fs::symlink("../c", tree.path().join("a/c")).expect("a link");
        let all = Walk::new(tree.path()).all().expect("a walk");
        assert_eq!(paths(tree.path(), &all).len(), 8);
        let mut seen = Vec::new();
        let mut named = Vec::new();
        let unread = Walk::new(tree.path()).following_links().each(|entry| {
            seen.push(entry.clone());
            WalkStep::Into
        });
        unread.report(|error| named.push(error.path));
        assert!(paths(tree.path(), &seen).contains(&"a/c/three".to_owned()));
        assert_eq!(named, [tree.path().join("a/up")]);
    }

    #[test]
    fn an_error_of_the_system_hides_what_is_there_wherever_it_was_met_unless_nothing_is_there() {
        let raw = |errno: Errno| io::Error::from_raw_os_error(errno as i32);
        let at = |error: io::Error| io::Error::from(PathError { path: "a".into(), source: error });
        for errno in [Errno::EIO, Errno::EACCES, Errno::EMFILE] {
            assert!(hides(&raw(errno)) && hides(&at(raw(errno))) && hides(&at(at(raw(errno)))), "{errno}");
        }
        for errno in [Errno::ENOENT, Errno::ENOTDIR, Errno::ELOOP] {
            assert!(!hides(&raw(errno)) && !hides(&at(raw(errno))), "{errno}");
        }
        assert!(!hides(&io::Error::new(io::ErrorKind::InvalidInput, "it leads out")));
        assert!(known(Err(at(raw(Errno::EIO)))).is_err() && known(Err(raw(Errno::ENOENT))).is_ok());
    }
}
