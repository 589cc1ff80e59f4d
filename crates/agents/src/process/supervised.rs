//! The runner's side of a [supervisor](super::supervisor). Each thread has one, for the programs that it runs one after
//! another.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{self, Child, ChildStdin, ExitStatus, Stdio};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::ChildStdout;

use super::Job;
use super::supervisor::{StartOrder, SupervisorMessage};
use super::tree::{KILL_NOW, send_signal};
use crate::settings::{SUPERVISOR_VARIABLE, TREE_VARIABLE};

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
        let mut process = super::spawn::spawn(&mut command)?;
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
