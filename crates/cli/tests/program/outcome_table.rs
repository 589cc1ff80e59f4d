//! `compare --table`: outcomes that were measured elsewhere get intervals and an answer.

use skill_evals_testing::tables;
use std::fmt::Write;
use std::fs;
use std::path::Path;

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
    ran.exits(0);
    for words in ["better", "No Skills", "With Skills", "t0/Agent (Model)"] {
        ran.prints(words);
    }
    let ran = compare("results-registry.json", &published(), &["--json"]);
    let compared: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let difference = &compared["comparison"]["difference"];
    assert!(difference["interval"]["low"].as_f64().is_some_and(|low| low > 0.5), "{compared:#}");
}

#[test]
fn an_edit_that_helps_half_of_the_cases_and_hurts_the_others_is_told_from_one_that_does_nothing() {
    let table = |passed: fn(usize) -> [u64; 2]| {
        let rows = (0..10).map(|case| {
            let [before, after] = passed(case);
            format!("c{case},old,{before},5\nc{case},new,{after},5\n")
        });
        format!("case,side,passed,trials\n{}", rows.collect::<String>())
    };
    let both_ways = compare("outcomes.csv", &table(|case| if case % 2 == 0 { [4, 1] } else { [1, 4] }), &[]);
    both_ways.exits(4).prints("undecided: 25/50 → 25/50 passed, p = 1.00").prints("no difference was seen");
    both_ways.prints("\n  not the same everywhere: by case −60 points (c0) … +60 (c9), p = 5e-4\n");
    both_ways.prints("\n  over cases that were not asked: ±46 points (95 %, 10 cases); twice as many cases: ±");
    let neither = compare("outcomes.csv", &table(|case| if case % 2 == 0 { [2, 3] } else { [3, 2] }), &[]);
    assert!(!neither.stdout.contains("not the same everywhere"), "{}", neither.stdout);
    let alike = compare("outcomes.csv", &table(|_| [2, 3]), &[]);
    alike.prints("\n  over cases that were not asked: unknown, since all 10 cases moved alike\n");
    let rows = "case,side,passed,trials\na,old,1,5\na,new,2,5\nb,old,2,5\nb,new,2,5\n";
    compare("outcomes.csv", rows, &[]).prints("over cases that were not asked: unknown from 2 cases; 5 are needed\n");
}

#[test]
fn a_row_may_be_a_trial_and_the_first_side_is_the_baseline() {
    let mut rows = "case,side,passed\n".to_owned();
    for trial in 0..40 {
        let _ = writeln!(rows, "a,old,true\na,new,{}", trial % 8 == 0);
    }
    let ran = compare("outcomes.csv", &rows, &["--gate", "worse,broke"]);
    ran.exits(1).prints("40/40").prints("5/40");
}

