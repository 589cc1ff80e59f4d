//! What is seen while a run goes on, and right after it: each cause once, commands that can be copied, and how to go on.

use std::fs;
use std::process::Stdio;

use nix::sys::signal::Signal;

use crate::support::live::wait_until;
use crate::support::stub::{Stub, in_own_group, ran, signal};

#[test]
fn one_cause_is_shown_once_with_the_other_cases_behind_it() {
    let stub = Stub::new(3, "echo broken >&2; exit 3");
    let run = stub.run(&["run"]);
    run.exits(3);
    assert_eq!(run.stdout.matches("  why ").count(), 1, "{}", run.stdout);
    assert_eq!(run.stdout.matches(": error (as above)\n").count(), 2, "{}", run.stdout);
    // Of an agent that crashed, the checks are one line.
    assert_eq!(run.stdout.matches("  unknown ").count(), 1, "{}", run.stdout);
}

#[test]
fn stale_and_missing_recordings_say_once_what_to_do() {
    let stub = Stub::new(3, "");
    let missing = stub.run(&["run", "--replay"]);
    assert_eq!(missing.stdout.matches("record it").count(), 1, "{}", missing.stdout);
    assert_eq!(missing.stdout.matches(": no recording\n").count(), 3, "{}", missing.stdout);
    stub.run("run --record").exits(0);
    stub.write("skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Another.\n---\n\nAnother.\n");
    let stale = stub.run(&["run", "--replay"]);
    assert_eq!(stale.stdout.matches("what to do").count(), 1, "{}", stale.stdout);
    assert_eq!(stale.stdout.matches("/codex: the recording is stale").count(), 3, "{}", stale.stdout);
    stale.prints("3 recordings are stale: `skill-evals run --stale --record`");
}

