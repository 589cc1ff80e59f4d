//! A program of the user's repository that answers questions line by line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, getpgrp, getpid};

use super::start::spawn;
use super::{GRACE, interrupt};

/// Interval between two checks whether the user has ended the run, or the program has ended.
const POLL: Duration = Duration::from_millis(50);

/// Time that the program gets to end by itself, as a number of checks and the interval between them.
const EXIT_CHECKS: (usize, Duration) = (100, Duration::from_millis(5));

/// The longest line of a program, and how many bytes of what it prints on standard error between two questions are shown.
const LONGEST_LINE: u64 = 16 << 20;
const MOST_PRINTED: usize = 64 << 10;

/// A running program that answers each line with lines. It ends when this is dropped, with all that it started.
#[derive(Debug)]
pub struct Service {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<io::Result<String>>,
    /// How many bytes it has printed on standard error since the last question.
    printed: Arc<AtomicUsize>,
    /// Ends with its standard error.
    errors: Receiver<()>,
}

impl Service {
    /// Starts `program` in `directory`, with these variables set or removed. What it prints on standard error is shown.
    pub fn start(
        program: &Path,
        args: &[&str],
        directory: &Path,
        variables: &[(&str, Option<&Path>)],
    ) -> io::Result<Self> {
        let mut command = Command::new(program);
        for (name, value) in variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.args(args).current_dir(directory).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // In its own group: on Ctrl-C in a terminal, this process ends the program when it is no longer needed.
        let mut child = spawn(command.process_group(0))?;
        let no_pipe = || io::Error::other("its pipes are missing");
        let input = Some(child.stdin.take().ok_or_else(no_pipe)?);
        let stdout = BufReader::new(child.stdout.take().ok_or_else(no_pipe)?);
        let stderr = BufReader::new(child.stderr.take().ok_or_else(no_pipe)?);
        let (sender, output) = sync_channel(16);
        let (ended, errors) = sync_channel(0);
        let printed = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&printed);
        // In their own threads: a read of a pipe cannot be canceled.
        thread::Builder::new().name("service".to_owned()).spawn(move || {
            for line in lines(stdout) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        })?;
        thread::Builder::new().name("service-errors".to_owned()).spawn(move || {
            show(stderr, &count);
            drop(ended);
        })?;
        Ok(Self { child, input, output, printed, errors })
    }

    /// Sends a line, if there is one, and waits at most `limit` for the next line of the program.
    pub fn exchange(&mut self, line: Option<&str>, limit: Duration) -> io::Result<String> {
        if let (Some(line), Some(input)) = (line, &mut self.input) {
            self.printed.store(0, Ordering::Relaxed);
            input.write_all(format!("{line}\n").as_bytes())?;
            input.flush()?;
        }
        let started = Instant::now();
        let mut exit_status: Option<ExitStatus> = None;
        loop {
            match self.output.recv_timeout(POLL) {
                Ok(line) => return line,
                Err(RecvTimeoutError::Disconnected) => exit_status = Some(self.child.wait()?),
                // The evidence for the question exists already: do not lose its answer if the answer is near.
                Err(RecvTimeoutError::Timeout) if interrupt::raised_for().is_some_and(|time| time > GRACE) => {
                    return Err(io::Error::new(io::ErrorKind::Interrupted, "the run was ended before it answered"));
                }
                Err(RecvTimeoutError::Timeout) if started.elapsed() > limit => {
                    let why = format!("it did not answer within {} s", limit.as_secs());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, why));
                }
                // A process that it started may keep its output open. One more read after its end gets its last line.
                Err(RecvTimeoutError::Timeout) if exit_status.is_none() => {
                    exit_status = self.child.try_wait()?;
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(status) = exit_status {
                return Err(io::Error::other(format!("it ended ({status}) without an answer")));
            }
        }
    }
}

/// The lines of a program, of which none may be longer than [`LONGEST_LINE`].
fn lines(mut output: impl BufRead) -> impl Iterator<Item = io::Result<String>> {
    std::iter::from_fn(move || {
        let mut line = String::new();
        match output.by_ref().take(LONGEST_LINE).read_line(&mut line) {
            Ok(0) => None,
            Ok(_) if line.len() as u64 == LONGEST_LINE => {
                Some(Err(io::Error::new(io::ErrorKind::InvalidData, "it printed a line of more than 16 MiB")))
            }
            Ok(_) => Some(Ok(line.trim_end_matches(['\r', '\n']).to_owned())),
            Err(error) => Some(Err(error)),
        }
    })
}

/// Shows what a program prints on standard error, to the end.
#[expect(clippy::disallowed_methods, reason = "as if it had inherited it")]
fn show(mut errors: impl Read, printed: &AtomicUsize) {
    let mut part = [0; 4096];
    while let Ok(read @ 1..) = errors.read(&mut part) {
        let before = printed.fetch_add(read, Ordering::Relaxed);
        // If standard error is closed, the text is lost.
        let _ = match MOST_PRINTED.checked_sub(before) {
            None => Ok(()),
            Some(left) if left < read => io::stderr().write_all(&[&part[..left], b"\n... it printed more\n"].concat()),
            Some(_) => io::stderr().write_all(&part[..read]),
        };
    }
}

/// The file for a service's answers: the standard output of this process. From now on everything else that this process
/// prints goes to standard error.
#[expect(clippy::disallowed_methods, reason = "the caller reads it")]
pub fn answers() -> io::Result<File> {
    let answers = nix::unistd::dup(io::stdout())?;
    nix::unistd::dup2_stdout(io::stderr())?;
    Ok(File::from(answers))
}

/// The questions of whoever started this process as a service. When there can be no more, because that process ended or needs no
/// answer, this one ends at once with all that it started, whatever it does.
pub fn questions() -> io::Result<Receiver<String>> {
    let (sender, questions) = sync_channel(0);
    thread::Builder::new().name("questions".to_owned()).spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
        if getpgrp() == getpid() {
            let _ = killpg(getpgrp(), Signal::SIGKILL);
        }
        std::process::exit(0);
    })?;
    Ok(questions)
}

impl Drop for Service {
    fn drop(&mut self) {
        // The program ends with its input.
        self.input.take();
        let (checks, interval) = EXIT_CHECKS;
        let has_ended = (0..checks).any(|_| {
            let has_ended = !matches!(self.child.try_wait(), Ok(None));
            if !has_ended {
                thread::sleep(interval);
            }
            has_ended
        });
        if !has_ended {
            let group = i32::try_from(self.child.id()).ok();
            let _ = group.map(|group| killpg(Pid::from_raw(group), Signal::SIGKILL));
            let _ = self.child.wait();
        }
        // A process that it started may keep its standard error open.
        let _ = self.errors.recv_timeout(interval * 20);
    }
}
