//! Starts a command in the background, away from the terminal.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::CliResult;
use crate::cli::exit_code::Exit;
use crate::cli::output::text_stdout;
use crate::process::background;
use crate::settings::Settings;
use crate::store::RunFolder;

/// How long the process may take until it owns its run directory.
const STARTUP: Duration = Duration::from_secs(20);

/// Starts this same command again, detached, and waits until its run has begun.
pub fn start(root: &Path, settings: &Settings) -> CliResult {
    let folder = match (&settings.run_id, settings.resume) {
        (Some(id), true) => RunFolder::open(root, id)?,
        (id, _) => RunFolder::create(root, id.as_deref())?,
    };
    let log = folder.log();
    let mut child = background::start(&["--run-id", folder.id()], &log)?;
    let pid = i32::try_from(child.id()).unwrap_or_default();
    let started = Instant::now();
    loop {
        if folder.runner().is_some_and(|runner| runner.pid == pid) {
            let id = folder.id();
            writeln!(text_stdout(), "{id} runs in the background as process {pid}\nskill-evals status {id}")?;
            return Ok(Exit::Clean);
        }
        if let Some(status) = child.try_wait()? {
            let text = fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("the run ended at once ({status}):\n{}", text.trim_end()).into());
        }
        if started.elapsed() > STARTUP {
            return Err(format!("did not start; see {}", log.display()).into());
        }
        thread::sleep(Duration::from_millis(10));
    }
}
