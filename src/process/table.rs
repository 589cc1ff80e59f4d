//! The system's table of processes, where it can be read: `/proc`.

/// The number that was given out last: the end of `/proc/loadavg`.
pub(super) fn latest_pid() -> Option<i32> {
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

/// A process that can be seen.
#[cfg(target_os = "linux")]
pub(super) struct Process {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    pub started: u64,
    pub zombie: bool,
}

#[cfg(target_os = "linux")]
impl Process {
    /// Every process with a number above `newer_than`.
    pub fn all(newer_than: i32) -> Vec<Self> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        // A zombie is gone but for its parent's notice.
        pids.filter(|pid| *pid > newer_than).filter_map(Self::read).filter(|process| !process.zombie).collect()
    }

    pub fn read(pid: i32) -> Option<Self> {
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
}
