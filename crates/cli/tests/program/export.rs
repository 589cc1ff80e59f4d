//! `skill-evals export`: runs in the formats of other tools. Their own programs read them in `tests/real/exports.rs`.

use std::fs;
use std::path::Path;

use crate::support::fixture::{Fixture, Ran};
use crate::support::stored::{self, Session};
use serde_json::{Value, json};

fn export(fixture: &Fixture, args: &[&str]) -> Ran {
    let ran = fixture.run(&[&["export"], args].concat());
    ran.exits(0);
    ran
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn read(fixture: &Fixture, path: &str) -> Value {
    json(&fs::read_to_string(fixture.root().join(path)).expect(path))
}

/// A pass, a failure, and a trial that could not be measured.
fn three_endings() -> Fixture {
    let fixture = stored::repository();
    stored::begin(fixture.root(), "r", "2026-11-20T09:00:00Z");
    let prompt = "Please welcome Ada to the team.";
    let lost = Session { trouble: Some("429 Too Many Requests".to_owned()), ..Session::new(prompt, "") };
    let sessions = [Session::new(prompt, "AHOY, Ada!"), Session::new(prompt, "Hello, I am sorry."), lost];
    for (number, session) in ["1", "2", "3"].iter().zip(&sessions) {
        stored::trial(fixture.root(), "r", ["greeting", "implicit", "codex", number], session);
    }
    stored::graded(&fixture, "r", &[]);
    fixture
}

#[test]
fn csv_has_a_row_for_each_trial() {
    insta::assert_snapshot!(export(&three_endings(), &["r", "--to", "csv"]).stdout);
}

#[test]
fn no_cell_of_a_table_is_a_formula() {
    let fixture = stored::repository();
    stored::begin(fixture.root(), "r", "2026-11-20T09:00:00Z");
    let hostile = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "=HYPERLINK(\"http://x\",\"y\")", "plain", "'=1"];
    for (number, text) in hostile.iter().enumerate() {
        let number = (number + 1).to_string();
        stored::trial(fixture.root(), "r", ["greeting", "explicit", "codex", &number], &Session::new(text, text));
    }
    stored::graded(&fixture, "r", &[]);
    let table = export(&fixture, &["r", "--to", "csv"]).stdout;
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let answers: Vec<String> = reader
        .records()
        .map(|row| {
            let row = row.expect("a row");
            assert!(row.iter().all(|cell| !cell.starts_with(['=', '+', '-', '@', '\t', '\r'])), "{row:?}");
            row.iter().next_back().expect("an answer").to_owned()
        })
        .collect();
    // What acts on a terminal is spelled out.
    let expected = hostile.map(|text| match text {
        "plain" | "'=1" => text.to_owned(),
        text => format!("'{}", text.replace('\r', "\\u{d}")),
    });
    assert_eq!(answers, expected);
}

#[test]
fn a_trial_that_was_not_measured_is_neither_a_pass_nor_a_failure_in_any_format() {
    let fixture = three_endings();
    let text = |format: &str| export(&fixture, &["r", "--to", format]).stdout;
    let promptfoo = json(&text("promptfoo"));
    let stats = &promptfoo["results"]["stats"];
    assert_eq!((&stats["successes"], &stats["failures"], &stats["errors"]), (&json!(1), &json!(1), &json!(1)));
    let lost = &promptfoo["results"]["results"][2];
    assert_eq!((&lost["success"], &lost["failureReason"]), (&json!(false), &json!(2)));
    assert!(lost.get("gradingResult").is_none() && lost["error"].as_str().expect("why").contains("429"), "{lost}");
    let otlp = json(&text("otlp"));
    let result_of = |trial: usize| {
        let attributes = &otlp["resourceSpans"][trial]["scopeSpans"][0]["spans"][0]["attributes"];
        let all = attributes.as_array().expect("attributes").iter();
        let named = |key: &str| all.clone().find(|attribute| attribute["key"] == key);
        (
            named("test.case.result.status").map(|found| found["value"]["stringValue"].clone()),
            named("error.type").is_some(),
        )
    };
    let all = [result_of(0), result_of(1), result_of(2)];
    assert_eq!(all, [(Some(json!("pass")), false), (Some(json!("fail")), false), (None, true)]);
    for format in ["atif", "skill-creator"] {
        export(&fixture, &["r", "--to", format, "-o", format]);
    }
    let lost = read(&fixture, "atif/FAILED__greeting__implicit__codex__3.json");
    assert_eq!(lost["extra"]["skill_evals"]["verdict"], "error");
    let benchmark = read(&fixture, "skill-creator/greeting/benchmark.json");
    assert_eq!(benchmark["runs"].as_array().map(Vec::len), Some(2), "{benchmark}");
    assert!(benchmark["notes"][0].as_str().expect("a note").contains("429"), "{benchmark}");
    let run = |number: u32| format!("skill-creator/greeting/eval-1/with_skill/run-{number}");
    assert!(fixture.root().join(run(3)).join("timing.json").is_file());
    assert!(!fixture.root().join(run(3)).join("grading.json").exists());
    insta::assert_snapshot!(format!("{:#}", read(&fixture, &format!("{}/grading.json", run(2)))));
}

