//! How long the harness takes to say what there is, and to start one trial of many; the lint and the MCP server of many
//! skills; the list of many files; the grade of a large trace: `cargo bench -p skill-evals-cli --bench harness`. With `-- --check` fewer rounds, and only the largest.
//!
//! Times whole processes of the program as it is shipped, on repositories made for it, next to the bare start of a
//! process. Fails if a figure is three times its target, so that a slow change shows and another program on the machine
//! does not.

use std::fmt::Write;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

/// Above this multiple of what is wanted, a figure is a failure.
const FAILURE: u128 = 3;

/// How many skills the lint and the MCP server are given.
const MANY: usize = 5000;

/// How often one read of all files, with their rows, the list of all cases may take.
const LIST: u128 = 4;

/// How many files without cases the search is given, and how many milliseconds longer than one read of them it may take.
const FILES: usize = 10_000;
const BEYOND_READ: u128 = 100;

/// How often one read of all skills their lint may take.
const LINT: u128 = 12;

/// Events of the large trace, of two kilobytes each on average.
const EVENTS: usize = 50_000;

/// A repository's size, and what is wanted of it.
struct Size {
    skills: usize,
    cases_each: usize,
    /// In milliseconds; of the largest it is [`LIST`] times the floor, which every machine has its own of.
    list_ms: Option<u128>,
    exact_ms: Option<u128>,
    memory_mb: u64,
}

const SIZES: [Size; 4] = [
    Size { skills: 100, cases_each: 100, list_ms: Some(50), exact_ms: Some(20), memory_mb: 100 },
    Size { skills: 1, cases_each: 10_000, list_ms: Some(50), exact_ms: None, memory_mb: 100 },
    Size { skills: 1000, cases_each: 10, list_ms: Some(150), exact_ms: None, memory_mb: 100 },
    Size { skills: 1000, cases_each: 100, list_ms: None, exact_ms: None, memory_mb: 100 },
];

fn main() -> ExitCode {
    let check = std::env::args().any(|arg| arg == "--check");
    let rounds = if check { 3 } else { 7 };
    let best = |run: &dyn Fn() -> Duration| best(rounds, run);
    let mut held = true;
    println!("the bare start of a process: {}", ms(best(&|| timed(Command::new("true")).0)));
    for size in &SIZES[if check { SIZES.len() - 1 } else { 0 }..] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        write(folder.path(), size);
        let cases = size.skills * size.cases_each;
        println!("{cases} cases, {} skills:", size.skills);
        let list = best(&|| timed(harness(folder.path(), &["--list", "--format", "terse"])).0);
        let name = format!("skill_{0}::case_{1}::codex", size.skills / 2, size.cases_each / 2);
        let exact = best(&|| timed(harness(folder.path(), &["--exact", &name, "--nocapture"])).0);
        let program = best(&|| timed(program(folder.path(), &["list"])).0);
        let memory = timed(harness(folder.path(), &["--list"])).1;
        let floor = best(&|| read_rows(folder.path(), cases));
        line("one read of all", floor, None);
        held &= line("list", list, Some(size.list_ms.unwrap_or(LIST * floor.as_millis())));
        if !check {
            let ignored = best(&|| timed(harness(folder.path(), &["--list", "--format", "terse", "--ignored"])).0);
            line("list of ignored", ignored, None);
        }
        line("skill-evals list", program, None);
        held &= line("one exact trial", exact, size.exact_ms);
        let enough = u128::from(memory) <= FAILURE * u128::from(size.memory_mb);
        println!("  memory of the list  {memory:>6} MB, wanted {} MB{}", size.memory_mb, failed(enough));
        held &= enough;
    }
    held &= many_skills(&best);
    held &= many_files(&best);
    held &= large_trace(&best);
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The lint and the MCP server, held against one read of all files.
fn many_skills(best: &dyn Fn(&dyn Fn() -> Duration) -> Duration) -> bool {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), &Size { skills: MANY, cases_each: 1, list_ms: None, exact_ms: None, memory_mb: 0 });
    let skills = folder.path().join("skills");
    println!("{MANY} skills:");
    let read = best(&|| {
        let started = Instant::now();
        let files = walkdir::WalkDir::new(&skills).into_iter().flatten().filter(|entry| entry.file_type().is_file());
        assert_eq!(files.filter(|entry| fs::read(entry.path()).is_ok()).count(), MANY);
        started.elapsed()
    });
    line("one read of all", read, None);
    let answered = best(&|| answered(program(folder.path(), &["mcp", "--skills", "skills"])));
    let held = line("MCP initialize", answered, Some(2 * read.as_millis().max(1)));
    let lint = best(&|| timed(program(folder.path(), &["lint"])).0);
    line("lint", lint, Some(LINT * read.as_millis().max(1))) && held
}

