//! Tests that run real agent programs: where these are, and what to do where they are not.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// Set where the programs have to be there, as in CI: a missing one is then a failure.
const REQUIRED: &str = "REQUIRE_AGENTS";

/// One test with a real program.
pub type Test = (&'static str, fn());

/// Where npm put the programs.
pub fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/agents/node_modules/.bin")
}

/// The PATH with the programs first.
pub fn path_with_programs() -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(programs()).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).expect("a PATH")
}

/// Runs `tests`, each of which needs the agent `program`; ignored with the reason where it is missing.
pub fn main(program: &'static str, tests: &[Test]) -> ExitCode {
    let how_to_get = "get it with `npm ci --prefix target/agents` as .ci/run does";
    needing(program, programs().join(program).exists(), how_to_get, tests)
}

/// Whether a program can be started with these arguments.
pub fn starts(program: &str, args: &[&str]) -> bool {
    let ran = std::process::Command::new(program).args(args).output();
    ran.is_ok_and(|output| output.status.success())
}

/// Whether bubblewrap can make a sandbox here.
pub fn bwrap_works() -> bool {
    starts("bwrap", &["--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "/bin/sh", "-c", ":"])
}

/// Runs `tests`, each of which needs `program`, which is `found` or not.
pub fn needing(program: &'static str, found: bool, how_to_get: &'static str, tests: &[Test]) -> ExitCode {
    let mut args = Arguments::from_args();
    // Programs wait more than they work; more at once than this and their own timeouts grow tight.
    args.test_threads = Some(args.test_threads.unwrap_or(4));
    let required = std::env::var_os(REQUIRED).is_some();
    let trials = tests.iter().map(|&(name, body)| {
        let run = move || {
            if found {
                body();
                return Ok(Completion::Completed);
            }
            let reason = format!("`{program}` is missing; {how_to_get}");
            if required { Err(Failed::from(reason)) } else { Ok(Completion::ignored_with(reason)) }
        };
        // Ignored when it runs rather than beforehand: only so is the reason printed.
        Trial::ignorable_test(name, run)
    });
    libtest_mimic::run(&args, trials.collect()).exit_code()
}

/// Whether a test that needs bubblewrap can run; fails where it has to.
pub fn has_bwrap() -> bool {
    let works = bwrap_works();
    assert!(works || std::env::var_os(REQUIRED).is_none(), "bubblewrap does not work here");
    works
}

/// Names and functions of tests.
#[macro_export]
macro_rules! tests {
    ($($name:ident),+ $(,)?) => { &[$((stringify!($name), $name as fn())),+] };
}
