//! A program of the repository's own that answers questions line by line, for as long as it is needed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::{GRACE, interrupt};

/// How long an answer may take: a program that never answers must not keep a run for ever.
const PATIENCE: Duration = Duration::from_secs(600);

/// How often a waiting caller looks whether the user has ended the run, or the program has ended.
const LOOK: Duration = Duration::from_millis(50);

/// A running program that answers each line with a line. It ends when this is dropped.
#[derive(Debug)]
pub struct Service {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<io::Result<String>>,
}

impl Service {
    /// Starts `program` in `folder`, with these variables set or removed; what it says on standard error is ours.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(
        program: &Path,
        args: &[&str],
        folder: &Path,
        variables: &[(&str, Option<&Path>)],
    ) -> io::Result<Self> {
        let mut command = Command::new(program);
        for (name, value) in variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.args(args).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        // In a group of its own: Ctrl-C in a terminal is for this process, which ends it once it is no longer needed.
        let mut child = command.process_group(0).spawn()?;
        let missing = || io::Error::other("its pipes are missing");
        let input = Some(child.stdin.take().ok_or_else(missing)?);
        let stdout = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        let (said, output) = sync_channel(16);
        // A thread of its own: reading a pipe cannot be given up.
        thread::Builder::new().name("service".to_owned()).spawn(move || {
            for line in stdout.lines() {
                if said.send(line).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { child, input, output })
    }

    /// Sends a line, where there is one to send, and waits for the next that it answers.
    ///
    /// # Errors
    /// When it has ended, its pipes fail, it takes too long, or the user ends the run meanwhile.
    pub fn exchange(&mut self, line: Option<&str>) -> io::Result<String> {
        if let (Some(line), Some(input)) = (line, &mut self.input) {
            input.write_all(line.as_bytes())?;
            input.write_all(b"\n")?;
            input.flush()?;
        }
        let asked = Instant::now();
        let mut ended = None;
        loop {
            match self.output.recv_timeout(LOOK) {
                Ok(line) => return line,
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.child.wait()?;
                    return Err(io::Error::other(format!("it ended ({status}) without an answer")));
                }
                // What it is asked about is there, and is not to be lost for a moment.
                Err(RecvTimeoutError::Timeout) if interrupt::raised_for().is_some_and(|time| time > GRACE) => {
                    return Err(io::Error::new(io::ErrorKind::Interrupted, "the run was ended before it answered"));
                }
                Err(RecvTimeoutError::Timeout) if asked.elapsed() > PATIENCE => {
                    let why = format!("it did not answer within {} s", PATIENCE.as_secs());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, why));
                }
                Err(RecvTimeoutError::Timeout) => match (ended, self.child.try_wait()?) {
                    // What it started may keep its output open.
                    (Some(status), _) => {
                        return Err(io::Error::other(format!("it ended ({status}) without an answer")));
                    }
                    (None, status) => ended = status,
                },
            }
        }
    }
}

/// Where a service writes its answers: the standard output of this process, which from now on goes to standard error for
/// all else that prints.
///
/// # Errors
/// When descriptors cannot be copied.
pub fn answers() -> io::Result<File> {
    let answers = nix::unistd::dup(io::stdout())?;
    nix::unistd::dup2_stdout(io::stderr())?;
    Ok(File::from(answers))
}

impl Drop for Service {
    fn drop(&mut self) {
        // The end of its input is its sign to go; one that does not see it is ended.
        self.input.take();
        for _ in 0..100 {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(std::time::Duration::from_millis(5)),
                _ => return,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs `program` to its end in `folder` and returns its standard output; standard error is ours.
///
/// # Errors
/// When it does not start, or ends with another status than 0.
pub fn output_of(program: &str, args: &[&str], folder: &Path) -> io::Result<Vec<u8>> {
    let output =
        Command::new(program).args(args).current_dir(folder).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(io::Error::other(format!("`{program} {}` ended with {}", args.join(" "), output.status)))
    }
}
