//! The process room: whatever a program does, it ends, all of it ends, and what it said is kept.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use skill_evals_agents::process::{self, Job, OutputListener, Reply, Start};
use skill_evals_evidence::text::redact::Redactor;
use skill_evals_evidence::trial::evidence::Ending;
use skill_evals_evidence::trial::outcome::TroubleKind;
use skill_evals_testing::processes_with;

/// A program's run: how it ended and what it said.
struct Ran {
    ending: Ending,
    stdout: Vec<u8>,
    stderr: String,
    lines: Vec<String>,
}

#[derive(Default)]
struct Ears {
    lines: Vec<String>,
    /// What to answer to the first line, before the input is closed.
    answer: Option<&'static str>,
    /// How long it takes to answer.
    takes: Duration,
}

impl OutputListener for Ears {
    fn opening(&mut self) -> Option<Vec<u8>> {
        self.answer.map(|_| b"opening\n".to_vec())
    }

    fn line(&mut self, line: &[u8]) -> Reply {
        self.lines.push(String::from_utf8_lossy(line).into_owned());
        let write = self.answer.map(str::as_bytes).unwrap_or_default().to_vec();
        std::thread::sleep(self.takes);
        Reply { write, close: true, waited: self.takes, ..Reply::default() }
    }
}

fn run_with(script: &str, timeout: Duration, ears: Ears, redactor: &Redactor) -> Ran {
    run_given(None, script, timeout, ears, redactor)
}

fn run_given(input: Option<Vec<u8>>, script: &str, timeout: Duration, mut ears: Ears, redactor: &Redactor) -> Ran {
    let folder = tempfile::tempdir().expect("a directory");
    let env = [("PATH", std::env::var_os("PATH").expect("a PATH"))];
    let job = Job {
        start: Start::outside(PathBuf::from("/bin/sh"), vec!["-c".into(), script.into()]),
        env: env.into_iter().map(|(name, value)| (OsString::from(name), value)).collect(),
        folder: folder.path().into(),
        timeout,
        cpu_wait: None,
        stdout: folder.path().join("stdout"),
        appends: false,
        by_file: None,
        input,
        stderr: folder.path().join("stderr"),
        redactor,
        works_on: false,
        settled: None,
    };
    let ending = process::run(&job, &mut ears).expect("the files can be written");
    Ran {
        ending,
        stdout: fs::read(&job.stdout).expect("stdout was kept"),
        stderr: fs::read_to_string(&job.stderr).expect("stderr was kept"),
        lines: ears.lines,
    }
}

fn run(script: &str) -> Ran {
    run_with(script, Duration::from_secs(30), Ears::default(), &Redactor::new([]))
}

fn run_for(seconds: u64, script: &str) -> Ran {
    run_with(script, Duration::from_secs(seconds), Ears::default(), &Redactor::new([]))
}

/// A number of seconds to sleep that no other test sleeps, so that leftovers can be found.
fn odd_sleep(salt: u32) -> String {
    format!("{}{}", 1000 + salt, std::process::id())
}

#[test]
fn an_exit_status_and_both_outputs_are_kept() {
    let ran = run("echo out; echo err >&2; exit 3");
    assert_eq!((ran.ending.exit_code, ran.ending.timed_out), (Some(3), false));
    assert_eq!((ran.stdout.as_slice(), ran.stderr.as_str()), (&b"out\n"[..], "err\n"));
    assert_eq!(ran.ending.last_words.as_deref(), Some("err"));
    assert_eq!(ran.lines, ["out"]);
}

#[test]
fn a_program_is_not_charged_for_the_time_in_which_it_waits_for_its_listener() {
    let slow = || Ears { answer: Some("go\n"), takes: Duration::from_secs(4), ..Ears::default() };
    let ran = |script| run_with(script, Duration::from_secs(3), slow(), &Redactor::new([])).ending;
    let ending = ran("read opening; echo one; read answer; exit 7");
    assert_eq!((ending.exit_code, ending.timed_out), (Some(7), false));
    assert!(ending.duration_ms < 4_000, "{}", ending.duration_ms);
    let ending = ran("read opening; echo one; read answer; exec sleep 1000");
    assert!(ending.timed_out && ending.duration_ms >= 3_000, "{}", ending.duration_ms);
}

#[test]
fn a_signal_is_told_from_an_exit() {
    let ran = run("kill -9 $$");
    assert_eq!((ran.ending.exit_code, ran.ending.signal), (None, Some(9)));
}

#[test]
fn a_program_that_is_no_program_could_not_start() {
    let folder = tempfile::tempdir().expect("a directory");
    let program = folder.path().join("program");
    fs::write(&program, "\x7fELF nonsense").expect("a file");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("permissions");
    let redactor = Redactor::new([]);
    let job = Job {
        start: Start::outside(program, Vec::new()),
        env: std::collections::BTreeMap::new(),
        folder: folder.path().into(),
        timeout: Duration::from_secs(5),
        cpu_wait: None,
        stdout: folder.path().join("stdout"),
        appends: false,
        by_file: None,
        input: None,
        stderr: folder.path().join("stderr"),
        redactor: &redactor,
        works_on: false,
        settled: None,
    };
    let ending = process::run(&job, &mut Ears::default()).expect("the files can be written");
    assert_eq!(ending.trouble.map(|trouble| trouble.kind), Some(TroubleKind::CouldNotStart));
}

#[test]
fn standard_input_is_empty() {
    assert_eq!(run("cat; echo end").stdout, b"end\n");
}

#[test]
fn the_environment_is_only_what_was_given() {
    let env = String::from_utf8(run("env").stdout).expect("UTF-8");
    let names: Vec<&str> = env.lines().filter_map(|line| line.split('=').next()).collect();
    assert!(names.contains(&"PATH") && names.contains(&"PROCESS_TREE"));
    assert!(!names.contains(&"HOME") && !names.contains(&"CARGO_MANIFEST_DIR"), "{names:?}");
}

