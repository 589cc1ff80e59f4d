//! Runs agents. No other module starts a program.
//!
//! A program runs in its own process group with exactly the environment of its [`Job`]. Its output is written to files as it
//! arrives. When it ends (by exit, timeout, Ctrl-C or SIGTERM), every process that it started is asked to end, then
//! killed. On Linux no process escapes: a supervisor, or bubblewrap with a PID namespace, is between this process and the
//! program. Both kill their descendants even if this process is killed. A container's daemon kills all that is in it; the
//! [`watchdog`] has it do so if this process is killed. On other systems, processes are found by their group, and the watchdog
//! kills them.

pub mod background;
mod clock;
pub mod git;
pub mod held;
pub mod interrupt;
pub mod opener;
mod output;
pub mod run_to_end;
#[cfg(target_os = "linux")]
mod seccomp;
pub mod service;
mod start;
mod supervisor;
pub mod tree;
pub mod watchdog;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{Notify, watch};

use crate::settings;
use crate::text::redact::Redactor;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::evidence::Ending;
use clock::{ProgramClock, RunnerEnd, notified, overdue, time_is_up};
use interrupt::RegisteredTree;
use opener::Opening;
use output::{BoundedFile, LineBuffer, ListenerState, StdoutReader, StdoutSource, pump};
use start::sealed_input;
use supervisor::SupervisedProgram;
use tree::TreeHolder;

pub use clock::CpuWait;
pub use start::{Start, allow_open_files, become_program, client_output, close_inherited_files, relay_program};

/// Time between asking a process tree to end and killing it.
pub const GRACE: Duration = Duration::from_secs(3);

/// How long a program whose time is over is looked at once more.
const LAST_LOOK: Duration = Duration::from_millis(5);

/// Time that a program gets to end by itself when the user ends the run.
const SETTLE: Duration = Duration::from_millis(300);

/// Maximum size of a stored standard output, in bytes. A program that writes more is ended: what it did after that would not be seen.
const MAX_STDOUT: u64 = 512 << 20;

/// Maximum size of a stored standard error, in bytes.
const MAX_STDERR: u64 = 64 << 20;

/// Length of [`Ending::last_words`], in bytes.
const LAST_WORDS: u64 = 400;

#[derive(Debug)]
pub struct Job<'a> {
    pub start: Start,
    /// Its whole environment.
    pub env: BTreeMap<OsString, OsString>,
    /// Its working directory, which may be in a room: only the system resolves it.
    pub folder: OsString,
    /// Maximum duration, without the time that it waits for a CPU.
    pub timeout: Duration,
    /// Gets the time that it waits for a CPU while it runs.
    pub cpu_wait: Option<&'a CpuWait>,
    /// The file for its standard output.
    pub stdout: PathBuf,
    /// Whether the output is added to the files.
    pub appends: bool,
    /// A file to use as its standard output in place of a pipe, for a program that loses output if a pipe is full. The
    /// masked content is copied to `stdout`.
    pub by_file: Option<PathBuf>,
    /// Its standard input, if no listener writes to it.
    pub input: Option<Vec<u8>>,
    /// The file for its standard error.
    pub stderr: PathBuf,
    /// Masks secrets in both.
    pub redactor: &'a Redactor,
    /// Whether the program works on when it is asked to end. It is killed soon.
    pub works_on: bool,
    /// Ends the program as settled when it is notified.
    pub settled: Option<&'a Notify>,
}

/// Receives a program's output line by line, and may write to its standard input.
pub trait OutputListener {
    /// What to write to standard input first. `None` gives the program an empty input.
    fn opening(&mut self) -> Option<Vec<u8>> {
        None
    }

    /// Receives a line, without its line break.
    fn line(&mut self, line: &[u8]) -> Reply;

    /// What sends this message of the user, after [`Reply::answered`].
    fn message(&mut self, _text: &str) -> Vec<u8> {
        Vec::new()
    }

    /// How long the program may take to exit once it has no more output; `None` for as long as the job may take.
    fn patience(&self) -> Option<Duration> {
        None
    }

    /// Receives a line of more than a megabyte, of whose long strings only the start is left.
    fn long_line(&mut self, _line: &[u8]) -> Reply {
        Reply::default()
    }
}

/// Nobody listens: the output only goes to its files.
impl OutputListener for () {
    fn line(&mut self, _line: &[u8]) -> Reply {
        Reply::default()
    }
}

