//! Programs that answer at once and end by themselves.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs a program with the PATH as its whole environment and an empty input.
///
/// # Errors
/// When it cannot be started.
pub fn output(program: &Path, args: &[OsString]) -> io::Result<Output> {
    let path = std::env::var_os("PATH").map(|path| ("PATH", path));
    Command::new(program).args(args).env_clear().envs(path).current_dir("/").stdin(Stdio::null()).output()
}

/// Opens a file in the program that the user's desktop has for it.
///
/// # Errors
/// When there is no such program, or it fails.
pub fn open(file: &Path) -> io::Result<()> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{program} ended with {status}"))) }
}