/// The list of a tree of files that mostly hold no cases, held against one read of those that could by their names.
fn many_files(best: &dyn Fn(&dyn Fn() -> Duration) -> Duration) -> bool {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), &Size { skills: 40, cases_each: 10, list_ms: None, exact_ms: None, memory_mb: 0 });
    let values =
        json!({ "name": "module", "versions": ["1.0", "2.0"], "about": "a system that reads files. ".repeat(40) });
    let yaml = "module:\n  name: a name\n  list:\n    - a value\n    - another value\n".repeat(20);
    let page = "# A page\n\n".to_owned() + &"It says how a module is built and what its server answers.\n\n".repeat(20);
    let (values, source) = (values.to_string(), "let value = read(name);\n".repeat(60));
    for number in 0..FILES {
        let (ending, text) =
            [("json", &values), ("yaml", &yaml), ("md", &page), ("rs", &source), ("py", &source)][number % 5];
        let directory = folder.path().join(format!("packages/p{}/src/m{}", number % 50, number % 70));
        fs::create_dir_all(&directory).expect("a directory");
        fs::write(directory.join(format!("f{number}.{ending}")), text).expect("a file");
    }
    println!("{FILES} files:");
    let read = best(&|| {
        let started = Instant::now();
        let files =
            walkdir::WalkDir::new(folder.path()).into_iter().flatten().filter(|entry| entry.file_type().is_file());
        let may_hold = |path: &Path| path.extension().is_some_and(|end| end != "rs" && end != "py");
        let read = files.filter(|entry| may_hold(entry.path()) && fs::read(entry.path()).is_ok()).count();
        assert!(read > FILES / 2);
        started.elapsed()
    });
    line("one read of all", read, None);
    let list = best(&|| timed(program(folder.path(), &["list"])).0);
    line("skill-evals list", list, Some(read.as_millis() + BEYOND_READ))
}

/// The grade of a large trace, next to what Python takes to decode its lines.
fn large_trace(best: &dyn Fn(&dyn Fn() -> Duration) -> Duration) -> bool {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let ours = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    for name in ["skills", "evals"] {
        let copied = Command::new("cp").arg("-r").arg(ours.join(name)).arg(folder.path()).status();
        assert!(copied.expect("cp starts").success());
    }
    let trial = "template-generator/template-generator/cli-native/1";
    let recording = ours.join("evals/recordings").join(trial);
    let stored = folder.path().join("run/work").join(trial);
    fs::create_dir_all(&stored).expect("a directory");
    for name in ["meta.json", "final.txt"] {
        fs::copy(recording.join(name), stored.join(name)).expect("a copy");
    }
    let recorded = fs::read_to_string(recording.join("trace.jsonl")).expect("a trace");
    let (first, rest) = recorded.split_once('\n').expect("lines");
    let outputs: Vec<&str> = include_str!("harness.rs").split("\n\n").collect();
    let mut trace = format!("{first}\n");
    for call in 0..EVENTS / 2 {
        let output: String = outputs.iter().cycle().skip(call).take(8).copied().collect();
        let input =
            json!({ "type": "tool_use", "id": call.to_string(), "name": "Bash", "input": { "command": "make" } });
        let answer = json!({ "type": "tool_result", "tool_use_id": call.to_string(), "content": output });
        for (kind, block) in [("assistant", input), ("user", answer)] {
            let _ = writeln!(trace, "{}", json!({ "type": kind, "message": { "role": kind, "content": [block] } }));
        }
    }
    trace.push_str(rest);
    fs::write(stored.join("trace.jsonl"), &trace).expect("a trace");
    println!("a trace of {} MB, {EVENTS} events:", trace.len() / 1_000_000);
    let decode = "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)";
    let python = || {
        let mut command = Command::new("python3");
        command.args(["-c", decode]).arg(stored.join("trace.jsonl"));
        timed(command).0
    };
    let floor = best(&python);
    line("json.loads", floor, None);
    let grade = best(&|| timed(program(folder.path(), &["grade", "run/work"])).0);
    line("grade", grade, Some(floor.as_millis()))
}

/// The time to read all files below `root`, and to take the tables of cases apart.
fn read_rows(root: &Path, cases: usize) -> Duration {
    let started = Instant::now();
    let mut rows = 0;
    for entry in walkdir::WalkDir::new(root).into_iter().flatten().filter(|entry| entry.file_type().is_file()) {
        let bytes = fs::read(entry.path()).expect("a file");
        if entry.path().extension().is_some_and(|end| end == "csv") {
            rows += csv::Reader::from_reader(&bytes[..]).byte_records().flatten().count();
        }
    }
    assert_eq!(rows, cases);
    started.elapsed()
}

/// The time until a server has answered `initialize`.
fn answered(mut command: Command) -> Duration {
    let started = Instant::now();
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a server");
    let request = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"#,
        r#""clientInfo":{"name":"bench","version":"1"}}}"#,
        "\n"
    );
    let mut input = child.stdin.take().expect("an input");
    input.write_all(request.as_bytes()).expect("an input");
    let mut answer = String::new();
    BufReader::new(child.stdout.take().expect("an output")).read_line(&mut answer).expect("an answer");
    let time = started.elapsed();
    assert!(answer.contains("skill-4999"), "{answer}");
    drop(input);
    child.wait().expect("an end");
    time
}

fn failed(held: bool) -> &'static str {
    if held { "" } else { ": FAILED" }
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

fn line(what: &str, time: Duration, wanted: Option<u128>) -> bool {
    let held = wanted.is_none_or(|wanted| time.as_millis() < FAILURE * wanted);
    let said = wanted.map_or_else(String::new, |wanted| format!(", wanted {wanted} ms"));
    println!("  {what:<18}{:>12}{said}{}", ms(time), failed(held));
    held
}

/// The best of several: what the program takes, rather than what else the machine did.
fn best(rounds: usize, run: &dyn Fn() -> Duration) -> Duration {
    (0..rounds).map(|_| run()).min().unwrap_or_default()
}

fn program(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skill-evals"));
    command.args(args).current_dir(root).env_remove("CI").stderr(Stdio::null());
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
