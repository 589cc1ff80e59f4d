//! The harness of a crate in the repository, where it adds checks of its own: built by cargo, and asked by other programs
//! about stored trials; [`check_program`](crate::run::check_program) has the protocol.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use walkdir::{DirEntry, WalkDir};

use crate::agent;
use crate::cases::catalog::ARTIFACTS;
use crate::files::bounded;
use crate::process::service::{self, output_of};
use crate::run::check_program::{Answer, CheckProgram, Greeting, Question, VARIABLE};
use crate::run::own_check::OwnChecks;
use crate::run::skill_texts::TextReader;
use crate::store;
use crate::trial::evidence::Evidence;
use crate::trial::outcome::Check;

/// How deep below the repository's root crates are looked for.
const DEPTH: usize = 4;

/// The checks that harnesses add to those of the repository at `root`. Has cargo build those harnesses that may add some,
/// and asks them.
///
/// # Errors
/// When one cannot be built or asked: grading without its checks would come to other verdicts than `cargo test`.
pub fn own_checks(root: &Path) -> Result<OwnChecks, String> {
    let mut checks = OwnChecks::default();
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        CheckProgram::start(Path::new(&path), root, None)?.into_iter().for_each(|program| checks.add_program(program));
        return Ok(checks);
    }
    for folder in crates(root) {
        for (path, package) in built(&folder)? {
            // A crate can have the harness of another repository, such as a fixture.
            if let Some(program) = CheckProgram::start(&path, root, Some(&package))? {
                checks.add_program(program);
            }
        }
    }
    Ok(checks)
}

/// The folders of crates in the repository with a test that may add checks: asking cargo takes longer than looking.
fn crates(root: &Path) -> Vec<PathBuf> {
    let aside = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() > 0 && (name.starts_with('.') || ["target", "node_modules", ARTIFACTS].contains(&name.as_ref()))
    };
    let walk = WalkDir::new(root).max_depth(DEPTH).sort_by_file_name().into_iter();
    let manifests = walk.filter_entry(|entry| !aside(entry)).flatten();
    let manifests = manifests.filter(|entry| entry.file_name() == "Cargo.toml" && entry.file_type().is_file());
    let folders = manifests.filter_map(|entry| entry.path().parent().map(Path::to_path_buf));
    folders.filter(|folder| may_add_checks(folder)).collect()
}

fn may_add_checks(folder: &Path) -> bool {
    let Ok(manifest) = bounded::read_text(&folder.join("Cargo.toml")) else { return false };
    // A test that lies elsewhere has its path in the manifest.
    let elsewhere = manifest.lines().any(|line| line.trim_start().starts_with("path") && line.contains(".rs"));
    let tests = fs::read_dir(folder.join("tests")).into_iter().flatten().flatten();
    let files = tests.map(|entry| if entry.path().is_dir() { entry.path().join("main.rs") } else { entry.path() });
    let mut harnesses = files.filter(|path| is_harness(path));
    manifest.contains("skill-evals") && (elsewhere || harnesses.next().is_some())
}

/// Whether the test in this file is a harness built by hand: only those can add checks. Its modules may be what builds it.
fn is_harness(source: &Path) -> bool {
    let code = code(source);
    code.contains("Harness") && code.contains("fn main")
}

/// The tests of a package that say `harness = false`, by name.
fn own_main(manifest: &Path) -> BTreeSet<String> {
    let text = bounded::read_text(manifest).unwrap_or_default();
    // A manifest that is wrong cargo has told of.
    let manifest: toml::Table = toml::from_str(&text).unwrap_or_default();
    let tests = manifest.get("test").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let own = tests.iter().filter(|test| test.get("harness").and_then(toml::Value::as_bool) == Some(false));
    own.filter_map(|test| test.get("name")?.as_str().map(str::to_owned)).collect()
}

/// The code of a Rust file and of its modules in files of their own, comment lines aside.
fn code(source: &Path) -> String {
    let folder = source.parent().unwrap_or(Path::new("."));
    let mut files = vec![(source.to_path_buf(), folder.to_path_buf())];
    let (mut code, mut seen) = (String::new(), BTreeSet::new());
    while let Some((file, folder)) = files.pop() {
        let Ok(text) = bounded::read_text(&file) else { continue };
        if !seen.insert(file) {
            continue;
        }
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
            code.push_str(line);
            code.push('\n');
            if let Some((_, name)) = line.strip_suffix(';').and_then(|line| line.rsplit_once("mod ")) {
                let below = folder.join(name);
                files.push((folder.join(format!("{name}.rs")), below.clone()));
                files.push((below.join("mod.rs"), below));
            }
            if let Some((path, _)) = line.strip_prefix("#[path = \"").and_then(|rest| rest.split_once('"')) {
                let file = folder.join(path);
                let beside = file.parent().map(Path::to_path_buf).unwrap_or_default();
                files.push((file, beside));
            }
        }
    }
    code
}

