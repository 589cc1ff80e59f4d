//! Programs that end by themselves.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Exit codes of a shell that cannot run a command: syntax error, not executable, not found.
const NOT_STARTED: [i32; 3] = [2, 126, 127];

/// Runs a program with an empty input and no variable but the PATH.
pub fn output(program: &Path, args: &[OsString]) -> io::Result<Output> {
    let path = std::env::var_os("PATH").map(|path| ("PATH", path));
    Command::new(program).args(args).env_clear().envs(path).current_dir("/").stdin(Stdio::null()).output()
}

/// Runs `program` in `directory` and returns its standard output. It inherits standard error.
pub fn stdout_of(program: &str, args: &[&str], directory: &Path) -> io::Result<Vec<u8>> {
    let mut command = Command::new(program);
    let output = command.args(args).current_dir(directory).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(io::Error::other(format!("`{program} {}` ended with {}", args.join(" "), output.status)))
    }
}

/// Opens a file in the user's default program.
pub fn open(file: &Path) -> io::Result<()> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
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
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // Fails if the user leaves the pager early.
        let _ = stdin.write_all(text.as_bytes());
    }
    let status = child.wait()?;
    Ok(!status.code().is_some_and(|code| NOT_STARTED.contains(&code)))
}
