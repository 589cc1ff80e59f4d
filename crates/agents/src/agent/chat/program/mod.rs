//! The agent's process: asks the model, runs its calls, and prints what happens.

mod completions;
mod conversation;
mod http;
mod messages;
mod prompt;
mod responses;
mod session;
mod skills;
mod tools;

use std::error::Error;
use std::io::{self, BufRead};
use std::process::ExitCode;

use serde_json::json;

use super::setup::{ARGUMENT, ChatSetup};
use session::{ChatSession, Progress};

/// Runs as the agent if this process was started as that.
#[expect(clippy::disallowed_methods, reason = "the runner reads it")]
pub fn take_over() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    (args.next()? == ARGUMENT && args.next().is_none()).then(|| match run() {
        Ok(code) => code,
        Err(error) => {
            use std::io::Write;
            // If standard error is closed, the exit code is left.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    })
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    // Otherwise the model's commands could read the key in this process's memory.
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_dumpable(false)?;
    let mut lines = io::stdin().lock().lines();
    let setup: ChatSetup = serde_json::from_str(&lines.next().ok_or("standard input has no setup")??)?;
    let mut session = ChatSession::begin(setup)?;
    for line in lines {
        let message: String = serde_json::from_str(&line?)?;
        session.emit("message", &json!({}))?;
        match session.answer(message)? {
            Progress::Answered => session.done()?,
            Progress::Stopped(reason) => {
                session.emit("stopped", &json!({ "reason": reason }))?;
                break;
            }
            Progress::Refused => return Ok(ExitCode::FAILURE),
        }
    }
    Ok(ExitCode::SUCCESS)
}
