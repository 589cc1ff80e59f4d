//! A program and everything that was started below it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

#[cfg(target_os = "linux")]
use super::table::Process;
use super::table::{latest_pid, start_of};
use crate::settings::TREE_VARIABLE;

/// What tells a [keeper](super::supervisor) to kill all that it keeps, at once.
pub(super) const NOW: Signal = Signal::SIGUSR1;

/// How long a keeper or the kernel may take to end a tree that it was told to kill.
const PATIENCE: Duration = Duration::from_secs(6);

/// The time between two looks at a tree that is being killed.
const LOOK: Duration = Duration::from_millis(1);

/// What makes sure that a tree ends with its first process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeHolder {
    /// Nothing: its processes are found by descent, group and mark, and one that drops all three is lost.
    Nothing,
    /// The first process is a keeper: it ends all that descend from it before it ends itself.
    Keeper,
    /// The first process is bubblewrap with a PID namespace: the kernel kills all that is in it.
    Namespace,
}

/// A process tree: its first process, which leads a group, and the mark in the environment of every process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessTree {
    /// The first process.
    pub leader: i32,
    /// What makes sure that the rest ends with it.
    pub holder: TreeHolder,
    /// The value of [`TREE_VARIABLE`] in the environment of every process of the tree.
    pub mark: String,
}

/// A mark that no other tree on this machine has.
pub(super) fn new_mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    format!("{}-{since}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A process of a tree, told from a later one with the same number by its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pid: i32,
    started: u64,
}

impl ProcessTree {
    /// Asks every process of the tree to go. Returns who was asked: once its parent is gone, a process that keeps no
    /// mark is not found by descent any more.
    #[must_use]
    pub fn terminate(&self) -> Vec<Member> {
        if self.holder == TreeHolder::Keeper {
            // It hands the signal on, and kills what has not gone in time.
            self.signal_leader(Signal::SIGTERM);
            return Vec::new();
        }
        let members = self.signal(Signal::SIGTERM);
        // One that is stopped cannot go before it runs again.
        self.signal(Signal::SIGCONT);
        members
    }

    fn signal_leader(&self, signal: Signal) {
        if self.leader > 1 {
            let _ = kill(Pid::from_raw(self.leader), signal);
        }
    }

    /// Asks what holds the tree to kill it at once. Returns before that is done.
    pub(super) fn kill_soon(&self) {
        match self.holder {
            TreeHolder::Nothing => self.kill(&[]),
            TreeHolder::Keeper => self.signal_leader(NOW),
            TreeHolder::Namespace => self.signal_leader(Signal::SIGKILL),
        }
    }

    /// Kills every process of the tree, and those `known` from before. Looks again until none is left: a tree may
    /// grow while it is being killed.
    pub fn kill(&self, known: &[Member]) {
        if self.holder != TreeHolder::Nothing {
            self.kill_soon();
            if self.is_gone_within(PATIENCE) {
                return;
            }
        }
        for member in known.iter().filter(|member| member.is_alive()) {
            let _ = kill(Pid::from_raw(member.pid), Signal::SIGKILL);
        }
        for _ in 0..10 {
            if self.signal(Signal::SIGKILL).is_empty() {
                return;
            }
        }
    }

