//! `skill-evals run` over an agent that answers at once: options, what is printed and kept, exit codes.

use std::fs;

use crate::support::stub::{Stub, ran};
use serde_json::{Value, json};

const FAILS_C1: &str = r#"case "$prompt" in *1) exit 7;; esac"#;

#[test]
fn a_run_keeps_a_plan_progress_and_a_summary() {
    let stub = Stub::new(3, "");
    stub.run("run --run-id r --trials 2").exits(0);
    assert_eq!(stub.starts().len(), 6);
    let plan = stub.json("r", "run.json");
    assert_eq!((&plan["format"], &plan["id"], &plan["planned"]), (&json!(1), &json!("r"), &json!(6)));
    let progress = stub.progress("r");
    assert_eq!(progress.len(), 6);
    assert!(progress.iter().all(|line| line["verdict"] == "pass" && line["attempts"] == 1 && line["tokens"] == 15));
    let summary = stub.json("r", "summary.json");
    assert_eq!((&summary["total"]["passed"], &summary["total"]["tokens"]), (&json!(6), &json!(90)));
    assert_eq!(summary["cases"].as_array().map(Vec::len), Some(3));
    let text = fs::read_to_string(stub.run_folder("r").join("summary.md")).expect("a summary");
    assert!(text.contains("| tidy/c2 | codex | 2/2 |"), "{text}");
    for left_over in ["current.json", "summary.partial.json"] {
        assert!(!stub.run_folder("r").join(left_over).exists(), "{left_over} is only for runs under way");
    }
}