/// What to do after a line of output.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing, whatever the others say")]
pub struct Reply {
    /// Written to standard input.
    pub write: Vec<u8>,
    /// Closes standard input after `write`.
    pub close: bool,
    /// Ends the program: its output is complete for the listener.
    pub end: bool,
    /// The program has no more output, and only has to exit.
    pub over: bool,
    /// The program has answered the last message, and waits for the next one or for the end of its input.
    pub answered: bool,
    /// How long the program waited for this reply. It does not count.
    pub waited: Duration,
}

/// Finds a program on the PATH. A name with `/` is a path.
pub fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        let path = PathBuf::from(name);
        return is_executable(&path).then_some(path);
    }
    find_program_in(&std::env::var_os("PATH")?, name)
}

/// Finds a program on a search path.
pub fn find_program_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    programs_in(path, name).next()
}

/// All programs of this name on a search path.
pub fn programs_in<'a>(path: &'a OsStr, name: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
    std::env::split_paths(path).map(move |directory| directory.join(name)).filter(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Runs `job` to its end. If it does not run, the ending's `trouble` says why.
pub fn run(job: &Job<'_>, listener: &mut dyn OutputListener) -> io::Result<Ending> {
    let create =
        |path: &Path| File::options().create(true).write(true).append(job.appends).truncate(!job.appends).open(path);
    let (stdout, stderr) = (create(&job.stdout)?, create(&job.stderr)?);
    if interrupt::raised() {
        return Ok(not_run(TroubleKind::Interrupted, "the run was interrupted before this trial"));
    }
    // One small runtime per program: trials share nothing, so a blocked one delays no other.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut ending = runtime.block_on(run_to_end(job, listener, stdout, stderr))?;
    if ending.exit_code != Some(0) && !ending.settled {
        ending.last_words = last_words(&job.stderr);
    }
    if ending.trouble.is_none() {
        ending.trouble = job.start.failure(&ending).map(|why| Trouble::new(TroubleKind::CouldNotStart, why));
    }
    Ok(ending)
}

/// The end of the stored standard error, on one line.
fn last_words(stderr: &Path) -> Option<String> {
    let mut file = File::open(stderr).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS))).ok()?;
    let mut bytes = Vec::new();
    file.take(LAST_WORDS).read_to_end(&mut bytes).ok()?;
    let words = String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" ");
    (!words.is_empty()).then_some(words)
}

fn not_run(kind: TroubleKind, why: impl Into<String>) -> Ending {
    Ending { trouble: Some(Trouble::new(kind, why)), ..Ending::default() }
}

