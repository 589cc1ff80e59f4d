//! Walks through a directory without recursion, to a limited depth.

use std::cell::{Cell, OnceCell};
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use std::vec::IntoIter;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::renameat;
use nix::libc::{dev_t, ino_t, nlink_t};
use nix::sys::stat::{FileStat, SFlag, fstat};
use nix::time::{ClockId, clock_gettime};

use super::Root;
use super::descend::{MAX_NAMES, directory, directory_in, file_in, kind, names, status};
use crate::files::bounded::Stamp;
use crate::files::look;

/// The deepest level of a walk. Each level keeps one directory open.
const MAX_DEPTH: usize = 100;

/// A regular file that a walk has found.
#[derive(Debug)]
pub struct WalkedFile<'a> {
    /// Its path, relative to the directory of the walk.
    pub path: &'a Path,
    /// Its size in bytes.
    pub size: u64,
    /// Its stamp now.
    pub stamp: Stamp,
    directory: BorrowedFd<'a>,
    name: &'a OsStr,
    links: &'a Links<'a>,
}

impl WalkedFile<'_> {
    /// Opens the file.
    pub fn open(&self) -> io::Result<File> {
        self.links.open(self.directory, self.name)
    }
}

/// Whether a walk continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkControl {
    /// Continue with the next file.
    On,
    /// End the walk.
    Stop,
}

/// The end of a walk.
#[derive(Debug)]
pub struct Walked {
    /// Whether it found all.
    pub is_whole: bool,
    /// The paths of links, pipes, sockets and devices, which are not followed or read.
    pub others: Vec<PathBuf>,
}

/// Calls `take` for each regular file under the open directory `at` of `root`.
pub(super) fn walk(
    root: &Root,
    at: OwnedFd,
    skip: fn(&OsStr) -> bool,
    take: &mut dyn FnMut(&WalkedFile<'_>) -> WalkControl,
) -> io::Result<Walked> {
    let links = Links::new(root);
    let mut others = Vec::new();
    let mut is_whole = true;
    is_whole &= visit(at, skip, &mut |found| {
        match kind(&found.status) {
            SFlag::S_IFREG => {
                let Found { path, status, directory, name } = *found;
                let (size, stamp) = (u64::try_from(status.st_size).unwrap_or_default(), Stamp::of_stat(&status));
                return take(&WalkedFile { path, size, stamp, directory, name, links: &links });
            }
            SFlag::S_IFDIR => {}
            _ if others.len() == MAX_NAMES => is_whole = false,
            _ => others.push(found.path.to_path_buf()),
        }
        WalkControl::On
    })?;
    Ok(Walked { is_whole, others })
}

/// Anything that a walk has found.
struct Found<'a> {
    path: &'a Path,
    status: FileStat,
    directory: BorrowedFd<'a>,
    name: &'a OsStr,
}

/// A directory whose names are being visited.
struct VisitedLevel {
    at: Dir,
    names: IntoIter<OsString>,
}

impl VisitedLevel {
    fn open(at: OwnedFd, is_whole: &mut bool) -> io::Result<Self> {
        let mut at = Dir::from_fd(at)?;
        let names = names(&mut at, is_whole).into_iter();
        Ok(Self { at, names })
    }
}

/// Visits everything under an open directory, sorted by name, each directory before its content. Returns whether it found all.
fn visit(at: OwnedFd, skip: fn(&OsStr) -> bool, take: &mut dyn FnMut(&Found<'_>) -> WalkControl) -> io::Result<bool> {
    let mut is_whole = true;
    let mut path = PathBuf::new();
    let mut levels = vec![VisitedLevel::open(at, &mut is_whole)?];
    while let Some(level) = levels.last_mut() {
        let Some(name) = level.names.next() else {
            levels.pop();
            path.pop();
            continue;
        };
        let status = match status(&level.at, &name) {
            Ok(status) => status,
            Err(error) => {
                // It may be gone by now.
                is_whole &= look::is_absent(&error);
                continue;
            }
        };
        let is_directory = kind(&status) == SFlag::S_IFDIR;
        if is_directory && skip(&name) {
            continue;
        }
        path.push(&name);
        if take(&Found { path: &path, status, directory: level.at.as_fd(), name: &name }) == WalkControl::Stop {
            return Ok(false);
        }
        if is_directory {
            let opened = directory_in(&level.at, &name).ok().filter(|_| levels.len() <= MAX_DEPTH);
            if let Some(Ok(next)) = opened.map(|at| VisitedLevel::open(at, &mut is_whole)) {
                levels.push(next);
                continue;
            }
            is_whole = false;
        }
        path.pop();
    }
    Ok(is_whole)
}

/// Tells whether a file has all its names in a closed directory, although others link, rename and remove meanwhile.
#[derive(Debug)]
pub(super) struct Links<'a> {
    root: &'a Root,
    /// By device and inode. Counted when it is needed.
    counted: OnceCell<HashMap<(dev_t, ino_t), Names>>,
    /// How long it has waited for files that change.
    waited: Cell<Duration>,
}

/// The names of a file in a closed directory.
#[derive(Debug, Default)]
struct Names {
    /// The inode of its directory, and the name there: a directory that is moved during the count gives no second name.
    found: HashSet<(u64, OsString)>,
    /// The last changes of the file before it was found.
    changed: HashSet<LinkChange>,
}