#[test]
fn a_mistake_of_several_cases_is_shown_once_with_the_places_of_the_others() {
    let stub = Stub::new(1, "");
    stub.write("evals/triggers.json", r#"{"skill": "pot", "should_trigger": ["Tea, please", "Make some tea"]}"#);
    let run = stub.run(&["run", "--replay"]);
    assert_eq!(run.stdout.matches("error[unknown-skill]").count(), 1, "{}", run.stdout);
    let again = "tasks/triggers-2/codex: the case is wrong (as above: evals/triggers.json:1:";
    let other = "tasks/triggers-1/codex: the case is wrong (as above: evals/triggers.json:1:";
    assert_ne!(run.stdout.contains(again), run.stdout.contains(other), "{}", run.stdout);
    stub.write("evals/triggers.json", r#"{"skill": "pot", "should_trigger": ["Tea", "A tea", "My tea", "Our tea"]}"#);
    let dry = stub.run(&["run", "--dry-run"]);
    assert_eq!(dry.stdout.matches("error[unknown-skill]").count(), 1, "{}", dry.stdout);
    dry.prints("\n4 errors\n");
}

#[test]
fn ctrl_c_says_how_to_resume() {
    let stub = Stub::new(2, "sleep 60");
    let mut command = stub.command(&["run", "--run-id", "r"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = in_own_group(&mut command);
    wait_until("an agent runs", || !stub.starts().is_empty());
    signal(&child, Signal::SIGINT);
    let output = child.wait_with_output().expect("an end");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted; to resume: skill-evals run --resume --run-id r\n"), "{said}");
    assert!(!said.contains("next:"), "{said}");
}

#[test]
fn a_replay_with_a_name_is_stored() {
    let stub = Stub::new(1, "");
    stub.run("run --record").exits(0);
    stub.run("run --replay --run-id named").exits(0);
    stub.run("show --run named").exits(0).prints("tidy/c0/codex");
}

#[test]
fn a_trial_is_shown_from_the_latest_run_that_has_it() {
    let stub = Stub::new(2, "");
    for case in ["c0", "c1"] {
        stub.run(&["run", "--case", case, "--run-id", &format!("of-{case}")]).exits(0);
    }
    stub.run("show tidy/c0").exits(0).prints("of-c0");
    stub.run("show tidy/c7").exits(2).warns("in the run of-c1");
}

#[test]
fn a_latest_run_of_which_a_part_is_missing_is_an_error_and_no_other_is_shown_in_its_place() {
    for (parts, words) in [
        (&["work"][..], "1 of its 1 graded trials are missing"),
        (&["run.json", "progress.jsonl"], "it has neither run.json nor progress.jsonl"),
    ] {
        let stub = Stub::new(1, "");
        for id in ["one", "two"] {
            stub.run(&["run", "--run-id", id]).exits(0);
        }
        let path = stub.run_folder("two");
        for part in parts {
            let part = path.join(part);
            if part.is_dir() { fs::remove_dir_all(part) } else { fs::remove_file(part) }.expect("a part");
        }
        for command in [&["show"][..], &["show", "tidy/c0"], &["summary"], &["status"], &["report"]] {
            let ran = stub.run(command);
            ran.exits(2);
            let said =
                format!("{}: {words}: a part of the run was removed; restore it, or remove the rest", path.display());
            assert!(ran.stdout.is_empty() && ran.stderr.contains(&said), "{command:?}: {}{}", ran.stdout, ran.stderr);
        }
        fs::remove_dir_all(&path).expect("the rest");
        stub.run("show").prints("run one");
    }
}

#[test]
fn a_trial_that_ended_in_the_latest_run_without_a_directory_is_not_shown_from_an_earlier_one() {
    let stub = Stub::new(1, "");
    stub.run("run --run-id one").exits(0);
    stub.body("exit 3");
    stub.run("run --run-id two").exits(3);
    let work = stub.run_folder("two").join("work");
    fs::remove_dir_all(&work).expect("trials");
    let path = stub.run_folder("two").display().to_string();
    for (command, words) in [
        (&["show", "tidy/c0"][..], "has no directory of tidy/c0/codex"),
        (&["show"], "no trial started, or they were removed"),
    ] {
        let shown = stub.run(command);
        assert!(shown.code == 2 && shown.stdout.is_empty(), "{}{}", shown.stdout, shown.stderr);
        shown.warns(&path).warns(words);
    }
    stub.run("show tidy/c0 --run one").prints("run one");
}

#[test]
fn a_report_that_no_browser_can_open_is_written_all_the_same() {
    let stub = Stub::new(1, "");
    stub.run("run --run-id r").exits(0);
    let report = ran(stub.command(&["report", "r", "--open"]).env("PATH", stub.scratch()));
    report.exits(0).prints("artifacts/skill-evals/r/report.html").warns("no browser can be opened");
}

#[test]
fn the_report_of_several_modes_has_a_row_for_each_case_those_first_in_which_modes_differ() {
    let stub = Stub::new(2, "");
    stub.settings("modes = [\"codex\", \"other\"]\nmode.other = { agent = \"codex\", delivery = \"native\" }");
    stub.write("evals/skills/tidy/prompts.csv", "id,should_trigger,prompt,must_include\na,false,A,\nb,false,B,Two\n");
    // In one of the modes the second case fails: whichever starts first.
    stub.body("case \"$prompt\" in B*) mkdir \"$folder/first\" 2>/dev/null && exec printf '%s\\n' '{\"type\":\"thread.started\",\"thread_id\":\"1\"}' '{\"type\":\"turn.started\"}' '{\"type\":\"item.completed\",\"item\":{\"id\":\"0\",\"type\":\"agent_message\",\"text\":\"Two.\"}}' '{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":10,\"output_tokens\":5}}';; esac");
    let run = stub.run(&["run", "--run-id", "r"]);
    run.exits(1);
    let page = stub.run(&["report", "r", "-o", "-"]).stdout;
    let (_, cases) = page.split_once("<table class=\"grid cases\">").expect("a row for each case");
    let (cases, _) = cases.split_once("</table>").expect("an end");
    assert!(cases.contains("modes differ in 1 of 2 cases"), "{cases}");
    let (first, second) = (cases.find("tidy/b").expect("a row"), cases.find("tidy/a").expect("a row"));
    assert!(
        first < second && cases.contains("title=\"fail\">0/1") && cases.contains("<th scope=\"col\">other"),
        "{cases}"
    );
}

#[test]
fn a_pattern_is_shown_as_it_is_written() {
    let stub = Stub::new(1, "");
    stub.write(
        "evals/skills/tidy/prompts.csv",
        "id,should_trigger,prompt,must_include\nc0,false,Prompt 0,\\d+ files\n",
    );
    stub.run("run").prints(r#"matches "\d+ files""#);
}
