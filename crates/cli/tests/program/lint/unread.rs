//! Files that look like cases and are not read: every command says so, and nothing built in runs in their place.

use super::{HEADER, TASK};
use crate::support::fixture::Fixture;

const SHEET: &str = "id,should_trigger,prompt\na,true,Do it\nb,false,Rest\n";

/// Two skills without cases, and this file.
fn with_file(path: &str, text: &str) -> Fixture {
    Fixture::new().skill("tidy").skill("other").file(path, text)
}

/// The tests of a skill, without its lint.
fn tests(fixture: &Fixture, skill: &str) -> Vec<String> {
    let listed = fixture.run(&["list"]).stdout;
    listed.lines().filter(|line| line.starts_with(skill)).map(|line| line.replace('\t', " ")).collect()
}

#[test]
fn cases_in_a_wrong_place_keep_the_built_in_ones_of_their_skill_from_running() {
    let places = [
        ("evals/skills/tidy/prompt.csv", SHEET),
        ("evals/skills/tidy/prompts.CSV", SHEET),
        ("evals/skills/tidy/prompts.csv.txt", ""),
        ("evals/skills/tidy/prompts.xlsx", ""),
        ("evals/skills/tidy/cases/first.csv", SHEET),
        ("evals/skills/tydi/prompts.csv", SHEET),
        ("skills/tidy/prompts.csv", SHEET),
        ("eval/skills/tidy/prompts.csv", SHEET),
        ("evals/task/x.json", TASK),
        ("evals/tasks/x.JSON", TASK),
        ("evals/tasks/more/x.json", TASK),
        ("skills/tidy/evals/x.json", TASK),
        ("evals/tasks/tidy.yaml", "prompt: Do it\n"),
        ("tasks/x.json", TASK),
        (".evals/tasks/x.json", TASK),
        (".evals/skills/tidy/prompts.csv", SHEET),
        ("tests/tidy.csv", SHEET),
    ];
    for (path, text) in places {
        let fixture = with_file(path, text);
        let listed = tests(&fixture, "tidy");
        assert!(listed.len() == 1 && listed[0].starts_with("tidy/prompts.csv/codex broken"), "{path}: {listed:?}");
        assert!(listed[0].contains(path), "{path}: {listed:?}");
        assert_eq!(tests(&fixture, "other").len(), 3, "{path}: the other skill has its built-in cases");
        for command in [&["run", "--skill", "tidy", "--dry-run"][..], &["list"]] {
            let ran = fixture.run(command);
            let said = [ran.stdout, ran.stderr].concat();
            assert!(ran.code == 2 && said.contains(path), "{path}: {} {said}", ran.code);
        }
        fixture.run("lint").exits(1);
        fixture.run("generate --skill tidy").exits(1).prints("skipped skills/tidy");
        fixture.run("harness --exact tidy::prompts_csv::codex").exits(101).prints(path);
    }
}

#[test]
fn cases_that_cannot_be_read_keep_the_built_in_ones_of_their_skill_from_running() {
    let sheet = "evals/skills/tidy/prompts.csv";
    let linked = |target: &str| Fixture::new().skill("tidy").link(sheet, target);
    let fixtures = [
        ("a directory", Fixture::new().skill("tidy").file(&format!("{sheet}/x"), "")),
        ("a link to nothing", linked("../../nothing.csv")),
        ("a link to itself", linked("prompts.csv")),
        ("a device", linked("/dev/null")),
    ];
    for (what, fixture) in fixtures {
        let listed = tests(&fixture, "tidy");
        assert!(listed.len() == 1 && listed[0].contains("broken"), "{what}: {listed:?}");
        assert!(listed[0].contains("cannot be read"), "{what}: {listed:?}");
    }
}

#[test]
fn cases_that_are_read_through_a_link_are_not_unread_where_they_lie() {
    let places = [
        ("mine/tidy.csv", "evals/skills/tidy/prompts.csv", "../../../mine/tidy.csv"),
        ("skills/tidy/prompts.csv", "evals/skills/tidy/prompts.csv", "../../../skills/tidy/prompts.csv"),
        ("mine/tidy/prompts.csv", "evals/skills/tidy", "../../mine/tidy"),
        ("evals/skills/tidy/prompts.csv", "evals/tidy/prompts.csv", "../skills/tidy/prompts.csv"),
        ("skills/tidy/evals/prompts.csv", "evals/skills/tidy/prompts.csv", "../../../skills/tidy/evals/prompts.csv"),
    ];
    for (path, link, target) in places {
        let fixture = Fixture::new().skill("tidy").file(path, SHEET).link(link, target);
        assert_eq!(
            (fixture.good_cases(), fixture.run(&["lint"]).code),
            (vec!["a".to_owned(), "b".to_owned()], 0),
            "{path}"
        );
    }
}

