//! A trace of any size takes little memory.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::fixture::Fixture;

/// Megabytes of the trace that is graded; `TRACE_MB=1000` for the whole proof.
fn megabytes() -> usize {
    std::env::var("TRACE_MB").ok().and_then(|number| number.parse().ok()).unwrap_or(100)
}

/// Lines of all sizes that make a reader's memory grow: long texts, long lists, calls without an answer.
fn write_monster(path: &Path) {
    let mut file = BufWriter::new(fs::File::create(path).expect("a file"));
    let wanted = megabytes() << 20;
    let long = "x\\n".repeat(5 << 20);
    let blocks = r#"{"type":"text","text":"a"},"#.repeat(400_000);
    let ones = "1,".repeat(4 << 20);
    let mut written = 0;
    let mut number = 0;
    while written < wanted {
        number += 1;
        let line = match number % 5 {
            0 => format!(
                r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t{}","content":"{long}"}}]}}}}"#,
                number - 1
            ),
            1 => format!(r#"{{"type":"assistant","message":{{"content":[{blocks}{{"type":"text","text":"b"}}]}}}}"#),
            2 => format!(
                r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"u{number}","name":"Write","input":{{"content":[{ones}1]}}}}]}}}}"#
            ),
            3 => format!(r#"{{"type":"user","message":{{"content":"{}"}}}}"#, "y".repeat(40 << 20)),
            _ => format!(
                r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"t{number}","name":"Bash","input":{{"command":"{long}"}}}}]}}}}"#
            ),
        };
        written += line.len() + 1;
        file.write_all(line.as_bytes()).and_then(|()| file.write_all(b"\n")).expect("room on the disk");
    }
    file.flush().expect("room on the disk");
}

#[test]
fn a_monstrous_trace_is_graded_in_bounded_memory() {
    let fixture = Fixture::copy_of_sample();
    let recording = fixture.root().join("evals/recordings/greeting/greeting/cli-native/1");
    let trial = fixture.root().join("artifacts/skill-evals/big/work/greeting/greeting/cli-native/1");
    fs::create_dir_all(&trial).expect("a directory");
    for name in ["meta.json", "final.txt"] {
        fs::copy(recording.join(name), trial.join(name)).expect("a file");
    }
    write_monster(&trial.join("trace.jsonl"));
    let mut program = Command::new(env!("CARGO_BIN_EXE_skill-evals"))
        .args(["grade", "big"])
        .current_dir(fixture.root())
        // What is measured is what the program holds. An allocator may keep what was freed, by the timing of threads.
        .envs([("MALLOC_ARENA_MAX", "1"), ("MALLOC_MMAP_THRESHOLD_", "131072")])
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut peak = 0;
    while program.try_wait().expect("a program").is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", program.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
        peak = peak.max(kilobytes.unwrap_or(0_u64));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let mut report = String::new();
    let _ = write!(report, "{} MB of trace took {} MB", megabytes(), peak >> 10);
    assert!(peak > 1 << 10, "it was looked at: {report}");
    // The pages of the program itself count, too: they differ by how it was built.
    assert!(peak < 128 << 10, "{report}");
    println!("{report}");
}
