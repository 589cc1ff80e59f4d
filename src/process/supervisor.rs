//! A small process between the runner and an agent: all that the agent starts descends from it until it ends.
//!
//! It is this very program, started again with one variable set, and it is what the system calls a child subreaper: a
//! process whose parent is gone becomes its child, whatever session, group or environment it made for itself. So when
//! the agent ends, or the runner asks, it can kill every process that is left, and it says that the agent has ended only
//! when none is. Then it takes the next agent, since starting a program of this size takes longer than some trials do;
//! it ends with its input. Where its runner is killed, the system tells it, and it kills all that it keeps.
//!
//! SIGTERM asks all processes to go, and kills what is left after [`GRACE`]; SIGUSR1 kills at once. Both end the keeper
//! too, like the agent.

use std::ffi::{OsStr, OsString};
use std::io::BufRead;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::GRACE;

/// The exit status of a keeper that cannot keep anything.
const NOT_KEPT: i32 = 127;

/// An agent to start.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StartOrder {
    /// The runner's numbers of what are to be standard input, output and error.
    pub files: [i32; 3],
    /// The working folder.
    pub folder: OsString,
    /// The program and its arguments.
    pub call: Vec<OsString>,
    /// The whole environment, `name=value` each.
    pub env: Vec<OsString>,
}

/// What a keeper says of an agent, a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SupervisorMessage {
    Started,
    NotStarted(String),
    Exited(i32),
    Signaled(i32),
}

impl StartOrder {
    /// As a keeper reads it: the length on a line, then everything, each with a zero behind it, which none of it can hold.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut add = |part: &[u8]| text.extend(part.iter().chain(b"\0"));
        self.files.iter().for_each(|file| add(file.to_string().as_bytes()));
        add(self.folder.as_bytes());
        add(self.call.len().to_string().as_bytes());
        self.call.iter().chain(&self.env).for_each(|part| add(part.as_bytes()));
        [format!("{}\n", text.len()).as_bytes(), &text].concat()
    }

    /// The next one of the input; none at its end.
    fn read(input: &mut impl BufRead) -> Option<Self> {
        let mut length = String::new();
        input.read_line(&mut length).ok()?;
        let mut text = vec![0; length.trim_end().parse().ok()?];
        input.read_exact(&mut text).ok()?;
        let mut parts =
            text.strip_suffix(b"\0")?.split(|byte| *byte == 0).map(|part| OsString::from_vec(part.to_vec()));
        let mut number = || parts.next()?.to_str()?.parse::<i32>().ok();
        let files = [number()?, number()?, number()?];
        let folder = parts.next()?;
        let count = parts.next()?.to_str()?.parse().ok()?;
        Some(Self { files, folder, call: parts.by_ref().take(count).collect(), env: parts.collect() })
    }
}

impl SupervisorMessage {
    fn encode(&self) -> String {
        match self {
            Self::Started => "started\n".to_owned(),
            Self::NotStarted(why) => format!("not-started {}\n", why.replace('\n', " ")),
            Self::Exited(code) => format!("exited {code}\n"),
            Self::Signaled(signal) => format!("signaled {signal}\n"),
        }
    }

    /// What a line says; none where it is not whole.
    pub(super) fn decode(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
        match line.split_once(' ') {
            None => (line == "started").then_some(Self::Started),
            Some(("not-started", why)) => Some(Self::NotStarted(why.to_owned())),
            Some(("exited", code)) => code.parse().ok().map(Self::Exited),
            Some(("signaled", signal)) => signal.parse().ok().map(Self::Signaled),
            Some(_) => None,
        }
    }
}

/// Starts the agents that it is told of on standard input, one after the other; `runner` is the number of the process that
/// has started this one.
#[cfg(target_os = "linux")]
pub(super) fn keep(runner: &OsStr) -> ! {
    std::process::exit(linux::keep(runner))
}

