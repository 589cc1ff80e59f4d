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
mod keeper;
mod output;
pub mod pager;
pub mod service;
mod table;
pub mod tree;
pub mod watchdog;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::settings;
use crate::text::redact::Redactor;
use crate::trial::evidence::Ending;
use crate::trial::trouble::{Trouble, TroubleKind};
use output::{Errors, Output, Source, pump};
use tree::Holder;

/// How long a tree that was asked to go may take before it is killed.
pub const GRACE: Duration = Duration::from_secs(3);

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
pub trait Listener {
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

/// What a [`Listener`] wants done.
#[derive(Debug, Default)]
pub struct Reply {
    /// To be written to standard input.
    pub write: Vec<u8>,
    /// Whether standard input is to be closed after that.
    pub close: bool,
    /// Whether the program is to be ended: it has said all that it was asked for.
    pub end: bool,
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
pub fn run(job: &Job<'_>, listener: &mut dyn Listener) -> io::Result<Ending> {
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
    let why = words.strip_prefix(keeper::COULD_NOT_START).filter(|_| ending.exit_code == Some(keeper::NOT_STARTED));
    // bubblewrap says so where it cannot make the sandbox, or start the program in it.
    let no_sandbox = words.starts_with("bwrap: ") && job.namespace && ending.exit_code == Some(1);
    let why = why.or(no_sandbox.then_some(words));
    if let (Some(why), None) = (why, &ending.trouble) {
        ending.trouble = Some(Trouble::new(TroubleKind::CouldNotStart, why));
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

async fn run_to_end(job: &Job<'_>, listener: &mut dyn Listener, stdout: File, stderr: File) -> io::Result<Ending> {
    let holder = holder(job);
    let mut tree = interrupt::Registered::announce(tree::new_mark(), holder);
    let opening = listener.opening();
    let started = Instant::now();
    let growing = job.by_file.as_ref().map(|path| Ok::<_, io::Error>((File::create(path)?, File::open(path)?)));
    let (to, growing) = match growing.transpose()? {
        Some((to, growing)) => (Stdio::from(to), Some(growing)),
        None => (Stdio::piped(), None),
    };
    let mut command = command(job, holder);
    command
        .env_clear()
        .envs(&job.env)
        .env(settings::TREE_VARIABLE, &tree.tree().mark)
        .current_dir(&job.folder)
        .stdin(standard_input(job, opening.is_some())?)
        .stdout(to)
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if holder == Holder::Keeper {
        command.env(settings::KEEPER_VARIABLE, std::process::id().to_string());
    }
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let why = format!("{}: {error}", job.program.display());
            return Ok(not_run(TroubleKind::CouldNotStart, why));
        }
    };
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or_default();
    tree.started(leader);
    let (enough, is_enough) = watch::channel(false);
    let output = Output {
        enough,
        file: stdout,
        masker: job.redactor.stream(),
        listener,
        line: Vec::new(),
        overlong: false,
        input: child.stdin.take(),
    };
    let errors = Errors { file: stderr, masker: job.redactor.stream(), left: MAX_STDERR };
    let source = growing.map_or_else(|| Source::Pipe(child.stdout.take()), Source::Growing);
    let (ended, is_ended) = watch::channel(false);
    let pumps = pump(source, child.stderr.take(), output, errors, opening, is_ended);
    let how = supervise(&mut child, pumps, Signals { ended, enough: is_enough }, job.timeout, &tree).await?;
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

/// What the program reads: what a listener `says`, the job's file, or nothing.
fn standard_input(job: &Job<'_>, says: bool) -> io::Result<Stdio> {
    Ok(match &job.input {
        _ if says => Stdio::piped(),
        Some(input) => Stdio::from(File::open(input)?),
        None => Stdio::null(),
    })
}

/// What is to make sure that all of the program ends with it.
fn holder(job: &Job<'_>) -> Holder {
    if job.namespace {
        Holder::Namespace
    } else if cfg!(target_os = "linux") && watchdog::is_offered() {
        Holder::Keeper
    } else {
        Holder::Nothing
    }
}

fn command(job: &Job<'_>, holder: Holder) -> Command {
    let mut command = if holder == Holder::Keeper {
        // The program as it runs, not what lies at its path by now.
        let mut command = Command::new("/proc/self/exe");
        command.arg0(std::env::current_exe().unwrap_or_default()).arg(&job.program);
        command
    } else {
        Command::new(&job.program)
    };
    command.args(&job.args);
    command
}

struct End {
    status: std::process::ExitStatus,
    timed_out: bool,
    interrupted: bool,
}

/// What the one that waits and the pumps tell each other.
struct Signals {
    /// The program has ended.
    ended: watch::Sender<bool>,
    /// The listener has heard enough.
    enough: watch::Receiver<bool>,
}

/// Waits for the program's end, or brings it about; then sees to it that nothing of its tree is left.
async fn supervise(
    child: &mut Child,
    pumps: impl Future<Output = io::Result<()>>,
    mut signals: Signals,
    timeout: Duration,
    tree: &interrupt::Registered,
) -> io::Result<End> {
    let started = Instant::now();
    tokio::pin!(pumps);
    let mut pumped = None;
    let deadline = tokio::time::sleep(timeout);
    tokio::pin!(deadline);
    let mut timed_out = false;
    let mut interrupted = false;
    let status = loop {
        tokio::select! {
            status = child.wait() => break Some(status?),
            result = &mut pumps, if pumped.is_none() => pumped = Some(result),
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
    let status = if let Some(status) = status {
        // A keeper that ended by itself has seen to all of it; one that was killed has not.
        let clean = tree.tree().holder == Holder::Keeper && status.code().is_some();
        if !clean {
            tree.tree().kill_rest(started.elapsed(), &tree.others());
        }
        status
    } else {
        let asked = tree.tree().terminate();
        let gone = tokio::time::timeout(GRACE, async {
            loop {
                tokio::select! {
                    status = child.wait() => break status,
                    result = &mut pumps, if pumped.is_none() => pumped = Some(result),
                }
            }
        });
        let status = gone.await;
        tree.tree().kill(&asked);
        match status {
            Ok(status) => status?,
            Err(_) => child.wait().await?,
        }
    };
    signals.ended.send_replace(true);
    match pumped {
        Some(result) => result?,
        None => pumps.await?,
    }
    Ok(End { status, timed_out, interrupted })
}
