//! Programs that end by themselves.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use super::Start;
use super::start::{self, spawn, spawn_with};

/// Exit codes of a shell that cannot run a command: syntax error, not executable, not found.
const NOT_STARTED: [i32; 3] = [2, 126, 127];

/// Runs a program with an empty input and no variable but the PATH.
pub fn output(start: &Start) -> io::Result<Output> {
    let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
    let (mut command, handed) = start.command(&path.into_iter().collect(), &super::tree::new_mark(), None)?;
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    spawn_with(&handed, &mut command)?.wait_with_output()
}

/// Runs `program` in `directory` and returns its standard output. It inherits standard error.
pub fn stdout_of(program: &str, args: &[&str], directory: &Path) -> io::Result<Vec<u8>> {
    let mut command = Command::new(program);
    let output = start::output(command.args(args).current_dir(directory).stdin(Stdio::null()))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(io::Error::other(format!("`{program} {}` ended with {}", args.join(" "), output.status)))
    }
}

/// Runs `program` in `directory`, and returns whether it succeeded. It inherits standard output and standard error.
pub fn succeeds(program: &str, args: &[&str], directory: &Path) -> io::Result<bool> {
    let mut command = Command::new(program);
    Ok(start::status(command.args(args).current_dir(directory).stdin(Stdio::null()))?.success())
}

/// Opens a file in the user's default program.
pub fn open(file: &Path) -> io::Result<()> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status =
        start::status(&mut command).map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{program} ended with {status}"))) }
}

/// Shows `text` with the shell command `pager`. `less` shows colors, and ends by itself if the text fits on the screen.
/// Returns whether the pager exists.
pub fn page(pager: &str, text: &str) -> io::Result<bool> {
    let mut command = Command::new("sh");
    command.args(["-c", pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let mut child = spawn(&mut command)?;
    if let Some(mut stdin) = child.stdin.take() {
        // Fails if the user leaves the pager early.
        let _ = stdin.write_all(text.as_bytes());
    }
    let status = child.wait()?;
    Ok(!status.code().is_some_and(|code| NOT_STARTED.contains(&code)))
}

/// Runs a shell command with an empty input. It writes both of its outputs to `output`. Returns its exit code; `None` if it took
/// longer than `patience` and was killed with its process group.
pub fn shell(command: &str, output: &File, patience: Duration) -> io::Result<Option<i32>> {
    let shell = super::find_program("bash").unwrap_or_else(|| "sh".into());
    let mut shell = Command::new(shell);
    shell
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        .process_group(0);
    let status = start::end_within(&mut spawn(&mut shell)?, patience)?;
    Ok(status.map(|status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))))
}