    /// Waits until the leader is gone, and with it what it holds.
    fn is_gone_within(&self, patience: Duration) -> bool {
        let asked = Instant::now();
        loop {
            let gone = match self.holder {
                TreeHolder::Keeper => start_of(self.leader).is_none(),
                // The first process of the namespace has our mark, and is gone only after all others.
                TreeHolder::Nothing | TreeHolder::Namespace => family(std::slice::from_ref(self), 0, &[]).is_empty(),
            };
            if gone || asked.elapsed() > patience {
                return gone;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Kills what outlived the leader, which has ended by itself after `lifetime`. `others` are leaders of trees that
    /// still run.
    pub fn kill_rest(&self, lifetime: Duration, others: &[i32]) {
        // Numbers are given out in turn: whoever this tree started has a higher one than its leader, unless they have
        // gone round. They cannot have gone round twice in so short a time. This spares most of the looking, which is
        // most of what a short trial costs.
        let young = lifetime < Duration::from_secs(1) && latest_pid().is_some_and(|latest| latest >= self.leader);
        let newer_than = if young { self.leader } else { 0 };
        if family(std::slice::from_ref(self), newer_than, others).is_empty() {
            return;
        }
        if self.holder == TreeHolder::Namespace && self.is_gone_within(PATIENCE) {
            return;
        }
        Self { holder: TreeHolder::Nothing, ..self.clone() }.kill(&[]);
    }

    /// Sends a signal to every process of the tree; returns who there was beside the leader.
    fn signal(&self, signal: Signal) -> Vec<Member> {
        if self.leader <= 1 {
            return Vec::new();
        }
        // The members first: they lose their parents with the signal.
        let members = family(std::slice::from_ref(self), 0, &[]);
        // bubblewrap hands no signal on: its end would be everything's.
        if self.holder != TreeHolder::Namespace || signal == Signal::SIGKILL {
            let _ = killpg(Pid::from_raw(self.leader), signal);
        }
        for member in members.iter().filter(|member| member.pid != self.leader) {
            let _ = kill(Pid::from_raw(member.pid), signal);
        }
        members.into_iter().filter(|member| member.pid != self.leader).collect()
    }
}

/// Gives keepers whose runner is gone the time to end what they keep.
pub(super) fn wait_for_keepers(trees: &[ProcessTree]) {
    for tree in trees.iter().filter(|tree| tree.holder == TreeHolder::Keeper) {
        tree.kill_soon();
        tree.is_gone_within(PATIENCE);
    }
}

/// Kills every process of these trees, leaders too, whose runner is gone. Returns whether there was any.
pub(super) fn kill_orphans(trees: &[ProcessTree]) -> bool {
    let members = family(trees, 0, &[]);
    for tree in trees.iter().filter(|tree| tree.leader > 1) {
        // Where processes cannot be listed the group is all that is known.
        if cfg!(not(target_os = "linux")) {
            let _ = killpg(Pid::from_raw(tree.leader), Signal::SIGKILL);
        }
    }
    for member in &members {
        let _ = kill(Pid::from_raw(member.pid), Signal::SIGKILL);
    }
    !members.is_empty()
}

/// The processes that belong to one of the trees: by the mark in their environment, which a process keeps that went
/// into the background in a session of its own; by group; by descent. Only processes with a number above
/// `newer_than` are looked at, and none of `others`.
#[cfg(target_os = "linux")]
fn family(trees: &[ProcessTree], newer_than: i32, others: &[i32]) -> Vec<Member> {
    let mut processes = Process::all(newer_than);
    processes.retain(|process| !others.contains(&process.pid));
    let leads = |pid: i32| trees.iter().any(|tree| tree.leader > 1 && tree.leader == pid);
    let marks: Vec<String> = trees.iter().map(|tree| format!("{TREE_VARIABLE}={}\0", tree.mark)).collect();
    let mut members: Vec<Member> = Vec::new();
    for process in &processes {
        let marked = || {
            std::fs::read(format!("/proc/{}/environ", process.pid)).is_ok_and(|environ| {
                marks.iter().any(|mark| environ.windows(mark.len()).any(|window| window == mark.as_bytes()))
            })
        };
        if leads(process.pid) || leads(process.group) || marked() {
            members.push(Member::of(process));
        }
    }
    // Children of members that dropped the mark and the group.
    let mut grown = true;
    while grown {
        grown = false;
        for process in &processes {
            let below = leads(process.parent) || members.iter().any(|member| member.pid == process.parent);
            if below && !members.contains(&Member::of(process)) {
                members.push(Member::of(process));
                grown = true;
            }
        }
    }
    members
}

/// Without `/proc` nobody can be listed.
#[cfg(not(target_os = "linux"))]
fn family(_trees: &[ProcessTree], _newer_than: i32, _others: &[i32]) -> Vec<Member> {
    Vec::new()
}

impl Member {
    #[cfg(target_os = "linux")]
    fn of(process: &Process) -> Self {
        Self { pid: process.pid, started: process.started }
    }

    /// Whether this very process still runs.
    #[cfg(target_os = "linux")]
    fn is_alive(self) -> bool {
        Process::read(self.pid).is_some_and(|process| process.started == self.started && !process.zombie)
    }

    /// Without `/proc` nobody is known.
    #[cfg(not(target_os = "linux"))]
    fn is_alive(self) -> bool {
        false
    }
}
