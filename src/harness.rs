//! The test harness: every case in every mode as a test that cargo test, nextest and IDEs understand.
//!
//! A `tests/skill_evals.rs` with `harness = false` needs one line: `fn main() -> std::process::ExitCode {
//! skill_evals::harness::main() }`. Without more, tests replay recordings; `SKILL_EVALS_LIVE=1` runs the agents.

mod trials;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::Arguments;

use crate::catalog::Catalog;
use crate::config;
use crate::discovery::{Repository, Scope};
use crate::process::{interrupt, watchdog};
use crate::run::Run;
use crate::settings::Settings;

/// Runs the evals of the repository that holds the crate under test, as its arguments say.
#[must_use]
pub fn main() -> ExitCode {
    if watchdog::take_over() {
        return ExitCode::SUCCESS;
    }
    let mut args = Arguments::from_args();
    let start = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from);
    let root = std::path::absolute(&start)
        .ok()
        .and_then(|start| Repository::around(&start))
        .map_or_else(|| start.clone(), |repository| repository.root);
    let (settings, setup_problem) = match config::read(&root) {
        Ok(settings) => (settings, None),
        Err(error) => (Settings::default(), Some(error.to_string())),
    };
    args.test_threads = Some(args.test_threads.unwrap_or(settings.jobs).max(1));
    let catalog = read_catalog(&root, &settings, &args);
    let run = Arc::new(Run::new(root, settings, catalog));
    let trials = trials::all(&run, setup_problem.as_deref());
    if !args.list {
        // Without it Ctrl-C would leave agents behind; with it they go first.
        if let Err(error) = interrupt::listen(false) {
            let _ = writeln!(std::io::stderr(), "skill-evals: Ctrl-C will not end running agents: {error}");
        }
    }
    let conclusion = libtest_mimic::run(&args, trials);
    if interrupt::raised() {
        return ExitCode::from(130);
    }
    conclusion.exit_code()
}

fn read_catalog(root: &Path, settings: &Settings, args: &Arguments) -> Catalog {
    let repository = Repository { root: root.to_path_buf() };
    let scope = match &args.filter {
        Some(name) if args.exact => {
            let mut parts = name.split("::");
            match (parts.next(), parts.next()) {
                (Some(skill), Some(case)) => Scope::Test { skill, case },
                _ => Scope::All,
            }
        }
        _ => Scope::All,
    };
    repository.catalog(settings.skill_roots.as_deref(), scope)
}
