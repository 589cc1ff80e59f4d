//! A small process next to the runner that ends the agents if the runner is killed with `kill -9`.
//!
//! It is this program, started again with a variable set, one per process that runs agents. It reads from a pipe which trees
//! run. When the pipe ends, the runner has ended: the watchdog kills the trees that are left, and removes the runner's
//! scratch directory.
//!
//! A program inherits the pipe until its `exec`. So when the pipe ends, every announced program either runs with its mark or
//! will never run.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use signal_hook::consts::SIGXFSZ;

use super::tree::{ProcessTree, end_containers, kill_orphans, wait_for_supervisors};
use super::{held, opener, supervisor};
use crate::settings::{PREFIX, ROOM_VARIABLE, SUPERVISOR_VARIABLE, TREE_VARIABLE, WATCHDOG_VARIABLE};

/// Maximum number of searches for trees that are left: a tree may grow while it is being killed.
const MAX_SEARCHES: usize = 40;

/// Time between two searches.
const PAUSE: Duration = Duration::from_millis(25);

static WATCHDOG: Mutex<Watchdog> = Mutex::new(Watchdog::NotOffered);

#[derive(Debug)]
enum Watchdog {
    /// This program's `main` does not call [`take_over`]. A watchdog would run something else.
    NotOffered,
    /// No agent has been started yet.
    NotStarted {
        scratch: Option<PathBuf>,
    },
    Started(ChildStdin),
    /// It could not be started, or has ended.
    Gone,
}

/// A message to the watchdog, one JSON value per line.
#[derive(Debug, Serialize, Deserialize)]
enum WatchdogMessage {
    /// A tree is about to run, or runs if it has a leader.
    Runs(ProcessTree),
    /// Nothing is left of the tree with this mark.
    Ended(String),
    /// A directory to remove.
    Directory(OsString),
}

/// To be called first by a program that runs agents. If this process was started as a watchdog or a supervisor, does that
/// work and returns true: the program must then end. Otherwise allows this process to start a watchdog.
pub fn take_over() -> bool {
    if let Some(plan) = std::env::var_os(ROOM_VARIABLE) {
        opener::become_program(&plan);
    }
    if let Some(runner) = std::env::var_os(SUPERVISOR_VARIABLE) {
        supervisor::supervise(&runner);
    }
    if std::env::var_os(WATCHDOG_VARIABLE).is_some() {
        run(std::io::stdin().lock());
        return true;
    }
    // A write beyond `ulimit -f` is an error with a message. Programs that are started have the default again.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let mut watchdog = watchdog();
    if matches!(*watchdog, Watchdog::NotOffered) {
        *watchdog = Watchdog::NotStarted { scratch: None };
    }
    false
}

fn watchdog() -> MutexGuard<'static, Watchdog> {
    WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this program can be started as a watchdog or a supervisor.
pub(super) fn is_offered() -> bool {
    !matches!(*watchdog(), Watchdog::NotOffered)
}

/// Removes `directory` if this process is killed.
pub fn remove_afterwards(directory: &Path) {
    let mut watchdog = watchdog();
    match &mut *watchdog {
        Watchdog::NotStarted { scratch } => *scratch = Some(directory.to_path_buf()),
        _ => watchdog.send(&WatchdogMessage::Directory(directory.into())),
    }
}

/// Reports that a tree is about to run or, if it has a leader, that it runs.
pub(super) fn watch(tree: &ProcessTree) {
    let mut watchdog = watchdog();
    if let Watchdog::NotStarted { scratch } = &mut *watchdog {
        let scratch = scratch.take();
        *watchdog = start().map_or(Watchdog::Gone, Watchdog::Started);
        if let Some(scratch) = scratch {
            watchdog.send(&WatchdogMessage::Directory(scratch.into()));
        }
    }
    watchdog.send(&WatchdogMessage::Runs(tree.clone()));
}

/// Reports that nothing of a tree is left.
pub(super) fn forget(tree: &ProcessTree) {
    watchdog().send(&WatchdogMessage::Ended(tree.mark.clone()));
}

impl Watchdog {
    /// Sends a message if the watchdog is started.
    fn send(&mut self, message: &WatchdogMessage) {
        let Self::Started(pipe) = self else { return };
        let line = serde_json::to_string(message).unwrap_or_default() + "\n";
        // In one write: the watchdog must not read half a line if this process is killed.
        if pipe.write_all(line.as_bytes()).is_err() {
            *self = Self::Gone;
        }
    }
}

fn start() -> Option<ChildStdin> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    // The user's variables say where the daemon of docker or podman is. Those of this program are not for it.
    let is_own = |name: &OsStr| name == TREE_VARIABLE || name.as_bytes().starts_with(PREFIX.as_bytes());
    command.env_clear().envs(std::env::vars_os().filter(|(name, _)| !is_own(name)));
    command.env(WATCHDOG_VARIABLE, "1").current_dir("/");
    // In its own group: Ctrl-C in a terminal is for the runner.
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    super::start::spawn(&mut command).ok()?.stdin.take()
}

/// Reads messages until the runner has ended, then ends its trees.
fn run(mut pipe: impl BufRead) {
    let mut trees: HashMap<String, ProcessTree> = HashMap::new();
    let mut directories: Vec<OsString> = Vec::new();
    let mut line = Vec::new();
    while pipe.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        match serde_json::from_slice(&line) {
            Ok(WatchdogMessage::Runs(tree)) => _ = trees.insert(tree.mark.clone(), tree),
            Ok(WatchdogMessage::Ended(mark)) => _ = trees.remove(&mark),
            Ok(WatchdogMessage::Directory(directory)) => directories.push(directory),
            Err(_) => {}
        }
        line.clear();
    }
    let trees: Vec<ProcessTree> = trees.into_values().collect();
    wait_for_supervisors(&trees);
    end_containers(&trees);
    let mut searches = 0;
    while !trees.is_empty() && searches < MAX_SEARCHES && kill_orphans(&trees) {
        searches += 1;
        std::thread::sleep(PAUSE);
    }
    for directory in directories {
        // The runner may have removed it, and another process may have its name by now.
        let _ = held::remove_dead(Path::new(&directory));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_runner_left_is_removed_unless_another_process_has_its_name_by_now() {
        let base = tempfile::tempdir().expect("a directory");
        let directory = |name: &str| {
            let path = base.path().join(name);
            std::fs::create_dir(&path).expect("a directory");
            path
        };
        let (dead, living, new) = (directory("1"), directory("2"), directory("3"));
        drop(held::hold(&dead).expect("a lock"));
        let _lock = held::hold(&living).expect("a lock");
        let messages: Vec<String> = [&dead, &living, &new]
            .map(|path| serde_json::to_string(&WatchdogMessage::Directory(path.into())).expect("JSON") + "\n")
            .to_vec();
        run(messages.concat().as_bytes());
        assert_eq!([&dead, &living, &new].map(|path| path.exists()), [false, true, true]);
    }
}
