//! Starts a command in the background, away from the terminal.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::CliResult;
use crate::cli::exit_code::Exit;
use crate::cli::output::stdout;
use skill_evals::process::background;
use skill_evals::settings::Settings;
use skill_evals::store::RunFolder;

/// How long it may take until it has its run folder.
const BEGINNING: Duration = Duration::from_secs(20);

/// Starts this very command again, detached, and waits until it has begun.
pub fn start(root: &Path, settings: &Settings) -> CliResult {
    let folder = match (&settings.run_id, settings.resume) {
        (Some(id), true) => RunFolder::open(root, id)?,
        (id, _) => RunFolder::create(root, id.as_deref())?,
    };
    let log = folder.log();
    let mut child = background::start(&["--run-id", folder.id()], &log)?;
    let began = Instant::now();
    let pid = i32::try_from(child.id()).unwrap_or_default();
    loop {
        if folder.runner().is_some_and(|runner| runner.pid == pid) {
            writeln!(stdout(), "{} runs in the background as process {pid}", folder.id())?;
            writeln!(stdout(), "skill-evals status --run-id {}", folder.id())?;
            return Ok(Exit::Clean);
        }
        if let Some(status) = child.try_wait()? {
            let said = fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("it ended at once ({status}):\n{}", said.trim_end()).into());
        }
        if began.elapsed() > BEGINNING {
            return Err(format!("it has not started; see {}", log.display()).into());
        }
        thread::sleep(Duration::from_millis(10));
    }
}
