//! What the runner adds to the agents' own time: 200 trials, 16 at a time, with a C program in the agent's place,
//! against starting the same program as often with `xargs -P 16`. `cargo bench -p skill-evals-cli --bench runner`; with `-- --check` fewer
//! rounds, and it fails if a figure is three times its target.
//!
//! The program prints what codex prints for a turn of one message, and exits; a second one takes 200 ms for it. Floor
//! and runner take turns, and medians are compared: other work on the machine then disturbs both or neither. The runner
//! is measured as a whole, from its start to its end, in memory where there is `/dev/shm`: what a disk takes for a new
//! file depends on what was removed before, by a factor of four. The time of bubblewrap alone, with only the namespaces
//! that a sandbox needs, is printed next to it.
//!
//! Then the same on a disk, with few and with many skills: their number must not decide the price of a trial.
//!
//! Then the same cases with more trials run in one process, and in shards that are merged: the processors' time of both.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const CASES: usize = 200;
const SKILLS: usize = 20;
const JOBS: &str = "16";

/// Above this multiple of what is wanted, a figure is a failure.
const FAILURE: f64 = 3.0;

const AGENT: &str = r#"
#include <time.h>
#include <unistd.h>
static const char lines[] =
  "{\"type\":\"thread.started\",\"thread_id\":\"0\"}\n{\"type\":\"turn.started\"}\n"
  "{\"type\":\"item.completed\",\"item\":{\"id\":\"item_0\",\"type\":\"agent_message\",\"text\":\"Done.\"}}\n"
  "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1000,\"cached_input_tokens\":0,\"output_tokens\":5}}\n";
int main(void) {
  struct timespec pause = {0, PAUSE_MS * 1000000L};
  if (PAUSE_MS > 0) nanosleep(&pause, 0);
  return write(1, lines, sizeof lines - 1) < 0;
}
"#;

/// The least that bubblewrap is asked for.
const SANDBOX: [&str; 10] =
    ["bwrap", "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"];

/// A figure: how long the agent takes, its isolation, and the target of the runner as a factor of the floor. The floor
/// is bare spawning, in bubblewrap if that isolates the agent.
const FIGURES: [(u32, &str, f64); 4] =
    [(0, "agent", 2.5), (0, "bwrap", 2.0), (200, "agent", 1.03), (200, "bwrap", 1.05)];

/// Numbers of skills, and the target of the runner on a disk with each of them, as a factor of bare spawning or of bubblewrap.
const NUMBERS_OF_SKILLS: [usize; 3] = [1, 50, 300];
const WANTED_ON_DISK: f64 = 1.15;

/// How many shards have the trials of one process, and how much of its work they may do.
const SHARDS: usize = 16;
const WORK: f64 = 1.1;

fn main() -> ExitCode {
    // `cargo test --benches` and `cargo bench -- --list` only ask whether it starts.
    if std::env::args().any(|arg| arg == "--list" || arg == "--test") {
        return ExitCode::SUCCESS;
    }
    let check = std::env::args().any(|arg| arg == "--check");
    let in_memory = FIGURES.map(|(pause, isolation, wanted)| (pause, isolation, wanted, SKILLS, "/dev/shm"));
    let on_disk = NUMBERS_OF_SKILLS
        .into_iter()
        .flat_map(|skills| ["agent", "bwrap"].map(|isolation| (200, isolation, WANTED_ON_DISK, skills, "/var/tmp")));
    let mut held = true;
    for figure in in_memory.into_iter().chain(on_disk) {
        held &= against_its_floor(figure, check);
    }
    held &= shards(if check { 5 } else { 50 });
    if !check {
        let repository = Repository::new(0, "agent", SKILLS, "/dev/shm");
        let memory = |trials| repository.runner(&format!("memory-{trials}"), trials).peak;
        let (once, often) = (memory(1), memory(20));
        println!("memory at its peak: {once} KiB for {CASES} trials, {often} KiB for {}", 20 * CASES);
    }
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures the runner and its floor in turns: what the agent takes, its isolation, the target, the skills and where all files are.
fn against_its_floor((pause, isolation, wanted, skills, place): (u32, &str, f64, usize, &str), check: bool) -> bool {
    if isolation == "bwrap" && Command::new("bwrap").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("bubblewrap is not here: not measured");
        return true;
    }
    let repository = Repository::new(pause, isolation, skills, place);
    repository.runner("warm-up", 1);
    // What an agent waits evens out what else differs between rounds.
    let rounds = match (check, pause) {
        (false, _) => 9,
        (true, 0) => 3,
        (true, _) => 1,
    };
    let folder = repository.root().to_str().expect("UTF-8");
    let sandbox = [&SANDBOX[..], &["--bind", folder, folder, "--"]].concat();
    let by: &[&str] = if isolation == "bwrap" { &sandbox } else { &[] };
    let (mut bare, mut floor, mut runner, mut work) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        bare.push(repository.floor(&[]));
        floor.push(repository.floor(by));
        let took = repository.runner(&format!("round-{round}"), 1);
        runner.push(took.time);
        work.push(Duration::from_secs_f64(took.work));
    }
    let [bare, floor, runner, work] = [bare, floor, runner, work].map(|times| median(times).as_secs_f64());
    let failed = runner / floor > FAILURE * wanted;
    let alone = if by.is_empty() { String::new() } else { format!(", bubblewrap alone {floor:.3} s") };
    println!(
        "{CASES} trials, {JOBS} at a time, {skills} skills in {place}, an agent of {pause} ms, isolation = \"{isolation}\": runner \
         {runner:.3} s with {work:.2} s of CPU, bare spawning {bare:.3} s{alone}: {:.2} × bare, {:.2} × its floor (wanted {wanted} ×){}",
        runner / bare,
        runner / floor,
        if failed { ": FAILED" } else { "" }
    );
    !failed
}

