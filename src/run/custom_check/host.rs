//! The harness of a crate in the repository, if it adds checks of its own: built by cargo, and asked by other programs
//! about stored trials. [`client`](super::client) has the protocol.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::client::{CheckQuestion, Greeting, HarnessAnswer, HarnessClient, VARIABLE};
use super::{CustomChecks, Recording};
use crate::process::{find_program, run_to_end, service};
use crate::text::problem::Problem;
use crate::text::relative_path::RelativePath;

/// The checks that a harness adds to those of the repository at `root`: of the harness in [`VARIABLE`], or of the test
/// `named` in evals.toml (`<crate directory>/<test>`), which cargo builds; `tell` gets a message about that. Fails if
/// the harness cannot be built or asked, because grading without its checks would reach other verdicts than `cargo test`.
pub fn custom_checks(
    root: &Path,
    named: Option<&RelativePath>,
    tell: impl FnOnce(&str),
) -> Result<CustomChecks, Problem> {
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
        )
        .into());
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
    let program = the_executable(&messages, &package, package == root, &test).map_err(|why| not_built(&why))?;
    let program = HarnessClient::start(&program, root, Some(&package)).map_err(|why| format!("{setting}: {why}"))?;
    if let Some(program) = program {
        checks.add_harness(program);
    }
    Ok(checks)
}

/// The program of the test of this name according to cargo's messages: that of the crate in `package`, or of the only crate that has
/// one if `any` may be meant.
fn the_executable(messages: &[u8], package: &Path, any: bool, test: &str) -> Result<PathBuf, Problem> {
    let messages = messages.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let is_test = |message: &Value| {
        let target = &message["target"];
        let kinds = target["kind"].as_array();
        message["reason"] == "compiler-artifact"
            && target["name"] == test
            && kinds.is_some_and(|all| all.contains(&"test".into()))
    };
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let path = |value: &Value| value.as_str().map(PathBuf::from);
    // The manifest of each, with its program.
    let built: BTreeMap<PathBuf, PathBuf> = messages
        .filter(is_test)
        .filter_map(|message| Some((real(path(&message["manifest_path"])?), path(&message["executable"])?)))
        .collect();
    let crates = || {
        let all = built.keys().filter_map(|manifest| Some(manifest.parent()?.display().to_string()));
        all.collect::<Vec<_>>().join(", ")
    };
    let own = real(package.join("Cargo.toml"));
    if let Some(program) = built.iter().find_map(|(manifest, program)| (*manifest == own).then_some(program)) {
        return Ok(program.clone());
    }
    if !any {
        return Err(format!("no crate there has a test of this name; these do: {}", crates()).into());
    }
    let mut programs = built.values();
    match (programs.next(), programs.next()) {
        (None, _) => Err("it built no such test".into()),
        (Some(program), None) => Ok(program.clone()),
        _ => Err(format!("several crates have a test of this name: {}; name one as \"CRATE/{test}\"", crates()).into()),
    }
}

/// Answers questions about these checks of the repository at `root`, on standard input and output until the input ends:
/// what a harness does when it is started with [`ARGUMENT`](super::client::ARGUMENT). `problems` are those of its setup.
pub fn serve(checks: &CustomChecks, root: PathBuf, problems: Vec<String>) -> io::Result<()> {
    // Takes standard output away from `main` and the checks, which may print.
    let mut out = service::answers()?;
    let questions = service::questions()?;
    write_line(&mut out, &Greeting { own_checks: checks.names().map(str::to_owned).collect(), root, problems })?;
    for line in questions {
        let answer = match serde_json::from_str(&line) {
            Ok(CheckQuestion { folder }) => results(checks, &folder, &mut out)?,
            Err(error) => HarnessAnswer::Error(format!("{line:?} is not a question: {error}")),
        };
        write_line(&mut out, &answer)?;
    }
    Ok(())
}

fn write_line(out: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    writeln!(out, "{}", serde_json::to_string(message)?)?;
    out.flush()
}

/// The results of these checks for the stored trial at `path`. Before each it says which one runs.
fn results(checks: &CustomChecks, path: &Path, out: &mut impl Write) -> io::Result<HarnessAnswer> {
    let recording = match Recording::open(path) {
        Ok(recording) => recording,
        Err(error) => return Ok(HarnessAnswer::Error(error.to_string())),
    };
    let mut results = Vec::new();
    for check in &checks.checks {
        write_line(out, &HarnessAnswer::Checking(check.name.clone()))?;
        results.extend(check.result(&recording.trial()));
    }
    Ok(HarnessAnswer::Checks(results))
}
