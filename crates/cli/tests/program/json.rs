//! What `--json` prints follows the schemas in docs/schemas, and they say all of it.

use crate::support::repository;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::foreign;
use crate::support::fake_codex::{BAD, Fake, GOOD, Says};
use crate::support::fixture::{Fixture, Ran};
use crate::support::stub::{ANSWER, Stub, signal};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use skill_evals_agents::agent;
use skill_evals_evidence::settings::mode::AgentKind;
use skill_evals_evidence::trace::exposure::Reference;
use skill_evals_evidence::trace::file::TraceFile;

fn schemas() -> PathBuf {
    repository().join("docs/schemas")
}

fn read(name: &str) -> Value {
    let text = fs::read_to_string(schemas().join(format!("{name}.json"))).expect("a schema");
    serde_json::from_str(&text).expect("JSON")
}

/// A schema as a test wants it: a property that it does not name is an error.
fn strict(name: &str) -> Value {
    /// `whole`: it is not one of several schemas of the same value.
    fn tighten(schema: &mut Value, whole: bool) {
        let Value::Object(map) = schema else { return };
        if whole && ["properties", "oneOf", "anyOf"].iter().any(|key| map.contains_key(*key)) {
            map.insert("unevaluatedProperties".to_owned(), json!(false));
        }
        for (key, value) in map {
            match (key.as_str(), value) {
                ("properties" | "$defs", Value::Object(of)) => of.values_mut().for_each(|of| tighten(of, true)),
                ("prefixItems", Value::Array(of)) => of.iter_mut().for_each(|of| tighten(of, true)),
                ("oneOf" | "anyOf", Value::Array(of)) => of.iter_mut().for_each(|of| tighten(of, false)),
                ("items" | "additionalProperties", of) => tighten(of, true),
                _ => {}
            }
        }
    }
    let mut schema = read(name);
    tighten(&mut schema, true);
    schema
}

/// Which schemas have been held against something.
#[derive(Default)]
struct Held {
    schemas: BTreeSet<String>,
    commands: BTreeSet<String>,
}

impl Held {
    fn all<'a>(&mut self, run: impl Fn(&[&str]) -> Ran, asked: impl IntoIterator<Item = (&'a str, Vec<&'a str>)>) {
        for (schema, args) in asked {
            self.expect(schema, &args, &run(&args));
        }
    }

    fn document(&mut self, schema: &str, what: &str, document: &Value) {
        let validator = jsonschema::validator_for(&strict(schema)).expect("a schema");
        let wrong: Vec<String> =
            validator.iter_errors(document).map(|error| format!("{} {error}", error.instance_path())).collect();
        assert!(
            wrong.is_empty(),
            "{what} is not as docs/schemas/{schema}.json says:\n{}\n{document:#}",
            wrong.join("\n")
        );
        self.schemas.insert(schema.to_owned());
    }

    fn expect(&mut self, schema: &str, args: &[&str], ran: &Ran) -> Value {
        let document: Value = serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|error| panic!("{args:?}: {error}\n{}{}", ran.stdout, ran.stderr));
        self.document(schema, &format!("{args:?}"), &document);
        let command = args.iter().take_while(|word| word.starts_with(char::is_alphabetic));
        let whole: Vec<&str> = command.copied().take(if args[0] == "judge" { 2 } else { 1 }).collect();
        self.commands.insert(whole.join(" "));
        document
    }
}

/// Every command with an option `--json`, by its help.
fn commands(stub: &Stub, above: &[&str]) -> BTreeSet<String> {
    let help = stub.run(&[above, &["--help"]].concat()).stdout;
    let mut found = BTreeSet::new();
    if help.contains("--json") {
        found.insert(above.join(" "));
    }
    // The commands are in groups, and options follow them.
    let takes_commands = help.lines().any(|line| line.starts_with("Usage:") && line.ends_with("<COMMAND>"));
    let listed = help.split("\nOptions:").next().filter(|_| takes_commands).unwrap_or_default();
    for line in listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
        let name = line.split_whitespace().next().unwrap_or("help");
        if name != "help" {
            found.extend(commands(stub, &[above, &[name]].concat()));
        }
    }
    found
}

