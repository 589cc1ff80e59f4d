//! The grades of trials are the source of every figure. The progress file is a cache of them: whatever happens to it, figures are
//! those of the grades, or the file that is damaged is named.

use std::fs;
use std::path::PathBuf;

use crate::compare::{BY_SKILL, break_skill, repository};
use crate::support::fixture::Ran;
use crate::support::stub::{REFUSED, Stub};
use serde_json::Value;

/// Two runs of four cases, of which the first fails all and the second none.
fn two_runs() -> Stub {
    let stub = repository(4, BY_SKILL);
    let committed = fs::read_to_string(stub.root().join("skills/tidy/SKILL.md")).expect("a skill");
    break_skill(&stub);
    stub.run("run --run-id before --trials 2").exits(1);
    stub.write("skills/tidy/SKILL.md", &committed);
    stub.run("run --run-id after --trials 2").exits(0);
    stub
}

/// Each command that shows figures of stored runs.
const COMMANDS: [&[&str]; 8] = [
    &["compare", "before", "after"],
    &["status", "before"],
    &["status", "after", "--json"],
    &["runs"],
    &["history"],
    &["summary", "before"],
    &["export", "--to", "junit", "after"],
    &["show", "tidy/c1", "--run", "after"],
];

fn all(stub: &Stub) -> Vec<Ran> {
    COMMANDS.iter().map(|command| stub.run(*command)).collect()
}

fn progress(stub: &Stub, run: &str) -> (PathBuf, Vec<String>) {
    let path = stub.run_folder(run).join("progress.jsonl");
    let text = fs::read_to_string(&path).expect("progress");
    (path, text.lines().map(|line| format!("{line}\n")).collect())
}

/// The new text of a progress file with these lines.
type Change = fn(&[String]) -> String;

#[test]
fn no_figure_depends_on_lines_of_the_progress_file_that_were_lost_copied_changed_or_cut() {
    let stub = two_runs();
    let whole = all(&stub);
    let kept = ["before", "after"].map(|run| progress(&stub, run));
    let changes: [(&str, Change); 7] = [
        ("lost", |lines| lines[3..].concat()),
        ("all lost", |_| String::new()),
        ("copied", |lines| [lines, &lines[..3]].concat().concat()),
        ("changed", |lines| lines.concat().replacen("\"fail\"", "\"pass\"", 3).replacen("\"pass\"", "\"fail\"", 2)),
        ("without digests", |lines| lines.concat().replace(",\"digest\":", ",\"was\":")),
        ("in another order", |lines| lines.iter().rev().cloned().collect()),
        ("cut", |lines| {
            let text = lines.concat();
            text[..text.len() - 40].to_owned()
        }),
    ];
    for (what, change) in changes {
        for (path, lines) in &kept {
            fs::write(path, change(lines)).expect("progress");
        }
        for (command, (before, now)) in COMMANDS.iter().zip(whole.iter().zip(all(&stub))) {
            let is_note = |line: &&str| {
                line.contains("progress.jsonl") || line.contains("damaged_lines") || line.contains("read_from_grades")
            };
            // Runs that changed in the same instant have no order.
            let figures = |text: &str| {
                let mut lines: Vec<String> = text.lines().filter(|line| !is_note(line)).map(str::to_owned).collect();
                lines.sort();
                lines
            };
            assert_eq!(
                (now.code, figures(&now.stdout)),
                (before.code, figures(&before.stdout)),
                "{what}: {command:?}: {}",
                now.stderr
            );
        }
        let said = stub.run(&["compare", "before", "after"]).stderr;
        assert_eq!(said.contains("progress.jsonl"), !["copied", "in another order"].contains(&what), "{what}: {said}");
    }
}

