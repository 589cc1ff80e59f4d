//! The harness of a crate in the repository, if it adds checks of its own: built by cargo, and asked by other programs
//! about stored trials. [`client`](super::client) has the protocol.

use std::fmt::Display;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::client::{CheckQuestion, Greeting, HarnessAnswer, HarnessClient, VARIABLE};
use super::{CustomChecks, Recording};
use crate::process::{find_program, run_to_end, service};
use crate::text::relative_path::RelativePath;
use crate::trial::outcome::CheckResult;

/// The checks that a harness adds to those of the repository at `root`: of the harness in [`VARIABLE`], or of the test
/// `named` in evals.toml (`<crate directory>/<test>`), which cargo builds; `tell` gets a message about that. Fails if
/// the harness cannot be built or asked, because grading without its checks would reach other verdicts than `cargo test`.
pub fn custom_checks(
    root: &Path,
    named: Option<&RelativePath>,
    tell: impl FnOnce(&str),
) -> Result<CustomChecks, String> {
    let mut checks = CustomChecks::default();
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        if let Some(program) = HarnessClient::start(Path::new(&path), root, None)? {
            checks.add_harness(program);
        }
        return Ok(checks);
    }
    let Some(named) = named.map(RelativePath::as_path) else { return Ok(checks) };
    let package = root.join(named.parent().unwrap_or(Path::new("")));
    let test = named.file_name().unwrap_or_default().to_string_lossy();
    let setting = format!("`harness = \"{}\"` in evals/evals.toml", named.display());
    if find_program("cargo").is_none() {
        return Err(format!(
            "{setting} adds checks written in Rust, and `cargo` is not on the PATH to build them; install Rust \
             (https://rustup.rs), or build the test `{test}` elsewhere and name the program in {VARIABLE}"
        ));
    }
    tell(&format!("cargo builds the test `{test}` in {}, which may add checks", package.display()));
    let not_built = |error: &dyn Display| {
        format!(
            "{setting}: cargo cannot build the test `{test}` in {}: {error}; fix what cargo says, or \
             build it and name the program in {VARIABLE}",
            package.display()
        )
    };
    let args = ["test", "--no-run", "--quiet", "--message-format", "json-render-diagnostics", "--test", &test];
    let messages = run_to_end::stdout_of("cargo", &args, &package).map_err(|error| not_built(&error))?;
    let program = executable(&messages, &test).ok_or_else(|| not_built(&"it built no such test"))?;
    let program = HarnessClient::start(&program, root, Some(&package)).map_err(|why| format!("{setting}: {why}"))?;
    if let Some(program) = program {
        checks.add_harness(program);
    }
    Ok(checks)
}

/// The program of a test, according to cargo's messages.
fn executable(messages: &[u8], test: &str) -> Option<PathBuf> {
    let messages = messages.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    messages
        .filter(|message| message["reason"] == "compiler-artifact" && message["target"]["name"] == test)
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
        .next_back()
}

/// Answers questions about these checks of the repository at `root`, on standard input and output until the input ends:
/// what a harness does when it is started with [`ARGUMENT`](super::client::ARGUMENT).
pub fn serve(checks: &CustomChecks, root: PathBuf) -> io::Result<()> {
    // Takes standard output away from `main` and the checks, which may print.
    let mut out = service::answers()?;
    write_line(&mut out, &Greeting { own_checks: checks.names().map(str::to_owned).collect(), root })?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let results = serde_json::from_str(&line)
            .map_err(|error| format!("{line:?} is not a question: {error}"))
            .and_then(|CheckQuestion { folder }| results(checks, &folder));
        write_line(&mut out, &results.map_or_else(HarnessAnswer::Error, HarnessAnswer::Checks))?;
    }
    Ok(())
}

fn write_line(out: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    writeln!(out, "{}", serde_json::to_string(message)?)?;
    out.flush()
}

/// The results of these checks for the stored trial at `path`.
fn results(checks: &CustomChecks, path: &Path) -> Result<Vec<CheckResult>, String> {
    let recording = Recording::open(path).map_err(|error| error.to_string())?;
    Ok(checks.made_here(&recording.trial()))
}
