//! How long the harness takes to say what there is, and to start one trial of many: `cargo bench --bench harness`.
//!
//! Times whole processes of the program as it is shipped, over repositories made for it, beside the bare start of a
//! process. Exits with a failure where a figure is worse than promised, so that a slow change shows; on a machine with
//! more to do, run it again.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// A repository's size, and what is promised of it.
struct Size {
    skills: usize,
    cases_each: usize,
    list_ms: u128,
    exact_ms: Option<u128>,
    memory_mb: u64,
}

const SIZES: [Size; 4] = [
    Size { skills: 100, cases_each: 100, list_ms: 150, exact_ms: Some(20), memory_mb: 200 },
    Size { skills: 1, cases_each: 10_000, list_ms: 150, exact_ms: None, memory_mb: 200 },
    Size { skills: 1000, cases_each: 10, list_ms: 150, exact_ms: None, memory_mb: 200 },
    Size { skills: 1000, cases_each: 100, list_ms: 1500, exact_ms: None, memory_mb: 200 },
];

fn main() -> ExitCode {
    let mut held = true;
    let floor = best(|| timed(Command::new("true")).0);
    println!("the bare start of a process: {}", ms(floor));
    for size in &SIZES {
        let folder = tempfile::tempdir().expect("a temporary folder");
        write(folder.path(), size);
        let cases = size.skills * size.cases_each;
        println!("{cases} cases, {} skills:", size.skills);
        let list = best(|| timed(harness(folder.path(), &["--list", "--format", "terse"])).0);
        let ignored = best(|| timed(harness(folder.path(), &["--list", "--format", "terse", "--ignored"])).0);
        let name = format!("skill_{0}::case_{1}::codex", size.skills / 2, size.cases_each / 2);
        let exact = best(|| timed(harness(folder.path(), &["--exact", &name, "--nocapture"])).0);
        let program = best(|| timed(program(folder.path(), &["list"])).0);
        let memory = timed(harness(folder.path(), &["--list"])).1;
        held &= line("list", list, Some(size.list_ms));
        held &= line("list of ignored", ignored, None);
        held &= line("skill-evals list", program, None);
        held &= line("one exact trial", exact, size.exact_ms);
        let enough = memory <= size.memory_mb;
        println!(
            "  memory of the list  {memory:>6} MB, promised {} MB{}",
            size.memory_mb,
            if enough { "" } else { ": NOT HELD" }
        );
        held &= enough;
    }
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

fn line(what: &str, time: Duration, promised: Option<u128>) -> bool {
    let held = promised.is_none_or(|promised| time.as_millis() < promised);
    let promise = promised.map_or_else(String::new, |promised| format!(", promised {promised} ms"));
    println!("  {what:<18}{:>12}{promise}{}", ms(time), if held { "" } else { ": NOT HELD" });
    held
}

/// The best of several: what the program takes, rather than what else the machine did.
fn best(run: impl Fn() -> Duration) -> Duration {
    (0..7).map(|_| run()).min().unwrap_or_default()
}

fn program(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skill-evals"));
    command.args(args).current_dir(root);
    command
}

fn harness(root: &Path, args: &[&str]) -> Command {
    let mut command = program(root, &["harness"]);
    command.args(args).env_remove("NEXTEST");
    command
}

/// The time from start to end, and the most memory in megabytes that the process took.
fn timed(mut command: Command) -> (Duration, u64) {
    let started = Instant::now();
    let mut child = command.stdout(Stdio::null()).spawn().expect("the program starts");
    // Looked at while it runs: afterwards the system has forgotten.
    let mut most = 0;
    let status = format!("/proc/{}/status", child.id());
    let watch = command.get_args().any(|arg| arg == "--list");
    while watch && child.try_wait().expect("a child").is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let kilobytes =
            text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        most = most.max(kilobytes.unwrap_or(0_u64));
        std::thread::sleep(Duration::from_micros(500));
    }
    let ended = child.wait().expect("a child");
    assert!(ended.success(), "{command:?}: {ended}");
    (started.elapsed(), most / 1024)
}

fn write(root: &Path, size: &Size) {
    for skill in 0..size.skills {
        let name = format!("skill-{skill}");
        let folder = root.join("skills").join(&name);
        fs::create_dir_all(&folder).expect("a folder");
        let text = format!(
            "---\nname: {name}\ndescription: Does number {skill} of many things, and does it well. Use when asked for \
             thing {skill}.\n---\n\n# {name}\n\nDo thing {skill}, then say DONE_{skill}.\n"
        );
        fs::write(folder.join("SKILL.md"), text).expect("a file");
        let folder = root.join("evals/skills").join(&name);
        fs::create_dir_all(&folder).expect("a folder");
        let mut text =
            String::from("id,should_trigger,prompt,sandbox,timeout_s,max_commands,require_files,must_include\n");
        for case in 0..size.cases_each {
            let should = case % 3 != 0;
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "case-{case},{should},\"Please do thing {skill}, variant {case}.\nMind the details.\",workspace-write,\
                 60,4,out/{case}.txt,DONE_{skill}|variant \\d+"
            );
        }
        fs::write(folder.join("prompts.csv"), text).expect("a file");
    }
}