#[test]
fn a_trial_that_was_removed_or_a_grade_that_was_changed_is_named_by_every_command() {
    let stub = two_runs();
    let trial = stub.run_folder("before").join("work/tidy/c2/codex/2");
    let grade = fs::read_to_string(trial.join("grade.json")).expect("a grade");
    fs::write(trial.join("grade.json"), grade.replacen("\"fail\"", "\"pass\"", 1)).expect("a grade");
    for command in
        [&["compare", "before", "after"][..], &["status", "before"], &["runs"], &["history"], &["summary", "before"]]
    {
        let ran = stub.run(command);
        let said = ran.stdout + &ran.stderr;
        assert!(said.contains("tidy/c2/codex/2/grade.json: it is not as it was stored"), "{command:?}: {said}");
        assert!(ran.code != 0 || ["runs", "history"].contains(&command[0]), "{command:?}: {said}");
        assert!(!said.contains("7/8") && !said.contains("0/7"), "{command:?}: {said}");
    }
    // Without the trial, and without the line that says that it ended.
    for lines in [0, 1] {
        let _ = fs::remove_dir_all(&trial);
        let (path, mut kept) = progress(&stub, "before");
        kept.retain(|line| lines == 0 || !line.contains("\"case\":\"c2\",\"mode\":\"codex\",\"trial\":2"));
        fs::write(path, kept.concat()).expect("progress");
        for command in [&["compare", "before", "after"][..], &["status", "before"], &["runs"], &["history"]] {
            let ran = stub.run(command);
            let said = ran.stdout + &ran.stderr;
            let words =
                ["1 of its 8 graded trials are missing", "1 of its 8 trials are missing, by its summary"][lines];
            assert!(said.contains(words), "{command:?}: {said}");
            assert!(ran.code != 0 || ["runs", "history"].contains(&command[0]), "{command:?}: {said}");
        }
    }
}

#[test]
fn a_replay_whose_lines_were_lost_or_changed_is_not_compared() {
    let stub = two_runs();
    stub.run("record after").exits(0);
    stub.run("run --replay --write-progress --run-id replay --trials 2").exits(0);
    stub.run("compare before replay").exits(0).prints("0/8 → 8/8");
    let (path, lines) = progress(&stub, "replay");
    for text in [lines[3..].concat(), lines.concat().replacen("\"verdict\":\"pass\"", "\"verdict\":\"fail\"", 3)] {
        fs::write(&path, text).expect("progress");
        let words = "3 of its 8 trials are missing, by its summary";
        stub.run("compare before replay").exits(2).warns(words);
    }
}

#[test]
fn shards_with_a_damaged_trial_are_not_merged_and_those_without_a_line_are_merged_whole() {
    let stub = repository(6, BY_SKILL);
    for shard in ["1/2", "2/2"] {
        stub.run(&["run", "--run-id", "r", "--shard", shard]).exits(0);
    }
    let (path, lines) = progress(&stub, "r-shard-1-of-2");
    fs::write(path, lines[1..].concat()).expect("progress");
    let merged = stub.run(&["merge", "r", "--run-id", "r"]);
    assert!(merged.code == 0 && stub.progress("r").len() == 6, "{}{}", merged.stdout, merged.stderr);
    let mut trials = walkdir::WalkDir::new(stub.run_folder("r-shard-2-of-2").join("work")).into_iter().flatten();
    let trace = trials.find(|entry| entry.file_name() == "trace.jsonl").expect("a trace").into_path();
    let text = fs::read_to_string(&trace).expect("a trace");
    fs::write(&trace, format!("{text}\n")).expect("a trace");
    stub.run("merge r --run-id r").exits(2).warns("trace.jsonl: it is not as it was stored");
    fs::remove_dir_all(trace.parent().expect("a trial")).expect("a trial");
    stub.run("merge r --run-id less").exits(3).prints("missing: tidy/");
}

#[test]
fn the_cost_of_a_run_is_at_least_what_is_known_if_the_line_of_a_refused_attempt_was_lost() {
    let body = format!("[ -e \"$folder/refused\" ] || {{ touch \"$folder/refused\"; {REFUSED}\n}}");
    let stub = Stub::new(1, &body);
    stub.settings("retries = 2");
    stub.run("run --run-id r").exits(0);
    let cost = || {
        let status: Value = serde_json::from_str(&stub.run(&["status", "r", "--json"]).stdout).expect("JSON");
        let summary: Value = serde_json::from_str(&stub.run(&["summary", "r", "--json"]).stdout).expect("JSON");
        [status["done"].clone(), summary["total"].clone()].map(|counts| counts["tokens_incomplete"] == true)
    };
    let (path, lines) = progress(&stub, "r");
    let refused = lines.iter().filter(|line| line.contains("\"refused\"")).count();
    let whole = cost();
    fs::write(&path, lines.concat().repeat(2)).expect("progress");
    assert_eq!((refused, cost()), (1, whole));
    let ended: Vec<String> = lines.into_iter().filter(|line| !line.contains("\"refused\"")).collect();
    fs::write(&path, ended.concat()).expect("progress");
    assert_eq!(cost(), [true, true]);
}