/// Makes the repository one of git, with its skills and cases in a commit.
fn commit(stub: &Stub) {
    let first = [
        &["init", "--quiet", "--initial-branch", "main"][..],
        &["add", "skills", "evals"],
        &["commit", "--quiet", "--message", "first"],
    ];
    for args in first {
        let options = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
        let output = Command::new("git").args(options).args(args).current_dir(stub.root()).output();
        assert!(output.is_ok_and(|output| output.status.success()), "{args:?}");
    }
}

/// What a gate would do about no change and about a changed skill.
fn gates(held: &mut Held) {
    let stub = Stub::new(2, "");
    commit(&stub);
    let dry = ["gate", "main", "--dry-run", "--json"];
    let unchanged = held.expect("gate-dry-run", &dry, &stub.run(&dry));
    assert!(unchanged["comparison"].is_null() && unchanged["cases"] == json!([]), "{unchanged}");
    let path = stub.root().join("skills/tidy/SKILL.md");
    fs::write(&path, fs::read_to_string(&path).expect("a skill") + "\nBe brief.\n").expect("a skill");
    let changed = held.expect("gate-dry-run", &dry, &stub.run(&dry));
    assert_eq!(changed["changed"], json!([{"skill": "tidy", "edit": "body"}]), "{changed}");
    assert_eq!(changed["comparison"]["cases"], json!(2), "{changed}");
}

/// What a judge leaves.
fn judged(held: &mut Held) {
    let answers = [Says::Text(GOOD), Says::Text(BAD), Says::Text(GOOD)];
    let fake = Fake::new("should_trigger,prompt,judge", "true,Greet Ada.,true", "Ahoy, Ada!", &answers);
    fake.run(&["--judge-votes", "3"]).exits(0);
    fs::write(fake.fixture.root().join("labels.csv"), "trial,pass\ngreeting/it/codex,true\n").expect("labels");
    held.all(
        |args| fake.program(args),
        [
            ("judge", vec!["judge", "agreement", "--json", "t"]),
            ("judge", vec!["judge", "calibrate", "--json", "labels.csv", "t"]),
            ("summary", vec!["summary", "--json", "t"]),
            ("show", vec!["show", "--json", "it"]),
            ("grade", vec!["grade", "--json", "t"]),
        ],
    );
    let (scored, _) = foreign::scored("0.6", foreign::POLITE);
    held.all(
        |args| scored.program(args),
        [
            ("summary", vec!["summary", "--json", "r"]),
            ("show", vec!["show", "--json", "eval-one", "--run", "r"]),
            ("grade", vec!["grade", "--json", "r"]),
        ],
    );
}

/// The traces of all recordings of agents, as scripts read them.
fn traces(held: &mut Held) {
    let mut steps = BTreeSet::new();
    for place in ["evals/recordings", "tests/fixtures/traces"] {
        for entry in walkdir::WalkDir::new(repository().join(place)) {
            let path = entry.expect("a file").into_path();
            if !path.ends_with("trace.jsonl") {
                continue;
            }
            let folder = path.parent().expect("a directory");
            for kind in [AgentKind::Codex, AgentKind::ClaudeCli, AgentKind::ClaudeSdk] {
                let trace = agent::of(kind).decode(&Reference::default(), folder).expect("a trace");
                let document = serde_json::to_value(TraceFile::of(&trace)).expect("JSON");
                held.document("trace", &path.display().to_string(), &document);
                let kinds = document["steps"].as_array().expect("steps").iter().map(|step| step["kind"].to_string());
                steps.extend(kinds);
            }
        }
    }
    assert!(steps.len() >= 5, "{steps:?}");
}

/// The case `bad` of the run `r` failed both patterns twice.
fn failed_checks_are_named(stub: &Stub) {
    let summary = stub.run(&["summary", "--json", "r"]).stdout;
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let failed = summary["cases"].as_array().expect("cases").iter().find(|case| case["case"] == "bad");
    let expected = json!({ "must-include 1 of 2": 2, "must-include 2 of 2": 2 });
    assert_eq!(failed.expect("a case")["failed_checks"], expected, "{summary:#}");
    for form in [&["summary", "r"][..], &["summary", "--markdown", "r"]] {
        stub.run(form).prints("must-include");
    }
}

