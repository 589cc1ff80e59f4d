//! A program and all processes that it started.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::GRACE;
use super::start::remove_container;
use crate::files::look;
use crate::settings::TREE_VARIABLE;

/// Tells a [supervisor](super::supervisor) to kill all its descendants at once.
pub(super) const KILL_NOW: Signal = Signal::SIGUSR1;

/// Maximum time that a supervisor or the kernel takes to kill a tree.
const HOLDER_TIMEOUT: Duration = Duration::from_secs(6);

/// Interval between two checks of a tree that is being killed.
const POLL: Duration = Duration::from_millis(1);

/// What ends a tree when its first process ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TreeHolder {
    /// Nothing. Its processes are found by descent, group and mark. A process that drops all three is lost.
    Nothing,
    /// The first process is a supervisor. It kills all its descendants before it ends.
    Supervisor,
    /// The first process is bubblewrap with a PID namespace. The kernel kills all processes in it.
    Namespace,
    /// The first process is this client of docker or podman. The container is not its child, and does not end with it.
    Container(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessTree {
    /// The id of its first process, which leads a process group.
    pub leader: i32,
    /// What ends the tree when the leader ends.
    pub holder: TreeHolder,
    /// The value of [`TREE_VARIABLE`] in the environment of every process of the tree.
    pub mark: String,
}

/// A mark that no other tree on this machine has.
pub(super) fn new_mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    format!("{}-{now}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Sends a signal to one process. Ignores failures: the process may have ended.
pub(super) fn send_signal(pid: i32, signal: Signal) {
    // 0 and negative numbers are groups, 1 is init.
    if pid > 1 {
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

/// A process of a tree. Its start time distinguishes it from a later process with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pid: i32,
    start_time: u64,
}

impl ProcessTree {
    /// Asks every process of the tree to end. Returns them: after its parent has ended, a process without the mark is no
    /// longer found by descent.
    pub fn terminate(&self) -> Vec<Member> {
        if matches!(self.holder, TreeHolder::Supervisor | TreeHolder::Container(_)) {
            // The supervisor asks its descendants, and kills them after the grace period. The client passes the signal on.
            send_signal(self.leader, Signal::SIGTERM);
            return Vec::new();
        }
        let members = self.signal(Signal::SIGTERM);
        // A stopped process cannot end before it continues.
        self.signal(Signal::SIGCONT);
        members
    }

    /// Starts to kill the tree. Does not wait for its holder.
    pub(super) fn kill_soon(&self) {
        match &self.holder {
            TreeHolder::Nothing => self.kill(&[]),
            TreeHolder::Supervisor => send_signal(self.leader, KILL_NOW),
            TreeHolder::Namespace => send_signal(self.leader, Signal::SIGKILL),
            TreeHolder::Container(client) => self.end_container(client),
        }
    }

    /// Ends the container and its client. A client that is killed while it begins a container leaves one that no client knows, so
    /// it may finish that.
    fn end_container(&self, client: &Path) {
        let started = Instant::now();
        loop {
            remove_container(client, &self.mark);
            if start_time_of(self.leader).is_none() || started.elapsed() > HOLDER_TIMEOUT {
                break;
            }
            std::thread::sleep(POLL);
        }
        send_signal(self.leader, Signal::SIGKILL);
    }

    /// Kills every process of the tree, and the `known` ones. Returns when none is left: a tree may grow meanwhile.
    pub fn kill(&self, known: &[Member]) {
        if self.holder != TreeHolder::Nothing {
            self.kill_soon();
            if self.wait_until_gone() {
                return;
            }
        }
        let started = Instant::now();
        loop {
            let mut known = known.iter().filter(|member| member.is_alive()).peekable();
            let is_gone = known.peek().is_none();
            known.for_each(|member| send_signal(member.pid, Signal::SIGKILL));
            // A process that stays belongs to another user, or waits for a disk.
            if (self.signal(Signal::SIGKILL).is_empty() && is_gone) || started.elapsed() > GRACE {
                return;
            }
            // The kernel takes a moment to end a process that was killed.
            std::thread::sleep(POLL);
        }
    }

    /// Waits until the holder has ended the tree. Returns whether it did.
    fn wait_until_gone(&self) -> bool {
        let started = Instant::now();
        loop {
            let is_gone = match self.holder {
                // Its processes are the daemon's.
                TreeHolder::Container(_) => true,
                TreeHolder::Supervisor => start_time_of(self.leader).is_none(),
                // The first process of the namespace has the mark, and ends after all others.
                TreeHolder::Nothing | TreeHolder::Namespace => members(std::slice::from_ref(self), 0, &[]).is_empty(),
            };
            if is_gone || started.elapsed() > HOLDER_TIMEOUT {
                return is_gone;
            }
            std::thread::sleep(POLL);
        }
    }

    /// Kills the processes that outlived the leader, which ended so and ran for `lifetime`. `others` are leaders of trees
    /// that still run.
    pub fn kill_rest(&self, ended: ExitStatus, lifetime: Duration, others: &[i32]) {
        if let TreeHolder::Container(client) = &self.holder {
            // The client waits for the container, whose first process ends all others, unless somebody kills the client.
            if ended.signal().is_some() {
                remove_container(client, &self.mark);
            }
            return;
        }
        // Process ids are given out in order, so the tree's ids are higher than the leader's unless the ids wrapped
        // around. They cannot wrap around twice in a second. This saves most of the search, and so most of the cost of a
        // short trial.
        let is_short = lifetime < Duration::from_secs(1) && latest_pid().is_some_and(|latest| latest >= self.leader);
        let newer_than = if is_short { self.leader } else { 0 };
        if members(std::slice::from_ref(self), newer_than, others).is_empty() {
            return;
        }
        if self.holder == TreeHolder::Namespace && self.wait_until_gone() {
            return;
        }
        Self { holder: TreeHolder::Nothing, ..self.clone() }.kill(&[]);
    }

    /// Sends a signal to every process of the tree. Returns the processes without the leader.
    fn signal(&self, signal: Signal) -> Vec<Member> {
        if self.leader <= 1 {
            return Vec::new();
        }
        // Listed first: the signal may end their parents.
        let mut members = members(std::slice::from_ref(self), 0, &[]);
        members.retain(|member| member.pid != self.leader);
        // bubblewrap does not forward signals: its end would be the end of all.
        if self.holder != TreeHolder::Namespace || signal == Signal::SIGKILL {
            let _ = killpg(Pid::from_raw(self.leader), signal);
        }
        for member in &members {
            send_signal(member.pid, signal);
        }
        members
    }
}

/// Waits until the supervisors of a runner that has ended have killed their trees.
pub(super) fn wait_for_supervisors(trees: &[ProcessTree]) {
    for tree in trees.iter().filter(|tree| tree.holder == TreeHolder::Supervisor) {
        tree.kill_soon();
        tree.wait_until_gone();
    }
}

/// Ends the containers of trees whose runner has ended.
pub(super) fn end_containers(trees: &[ProcessTree]) {
    for tree in trees.iter().filter(|tree| matches!(tree.holder, TreeHolder::Container(_))) {
        tree.kill_soon();
    }
}

/// Kills every process, with leaders, of trees whose runner has ended. Returns whether there was one.
pub(super) fn kill_orphans(trees: &[ProcessTree]) -> bool {
    let members = members(trees, 0, &[]);
    // Without `/proc` only the group is known.
    if cfg!(not(target_os = "linux")) {
        for tree in trees.iter().filter(|tree| tree.leader > 1) {
            let _ = killpg(Pid::from_raw(tree.leader), Signal::SIGKILL);
        }
    }
    for member in &members {
        send_signal(member.pid, Signal::SIGKILL);
    }
    !members.is_empty()
}

/// The processes of the trees: by the mark in their environment, which a process in its own session still has, by group,
/// and by descent. Ignores `others` and processes whose id is at most `newer_than`. Empty without `/proc`.
fn members(trees: &[ProcessTree], newer_than: i32, others: &[i32]) -> Vec<Member> {
    let mut processes = Process::all(newer_than);
    processes.retain(|process| !others.contains(&process.pid));
    let is_leader = |pid: i32| trees.iter().any(|tree| tree.leader > 1 && tree.leader == pid);
    let marks: Vec<String> = trees.iter().map(|tree| format!("{TREE_VARIABLE}={}\0", tree.mark)).collect();
    let is_marked = |process: &Process| {
        std::fs::read(format!("/proc/{}/environ", process.pid)).is_ok_and(|environ| {
            marks.iter().any(|mark| environ.windows(mark.len()).any(|window| window == mark.as_bytes()))
        })
    };
    let (found, mut rest): (Vec<Process>, Vec<Process>) = processes
        .into_iter()
        .partition(|process| is_leader(process.pid) || is_leader(process.group) || is_marked(process));
    let mut members: Vec<Member> = found.iter().map(Member::of).collect();
    // Children of members that dropped the mark and the group.
    loop {
        let count = members.len();
        rest.retain(|process| {
            let is_child = is_leader(process.parent) || members.iter().any(|member| member.pid == process.parent);
            if is_child {
                members.push(Member::of(process));
            }
            !is_child
        });
        if members.len() == count {
            return members;
        }
    }
}

impl Member {
    fn of(process: &Process) -> Self {
        Self { pid: process.pid, start_time: process.start_time }
    }

    /// Whether this process, not a later one with its id, still runs.
    fn is_alive(self) -> bool {
        start_time_of(self.pid) == Some(self.start_time)
    }
}

// The system's process table, `/proc`.

/// The latest process id of the system: the end of `/proc/loadavg`.
fn latest_pid() -> Option<i32> {
    std::fs::read_to_string("/proc/loadavg").ok()?.trim_end().rsplit(' ').next()?.parse().ok()
}

/// The start time of a process in clock ticks after boot. `None` if the process does not exist, or if the system has no
/// `/proc`.
pub(super) fn start_time_of(pid: i32) -> Option<u64> {
    Process::read(pid).filter(|process| !process.is_zombie).map(|process| process.start_time)
}

pub(super) struct Process {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    pub start_time: u64,
    /// Whether it has ended and its parent has not noticed.
    pub is_zombie: bool,
}

impl Process {
    /// Every process with an id above `newer_than`, without zombies.
    pub(super) fn all(newer_than: i32) -> Vec<Self> {
        let names = look::names(Path::new("/proc")).unwrap_or_default();
        let pids = names.into_iter().filter_map(|name| name.to_str()?.parse().ok());
        pids.filter(|pid| *pid > newer_than).filter_map(Self::read).filter(|process| !process.is_zombie).collect()
    }

    fn read(pid: i32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // `pid (name) state ppid pgrp …`. The name may contain `)`.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        // The start time is field 22 of 52; five are read.
        let start_time = fields.nth(16)?.parse().ok()?;
        Some(Self { pid, parent, group, start_time, is_zombie: matches!(state, "Z" | "X") })
    }
}
