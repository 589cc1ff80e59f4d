//! Case files of other programs: how they are listed, and how their cases run.

use serde_json::Value;

use crate::support::fake_codex::{Fake, Says};
use crate::support::fixture::{Fixture, Ran};
use crate::support::harness::harness;
use crate::support::stored;
use crate::support::stub::Stub;

/// The cases as `list --json` has them.
pub(crate) fn listed(fixture: &Fixture) -> Vec<Value> {
    let ran = fixture.run(&["list", "--json"]);
    let value: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
    value["cases"].as_array().expect("cases").clone()
}
/// A line for each case: skill, id, format, file, line, column, and what is wrong or unsupported.
pub(crate) fn lines(fixture: &Fixture) -> Vec<String> {
    let mut lines = Vec::new();
    for case in listed(fixture) {
        let text = |key: &str| case[key].as_str().unwrap_or_default().to_owned();
        let mut parts = vec![format!(
            "{}/{} {} {}:{}:{}",
            text("skill"),
            text("case"),
            text("format"),
            text("file"),
            case["line"],
            case["column"]
        )];
        for key in ["unsupported", "problems"] {
            for problem in case[key].as_array().expect(key) {
                let place = &problem["place"];
                parts.push(format!(
                    "{}:{} {}",
                    place["line"],
                    place["column"],
                    problem["message"].as_str().expect("text")
                ));
            }
        }
        lines.push(parts.join(" | "));
    }
    lines
}
fn tidy(path: &str, text: &str) -> Fixture {
    Fixture::new().skill("tidy").skill("other").file(path, text)
}

#[test]
fn settings_are_no_cases() {
    let settings = "check_timeout_s = 30\n[agents.mine]\ncommand = 'a'\nprotocol = 'jsonl'\nskills = '.a'\n\
                    args = ['{prompt}']\n[[agents.mine.events]]\nsays = 'call'\nwhen = { '/type' = 'call' }\n\
                    id = '/id'\nname = '/name'\ninput = '/input'\n[[agents.mine.events]]\nsays = 'message'\n\
                    when = { '/type' = 'message' }\ntext = '/text'\n[[agents.mine.events]]\nsays = 'done'\n\
                    when = { '/type' = 'done' }\n";
    let ran = tidy("evals/evals.toml", settings).run(&["lint"]);
    ran.exits(0).prints("no problems");
}

const UNSUPPORTED: &str = r#"{ "skill_name": "tidy", "evals": [
  { "id": 1, "prompt": "Do it", "should_trigger": false, "wall_clock": 5 },
  { "id": 2, "prompt": "Do it", "should_trigger": false } ] }"#;

#[test]
fn a_case_that_asks_for_what_is_unsupported_is_ignored_with_the_reason() {
    let fixture = tidy("skills/tidy/evals/evals.json", UNSUPPORTED);
    let reason = "unsupported: the key `wall_clock` (skills/tidy/evals/evals.json:2:58)";
    let ran = fixture.run("list");
    ran.exits(0).prints("tidy/evals-1/codex\tunsupported\tskills/tidy/evals/evals.json:2:58: [unsupported]");
    fixture.run("lint --check-evals").exits(0).prints("warning[unsupported]: unsupported: the key `wall_clock`");
    let ran = harness(&fixture, &["tidy::evals_1"]).run();
    ran.exits(0).prints("... ignored (").prints(reason);
    let ran = harness(&fixture, &["--list", "--ignored"]).run();
    ran.prints("tidy::evals_1::codex: test");
    fixture.run("run --case evals-1 --dry-run").prints("unsupported: the key `wall_clock`");
}

#[test]
fn a_run_counts_unsupported_cases_and_partial_runs_the_rest_and_says_so() {
    let stub = Stub::new(1, "");
    let file = stub.root().join("skills/tidy/evals/evals.json");
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
    std::fs::write(&file, UNSUPPORTED).expect("a file");
    stub.run("run --run-id one").exits(3).prints("tidy/evals-1/codex: not run: unsupported: the key `wall_clock`");
    assert_eq!(stub.json("one", "summary.json")["not_run"]["the case asks for something unsupported"], 1);
    let before = ["list", "lint"].map(|command| stub.run(&[command]).stdout);
    assert!(before[0].contains("\tunsupported\tskills"), "{}", before[0]);
    assert!(before[1].contains("the case does not run"), "{}", before[1]);
    stub.settings("partial = true");
    let now = ["list", "lint"].map(|command| stub.run(&[command]).stdout);
    assert!(now.iter().all(|text| text.contains("unsupported: the key `wall_clock`")), "{now:?}");
    assert!(!now[0].contains("\tunsupported\tskills") && now[1].contains("the rest of the case runs"), "{now:?}");
    let ran = stub.run(&["run", "--run-id", "two"]);
    ran.exits(0).prints("1 trial ran only in part");
    assert_eq!(stub.json("two", "summary.json")["partial"], 1);
    let grade = stub.json("two", "work/tidy/evals-1/codex/1/grade.json");
    assert_eq!(grade["unsupported"][0], "the key `wall_clock`");
    let said = |arguments: &[&str]| {
        let ran = stub.run(arguments);
        ran.exits(0);
        ran.stdout
    };
    said(&["report", "two", "--output", "report.html"]);
    let page = std::fs::read_to_string(stub.root().join("report.html")).expect("a page");
    assert!(page.contains("1 trial ran only in part"), "{page}");
    assert!(said(&["show", "tidy/evals-1", "--run", "two"]).contains("unsupported the key `wall_clock`"));
    for format in ["markdown", "junit"] {
        assert!(said(&["export", "two", "--to", format]).contains("1 trial ran only in part"), "{format}");
    }
    for format in ["csv", "promptfoo", "otlp"] {
        assert!(said(&["export", "two", "--to", format]).contains("the key `wall_clock`"), "{format}");
    }
}