#[test]
fn cases_in_the_folder_that_holds_the_skills_are_told() {
    let skill = "---\nname: tidy\ndescription: Tidies.\n---\n\nDo it.\n";
    let names = ["skills/tidy/prompts.csv", "evals/skills/tidy/prompts.csv", "prompts.csv"];
    for (folder, name) in [".claude", "plugin"].into_iter().flat_map(|folder| names.map(|name| (folder, name))) {
        let path = &format!("{folder}/{name}");
        let fixture = Fixture::new().file(&format!("{folder}/skills/tidy/SKILL.md"), skill).file(path, SHEET);
        assert_eq!(
            (fixture.good_cases(), fixture.broken_cases()),
            (Vec::new(), vec!["prompts.csv".to_owned()]),
            "{path}"
        );
    }
}

#[test]
fn cases_that_name_no_skill_are_broken_and_break_no_skill() {
    let fixture = with_file("evals/prompts.csv", SHEET).skill("done").prompts("done", SHEET);
    assert_eq!(fixture.broken_cases(), ["evals-prompts.csv"]);
    assert_eq!(fixture.good_cases().len(), 8);
    fixture.run("run --dry-run").exits(2).prints("evals/prompts.csv");
}

#[test]
fn what_an_agent_or_a_build_is_given_is_taken_for_no_cases() {
    let asides = [
        "evals/skills/tidy/fixtures/sheet/prompts.csv",
        "evals/recordings/tidy/a/codex/1/prompts.csv",
        "artifacts/prompts.csv",
        "node_modules/x/prompts.csv",
        ".cache/prompts.csv",
        "sub/evals/skills/tidy/prompts.csv",
        "tests/sub/evals/skills/tidy/prompts.csv",
        "vendor/prompts.csv",
        "vendor/x/evals/prompts.csv",
        "dist/skills/tidy/prompts.csv",
        "venv/lib/prompts.csv",
        "skills/tidy/examples/prompts.csv",
    ];
    for path in asides {
        assert_eq!(with_file(path, SHEET).broken_cases(), [""; 0], "{path}");
    }
    let other_table = with_file("skills/tidy/assets/prompts.csv", "style,prompt\nplain,Draw\n");
    assert_eq!(other_table.broken_cases(), [""; 0]);
}

#[test]
fn a_file_beside_cases_that_are_read_is_an_error_that_the_settings_can_lower() {
    let fixture = Fixture::new().skill("tidy").prompts("tidy", SHEET).file("evals/skills/tidy/prompts.csv.bak", SHEET);
    assert_eq!(fixture.good_cases(), ["a", "b"]);
    fixture.run("lint").exits(1);
    fixture.run("harness repository::lint").exits(101);
    let fixture = fixture.file("evals/evals.toml", "lint.warning = [\"misplaced-cases\"]\n");
    fixture.run("lint").exits(0);
}

#[test]
fn a_broken_task_that_names_its_skill_is_no_reason_for_built_in_cases() {
    let text = TASK.replace("\"tidy\"", "\"tidy\", \"trails\": 3");
    let fixture = Fixture::new().skill("tidy").task("x", text);
    let listed = tests(&fixture, "tidy");
    assert!(listed.len() == 1 && listed[0].starts_with("tidy/x/mcp broken"), "{listed:?}");
}

#[test]
fn a_sheet_with_only_a_header_says_that_it_has_no_rows() {
    let fixture = Fixture::new().skill("tidy").prompts("tidy", format!("{HEADER}\n"));
    let ran = fixture.run(&["run", "--skill", "tidy", "--replay"]);
    ran.exits(2).prints("the file has a header and no rows");
    assert!(!ran.stderr.contains("there is no skill"), "{}", ran.stderr);
}

#[test]
fn settings_in_a_wrong_place_or_of_a_wrong_name_are_told() {
    let right = "evals/evals.toml";
    for path in ["evals.toml", "evals/eval.toml", "evals/Evals.toml", "evals/evas.toml"] {
        let fixture = with_file(path, "jobs = 2\n").file(right, "jobs = 2\n");
        for command in [&["run", "--dry-run"][..], &["list"]] {
            let ran = fixture.run(command);
            let said = [ran.stdout, ran.stderr].concat();
            assert!(ran.code == 2 && said.contains(path) && said.contains(right), "{path}: {} {said}", ran.code);
        }
        fixture.run("lint").exits(1);
    }
    for path in [right, "evals/fixtures.toml", "evals/Cargo.toml", "docs/evals.toml"] {
        assert_eq!(with_file(path, "").run(&["lint"]).code, 0, "{path}");
    }
}
