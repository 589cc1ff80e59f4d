//! A small process between the runner and an agent, from which all processes of the agent descend.
//!
//! It is this program, started again with a variable set. It is a *child subreaper*: a process whose parent has ended
//! becomes its child, in whatever session, group or environment. So it can kill every process that is left, and it reports
//! the agent's end only when none is left. Then it starts the next agent, since starting a program of this size takes
//! longer than some trials. It ends with its input. If its runner is killed, the kernel sends a signal, and it kills all
//! its descendants.
//!
//! SIGTERM asks all processes to end, and kills the rest after [`GRACE`](super::GRACE). SIGUSR1 kills at once. Both also end the
//! supervisor.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{self, Child, ChildStdin, ExitStatus, Stdio};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::ChildStdout;

use super::Job;
use super::tree::{KILL_NOW, send_signal};
use crate::settings::{SUPERVISOR_VARIABLE, TREE_VARIABLE};

/// The exit status of a supervisor that cannot do its work.
const FAILED: i32 = 127;

#[derive(Debug, PartialEq, Eq)]
struct StartOrder {
    /// The runner's file descriptors for standard input, output and error.
    pub files: [i32; 3],
    pub directory: OsString,
    /// The program and its arguments.
    pub call: Vec<OsString>,
    /// The whole environment, each `name=value`.
    pub env: Vec<OsString>,
}

/// A supervisor's report about its agent, one JSON value per line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum SupervisorMessage {
    Started,
    NotStarted(String),
    /// The agent's raw wait status.
    Ended(i32),
}

impl StartOrder {
    /// The length on a line, then all parts, each with a zero byte at its end. No part can contain one.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut parts: Vec<OsString> = self.files.iter().map(|file| file.to_string().into()).collect();
        parts.extend([self.directory.clone(), self.call.len().to_string().into()]);
        let parts = parts.iter().chain(&self.call).chain(&self.env);
        let text: Vec<u8> = parts.flat_map(|part| part.as_bytes().iter().chain(b"\0")).copied().collect();
        [format!("{}\n", text.len()).as_bytes(), &text].concat()
    }
}

/// Starts the agents of the orders on standard input, one after another. `runner` is the id of the parent process.
#[cfg(target_os = "linux")]
pub(super) fn supervise(runner: &OsStr) -> ! {
    std::process::exit(linux::supervise(runner))
}

