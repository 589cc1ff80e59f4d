//! The harness of a crate in the repository, where it adds checks of its own: built by cargo, and asked by other programs
//! about stored trials; [`check_program`](crate::run::check_program) has the protocol.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::agent;
use crate::process::service::{self, output_of};
use crate::run::check_program::{Answer, CheckProgram, Greeting, Question, VARIABLE};
use crate::run::harness_source::{self, HarnessTest, Metadata};
use crate::run::own_check::OwnChecks;
use crate::run::skill_texts::TextReader;
use crate::store;
use crate::trial::evidence::Evidence;
use crate::trial::outcome::Check;

/// The checks that harnesses add to those of the repository at `root`. Has cargo build those harnesses that add some, says
/// so by `tell`, and asks them.
///
/// # Errors
/// When one cannot be built or asked: grading without its checks would come to other verdicts than `cargo test`.
pub fn own_checks(root: &Path, mut tell: impl FnMut(&str)) -> Result<OwnChecks, String> {
    let mut checks = OwnChecks::default();
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        CheckProgram::start(Path::new(&path), root, None)?.into_iter().for_each(|program| checks.add_program(program));
        return Ok(checks);
    }
    let mut seen = BTreeSet::new();
    for manifest in harness_source::manifests(root) {
        if seen.contains(&manifest) {
            continue;
        }
        let metadata = ["metadata", "--format-version", "1", "--no-deps"];
        let metadata = output_of("cargo", &metadata, folder_of(&manifest)).map_err(|error| wrong(&manifest, &error))?;
        let metadata: Metadata = serde_json::from_slice(&metadata).map_err(|error| wrong(&manifest, &error))?;
        for test in harness_source::tests(&metadata) {
            tell(&format!("the test `{}` of the crate `{}` adds checks: cargo builds it", test.name, test.package));
            let path = built(&test)?;
            // A crate can have the harness of another repository, such as a fixture.
            if let Some(program) = CheckProgram::start(&path, root, Some(folder_of(&test.manifest)))? {
                checks.add_program(program);
            }
        }
        // What cargo told of all members of a workspace it need not tell again.
        seen.extend(metadata.manifests());
    }
    Ok(checks)
}

fn folder_of(manifest: &Path) -> &Path {
    manifest.parent().unwrap_or(Path::new("."))
}

fn wrong(manifest: &Path, error: &dyn std::fmt::Display) -> String {
    format!(
        "{}: its tests may add checks of their own, and cargo cannot build them: {error}; fix what cargo says, or build \
         them and name the program in {VARIABLE}",
        manifest.display()
    )
}

/// Has cargo build the test, and returns the program.
fn built(test: &HarnessTest) -> Result<PathBuf, String> {
    let args = ["test", "--no-run", "--quiet", "--message-format", "json-render-diagnostics"];
    let args = [&args[..], &["--package", &test.package, "--test", &test.name]].concat();
    let bytes = output_of("cargo", &args, folder_of(&test.manifest)).map_err(|error| wrong(&test.manifest, &error))?;
    let built = executable(&bytes, &test.name);
    built.ok_or_else(|| wrong(&test.manifest, &format!("it built no test `{}`", test.name)))
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
///
/// # Errors
/// When the pipes fail.
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
            Ok(Question { folder }) => checks_of(checks, &folder).map_or_else(Answer::Error, Answer::Checks),
            Err(error) => Answer::Error(format!("{line:?} is not a question: {error}")),
        };
        say(serde_json::to_string(&answer))?;
    }
    Ok(())
}

fn checks_of(checks: &OwnChecks, path: &Path) -> Result<Vec<Check>, String> {
    let folder = store::trial_at(path);
    let meta = folder.meta().map_err(|error| error.to_string())?;
    let reference = TextReader::default().reference_at(&meta, &folder);
    let trace = agent::of(meta.agent.kind).decode(&reference, path).map_err(|error| error.to_string())?;
    let final_text = folder.final_text().map_err(|error| error.to_string())?;
    let evidence = Evidence { meta: &meta, trace: &trace, final_text: final_text.as_deref() };
    Ok(checks.made_here(&evidence, &folder))
}