#[test]
fn a_program_is_named_by_its_path_from_the_repository() {
    let stub = Stub::new(1, "");
    stub.write("evals/evals.toml", "[agents.codex]\ncommand = './agent.sh'\n");
    let ran = ran(stub.command(&["run"]).current_dir(stub.root().join("skills")));
    assert_eq!((ran.code, stub.starts().len()), (0, 1), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_value_that_is_empty_chooses_nothing() {
    let stub = Stub::new(1, "");
    for args in [["run", ""].as_slice(), &["run", "--model", ""], &["run", "--model", " "], &["run", "--root="]] {
        let ran = stub.run(args);
        assert_eq!((ran.code, stub.starts().len()), (2, 0), "{args:?}");
        ran.warns("a value is required for");
    }
}

#[test]
fn cases_that_passed_are_folded_and_cases_are_counted_before_their_trials() {
    let stub = Stub::new(21, "case \"$prompt\" in *20) sleep 0; printf x > \"$folder/no\"; exit 7;; esac");
    let table = stub.run(&["run", "--trials", "2"]).stdout;
    assert!(table.contains("\n20 of 21 cases passed, 1 error\ntrials: 40 passed, "), "{table}");
    assert!(table.contains("tidy/c20/codex  0/2  error") && !table.contains("tidy/c1/codex"), "{table}");
    let stub = Stub::new(21, "");
    let table = stub.run(&["run"]).stdout;
    assert!(table.starts_with("\n21 of 21 cases passed\ntrials: 21 passed, 0 failed, "), "{table}");
    let verbose = stub.run(&["run", "--verbose"]).stdout;
    assert_eq!(verbose.matches("tidy/c1/codex").count(), 2, "the trial and the case: {verbose}");
}

#[test]
fn the_table_has_the_worst_last_and_says_why() {
    let stub = Stub::new(
        3,
        r#"case "$prompt" in *1) printf '%s\n' '{"type":"item.completed","item":{"type":"command_execution","command":"cat .agents/skills/tidy/SKILL.md","exit_code":0,"aggregated_output":"name: tidy\nDo it."}}';; esac"#,
    );
    let ran = stub.run(&["run", "-v"]);
    ran.exits(1);
    let table = ran.stdout.split("\n\n").nth(1).expect("a table");
    let lines: Vec<&str> = table.lines().collect();
    let end = lines.len() - 7;
    assert_eq!(lines[0], "activation in mode codex:");
    assert_eq!(lines[1], "  tidy  activated when not wanted 1/3");
    assert_eq!(lines[end], "tidy/c0/codex  1/1  pass");
    assert_eq!(lines[end + 2], "tidy/c1/codex  0/1  fail    not-triggered");
    assert_eq!(lines[end + 3], "2 of 3 cases passed, 1 failed");
    assert!(lines[end + 4].starts_with("trials: 2 passed, 1 failed, 0 errors, 0 unscored"), "{table}");
    assert!(lines[end + 4].ends_with("; took 0:00"), "{table}");
}

#[test]
fn for_machines_there_is_one_document_and_nothing_else() {
    let stub = Stub::new(2, "");
    let ran = stub.run(&["run", "--json"]);
    let summary: Value = serde_json::from_str(&ran.stdout).expect("one JSON document");
    assert_eq!((&summary["total"]["passed"], ran.stderr.as_str()), (&json!(2), ""));
    let ran = stub.run(&["run", "--quiet"]);
    assert_eq!(ran.stdout, "2 of 2 cases passed\ntrials: 2 passed, 0 failed, 0 errors, 0 unscored; 30 tokens\n");
}

#[test]
fn an_agent_that_crashes_is_infrastructure() {
    let ran = Stub::new(2, FAILS_C1).run(&["run"]);
    ran.exits(3).prints("the agent crashed: exit status 7");
}

#[test]
fn bad_input_is_told_with_what_is_known() {
    let stub = Stub::new(2, "");
    let refused = |args: &[&str], word: &str| {
        stub.run(args).exits(2).warns(word);
    };
    refused(&["run", "--skill", "tidi"], "did you mean `tidy`?");
    refused(&["run", "--case", "d0"], "unknown case `d0`");
    refused(&["run", "--task", "nothing"], "unknown task `nothing`");
    refused(&["run", "--mode", "codec"], "unknown mode `codec`; did you mean `codex`?");
    refused(&["run", "--suite", "smok"], "explicit");
    refused(&["run", "--run-id", "a/b"], "the run id \"a/b\" holds characters");
    refused(&["run", "--run-id", ".."], "the run id \"..\" starts with `.`");
    refused(&["run", "--resume"], "--resume needs --run-id");
    refused(&["run", "--resume", "--run-id", "gone"], "unknown run `gone`");
    refused(&["run", "--force"], "--resume");
    refused(&["run", "--max-cost-usd", "0"], "above 0");
    refused(&["status", "../x"], "the run id");
    refused(&["status"], "no runs found");
    refused(&["stop", "gone"], "no runs found");
    refused(&["summary", "gone"], "no runs found");
    assert_eq!(stub.starts(), Vec::<String>::new(), "nothing was run");
    assert!(!stub.root().join("artifacts").exists(), "nothing was written");
    // What a gate found is there before any run.
    stub.write("artifacts/skill-evals/gate/gate.md", "x");
    refused(&["stop", "gone"], "no runs found");
}

#[test]
fn a_run_that_exists_is_not_written_over() {
    let stub = Stub::new(1, "");
    stub.run("run --run-id r").exits(0);
    stub.run("run --run-id r").exits(2).warns("the run `r` exists; --resume resumes it");
    assert_eq!(stub.starts().len(), 1);
}

#[test]
fn a_missing_agent_is_told_with_how_to_get_it() {
    let stub = Stub::new(1, "");
    fs::remove_file(stub.root().join("agent.sh")).expect("the script");
    stub.run("run").exits(2).warns("npm install -g @openai/codex");
}

#[test]
fn selected_cases_run_and_no_others() {
    let stub = Stub::new(5, "");
    stub.run("run --case c1 --case tidy/c3").exits(0);
    let mut starts = stub.starts();
    starts.sort();
    assert_eq!(starts, ["Prompt 1", "Prompt 3"]);
    stub.run("run --max-cases 2 --skill tidy").exits(0);
    assert_eq!(stub.starts().len(), 4);
    assert_eq!(stub.run(&["run", "--suite", "positive"]).code, 2, "there is no positive case");
}

#[test]
fn a_dry_run_starts_nothing_and_says_what_is_known_of_the_cost() {
    let stub = Stub::new(2, "");
    let ran = stub.run(&["run", "--dry-run"]);
    assert_eq!((ran.code, stub.starts().len()), (0, 0));
    ran.prints("2 trials would run\ncost: estimated at $").prints("no run here shows which of them it is");
    assert!(!stub.root().join("artifacts").exists());

    stub.run("run --run-id r --case c0").exits(0);
    let line = r#"{"skill":"tidy","case":"c0","mode":"codex","trial":2,"verdict":"pass","duration_ms":1,"tokens":99,"cost_usd":0.25}"#;
    stub.rewrite_progress("r", |text| format!("{text}{line}\n"));
    stub.settings("prices = { \"some model\" = { input = 1.0, output = 1.0 }, codex = { input = 0.0, output = 0.0 } }");
    let ran = stub.run(&["run", "--dry-run", "--trials", "2", "--max-cost-usd", "3", "--json"]);
    let estimate: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(estimate["trials"].as_array().map(Vec::len), Some(4));
    let figures = ["known_cost_usd", "unknown_cost", "known_tokens", "unknown_tokens", "max_cost_usd"];
    assert_eq!(figures.map(|name| estimate[name].as_f64()), [0.5, 2.0, 198.0, 2.0, 3.0].map(Some));
}

#[test]
fn a_first_dry_run_estimates_by_what_the_agent_sends_and_says_what_that_rests_on() {
    let stub = Stub::new(2, "");
    let expected = |options: &[&str]| {
        let ran = stub.run(&[&["run", "--dry-run", "--json"], options].concat());
        serde_json::from_str::<Value>(&ran.stdout).expect("JSON")["expected"].clone()
    };
    let number = |value: &Value| value.as_f64().expect("a number");
    let once = expected(&[]);
    let (low, high) = (number(&once["tokens"]["low"]), number(&once["tokens"]["high"]));
    assert!(2.0 * 2.0 * 9_949.0 < low && low < high && once["cost_usd"]["high"].is_number(), "{once}");
    stub.settings("prices = { codex = { input = 1.0, output = 1.0 } }");
    let priced = expected(&["--trials", "3"]);
    assert_eq!((priced["trials"].as_u64(), number(&priced["tokens"]["high"])), (Some(6), 3.0 * high), "{priced}");
    assert!((number(&priced["cost_usd"]["high"]) - 3.0 * high / 1e6).abs() < 1e-9, "{priced}");
    let page = stub.run(&["run", "--dry-run"]).stdout;
    for words in [
        "\ncost: estimated at $",
        "\ntokens: estimated at ",
        "\nestimate for codex: 2 … 12 requests a trial",
        "(measured with ",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    // A longer skill takes more.
    let path = stub.root().join("skills/tidy/SKILL.md");
    let text = fs::read_to_string(&path).expect("a skill");
    fs::write(&path, format!("{text}\n{}\n", "Put it away. ".repeat(1_000))).expect("a skill");
    assert!(number(&expected(&[])["tokens"]["low"]) > low + 2.0 * 2.0 * 3_000.0);
}

#[test]
fn what_a_scripted_model_took_is_no_known_cost_of_a_model() {
    let stub = Stub::new(1, "");
    stub.run("run --run-id r").exits(0);
    let known = || {
        let ran = stub.run(&["run", "--dry-run", "--json"]);
        let estimate: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        (estimate["unknown_tokens"].as_u64(), estimate["expected"].is_object())
    };
    assert_eq!(known(), (Some(0), false));
    stub.rewrite_progress("r", |text| text.replace("\"verdict\"", "\"scripted\":\"a script\",\"verdict\""));
    assert_eq!(known(), (Some(1), true));
}

#[test]
fn a_dry_run_finds_what_the_run_would_refuse() {
    let judged = "id,should_trigger,prompt,judge\nc0,false,Prompt 0,true\n";
    let cases: [(&str, &str, &[&str], &str); 7] = [
        ("evals/judge.md", "Look at\n{{final_mesage}}", &[], "evals/judge.md:2:3"),
        ("evals/schemas/style_rubric.schema.json", "{\"type\": 5}", &[], "style_rubric.schema.json"),
        ("evals/schemas/style_rubric.schema.json", "{\"$ref\": \"#\"}", &[], "leads back to itself"),
        ("x", "", &["--run-id", "../x"], "\"../x\" starts with `.`"),
        ("x", "", &["--replay", "--write-progress", "--run-id", "../x"], "\"../x\" starts with `.`"),
        ("x", "", &["--run-id", "a/../../x"], "holds characters other than"),
        ("x", "", &["--resume", "--run-id", "../x"], "\"../x\" starts with `.`"),
    ];
    for (file, text, options, said) in cases {
        let stub = Stub::new(1, "");
        fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), judged).expect("a table");
        let path = stub.root().join(file);
        fs::create_dir_all(path.parent().expect("a directory above")).expect("a directory");
        fs::write(path, text).expect("a file");
        let dry = stub.run(&[&["run", "--dry-run"], options].concat());
        dry.exits(2).warns(said);
        let run = stub.run(&[&["run"], options].concat());
        assert_eq!((run.code, &run.stderr), (2, &dry.stderr), "the run says the same");
        assert!(stub.starts().is_empty());
        if file.starts_with("evals/") {
            stub.run("lint --check-evals").exits(1).prints(said);
        }
    }
}

#[test]
fn isolation_that_is_required_and_cannot_be_had_is_found_by_a_dry_run_and_the_doctor() {
    let stub = Stub::new(1, "");
    for setting in ["require_isolation = true\n", "require_sandbox = true\n"] {
        stub.settings(setting);
        let said = "isolation is required (`require_isolation` in evals/evals.toml) and there is none";
        let dry = stub.run(&["run", "--dry-run"]);
        dry.exits(2).warns(said);
        stub.run("doctor").exits(1).prints(said);
        let run = stub.run(&["run"]);
        assert!(run.code != 0 && run.stdout.contains(said), "{}", run.stdout);
        // Nothing is started for a replay.
        stub.run("run --dry-run --replay").exits(0);
    }
}

#[test]
fn no_trial_starts_once_the_run_has_cost_its_limit() {
    let stub = Stub::new(4, "");
    // Ten tokens read and five written: 75 cents a trial.
    stub.settings("prices = { codex = { input = 50000.0, output = 50000.0 } }");
    let limited = |limit: &str, more: &[&str]| {
        stub.run(&[&["run", "--run-id", "r", "--jobs", "1", "--max-cost-usd", limit], more].concat())
    };
    let ran = limited("0.75", &[]);
    assert_eq!((ran.code, stub.starts().len()), (3, 1), "{}", ran.stdout);
    ran.prints("tidy/c3/codex: not run: the run has cost its limit of $0.75");
    ran.prints("1 passed, 0 failed, 0 errors, 0 unscored, 3 not run");
    let ran = limited("1.5", &["--resume"]);
    assert_eq!((ran.code, stub.starts().len()), (3, 2), "what an earlier part of the run cost counts: {}", ran.stdout);
    let ran = limited("100", &["--resume"]);
    assert_eq!((ran.code, stub.starts().len()), (0, 4), "{}", ran.stdout);
    ran.prints("60 tokens; $3.00");
}

#[test]
fn a_limit_in_dollars_that_could_never_hold_is_refused() {
    let stub = Stub::new(1, "");
    let ran = stub.run(&["run", "--max-cost-usd", "1"]);
    assert_eq!((ran.code, stub.starts().len()), (2, 0), "{}", ran.stdout);
    ran.warns("`codex` does not report what it costs").warns("[prices.\"codex\"]").warns("--max-tokens");
    let ran = stub.run(&["run", "--max-tokens", "1"]);
    assert_eq!((ran.code, stub.starts().len()), (0, 1), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_limit_of_tokens_counts_every_attempt() {
    // Refused once, at the price of a whole turn, then answered.
    let refused_once = r#"if [ ! -e "$folder/refused" ]; then touch "$folder/refused"
printf '%s\n' '{"type":"thread.started","thread_id":"1"}' '{"type":"turn.started"}' '{"type":"turn.completed","usage":{"input_tokens":70,"output_tokens":20}}' '{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}'
exit 1; fi"#;
    let stub = Stub::new(3, refused_once);
    let ran = stub.run(&["run", "--run-id", "r", "--jobs", "1", "--max-tokens", "100"]);
    assert_eq!((ran.code, stub.starts().len()), (3, 2), "{}", ran.stdout);
    ran.prints("the run has taken its limit of 100 tokens").prints("1 retry after a refusal; 105 tokens");
}

#[test]
fn several_runs_make_one_summary() {
    let stub = Stub::new(3, FAILS_C1);
    stub.run("run --run-id a --case c0").exits(0);
    stub.run("run --run-id b --case c1 --case c2").exits(3);
    let folder = stub.run_folder("b").display().to_string();
    let ran = stub.run(&["summary", "a", &folder, "--json"]);
    let summary: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((ran.code, &summary["runs"]), (3, &json!(["a", "b"])), "{}", ran.stderr);
    assert_eq!((&summary["total"]["passed"], &summary["total"]["errors"]), (&json!(2), &json!(1)));
    // The figures that a run kept are those of its directories.
    let ran = stub.run(&["summary", "b", "--json"]);
    let again: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(again, stub.json("b", "summary.json"));
}

#[test]
fn old_runs_are_listed_and_removed() {
    let stub = Stub::new(1, "");
    for id in ["one", "two", "three"] {
        stub.run(&["run", "--run-id", id]).exits(0);
    }
    let listed = |stub: &Stub| -> Vec<String> {
        let ran = stub.run(&["runs"]);
        ran.stdout.lines().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(listed(&stub), ["three", "two", "one"]);
    let ran = stub.run(&["clean", "--keep", "1"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "two removed\none removed\n"), "{}", ran.stderr);
    assert_eq!(listed(&stub), ["three"]);
}

#[test]
fn clean_removes_or_keeps_all_shards_of_a_run() {
    let stub = Stub::new(4, "");
    for (id, more) in [("old", &[][..]), ("n", &["--shard", "1/2"]), ("n", &["--shard", "2/2"]), ("new", &[])] {
        assert!(stub.run(&[&["run", "--run-id", id], more].concat()).code != 2);
    }
    let clean = |keep: &str| stub.run(&["clean", "--keep", keep]).stdout;
    assert_eq!(clean("2"), "old removed\n");
    // The merged run is the same run.
    stub.run("merge n --run-id n").exits(0);
    assert_eq!(clean("2"), "");
    assert_eq!(clean("1"), "new removed\n");
    let mut removed: Vec<String> = clean("0").lines().map(str::to_owned).collect();
    removed.sort();
    assert_eq!(removed, ["n removed", "n-shard-1-of-2 removed", "n-shard-2-of-2 removed"]);
}

#[test]
fn a_replay_keeps_a_run_only_when_asked() {
    let fixture = crate::support::fixture::Fixture::copy_of_sample();
    fixture.run("run --replay").exits(0);
    assert!(!fixture.root().join("artifacts").exists());
    fixture.run("run --replay --write-progress --run-id r --quiet").exits(0);
    assert!(fixture.root().join("artifacts/skill-evals/r/summary.json").exists());
}

#[test]
fn wrong_limits_in_the_settings_are_marked() {
    let stub = Stub::new(1, "");
    for (line, words) in [
        ("retries = 0", "`retries` is 0; expected 1 to 100"),
        ("max_cost_usd = -1.0", "`max_cost_usd` is -1; expected above 0"),
        ("retry_wait_s = 301.0", "`retry_wait_s` is 301; expected above 0 and up to 300"),
    ] {
        let text = format!("{line}\n[agents.codex]\ncommand = 'true'\n");
        fs::write(stub.root().join("evals/evals.toml"), text).expect("settings");
        stub.run("run").exits(2).warns(words).warns("evals.toml:1:");
    }
}
