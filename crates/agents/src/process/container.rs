//! The client of docker or podman, which names the container of a tree by the tree's mark.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use super::spawn::{end_within, spawn};

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
pub(super) fn name(mark: &str) -> String {
    format!("room-{mark}")
}

/// Removes the container of a tree. It may have ended by now, or not have begun.
pub(super) fn remove(client: &Path, mark: &str) {
    let name = name(mark);
    for args in [["kill", &name].as_slice(), &["rm", "--force", &name]] {
        let _ = client_output(client, args);
    }
}