/// How long a walk waits, in all, for files that change. Some file systems keep only seconds.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// The time until the next look at the clock. It is short: a file that changes all the time has not changed just after a tick.
const PAUSE: Duration = Duration::from_micros(50);

impl<'a> Links<'a> {
    pub(super) fn new(root: &'a Root) -> Self {
        Self { root, counted: OnceCell::new(), waited: Cell::default() }
    }

    /// Opens the regular file `name` in the open directory `at`, unless the directory of the walk is closed and the file has a name
    /// elsewhere.
    pub(super) fn open(&self, at: impl AsFd, name: &OsStr) -> io::Result<File> {
        let mut file = file_in(at.as_fd(), name)?;
        if !self.root.is_closed {
            return Ok(file);
        }
        loop {
            let now = tick()?;
            settle(at.as_fd(), name)?;
            let before = fstat(&file)?;
            let named = status(at.as_fd(), name)?;
            let is_own = (named.st_dev, named.st_ino) == (before.st_dev, before.st_ino) && self.are_all(&before);
            let after = fstat(&file)?;
            // If nothing changed meanwhile, the names between were all.
            if is_before(changed(&before).time, now) && changed(&before) == changed(&after) {
                if is_own {
                    return Ok(file);
                }
                if after.st_nlink > 1 {
                    let why = "it is a hard link to a file outside its directory";
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
                }
            }
            if !self.waits_past(now)? {
                let why = "it is changed again and again while it is opened";
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
            }
            // Something else may have its name by now.
            file = file_in(at.as_fd(), name)?;
        }
    }

    /// Waits until the clock shows another time than `now`. Returns `false` if this walk has waited enough.
    fn waits_past(&self, now: (i64, i64)) -> io::Result<bool> {
        if self.waited.get() >= PATIENCE {
            return Ok(false);
        }
        let start = Instant::now();
        thread::sleep(PAUSE);
        while tick()? == now {
            thread::sleep(PAUSE);
        }
        self.waited.set(self.waited.get() + start.elapsed());
        Ok(true)
    }

    /// Whether a file, one of whose names is in the directory, has all of them there.
    fn are_all(&self, file: &FileStat) -> bool {
        if file.st_nlink < 2 {
            return file.st_nlink == 1;
        }
        let counted = self.counted.get_or_init(|| self.count());
        counted.get(&(file.st_dev, file.st_ino)).is_some_and(|names| {
            let has_changed = names.changed.iter().any(|time| *time != changed(file));
            !has_changed && nlink_t::try_from(names.found.len()).is_ok_and(|found| found >= file.st_nlink)
        })
    }

    /// Counts the names of files that have several, except of those that get or lose one all the time.
    fn count(&self) -> HashMap<(dev_t, ino_t), Names> {
        loop {
            let Ok(now) = tick() else { return HashMap::new() };
            let mut counts = self.count_now();
            let all = counts.len();
            counts.retain(|_, names| names.changed.iter().all(|change| is_before(change.time, now)));
            if counts.len() == all || !self.waits_past(now).unwrap_or(false) {
                return counts;
            }
        }
    }

    fn count_now(&self) -> HashMap<(dev_t, ino_t), Names> {
        let mut counts: HashMap<(dev_t, ino_t), Names> = HashMap::new();
        let visited = directory(&self.root.fd, Path::new("")).and_then(|at| {
            visit(at, |_| false, &mut |found| {
                if kind(&found.status) == SFlag::S_IFREG && found.status.st_nlink > 1 {
                    let settled = settle(found.directory, found.name);
                    let found_now = settled.and_then(|()| status(found.directory, found.name));
                    if let (Ok(file), Ok(directory)) = (found_now, fstat(found.directory)) {
                        let names = counts.entry((file.st_dev, file.st_ino)).or_default();
                        names.changed.insert(changed(&file));
                        names.found.insert((directory.st_ino, found.name.to_owned()));
                    }
                }
                WalkControl::On
            })
        });
        if visited.is_err() {
            counts.clear();
        }
        counts
    }
}

/// Waits until nobody is removing or replacing a name in the directory. The kernel finds a name until its removal is over, which
/// takes long where the directory is written through to the disk; the file has lost it before. To rename a file to its own name
/// does nothing, but the directory is locked for it.
fn settle(at: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    match renameat(at, name, at, name) {
        // Nobody removes anything there.
        Ok(()) | Err(Errno::EROFS) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// The last change of a file.
#[derive(Debug, PartialEq, Eq, Hash)]
struct LinkChange {
    /// When the file last changed, or got or lost a name: no program can set it.
    time: (i64, i64),
    /// How many names it has since. Some file systems count them just before they set the time.
    names: nlink_t,
}

fn changed(found: &FileStat) -> LinkChange {
    LinkChange { time: (found.st_ctime, found.st_ctime_nsec), names: found.st_nlink }
}

#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::CLOCK_REALTIME_COARSE;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::CLOCK_REALTIME;

/// The time that a change of a file gets now. Linux has one for each tick of its clock, so that two changes may look like one.
fn tick() -> io::Result<(i64, i64)> {
    let now = clock_gettime(CLOCK)?;
    Ok((now.tv_sec(), now.tv_nsec()))
}

/// Whether a change from `now` on has another time than this one, although some file systems keep only seconds.
fn is_before((seconds, nanoseconds): (i64, i64), now: (i64, i64)) -> bool {
    (seconds, nanoseconds) < if nanoseconds == 0 { (now.0, 0) } else { now }
}