async fn run_to_end(
    job: &Job<'_>,
    listener: &mut dyn OutputListener,
    stdout: File,
    stderr: File,
) -> io::Result<Ending> {
    let mut tree = RegisteredTree::announce(tree::new_mark(), tree_holder(job));
    let (opening, patience) = (listener.opening(), listener.patience());
    let started = Instant::now();
    let (files, pipes) = pipes(job, opening.is_some())?;
    let program = match start(job, &mut tree, files).await {
        Ok(program) => program,
        Err(error) => {
            let why = format!("{}: {error}", job.start.program().display());
            return Ok(not_run(TroubleKind::CouldNotStart, why));
        }
    };
    let (listener_state, state) = watch::channel(ListenerState::default());
    let waited = state.clone();
    let (ended, is_ended) = watch::channel(false);
    let output = StdoutReader {
        state: listener_state,
        store: BoundedFile::new(stdout, job.redactor.stream(), MAX_STDOUT),
        listener,
        line: LineBuffer::default(),
        input: pipes.input,
    };
    let errors = BoundedFile::new(stderr, job.redactor.stream(), MAX_STDERR);
    let pumps = pump(pipes.output, pipes.errors, output, errors, opening, is_ended);
    let grace = if job.works_on { SETTLE } else { GRACE };
    // The processes of a container are not below its client.
    let leader = Some(tree.tree()).filter(|tree| !matches!(tree.holder, TreeHolder::Container(_)));
    let mut clock = ProgramClock::new(leader.map(|tree| tree.leader), job.cpu_wait);
    let running = RunningProgram {
        program,
        pumps: Box::pin(pumps),
        pump_result: None,
        listener: state,
        ended,
        tree: &tree,
        grace,
    };
    let mut ending = running.finish((&mut clock, job.timeout), job.settled, patience).await?;
    let worked = started.elapsed().saturating_sub(waited.borrow().waited);
    ending.duration_ms = millis(worked);
    ending.cpu_wait_ms = clock.waited().map(millis);
    Ok(ending)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The runner's ends of a program's pipes.
struct Pipes {
    input: Option<ChildStdin>,
    output: StdoutSource,
    errors: ChildStderr,
}

/// Opens a program's standard input, output and error, and the runner's ends of them. `writes` says whether a listener
/// writes to standard input.
fn pipes(job: &Job<'_>, writes: bool) -> io::Result<([OwnedFd; 3], Pipes)> {
    let (stdin, input) = if writes {
        let (read, write) = io::pipe()?;
        (OwnedFd::from(read), Some(ChildStdin::from_std(OwnedFd::from(write).into())?))
    } else {
        (input(job)?, None)
    };
    let (stdout, output) = if let Some(path) = &job.by_file {
        (OwnedFd::from(File::create(path)?), StdoutSource::GrowingFile(File::open(path)?))
    } else {
        let (read, write) = io::pipe()?;
        (OwnedFd::from(write), StdoutSource::Pipe(ChildStdout::from_std(OwnedFd::from(read).into())?))
    };
    let (read, write) = io::pipe()?;
    let errors = ChildStderr::from_std(OwnedFd::from(read).into())?;
    Ok(([stdin, stdout, write.into()], Pipes { input, output, errors }))
}

/// Its standard input, if no listener writes to it.
fn input(job: &Job<'_>) -> io::Result<OwnedFd> {
    match &job.input {
        Some(content) => sealed_input(content),
        None => Ok(File::open("/dev/null")?.into()),
    }
}

fn tree_holder(job: &Job<'_>) -> TreeHolder {
    if job.start.is_container() {
        TreeHolder::Container(job.start.program().to_path_buf())
    } else if job.start.is_bwrap() {
        // The kernel kills all processes of its namespace.
        TreeHolder::Namespace
    } else if cfg!(target_os = "linux") && watchdog::is_offered() {
        TreeHolder::Supervisor
    } else {
        TreeHolder::Nothing
    }
}

enum Program {
    Direct(Child),
    Supervised(SupervisedProgram),
}

/// Starts the job's program and registers the leader of its tree.
async fn start(job: &Job<'_>, tree: &mut RegisteredTree, files: [OwnedFd; 3]) -> io::Result<Program> {
    let mark = tree.tree().mark.clone();
    if tree.tree().holder == TreeHolder::Supervisor {
        let mut supervised = SupervisedProgram::with_idle_supervisor()?;
        tree.started(supervised.supervisor_id());
        supervised.start(job, &mark, files).await?;
        return Ok(Program::Supervised(supervised));
    }
    let [input, output, errors] = files;
    let network = job.start.network();
    let (mut opening, input) = match network {
        Some(network) => Opening::new(&**network, input).map(|(opening, input)| (Some(opening), input))?,
        None => (None, input),
    };
    let (mut command, mut handed) = job.start.command(&job.env, &mark, opening.as_ref())?;
    handed.extend(opening.iter_mut().flat_map(|opening| opening.handed.drain(..)));
    command.env(settings::TREE_VARIABLE, mark).current_dir(&job.folder);
    command.stdin(input).stdout(output).stderr(errors).process_group(0);
    let child = start::spawn_awaited(&handed, Command::from(command).kill_on_drop(true))?;
    tree.started(child.id().unwrap_or_default());
    if let (Some(opening), Some(network)) = (opening, network.cloned()) {
        // The opener's end would be noticed by nobody who holds its input.
        drop(handed);
        tokio::task::spawn_blocking(move || opening.finish(&*network)).await.map_err(io::Error::other)??;
    }
    Ok(Program::Direct(child))
}

impl Program {
    async fn wait(&mut self) -> io::Result<ExitStatus> {
        match self {
            Self::Direct(child) => child.wait().await,
            Self::Supervised(supervised) => supervised.wait().await,
        }
    }

    fn supervised(&mut self) -> Option<&mut SupervisedProgram> {
        match self {
            Self::Direct(_) => None,
            Self::Supervised(supervised) => Some(supervised),
        }
    }
}

struct RunningProgram<'a> {
    program: Program,
    /// Copies the program's output to files.
    pumps: Pin<Box<dyn Future<Output = io::Result<()>> + 'a>>,
    pump_result: Option<io::Result<()>>,
    listener: watch::Receiver<ListenerState>,
    /// Tells the pumps that the program has ended.
    ended: watch::Sender<bool>,
    tree: &'a RegisteredTree,
    /// Time between asking it to end and killing it.
    grace: Duration,
}

