//! A program of the repository's own that answers questions line by line, for as long as it is needed.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running program that answers each line with a line. It ends when this is dropped.
#[derive(Debug)]
pub struct Service {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
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
        let mut child = command.args(args).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let missing = || io::Error::other("its pipes are missing");
        let input = Some(child.stdin.take().ok_or_else(missing)?);
        let output = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        Ok(Self { child, input, output })
    }

    /// Sends a line, where there is one to send, and waits for the next that it answers.
    ///
    /// # Errors
    /// When it has ended, or its pipes fail.
    pub fn exchange(&mut self, line: Option<&str>) -> io::Result<String> {
        if let (Some(line), Some(input)) = (line, &mut self.input) {
            input.write_all(line.as_bytes())?;
            input.write_all(b"\n")?;
            input.flush()?;
        }
        let mut answer = String::new();
        if self.output.read_line(&mut answer)? == 0 {
            let status = self.child.wait()?;
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("it ended ({status}) without an answer")));
        }
        Ok(answer)
    }
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
