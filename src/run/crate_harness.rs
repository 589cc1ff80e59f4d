//! The harness of a crate in the repository, where it adds checks of its own: built by cargo, and asked by other programs
//! about stored trials; [`check_program`](crate::run::check_program) has the protocol.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::agent;
use crate::process::service::{self, output_of};
use crate::run::check_program::{CheckProgram, Greeting, ProgramAnswer, Question, VARIABLE};
use crate::run::own_check::OwnChecks;
use crate::run::skill_texts::TextReader;
use crate::store;
use crate::text::relative_path::RelativePath;
use crate::trial::evidence::Evidence;
use crate::trial::outcome::CheckResult;

/// The checks that a harness adds to those of the repository at `root`. Has cargo build the test that evals.toml names, a test's
/// name behind its crate's directory, says so by `tell`, and asks it.
pub fn own_checks(root: &Path, named: Option<&RelativePath>, tell: impl FnOnce(&str)) -> Result<OwnChecks, String> {
    let mut checks = OwnChecks::default();
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        CheckProgram::start(Path::new(&path), root, None)?.into_iter().for_each(|program| checks.add_program(program));
        return Ok(checks);
    }
    let Some(named) = named else { return Ok(checks) };
    let folder = root.join(named.as_path().parent().unwrap_or(Path::new("")));
    let test = named.as_path().file_name().unwrap_or_default().to_string_lossy();
    tell(&format!("cargo builds the test `{test}` in {}, which may add checks", folder.display()));
    let wrong = |error: &dyn std::fmt::Display| {
        format!(
            "`harness = \"{}\"` in evals/evals.toml: cargo cannot build the test `{test}` in {}: {error}; fix what cargo says, or \
             build it and name the program in {VARIABLE}",
            named.as_path().display(),
            folder.display()
        )
    };
    let args = ["test", "--no-run", "--quiet", "--message-format", "json-render-diagnostics", "--test", &test];
    let messages = output_of("cargo", &args, &folder).map_err(|error| wrong(&error))?;
    let program = executable(&messages, &test).ok_or_else(|| wrong(&"it built no such test"))?;
    let program = CheckProgram::start(&program, root, Some(&folder))?;
    let elsewhere = || {
        format!("`harness = \"{}\"` in evals/evals.toml: that test is of another repository", named.as_path().display())
    };
    checks.add_program(program.ok_or_else(elsewhere)?);
    Ok(checks)
}

/// The program that cargo says it built for the test of this name.
fn executable(messages: &[u8], test: &str) -> Option<PathBuf> {
    let messages = messages.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let built =
        messages.filter(|message| message["reason"] == "compiler-artifact" && message["target"]["name"] == test);
    built.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back()
}

/// Answers questions about these checks of the repository at `root`, on standard input and output until the input ends:
/// what a harness does when it is started with [`ARGUMENT`](crate::run::check_program::ARGUMENT).
pub fn serve(checks: &OwnChecks, root: PathBuf) -> io::Result<()> {
    // What a `main` or a check prints is no answer.
    let mut out = service::answers()?;
    let mut say = |text: Result<String, serde_json::Error>| -> io::Result<()> {
        writeln!(out, "{}", text.map_err(io::Error::from)?)?;
        out.flush()
    };
    say(serde_json::to_string(&Greeting { own_checks: checks.names().map(str::to_owned).collect(), root }))?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let answer = match serde_json::from_str::<Question>(&line) {
            Ok(Question { folder }) => {
                checks_of(checks, &folder).map_or_else(ProgramAnswer::Error, ProgramAnswer::Checks)
            }
            Err(error) => ProgramAnswer::Error(format!("{line:?} is not a question: {error}")),
        };
        say(serde_json::to_string(&answer))?;
    }
    Ok(())
}

fn checks_of(checks: &OwnChecks, path: &Path) -> Result<Vec<CheckResult>, String> {
    let folder = store::trial_at(path);
    let meta = folder.meta().map_err(|error| error.to_string())?;
    let reference = TextReader::default().reference_at(&meta, &folder);
    let trace = agent::of(meta.agent.kind).decode(&reference, path).map_err(|error| error.to_string())?;
    let final_text = folder.final_text().map_err(|error| error.to_string())?;
    let evidence = Evidence { meta: &meta, trace: &trace, final_text: final_text.as_deref() };
    Ok(checks.made_here(&evidence, &folder))
}