/// Elsewhere nothing starts it.
#[cfg(not(target_os = "linux"))]
pub(super) fn keep(_runner: &OsStr) -> ! {
    std::process::exit(NOT_KEPT)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{File, OpenOptions};
    use std::io::{self, Write};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::time::Instant;

    use nix::errno::Errno;
    use nix::sys::prctl;
    use nix::sys::signal::{Signal, kill, raise};
    use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
    use nix::unistd::{Pid, getpid, getppid};
    use signal_hook::consts::{SIGCHLD, SIGTERM, SIGUSR1};
    use signal_hook::iterator::Signals;

    use super::{GRACE, NOT_KEPT, OsStr, StartOrder, SupervisorMessage};
    use crate::process::table::Process;
    use crate::process::tree::NOW;

    /// How the agent ended.
    enum AgentExit {
        Exited(i32),
        Signaled(Signal),
    }

    /// Returns this process's exit status.
    pub(super) fn keep(runner: &OsStr) -> i32 {
        // Before there is anything to keep.
        let ready = prctl::set_child_subreaper(true).and_then(|()| prctl::set_pdeathsig(NOW));
        let (Ok(()), Ok(mut signals)) = (ready, Signals::new([SIGCHLD, SIGTERM, SIGUSR1])) else { return NOT_KEPT };
        let mut input = io::stdin().lock();
        while let Some(order) = StartOrder::read(&mut input) {
            // What was said of an agent that has ended is not said of this one.
            signals.pending().for_each(drop);
            // A runner that was killed before that sends no signal any more.
            if runner.to_str().and_then(|runner| runner.parse().ok()) != Some(getppid().as_raw()) {
                return NOT_KEPT;
            }
            let agent = match start(runner, &order) {
                Ok(agent) => agent,
                Err(error) => {
                    say(&SupervisorMessage::NotStarted(error.to_string()));
                    continue;
                }
            };
            say(&SupervisorMessage::Started);
            match until_end(&mut signals, agent) {
                (end, false) => say(&match end {
                    AgentExit::Exited(code) => SupervisorMessage::Exited(code),
                    AgentExit::Signaled(signal) => SupervisorMessage::Signaled(signal as i32),
                }),
                (end, true) => return end_like(&end),
            }
        }
        0
    }

    /// A runner that is gone hears nothing, and the signal of its end comes.
    fn say(word: &SupervisorMessage) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(word.encode().as_bytes()).and_then(|()| out.flush());
    }

    /// Starts an agent, and returns its number.
    fn start(runner: &OsStr, order: &StartOrder) -> io::Result<u32> {
        let path = |file: i32| format!("/proc/{}/fd/{file}", runner.display());
        let [input, output, errors] = order.files;
        let written = |file| OpenOptions::new().write(true).open(path(file));
        let (program, args) = order.call.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let pairs = order.env.iter().filter_map(|pair| {
            let at = pair.as_bytes().iter().position(|byte| *byte == b'=')?;
            let (name, value) = pair.as_bytes().split_at(at);
            Some((OsStr::from_bytes(name), OsStr::from_bytes(&value[1..])))
        });
        let mut command = Command::new(program);
        command.args(args).env_clear().envs(pairs).current_dir(&order.folder);
        command.stdin(File::open(path(input))?).stdout(written(output)?).stderr(written(errors)?);
        // In a group of its own: what it does to its group is not done to its keeper.
        Ok(command.process_group(0).spawn()?.id())
    }

    /// How the agent ended, once nothing of it is left, and whether that was asked for.
    fn until_end(signals: &mut Signals, agent: u32) -> (AgentExit, bool) {
        let mut asked = false;
        for signal in signals.forever() {
            match signal {
                SIGTERM => {
                    asked = true;
                    ask_to_go();
                }
                SIGUSR1 => {
                    kill_all();
                    return (AgentExit::Signaled(Signal::SIGKILL), true);
                }
                _ => {}
            }
            if let Some(end) = reap(agent) {
                kill_all();
                return (end, asked);
            }
        }
        (AgentExit::Exited(NOT_KEPT), true)
    }

    /// Takes note of every child that has ended, and returns how the agent did if it is one of them.
    fn reap(agent: u32) -> Option<AgentExit> {
        let mut end = None;
        while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            let (pid, how) = match status {
                WaitStatus::Exited(pid, code) => (pid, AgentExit::Exited(code)),
                WaitStatus::Signaled(pid, signal, _) => (pid, AgentExit::Signaled(signal)),
                WaitStatus::StillAlive => break,
                _ => continue,
            };
            if u32::try_from(pid.as_raw()) == Ok(agent) {
                end = Some(how);
            }
        }
        end
    }

    /// Asks every process to go, and has this one told to kill when their time is over.
    fn ask_to_go() {
        for signal in [Signal::SIGTERM, Signal::SIGCONT] {
            // One that is stopped cannot go before it runs again.
            for pid in descendants() {
                let _ = kill(Pid::from_raw(pid), signal);
            }
        }
        std::thread::spawn(|| {
            std::thread::sleep(GRACE);
            let _ = kill(getpid(), NOW);
        });
    }

    /// Kills all that descends from this process, and returns when nothing does.
    fn kill_all() {
        let started = Instant::now();
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Err(Errno::ECHILD) => return,
                Ok(WaitStatus::StillAlive) => {}
                _ => continue,
            }
            // Children are listed quickly, so that one that forks and exits without end is met before its next fork;
            // they become children as their parents are killed.
            let known = children();
            let listed = known.is_some();
            for pid in known.unwrap_or_else(descendants) {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            // What does not go belongs to another user, or waits for a disk.
            if started.elapsed() > GRACE {
                return;
            }
            if !listed {
                std::thread::yield_now();
            }
        }
    }

    /// The children of this process; `None` where the system does not list them.
    fn children() -> Option<Vec<i32>> {
        let mut pids = Vec::new();
        for task in std::fs::read_dir("/proc/self/task").ok()? {
            let text = std::fs::read_to_string(task.ok()?.path().join("children")).ok()?;
            pids.extend(text.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
        Some(pids)
    }

    /// All that descends from this process.
    fn descendants() -> Vec<i32> {
        let processes = Process::all(0);
        let mut found = vec![getpid().as_raw()];
        let mut next = 0;
        while let Some(&parent) = found.get(next) {
            found.extend(processes.iter().filter(|process| process.parent == parent).map(|process| process.pid));
            next += 1;
        }
        found.split_off(1)
    }

    /// Ends as the agent did: by its exit status, or by its signal.
    fn end_like(end: &AgentExit) -> i32 {
        match end {
            AgentExit::Exited(code) => *code,
            AgentExit::Signaled(signal) => {
                // The agent has left its core file, if any.
                let _ = prctl::set_dumpable(false);
                let _ = signal_hook::low_level::emulate_default_handler(*signal as i32);
                let _ = raise(*signal);
                128 + *signal as i32
            }
        }
    }
}
