//! The system's process table, `/proc`.

use std::path::Path;

use crate::files::look;

/// The latest process id of the system: the end of `/proc/loadavg`.
pub(super) fn latest_pid() -> Option<i32> {
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
