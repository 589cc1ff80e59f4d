//! What to start and in what, and the start of every program. Of the open files of this process, a program inherits its standard
//! streams and those that it is handed.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, PoisonError, RwLock, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::opener::{Opening, RoomNetwork};
use crate::files::look;
use crate::settings::ROOM_VARIABLE;
use crate::text::problem::Problem;
use crate::trial::evidence::Ending;

/// A program with its arguments, and what is around it.
#[derive(Clone, Debug)]
pub struct Start {
    program: PathBuf,
    args: Vec<OsString>,
    /// The options of bubblewrap.
    options: Vec<OsString>,
    around: Around,
    /// The network of a sandbox that has its own.
    network: Option<Arc<dyn RoomNetwork>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Around {
    Nothing,
    Bwrap,
    /// The program is the client of docker or podman.
    Container,
}

impl Start {
    /// This program itself.
    pub fn own(args: Vec<OsString>) -> io::Result<Self> {
        let program = std::env::current_exe()?;
        Ok(Self { program, args, options: Vec::new(), around: Around::Nothing, network: None })
    }

    /// bubblewrap. Its options give it a PID namespace. `call` is the program in it, with its arguments.
    pub fn sandbox(bwrap: PathBuf, options: Vec<OsString>, call: Vec<OsString>) -> Self {
        Self { program: bwrap, args: call, options, around: Around::Bwrap, network: None }
    }

    /// A container. `args` are those of `docker run`, and end in those of the program in it.
    pub fn container(client: PathBuf, args: Vec<OsString>) -> Self {
        Self { program: client, args, options: Vec::new(), around: Around::Container, network: None }
    }

    /// A program outside every sandbox. What a repository names, and an agent's program, only comes here if no sandbox
    /// works and none is required. `agent::isolation` decides that: clippy allows no other caller.
    pub fn outside(program: PathBuf, args: Vec<OsString>) -> Self {
        Self { program, args, options: Vec::new(), around: Around::Nothing, network: None }
    }

    /// The same, with a network of its own.
    #[must_use]
    pub fn in_network(mut self, network: Arc<dyn RoomNetwork>) -> Self {
        self.options.push("--unshare-net".into());
        self.network = Some(network);
        self
    }

