//! What the runner adds to the agents' own time: 167 cases with a stub in the agent's place, against starting the
//! same stub as often with `xargs -P 16`. `cargo bench --bench runner`.
//!
//! The stub prints what codex prints for a turn of one message, and exits; a second one takes 200 ms for it. Each
//! figure is the best of several rounds, in which floor and runner take turns: other work on the machine then
//! disturbs both or neither. The process is measured as a whole, from its start to its end.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CASES: usize = 167;
const JOBS: &str = "16";

const LINES: &str = r#"printf '%s\n' '{"type":"thread.started","thread_id":"0"}' '{"type":"turn.started"}' '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Done."}}' '{"type":"turn.completed","usage":{"input_tokens":1000,"cached_input_tokens":0,"output_tokens":5}}'
"#;

fn main() {
    // `cargo test --benches` and `cargo bench -- --list` only ask whether it starts.
    if std::env::args().any(|arg| arg == "--list" || arg == "--test") {
        return;
    }
    for (name, body, rounds, most) in
        [("at once", String::new(), 15, 4.0), ("200 ms", "sleep 0.2\n".to_owned(), 3, 1.15)]
    {
        let repository = Repository::new(&body);
        repository.runner("warm-up", 1);
        let (mut floor, mut runner) = (Duration::MAX, Duration::MAX);
        for round in 0..rounds {
            floor = floor.min(repository.floor());
            runner = runner.min(repository.runner(&format!("round-{round}"), 1).0);
        }
        let ratio = runner.as_secs_f64() / floor.as_secs_f64();
        println!(
            "{CASES} cases, {JOBS} at a time, a stub that answers {name}: runner {:.3} s, bare stub {:.3} s, {ratio:.2} × (at most {most} ×)",
            runner.as_secs_f64(),
            floor.as_secs_f64(),
        );
    }
    let repository = Repository::new("");
    let memory = |trials| repository.runner(&format!("memory-{trials}"), trials).1;
    let (once, often) = (memory(1), memory(20));
    println!("memory at its peak: {once} KiB for {CASES} trials, {often} KiB for {}", 20 * CASES);
}

struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    fn new(body: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        let skills = 20;
        for skill in 0..skills {
            let text =
                format!("---\nname: skill-{skill}\ndescription: Does what number {skill} does.\n---\n\nDo it.\n");
            write(&format!("skills/skill-{skill}/SKILL.md"), &text);
            let rows = (skill..CASES).step_by(skills).map(|case| format!("c{case},false,Prompt {case},absent|missing"));
            let header = "id,should_trigger,prompt,must_not_include".to_owned();
            let table: Vec<String> = std::iter::once(header).chain(rows).collect();
            write(&format!("evals/skills/skill-{skill}/prompts.csv"), &table.join("\n"));
        }
        let stub = root.join("stub.sh");
        write("stub.sh", &format!("#!/bin/sh\n{body}{LINES}"));
        fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).expect("permissions");
        write("evals/evals.toml", &format!("[agents.codex]\ncommand = '{}'\n", stub.display()));
        Self { folder }
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    /// The stub alone, as often and as many at once.
    fn floor(&self) -> Duration {
        let stub = self.root().join("stub.sh");
        let mut command = Command::new("xargs");
        command.args(["-P", JOBS, "-n", "1"]).arg(stub).stdin(Stdio::piped()).stdout(Stdio::null());
        let started = Instant::now();
        let mut child = command.spawn().expect("xargs starts");
        let prompts: Vec<String> = (0..CASES).map(|case| case.to_string()).collect();
        child.stdin.take().expect("an input").write_all(prompts.join("\n").as_bytes()).expect("an input");
        assert!(child.wait().expect("an end").success());
        started.elapsed()
    }

    /// The runner: its time, and its memory at its peak in KiB.
    fn runner(&self, id: &str, trials: usize) -> (Duration, u64) {
        let peak = self.root().join("peak");
        let started = Instant::now();
        let mut command = Command::new("/usr/bin/time");
        // The stub shows no offered skills, so that nothing is measured: exit code 3, as fast as any other.
        let status = command
            .args(["-f", "%M", "-o"])
            .arg(&peak)
            .arg(env!("CARGO_BIN_EXE_skill-evals"))
            .args(["run", "--jobs", JOBS, "--run-id", id, "--trials", &trials.to_string()])
            .current_dir(self.root())
            .env("HOME", self.root())
            .stdout(Stdio::null())
            .status();
        let time = started.elapsed();
        assert_eq!(status.expect("it starts").code(), Some(3));
        let text = fs::read_to_string(peak).expect("a figure");
        let figure = text.lines().last().and_then(|line| line.trim().parse().ok());
        // What is kept stays until the end: some file systems are slow at making what was just removed.
        let kept = fs::read_dir(self.root().join("artifacts/skill-evals").join(id).join("work")).expect("trials");
        assert_eq!(kept.count(), 20, "every skill was run");
        (time, figure.unwrap_or_default())
    }
}