/// The harnesses of the crate in `folder` that may add checks, built, each with the folder of its package.
fn built(folder: &Path) -> Result<Vec<(PathBuf, PathBuf)>, String> {
    let wrong = |error: &dyn std::fmt::Display| {
        format!(
            "the tests of {} may add checks of their own, and cargo cannot build them: {error}; fix what cargo says, or \
             build them and name the program in {VARIABLE}",
            folder.display()
        )
    };
    let metadata = ["metadata", "--format-version", "1", "--no-deps"];
    let bytes = output_of("cargo", &metadata, folder).map_err(|error| wrong(&error))?;
    let metadata: Value = serde_json::from_slice(&bytes).map_err(|error| wrong(&error))?;
    let mut programs = Vec::new();
    for (package, test) in harnesses(&metadata, &folder.join("Cargo.toml")) {
        let args = ["test", "--no-run", "--quiet", "--message-format", "json-render-diagnostics"];
        let args = [&args[..], &["--package", &package, "--test", &test]].concat();
        let bytes = output_of("cargo", &args, folder).map_err(|error| wrong(&error))?;
        let program = executable(&bytes, &test).ok_or_else(|| wrong(&format!("it built no test `{test}`")))?;
        programs.push((program, folder.to_path_buf()));
    }
    Ok(programs)
}

/// The tests of the package with this manifest that are a harness built by hand, by package and name. Such a test has a
/// `main` of its own, so the manifest says `harness = false`; any other test only mentions the harness.
fn harnesses(metadata: &Value, manifest: &Path) -> BTreeSet<(String, String)> {
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let manifest = manifest.canonicalize().unwrap_or_else(|_| manifest.to_path_buf());
    let mut found = BTreeSet::new();
    for package in list(metadata, "packages") {
        if Path::new(&text(&package, "manifest_path")).canonicalize().ok().as_ref() != Some(&manifest) {
            continue;
        }
        let own_main = own_main(&manifest);
        for target in list(&package, "targets") {
            let is_test = list(&target, "kind").iter().any(|kind| kind == "test");
            if is_test && own_main.contains(&text(&target, "name")) && is_harness(Path::new(&text(&target, "src_path")))
            {
                found.insert((text(&package, "name"), text(&target, "name")));
            }
        }
    }
    found
}

/// The program that cargo says it built for the test of this name.
fn executable(messages: &[u8], test: &str) -> Option<PathBuf> {
    let messages = messages.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let built =
        messages.filter(|message| message["reason"] == "compiler-artifact" && message["target"]["name"] == test);
    built.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back()
}

/// Answers questions about these checks of the repository at `root`, on standard input and output until the input ends:
/// what a harness does when it is started with [`ARGUMENT`].
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_harness_is_found_by_its_own_main_and_by_what_its_modules_say() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        let tests = ["plain", "apart", "by_path", "ordinary"];
        let own_main = tests[..3].iter().map(|name| format!("[[test]]\nname = '{name}'\nharness = false\n"));
        write("Cargo.toml", &own_main.collect::<String>());
        write("tests/plain.rs", "// No Harness.\nfn main() -> ExitCode {\n    skill_evals::harness::main()\n}\n");
        write("tests/apart.rs", "mod checks;\nfn main() -> ExitCode {\n    checks::all().main()\n}\n");
        write("tests/checks/mod.rs", "pub(crate) mod more;\n");
        write("tests/checks/more.rs", "use skill_evals::harness::Harness;\n");
        write("tests/by_path.rs", "#[path = \"../src/evals.rs\"]\nmod evals;\nfn main() {}\n");
        write("src/evals.rs", "use evals::harness::Harness;\nmod evals;\n");
        write("tests/ordinary.rs", "const SOURCE: &str = \"fn main() { Harness::new() }\";\n");
        let path = |name: &str| folder.path().join(name);
        let target = |name| json!({"kind": ["test"], "name": name, "src_path": path(&format!("tests/{name}.rs"))});
        let package = json!({"name": "p", "manifest_path": path("Cargo.toml"), "targets": tests.map(target)});
        let found = harnesses(&json!({"packages": [package]}), &path("Cargo.toml"));
        assert_eq!(found.into_iter().map(|(_, test)| test).collect::<Vec<_>>(), ["apart", "by_path"]);
    }
}