#[test]
fn a_timeout_keeps_what_was_said_before() {
    let ran = run_for(1, "echo early; sleep 60");
    assert!(ran.ending.timed_out);
    assert_eq!(ran.stdout, b"early\n");
}

#[test]
fn a_program_that_ignores_sigterm_is_killed() {
    let ran = run_for(1, "trap '' TERM; while :; do sleep 1; done");
    assert!(ran.ending.timed_out);
    assert_eq!(ran.ending.signal, Some(9));
}

#[test]
fn a_program_may_clean_up_after_sigterm() {
    let ran = run_for(1, "trap 'echo cleaned; exit 7' TERM; sleep 60 & wait");
    assert_eq!((ran.stdout.as_slice(), ran.ending.exit_code), (&b"cleaned\n"[..], Some(7)));
}

#[test]
fn children_in_sessions_of_their_own_are_gone_after_a_timeout() {
    let sleep = odd_sleep(1);
    run_for(1, &format!("setsid sleep {sleep} & (sleep {sleep} &) ; nohup sleep {sleep} & sleep {sleep}"));
    assert_eq!(processes_with(&format!("sleep {sleep}")), Vec::<String>::new());
}

#[test]
fn children_that_dropped_their_environment_are_gone_after_a_timeout() {
    let sleep = odd_sleep(2);
    run_for(1, &format!("env -i setsid sleep {sleep} & sleep {sleep}"));
    assert_eq!(processes_with(&format!("sleep {sleep}")), Vec::<String>::new());
}

#[test]
fn children_that_outlive_their_parent_are_gone_when_it_exits() {
    let sleep = odd_sleep(3);
    let ran = run(&format!("setsid sleep {sleep} >/dev/null 2>&1 & echo done"));
    assert_eq!((ran.stdout.as_slice(), ran.ending.exit_code), (&b"done\n"[..], Some(0)));
    assert_eq!(processes_with(&format!("sleep {sleep}")), Vec::<String>::new());
}

#[test]
fn a_child_that_holds_the_output_open_does_not_hold_the_run_up() {
    let sleep = odd_sleep(4);
    let ran = run(&format!("sleep {sleep} & echo done"));
    assert_eq!(ran.stdout, b"done\n");
    assert!(!ran.ending.timed_out);
}

#[test]
fn output_of_any_bytes_is_kept_as_it_is() {
    let ran = run("printf 'a\\377\\376\\000b\\nhalf'");
    assert_eq!(ran.stdout, b"a\xff\xfe\x00b\nhalf");
    assert_eq!(ran.lines.len(), 2);
}

#[test]
fn a_flood_is_kept_whole_on_standard_output() {
    let ran = run("head -c 30000000 /dev/zero | tr '\\0' x");
    assert_eq!(ran.stdout.len(), 30_000_000);
    assert_eq!(ran.lines, Vec::<String>::new(), "a line of 30 MB is kept in the file only");
}

#[test]
fn a_listener_can_answer_and_close_the_input() {
    let ears = Ears { answer: Some("second\n"), ..Ears::default() };
    let ran = run_with("read first; echo \"got $first\"; cat", Duration::from_secs(10), ears, &Redactor::new([]));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "got opening\nsecond\n");
}

#[test]
fn secrets_are_masked_in_both_outputs_even_when_they_come_in_pieces() {
    let redactor = Redactor::new(["hunter2-hunter2"]);
    let script = "printf 'a hunter2-'; sleep 0.2; printf 'hunter2 b\\n'; echo hunter2-hunter2 >&2";
    let ran = run_with(script, Duration::from_secs(10), Ears::default(), &redactor);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "a [masked] b\n");
    assert_eq!(ran.stderr, "[masked]\n");
}

#[test]
fn output_by_file_is_heard_masked_and_whole() {
    let folder = tempfile::tempdir().expect("a directory");
    let redactor = Redactor::new(["a-secret-value"]);
    let mut ears = Ears::default();
    let script = "[ -f /dev/stdout ] && echo file; echo a-secret-value; seq 200000; printf end";
    let job = Job {
        start: Start::outside(PathBuf::from("/bin/sh"), vec!["-c".into(), script.into()]),
        env: [("PATH".into(), std::env::var_os("PATH").expect("a PATH"))].into(),
        folder: folder.path().into(),
        timeout: Duration::from_secs(30),
        cpu_wait: None,
        stdout: folder.path().join("stdout"),
        appends: false,
        by_file: Some(folder.path().join("raw")),
        input: None,
        stderr: folder.path().join("stderr"),
        redactor: &redactor,
        works_on: false,
        settled: None,
    };
    let ending = process::run(&job, &mut ears).expect("the files can be written");
    assert_eq!(ending.exit_code, Some(0));
    let kept = fs::read_to_string(&job.stdout).expect("stdout was kept");
    assert!(kept.starts_with("file\n[masked]\n1\n") && kept.ends_with("200000\nend"), "{}", kept.len());
    assert_eq!((ears.lines.len(), ears.lines.last().map(String::as_str)), (200_003, Some("end")));
}

#[test]
#[cfg(target_os = "linux")]
fn a_program_reads_its_standard_input_and_cannot_change_it() {
    let script = "for way in '1>&0' '1>/proc/self/fd/0' '1>>/proc/self/fd/0' '1<>/proc/self/fd/0'; do
        sh -c \"echo evil $way\" 2>/dev/null && echo wrote; done; cat";
    let input = Some(b"the prompt".to_vec());
    let ran = run_given(input, script, Duration::from_secs(60), Ears::default(), &Redactor::new([]));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "the prompt");
}
