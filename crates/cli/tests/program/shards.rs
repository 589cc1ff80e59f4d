//! A run in shards: every case runs in one of them, and merged they are the run that one process would have made.

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::gate::VERSION;
use crate::support::fixture::{Fixture, Ran, temporary};
use crate::support::live::wait_until;
use crate::support::stub::{ANSWER, Stub, in_own_group, ran};
use serde_json::{Value, json};

/// Twelve cases: most pass, two fail, one cannot be measured.
fn mixed() -> Stub {
    let say_no = ANSWER.replace("Done", "No");
    let stub = Stub::new(0, &format!("case \"$prompt\" in *3|*8) {say_no} exit 0;; *5) exit 7;; esac"));
    let rows: Vec<String> = (0..12).map(|index| format!("c{index},false,Prompt {index},Done\n")).collect();
    let table = format!("id,should_trigger,prompt,must_include\n{}", rows.concat());
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), table).expect("cases");
    stub
}

/// Runs all shards of the run `id` at once.
fn run_shards(stub: &Stub, id: &str, of: u32, more: &[&str]) {
    let shards: Vec<String> = (1..=of).map(|number| format!("{number}/{of}")).collect();
    let start = |shard: &String| stub.start(&[&["run", "--run-id", id, "--shard", shard], more].concat());
    let children: Vec<_> = shards.iter().map(start).collect();
    for child in children {
        let output = child.wait_with_output().expect("an end");
        assert!(output.status.code().is_some_and(|code| code != 2), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The value without the names of runs and the times, which differ from run to run.
fn figures(mut value: Value) -> Value {
    fn clear(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.retain(|key, _| key != "duration_ms" && key != "runs");
                map.values_mut().for_each(clear);
            }
            Value::Array(items) => items.iter_mut().for_each(clear),
            // Sums of dollars in another order.
            Value::Number(number) if number.is_f64() => {
                *value = json!((number.as_f64().unwrap_or_default() * 1e9).round());
            }
            _ => {}
        }
    }
    clear(&mut value);
    value
}

fn json_of(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", ran.stdout, ran.stderr))
}

fn names_in(runs: &Path) -> Vec<String> {
    let entries = fs::read_dir(runs).expect("runs").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn merged_shards_are_the_run_that_one_process_would_have_made() {
    let stub = mixed();
    stub.settings("trials = 2");
    stub.run("run --run-id whole").exits(1);
    run_shards(&stub, "parts", 4, &[]);
    assert_eq!(stub.starts().len(), 48, "every trial of every case ran once in each run");
    // Before they are merged, the shards can be read as they are.
    let summary = |names: &[&str]| figures(json_of(&stub.run(&[&["summary", "--json"], names].concat())));
    let whole = summary(&["whole"]);
    assert_eq!(summary(&["parts"]), whole);
    assert_eq!(json_of(&stub.run(&["status", "parts", "--json"]))["runs"].as_array().map(Vec::len), Some(4));

    let merged = stub.run(&["merge", "parts", "--run-id", "parts"]);
    assert_eq!(
        (merged.code, merged.stdout.as_str()),
        (0, "artifacts/skill-evals/parts: 24 trials of 4 shards\n"),
        "{}",
        merged.stderr
    );
    assert_eq!(summary(&["parts"]), whole);
    stub.run("summary parts-shard-2-of-4 parts").exits(2).warns("parts-shard-2-of-4 is merged into parts");
    assert_eq!(figures(stub.json("parts", "summary.json")), figures(stub.json("whole", "summary.json")));
    let status = |id: &str| {
        let mut status = json_of(&stub.run(&["status", id, "--json"]));
        status["id"].take();
        status["pid"].take();
        figures(status)
    };
    assert_eq!(status("parts"), status("whole"));
    let compared = json_of(&stub.run(&["compare", "whole", "parts", "--json"]));
    let sides = ["baseline", "candidate"].map(|side| compared["comparison"][side].clone());
    assert!(sides[0].is_object() && sides[0] == sides[1], "{sides:?}");
    assert_eq!(stub.run(&["show", "c3", "--run", "parts"]).code, stub.run(&["show", "c3", "--run", "whole"]).code);
    stub.run("report parts").prints("24 trials");
    let graded = stub.run(&["grade", "parts", "--json"]);
    assert_eq!(json_of(&graded)["trials"].as_array().map(Vec::len), Some(24));
    stub.run("record parts c0").exits(0);
}

#[test]
fn shards_of_different_versions_of_the_agent_are_merged_with_a_warning() {
    let other = VERSION.replace("0.169.0", "0.171.0");
    let stub = Stub::new(6, VERSION);
    let run = |shard| stub.run(&["run", "--run-id", "r", "--shard", shard]);
    run("1/2");
    stub.body(&other);
    run("2/2");
    let warning = "warning: the shards ran different versions of an agent: codex 0.169.0, 0.171.0\n";
    stub.run("merge r --run-id r").exits(0).warns(warning);
    // A comparison of stored runs says it too.
    stub.run("run --run-id s").exits(0);
    let warning = "warning: the runs had different versions of an agent: codex 0.169.0, 0.171.0\n";
    stub.run("compare r-shard-1-of-2 s").warns(warning);
    assert!(!stub.run(&["compare", "r-shard-2-of-2", "s"]).stderr.contains("versions"));
}

#[test]
fn a_merge_is_made_again_with_what_the_shards_have_then() {
    let stub = mixed();
    run_shards(&stub, "r", 3, &[]);
    let merge = || stub.run(&["merge", "r", "--run-id", "r"]);
    assert_eq!(merge().code, 0);
    let first = stub.json("r", "summary.json");
    assert_eq!(merge().code, 0);
    assert_eq!(stub.json("r", "summary.json"), first);
    // The case that could not be measured is measured in its shard.
    stub.body("");
    for number in 1..=3 {
        let shard = format!("{number}/3");
        assert!(stub.run(&["run", "--resume", "--run-id", "r", "--shard", &shard]).code != 2);
    }
    assert_eq!(stub.starts().len(), 13);
    assert_eq!(merge().code, 0);
    assert_eq!((&first["total"]["errors"], &stub.json("r", "summary.json")["total"]["errors"]), (&json!(1), &json!(0)));
    assert_eq!(stub.json("r", "summary.json")["cases"].as_array().map(Vec::len), Some(12));
    // What a merged run measured itself is not merged away.
    assert!(stub.run(&["run", "--resume", "--run-id", "r"]).code != 2);
    let refused = merge();
    refused.exits(2).warns("the run `r` exists and has trials of its own: choose another name with --run-id");
}

#[test]
fn the_id_of_a_shard_is_refused_for_any_other_run() {
    let stub = mixed();
    let is_refused = |args: &[&str], why: &str| {
        stub.run(args).exits(2).warns(why);
    };
    let run = ["run", "--run-id", "n-shard-1-of-3"];
    is_refused(&run, "the run id `n-shard-1-of-3` is that of a shard: choose another --run-id, or add --shard 1/3");
    is_refused(&[&run[..], &["--shard", "2/3"]].concat(), "is that of shard 1/3, not of 2/3: use --run-id n");
    assert!(stub.starts().is_empty());
    assert!(stub.run(&[&run[..], &["--shard", "1/3"]].concat()).code != 2);
    assert!(stub.run(&[&run[..], &["--resume"]].concat()).code != 2);
    is_refused(
        &["merge", "n", "--run-id", "n-shard-9-of-9"],
        "the run id `n-shard-9-of-9` is that of a shard: choose another name with --run-id",
    );
}

#[test]
fn a_missing_shard_is_named_by_its_trials_and_counts_as_not_run() {
    let stub = mixed();
    run_shards(&stub, "r", 3, &[]);
    let listed = stub.run(&["list", "--shard", "2/3"]).stdout;
    let missing: Vec<&str> = listed.lines().filter_map(|line| line.split('\t').next()).collect();
    assert!(!missing.is_empty());
    let shards = ["r-shard-1-of-3", "r-shard-3-of-3"];
    let merged = stub.run(&["merge", shards[0], shards[1], "--run-id", "part"]);
    merged.exits(3);
    for name in &missing {
        merged.prints(format!("missing: {name} (its shard has no run here)\n"));
    }
    let status = json_of(&stub.run(&["status", "part", "--json"]));
    assert_eq!((&status["planned"], &status["remaining"]), (&json!(12), &json!(missing.len())));
    let summary = json_of(&stub.run(&["summary", "part", "--json"]));
    assert_eq!(summary["not_run"], json!({ "its shard has no run here": missing.len() }));
    // What is missing can run in the merged run too.
    stub.run("run --resume --run-id part --jobs 1").exits(1);
    assert_eq!(json_of(&stub.run(&["status", "part", "--json"]))["remaining"], json!(0));
}

#[test]
fn the_id_of_a_run_stands_for_its_shards_only_if_all_are_here_and_belong_together() {
    let stub = mixed();
    run_shards(&stub, "r", 3, &[]);
    let shard = |number: u32| format!("r-shard-{number}-of-3");
    let all = json_of(&stub.run(&["summary", "r", "--json"]));
    fs::rename(stub.run_folder(&shard(2)), stub.root().join("away")).expect("a move");
    for args in [&["summary", "r"][..], &["report", "r"], &["compare", "r", &shard(1)], &["compare", &shard(1), "r"]] {
        let why = "error: r: no run of shard 2/3 is here: bring it, or name those that are here: r-shard-1-of-3 r-shard-3-of-3";
        stub.run(args).exits(2).warns(why);
    }
    assert!(stub.run(&["status", "r"]).code == 0, "a cluster starts its shards one by one");
    assert_ne!(stub.run(&["summary", &shard(1), &shard(3)]).code, 2);
    fs::rename(stub.root().join("away"), stub.run_folder(&shard(2))).expect("a move");
    assert_eq!(json_of(&stub.run(&["summary", "r", "--json"])), all);
    assert_ne!(stub.run(&["run", "--run-id", "r", "--shard", "1/4"]).code, 2);
    stub.run("summary r").exits(2).warns("all shards of a run have the same N");
}

#[test]
fn a_merged_run_beside_one_of_its_shards_is_not_compared_twice() {
    let stub = mixed();
    run_shards(&stub, "r", 2, &[]);
    stub.run("merge r-shard-1-of-2 r-shard-2-of-2 --run-id r").exits(0);
    stub.run(&["run", "--run-id", "other"]);
    let whole = stub.run(&["compare", "r", "other"]);
    assert!(!whole.stderr.contains("has not run to its end"), "{}", whole.stderr);
    let why = "r-shard-1-of-2 is merged into r: its trials would count twice";
    stub.run("compare r,r-shard-1-of-2 other").exits(2).warns(why);
}

#[test]
fn a_merge_without_a_shard_keeps_the_only_copy_of_its_trials() {
    let stub = mixed();
    run_shards(&stub, "r", 3, &[]);
    stub.run("merge r --run-id r").exits(0);
    let before = json_of(&stub.run(&["summary", "r", "--json"]));
    fs::remove_dir_all(stub.run_folder("r-shard-2-of-3")).expect("a shard");
    stub.run("merge r --run-id r").exits(2).warns("trials that these shards lack, as tidy/");
    assert_eq!(json_of(&stub.run(&["summary", "r", "--json"])), before);
    stub.run("merge r --run-id part").exits(3);
}

#[test]
fn what_a_limit_left_out_is_missing_with_this_reason() {
    let stub = mixed();
    run_shards(&stub, "r", 2, &["--jobs", "1", "--max-tokens", "24"]);
    stub.run("merge r --run-id r").exits(3).prints("(the run has taken its limit of ");
    let total = json_of(&stub.run(&["summary", "r", "--json"]));
    let not_run: u64 = total["not_run"].as_object().expect("reasons").values().filter_map(Value::as_u64).sum();
    assert_eq!(not_run + stub.progress("r").len() as u64, 12);
}

#[test]
fn a_killed_shard_is_merged_with_what_it_measured_and_whole_once_it_is_resumed() {
    let stub = Stub::new(60, "");
    stub.run("run --run-id r --shard 1/2").exits(0);
    let own = 60 - stub.starts().len();
    // After ten trials, agents work until they are killed.
    stub.body(&format!("[ $(wc -l < \"$folder/starts\") -le {} ] || sleep 600", 70 - own));
    let mut shard = stub.start(&["run", "--run-id", "r", "--shard", "2/2", "--jobs", "2"]);
    wait_until("trials", || stub.progress_lines("r-shard-2-of-2") >= 4);
    stub.run("merge r --run-id r").exits(2).warns("r-shard-2-of-2 is running");
    shard.kill().expect("a signal");
    shard.wait().expect("an end");
    // The last trial was graded, and its line was lost.
    let progress = stub.run_folder("r-shard-2-of-2").join("progress.jsonl");
    let lines = fs::read_to_string(&progress).expect("progress");
    let cut = lines.trim_end().rfind('\n').expect("lines");
    fs::write(&progress, &lines[..cut + 20]).expect("progress");
    let kept = stub.graded("r-shard-2-of-2");
    assert!(kept < own, "killed in the middle");
    stub.run("merge r --run-id r").exits(3).prints("(the run was killed)");
    let status = json_of(&stub.run(&["status", "r", "--json"]));
    assert_eq!((&status["state"], &status["remaining"]), (&json!("killed"), &json!(own - kept)));
    let summary = stub.run(&["summary", "r", "--json"]);
    assert_eq!(json_of(&summary)["total"]["passed"], json!(60 - own + kept));
    stub.body("");
    stub.run("run --resume --run-id r-shard-2-of-2").exits(0);
    let merged = stub.run(&["merge", "r", "--run-id", "r"]);
    assert_eq!((merged.code, stub.progress("r").len()), (0, 60), "{}{}", merged.stdout, merged.stderr);
    // A shard is not a point of the history.
    assert_eq!(json_of(&stub.run(&["history", "--json"]))["runs"].as_array().map(Vec::len), Some(1));
}

#[test]
fn shards_of_different_inputs_are_refused_by_the_case_that_differs() {
    let stub = mixed();
    let table = stub.root().join("evals/skills/tidy/prompts.csv");
    let original = fs::read_to_string(&table).expect("a table");
    let shard = |number: &str| stub.run(&["run", "--run-id", "r", "--shard", number]);
    assert!(shard("1/2").code != 2);
    let refused = |change: &dyn Fn(), what: &str| {
        let _ = fs::remove_dir_all(stub.run_folder("r-shard-2-of-2"));
        change();
        assert!(shard("2/2").code != 2);
        let merged = stub.run(&["merge", "r", "--run-id", "merged"]);
        merged.exits(2).warns(what);
        assert!(!stub.run_folder("merged").exists());
    };
    let write = |text: &str| fs::write(&table, text).expect("a table");
    refused(&|| write(&original.replace("Prompt 4", "Prompt four")), "tidy/c4/codex (its skill, prompt or settings)");
    refused(&|| write(&original.replace("Prompt 4,Done", "Prompt 4,Other")), "tidy/c4/codex (its checks)");
    refused(&|| write(&original.replace("c4,", "d4,")), "tidy/c4/codex (in one of them only)");
    write(&original);
    refused(&|| stub.settings("trials = 3"), "(its number of trials)");
    stub.settings("");
    let skill = stub.root().join("skills/tidy/SKILL.md");
    let text = fs::read_to_string(&skill).expect("a skill");
    refused(&|| fs::write(&skill, format!("{text}\nMore.\n")).expect("a skill"), "and 7 more");
    fs::write(&skill, text).expect("a skill");
    // The order of the rows decides nothing.
    let (head, rows) = original.split_once('\n').expect("a head");
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.reverse();
    fs::remove_dir_all(stub.run_folder("r-shard-2-of-2")).expect("a run");
    write(&format!("{head}\n{}\n", rows.join("\n")));
    assert!(shard("2/2").code != 2);
    stub.run("merge r --run-id merged").exits(0);
}

#[test]
fn a_shard_named_twice_or_of_another_number_and_an_ordinary_run_are_refused() {
    let stub = mixed();
    for (id, shard) in [("r", "1/2"), ("r", "2/2"), ("s", "1/2"), ("t", "1/3")] {
        assert!(stub.run(&["run", "--run-id", id, "--shard", shard]).code != 2);
    }
    assert!(stub.run(&["run", "--run-id", "plain", "c0"]).code == 0);
    for (named, why) in [
        (&["r", "s"][..], "are both shard 1/2: name one of them"),
        (&["r-shard-2-of-2", "t"], "all shards of a run have the same N"),
        (&["plain"], "plain is not a shard, which `skill-evals run --shard M/N` makes"),
        (&["r", "plain"], "plain is not a shard"),
        (&["nightly"], "unknown run `nightly`"),
    ] {
        stub.run(&[&["merge"], named, &["--run-id", "merged"]].concat()).exits(2).warns(why);
    }
    stub.run("merge r --run-id plain").exits(2).warns("the run `plain` exists and has trials of its own");
    assert_eq!(stub.progress("plain").len(), 1);
}

#[test]
fn shards_of_other_machines_are_merged_by_their_directories() {
    let stub = mixed();
    run_shards(&stub, "r", 2, &[]);
    // As a CI server hands them over: directories with names of its own.
    let other = temporary();
    for (number, name) in [(1, "a"), (2, "b")] {
        fs::rename(stub.run_folder(&format!("r-shard-{number}-of-2")), other.path().join(name)).expect("a move");
    }
    let [a, b] = ["a", "b"].map(|name| other.path().join(name).display().to_string());
    stub.run(&["merge", &a, &b, "--run-id", "r"]).exits(0);
    assert_eq!((stub.progress("r").len(), stub.graded("r")), (12, 12));
    // Nothing of the merged run is a part of theirs.
    fs::remove_dir_all(other.path()).expect("removed");
    assert_eq!(json_of(&stub.run(&["summary", "r", "--json"]))["total"]["passed"], json!(9));
}

#[test]
fn a_merge_that_is_killed_leaves_the_old_run_or_the_new_one() {
    let stub = Stub::new(300, "");
    run_shards(&stub, "r", 2, &["--jobs", "4"]);
    let runs = stub.root().join("artifacts/skill-evals");
    let staged = || names_in(&runs).iter().any(|name| name.starts_with(".new-"));
    for after in [0, 1, 20, 100] {
        let merge = RefCell::new(in_own_group(&mut stub.command(&["merge", "r", "--run-id", "r"])));
        let has_ended = || merge.borrow_mut().try_wait().expect("a state").is_some();
        wait_until("the merge", || staged() || has_ended());
        std::thread::sleep(std::time::Duration::from_millis(after));
        merge.borrow_mut().kill().expect("a signal");
        merge.borrow_mut().wait().expect("an end");
        let whole = stub.run(&["status", "r", "--json"]);
        let status = json_of(&whole);
        assert!(status["remaining"] == json!(0) || status["runs"].as_array().map(Vec::len) == Some(2), "{status}");
    }
    stub.run("merge r --run-id r").exits(0);
    assert_eq!((staged(), stub.progress("r").len()), (false, 300));
}

#[test]
fn an_empty_shard_says_so_and_is_no_error() {
    let stub = Stub::new(1, "");
    let junit = stub.root().join("shard.xml").display().to_string();
    let mut empty = 0;
    for number in 1..=3 {
        let shard = format!("{number}/3");
        let ran = stub.run(&["run", "--run-id", "r", "--shard", &shard, "--junit", &junit]);
        ran.exits(0);
        assert!(fs::read_to_string(&junit).expect("a file").contains("<testsuites"));
        if ran.stderr.contains(&format!("shard {shard} has none of the 1 case: nothing to run")) {
            empty += 1;
            assert_eq!(stub.run(&["list", "--shard", &shard]).stdout, "");
            let id = format!("r-shard-{number}-of-3");
            assert_eq!(json_of(&stub.run(&["status", &id, "--json"]))["state"], json!("finished"));
        }
    }
    assert_eq!((empty, stub.starts().len()), (2, 1));
    stub.run("merge r --run-id r").exits(0);
    assert_eq!(stub.progress("r").len(), 1);
}

#[test]
fn the_limits_are_divided_by_the_trials_of_each_shard() {
    let stub = Stub::new(40, "");
    stub.settings("");
    let toml = stub.root().join("evals/evals.toml");
    let text = fs::read_to_string(&toml).expect("settings") + "[prices.codex]\ninput = 1.0\noutput = 1.0\n";
    fs::write(&toml, text).expect("settings");
    let (mut sum, mut trials) = (0.0, 0);
    for number in 1..=4 {
        let shard = format!("{number}/4");
        let ran = stub.run(&["run", "--run-id", "r", "--shard", &shard, "--max-cost-usd", "8", "--dry-run", "--json"]);
        let plan = json_of(&ran);
        let (limit, own) =
            (plan["max_cost_usd"].as_f64().expect("a limit"), plan["trials"].as_array().expect("trials").len());
        assert!(
            (limit - 0.2 * f64::from(u32::try_from(own).expect("few"))).abs() < 1e-5,
            "{own} trials may cost {limit}"
        );
        sum += limit;
        trials += own;
    }
    assert!(sum <= 8.0 && sum > 7.999 && trials == 40, "{sum} {trials}");
    // 15 tokens a trial: of a limit of 20 trials, all shards together use about that.
    run_shards(&stub, "r", 4, &["--jobs", "1", "--max-tokens", "300"]);
    assert!((20..=24).contains(&stub.starts().len()), "{}", stub.starts().len());
}

#[test]
fn each_recording_replays_in_one_shard_and_the_merged_replay_is_the_whole_one() {
    let fixture = Fixture::copy_of_sample();
    let replay = |id: &str, more: &[&str]| {
        fixture.run(&[&["run", "--replay", "--write-progress", "--run-id", id, "--json"], more].concat())
    };
    let whole = replay("whole", &[]);
    let mut cases = 0;
    for number in 1..=4 {
        let shard = format!("{number}/4");
        let junit = fixture.root().join(format!("{number}.xml")).display().to_string();
        let ran = replay("parts", &["--shard", &shard, "--junit", &junit]);
        let own = json_of(&ran)["cases"].as_array().expect("cases").len();
        assert_eq!(fs::read_to_string(&junit).expect("a file").matches("<testcase ").count(), own);
        let listed = fixture.run(&["list", "--shard", &shard, "--json"]);
        assert_eq!(json_of(&listed)["cases"].as_array().expect("cases").len(), own);
        cases += own;
    }
    assert_eq!(json_of(&whole)["cases"].as_array().map(Vec::len), Some(cases));
    let merged = fixture.run(&["merge", "parts", "--run-id", "parts"]);
    assert!(matches!(merged.code, 0 | 3), "{}", merged.stderr);
    let stored = |id: &str| {
        let path = fixture.root().join(format!("artifacts/skill-evals/{id}/summary.json"));
        figures(serde_json::from_slice(&fs::read(path).expect("a summary")).expect("JSON"))
    };
    assert!(stored("parts") == stored("whole"), "the summaries differ");
    // A replay that is not stored needs no id.
    assert_eq!(fixture.run(&["run", "--replay", "--shard", "1/4"]).code, fixture.run(&["run", "--replay"]).code);
}

#[test]
fn every_shard_records_its_own_cases() {
    let stub = Stub::new(8, "");
    run_shards(&stub, "r", 3, &["--record"]);
    stub.run("run --replay --require-recordings").exits(0);
}

#[test]
fn a_shard_in_the_background_has_the_id_of_its_shard() {
    let stub = Stub::new(4, "");
    let started = stub.run(&["run", "--background", "--run-id", "r", "--shard", "1/2"]);
    assert!(
        started.stdout.starts_with("r-shard-1-of-2 runs in the background"),
        "{}{}",
        started.stdout,
        started.stderr
    );
    wait_until("the end", || json_of(&stub.run(&["status", "r", "--json"]))["state"] == json!("finished"));
    assert_eq!(names_in(&stub.root().join("artifacts/skill-evals")), [".gitignore", "r-shard-1-of-2"]);
}

/// The variables of each engine that `--shard auto` knows.
const ENGINES: [&str; 9] = [
    "SLURM_ARRAY_TASK_ID",
    "SLURM_ARRAY_TASK_COUNT",
    "SLURM_ARRAY_TASK_MIN",
    "SLURM_ARRAY_TASK_MAX",
    "JOB_COMPLETION_INDEX",
    "CI_NODE_INDEX",
    "CI_NODE_TOTAL",
    "BUILDKITE_PARALLEL_JOB",
    "BUILDKITE_PARALLEL_JOB_COUNT",
];

/// Runs the command as a task of an engine that sets these variables.
fn as_task(stub: &Stub, variables: &[(&str, u32)], args: &[&str]) -> Ran {
    let mut command = stub.command(args);
    for name in ENGINES {
        command.env_remove(name);
    }
    command.envs(variables.iter().map(|(name, value)| (name, value.to_string())));
    ran(&mut command)
}

fn slurm_task(number: u32) -> [(&'static str, u32); 4] {
    let [task, count, lowest, highest, ..] = ENGINES;
    [(task, number), (count, 3), (lowest, 1), (highest, 3)]
}

#[test]
fn the_tasks_of_an_array_job_run_every_case_once_and_a_task_that_starts_again_resumes() {
    let stub = mixed();
    let run = ["run", "--resume", "--run-id", "r", "--shard", "auto"];
    let task = |number| as_task(&stub, &slurm_task(number), &run);
    assert!((1..=3).all(|number| task(number).code != 2));
    assert_eq!(stub.starts().len(), 12);
    // Only what could not be measured runs again.
    assert!((1..=3).all(|number| task(number).code != 2));
    assert_eq!(stub.starts().len(), 13);
    let merged = stub.run(&["merge", "r", "--run-id", "r"]);
    assert_eq!(merged.stdout, "artifacts/skill-evals/r: 12 trials of 3 shards\n", "{}", merged.stderr);
}

#[test]
fn a_task_has_the_shard_of_its_number_in_each_engine() {
    let stub = mixed();
    let listed = |shard: &str| stub.run(&["list", "--shard", shard]).stdout;
    for (variables, more, shard) in [
        (&slurm_task(2)[..], &[][..], "2/3"),
        (&[("JOB_COMPLETION_INDEX", 0)], &["--shards", "3"], "1/3"),
        (&[("CI_NODE_INDEX", 3), ("CI_NODE_TOTAL", 4)], &[], "3/4"),
        (&[("BUILDKITE_PARALLEL_JOB", 3), ("BUILDKITE_PARALLEL_JOB_COUNT", 4)], &["--shards", "4"], "4/4"),
    ] {
        let ran = as_task(&stub, variables, &[&["list", "--shard", "auto"], more].concat());
        assert_eq!((ran.stdout, ran.code), (listed(shard), 0), "{variables:?}: {}", ran.stderr);
    }
    let refused = as_task(&stub, &[], &["gate", "main", "--run-id", "r", "--shard", "auto"]);
    refused.exits(2).warns("no engine has numbered this task");
    let gaps = [("SLURM_ARRAY_TASK_ID", 3), ("SLURM_ARRAY_TASK_COUNT", 3)];
    let gaps = [&gaps[..], &[("SLURM_ARRAY_TASK_MIN", 1), ("SLURM_ARRAY_TASK_MAX", 7)]].concat();
    let refused = as_task(&stub, &gaps, &["run", "--run-id", "r", "--shard", "auto"]);
    refused.exits(2).warns("without steps and gaps");
    assert!(stub.starts().is_empty());
}

#[test]
fn the_listed_trials_run_and_a_line_that_names_none_is_an_error() {
    let stub = mixed();
    let file = stub.root().join("ids").display().to_string();
    let with_ids = |text: &str, more: &[&str]| {
        fs::write(&file, text).expect("a file");
        stub.run(&[&["run", "--cases-from", &file], more].concat())
    };
    let why = "--cases-from /dev/zero: it has more than 64 MiB, the most that are read";
    stub.run("run --cases-from /dev/zero").exits(2).warns(why);
    let listed = stub.run(&["list"]).stdout;
    // The lines of `list` through a pipe, in any order.
    let lines: Vec<&str> = listed.lines().filter(|line| line.contains("/c1")).collect();
    fs::write(&file, lines.iter().rev().copied().collect::<Vec<_>>().join("\r\n")).expect("a file");
    let mut command = stub.command(&["run", "--cases-from", "-", "--run-id", "piped"]);
    command.stdin(fs::File::open(&file).expect("a file"));
    ran(&mut command).exits(0);
    assert_eq!((lines.len(), stub.progress("piped").len()), (3, 3));
    // The names of `list --json`, of which a shard has its part, and a mode that no option names.
    let plan = |text: &str, more: &[&str]| {
        let ran = with_ids(text, &[&["--dry-run", "--json"], more].concat());
        json_of(&ran)["trials"].as_array().expect("trials").clone()
    };
    let names = "tidy::c1::codex\n\ntidy/c2/codex\ntidy/c2/cli-native\ntidy/c1/codex\n";
    assert_eq!(plan(names, &[]), [json!("tidy/c1/codex"), json!("tidy/c2/cli-native"), json!("tidy/c2/codex")]);
    assert_eq!(plan(names, &["tidy/c2"]).len(), 2, "a filter selects of them");
    let shards = ["1/3", "2/3", "3/3"].map(|shard| plan(names, &["--shard", shard]).len());
    assert!(shards.iter().sum::<usize>() == 3 && shards != [3, 0, 0], "{shards:?}");
    for (text, why) in [
        ("tidy/c1/codex\n\ntidy/c99/codex\n", "ids:3: unknown trial `tidy/c99/codex`; nearest cases: tidy/c9"),
        ("tidy/c1/codx\n", "ids:1: unknown trial `tidy/c1/codx`: unknown mode `codx`; did you mean `codex`?"),
        ("c1\n", "ids:1: `c1`: expected skill/case/mode, as `skill-evals list` prints it"),
        ("\n", "ids has no ids: expected the lines of `skill-evals list`"),
    ] {
        let refused = with_ids(text, &[]);
        refused.exits(2).warns(why);
    }
    assert_eq!(stub.starts().len(), 3);
    // What resumes the run has the same trials.
    stub.run("run --resume --run-id piped --trials 2").exits(0);
    assert_eq!(stub.starts().len(), 6);
}

#[test]
fn a_trial_whose_files_are_gone_is_missing_from_the_merge() {
    let stub = mixed();
    run_shards(&stub, "parts", 3, &[]);
    let shard = stub.run_folder("parts-shard-2-of-3");
    let trial = fs::read_dir(shard.join("work/tidy")).expect("cases").flatten().next().expect("a case");
    let name = trial.file_name().to_string_lossy().into_owned();
    fs::remove_dir_all(trial.path()).expect("a trial");
    let merged = stub.run(&["merge", "parts", "--run-id", "parts"]);
    let missing = format!("missing: tidy/{name}/codex");
    assert_eq!((merged.code, merged.stdout.contains(&missing)), (3, true), "{}{}", merged.stdout, merged.stderr);
    merged.prints("11 trials of 3 shards");
}

/// Packs the run `id` into a tar file.
fn packed(stub: &Stub, id: &str, file: &str, how: &str) {
    let runs = stub.root().join("artifacts/skill-evals");
    let mut tar = Command::new("tar");
    let packed = tar.arg(how).arg(stub.root().join(file)).arg("-C").arg(&runs).arg(id).status().expect("tar starts");
    assert!(packed.success());
    fs::remove_dir_all(runs.join(id)).expect("a run");
}

#[test]
fn shards_are_merged_from_tar_files() {
    let stub = mixed();
    run_shards(&stub, "parts", 3, &[]);
    let before = figures(json_of(&stub.run(&["summary", "--json", "parts"])));
    packed(&stub, "parts-shard-1-of-3", "one.tar", "-cf");
    packed(&stub, "parts-shard-2-of-3", "two.tgz", "-czf");
    let merge = ["merge", "one.tar", "two.tgz", "artifacts/skill-evals/parts-shard-3-of-3", "--run-id", "parts"];
    let merged = stub.run(&merge);
    assert_eq!((merged.code, merged.stdout.contains("12 trials of 3 shards")), (0, true), "{}", merged.stderr);
    assert_eq!(figures(json_of(&stub.run(&["summary", "--json", "parts"]))), before);
    assert_eq!(names_in(&stub.root().join("artifacts/skill-evals")), [".gitignore", "parts", "parts-shard-3-of-3"]);
}

#[test]
fn a_tar_file_that_is_cut_or_has_no_run_is_refused() {
    let stub = mixed();
    run_shards(&stub, "parts", 1, &[]);
    packed(&stub, "parts-shard-1-of-1", "one.tar", "-cf");
    let whole = fs::read(stub.root().join("one.tar")).expect("a tar file");
    let refused = |content: &[u8], why: &str| {
        fs::write(stub.root().join("one.tar"), content).expect("a file");
        stub.run("merge one.tar --run-id parts").exits(2).warns(why);
        assert_eq!(names_in(&stub.root().join("artifacts/skill-evals")), [".gitignore"]);
    };
    // Between two files, in the middle of one, and none.
    let blocks = whole.len() / 512;
    let last =
        (0..blocks).rev().find(|block| whole[block * 512..][..512].iter().any(|byte| *byte != 0)).expect("content");
    refused(&whole[..(last + 1) * 512], "one.tar: it has no end; expected a whole tar file");
    refused(&whole[..whole.len() / 3], "expected a whole tar file");
    refused(b"", "expected a whole tar file");
    refused(&[0; 1024], "one.tar: no stored run in it");
    let mut out = tar::Header::new_gnu();
    out.as_old_mut().name[..7].copy_from_slice(b"../away");
    out.set_size(0);
    out.set_cksum();
    refused(&[out.as_bytes().as_slice(), &[0; 1024]].concat(), "one.tar: `../away` leads out of it");
    let mut deep = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(0);
    deep.append_data(&mut header, "a/".repeat(3000) + "b", &[][..]).expect("a tar file");
    refused(&deep.into_inner().expect("a tar file"), "a/a/…` is more than 100 directories deep");
}

#[test]
fn a_compressed_file_with_a_wrong_checksum_is_refused() {
    let stub = mixed();
    run_shards(&stub, "parts", 1, &[]);
    packed(&stub, "parts-shard-1-of-1", "one.tgz", "-czf");
    let path = stub.root().join("one.tgz");
    let whole = fs::read(&path).expect("a tar file");
    let mut wrong = whole.clone();
    *wrong.iter_mut().nth_back(7).expect("a checksum") ^= 1;
    for content in [&wrong[..], &whole[..whole.len() - 8], &[&whole[..], b"more"].concat()] {
        fs::write(&path, content).expect("a file");
        stub.run("merge one.tgz --run-id parts").exits(2).warns("expected a whole tar file");
    }
    fs::write(&path, whole).expect("a file");
    assert_ne!(stub.run(&["merge", "one.tgz", "--run-id", "parts"]).code, 2);
}
