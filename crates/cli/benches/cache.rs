//! What real agents pay for their prompts where a provider keeps them: 40 trials of 5 cases, 8 at a time, with one trial that leads
//! those that share its prompt, and without. `cargo bench -p skill-evals-cli --bench cache` needs the agents of `.ci/run`; with
//! `-- claude` or `-- codex` only one of them runs.
//!
//! The model is scripted: it opens the skill and answers. Its server keeps prompts as `tests/support/prompt_cache.rs` says, and each
//! answer takes a second and a half to begin. Input that a cache had costs a tenth, input written to one 1.25 times as much with
//! Claude: the figures are tokens at the price of fresh input.

#[path = "../tests/support/prompt_cache.rs"]
mod prompt_cache;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use prompt_cache::{InputTokens, PromptCache};
use skill_evals_cli::stand_in::{ScriptedRequest, ScriptedTurn, StandIn, WireProtocol};

const CASES: usize = 5;
const TRIALS: &str = "8";
const JOBS: &str = "8";

/// How long an answer takes to begin.
const PAUSE: Duration = Duration::from_millis(1500);

/// The modes of both agents.
const MODES: [(&str, &str); 2] = [("claude", "cli-native"), ("codex", "codex")];

const SKILL: &str = "---\nname: greeting\ndescription: Greets people in the house style. Use when asked to greet somebody.\n---\n\n\
                     Say \"Ahoy, NAME!\".\n";

fn main() {
    // `cargo test --benches` and `cargo bench -- --list` only ask whether it starts.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if args.iter().any(|arg| arg == "--list" || arg == "--test") {
        return;
    }
    println!("tokens at the price of fresh input; a share is that of the first trial's");
    for (agent, mode) in MODES.into_iter().filter(|(agent, _)| args.is_empty() || args.iter().any(|arg| arg == agent)) {
        for option in [&["--no-lead"][..], &[]] {
            let repository = tempfile::tempdir().expect("a directory");
            write_suite(repository.path());
            let (requests, time) = run(repository.path(), mode, option);
            let leads = if option.is_empty() { "with a leader" } else { "without" };
            println!("{agent}, {leads}, {:.1} s:\n{}", time.as_secs_f64(), figures(&requests));
        }
    }
}

fn write_suite(root: &Path) {
    let rows = (0..CASES)
        .map(|case| format!("c{case},true,\"Greet the guest with number {case} in the house style, please.\""));
    let table: Vec<String> = std::iter::once("id,should_trigger,prompt".to_owned()).chain(rows).collect();
    let files = [("skills/greeting/SKILL.md", SKILL), ("evals/skills/greeting/prompts.csv", &table.join("\n"))];
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
}

/// What the model was asked, in the order of arrival: the case, whether it is the first request of a trial, and what it paid.
type Requests = Vec<(String, bool, InputTokens)>;

/// Runs the suite, and returns its requests.
fn run(root: &Path, mode: &str, option: &[&str]) -> (Requests, Duration) {
    let requests = Arc::new(Mutex::new(Requests::new()));
    let (seen, cache, started) = (Arc::clone(&requests), Mutex::new(PromptCache::default()), Instant::now());
    let script = move |request: &ScriptedRequest| {
        let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
        let paid = cache.request(request.protocol, &request.body, started.elapsed(), PAUSE);
        seen.lock().unwrap_or_else(PoisonError::into_inner).push((request.prompt.clone(), request.step == 0, paid));
        let folder = if request.protocol == WireProtocol::Messages { ".claude" } else { ".agents" };
        match request.step {
            0 => ScriptedTurn::Shell(format!("cat {folder}/skills/greeting/SKILL.md")),
            _ => ScriptedTurn::Say("Ahoy!".to_owned()),
        }
    };
    let model = StandIn::start_slow(PAUSE, script).expect("a server");
    let scratch = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let programs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/agents/node_modules/.bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&path))).expect("a PATH");
    let mut command = Command::new(env!("CARGO_BIN_EXE_skill-evals"));
    command.args(["run", "--quiet", "--trials", TRIALS, "--jobs", JOBS, "--mode", mode, "--model", "stand-in"]);
    command.args(["--endpoint", &model.url()]).args(option).current_dir(root);
    command.env("PATH", path).env("HOME", scratch.path()).env("SKILL_EVALS_SCRATCH", scratch.path().join("work"));
    command.env("SKILL_EVALS_CALIBRATE", "off").stdin(Stdio::null());
    let before = Instant::now();
    let output = command.output().expect("it starts");
    let time = before.elapsed();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
    drop(model);
    let requests = std::mem::take(&mut *requests.lock().unwrap_or_else(PoisonError::into_inner));
    (requests, time)
}

/// The figures of these requests.
fn figures(requests: &Requests) -> String {
    let mut known = HashSet::new();
    let (mut first, mut others, mut repeats) = (Vec::new(), Vec::new(), Vec::new());
    for (case, _, tokens) in requests.iter().filter(|(_, is_first, _)| *is_first) {
        let kind = match (known.is_empty(), known.insert(case)) {
            (true, _) => &mut first,
            (_, true) => &mut others,
            _ => &mut repeats,
        };
        kind.push(tokens.paid());
    }
    let mean = |paid: &[usize]| paid.iter().sum::<usize>() / paid.len().max(1);
    let share = |paid: &[usize]| format!("{} ({} %)", mean(paid), mean(paid) * 100 / mean(&first).max(1));
    let sum = |of: fn(InputTokens) -> usize, all: bool| {
        requests.iter().filter(|(_, is_first, _)| all || *is_first).map(|(_, _, tokens)| of(*tokens)).sum::<usize>()
    };
    let [some, all] = [false, true].map(|all| {
        let (paid, read) = (sum(InputTokens::paid, all), sum(InputTokens::all, all));
        format!("{paid} of {read} without a cache ({} %)", paid * 100 / read.max(1))
    });
    format!(
        "  first requests: the first trial {}, another case {}, a repeat {}\n  all first requests: {some}\n  whole sessions: {all}",
        mean(&first),
        share(&others),
        share(&repeats),
    )
}
