//! The runner's side of a [keeper](super::supervisor): each thread has one, which keeps the programs that it runs one after
//! the other.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{self, Child, ChildStdin, ExitStatus, Stdio};

use nix::sys::signal::kill;
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::ChildStdout;

use super::Job;
use super::supervisor::{StartOrder, SupervisorMessage};
use super::tree::NOW;
use crate::settings::{KEEPER_VARIABLE, TREE_VARIABLE};

thread_local! {
    /// Ends with its thread.
    static IDLE: RefCell<Option<Supervisor>> = const { RefCell::new(None) };
}

/// A keeper, which ends when this is dropped.
#[derive(Debug)]
struct Supervisor {
    process: Child,
    /// Closed, it is the keeper's end once it keeps nothing.
    orders: Option<ChildStdin>,
    words: OwnedFd,
}

impl Supervisor {
    fn start() -> io::Result<Self> {
        // The program as it runs, not what lies at its path by now.
        let mut command = process::Command::new("/proc/self/exe");
        command.arg0(std::env::current_exe().unwrap_or_default());
        // The argument is for people who look at the processes.
        command.arg("keeper").env_clear().env(KEEPER_VARIABLE, process::id().to_string()).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut process = command.spawn()?;
        let orders = process.stdin.take();
        let words = process.stdout.take().ok_or_else(|| io::Error::other("the supervisor has no output"))?.into();
        Ok(Self { process, orders, words })
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.orders = None;
        let _ = self.process.wait();
    }
}

/// A program that a keeper keeps.
#[derive(Debug)]
pub(super) struct SupervisedProgram {
    keeper: Option<Supervisor>,
    words: BufReader<ChildStdout>,
    line: Vec<u8>,
    ended: Option<ProgramEnd>,
}

/// How a program ended: as its keeper says, or as the keeper itself did.
#[derive(Clone, Copy, Debug)]
enum ProgramEnd {
    Said(ExitStatus),
    Keeper(ExitStatus),
}

impl SupervisedProgram {
    /// Takes this thread's keeper.
    ///
    /// # Errors
    /// When there is none and none can be started.
    pub(super) fn by_idle() -> io::Result<Self> {
        // An agent may have killed it.
        let lives = |mut keeper: Supervisor| matches!(keeper.process.try_wait(), Ok(None)).then_some(keeper);
        let idle = IDLE.take().and_then(lives).map_or_else(Supervisor::start, Ok)?;
        let words = ChildStdout::from_std(process::ChildStdout::from(idle.words.try_clone()?))?;
        Ok(Self { keeper: Some(idle), words: BufReader::new(words), line: Vec::new(), ended: None })
    }

    /// The keeper's number.
    pub(super) fn id(&self) -> u32 {
        self.keeper.as_ref().map_or(0, |keeper| keeper.process.id())
    }

    /// Has the job's program started, with these files as its standard input, output and error, and this mark.
    ///
    /// # Errors
    /// Why it does not start.
    pub(super) async fn start(&mut self, job: &Job<'_>, mark: &str, files: [OwnedFd; 3]) -> io::Result<()> {
        let pair = |(name, value): (&OsStr, &OsStr)| [name, OsStr::new("="), value].into_iter().collect::<OsString>();
        let own = (OsStr::new(TREE_VARIABLE), OsStr::new(mark));
        let given = job.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        let order = StartOrder {
            files: files.each_ref().map(AsRawFd::as_raw_fd),
            folder: job.folder.clone().into(),
            call: std::iter::once(job.program.clone().into()).chain(job.args.iter().cloned()).collect(),
            env: given.filter(|(name, _)| *name != own.0).chain([own]).map(pair).collect(),
        };
        let orders = self.keeper.as_mut().and_then(|keeper| keeper.orders.as_mut());
        orders.ok_or(io::ErrorKind::BrokenPipe)?.write_all(&order.encode())?;
        match self.word().await? {
            Some(SupervisorMessage::Started) => Ok(()),
            Some(SupervisorMessage::NotStarted(why)) => {
                self.spare();
                Err(io::Error::other(why))
            }
            _ => Err(io::Error::other("its supervisor has ended")),
        }
    }

    /// The keeper's next word; none once it has ended. May be given up and asked again.
    async fn word(&mut self) -> io::Result<Option<SupervisorMessage>> {
        self.words.read_until(b'\n', &mut self.line).await?;
        let word = SupervisorMessage::decode(&self.line);
        self.line.clear();
        Ok(word)
    }

    /// Waits for the program's end, or that of its keeper.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        if self.ended.is_none() {
            self.ended = Some(match self.word().await? {
                Some(SupervisorMessage::Exited(code)) => ProgramEnd::Said(ExitStatus::from_raw(code << 8)),
                Some(SupervisorMessage::Signaled(signal)) => ProgramEnd::Said(ExitStatus::from_raw(signal)),
                _ => {
                    let keeper = self.keeper.as_mut().ok_or(io::ErrorKind::NotFound)?;
                    ProgramEnd::Keeper(keeper.process.wait()?)
                }
            });
        }
        match self.ended {
            Some(ProgramEnd::Said(status) | ProgramEnd::Keeper(status)) => Ok(status),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Whether nothing of the program is left: its keeper, which lives, says that it has ended.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.ended, Some(ProgramEnd::Said(_)))
    }

    /// Lets the keeper end once it keeps nothing, as it does when it is asked to end its program.
    pub(super) fn let_go(&mut self) {
        if let Some(keeper) = &mut self.keeper {
            keeper.orders = None;
        }
    }

    /// Leaves the keeper to the next program of this thread.
    pub(super) fn spare(&mut self) {
        let idle = self.keeper.take().filter(|keeper| keeper.orders.is_some());
        IDLE.set(idle);
    }
}

impl Drop for SupervisedProgram {
    fn drop(&mut self) {
        let left = self.keeper.as_ref().and_then(|keeper| i32::try_from(keeper.process.id()).ok());
        if let Some(keeper) = left.filter(|_| self.ended.is_none()) {
            let _ = kill(Pid::from_raw(keeper), NOW);
        }
    }
}
