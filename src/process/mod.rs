//! Runs agents: the only place that starts a program.
//!
//! A program runs in a process group of its own, with exactly the environment it is given and its output going to
//! files as it comes. Its end, whichever way it comes (exit, timeout, Ctrl-C, SIGTERM), is the end of its whole tree:
//! what was started below it is asked to go, then killed. On Linux nothing escapes that: a keeper stands between this
//! process and the program, or bubblewrap does with a PID namespace, and both end all that is below them, even where
//! this process is killed. Elsewhere, what was started is found by its group; where this process is killed, its
//! [`watchdog`] does that.

pub mod background;
pub mod brief;
pub mod git;
pub mod interrupt;
pub mod open_files;
mod output;
pub mod pager;
pub mod service;
mod supervised;
mod supervisor;
mod table;
pub mod tree;
pub mod watchdog;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

use crate::settings;
use crate::text::redact::Redactor;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::evidence::Ending;
use output::{StderrReader, StdoutReader, StdoutSource, pump};
use supervised::SupervisedProgram;
use tree::TreeHolder;

/// How long a tree that was asked to go may take before it is killed.
pub const GRACE: Duration = Duration::from_secs(3);

/// How long a tree that the user ends may take to come to its own end, which may be just happening.
const SETTLE: Duration = Duration::from_millis(300);

/// Most bytes of standard error kept.
const MAX_STDERR: u64 = 64 << 20;

/// A program to run.
#[derive(Debug)]
pub struct Job<'a> {
    /// The program, as found on the PATH.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: BTreeMap<OsString, OsString>,
    /// Its working folder.
    pub folder: PathBuf,
    /// How long it may take.
    pub timeout: Duration,
    /// Where its standard output goes, as it comes.
    pub stdout: PathBuf,
    /// A file to give the program as its standard output, for one that loses what a pipe does not take at once; what
    /// it writes there goes to `stdout` as it comes, masked.
    pub by_file: Option<PathBuf>,
    /// The file that is its standard input, for a program that no listener talks to.
    pub input: Option<PathBuf>,
    /// Where its standard error goes, as it comes.
    pub stderr: PathBuf,
    /// What to mask in both.
    pub redactor: &'a Redactor,
    /// Whether the program is bubblewrap with a PID namespace, which ends all that is in it.
    pub namespace: bool,
}

/// Hears a program's output line by line, and may answer on its standard input.
pub trait OutputListener {
    /// What to write to standard input first; `None` gives the program an empty input.
    fn opening(&mut self) -> Option<Vec<u8>> {
        None
    }

    /// Hears a line, without its line break.
    fn line(&mut self, line: &[u8]) -> Reply;

    /// Hears the start of a line that is too long to be handed on.
    fn long_line(&mut self, _start: &[u8]) -> Reply {
        Reply::default()
    }
}

/// What a [`OutputListener`] wants done.
#[derive(Debug, Default)]
pub struct Reply {
    /// To be written to standard input.
    pub write: Vec<u8>,
    /// Whether standard input is to be closed after that.
    pub close: bool,
    /// Whether the program is to be ended: it has said all that it was asked for.
    pub end: bool,
    /// Whether the program has said all that it will say, and only has to exit.
    pub over: bool,
}

/// Finds a program on the PATH, or takes a path as it is.
#[must_use]
pub fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        let path = PathBuf::from(name);
        return is_executable(&path).then_some(path);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Runs `job` to its end. What keeps it from running is in the ending's `trouble`.
///
/// # Errors
/// When the output files cannot be written.
pub fn run(job: &Job<'_>, listener: &mut dyn OutputListener) -> io::Result<Ending> {
    let stdout = File::create(&job.stdout)?;
    let stderr = File::create(&job.stderr)?;
    if interrupt::raised() {
        return Ok(not_run(TroubleKind::Interrupted, "the run was interrupted before this trial"));
    }
    // One small runtime for each program: trials share nothing, and a blocked one holds nobody up.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut ending = runtime.block_on(run_to_end(job, listener, stdout, stderr))?;
    if ending.exit_code != Some(0) {
        ending.last_words = last_words(&job.stderr);
    }
    let words = ending.last_words.as_deref().unwrap_or_default();
    // bubblewrap says so where it cannot make the sandbox, or start the program in it.
    let no_sandbox = words.starts_with("bwrap: ") && job.namespace && ending.exit_code == Some(1);
    if no_sandbox && ending.trouble.is_none() {
        ending.trouble = Some(Trouble::new(TroubleKind::CouldNotStart, words));
    }
    Ok(ending)
}

