//! Tests that run real agent programs: where these are, and what to do where they are not.

use crate::support::repository;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use libtest_mimic::{Completion, Failed, Trial};
use skill_evals_evidence::settings::mode::AgentKind;

/// Set where the programs have to be there, as in CI: a missing one is then a failure.
const REQUIRED: &str = "REQUIRE_AGENTS";

/// Set in CI to a number that each change has its own of.
const CHANGE: &str = "CHANGE";

/// Each change runs one of this many parts of the tests. It has no divisor in common with the number of the fault matrix's modes:
/// every row meets every mode.
const PARTS: usize = 23;

/// Set in the step of CI that calibrates agents: each change calibrates one of this many parts of them.
const CALIBRATED_PARTS: &str = "CALIBRATED_PARTS";

/// How to get the agents.
pub const HOW_TO_GET_AGENTS: &str = "get it with `npm install --prefix target/agents` as .ci/run does";

/// One test with a real program, by its module and name.
pub type Test = (&'static str, fn());

/// Where npm put the programs.
pub fn programs() -> PathBuf {
    repository().join("target/agents/node_modules/.bin")
}

/// The program of an agent: our own, or one of npm.
pub fn program_of(kind: AgentKind) -> PathBuf {
    match kind {
        AgentKind::Chat => env!("CARGO_BIN_EXE_skill-evals").into(),
        _ => programs().join(kind.profile().program),
    }
}

/// The PATH with the programs first.
pub fn path_with_programs() -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(programs()).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).expect("a PATH")
}

/// Where Copilot has unpacked itself, as on a user's machine: once, and not in every home.
pub fn copilot_packages() -> &'static Path {
    static PACKAGES: OnceLock<PathBuf> = OnceLock::new();
    PACKAGES.get_or_init(|| {
        let path = repository().join("target/agents/copilot");
        let copilot = programs().join("copilot");
        if copilot.exists() {
            let ran = Command::new(copilot).arg("--version").env("COPILOT_PKG_CACHE_HOME", &path).output();
            assert!(ran.is_ok_and(|output| output.status.success()), "copilot starts");
        }
        path
    })
}

/// Puts ripgrep where OpenCode has downloaded it on a user's machine, whose PATH may not have it.
pub fn link_ripgrep(cache: &Path) {
    let programs = cache.join("opencode/bin");
    std::fs::create_dir_all(&programs).expect("a directory");
    let ripgrep = repository().join("target/agents/node_modules/@vscode/ripgrep-linux-x64/bin/rg");
    std::os::unix::fs::symlink(ripgrep, programs.join("rg")).expect("a link");
}

/// Whether a program can be started with these arguments.
pub fn starts(program: &str, args: &[&str]) -> bool {
    let ran = Command::new(program).args(args).output();
    ran.is_ok_and(|output| output.status.success())
}

/// Whether bubblewrap can make a sandbox here.
pub fn bwrap_works() -> bool {
    starts("bwrap", &["--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "/bin/sh", "-c", ":"])
}

/// `tests`, each of which needs the agent `program`.
pub fn all_needing_agent(program: &'static str, tests: &[Test]) -> Vec<Trial> {
    all_needing(program, programs().join(program).exists(), HOW_TO_GET_AGENTS, tests)
}

/// `tests`, each of which needs codex and Claude Code.
pub fn all_needing_both_agents(tests: &[Test]) -> Vec<Trial> {
    let found = ["codex", "claude"].iter().all(|program| programs().join(program).exists());
    all_needing("codex and claude", found, HOW_TO_GET_AGENTS, tests)
}

/// `tests`, each of which needs `program`, which is `found` or not.
pub fn all_needing(program: &'static str, found: bool, how_to_get: &'static str, tests: &[Test]) -> Vec<Trial> {
    let missing = (!found).then_some(program);
    let test = |&(name, body): &Test| {
        let ran = move || {
            body();
            Ok(())
        };
        needing(name.trim_start_matches("real::"), missing, how_to_get, ran)
    };
    tests.iter().map(test).collect()
}

/// A test that is ignored, with the reason, if a program is `missing`; where programs are required it fails.
pub fn needing(
    name: &str,
    missing: Option<&'static str>,
    how_to_get: &'static str,
    test: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    // Ignored when it runs rather than beforehand: only so is the reason printed.
    Trial::ignorable_test(name, move || {
        let Some(program) = missing else { return test().map(|()| Completion::Completed) };
        let reason = format!("`{program}` is missing; {how_to_get}");
        if std::env::var_os(REQUIRED).is_some() { Err(reason.into()) } else { Ok(Completion::ignored_with(reason)) }
    })
}

/// The number of this change in CI.
pub fn change() -> Option<usize> {
    std::env::var(CHANGE).ok()?.parse().ok()
}

/// All tests, or in CI those of one part: the others are ignored, since their turn comes with other changes. Neighbors are in
/// different parts, so that each part has tests of every agent. `.ci/nightly` runs all.
pub fn in_turn(trials: Vec<Trial>) -> Vec<Trial> {
    let Some(change) = change() else { return trials };
    // Agents are calibrated in a step of its own: beside the other tests, a slow agent runs out of time.
    let of_calibration = std::env::var(CALIBRATED_PARTS).ok().and_then(|parts| parts.parse().ok());
    let parts = of_calibration.unwrap_or(PARTS);
    eprintln!(
        "this change runs one of {parts} parts of these tests; the others are ignored, and `.ci/nightly` runs all"
    );
    let (calibrations, others): (Vec<_>, Vec<_>) =
        trials.into_iter().partition(|trial| trial.name().ends_with("_is_read_rightly"));
    let (asked, later) = if of_calibration.is_some() { (calibrations, others) } else { (others, calibrations) };
    let in_turn = |(at, trial): (usize, Trial)| {
        let is_ignored = trial.has_ignored_flag() || !(at + change).is_multiple_of(parts);
        trial.with_ignored_flag(is_ignored)
    };
    let later = later.into_iter().map(|trial| trial.with_ignored_flag(true));
    asked.into_iter().enumerate().map(in_turn).chain(later).collect()
}

/// Whether a test that needs bubblewrap can run; fails where it has to.
pub fn has_bwrap() -> bool {
    let works = bwrap_works();
    if !works {
        ignored("bubblewrap does not work here");
    }
    works
}

/// Says why this test, or the rest of it, is ignored; fails where programs are required. Nothing hides what it says, as the output
/// of tests that pass is hidden.
pub fn ignored(why: &str) {
    assert!(std::env::var_os(REQUIRED).is_none(), "{why}");
    let thread = std::thread::current();
    let _ = writeln!(std::io::stderr(), "test {} ... ignored, {why}", thread.name().unwrap_or_default());
}

/// Names and functions of the tests of a module.
#[macro_export]
macro_rules! tests {
    ($($name:ident),+ $(,)?) => { &[$((concat!(module_path!(), "::", stringify!($name)), $name as fn())),+] };
}