/// Other systems have no supervisors.
#[cfg(not(target_os = "linux"))]
pub(super) fn supervise(_runner: &OsStr) -> ! {
    std::process::exit(FAILED)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{File, OpenOptions};
    use std::io::{self, BufRead, Write};
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::path::Path;
    use std::process::{Command, ExitStatus};
    use std::time::Instant;

    use nix::errno::Errno;
    use nix::sys::prctl;
    use nix::sys::signal::{Signal, raise};
    use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
    use nix::unistd::{getpid, getppid};
    use signal_hook::consts::{SIGCHLD, SIGTERM, SIGUSR1};
    use signal_hook::iterator::Signals;

    use super::{FAILED, OsStr, OsString, StartOrder, SupervisorMessage};
    use crate::files::look;
    use crate::process::GRACE;
    use crate::process::start::spawn;
    use crate::process::tree::Process;
    use crate::process::tree::{KILL_NOW, send_signal};

    impl StartOrder {
        /// Reads the next order. `None` at the end of the input.
        fn read(input: &mut impl BufRead) -> Option<Self> {
            let mut length = String::new();
            input.read_line(&mut length).ok()?;
            let mut text = vec![0; length.trim_end().parse().ok()?];
            input.read_exact(&mut text).ok()?;
            let mut parts =
                text.strip_suffix(b"\0")?.split(|byte| *byte == 0).map(|part| OsString::from_vec(part.to_vec()));
            let mut number = || parts.next()?.to_str()?.parse::<i32>().ok();
            let files = [number()?, number()?, number()?];
            let directory = parts.next()?;
            let count = parts.next()?.to_str()?.parse().ok()?;
            Some(Self { files, directory, call: parts.by_ref().take(count).collect(), env: parts.collect() })
        }
    }

    /// Returns this process's exit status.
    pub(super) fn supervise(runner: &OsStr) -> i32 {
        let ready = prctl::set_child_subreaper(true).and_then(|()| prctl::set_pdeathsig(KILL_NOW));
        let (Ok(()), Ok(mut signals)) = (ready, Signals::new([SIGCHLD, SIGTERM, SIGUSR1])) else { return FAILED };
        let mut input = io::stdin().lock();
        while let Some(order) = StartOrder::read(&mut input) {
            // Signals for the previous agent are not for this one.
            signals.pending().for_each(drop);
            // If the runner was killed before `set_pdeathsig`, no signal comes.
            if runner.to_str().and_then(|runner| runner.parse().ok()) != Some(getppid().as_raw()) {
                return FAILED;
            }
            let agent = match start(runner, &order) {
                Ok(agent) => agent,
                Err(error) => {
                    report(&SupervisorMessage::NotStarted(error.to_string()));
                    continue;
                }
            };
            report(&SupervisorMessage::Started);
            let (status, was_asked_to_end) = wait(&mut signals, agent);
            if was_asked_to_end {
                return end_like(status);
            }
            report(&SupervisorMessage::Ended(status.into_raw()));
        }
        0
    }

    /// Ignores a failed write: the runner has ended, and the kernel sends the signal.
    #[expect(clippy::disallowed_methods, reason = "the runner reads it")]
    fn report(message: &SupervisorMessage) {
        let mut out = io::stdout().lock();
        let line = serde_json::to_string(message).unwrap_or_default() + "\n";
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }

    /// Starts an agent and returns its process id.
    fn start(runner: &OsStr, order: &StartOrder) -> io::Result<u32> {
        let path = |file: i32| format!("/proc/{}/fd/{file}", runner.display());
        let [input, output, errors] = order.files;
        let writable = |file| OpenOptions::new().write(true).open(path(file));
        let (program, args) = order.call.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(args).env_clear().current_dir(&order.directory);
        for pair in &order.env {
            if let Some(equals) = pair.as_bytes().iter().position(|byte| *byte == b'=') {
                let (name, value) = pair.as_bytes().split_at(equals);
                command.env(OsStr::from_bytes(name), OsStr::from_bytes(&value[1..]));
            }
        }
        command.stdin(File::open(path(input))?).stdout(writable(output)?).stderr(writable(errors)?);
        // In its own group: a signal to its group does not reach the supervisor.
        Ok(spawn(command.process_group(0))?.id())
    }

    /// Waits until the agent has ended and nothing of it is left. Returns its status, and whether it was asked to end.
    fn wait(signals: &mut Signals, agent: u32) -> (ExitStatus, bool) {
        let mut was_asked = false;
        for signal in signals.forever() {
            match signal {
                SIGTERM => {
                    was_asked = true;
                    terminate_all();
                }
                SIGUSR1 => {
                    kill_all();
                    return (ExitStatus::from_raw(Signal::SIGKILL as i32), true);
                }
                _ => {}
            }
            if let Some(status) = reap(agent) {
                kill_all();
                return (status, was_asked);
            }
        }
        (ExitStatus::from_raw(FAILED << 8), true)
    }

    /// Reaps all children that have ended. Returns the agent's status if it is one of them.
    fn reap(agent: u32) -> Option<ExitStatus> {
        let mut agent_status = None;
        while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            let (pid, raw) = match status {
                WaitStatus::Exited(pid, code) => (pid, code << 8),
                WaitStatus::Signaled(pid, signal, _) => (pid, signal as i32),
                WaitStatus::StillAlive => break,
                _ => continue,
            };
            if u32::try_from(pid.as_raw()) == Ok(agent) {
                agent_status = Some(ExitStatus::from_raw(raw));
            }
        }
        agent_status
    }

    /// Asks all descendants to end, and sends this process [`KILL_NOW`] after [`GRACE`].
    fn terminate_all() {
        // A stopped process cannot end before it continues.
        for signal in [Signal::SIGTERM, Signal::SIGCONT] {
            for pid in descendants() {
                send_signal(pid, signal);
            }
        }
        let killer = std::thread::Builder::new().spawn(|| {
            std::thread::sleep(GRACE);
            send_signal(getpid().as_raw(), KILL_NOW);
        });
        // At the limit of processes, nobody could end them later.
        if killer.is_err() {
            send_signal(getpid().as_raw(), KILL_NOW);
        }
    }

    /// Kills all descendants, and returns when there are none.
    fn kill_all() {
        let started = Instant::now();
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Err(Errno::ECHILD) => return,
                Ok(WaitStatus::StillAlive) => {}
                _ => continue,
            }
            // Children are listed quickly, so a process that forks and exits in a loop is killed before its next fork.
            // Deeper descendants become children when their parents are killed.
            let children = children();
            let are_listed = children.is_some();
            for pid in children.unwrap_or_else(descendants) {
                send_signal(pid, Signal::SIGKILL);
            }
            // A process that stays belongs to another user, or waits for a disk.
            if started.elapsed() > GRACE {
                return;
            }
            if !are_listed {
                std::thread::yield_now();
            }
        }
    }

    /// The children of this process. `None` if the kernel does not list them.
    fn children() -> Option<Vec<i32>> {
        let mut pids = Vec::new();
        for task in look::entries(Path::new("/proc/self/task")).ok()? {
            let text = std::fs::read_to_string(task.path().join("children")).ok()?;
            pids.extend(text.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
        Some(pids)
    }

    fn descendants() -> Vec<i32> {
        let processes = Process::all(0);
        let mut family = vec![getpid().as_raw()];
        let mut next = 0;
        while let Some(&parent) = family.get(next) {
            family.extend(processes.iter().filter(|process| process.parent == parent).map(|process| process.pid));
            next += 1;
        }
        family.split_off(1)
    }

    /// Ends this process as the agent ended: by its exit code or its signal.
    fn end_like(status: ExitStatus) -> i32 {
        let Some(signal) = status.signal() else { return status.code().unwrap_or(FAILED) };
        // The agent has written the core file, if any.
        let _ = prctl::set_dumpable(false);
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        let _ = Signal::try_from(signal).map(raise);
        128 + signal
    }
}

// The runner's side of a supervisor. Each thread has one, for the programs that it runs one after
// another.

thread_local! {
    /// Ends with its thread.
    static IDLE: RefCell<Option<Supervisor>> = const { RefCell::new(None) };
}

/// A supervisor process. It ends when this is dropped.
#[derive(Debug)]
struct Supervisor {
    process: Child,
    /// When this is closed, the supervisor ends after its current program.
    orders: Option<ChildStdin>,
    messages: OwnedFd,
}

impl Supervisor {
    fn start() -> io::Result<Self> {
        // The running program, not what is at its path now.
        let mut command = process::Command::new("/proc/self/exe");
        command.arg0(std::env::current_exe().unwrap_or_default());
        // The argument is for people who list processes.
        command.arg("supervisor").env_clear().env(SUPERVISOR_VARIABLE, process::id().to_string()).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut process = super::start::spawn(&mut command)?;
        let orders = process.stdin.take();
        let messages = process.stdout.take().ok_or_else(|| io::Error::other("the supervisor has no output"))?.into();
        Ok(Self { process, orders, messages })
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.orders = None;
        let _ = self.process.wait();
    }
}

#[derive(Debug)]
pub(super) struct SupervisedProgram {
    supervisor: Option<Supervisor>,
    messages: BufReader<ChildStdout>,
    line: Vec<u8>,
    /// The program's status, or the supervisor's if it ended first.
    status: Option<ExitStatus>,
    is_over: bool,
}

impl SupervisedProgram {
    /// Takes this thread's supervisor, or starts one.
    pub(super) fn with_idle_supervisor() -> io::Result<Self> {
        let mut supervisor = match IDLE.take() {
            Some(idle) => idle,
            None => Supervisor::start()?,
        };
        // An agent may have killed the idle one.
        if !matches!(supervisor.process.try_wait(), Ok(None)) {
            supervisor = Supervisor::start()?;
        }
        let messages = ChildStdout::from_std(process::ChildStdout::from(supervisor.messages.try_clone()?))?;
        let messages = BufReader::new(messages);
        Ok(Self { supervisor: Some(supervisor), messages, line: Vec::new(), status: None, is_over: false })
    }

    pub(super) fn supervisor_id(&self) -> u32 {
        self.supervisor.as_ref().map_or(0, |supervisor| supervisor.process.id())
    }

    /// Starts the job's program with these files as its standard input, output and error, and this mark.
    pub(super) async fn start(&mut self, job: &Job<'_>, mark: &str, files: [OwnedFd; 3]) -> io::Result<()> {
        let mut env = job.env.clone();
        env.insert(TREE_VARIABLE.into(), mark.into());
        let pair = |(name, value): (&OsString, &OsString)| [name, OsStr::new("="), value].into_iter().collect();
        let order = StartOrder {
            files: files.each_ref().map(AsRawFd::as_raw_fd),
            directory: job.folder.clone(),
            call: job.start.call(),
            env: env.iter().map(pair).collect(),
        };
        let orders = self.supervisor.as_mut().and_then(|supervisor| supervisor.orders.as_mut());
        orders.ok_or(io::ErrorKind::BrokenPipe)?.write_all(&order.encode())?;
        match self.next_message().await? {
            Some(SupervisorMessage::Started) => Ok(()),
            Some(SupervisorMessage::NotStarted(why)) => {
                self.release_supervisor();
                Err(io::Error::other(why))
            }
            _ => Err(io::Error::other("its supervisor has ended")),
        }
    }

    /// The supervisor's next message. `None` if it has ended. Can be canceled and called again.
    async fn next_message(&mut self) -> io::Result<Option<SupervisorMessage>> {
        self.messages.read_until(b'\n', &mut self.line).await?;
        let message = serde_json::from_slice(&self.line).ok();
        self.line.clear();
        Ok(message)
    }

    /// Waits for the end of the program or of its supervisor.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let status = if let Some(SupervisorMessage::Ended(status)) = self.next_message().await? {
            self.is_over = true;
            ExitStatus::from_raw(status)
        } else {
            self.supervisor.as_mut().ok_or(io::ErrorKind::NotFound)?.process.wait()?
        };
        self.status = Some(status);
        Ok(status)
    }

    /// Whether the supervisor has reported that the program and all its descendants have ended.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Lets the supervisor end with its program.
    pub(super) fn close_orders(&mut self) {
        if let Some(supervisor) = &mut self.supervisor {
            supervisor.orders = None;
        }
    }

    /// Leaves the supervisor to the next program of this thread.
    pub(super) fn release_supervisor(&mut self) {
        IDLE.set(self.supervisor.take().filter(|supervisor| supervisor.orders.is_some()));
    }
}

impl Drop for SupervisedProgram {
    fn drop(&mut self) {
        if let (Some(supervisor), None) = (&self.supervisor, self.status) {
            send_signal(i32::try_from(supervisor.process.id()).unwrap_or_default(), KILL_NOW);
        }
    }
}
