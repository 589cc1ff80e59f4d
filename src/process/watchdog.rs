//! A small process beside the runner that ends the agents when the runner can no longer do so: after kill -9.
//!
//! It is this very program, started again with one variable set, once for each process that runs agents and with the
//! first of them. It reads from a pipe which trees run. The pipe ends with the runner, however that ends; whatever is
//! still listed then is killed, and the runner's scratch folder removed.
//!
//! A program that is just being started keeps the pipe open until it is under way, since it inherits the pipe until
//! then: so the pipe's end also says that every program announced either runs with its mark or never will.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::supervisor;
use super::tree::{ProcessTree, TreeHolder, kill_orphans, wait_for_keepers};
use crate::settings::{KEEPER_VARIABLE, WATCHDOG_VARIABLE};

/// How often a dead runner's trees are looked for: a tree may grow while it is being killed.
const ROUNDS: usize = 40;

/// The time between two looks.
const BETWEEN: Duration = Duration::from_millis(25);

static LINE: Mutex<Watchdog> = Mutex::new(Watchdog::NotOffered);

#[derive(Debug)]
enum Watchdog {
    /// This program's `main` never said that it can be started as a watchdog: starting it would run something else.
    NotOffered,
    /// Not started yet, for want of an agent.
    Waiting { scratch: Option<PathBuf> },
    /// At work.
    Started(ChildStdin),
    /// It could not be started, or died.
    Gone,
}

/// What a program that runs agents calls first. If this process was started as a watchdog, does that work to its end
/// and returns true; the program has nothing more to do then. Otherwise lets this process have a watchdog.
#[must_use]
pub fn take_over() -> bool {
    if let Some(runner) = std::env::var_os(KEEPER_VARIABLE) {
        supervisor::keep(&runner);
    }
    if std::env::var_os(WATCHDOG_VARIABLE).is_some() {
        watch(std::io::stdin().lock());
        return true;
    }
    let mut line = LINE.lock().unwrap_or_else(PoisonError::into_inner);
    if matches!(*line, Watchdog::NotOffered) {
        *line = Watchdog::Waiting { scratch: None };
    }
    false
}

/// Whether this program's `main` knows how to be started as a watchdog or a keeper.
pub(super) fn is_offered() -> bool {
    !matches!(*LINE.lock().unwrap_or_else(PoisonError::into_inner), Watchdog::NotOffered)
}

/// Has `folder` removed should this process be killed.
pub fn remove_afterwards(folder: &Path) {
    let mut line = LINE.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *line {
        Watchdog::Waiting { scratch } => *scratch = Some(folder.to_path_buf()),
        Watchdog::Started(_) => tell(&mut line, b"directory ", folder.as_os_str().as_bytes()),
        Watchdog::NotOffered | Watchdog::Gone => {}
    }
}

/// Says that a tree is about to run, or, once it has a leader, that it runs.
pub(super) fn note(tree: &ProcessTree) {
    let mut line = LINE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Watchdog::Waiting { scratch } = &mut *line {
        let scratch = scratch.take();
        *line = start().map_or(Watchdog::Gone, Watchdog::Started);
        if let Some(scratch) = scratch {
            tell(&mut line, b"directory ", scratch.as_os_str().as_bytes());
        }
    }
    tell(&mut line, b"runs ", format!("{} {} {}", tree.leader, word(tree.holder), tree.mark).as_bytes());
}

const HOLDERS: [TreeHolder; 3] = [TreeHolder::Nothing, TreeHolder::Keeper, TreeHolder::Namespace];

/// How the watchdog is told what holds a tree.
fn word(holder: TreeHolder) -> &'static str {
    match holder {
        TreeHolder::Nothing => "nothing",
        TreeHolder::Keeper => "keeper",
        TreeHolder::Namespace => "namespace",
    }
}

/// Says that nothing of a tree is left.
pub(super) fn forget(tree: &ProcessTree) {
    let mut line = LINE.lock().unwrap_or_else(PoisonError::into_inner);
    tell(&mut line, b"gone ", tree.mark.as_bytes());
}

fn tell(line: &mut Watchdog, word: &[u8], rest: &[u8]) {
    let Watchdog::Started(pipe) = line else { return };
    // In one piece, and none that could be read as two.
    let text = [word, rest, b"\n"].concat();
    if !rest.contains(&b'\n') && pipe.write_all(&text).is_err() {
        *line = Watchdog::Gone;
    }
}

fn start() -> Option<ChildStdin> {
    let program = std::env::current_exe().ok()?;
    let mut command = Command::new(program);
    command.env_clear().env(WATCHDOG_VARIABLE, "1").current_dir("/");
    // In a group of its own: Ctrl-C at a terminal is for the runner.
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().ok()?.stdin.take()
}

/// Listens until the runner is gone, then cleans up after it.
fn watch(mut pipe: impl BufRead) {
    let mut trees: HashMap<Vec<u8>, ProcessTree> = HashMap::new();
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        match pipe.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let line = line.trim_ascii_end();
        if let Some(rest) = line.strip_prefix(b"runs ") {
            let text = String::from_utf8_lossy(rest);
            if let [leader, holder, mark] = text.splitn(3, ' ').collect::<Vec<_>>()[..] {
                let holder = HOLDERS.into_iter().find(|known| word(*known) == holder).unwrap_or(TreeHolder::Nothing);
                let tree = ProcessTree { leader: leader.parse().unwrap_or_default(), holder, mark: mark.to_owned() };
                trees.insert(mark.as_bytes().to_vec(), tree);
            }
        } else if let Some(mark) = line.strip_prefix(b"gone ") {
            trees.remove(mark);
        } else if let Some(folder) = line.strip_prefix(b"directory ") {
            folders.push(PathBuf::from(std::ffi::OsString::from_vec(folder.to_vec())));
        }
    }
    let trees: Vec<ProcessTree> = trees.into_values().collect();
    wait_for_keepers(&trees);
    let mut quiet = trees.is_empty();
    for _ in 0..ROUNDS {
        if quiet {
            break;
        }
        quiet = !kill_orphans(&trees);
        std::thread::sleep(BETWEEN);
    }
    for folder in folders {
        // A runner that ended by itself has removed it.
        let _ = std::fs::remove_dir_all(folder);
    }
}