#[test]
fn a_case_of_which_no_expectation_is_left_never_runs() {
    let stub = Stub::new(1, "");
    stub.settings("partial = true");
    let evals = r#"{ "skill_name": "tidy", "evals": [{ "id": 1, "prompt": "Do it", "must_say": ["KETTLE"] }] }"#;
    stub.write("skills/tidy/evals/evals.json", evals);
    let ran = stub.run(&["run", "--case", "evals-1", "--run-id", "r"]);
    assert_eq!((ran.code, stub.starts().len()), (3, 0), "{} {}", ran.stdout, ran.stderr);
    let said = "nothing is left of what this case expects, so it does not run";
    ran.prints(said).prints("must_say");
    stub.run("list --case evals-1").prints("unsupported");
}

#[test]
fn agents_do_not_get_the_cases_in_the_directory_of_a_skill() {
    let stub = Stub::new(1, "find -L .agents/skills/tidy -type f > \"$folder/seen\"");
    let spec = "stimuli:\n  - name: one\n    prompt: Do it\n";
    for (path, text) in [
        ("evals/evals.json", UNSUPPORTED),
        ("evals/files/a.txt", "a"),
        ("references/b.md", "b"),
        ("eval.yaml", spec),
        ("tests/tidy.eval.yaml", spec),
        ("more/eval.yaml", "config: { trials_per_task: 1 }\ntasks: [tasks/*.yaml]\n"),
        ("more/tasks/one.yaml", "inputs: { prompt: Do it }\n"),
        ("more/fixtures/a.txt", "a"),
        ("assets/eval.yaml", "tasks: []\n"),
    ] {
        let file = stub.root().join("skills/tidy").join(path);
        std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        std::fs::write(&file, text).expect("a file");
    }
    stub.run("run --case c0").exits(0);
    let seen = std::fs::read_to_string(stub.root().join("seen")).expect("what the agent saw");
    let mut seen: Vec<&str> = seen.lines().collect();
    seen.sort_unstable();
    let expected = ["SKILL.md", "assets/eval.yaml", "more/fixtures/a.txt", "references/b.md"];
    assert_eq!(seen, expected.map(|path| format!(".agents/skills/tidy/{path}")));
}

/// Three graders of the answer `Ahoy, Ada!`, of which two pass, and a judge.
const SCORED: &str = "scoring:
  threshold: LEAST
stimuli:
  - name: one
    prompt: Please greet Ada.
    graders:
      - { type: output-contains, config: { substring: Ahoy } }
      - { type: output-contains, config: { substring: Ada } }
      - { type: output-contains, config: { substring: Grace } }
      - { type: prompt, config: { prompt: It is polite. } }
";

/// The program after a run of [`SCORED`] with a judge that says this.
pub fn scored(least: &str, judge: &'static str) -> (Fake, Ran) {
    let fake = Fake::new("should_trigger,prompt", "true,Hi", "Ahoy, Ada!", &[Says::Text(judge), Says::Text(judge)]);
    let file = fake.fixture.root().join("evals/greeting/eval.yaml");
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
    std::fs::write(&file, SCORED.replace("LEAST", least)).expect("a file");
    let ran = fake.program(&["run", "--case", "greeting/eval-one", "--mode", "codex", "--run-id", "r", "-v"]);
    (fake, ran)
}

pub const POLITE: &str =
    r#"{"overall_pass":true,"score":90,"checks":[{"id":"assertion-1","pass":true,"notes":"it is"}]}"#;
const IMPOLITE: &str =
    r#"{"overall_pass":false,"score":20,"checks":[{"id":"assertion-1","pass":false,"notes":"it is not"}]}"#;