/// This repository's task files follow their schema.
fn tasks_follow_their_schema(held: &mut Held) {
    let validator = jsonschema::validator_for(&read("task")).expect("a schema");
    let tasks = repository().join("evals/tasks");
    for task in fs::read_dir(tasks).expect("task files").flatten() {
        let task: Value = serde_json::from_str(&fs::read_to_string(task.path()).expect("a task")).expect("JSON");
        assert!(validator.is_valid(&task), "{task:#}");
    }
    for (wrong, at) in [
        (json!({ "prompt": "a" }), ""),
        (json!({ "prompt": "a", "evalConfig": { "expectedSkillName": "b", "trials": true } }), "/evalConfig/trials"),
        (json!({ "prompt": "a", "evalConfig": { "expectedSkillName": "b", "trails": 1 } }), "/evalConfig"),
    ] {
        let found: Vec<String> = validator.iter_errors(&wrong).map(|error| error.instance_path().to_string()).collect();
        assert_eq!(found, [at], "{wrong}");
    }
    held.schemas.insert("task".to_owned());
}

#[test]
fn every_json_document_follows_its_schema_and_every_command_has_one() {
    let mut held = Held::default();
    let body = format!("case \"$prompt\" in *crash*) exit 7;; *bad*) {} exit 0;; esac", ANSWER.replace("Done", "No"));
    let stub = Stub::new(1, &body);
    let rows = "id,should_trigger,prompt,must_include\ngood,false,fine,Done\nbad,false,bad one,Done|Pune\ncrash,false,a crash,Done\nasked,true,fine too,\n";
    stub.settings("threshold = 0.5");
    let cases = stub.root().join("evals/skills/tidy/prompts.csv");
    fs::write(&cases, rows).expect("cases");
    lists(&mut held, &stub);
    tasks_follow_their_schema(&mut held);
    held.all(
        |args| stub.run(args),
        [
            ("dry-run", vec!["run", "--dry-run", "--json"]),
            ("summary", vec!["run", "--json", "--run-id", "r", "--trials", "2"]),
            ("summary", vec!["summary", "--json", "r"]),
            ("summary", vec!["run", "--json", "--run-id", "u", "--trials", "until decided at most 20"]),
            ("status", vec!["status", "--json"]),
            ("grade", vec!["grade", "--json", "u"]),
            ("runs", vec!["runs", "--json"]),
            ("history", vec!["history", "--json"]),
            ("grade", vec!["grade", "--json", "r"]),
            ("record", vec!["record", "--json", "r"]),
            ("record", vec!["record", "--json", "r", "--accept-failing"]),
            ("summary", vec!["run", "--replay", "--json"]),
            ("show", vec!["show", "--json", "bad"]),
            ("show", vec!["show", "--json", "good", "--recording"]),
            ("doctor", vec!["doctor", "--json"]),
            ("calibrations", vec!["doctor", "--calibrate", "--agent", "codex", "--json"]),
            ("verify", vec!["verify", "--json"]),
            ("lint", vec!["lint", "--json", "--check-evals"]),
            ("compare", vec!["compare", "--json", "r", "u"]),
            ("compare-dry-run", vec!["compare", "--json", "--aa", "--dry-run"]),
            ("compare", vec!["compare", "--json", "--aa", "--max-trials", "12", "--run-id", "c"]),
            ("summary", vec!["summary", "--json", "c"]),
            ("dry-run", vec!["run", "--dry-run", "--json", "--trials", "until decided at most 20"]),
            ("diagnose", vec!["diagnose", "tidy", "--json", "--run-id", "d"]),
            ("variants-dry-run", vec!["diagnose", "tidy", "--json", "--dry-run"]),
            ("compare-models", vec!["compare", "--models", "a,b", "--json", "--max-trials", "8"]),
            ("summary", vec!["summary", "--json", "d"]),
        ],
    );
    of_another_tool(&mut held);
    failed_checks_are_named(&stub);
    // Broken in every way that the documents have words for.
    fs::write(&cases, rows.replace("Done|Pune", "(")).expect("cases");
    held.all(
        |args| stub.run(args),
        [
            ("list", vec!["list", "--json"]),
            ("dry-run", vec!["run", "--dry-run", "--json"]),
            ("lint", vec!["lint", "--json", "--check-evals"]),
            ("verify", vec!["verify", "--json"]),
            ("grade", vec!["grade", "--json", "r"]),
            ("summary", vec!["run", "--replay", "--json"]),
            ("error", vec!["compare", "--json", "--aa"]),
        ],
    );

    judged(&mut held);
    gates(&mut held);
    traces(&mut held);
    assert_all_held(&held, &stub);
}