    pub(super) fn network(&self) -> Option<&Arc<dyn RoomNetwork>> {
        self.network.as_ref()
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    pub(super) fn is_bwrap(&self) -> bool {
        self.around == Around::Bwrap
    }

    pub(super) fn is_container(&self) -> bool {
        self.around == Around::Container
    }

    /// Why the program in a sandbox did not start, if the sandbox says so.
    pub(super) fn failure(&self, ending: &Ending) -> Option<String> {
        let words = ending.last_words.as_deref().unwrap_or_default();
        match (self.around, ending.exit_code?) {
            (Around::Bwrap, 1) if words.starts_with("bwrap: ") => Some(words.to_owned()),
            // Podman's first process in a container.
            (Around::Container, 1) if words.starts_with("ERROR (catatonit:") => {
                Some(format!("{words}; the image must have the program, and what runs it, such as `sh` or `node`"))
            }
            // The exit code of `docker run` for what is wrong with the container itself.
            (Around::Container, 125) if words.is_empty() => Some("the container did not start".to_owned()),
            (Around::Container, 125) => Some(words.to_owned()),
            _ => None,
        }
    }

    /// The program and its arguments.
    pub(super) fn call(&self) -> Vec<OsString> {
        std::iter::once(self.program.clone().into()).chain(self.args.iter().cloned()).collect()
    }

    /// The command that starts it with this environment, and the files that it has to inherit. A container gets a name by
    /// the mark of its tree.
    pub(super) fn command(
        &self,
        env: &BTreeMap<OsString, OsString>,
        mark: &str,
        opening: Option<&Opening>,
    ) -> io::Result<(Command, Vec<OwnedFd>)> {
        let mut command = Command::new(&self.program);
        let files = match self.around {
            Around::Nothing => {
                command.env_clear().envs(env);
                Vec::new()
            }
            Around::Bwrap => {
                let mut env = env.clone();
                env.extend(self.network.iter().flat_map(|network| network.variables()));
                env.extend(opening.map(|opening| (ROOM_VARIABLE.into(), opening.plan.clone())));
                bwrap_files(&env, &self.options, command.env_clear())?
            }
            // The client has the runner's variables: they say where its daemon and its files are.
            Around::Container => {
                let file = sealed_input(&env_file(env)?)?;
                command.args(["run", "--name", &container_name(mark), "--env-file"]);
                command.arg(format!("/dev/fd/{}", file.as_raw_fd()));
                vec![file]
            }
        };
        command.args(opening.map(|opening| &opening.program)).args(&self.args);
        Ok((command, files))
    }
}

/// The variables of a program in a container, as its client reads them: a line each. They are not in its arguments, which other
/// users see, nor are they its own: `LD_PRELOAD` would have it load a library of the repository, outside.
fn env_file(env: &BTreeMap<OsString, OsString>) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for (name, value) in env {
        if [name, value].iter().any(|text| text.as_bytes().contains(&b'\n')) {
            let why = format!("the variable {} has a line break, which a container cannot be given", name.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        lines.extend([name, OsStr::new("="), value, OsStr::new("\n")].iter().flat_map(|text| text.as_bytes()));
    }
    Ok(lines)
}

/// The files that bubblewrap reads: its options with the variables of the program in it, and the calls that the kernel refuses.
/// The variables are not bubblewrap's own: `LD_PRELOAD` would have it load a library of the repository, outside. None of that is
/// in its arguments: other users see those, and the agent does, as the command line of its first process.
#[cfg(target_os = "linux")]
fn bwrap_files(
    env: &BTreeMap<OsString, OsString>,
    options: &[OsString],
    bwrap: &mut Command,
) -> io::Result<Vec<OwnedFd>> {
    let variables = env.iter().flat_map(|(name, value)| [OsStr::new("--setenv"), name, value]);
    let parts = variables.chain(options.iter().map(OsString::as_os_str));
    let options: Vec<u8> = parts.flat_map(|part| part.as_bytes().iter().chain(b"\0")).copied().collect();
    let mut files = Vec::new();
    for (option, content) in [("--args", Some(options)), ("--seccomp", super::seccomp::filter())] {
        let Some(content) = content else { continue };
        let file = sealed_input(&content)?;
        bwrap.args([option, &file.as_raw_fd().to_string()]);
        files.push(file);
    }
    bwrap.arg("--");
    Ok(files)
}

/// Other systems have no bubblewrap.
#[cfg(not(target_os = "linux"))]
fn bwrap_files(
    _env: &BTreeMap<OsString, OsString>,
    _options: &[OsString],
    _bwrap: &mut Command,
) -> io::Result<Vec<OwnedFd>> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

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

/// Puts a program in the place of this process, called by the name `first`. With an `input`, that is its standard input. Returns only
/// if it fails.
pub fn become_program(program: &Path, first: &OsStr, args: &[OsString], input: Option<&[u8]>) -> io::Error {
    let mut command = Command::new(program);
    command.arg0(first).args(args);
    if let Some(input) = input {
        match sealed_input(input) {
            Ok(input) => command.stdin(input),
            Err(error) => return error,
        };
    }
    command.exec()
}

/// How long a pipe is read after its program ended.
const LINGER: Duration = Duration::from_secs(1);

/// Starts a program as [`become_program`] would, passes on what it prints, and waits for its end. Returns its exit code, and its
/// standard output and standard error; `None` if one is longer than `limit`, was not read to its end, or is still open then.
pub fn relay_program(
    program: &Path,
    first: &OsStr,
    args: &[OsString],
    input: Option<&[u8]>,
    limit: usize,
) -> io::Result<(u8, Option<[Vec<u8>; 2]>)> {
    let mut command = Command::new(program);
    command.arg0(first).args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(input) = input {
        command.stdin(sealed_input(input)?);
    }
    let mut started = spawn(&mut command)?;
    let (sender, streams) = mpsc::channel();
    let ends = [(0usize, started.stdout.take().map(OwnedFd::from)), (1, started.stderr.take().map(OwnedFd::from))];
    for (number, pipe) in ends {
        let (Some(pipe), sender) = (pipe, sender.clone()) else { continue };
        std::thread::Builder::new().spawn(move || {
            let relayed = relay(pipe.into(), number == 0, limit);
            // If nobody waits any more, another program has the pipe.
            let _ = sender.send((number, relayed));
        })?;
    }
    let status = started.wait()?;
    let mut both = [None, None];
    for _ in 0..both.len() {
        // What it left behind may keep a pipe open for ever.
        let Ok((number, relayed)) = streams.recv_timeout(LINGER) else { break };
        both[number] = relayed;
    }
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    let [stdout, stderr] = both;
    Ok((u8::try_from(code).unwrap_or(u8::MAX), stdout.zip(stderr).map(|(stdout, stderr)| [stdout, stderr])))
}

/// Writes all that comes out of a pipe to standard output, or else to standard error. Returns it, if that was possible.
#[expect(clippy::disallowed_methods, reason = "an agent reads it, as it would read the program's own output")]
fn relay(mut pipe: fs::File, is_output: bool, limit: usize) -> Option<Vec<u8>> {
    let (mut all, mut piece) = (Some(Vec::new()), vec![0; 64 << 10]);
    loop {
        let count = pipe.read(&mut piece).ok()?;
        if count == 0 {
            return all;
        }
        let write = |out: &mut dyn Write| out.write_all(&piece[..count]).and_then(|()| out.flush());
        // The program is told as this one is, by its closed pipe.
        if is_output { write(&mut io::stdout()) } else { write(&mut io::stderr()) }.ok()?;
        all = all.filter(|all| all.len() + count <= limit).map(|mut all| {
            all.extend(&piece[..count]);
            all
        });
    }
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

// A file that a program is given to read. It has no name, and nobody can change it: not even by `/proc/self/fd`, where a program
// opens again what it may only read.

/// Such a file with this content, read from its start.
#[cfg(target_os = "linux")]
pub(super) fn sealed_input(content: &[u8]) -> io::Result<OwnedFd> {
    use std::fs::File;
    use std::io::{Seek, Write};

    use nix::fcntl::{FcntlArg, SealFlag, fcntl};
    use nix::sys::memfd::{MFdFlags, memfd_create};

    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let mut file = File::from(memfd_create(c"input", flags)?);
    file.write_all(content)?;
    file.rewind()?;
    fcntl(&file, FcntlArg::F_ADD_SEALS(SealFlag::all()))?;
    Ok(file.into())
}

/// Other systems have no seals: the descriptor only reads, and there is no other.
#[cfg(not(target_os = "linux"))]
pub(super) fn sealed_input(content: &[u8]) -> io::Result<OwnedFd> {
    use std::io::Write;

    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(content)?;
    Ok(std::fs::File::open(file.path())?.into())
}

// The files that this process has open: how many it may have, and none of its parent's.

/// Files that a process needs without trials.
const BASE: u64 = 100;

/// Maximum number of files that a trial needs: pipes, its directory, its logs.
const PER_TRIAL: u64 = 20;

/// Closes the files that whoever started this process left open in it: an agent would inherit them, whatever its sandbox hides.
/// Files that this process opened are marked not to be inherited, and stay. Only Linux tells which are.
pub fn close_inherited_files() {
    let inherited = |entry: &look::Entry| {
        let number = entry.file_name().to_str()?.parse::<i32>().ok().filter(|number| *number > 2)?;
        let info = fs::read_to_string(entry.path()).ok()?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
        let flags = OFlag::from_bits_retain(i32::from_str_radix(flags.trim(), 8).ok()?);
        (!flags.contains(OFlag::O_CLOEXEC)).then_some(number)
    };
    let entries = look::usable_entries(Path::new("/proc/self/fdinfo"));
    for number in entries.iter().filter_map(inherited) {
        // It was open a moment ago.
        let _ = nix::unistd::close(number);
    }
}

/// Raises the limit if it is too low for this many trials at once, and no further: agents inherit it.
pub fn allow_open_files(trials: usize) -> Result<(), Problem> {
    let needed = BASE.saturating_add(PER_TRIAL.saturating_mul(trials as u64));
    let Ok((limit, maximum)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Ok(()) };
    let is_enough = limit >= needed || maximum >= needed && setrlimit(Resource::RLIMIT_NOFILE, needed, maximum).is_ok();
    // A single trial may need fewer files than the maximum.
    if is_enough || trials == 1 {
        return Ok(());
    }
    let possible = (limit.saturating_sub(BASE) / PER_TRIAL).max(1);
    Err(format!(
        "{trials} trials at once need {needed} open files, and this process may have {limit} (`ulimit -n`): allow more, or \
         run fewer with --jobs {possible}"
    )
    .into())
}

// The client of docker or podman, which names the container of a tree by the tree's mark.

/// How long a client may take for what it does in a moment. Its daemon may never answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a client, with the variables of this process.
pub fn client_output(client: &Path, args: &[&str]) -> io::Result<Output> {
    let mut command = Command::new(client);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = spawn(&mut command)?;
    // What it prints fits into a pipe.
    match end_within(&mut child, PATIENCE)? {
        Some(_) => child.wait_with_output(),
        None => Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer in {} s", PATIENCE.as_secs()))),
    }
}

/// The name of the container of a tree.
fn container_name(mark: &str) -> String {
    format!("room-{mark}")
}

/// Removes the container of a tree. It may have ended by now, or not have begun.
pub(super) fn remove_container(client: &Path, mark: &str) {
    let name = container_name(mark);
    for args in [["kill", &name].as_slice(), &["rm", "--force", &name]] {
        let _ = client_output(client, args);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_a_sandbox_are_not_in_the_command_line_that_the_agent_sees() {
        let options = ["--bind", "/secret/scratch", "/work"].map(OsString::from).into();
        let start = Start::sandbox("bwrap".into(), options, vec!["/bin/true".into(), "x".into()]);
        let env = BTreeMap::from([("NAME".into(), "/secret/value".into())]);
        let (command, files) = start.command(&env, "mark", None).expect("a command");
        let args: Vec<String> = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        assert!(args.ends_with(&["--".to_owned(), "/bin/true".to_owned(), "x".to_owned()]), "{args:?}");
        assert!(!args.iter().any(|arg| arg.contains("secret")) && !files.is_empty(), "{args:?}");
    }
}
