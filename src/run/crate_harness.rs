//! The harness of a crate in the repository, where it adds checks of its own: built by cargo, and asked by other programs
//! about stored trials; [`check_program`](crate::run::check_program) has what they say to each other.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::agent;
use crate::files::bounded;
use crate::process::service::output_of;
use crate::run::check_program::{Answer, CheckProgram, Greeting, Question, VARIABLE};
use crate::run::own_check::OwnChecks;
use crate::run::skill_texts::TextReader;
use crate::store;
use crate::trial::evidence::Evidence;
use crate::trial::outcome::Check;

/// Folders in which a crate with a harness is looked for, from the repository's root.
const CRATES: [&str; 2] = ["", "evals"];

/// The checks that the harnesses of the crates in the repository at `root` add. Builds those harnesses that may add
/// some, and asks them.
///
/// # Errors
/// When one cannot be built or asked: grading without its checks would come to other verdicts than `cargo test`.
pub fn own_checks(root: &Path) -> Result<OwnChecks, String> {
    let mut checks = OwnChecks::default();
    let programs = match std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => vec![PathBuf::from(path)],
        None => built(root)?,
    };
    for path in programs {
        if let Some(program) = CheckProgram::start(&path, root)? {
            checks.add_program(program);
        }
    }
    Ok(checks)
}

/// The harnesses in the repository that may add checks, built.
fn built(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut programs = Vec::new();
    if let Some(folder) = CRATES.map(|folder| root.join(folder)).into_iter().find(|folder| has_harness(folder)) {
        let wrong = |error: &dyn std::fmt::Display| {
            format!(
                "the tests of {} add checks of their own, and cargo cannot build them: {error}; build them and name the \
                 program in {VARIABLE}, or fix what cargo says",
                folder.display()
            )
        };
        let metadata = ["metadata", "--format-version", "1", "--no-deps"];
        let bytes = output_of("cargo", &metadata, &folder).map_err(|error| wrong(&error))?;
        let metadata: Value = serde_json::from_slice(&bytes).map_err(|error| wrong(&error))?;
        for (package, test) in harnesses(&metadata) {
            let args = ["test", "--no-run", "--quiet", "--message-format", "json-render-diagnostics"];
            let args = [&args[..], &["--package", &package, "--test", &test]].concat();
            let bytes = output_of("cargo", &args, &folder).map_err(|error| wrong(&error))?;
            let program = executable(&bytes, &test).ok_or_else(|| wrong(&format!("it built no test `{test}`")))?;
            programs.push(program);
        }
    }
    Ok(programs)
}

/// Whether a crate or workspace in `folder` may have a harness that adds checks: asking cargo takes longer than looking.
fn has_harness(folder: &Path) -> bool {
    let Ok(manifest) = bounded::read_text(&folder.join("Cargo.toml")) else { return false };
    manifest.contains("skill-evals") || manifest.contains("[workspace]")
}

/// The tests that are a harness built by hand, by package and name: only those can add checks.
fn harnesses(metadata: &Value) -> Vec<(String, String)> {
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut found = BTreeSet::new();
    for package in list(metadata, "packages") {
        for target in list(&package, "targets") {
            let is_test = list(&target, "kind").iter().any(|kind| kind == "test");
            let source = fs::read_to_string(text(&target, "src_path")).unwrap_or_default();
            let code: String = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            if is_test && code.contains("skill_evals") && code.contains("Harness") && code.contains("fn main") {
                found.insert((text(&package, "name"), text(&target, "name")));
            }
        }
    }
    found.into_iter().collect()
}

/// The program that cargo says it built for the test of this name.
fn executable(messages: &[u8], test: &str) -> Option<PathBuf> {
    let messages = messages.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let built =
        messages.filter(|message| message["reason"] == "compiler-artifact" && message["target"]["name"] == test);
    built.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back()
}

/// Answers about these checks on standard input and output until the input ends: what a harness does when it is started
/// with [`ARGUMENT`].
///
/// # Errors
/// When the pipes fail.
pub fn serve(checks: &OwnChecks) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut say = |text: Result<String, serde_json::Error>| -> io::Result<()> {
        writeln!(out, "{}", text.map_err(io::Error::from)?)?;
        out.flush()
    };
    say(serde_json::to_string(&Greeting { own_checks: checks.names().map(str::to_owned).collect() }))?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let answer = match serde_json::from_str::<Question>(&line) {
            Ok(Question { folder }) => made(checks, &folder).map_or_else(Answer::Error, Answer::Checks),
            Err(error) => Answer::Error(format!("{line:?} is no question: {error}")),
        };
        say(serde_json::to_string(&answer))?;
    }
    Ok(())
}

fn made(checks: &OwnChecks, path: &Path) -> Result<Vec<Check>, String> {
    let folder = store::trial_at(path);
    let meta = folder.meta().map_err(|error| error.to_string())?;
    let reference = TextReader::default().reference_at(&meta, &folder);
    let trace = agent::of(meta.agent.kind).decode(&reference, path).map_err(|error| error.to_string())?;
    let final_text = folder.final_text().map_err(|error| error.to_string())?;
    let evidence = Evidence { meta: &meta, trace: &trace, final_text: final_text.as_deref() };
    Ok(checks.made_here(&evidence, &folder))
}
