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
