//! Runs the harness over a repository, as a program of its own.

use crate::support::repository;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::fixture::{Fixture, Ran, ran};

/// A harness over a repository: its arguments and variables.
pub struct Harness {
    pub command: Command,
}

/// Where agents of these tests live: like any scratch directory outside every repository, and like the default one
/// shared by all that this user runs, and by no other user.
pub fn scratch() -> String {
    format!("/var/tmp/skill-evals-tests-{}", nix::unistd::getuid())
}

/// Variables that the tools around a test may have set, and that would reach the harness under test.
const FOREIGN: [&str; 4] = ["CI", "RUST_TEST_THREADS", "RUST_TEST_SHUFFLE", "RUST_TEST_NOCAPTURE"];

/// The same, by their beginnings. A cargo that finds those of cargo builds what depends on them again, and so does the next one
/// without them.
const FOREIGN_KINDS: [&str; 4] = ["SKILL_EVALS_", "NEXTEST", "CARGO_MANIFEST_", "CARGO_PKG_"];

/// The harness over `fixture` with these arguments.
pub fn harness(fixture: &Fixture, args: &[&str]) -> Harness {
    let mut command = clean(Command::new(env!("CARGO_BIN_EXE_skill-evals")));
    command.arg("harness").args(args).current_dir(fixture.root());
    Harness { command }
}

/// `command` without what this test's own surroundings set.
pub fn clean(mut command: Command) -> Command {
    for name in FOREIGN {
        command.env_remove(name);
    }
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if FOREIGN_KINDS.iter().any(|kind| text.starts_with(kind)) {
            command.env_remove(&name);
        }
    }
    // Stub agents read and write where the test does.
    command.env("SKILL_EVALS_ISOLATION", "agent").env("SKILL_EVALS_CALIBRATE", "off").stdin(Stdio::null());
    command
}

impl Harness {
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn run(mut self) -> Ran {
        ran(&mut self.command)
    }
}

/// A repository with the skill `greeting`, these rows of cases behind `id,should_trigger,prompt`, and a stub agent: a
/// program that speaks as codex does when it opens the skill, after running `first`, lines of a shell script.
pub fn with_stub_agent(rows: &str, first: &str) -> Fixture {
    let traces = repository().join("tests/fixtures/traces/codex/triggers");
    let fixture = Fixture::new()
        .skill_text("greeting", super::live::GREETING)
        .prompts("greeting", format!("id,should_trigger,prompt\n{rows}"));
    let path = fixture.root().join("stub-codex");
    let script = format!(
        "#!/bin/sh\n{first}\nmkdir -p \"$CODEX_HOME/sessions/2026/01/01\"\n\
         cp {0}/rollout.jsonl \"$CODEX_HOME/sessions/2026/01/01/rollout-1.jsonl\"\ncat {0}/trace.jsonl\n",
        traces.display()
    );
    std::fs::write(&path, script).expect("a script");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, executable).expect("permissions");
    let settings = format!("[agents.codex]\ncommand = \"{}\"\n", path.display());
    fixture.file("evals/evals.toml", settings)
}

/// The names that `--list` prints.
pub fn listed(ran: &Ran) -> Vec<String> {
    ran.stdout.lines().filter_map(|line| line.strip_suffix(": test").map(str::to_owned)).collect()
}

/// The events that `--format json` prints: every line is one.
pub fn events(ran: &Ran) -> Vec<serde_json::Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).expect("a JSON event")).collect()
}

/// The run directories of a repository.
pub fn run_folders(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root.join("artifacts/skill-evals")).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}
