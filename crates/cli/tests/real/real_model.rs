//! Trials with a real model, unscripted: a model of 135 million parameters in llama.cpp's server. Whatever it answers, each trial is
//! measured: it passes or fails, and is not an error.

use crate::support::repository;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use skill_evals_evidence::trial::outcome::{Grade, Verdict};

use crate::support::live::{GREETING, Live};
use crate::support::pull_requests::git;
use crate::support::stand_in::Turn;
use crate::tests;

const MODEL: &str = "smollm2-135m";

pub fn trials() -> Vec<libtest_mimic::Trial> {
    let found = packages().join("xllamacpp").is_dir();
    let how_to_get = "get it with `pip install --no-deps --target target/model -r tests/model/requirements.txt`";
    crate::support::real::all_needing(
        "xllamacpp",
        found,
        how_to_get,
        tests![a_real_model_is_measured_compared_and_gated],
    )
}

fn packages() -> PathBuf {
    repository().join("target/model")
}

/// The server, which ends with its input.
struct ModelServer {
    process: Child,
    url: String,
}

impl ModelServer {
    fn start() -> Self {
        let script = repository().join("tests/model/serve.py");
        let mut command = Command::new("python3");
        command.arg(script).env("PYTHONPATH", packages()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.stderr(Stdio::null()).spawn().expect("python3 starts");
        let lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let url = lines.map_while(Result::ok).find(|line| line.starts_with("http")).expect("the server's address");
        Self { process, url: format!("{url}/v1") }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        // It fails if the process has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Points a command at the real model.
fn real(mut command: Command, server: &ModelServer) -> Command {
    command.env("OPENAI_BASE_URL", &server.url).env("OPENAI_MODEL", MODEL).env_remove("SKILL_EVALS_SCRIPTED");
    command
}

/// The grades and facts of all trials in a directory.
fn graded(directory: &Path) -> Vec<(Grade, String)> {
    let files =
        walkdir::WalkDir::new(directory).into_iter().flatten().filter(|entry| entry.file_name() == "grade.json");
    let read = |path: &Path| std::fs::read_to_string(path).expect("a file");
    files
        .map(|file| {
            let grade = serde_json::from_str(&read(file.path())).expect("a grade");
            (grade, read(&file.path().with_file_name("meta.json")))
        })
        .collect()
}

fn a_real_model_is_measured_compared_and_gated() {
    let server = ModelServer::start();
    let live = Live::new("should_trigger,prompt,timeout_s,must_include", "true,Greet Ada.,400,Ada", |_| Turn::Hang);
    let settings = "max_turns = 2\njobs = 1\n[agents.chat]\nargs = ['--no-tools', '--max-tokens=32']\n";
    std::fs::write(live.fixture.root().join("evals/evals.toml"), settings).expect("settings");
    let ran =
        real(live.command(&["--mode", "chat", "--record", "--accept-failing"]), &server).output().expect("it starts");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    let artifacts = live.fixture.root().join("artifacts/skill-evals");
    let trials = graded(&artifacts);
    assert_eq!(trials.len(), 1, "{said}");
    let recorded = walkdir::WalkDir::new(live.fixture.root().join("evals")).into_iter().flatten();
    let meta = recorded.filter(|entry| entry.file_name() == "meta.json").map(walkdir::DirEntry::into_path).next();
    let meta = std::fs::read_to_string(meta.unwrap_or_else(|| panic!("a recording: {said}"))).expect("its facts");
    assert!(meta.contains(MODEL) && !meta.contains("scripted"), "{meta}");

    let mut compare = live.program();
    compare
        .args(["compare", "--with", "chat", "--without", "--max-trials", "2", "--fail-on", "undecided"])
        .current_dir(live.fixture.root());
    let compared = real(compare, &server).output().expect("it starts");
    let said = String::from_utf8_lossy(&compared.stdout).into_owned() + &String::from_utf8_lossy(&compared.stderr);
    let answers = ["undecided", "worse", "better", "broke", "no harm seen"];
    assert!(answers.iter().any(|answer| said.contains(&format!("{answer}: "))), "{said}");
    let trials = graded(&artifacts);
    assert_eq!(trials.len(), 3, "{said}");

    let root = live.fixture.root();
    std::fs::write(root.join(".gitignore"), "artifacts\n").expect("a file");
    let cases = "id,should_trigger,prompt,timeout_s\nit,true,Greet Ada.,400\nother,false,What is 2+2?,400\n";
    std::fs::write(root.join("evals/skills/greeting/prompts.csv"), cases).expect("cases");
    git(root, &["init", "--quiet", "--initial-branch", "main"]);
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message", "first"]);
    let text = GREETING.replace("in the house style", "in the rude style");
    std::fs::write(root.join("skills/greeting/SKILL.md"), text).expect("a skill");
    let mut gate = live.program();
    gate.args(["gate", "main", "--max-trials", "12", "--run-id", "g"])
        .env("SKILL_EVALS_MODE", "chat")
        .current_dir(root);
    let gated = real(gate, &server).output().expect("it starts");
    let said = String::from_utf8_lossy(&gated.stdout).into_owned() + &String::from_utf8_lossy(&gated.stderr);
    assert!(matches!(gated.status.code(), Some(0 | 1 | 3)), "{said}");
    let page = std::fs::read_to_string(artifacts.join("gate/gate.md")).unwrap_or_else(|_| panic!("a page: {said}"));
    assert!(page.contains("## skill-evals: ") && page.contains(" trials in "), "{page}");
    let trials = graded(&artifacts);
    assert!(trials.len() > 5, "{said}");
    for (grade, meta) in trials {
        assert_ne!(grade.verdict, Verdict::Error, "{grade:#?}");
        let usage = grade.metrics.usage.expect("tokens");
        assert!(usage.input_tokens > 0 && usage.output_tokens > 0, "{usage:?}");
        assert!(meta.contains(MODEL), "{meta}");
    }
    assert!(live.model.requests().is_empty());
}