fn of_another_tool(held: &mut Held) {
    let text = r#"{"suite": {}, "aggregates": {}, "cases": [{"name": "a", "arms": {
        "with": [{"score": 1, "passed": true}, {"score": 0, "passed": false, "error": "429"}], "without": [{"score": 0, "passed": false}]}}]}"#;
    let args = ["compare", "a.json", "--json"];
    let compared = held.expect("compare", &args, &Fixture::new().file("a.json", text).run(&args));
    assert_eq!(compared["headline"]["tool"], json!("claude plugin eval"));
}

fn lists(held: &mut Held, stub: &Stub) {
    let listed = held.expect("list", &["list", "--json"], &stub.run(&["list", "--json"]));
    assert_eq!(listed["cases"].as_array().map(Vec::len), Some(4));
    let args = ["list", "--coverage", "--json"];
    let covered = held.expect("coverage", &args, &stub.run(&args));
    assert_eq!(covered["files"][0]["run"], json!({ "must-include": 4, "not-triggered": 3, "triggered": 1 }));
}

fn assert_all_held(held: &Held, stub: &Stub) {
    let files = fs::read_dir(schemas()).expect("the schemas").flatten();
    let files: BTreeSet<String> =
        files.map(|file| file.path().file_stem().expect("a name").to_string_lossy().into_owned()).collect();
    assert_eq!(held.schemas, files, "a schema that nothing follows, or the other way round");
    assert_eq!(held.commands, commands(stub, &[]), "every command that has --json is held against its schema");
}

#[test]
fn what_keeps_a_command_from_running_is_a_document_too_and_drawn_alike_by_all() {
    let mut held = Held::default();
    let stub = Stub::new(1, "");
    stub.write("evals/skills/tidy/prompts.csv", "id,should_trigger,prompt,must_include\nc0,false,Hi,(\n");
    for args in [&["compare", "--aa", "--json"][..], &["diagnose", "tidy", "--json"]] {
        let broken = stub.run(args);
        let document = held.expect("error", args, &broken);
        assert_eq!((broken.code, &document["problems"][0]["code"]), (2, &json!("bad-regex")), "{args:?}: {document}");
        assert!(broken.stderr.starts_with("error[bad-regex]"), "{args:?}: {}", broken.stderr);
    }
    let unknown = ["summary", "nowhere", "--json"];
    let document = held.expect("error", &unknown, &stub.run(&unknown));
    assert_eq!(document["problems"], json!([]), "{document}");
}

