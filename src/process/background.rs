//! A run in the background: this program, started again, away from the terminal.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::table::start_of;
use crate::settings::BACKGROUND_VARIABLE;
use crate::trial::run_record::Runner;

/// How often a process that was asked to end is looked at.
const LOOK: Duration = Duration::from_millis(25);

/// Starts this program again with its own arguments and `more` behind them. What it prints is appended to `log`.
///
/// # Errors
/// When it cannot be started.
pub fn start(more: &[&str], log: &Path) -> io::Result<Child> {
    let output: File = OpenOptions::new().create(true).append(true).open(log)?;
    Command::new(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .args(more)
        .env(BACKGROUND_VARIABLE, "1")
        .stdin(Stdio::null())
        .stderr(output.try_clone()?)
        .stdout(output)
        .spawn()
}

/// Whether this process is a run in the background. Takes it away from the terminal if so.
#[must_use]
pub fn is_background() -> bool {
    if std::env::var_os(BACKGROUND_VARIABLE).is_none() {
        return false;
    }
    // A session of its own has no terminal, and so none that hangs up.
    let _ = nix::unistd::setsid();
    true
}

/// This process.
#[must_use]
pub fn this_process() -> Runner {
    let pid = nix::unistd::getpid().as_raw();
    Runner { pid, started: start_of(pid), shared: false }
}

/// The process that started this one.
#[must_use]
pub fn parent_process() -> Runner {
    let pid = nix::unistd::getppid().as_raw();
    Runner { pid, started: start_of(pid), shared: false }
}

/// Whether this very process lives, rather than a later one of its number.
#[must_use]
pub fn lives(runner: Runner) -> bool {
    match runner.started {
        Some(started) => start_of(runner.pid) == Some(started),
        None => runner.pid > 1 && kill(Pid::from_raw(runner.pid), None).is_ok(),
    }
}

/// Asks a runner to end, waits as long as `patience`, then kills it. Returns whether it had to be killed.
///
/// # Errors
/// When the system does not let it be signalled.
pub fn stop(runner: Runner, patience: Duration) -> io::Result<bool> {
    let signal = |signal: Signal| {
        if lives(runner) { kill(Pid::from_raw(runner.pid), signal).map_err(io::Error::from) } else { Ok(()) }
    };
    let gone_within = |patience: Duration| {
        let asked = Instant::now();
        while lives(runner) && asked.elapsed() < patience {
            std::thread::sleep(LOOK);
        }
        !lives(runner)
    };
    signal(Signal::SIGTERM)?;
    if gone_within(patience) {
        return Ok(false);
    }
    signal(Signal::SIGKILL)?;
    gone_within(patience);
    Ok(true)
}