#[test]
fn the_answers_of_a_mock_model_say_so_in_every_format() {
    let fixture = three_endings();
    let meta = stored::trial_folder(fixture.root(), "r", ["greeting", "implicit", "codex", "1"]).join("meta.json");
    let mut facts = json(&fs::read_to_string(&meta).expect("facts"));
    facts["scripted"] = json!("stand-in");
    fs::write(&meta, facts.to_string()).expect("a file");
    stored::seal(meta.parent().expect("a directory"));
    for format in ["csv", "promptfoo", "otlp"] {
        assert!(export(&fixture, &["r", "--to", format]).stdout.contains("stand-in"), "{format}");
    }
    for format in ["atif", "skill-creator"] {
        export(&fixture, &["r", "--to", format, "-o", format]);
    }
    let trajectory = read(&fixture, "atif/greeting__implicit__codex__1.json");
    assert!(trajectory["notes"].as_str().expect("notes").contains("a mock model (stand-in)"), "{trajectory}");
    let benchmark = read(&fixture, "skill-creator/greeting/benchmark.json");
    assert_eq!(benchmark["metadata"]["executor_model"], "gpt-test, mock model (stand-in)");
    assert!(benchmark["runs"][0]["notes"][0].as_str().expect("a note").contains("mock model"), "{benchmark}");
}

#[test]
fn a_session_is_a_trajectory_and_a_trace_of_spans() {
    let fixture = stored::repository();
    stored::example(&fixture, "r", "2026-11-20T09:00:00Z", false);
    export(&fixture, &["r", "--to", "atif", "-o", "atif"]);
    let mut trajectory = read(&fixture, "atif/FAILED__greeting__kept__codex__1.json");
    trajectory["extra"]["skill_evals"]["checks"] = json!("left out of this picture");
    insta::assert_snapshot!(format!("{trajectory:#}"));
    let otlp = json(&export(&fixture, &["r", "--to", "otlp"]).stdout);
    let traces = otlp["resourceSpans"].as_array().expect("traces");
    let kept = traces.iter().find(|trace| trace.to_string().contains("greeting/kept/codex/1")).expect("a trace");
    let names: Vec<&Value> =
        kept["scopeSpans"][0]["spans"].as_array().expect("spans").iter().map(|span| &span["name"]).collect();
    assert_eq!(names[0], "invoke_agent codex");
    assert!(names[1..].iter().all(|name| *name == "execute_tool shell" || *name == "execute_tool file_change"));
}

#[test]
fn the_figures_are_those_of_summary_and_a_run_is_the_latest_one_unless_named() {
    let fixture = three_endings();
    for (format, option) in [("json", "--json"), ("markdown", "--markdown")] {
        assert_eq!(export(&fixture, &["--to", format]).stdout, fixture.run(&["summary", "r", option]).stdout);
    }
    assert_eq!(export(&fixture, &["--to", "junit", "-o", "j.xml"]).stdout, "j.xml (3 trials)\n");
    let written = fs::read_to_string(fixture.root().join("j.xml")).expect("a file");
    assert_eq!(written, fixture.run(&["summary", "r", "--junit", "-"]).stdout);
}

#[test]
fn a_directory_is_written_whole_or_not_at_all_and_none_is_overwritten() {
    let fixture = three_endings();
    let refused = |args: &[&str], why: &str| {
        fixture.run(&[&["export", "r", "--to"], args].concat()).exits(2).warns(why);
    };
    refused(&["atif"], "writes a directory: name it with --output");
    fs::create_dir(fixture.root().join("full")).expect("a directory");
    fs::write(fixture.root().join("full/mine.txt"), "mine").expect("a file");
    refused(&["atif", "-o", "full"], "the directory is not empty");
    refused(&["atif", "-o", "full/mine.txt/deep"], "full/mine.txt/deep");
    refused(&["csv", "-o", "full"], "directory");
    refused(&["cvs"], "possible values: junit");
    let left = |folder: &Path| fs::read_dir(folder).expect("a directory").count();
    assert_eq!(left(&fixture.root().join("full")), 1);
    // A grade that cannot be read is named, and the rest is there.
    let trial = stored::trial_folder(fixture.root(), "r", ["greeting", "implicit", "codex", "2"]);
    fs::write(trial.join("grade.json"), "{").expect("a file");
    let ran = fixture.run(&["export", "r", "--to", "atif", "-o", "part"]);
    ran.exits(3).warns("warning: not exported: ");
    assert_eq!((ran.stdout.as_str(), left(&fixture.root().join("part"))), ("part (2 trials)\n", 2));
}
