//! A run in the background: this program, started again without a terminal.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid, getppid, setsid};

use super::start::spawn;
use super::tree::start_time_of;
use crate::settings::BACKGROUND_VARIABLE;
use crate::trial::event::Runner;

/// Interval between two checks of a process that was asked to end.
const POLL: Duration = Duration::from_millis(25);

/// Starts this program again with its own arguments and `more` arguments. Appends its output to `log`.
pub fn start(more: &[&str], log: &Path) -> io::Result<Child> {
    let output = OpenOptions::new().create(true).append(true).open(log)?;
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(std::env::args_os().skip(1))
        .args(more)
        .env(BACKGROUND_VARIABLE, "1")
        .stdin(Stdio::null())
        .stderr(output.try_clone()?)
        .stdout(output);
    spawn(&mut command)
}

/// Whether this process is a run in the background. If it is, detaches it from the terminal.
pub fn is_background() -> bool {
    if std::env::var_os(BACKGROUND_VARIABLE).is_none() {
        return false;
    }
    // A new session has no terminal, so no SIGHUP comes.
    let _ = setsid();
    true
}

pub fn this_process() -> Runner {
    runner(getpid())
}

pub fn parent_process() -> Runner {
    runner(getppid())
}

fn runner(pid: Pid) -> Runner {
    Runner { pid: pid.as_raw(), started: start_time_of(pid.as_raw()), shared: false }
}

/// Whether this process, not a later one with its id, is alive.
pub fn lives(runner: Runner) -> bool {
    match runner.started {
        Some(started) => start_time_of(runner.pid) == Some(started),
        None => runner.pid > 1 && kill(Pid::from_raw(runner.pid), None).is_ok(),
    }
}

/// Asks a runner to end, and kills it after `patience`. Returns whether it was killed.
pub fn stop(runner: Runner, patience: Duration) -> io::Result<bool> {
    if end(runner, Signal::SIGTERM, patience)? {
        return Ok(false);
    }
    end(runner, Signal::SIGKILL, patience)?;
    Ok(true)
}

/// Sends a signal and waits. Returns whether the runner has ended.
fn end(runner: Runner, signal: Signal, patience: Duration) -> io::Result<bool> {
    if lives(runner) {
        kill(Pid::from_raw(runner.pid), signal)?;
    }
    let started = Instant::now();
    while lives(runner) {
        if started.elapsed() >= patience {
            return Ok(false);
        }
        std::thread::sleep(POLL);
    }
    Ok(true)
}