/// Measures the work of shards, one after another, with this number of trials of each case.
fn shards(trials: usize) -> bool {
    let repository = Repository::new(0, "agent", SKILLS, "/dev/shm");
    let number = trials.to_string();
    let run = |id: &str, more: &[&str]| {
        repository.program(&[&["run", "--jobs", JOBS, "--run-id", id, "--trials", &number], more].concat()).work
    };
    let whole = run("whole", &[]);
    let parts: f64 = (1..=SHARDS).map(|shard| run("parts", &["--shard", &format!("{shard}/{SHARDS}")])).sum();
    let merge = repository.program(&["merge", "parts", "--run-id", "parts"]).work;
    let failed = parts / whole > FAILURE * WORK;
    println!(
        "{} trials, an agent of 0 ms: one process {whole:.2} s of CPU, {SHARDS} shards {parts:.2} s, their merge {merge:.2} s: \
         {:.2} × (wanted {WORK} ×), with the merge {:.2} ×{}",
        trials * CASES,
        parts / whole,
        (parts + merge) / whole,
        if failed { ": FAILED" } else { "" }
    );
    !failed
}

/// What a program took.
struct Took {
    time: Duration,
    /// Seconds of the processors, those of its children too.
    work: f64,
    /// Its memory at its peak in KiB.
    peak: u64,
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

struct Repository {
    folder: tempfile::TempDir,
    skills: usize,
}

impl Repository {
    fn new(pause: u32, isolation: &str, skills: usize, place: &str) -> Self {
        let folder = tempfile::tempdir_in(place).or_else(|_| tempfile::tempdir()).expect("a temporary folder");
        let root = folder.path();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        for skill in 0..skills {
            let text =
                format!("---\nname: skill-{skill}\ndescription: Does what number {skill} does.\n---\n\nDo it.\n");
            write(&format!("skills/skill-{skill}/SKILL.md"), &text);
            // Each skill has a case: others would get built-in ones.
            let rows = (skill..CASES.max(skills))
                .step_by(skills)
                .map(|case| format!("c{case},false,Prompt {case},absent|missing"));
            let header = "id,should_trigger,prompt,must_not_include".to_owned();
            let table: Vec<String> = std::iter::once(header).chain(rows).collect();
            write(&format!("evals/skills/skill-{skill}/prompts.csv"), &table.join("\n"));
        }
        write("agent.c", AGENT);
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-o", "agent", "agent.c"]).arg(format!("-DPAUSE_MS={pause}")).current_dir(root);
        assert!(compiler.status().expect("a C compiler").success());
        let settings = format!(
            "isolation = \"{isolation}\"\nrequire_isolation = {}\n[agents.codex]\ncommand = '{}'\n",
            isolation == "bwrap",
            root.join("agent").display()
        );
        write("evals/evals.toml", &settings);
        Self { folder, skills }
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    /// The agent alone, as often and as many at once, started by the program that these words call.
    fn floor(&self, by: &[&str]) -> Duration {
        let mut command = Command::new("xargs");
        command.args(["-P", JOBS, "-n", "1"]).args(by).arg(self.root().join("agent"));
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let started = Instant::now();
        let mut child = command.spawn().expect("xargs starts");
        let prompts: Vec<String> = (0..CASES).map(|case| case.to_string()).collect();
        child.stdin.take().expect("an input").write_all(prompts.join("\n").as_bytes()).expect("an input");
        assert!(child.wait().expect("an end").success());
        started.elapsed()
    }

    /// The runner with this number of trials of each case.
    fn runner(&self, id: &str, trials: usize) -> Took {
        let (trials, most) = (trials.to_string(), CASES.to_string());
        let took = self.program(&["run", "--jobs", JOBS, "--run-id", id, "--trials", &trials, "--max-skills", &most]);
        // What is kept stays until the end: some file systems are slow at making what was just removed.
        let kept = fs::read_dir(self.root().join("artifacts/skill-evals").join(id).join("work")).expect("trials");
        assert_eq!(kept.count(), self.skills.min(CASES), "every skill was run");
        took
    }

    /// The program with these arguments.
    fn program(&self, args: &[&str]) -> Took {
        let figures = self.root().join("figures");
        let started = Instant::now();
        let mut command = Command::new("/usr/bin/time");
        let status = command
            .args(["-f", "%M %U %S", "-o"])
            .arg(&figures)
            .arg(env!("CARGO_BIN_EXE_skill-evals"))
            .args(args)
            .current_dir(self.root())
            .env("HOME", self.root())
            .env("SKILL_EVALS_CALIBRATE", "off")
            .env("SKILL_EVALS_SCRATCH", self.root().join("scratch"))
            .stdout(Stdio::null())
            .status();
        let time = started.elapsed();
        // The agent shows no offered skills, so that nothing is measured: exit code 3, as fast as any other.
        let code = if args[0] == "run" { 3 } else { 0 };
        assert_eq!(status.expect("it starts").code(), Some(code));
        let text = fs::read_to_string(figures).expect("figures");
        let last = text.lines().last().unwrap_or_default();
        let (peak, seconds) = last.split_once(' ').expect("figures");
        let work = seconds.split(' ').map(|figure| figure.parse::<f64>().expect("seconds")).sum();
        Took { time, work, peak: peak.parse().expect("KiB") }
    }
}