#[test]
fn documents_of_nothing_of_what_is_the_same_and_of_what_was_interrupted_follow_their_schemas() {
    let mut held = Held::default();
    let stub = Stub::new(0, "");
    held.all(
        |args| stub.run(args),
        [
            ("list", vec!["list", "--json"]),
            ("runs", vec!["runs", "--json"]),
            ("history", vec!["history", "--json"]),
            ("lint", vec!["lint", "--json"]),
        ],
    );
    // Nothing to compare.
    let stub = Stub::new(2, r#"[ ! -e "$folder/slow" ] || [ "$prompt" = 'Prompt 0' ] || sleep 60"#);
    commit(&stub);
    let dry = ["compare", "main", "--dry-run", "--json"];
    let plan = held.expect("compare-dry-run", &dry, &stub.run(&dry));
    assert_eq!(
        (&plan["unchanged"], &plan["cases"], &plan["max_trials"]),
        (&json!(true), &json!(2), &json!(0)),
        "{plan}"
    );
    held.expect("compare", &["compare", "main", "--json"], &stub.run(&["compare", "main", "--json"]));
    // Interrupted.
    fs::write(stub.root().join("slow"), "").expect("a file");
    for (schema, args) in [
        ("summary", vec!["run", "--json", "--run-id", "r"]),
        ("compare", vec!["compare", "--aa", "--json", "--run-id", "c"]),
    ] {
        let runner = stub.start(&args);
        let begun = std::time::Instant::now();
        while stub.progress_lines(args[args.len() - 1]) < 1 && begun.elapsed().as_secs() < 60 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        signal(&runner, Signal::SIGINT);
        let output = runner.wait_with_output().expect("an end");
        assert_eq!(output.status.code(), Some(130));
        held.expect(schema, &args, &Ran::of(&stub.command(&args), &output));
    }
    held.all(
        |args| stub.run(args),
        [
            ("summary", vec!["summary", "--json", "r"]),
            ("status", vec!["status", "--json", "--run-id", "r"]),
            ("runs", vec!["runs", "--json"]),
            ("history", vec!["history", "--json"]),
            ("grade", vec!["grade", "--json", "r"]),
            ("record", vec!["record", "--json", "r"]),
            ("compare", vec!["compare", "--json", "c"]),
        ],
    );
}

#[test]
fn files_of_a_run_follow_the_same_schemas() {
    let stub = Stub::new(1, "");
    stub.run(&["run", "--run-id", "r"]);
    stub.run("compare --aa --max-trials 12 --run-id c").prints("no harm seen");
    for (schema, run, file) in
        [("summary", "r", "summary.json"), ("summary", "c", "summary.json"), ("compare", "c", "comparison.json")]
    {
        let document = stub.json(run, file);
        let validator = jsonschema::validator_for(&strict(schema)).expect("a schema");
        let wrong: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert_eq!(wrong, [""; 0], "{file}: {document:#}");
    }
}

#[test]
fn what_a_run_tells_while_it_runs_is_as_docs_artifacts_says() {
    let stub = Stub::new(3, r#"case "$prompt" in *2) while [ ! -e "$folder/go" ]; do sleep 0.05; done;; esac"#);
    let run = stub.start(&["run", "--run-id", "r"]);
    let file = |name: &str| {
        let bytes = fs::read(stub.run_folder("r").join(name)).unwrap_or_default();
        serde_json::from_slice::<Value>(&bytes).unwrap_or_default()
    };
    let begun = std::time::Instant::now();
    while file("summary.partial.json")["total"]["passed"] != json!(2) && begun.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let (current, partial) = (file("current.json"), file("summary.partial.json"));
    fs::write(stub.root().join("go"), "").expect("a file");
    let ended = run.wait_with_output().expect("the run ends");
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stdout));

    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<BTreeSet<_>>();
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(keys(&current), named(&["format", "running", "updated"]), "{current:#}");
    let running = current["running"].as_array().expect("a list");
    assert_eq!(running.len(), 1, "{current:#}");
    assert_eq!(keys(&running[0]), named(&["skill", "case", "mode", "trial", "since"]));
    assert_eq!((&running[0]["case"], &running[0]["trial"]), (&json!("c2"), &json!(1)));
    let time = |value: &Value| value.as_str().expect("a time").parse::<jiff::Timestamp>().expect("RFC 3339");
    assert!(time(&running[0]["since"]) <= time(&current["updated"]));
    assert_eq!((&partial["planned"], &partial["runs"]), (&json!(3), &json!(["r"])), "{partial:#}");
    let validator = jsonschema::validator_for(&strict("summary")).expect("a schema");
    let wrong: Vec<String> = validator.iter_errors(&partial).map(|error| error.to_string()).collect();
    assert_eq!(wrong, [""; 0], "{partial:#}");
    let page = fs::read_to_string(schemas().with_file_name("reference/artifacts.md")).expect("the page");
    for key in keys(&current).iter().chain(&keys(&running[0])) {
        assert!(page.contains(&format!("`{key}`")), "docs/reference/artifacts.md says nothing of `{key}`");
    }

    let meta = stub.json("r", "work/tidy/c2/codex/1/meta.json");
    assert_eq!((&meta["suite"], &meta["case"]["should_trigger"]), (&json!("smoke"), &json!(false)), "{meta:#}");
    assert_eq!(meta["case"]["source"], json!({ "file": "evals/skills/tidy/prompts.csv", "line": 4 }));
    let negative = stub.command(&["run", "--run-id", "n"]).env("SKILL_EVALS_SUITE", "negative").output();
    assert!(negative.is_ok_and(|output| output.status.success()));
    assert_eq!(stub.json("n", "work/tidy/c0/codex/1/meta.json")["suite"], "negative");
}