#[test]
fn a_trial_passes_from_the_least_score_on_and_every_report_shows_the_score() {
    for (least, judge, code, said) in [
        ("0.75", POLITE, 0, "pass, score 0.75 (at least 0.75 passes)"),
        ("0.76", POLITE, 1, "fail, score 0.75 (at least 0.76 passes)"),
        ("0.5", IMPOLITE, 0, "pass, score 0.5 (at least 0.5 passes)"),
        ("0.51", IMPOLITE, 1, "fail, score 0.5 (at least 0.51 passes)"),
        ("0.5", "Yes.", 0, "pass, score 0.5 to 0.75 (at least 0.5 passes)"),
        ("0.6", "Yes.", 3, "unscored, score 0.5 to 0.75 (at least 0.6 passes)"),
        ("0.9", "Yes.", 1, "fail, score 0.5 to 0.75 (at least 0.9 passes)"),
    ] {
        let (fake, ran) = scored(least, judge);
        assert!(
            ran.code == code && ran.stdout.contains(said),
            "{least} {judge}: {} {}{}",
            ran.code,
            ran.stdout,
            ran.stderr
        );
        let again = fake.program(&["grade", "r"]);
        assert!(!again.stdout.contains("changed"), "{least}: {}{}", again.stdout, again.stderr);
    }
    let (fake, ran) = scored("0.76", POLITE);
    ran.prints("failed      text 3 of 3 (outcome, weight 1)");
    let said = |arguments: &[&str]| fake.program(arguments).stdout;
    let shown = said(&["show", "greeting/eval-one", "--run", "r"]);
    assert!(shown.contains("score       0.75 (at least 0.76 passes)"), "{shown}");
    let markdown = said(&["export", "r", "--to", "markdown"]);
    assert!(markdown.contains("score 0.75"), "{markdown}");
    let promptfoo: Value = serde_json::from_str(&said(&["export", "r", "--to", "promptfoo"])).expect("JSON");
    let result = &promptfoo["results"]["results"][0];
    assert_eq!((&result["score"], &result["gradingResult"]["pass"]), (&0.75.into(), &false.into()), "{result:#}");
    assert_eq!(result["gradingResult"]["componentResults"][0]["assertion"]["weight"], 1.0, "{result:#}");
}

#[test]
fn a_stale_answer_of_the_judge_leaves_open_only_a_score_that_it_can_change() {
    for (least, code, verdict) in [("0.5", 0, "pass"), ("0.6", 3, "unscored"), ("0.9", 1, "fail")] {
        let (fake, _) = scored(least, POLITE);
        let trial = fake.fixture.root().join("artifacts/skill-evals/r/work/greeting/eval-one/codex/1");
        for name in ["final.txt", "trace.jsonl", "rollout.jsonl"] {
            let text = std::fs::read_to_string(trial.join(name)).expect("evidence");
            std::fs::write(trial.join(name), text.replace("Ahoy, Ada!", "Ahoy, Ada, again!")).expect("other evidence");
        }
        stored::seal(&trial);
        let ran = fake.program(&["grade", "r"]);
        assert_eq!(ran.code, code, "{least}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.stdout.contains("the judge's answer is stale"), code == 3, "{least}: {}", ran.stdout);
        let grade: Value =
            serde_json::from_slice(&std::fs::read(trial.join("grade.json")).expect("a grade")).expect("JSON");
        assert_eq!((&grade["verdict"], &grade["judged"]["state"]), (&verdict.into(), &"stale".into()), "{grade:#}");
    }
}

#[test]
fn a_command_of_a_vally_spec_that_exceeds_its_own_timeout_does_not_pass() {
    let stub = Stub::new(1, "");
    let grader = "{ type: run-command, config: { command: sleep 60, timeout: 1s } }";
    let spec = format!("stimuli:\n  - name: one\n    prompt: Do it\n    graders:\n      - {grader}\n");
    let file = stub.root().join("evals/tidy/eval.yaml");
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
    std::fs::write(&file, spec).expect("a file");
    stub.run(&["run", "--case", "eval-one", "--run-id", "r"]);
    let grade = stub.json("r", "work/tidy/eval-one/codex/1/grade.json");
    let check = grade["checks"].as_array().expect("checks").iter().find(|check| check["id"] == "run");
    let check = check.expect("the check of the command");
    assert_eq!(check["status"], "unknown", "{check}");
    assert!(check["found"].as_str().expect("text").contains("the timeout of its check gives it more"), "{check}");
}

#[test]
fn coverage_counts_a_case_with_a_missing_file_as_broken() {
    let text = r#"{ "evals": [ { "prompt": "Do it", "assertions": "It is done", "files": ["gone.txt"] } ] }"#;
    let ran = tidy("skills/tidy/evals/evals.json", text).run(&["list", "--coverage", "--json"]);
    let value: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let file = value["files"].as_array().expect("files").iter().find(|file| file["format"] == "eval").expect("a file");
    assert_eq!((&file["cases"], &file["broken"], &file["judged"]), (&1.into(), &1.into(), &0.into()), "{value}");
}
