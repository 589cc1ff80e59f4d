//! Shows a long text with the pager of the user.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// How a shell ends that cannot run a command: it understood none, may not run it, or found none.
const NOT_STARTED: [i32; 3] = [2, 126, 127];

/// Shows `text` with `pager`, a shell's command, until the user leaves it. `less` shows colours, and ends by itself where
/// the text fits on the screen. Returns whether there was such a pager.
///
/// # Errors
/// When no shell can be started.
pub fn page(pager: &str, text: &str) -> io::Result<bool> {
    let mut command = Command::new("sh");
    command.args(["-c", pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // Who leaves the pager early has seen enough.
        let _ = stdin.write_all(text.as_bytes());
    }
    let status = child.wait()?;
    Ok(!status.code().is_some_and(|code| NOT_STARTED.contains(&code)))
}