impl RunningProgram<'_> {
    /// Waits for the program's end, or ends it. Nothing of its tree is left after that.
    async fn finish(
        mut self,
        (clock, timeout): (&mut ProgramClock<'_>, Duration),
        settled: Option<&Notify>,
        patience: Option<Duration>,
    ) -> io::Result<Ending> {
        let started = Instant::now();
        let deadline = time_is_up(self.listener.clone(), clock, timeout);
        let overdue = overdue(self.listener.clone(), patience);
        tokio::pin!(deadline, overdue);
        let mut end = None;
        let mut status = loop {
            let by_runner = tokio::select! {
                status = self.program.wait() => break Some(status?),
                result = &mut self.pumps, if self.pump_result.is_none() => {
                    let failed = result.is_err();
                    self.pump_result = Some(result);
                    // Nobody would see what the program does from now on, and it costs money.
                    if !failed {
                        continue;
                    }
                    RunnerEnd::Output
                }
                end = &mut deadline => end,
                () = &mut overdue => RunnerEnd::Timeout,
                () = notified(settled) => RunnerEnd::Settled,
                Ok(state) = self.listener.wait_for(|state| state.enough || state.too_much) => {
                    if state.too_much { RunnerEnd::TooMuchOutput } else { RunnerEnd::Output }
                }
                () = interrupt::wait() => RunnerEnd::Interrupt,
            };
            if by_runner == RunnerEnd::Timeout {
                // A runner that waited for a CPU itself looks late: the program may have ended by itself meanwhile.
                if let Ok(status) = tokio::time::timeout(LAST_LOOK, self.program.wait()).await {
                    break Some(status?);
                }
            }
            end = Some(by_runner);
            break None;
        };
        if end == Some(RunnerEnd::Interrupt) {
            status = self.let_end().await?;
            end = end.filter(|_| status.is_none());
        }
        let status = match status {
            Some(status) => {
                // If the supervisor was killed, it did not kill the rest.
                match self.program.supervised().filter(|supervised| supervised.is_over()) {
                    Some(supervised) => supervised.release_supervisor(),
                    None => self.tree.tree().kill_rest(status, started.elapsed(), &self.tree.others()),
                }
                status
            }
            None => self.terminate().await?,
        };
        self.ended.send_replace(true);
        match self.pump_result.take() {
            Some(result) => result?,
            None => self.pumps.as_mut().await?,
        }
        let trouble = end.and_then(|end| end.trouble(timeout));
        // If the runner had to end it, its status is of the runner's doing.
        let own = Some(status).filter(|_| trouble.is_none());
        let (exit_code, signal) = own.map_or((None, None), |status| (status.code(), status.signal()));
        let (timed_out, settled) = (end == Some(RunnerEnd::Timeout), end == Some(RunnerEnd::Settled));
        Ok(Ending { exit_code, signal, timed_out, settled, trouble, ..Ending::default() })
    }

    /// Waits for the program's end while its output is copied.
    async fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            tokio::select! {
                status = self.program.wait() => return status,
                result = &mut self.pumps, if self.pump_result.is_none() => self.pump_result = Some(result),
            }
        }
    }

    /// Lets a program end by itself that is about to end. `None` if it does not end.
    async fn let_end(&mut self) -> io::Result<Option<ExitStatus>> {
        if let Ok(status) = tokio::time::timeout(SETTLE, self.wait()).await {
            return status.map(Some);
        }
        if self.listener.borrow().over
            && let Ok(status) = tokio::time::timeout(GRACE, self.wait()).await
        {
            return status.map(Some);
        }
        Ok(None)
    }

    /// Asks the tree to end, then kills it.
    async fn terminate(&mut self) -> io::Result<ExitStatus> {
        if let Some(supervised) = self.program.supervised() {
            supervised.close_orders();
        }
        let members = self.tree.tree().terminate();
        let ended = tokio::time::timeout(self.grace, self.wait()).await;
        self.tree.tree().kill(&members);
        match ended {
            Ok(status) => status,
            Err(_) => self.program.wait().await,
        }
    }
}
