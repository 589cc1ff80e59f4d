//! The start of every program. Of the open files of this process, a program inherits its standard streams and those that it is
//! handed.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// Interval between two checks whether a program has ended.
const POLL: Duration = Duration::from_millis(5);

/// The same for programs that take a few milliseconds.
const PAUSE: Duration = Duration::from_millis(1);

/// A start that hands files on holds it alone: no other program may inherit them.
static STARTS: RwLock<()> = RwLock::new(());

#[expect(clippy::disallowed_methods, reason = "all other code starts programs by the functions of this file")]
pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
    let _nothing_is_handed = STARTS.read().unwrap_or_else(PoisonError::into_inner);
    command.spawn()
}

/// Starts a program that inherits these files, under the numbers that they have here.
#[expect(clippy::disallowed_methods, reason = "see above")]
pub(super) fn spawn_with(files: &[OwnedFd], command: &mut Command) -> io::Result<Child> {
    handing(files, || command.spawn())
}

/// The same for a program whose end is awaited.
#[expect(clippy::disallowed_methods, reason = "see above")]
pub(super) fn spawn_awaited(
    files: &[OwnedFd],
    command: &mut tokio::process::Command,
) -> io::Result<tokio::process::Child> {
    handing(files, || command.spawn())
}

fn handing<T>(files: &[OwnedFd], start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let _alone = STARTS.write().unwrap_or_else(PoisonError::into_inner);
    let inherit = |flags| {
        files.iter().try_for_each(|file| fcntl(file, FcntlArg::F_SETFD(flags)).map(drop)).map_err(io::Error::from)
    };
    inherit(FdFlag::empty())?;
    let started = start();
    inherit(FdFlag::FD_CLOEXEC)?;
    started
}

/// Starts a program, waits for its end, and returns its standard output, and its standard error if that is a pipe.
pub(super) fn output(command: &mut Command) -> io::Result<Output> {
    spawn(command.stdout(Stdio::piped()))?.wait_with_output()
}

/// Starts a program, waits for its end, and returns its standard output and standard error; `None` if it took longer than `patience`
/// and was killed.
pub(super) fn output_within(command: &mut Command, patience: Duration) -> io::Result<Option<Output>> {
    let mut program = spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let (stdout, stderr) = (reader(program.stdout.take()), reader(program.stderr.take()));
    let started = Instant::now();
    let status = loop {
        match program.try_wait() {
            Ok(None) if started.elapsed() <= patience && stdout.is_ok() && stderr.is_ok() => std::thread::sleep(PAUSE),
            Ok(Some(status)) => break Some(status),
            ended => {
                let _ = program.kill();
                program.wait()?;
                ended?;
                break None;
            }
        }
    };
    let read = |reader: JoinHandle<io::Result<Vec<u8>>>| reader.join().unwrap_or_else(|_| Ok(Vec::new()));
    let (stdout, stderr) = (read(stdout?)?, read(stderr?)?);
    Ok(status.map(|status| Output { status, stdout, stderr }))
}

/// Reads a pipe to its end.
fn reader(pipe: Option<impl Read + Send + 'static>) -> io::Result<JoinHandle<io::Result<Vec<u8>>>> {
    std::thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        pipe.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut bytes))?;
        Ok(bytes)
    })
}

/// Starts a program and waits for its end.
pub(super) fn status(command: &mut Command) -> io::Result<ExitStatus> {
    spawn(command)?.wait()
}

/// Waits for the end of the leader of a process group; `None` if it took longer than `patience` and was killed with its group.
pub(super) fn end_within(leader: &mut Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        if let Some(status) = leader.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() > patience {
            let group = i32::try_from(leader.id()).map(Pid::from_raw).map_err(io::Error::other)?;
            // It fails if the group has just ended.
            let _ = killpg(group, Signal::SIGKILL);
            leader.wait()?;
            return Ok(None);
        }
        std::thread::sleep(POLL);
    }
}
