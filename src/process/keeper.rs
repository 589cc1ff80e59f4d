//! A small process between the runner and an agent: all that the agent starts descends from it until it ends.
//!
//! It is this very program, started again with one variable set, and it is what the system calls a child subreaper: a
//! process whose parent is gone becomes its child, whatever session, group or environment it made for itself. So when
//! the agent ends, or the runner asks, it can kill every process that is left, and it ends only when none is. Where its
//! runner is killed, the system tells it, and it does the same.
//!
//! SIGTERM asks all processes to go, and kills what is left after [`GRACE`]; SIGUSR1 kills at once.

use std::ffi::{OsStr, OsString};

use super::GRACE;

/// How the line on standard error begins that says why the agent could not be started.
pub(super) const COULD_NOT_START: &str = "skill-evals could not start ";

/// The exit status beside that line.
pub(super) const NOT_STARTED: i32 = 127;

/// Starts the program that the arguments name, and ends with it and like it; `runner` is the number of the process
/// that has started this one.
#[cfg(target_os = "linux")]
pub(super) fn keep(runner: &OsStr) -> ! {
    let mut args = std::env::args_os().skip(1);
    let status = args.next().map_or(NOT_STARTED, |program| linux::keep(runner, &program, args));
    std::process::exit(status)
}

/// Elsewhere nothing starts it.
#[cfg(not(target_os = "linux"))]
pub(super) fn keep(_runner: &OsStr) -> ! {
    std::process::exit(NOT_STARTED)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::time::Instant;

    use nix::errno::Errno;
    use nix::sys::prctl;
    use nix::sys::signal::{Signal, kill, raise};
    use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
    use nix::unistd::{Pid, getpid, getppid};
    use signal_hook::consts::{SIGCHLD, SIGTERM, SIGUSR1};
    use signal_hook::iterator::Signals;

    use super::{COULD_NOT_START, GRACE, NOT_STARTED, OsStr, OsString};
    use crate::process::table::Process;
    use crate::process::tree::NOW;
    use crate::settings::KEEPER_VARIABLE;

    /// How the agent ended.
    enum End {
        Exited(i32),
        Signaled(Signal),
    }

    /// Returns this process's exit status.
    pub(super) fn keep(runner: &OsStr, program: &OsStr, args: impl Iterator<Item = OsString>) -> i32 {
        let could_not = |why: &dyn std::fmt::Display| {
            #[expect(clippy::print_stderr, reason = "the runner reads it there")]
            {
                eprintln!("{COULD_NOT_START}{}: {why}", program.display());
            }
            NOT_STARTED
        };
        // Before there is anything to keep.
        let ready = prctl::set_child_subreaper(true).and_then(|()| prctl::set_pdeathsig(NOW));
        if let Err(error) = ready {
            return could_not(&error);
        }
        let mut signals = match Signals::new([SIGCHLD, SIGTERM, SIGUSR1]) {
            Ok(signals) => signals,
            Err(error) => return could_not(&error),
        };
        // A runner that was killed before that sends no signal.
        if runner.to_str().and_then(|runner| runner.parse().ok()) != Some(getppid().as_raw()) {
            return could_not(&"its runner is gone");
        }
        // In a group of its own: what it does to its group is not done to its keeper.
        let started = Command::new(program).args(args).env_remove(KEEPER_VARIABLE).process_group(0).spawn();
        let agent = match started {
            Ok(child) => child.id(),
            Err(error) => return could_not(&error),
        };
        for signal in signals.forever() {
            match signal {
                SIGTERM => ask_to_go(),
                SIGUSR1 => {
                    kill_all();
                    return end_like(&End::Signaled(Signal::SIGKILL));
                }
                _ => {}
            }
            if let Some(end) = reap(agent) {
                kill_all();
                return end_like(&end);
            }
        }
        NOT_STARTED
    }

    /// Takes note of every child that has ended, and returns how the agent did if it is one of them.
    fn reap(agent: u32) -> Option<End> {
        let mut end = None;
        while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            let (pid, how) = match status {
                WaitStatus::Exited(pid, code) => (pid, End::Exited(code)),
                WaitStatus::Signaled(pid, signal, _) => (pid, End::Signaled(signal)),
                WaitStatus::StillAlive => break,
                _ => continue,
            };
            if u32::try_from(pid.as_raw()) == Ok(agent) {
                end = Some(how);
            }
        }
        end
    }

    /// Asks every process to go, and has this one told to kill when their time is over.
    fn ask_to_go() {
        for signal in [Signal::SIGTERM, Signal::SIGCONT] {
            // One that is stopped cannot go before it runs again.
            for pid in descendants() {
                let _ = kill(Pid::from_raw(pid), signal);
            }
        }
        std::thread::spawn(|| {
            std::thread::sleep(GRACE);
            let _ = kill(getpid(), NOW);
        });
    }

    /// Kills all that descends from this process, and returns when nothing does.
    fn kill_all() {
        let started = Instant::now();
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Err(Errno::ECHILD) => return,
                Ok(WaitStatus::StillAlive) => {}
                _ => continue,
            }
            // Children are listed quickly, so that one that forks and exits without end is met before its next fork;
            // they become children as their parents are killed.
            let known = children();
            let listed = known.is_some();
            for pid in known.unwrap_or_else(descendants) {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            // What does not go belongs to another user, or waits for a disk.
            if started.elapsed() > GRACE {
                return;
            }
            if !listed {
                std::thread::yield_now();
            }
        }
    }

    /// The children of this process; `None` where the system does not list them.
    fn children() -> Option<Vec<i32>> {
        let mut pids = Vec::new();
        for task in std::fs::read_dir("/proc/self/task").ok()? {
            let text = std::fs::read_to_string(task.ok()?.path().join("children")).ok()?;
            pids.extend(text.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
        Some(pids)
    }

    /// All that descends from this process.
    fn descendants() -> Vec<i32> {
        let processes = Process::all(0);
        let mut found = vec![getpid().as_raw()];
        let mut next = 0;
        while let Some(&parent) = found.get(next) {
            found.extend(processes.iter().filter(|process| process.parent == parent).map(|process| process.pid));
            next += 1;
        }
        found.split_off(1)
    }

    /// Ends as the agent did: by its exit status, or by its signal.
    fn end_like(end: &End) -> i32 {
        match end {
            End::Exited(code) => *code,
            End::Signaled(signal) => {
                // The agent has left its core file, if any.
                let _ = prctl::set_dumpable(false);
                let _ = signal_hook::low_level::emulate_default_handler(*signal as i32);
                let _ = raise(*signal);
                128 + *signal as i32
            }
        }
    }
}