/// The end of the standard error that was kept, on one line.
fn last_words(stderr: &Path) -> Option<String> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = File::open(stderr).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(400))).ok()?;
    let mut bytes = Vec::new();
    file.take(400).read_to_end(&mut bytes).ok()?;
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
    let holder = holder(job);
    let mut tree = interrupt::RegisteredTree::announce(tree::new_mark(), holder);
    let opening = listener.opening();
    let started = Instant::now();
    let growing = job.by_file.as_ref().map(|path| Ok::<_, io::Error>((File::create(path)?, File::open(path)?)));
    let (to, growing) = growing.transpose()?.unzip();
    let (files, pipes) = pipes(job, opening.is_some(), to)?;
    let mut program = match start(job, &mut tree, files).await {
        Ok(program) => program,
        Err(error) => {
            let why = format!("{}: {error}", job.program.display());
            return Ok(not_run(TroubleKind::CouldNotStart, why));
        }
    };
    let [(enough, is_enough), (over, is_over), (ended, is_ended)] = std::array::from_fn(|_| watch::channel(false));
    let output = StdoutReader {
        enough,
        over,
        file: stdout,
        masker: job.redactor.stream(),
        listener,
        line: Vec::new(),
        overlong: false,
        input: pipes.input,
    };
    let errors = StderrReader { file: stderr, masker: job.redactor.stream(), left: MAX_STDERR };
    let source = growing.map_or_else(|| StdoutSource::Pipe(pipes.output), StdoutSource::Growing);
    let pumps = pump(source, Some(pipes.errors), output, errors, opening, is_ended);
    let signals = Signals { ended, enough: is_enough, over: is_over };
    let how = supervise(&mut program, pumps, signals, job.timeout, &tree).await?;
    let trouble = how.interrupted.then(|| Trouble::new(TroubleKind::Interrupted, "ended by Ctrl-C or SIGTERM"));
    Ok(Ending {
        exit_code: how.status.code(),
        signal: std::os::unix::process::ExitStatusExt::signal(&how.status),
        timed_out: how.timed_out,
        trouble,
        last_words: None,
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        ..Ending::default()
    })
}

/// Our ends of a program's pipes.
struct Pipes {
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    errors: ChildStderr,
}

/// A program's standard input, output and error, and our ends of them: it reads what a listener `says`, the job's file, or
/// nothing, and writes into the file `to` where there is one.
fn pipes(job: &Job<'_>, says: bool, to: Option<File>) -> io::Result<([OwnedFd; 3], Pipes)> {
    let (read, ours) = if says {
        let (read, write) = io::pipe()?;
        (OwnedFd::from(read), Some(ChildStdin::from_std(OwnedFd::from(write).into())?))
    } else {
        (File::open(job.input.as_deref().unwrap_or(Path::new("/dev/null")))?.into(), None)
    };
    let (written, output) = if let Some(to) = to {
        (OwnedFd::from(to), None)
    } else {
        let (read, write) = io::pipe()?;
        (OwnedFd::from(write), Some(ChildStdout::from_std(OwnedFd::from(read).into())?))
    };
    let (errors, said) = io::pipe()?;
    let errors = ChildStderr::from_std(OwnedFd::from(errors).into())?;
    Ok(([read, written, said.into()], Pipes { input: ours, output, errors }))
}

/// What is to make sure that all of the program ends with it.
fn holder(job: &Job<'_>) -> TreeHolder {
    if job.namespace {
        TreeHolder::Namespace
    } else if cfg!(target_os = "linux") && watchdog::is_offered() {
        TreeHolder::Keeper
    } else {
        TreeHolder::Nothing
    }
}

/// A program that runs.
enum Program {
    Own(Child),
    Kept(SupervisedProgram),
}

/// Starts the job's program, and notes its leader.
async fn start(job: &Job<'_>, tree: &mut interrupt::RegisteredTree, files: [OwnedFd; 3]) -> io::Result<Program> {
    let leader = |id: u32| i32::try_from(id).unwrap_or_default();
    let mark = tree.tree().mark.clone();
    if tree.tree().holder == TreeHolder::Keeper {
        let mut kept = SupervisedProgram::by_idle()?;
        tree.started(leader(kept.id()));
        kept.start(job, &mark, files).await?;
        return Ok(Program::Kept(kept));
    }
    let [input, output, errors] = files;
    let mut command = Command::new(&job.program);
    command.args(&job.args).env_clear().envs(&job.env).env(settings::TREE_VARIABLE, mark).current_dir(&job.folder);
    let child = command.stdin(input).stdout(output).stderr(errors).process_group(0).kill_on_drop(true).spawn()?;
    tree.started(child.id().map(leader).unwrap_or_default());
    Ok(Program::Own(child))
}

