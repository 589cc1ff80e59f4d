//! `compare --table`: outcomes that were measured elsewhere get intervals and an answer.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::support::fixture::{Fixture, Ran};

fn compare(file: &str, text: &str, args: &[&str]) -> Ran {
    Fixture::new().file(file, text).run(&[&["compare", "--table", file], args].concat())
}

/// Rows of 20 cases, each with three trials on each side: one passes without skills, all with them.
fn published() -> String {
    let row = |task: usize, condition: &str, passed: u32| {
        json!({ "task": format!("t{task}"), "model": "Agent (Model)", "harness": "Agent", "condition": condition, "score": 33.3,
          "trials": 3, "passCount": passed, "perfectCount": passed })
    };
    let rows = (0..20).flat_map(|task| [row(task, "No Skills", 1), row(task, "With Skills", 3)]);
    Value::Array(rows.collect()).to_string()
}

#[test]
fn published_results_get_an_interval_and_an_answer() {
    let ran = compare("results-registry.json", &published(), &[]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    for words in ["better", "No Skills", "With Skills", "t0/Agent (Model)"] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    let ran = compare("results-registry.json", &published(), &["--json"]);
    let compared: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let difference = &compared["comparison"]["difference"];
    assert!(difference["interval"]["low"].as_f64().is_some_and(|low| low > 0.5), "{compared:#}");
}

#[test]
fn a_row_may_be_a_trial_and_the_first_side_is_the_baseline() {
    let mut rows = "case,side,passed\n".to_owned();
    for trial in 0..40 {
        let _ = writeln!(rows, "a,old,true\na,new,{}", trial % 8 == 0);
    }
    let ran = compare("outcomes.csv", &rows, &["--gate", "worse,broke"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("40/40") && ran.stdout.contains("5/40"), "{}", ran.stdout);
}

#[test]
fn a_case_of_another_mode_or_model_is_another_case() {
    let rows = "case,mode,model,side,passed,trials\na,m,x,old,0,9\na,m,y,old,9,9\na,m,x,new,9,9\na,m,y,new,0,9\n";
    let ran = compare("outcomes.csv", rows, &[]);
    assert!(ran.stdout.contains("a/m/x") && ran.stdout.contains("a/m/y"), "{}{}", ran.stdout, ran.stderr);
    let twice = compare("outcomes.csv", "case,side,passed,passed\na,old,TRUE,FALSE\n", &[]);
    assert!(twice.code == 2 && twice.stderr.contains("two columns are named `passed`"), "{}", twice.stderr);
}

#[test]
fn a_row_that_says_no_outcome_is_an_error_with_its_place() {
    let head = "case,side,passed,trials\na,old,1,3\n";
    for (rows, words) in [
        ("a,new,4,3\n", "outcomes.csv: line 3: 4 of 3 trials passed"),
        ("a,new,x,3\n", "line 3: `passed` is \"x\"; expected a whole number"),
        ("a,new,-1,3\n", "`passed` is \"-1\""),
        ("\n\r\na,new,x,3\n", "line 5: `passed` is"),
        ("a,new,1,\n", "line 3: `trials` is \"\"; expected a whole number"),
        ("a,,1,3\n", "line 3: no `side` (or `condition`)"),
        ("a,new,1\n", "found record with 3 fields"),
        ("", "expected rows of two sides, the baseline first; found: old"),
        ("a,new,1,3\na,newer,1,3\n", "found: old, new, newer"),
    ] {
        let ran = compare("outcomes.csv", &format!("{head}{rows}"), &[]);
        assert!(ran.code == 2 && ran.stderr.contains(words), "{rows}: {}{}", ran.stdout, ran.stderr);
    }
    let ran = compare("outcomes.json", "[{\"case\": 1]", &[]);
    assert!(ran.code == 2 && ran.stderr.contains("line 1 column 12"), "{}", ran.stderr);
    let ran = compare("outcomes.csv", head, &["--skill", "tidy"]);
    assert!(ran.code == 2 && ran.stderr.contains("leave it out"), "{}", ran.stderr);
}
