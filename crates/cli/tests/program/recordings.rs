//! Recordings are evidence: whichever byte of one is flipped, it never gets another verdict.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::stub::Stub;
use skill_evals_results::store;

/// Recordings of different agents, deliveries and endings.
const RECORDINGS: [&str; 4] = [
    "greeting/greeting/mcp/1",
    "greeting/explicit/codex/1",
    "greeting/negative/cli-native/1",
    "greeting/negative/codex/1",
];

/// The result of replaying each recording of the skill `greeting`, a line each.
fn replayed(fixture: &Fixture) -> Vec<String> {
    let ran = fixture.run(&["run", "-v", "--replay", "--skill", "greeting"]);
    let lines = ran.stdout.lines().filter(|line| line.starts_with("greeting/"));
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

fn folder(fixture: &Fixture, recording: &str) -> PathBuf {
    fixture.root().join("evals/recordings").join(recording)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("a directory").map(|entry| entry.expect("an entry").path()).collect();
    files.sort_unstable();
    files
}

#[test]
fn a_replay_needs_no_recording_in_the_default_mode_if_there_is_one_in_another() {
    let sample = Fixture::copy_of_sample();
    let recordings = sample.root().join("evals/recordings/greeting/explicit");
    fs::remove_dir_all(recordings.join("cli-native")).expect("a recording");
    fs::rename(recordings.join("codex"), recordings.join("cli-native")).expect("a recording");
    let planned = sample.run(&["run", "--replay", "--dry-run", "greeting/explicit/"]);
    let (first, rest) = planned.stdout.split_once('\n').expect("lines");
    assert!(first == "greeting/explicit/cli-native" && !rest.contains("/codex\n"), "{}", planned.stdout);
}

#[test]
fn a_flipped_byte_is_never_another_verdict() {
    let fixture = Fixture::copy_of_sample();
    for recording in RECORDINGS {
        store::trial_at(&folder(&fixture, recording)).seal(1).expect("digests");
    }
    let before = replayed(&fixture);
    assert!(before.len() > RECORDINGS.len(), "{before:?}");
    let mut tried = 0;
    // One byte of each file of every recording at a time; many bytes of each over the rounds.
    for round in 0..24_usize {
        let mut spoiled = Vec::new();
        for (number, recording) in RECORDINGS.iter().enumerate() {
            let files = files(&folder(&fixture, recording));
            let path = files[(round + number) % files.len()].clone();
            let whole = fs::read(&path).expect("a file");
            let mut bytes = whole.clone();
            let at = (round * 7919 + number * 104_729) % bytes.len();
            bytes[at] ^= 1 << (round % 8);
            fs::write(&path, bytes).expect("a file");
            spoiled.push((path, whole));
            tried += 1;
        }
        let after = replayed(&fixture);
        for line in &after {
            let same = before.contains(line);
            let told = ["stale", "error", "cannot be read", "not as it was recorded", "damaged"];
            assert!(same || told.iter().any(|word| line.contains(word)), "round {round}: {line}\nbefore: {before:?}");
        }
        for (path, whole) in spoiled {
            fs::write(path, whole).expect("a file");
        }
    }
    assert_eq!((replayed(&fixture), tried), (before, 24 * RECORDINGS.len()));
}

#[test]
fn a_recording_with_a_file_more_or_less_is_refused() {
    let fixture = Fixture::copy_of_sample();
    let recording = folder(&fixture, "greeting/explicit/codex/1");
    let trial = store::trial_at(&recording);
    trial.seal(1).expect("digests");
    assert!(trial.meta().is_ok());
    fs::write(recording.join("session.jsonl"), "{}\n").expect("a file");
    assert!(trial.meta().is_err());
    fs::remove_file(recording.join("session.jsonl")).expect("a file");
    std::os::unix::fs::symlink("rollout.jsonl", recording.join("session.jsonl")).expect("a link");
    assert!(trial.meta().is_err());
    fs::remove_file(recording.join("session.jsonl")).expect("a link");
    let rollout = fs::read(recording.join("rollout.jsonl")).expect("a file");
    fs::remove_file(recording.join("rollout.jsonl")).expect("a file");
    assert!(trial.meta().is_err());
    fs::write(recording.join("rollout.jsonl"), rollout).expect("a file");
    assert!(trial.meta().is_ok());
}

#[test]
fn a_recording_that_is_not_whole_is_an_error_wherever_it_is_read() {
    let stub = Stub::new(2, "echo left > left.txt");
    stub.run("run --record").exits(0);
    let recording = stub.root().join("evals/recordings/tidy/c0/codex/1");
    let whole = stub.root().join("whole");
    let copy = |from: &Path, to: &Path| {
        assert!(Command::new("cp").arg("-r").args([from, to]).status().is_ok_and(|status| status.success()));
    };
    copy(&recording, &whole);
    for (place, removed, written) in [
        ("digests.json", "digests.json", None),
        ("digests.json", "digests.json", Some("final.txt")),
        ("meta.json", "meta.json", None),
        ("trace.jsonl", "trace.jsonl", None),
        ("final.txt", "final.txt", None),
        ("rollout.jsonl", "rollout.jsonl", None),
        ("workspace/left.txt", "workspace/left.txt", None),
        ("final.txt", "final.txt", Some("final.txt")),
        ("workspace/left.txt", "workspace/left.txt", Some("workspace/left.txt")),
        ("final.txt", "final.txt", Some("grade.json")),
    ] {
        fs::remove_dir_all(&recording).expect("a recording");
        copy(&whole, &recording);
        stub.run("run --replay").exits(0);
        fs::remove_file(recording.join(removed)).expect(removed);
        if let Some(written) = written {
            fs::write(recording.join(written), "Another answer.").expect(written);
        }
        let place = format!("evals/recordings/tidy/c0/codex/1/{place}");
        let (replay, lint, grade) = (["run", "--replay"], ["lint", "--check-evals"], ["grade", "evals/recordings"]);
        for args in [&replay[..], &lint, &grade, &["list"], &["harness"]] {
            let ran = stub.run(args);
            let told = [ran.stdout, ran.stderr].concat();
            let remedy = "restore the recording's directory from version control, or record the trial again";
            assert!(told.contains(&place) && told.contains(remedy), "{removed} {args:?}: {told}");
            assert!(ran.code != 0, "{removed} {args:?}: {told}");
        }
    }
    // A whole recording is accepted wherever it is, and only with its digests.
    let elsewhere = store::trial_at(&whole);
    assert!(elsewhere.meta().is_ok());
    fs::remove_file(whole.join("digests.json")).expect("digests");
    assert!(elsewhere.meta().is_err());
}

#[test]
fn a_recording_without_all_its_repeats_is_an_error() {
    let stub = Stub::new(1, "");
    let replay = |stub: &Stub| stub.run(&["run", "--replay", "--case", "c0"]);
    stub.run("run --record --trials 3").exits(0);
    assert_eq!(replay(&stub).code, 0);
    let repeats = stub.root().join("evals/recordings/tidy/c0/codex");
    fs::remove_dir_all(repeats.join("3")).expect("a repeat");
    let ran = replay(&stub);
    assert_ne!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let why = "evals/recordings/tidy/c0/codex: repeats 1 to 3 were recorded together, and 1, 2 are here";
    assert!([ran.stdout, ran.stderr].concat().contains(why));
    // Nor under other names, the first one too.
    for (from, to) in [("2", "3"), ("1", "5"), ("5", "01"), ("01", "one")] {
        fs::rename(repeats.join(from), repeats.join(to)).expect("a repeat");
        let ran = replay(&stub);
        assert_ne!(ran.code, 0, "{from} as {to}: {}{}", ran.stdout, ran.stderr);
        assert_ne!(stub.run(&["harness", "c0"]).code, 0, "{from} as {to}");
    }
    // Fewer of them, recorded again, are whole.
    stub.run("run --record --trials 2").exits(0);
    assert_eq!(replay(&stub).code, 0);
}

#[test]
fn what_a_killed_recorder_left_is_no_recording_and_goes_with_the_next_one() {
    let stub = Stub::new(3, "");
    stub.run("run --run-id r --record").exits(0);
    let recordings = stub.root().join("evals/recordings");
    // Killed after it moved one recording aside and rewrote another.
    let left = recordings.join(".new-abc");
    fs::create_dir_all(left.join("old/tidy/c1")).expect("a directory");
    fs::rename(recordings.join("tidy/c1/codex"), left.join("old/tidy/c1/codex")).expect("a directory");
    fs::create_dir_all(left.join("tidy/c2")).expect("a directory");
    assert!(
        Command::new("cp").arg("-r").arg(recordings.join("tidy/c2/codex")).arg(left.join("tidy/c2/")).status().is_ok()
    );
    fs::create_dir_all(recordings.join(".new-def")).expect("a directory");
    // A link is followed nowhere.
    let outside = stub.root().join("outside");
    fs::create_dir_all(outside.join("old/tidy/c9/codex")).expect("a directory");
    std::os::unix::fs::symlink(&outside, recordings.join(".new-link")).expect("a link");
    // Another process is at work in this one.
    let other = recordings.join(".new-other");
    fs::create_dir_all(&other).expect("a directory");
    let lock = fs::File::open(&other).expect("a directory");
    lock.lock().expect("a lock");

    let graded = stub.run(&["grade", "evals/recordings/"]);
    assert_eq!(graded.stdout.matches("tidy/c2/codex").count(), 1, "{}", graded.stdout);
    assert!(!graded.stdout.contains(".new-"), "{}", graded.stdout);
    stub.run("record r c0").exits(0);
    let names = |folder: &Path| -> Vec<String> {
        let mut names: Vec<String> =
            files(folder).iter().map(|path| path.file_name().expect("a name").to_string_lossy().into_owned()).collect();
        names.retain(|name| name != "tidy" && name != ".gitattributes");
        names
    };
    assert_eq!(names(&recordings), [".new-link", ".new-other"]);
    assert!(outside.join("old/tidy/c9/codex").is_dir() && !recordings.join("tidy/c9").exists());
    let replayed = stub.run(&["run", "--replay", "-v"]);
    assert_eq!((replayed.code, replayed.stdout.matches(": pass").count()), (0, 3), "{}", replayed.stdout);
    drop(lock);
    stub.run("record r c0").exits(0);
    assert_eq!(names(&recordings), [".new-link"]);
}

#[test]
fn git_passes_over_what_runs_keep_even_without_init() {
    let stub = Stub::new(1, "");
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(stub.root()).output().expect("git starts");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    git(&["init", "-q"]);
    let before = git(&["status", "--porcelain", "--untracked-files=all"]);
    stub.run("run --run-id r").exits(0);
    let after = git(&["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(after.replace("?? starts\n", ""), before);
    // Rules of the user's own stay.
    let rules = stub.root().join("artifacts/skill-evals/.gitignore");
    fs::write(&rules, "").expect("a file");
    stub.run("run --run-id s").exits(0);
    assert_eq!(fs::read_to_string(&rules).expect("a file"), "");
}

#[test]
fn facts_that_deny_their_own_digests_are_refused() {
    let fixture = Fixture::copy_of_sample();
    let recording = folder(&fixture, "greeting/explicit/codex/1");
    let meta = fs::read_to_string(recording.join("meta.json")).expect("a file");
    let trial = store::trial_at(&recording);
    assert!(trial.meta().is_ok());
    let prompt = trial.meta().expect("facts").case.prompt;
    fs::write(recording.join("meta.json"), meta.replace(&prompt, "Another prompt.")).expect("a file");
    trial.seal(1).expect("digests");
    let why = trial.meta().expect_err("another prompt").to_string();
    assert!(why.contains("its prompt is not the one that its digest is of"), "{why}");
}

#[test]
fn recordings_in_the_directory_of_a_skill_are_no_part_of_it() {
    let stub = Stub::new(0, "ls -a .agents/skills/tidy/* >> \"$folder/seen\"");
    let copy = |from: &str, to: &str| {
        let text = fs::read_to_string(stub.root().join(from)).expect("a file");
        stub.write(to, &text);
    };
    copy("skills/tidy/SKILL.md", "tidy/SKILL.md");
    copy("evals/evals.toml", "tidy/evals/evals.toml");
    let run = |args: &[&str]| stub.run(&[&["run", "--root", "tidy", "--suite", "negative", "-v"], args].concat());
    assert_eq!(run(&["--run-id", "r", "--record"]).code, 0);
    let replayed = run(&["--replay"]);
    assert_eq!((replayed.code, replayed.stdout.matches(": pass").count()), (0, 1), "{}", replayed.stdout);
    assert_eq!(run(&["--run-id", "s"]).code, 0);
    let seen = fs::read_to_string(stub.root().join("seen")).expect("what the agents saw");
    assert_eq!(seen.matches("SKILL.md").count(), 2, "{seen}");
    assert!(!seen.contains("recordings") && !seen.contains("evals.toml"), "{seen}");
}

#[test]
fn a_filter_that_no_trial_of_the_run_matches_is_named() {
    let stub = Stub::new(1, "");
    stub.run("run --run-id r").exits(0);
    let recorded = stub.run(&["record", "r", "cli", "mcp"]);
    recorded.exits(2);
    let said = "error: the run r has no finished trial whose name contains `cli` or `mcp`\n";
    assert_eq!(recorded.stderr, said, "{}", recorded.stdout);
}

#[test]
fn flipped_bits_in_the_digests_are_an_error() {
    let fixture = Fixture::copy_of_sample();
    let recording = folder(&fixture, "greeting/explicit/codex/1");
    let (trial, path) = (store::trial_at(&recording), recording.join("digests.json"));
    let whole = fs::read(&path).expect("digests");
    let mut random = fastrand::Rng::with_seed(1);
    for flips in [1, 2].into_iter().cycle().take(1500) {
        let mut spoiled = whole.clone();
        for _ in 0..flips {
            spoiled[random.usize(..whole.len())] ^= 1 << random.u8(..8);
        }
        fs::write(&path, &spoiled).expect("digests");
        let json = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).ok();
        let is_same = json(&spoiled) == json(&whole);
        assert!(is_same || trial.meta().is_err(), "{}", String::from_utf8_lossy(&spoiled));
    }
}

#[test]
fn the_recordings_of_a_renamed_case_are_named_and_follow_it() {
    let stub = Stub::new(2, "");
    stub.run("run --record --trials 2 --run-id r").exits(0);
    let table = stub.root().join("evals/skills/tidy/prompts.csv");
    let text = fs::read_to_string(&table).expect("cases").replace("c0,", "first,");
    fs::write(&table, text).expect("cases");
    let lint = stub.run("lint");
    lint.exits(0).prints("warning[orphan-recording]: no case `tidy/c0` found: nothing replays its recording");
    lint.prints("`skill-evals record --rename tidy/c0 first`");
    for (args, why) in [
        ("tidy/c1 first", "the case `tidy/c1` is still there"),
        ("tidy/c0 second", "no case `tidy/second` found"),
        ("tidy/c0 c1", "the case `tidy/c1` has recordings of its own"),
        ("tidy/c9 first", "the case `tidy/c9` has no recording"),
        ("c0 first", "write the skill too"),
    ] {
        stub.run(&*format!("record --rename {args}")).exits(2).warns(why);
    }
    stub.run("record --rename tidy/c0 first").exits(0).prints("tidy/c0: moved to evals/recordings/tidy/first/codex\n");
    stub.run("run --replay").exits(0).prints("2 of 2 cases passed").prints("4 passed");
    let lint = stub.run("lint");
    assert!(!lint.stdout.contains("recording"), "{lint}");
    assert!(!stub.root().join("evals/recordings/tidy/c0").exists());
}

#[test]
fn a_recording_is_no_orphan_if_its_case_may_be_in_a_file_that_cannot_be_read() {
    let stub = Stub::new(1, "");
    stub.run("run --record --run-id r").exits(0);
    let table = stub.root().join("evals/skills/tidy/prompts.csv");
    let text = fs::read_to_string(&table).expect("cases").replace(',', "\t");
    fs::write(&table, text).expect("cases");
    let lint = stub.run("lint");
    lint.exits(1).prints("separated by tabs");
    assert!(!lint.stdout.contains("orphan-recording"), "{lint}");
}

/// A clone of the stub's repository by a git that writes CRLF, and what a replay in it prints.
fn cloned_with_crlf(stub: &Stub) -> (tempfile::TempDir, String) {
    let git = |folder: &Path, args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args);
        assert!(git.current_dir(folder).output().expect("git starts").status.success(), "{args:?}");
    };
    for args in [&["init", "-q"][..], &["add", "evals", "skills"], &["commit", "-qm", "all"]] {
        git(stub.root(), args);
    }
    let clone = tempfile::tempdir().expect("a directory");
    let from = stub.root().to_str().expect("UTF-8");
    let to = clone.path().join("clone");
    let args = ["clone", "-q", "--config", "core.autocrlf=true", from, to.to_str().expect("UTF-8")];
    git(clone.path(), &args);
    let root = ["run", "--replay", "--root"].map(str::to_owned).into_iter().chain([to.display().to_string()]);
    let ran = stub.run(&root.collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>());
    (clone, format!("{}{}", ran.stdout, ran.stderr))
}

#[test]
fn git_keeps_the_line_ends_of_recordings_and_changed_ones_are_named() {
    let stub = Stub::new(1, "");
    stub.run("run --record --run-id r").exits(0);
    let (_clone, said) = cloned_with_crlf(&stub);
    assert!(!said.contains("damaged") && !said.contains("CRLF"), "{said}");
    let stub = Stub::new(1, "");
    stub.run("run --record --run-id r").exits(0);
    fs::remove_file(stub.root().join("evals/recordings/.gitattributes")).expect("a file");
    let (_clone, said) = cloned_with_crlf(&stub);
    assert!(said.contains("its lines end in CRLF") && said.contains("core.autocrlf"), "{said}");
    assert!(said.contains("evals/recordings/.gitattributes"), "{said}");
}