impl Program {
    async fn wait(&mut self) -> io::Result<ExitStatus> {
        match self {
            Self::Own(child) => child.wait().await,
            Self::Kept(kept) => kept.wait().await,
        }
    }

    /// Whether nothing that it started is left, once it has ended by itself.
    fn is_over(&self) -> bool {
        matches!(self, Self::Kept(kept) if kept.is_over())
    }

    fn let_go(&mut self) {
        if let Self::Kept(kept) = self {
            kept.let_go();
        }
    }

    /// Leaves what kept it to the next one.
    fn spare(&mut self) {
        if let Self::Kept(kept) = self {
            kept.spare();
        }
    }
}

struct ProcessEnd {
    status: ExitStatus,
    timed_out: bool,
    interrupted: bool,
}

/// What the one that waits and the pumps tell each other.
struct Signals {
    /// The program has ended.
    ended: watch::Sender<bool>,
    /// The listener has heard enough.
    enough: watch::Receiver<bool>,
    /// The program has said all that it will say.
    over: watch::Receiver<bool>,
}

/// Waits for the program's end while its output is carried on.
async fn ended(
    program: &mut Program,
    mut pumps: Pin<&mut impl Future<Output = io::Result<()>>>,
    pumped: &mut Option<io::Result<()>>,
) -> io::Result<ExitStatus> {
    loop {
        tokio::select! {
            status = program.wait() => return status,
            result = &mut pumps, if pumped.is_none() => *pumped = Some(result),
        }
    }
}

/// Only what is still at work is to be ended: a program that has just ended, or has said all, is let end by itself. Returns how
/// it ended, if it did.
async fn let_end(
    program: &mut Program,
    mut pumps: Pin<&mut impl Future<Output = io::Result<()>>>,
    pumped: &mut Option<io::Result<()>>,
    signals: &Signals,
) -> io::Result<Option<ExitStatus>> {
    for patience in [SETTLE, GRACE] {
        if patience == GRACE && !*signals.over.borrow() {
            break;
        }
        if let Ok(status) = tokio::time::timeout(patience, ended(program, pumps.as_mut(), pumped)).await {
            return status.map(Some);
        }
    }
    Ok(None)
}

/// Waits for the program's end, or brings it about; then sees to it that nothing of its tree is left.
async fn supervise(
    program: &mut Program,
    pumps: impl Future<Output = io::Result<()>>,
    mut signals: Signals,
    timeout: Duration,
    tree: &interrupt::RegisteredTree,
) -> io::Result<ProcessEnd> {
    let started = Instant::now();
    tokio::pin!(pumps);
    let mut pumped = None;
    let deadline = tokio::time::sleep(timeout);
    tokio::pin!(deadline);
    let mut timed_out = false;
    let mut interrupted = false;
    let status = loop {
        tokio::select! {
            status = program.wait() => break Some(status?),
            result = &mut pumps, if pumped.is_none() => {
                let lost = result.is_err();
                pumped = Some(result);
                // What it does from now on nobody will know, and it is paid for.
                if lost {
                    break None;
                }
            }
            () = &mut deadline => {
                timed_out = true;
                break None;
            }
            Ok(_) = signals.enough.wait_for(|enough| *enough) => break None,
            () = interrupt::wait() => {
                interrupted = true;
                break None;
            }
        }
    };
    let status = match status {
        None if interrupted => let_end(program, pumps.as_mut(), &mut pumped, &signals).await?,
        status => status,
    };
    interrupted &= status.is_none();
    let status = if let Some(status) = status {
        // A keeper that says so has seen to all of it; one that was killed has not.
        if program.is_over() {
            program.spare();
        } else {
            tree.tree().kill_rest(started.elapsed(), &tree.others());
        }
        status
    } else {
        program.let_go();
        let asked = tree.tree().terminate();
        let gone = tokio::time::timeout(GRACE, ended(program, pumps.as_mut(), &mut pumped)).await;
        tree.tree().kill(&asked);
        match gone {
            Ok(status) => status?,
            Err(_) => program.wait().await?,
        }
    };
    signals.ended.send_replace(true);
    match pumped {
        Some(result) => result?,
        None => pumps.await?,
    }
    Ok(ProcessEnd { status, timed_out, interrupted })
}
