//! A program and everything that was started below it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::settings::TREE_VARIABLE;

/// A process tree: its first process, which leads a group, and the mark in everybody's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The first process.
    pub leader: i32,
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

impl Tree {
    /// Asks every process of the tree to go. Returns who was asked: once its parent is gone, a process that keeps no
    /// mark is not found by descent any more.
    #[must_use]
    pub fn terminate(&self) -> Vec<Member> {
        let members = self.signal(Signal::SIGTERM);
        // One that is stopped cannot go before it runs again.
        self.signal(Signal::SIGCONT);
        members
    }

    /// Kills every process of the tree, and those `known` from before. Looks again until nobody is left: a tree may
    /// grow while it is felled.
    pub fn kill(&self, known: &[Member]) {
        for member in known.iter().filter(|member| member.is_alive()) {
            let _ = kill(Pid::from_raw(member.pid), Signal::SIGKILL);
        }
        for _ in 0..10 {
            if self.signal(Signal::SIGKILL).is_empty() {
                return;
            }
        }
    }

    /// Kills whoever outlived the leader, which has ended by itself after `lifetime`. `others` are leaders of trees
    /// that still run.
    pub fn kill_rest(&self, lifetime: Duration, others: &[i32]) {
        // Numbers are given out in turn: whoever this tree started has a higher one than its leader, unless they have
        // gone round. They cannot have gone round twice in so short a time. This spares most of the looking, which is
        // most of what a short trial costs.
        let young = lifetime < Duration::from_secs(1) && latest_pid().is_some_and(|latest| latest >= self.leader);
        let newer_than = if young { self.leader } else { 0 };
        if !family(std::slice::from_ref(self), newer_than, others).is_empty() {
            self.kill(&[]);
        }
    }

    /// Sends a signal to every process of the tree; returns who there was beside the leader.
    fn signal(&self, signal: Signal) -> Vec<Member> {
        if self.leader <= 1 {
            return Vec::new();
        }
        // The members first: they lose their parents with the signal.
        let members = family(std::slice::from_ref(self), 0, &[]);
        let _ = killpg(Pid::from_raw(self.leader), signal);
        for member in members.iter().filter(|member| member.pid != self.leader) {
            let _ = kill(Pid::from_raw(member.pid), signal);
        }
        members.into_iter().filter(|member| member.pid != self.leader).collect()
    }
}

/// Kills every process of these trees, leaders too, whose runner is gone. Returns whether anybody was there.
pub(super) fn kill_orphans(trees: &[Tree]) -> bool {
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
fn family(trees: &[Tree], newer_than: i32, others: &[i32]) -> Vec<Member> {
    let mut processes: Vec<Process> = Vec::with_capacity(64);
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    for entry in entries.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if pid > newer_than && !others.contains(&pid) {
            // A zombie is gone but for its parent's notice.
            processes.extend(Process::read(pid).filter(|process| !process.zombie));
        }
    }
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
            members.push(process.member());
        }
    }
    // Children of members that dropped the mark and the group.
    let mut grown = true;
    while grown {
        grown = false;
        for process in &processes {
            let below = leads(process.parent) || members.iter().any(|member| member.pid == process.parent);
            if below && !members.contains(&process.member()) {
                members.push(process.member());
                grown = true;
            }
        }
    }
    members
}

/// Without `/proc` nobody can be listed.
#[cfg(not(target_os = "linux"))]
fn family(_trees: &[Tree], _newer_than: i32, _others: &[i32]) -> Vec<Member> {
    Vec::new()
}

/// The number that was given out last: the end of `/proc/loadavg`.
fn latest_pid() -> Option<i32> {
    std::fs::read_to_string("/proc/loadavg").ok()?.trim_end().rsplit(' ').next()?.parse().ok()
}

/// When the process started, as its system counts; `None` where there is no such process, or no `/proc`.
pub(super) fn start_of(pid: i32) -> Option<u64> {
    #[cfg(target_os = "linux")]
    return Process::read(pid).filter(|process| !process.zombie).map(|process| process.started);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = pid;
        None
    }
}

impl Member {
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

#[cfg(target_os = "linux")]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    started: u64,
    zombie: bool,
}

#[cfg(target_os = "linux")]
impl Process {
    fn read(pid: i32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // `pid (name) state ppid pgrp …`; the name may hold anything, a `)` too.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        // Of the 52 fields the start is the 22nd; five have been taken.
        let started = fields.nth(16)?.parse().ok()?;
        Some(Self { pid, parent, group, started, zombie: matches!(state, "Z" | "X") })
    }

    fn member(&self) -> Member {
        Member { pid: self.pid, started: self.started }
    }
}