#[test]
fn shares_that_round_to_one_number_show_the_decimal_that_makes_their_difference() {
    let rows = "case,side,passed,trials\na,old,201,400\na,new,198,400\n";
    let text = compare("outcomes.csv", rows, &[]).stdout;
    for part in ["difference: −0.7 points (95 %: −8 … +6)", "201/400, 50.2 % (45–55)", "198/400, 49.5 % (45–54)"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_case_of_another_mode_or_model_is_another_case() {
    let rows = "case,mode,model,side,passed,trials\na,m,x,old,0,9\na,m,y,old,9,9\na,m,x,new,9,9\na,m,y,new,0,9\n";
    let ran = compare("outcomes.csv", rows, &[]);
    ran.prints("a/m/x").prints("a/m/y");
    let twice = compare("outcomes.csv", "case,side,passed,passed\na,old,TRUE,FALSE\n", &[]);
    twice.exits(2).warns("two columns are named `passed`");
}

/// What is said of rows behind a good one.
fn rows(rows: &str) -> String {
    compare("outcomes.csv", &format!("case,side,passed,trials\na,old,1,3\n{rows}"), &[]).told(Path::new("/nowhere"))
}

tables! {
    rows => a_row_that_says_no_outcome_is_an_error_with_its_place;
}

#[test]
fn a_table_that_is_not_json_or_of_a_skill_is_refused() {
    let ran = compare("outcomes.json", "[{\"case\": 1]", &[]);
    ran.exits(2).warns("line 1 column 12");
    let ran = compare("outcomes.csv", "case,side,passed,trials\na,old,1,3\n", &["--skill", "tidy"]);
    ran.exits(2).warns("leave it out");
}

/// A file of `claude plugin eval` with ten runs of a case in each arm, of which the last of the plugin's arm was lost.
fn plugin_results(with: usize, without: usize) -> String {
    let run = |passed: bool| json!({ "score": u8::from(passed), "passed": passed, "error": null });
    let mut runs = [with, without].map(|passed| (0..10).map(|at| run(at < passed)).collect::<Vec<Value>>());
    runs[0][9] = json!({ "score": 0, "passed": false, "error": "API Error: 429" });
    let [with, without] = runs;
    let cases = json!([{ "name": "greets", "arms": { "with": with, "without": without } }]);
    json!({ "suite": {}, "cases": cases, "aggregates": {} }).to_string()
}

#[test]
fn results_of_another_tool_are_compared_without_their_errors_and_with_their_headline() {
    let fixture =
        Fixture::new().file("aggregate-result.json", plugin_results(7, 9)).file("new.json", plugin_results(0, 0));
    let ran = fixture.run(&["compare", "aggregate-result.json"]);
    assert_eq!(ran.code, 3, "trials were lost, and nothing is decided: {}{}", ran.stdout, ran.stderr);
    for words in [
        "undecided: 9/10 → 7/9 passed, p = ",
        "difference: −12 points",
        "claude plugin eval itself scores 90 % → 70 %, −20 points; case by case, what was measured differs by −12 points; 1 error",
        "1 error in it, which is not counted here",
        "greets  9/10 → 7/9",
    ] {
        ran.prints(words);
    }
    for (args, why) in [
        (["new.json", "new.json"], "new.json is named twice"),
        (["new.json", "typo.json"], "typo.json: No such file"),
        (["new.json", "main"], "main is not a result file of another tool"),
    ] {
        fixture.run(&["compare", args[0], args[1]]).exits(2).warns(why);
    }
    let ran = fixture.run(&["compare", "aggregate-result.json", "new.json", "--json"]);
    let compared: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((ran.code, &compared["baseline"]), (1, &json!("aggregate-result.json")), "{compared:#}");
    assert_eq!(
        compared["headline"],
        json!({ "tool": "claude plugin eval", "baseline": 0.7, "candidate": 0.0, "errors": 2, "by_case": compared["headline"]["by_case"], "p": null })
    );
}

#[test]
fn a_file_of_no_known_tool_names_the_nearest_one() {
    let fixture = Fixture::new().file("a.json", r#"{"evalId": "e"}"#).file("b.json", plugin_results(1, 1));
    let fixture = fixture.file("c.json", plugin_results(2, 1));
    let one = fixture.run(&["compare", "a.json"]);
    one.exits(2).warns("a.json: not a known result file; nearest is promptfoo");
    for (args, words) in [
        (&["b.json", "monday"][..], "monday is not a result file of another tool"),
        (&["b.json", "--skill", "pdf"], "--skill: all cases of the files are compared; leave it out"),
        (&["b.json", "c.json", "--mode", "with"], "--mode chooses sides of one file"),
        (&["b.json", "--mode", "new"], "b.json: no side `new`; found: without, with"),
    ] {
        fixture.run(&[&["compare"], args].concat()).exits(2).warns(words);
    }
}

#[test]
fn results_of_another_tool_have_a_page_with_what_the_file_gives_and_nothing_else() {
    let fixture = Fixture::new().file("aggregate-result.json", plugin_results(0, 9).replace("greets", "greets <b>"));
    let ran = fixture.run(&["compare", "aggregate-result.json", "--html", "out/page.html"]);
    assert!(ran.code == 1 && ran.stdout.starts_with("broke: "), "{}{}", ran.stdout, ran.stderr);
    let page = fs::read_to_string(fixture.root().join("out/page.html")).expect("a page");
    for words in [
        "<title>Broke: greets &lt;b&gt; 9/10 → 0/9",
        "<span>claude plugin eval</span>",
        "<dt>measured trials of both sides</dt><dd><b>19</b></dd>",
        "<dt>errors (not measured)</dt><dd><b>1</b></dd>",
        "<tr class=\"fail\"><th scope=\"row\">greets &lt;b&gt;</th><td>9/10 → 0/9</td><td>changed",
        "claude plugin eval itself scores 90 % → 0 %",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let (_, body) = page.split_once("<body>").expect("a body");
    for absent in ["<script", "agent time", "tokens", "cost", "#trials", "<b>,"] {
        assert!(!body.contains(absent), "{absent}: {body}");
    }
}

#[test]
fn results_of_another_tool_are_markdown_and_one_text_goes_to_standard_output() {
    let fixture = Fixture::new().file("a.json", plugin_results(7, 9));
    let ran = fixture.run(&["compare", "a.json", "--markdown", "--html", "page.html"]);
    ran.exits(3);
    let read = |path: &str| fs::read_to_string(fixture.root().join(path)).expect(path);
    let text = ran.stdout;
    assert!(text.starts_with("# undecided\n\n> Incomplete: trials that were not measured: 1; measure them"), "{text}");
    assert!(text.contains("\n      greets  9/10 → 7/9\n"), "{text}");
    assert!(read("page.html").contains("<p class=\"note\">Trials that were not measured: 1; measure them"));
    for (args, words) in [
        (&["a.json", "--html", "-", "--json"][..], "standard output has room for one text"),
        (&["a.json", "--html", "-", "--markdown"], "standard output has room for one text"),
        (&["main", "--markdown"], "--markdown: only for result files of other tools"),
        (&["main", "--html", "page.html"], "--html: only for result files of other tools"),
    ] {
        fixture.run(&[&["compare"], args].concat()).exits(2).warns(words);
    }
}
