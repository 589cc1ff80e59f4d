//! A program of the user's repository that answers questions line by line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::spawn::spawn;
use super::{GRACE, interrupt};

/// Maximum time for an answer.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Interval between two checks whether the user has ended the run, or the program has ended.
const POLL: Duration = Duration::from_millis(50);

/// Time that the program gets to end by itself, as a number of checks and the interval between them.
const EXIT_CHECKS: (usize, Duration) = (100, Duration::from_millis(5));

/// A running program that answers each line with a line. It ends when this is dropped.
#[derive(Debug)]
pub struct Service {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<io::Result<String>>,
}

impl Service {
    /// Starts `program` in `directory`, with these variables set or removed. It inherits standard error.
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
        command.args(args).current_dir(directory).stdin(Stdio::piped()).stdout(Stdio::piped());
        // In its own group: on Ctrl-C in a terminal, this process ends the program when it is no longer needed.
        let mut child = spawn(command.process_group(0))?;
        let no_pipe = || io::Error::other("its pipes are missing");
        let input = Some(child.stdin.take().ok_or_else(no_pipe)?);
        let stdout = BufReader::new(child.stdout.take().ok_or_else(no_pipe)?);
        let (sender, output) = sync_channel(16);
        // In its own thread: a read of a pipe cannot be canceled.
        thread::Builder::new().name("service".to_owned()).spawn(move || {
            for line in stdout.lines() {
                if sender.send(line).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { child, input, output })
    }

    /// Sends a line, if there is one, and waits for the next line of the program.
    pub fn exchange(&mut self, line: Option<&str>) -> io::Result<String> {
        if let (Some(line), Some(input)) = (line, &mut self.input) {
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
                Err(RecvTimeoutError::Timeout) if started.elapsed() > TIMEOUT => {
                    let why = format!("it did not answer within {} s", TIMEOUT.as_secs());
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

/// The file for a service's answers: the standard output of this process. From now on everything else that this process
/// prints goes to standard error.
#[expect(clippy::disallowed_methods, reason = "the caller reads it")]
pub fn answers() -> io::Result<File> {
    let answers = nix::unistd::dup(io::stdout())?;
    nix::unistd::dup2_stdout(io::stderr())?;
    Ok(File::from(answers))
}

impl Drop for Service {
    fn drop(&mut self) {
        // The program ends with its input.
        self.input.take();
        let (checks, interval) = EXIT_CHECKS;
        for _ in 0..checks {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(interval),
                _ => return,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
