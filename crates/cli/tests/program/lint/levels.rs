//! `[lint]` in evals.toml: rules that may be broken, and rules that are worse or better than they are by themselves.

use crate::support::repository;
use skill_evals_evidence::settings::Settings;
use skill_evals_evidence::text::diagnostic::{Code, Level};

use super::{TASK, with_row};
use crate::support::fixture::Fixture;
use crate::support::harness::harness;

const PREFIXED: &str = "[lint]\nallow = [{ rule = \"skill-name-folder\", reason = \"folders carry a prefix\" }]\n";

/// A skill whose directory has another name, with one case.
fn prefixed(settings: &str) -> Fixture {
    Fixture::new()
        .skill_text("own-tidy", "---\nname: tidy\ndescription: Tidies.\n---\n\nDo it.\n")
        .task("one", TASK)
        .file("evals/evals.toml", settings)
}

#[test]
fn what_is_allowed_fails_nothing_and_is_told_with_its_reason() {
    let broken = prefixed("lint.error = [\"skill-name-folder\"]\n");
    assert_eq!((broken.run(&["lint"]).code, broken.run(&["lint", "--check-evals"]).code), (1, 1));
    assert_eq!(harness(&broken, &["tidy::lint"]).run().code, 101);

    let fixture = prefixed(PREFIXED);
    let ran = fixture.run(&["lint", "--check-evals", "--strict"]);
    let told = "1 skill, 1 case: no problems, 1 allowed by evals.toml\n\
         allowed 1× skill-name-folder: folders carry a prefix\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, told));
    assert_eq!(harness(&fixture, &["tidy::lint"]).run().code, 0);
    let json: serde_json::Value = serde_json::from_str(&fixture.run(&["lint", "--json"]).stdout).expect("JSON");
    assert_eq!(
        (&json["problems"][0]["code"], &json["problems"][0]["severity"]),
        (&"skill-name-folder".into(), &"allowed".into()),
        "{json}"
    );
    assert_eq!(json["problems"][0]["reason"], "folders carry a prefix");
}

#[test]
fn what_is_allowed_is_counted_beside_what_is_not() {
    let fixture =
        prefixed(PREFIXED).skill_text("more", "---\nname: more\ndescription: Does more.\nlicence: MIT\n---\n");
    let ran = fixture.run(&["lint"]);
    ran.exits(0);
    let told = "\n1 warning, 1 allowed by evals.toml\nallowed 1× skill-name-folder: folders carry a prefix\n";
    assert!(ran.stdout.ends_with(told), "{}", ran.stdout);
    assert!(!ran.stdout.contains("[skill-name-folder]"), "it is not drawn: {}", ran.stdout);
}

#[test]
fn a_rule_is_as_bad_as_evals_toml_says() {
    let both = "[lint]\nwarning = [\"skill-name-folder\"]\nerror = [{ rule = \"front-matter-unknown-key\" }]\n";
    let fixture = prefixed(both);
    assert_eq!(fixture.run(&["lint"]).code, 0, "a warning");
    let fixture = fixture.skill_text("more", "---\nname: more\ndescription: Does more.\nlicence: MIT\n---\n");
    fixture.run("lint").exits(1).prints("error[front-matter-unknown-key]").prints("warning[skill-name-folder]");
}

#[test]
fn a_warning_of_a_case_that_is_made_an_error_keeps_the_case_from_running() {
    let fixture = with_row(",must_include", "given,true,Say AHOY,AHOY");
    let names = |fixture: &Fixture| {
        let listed = fixture.run(&["list"]).stdout;
        listed.lines().filter(|line| line.contains("\tbroken\t")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names(&fixture), [""; 0]);
    let fixture = fixture.file("evals/evals.toml", "lint.error = ['marker-in-prompt']\n");
    let broken = names(&fixture);
    assert!(broken.len() == 1 && broken[0].starts_with("tidy/given/codex\t"), "{broken:?}");
    fixture.run("run --dry-run").prints("marker-in-prompt");
    let ran = harness(&fixture, &["tidy::given"]).run();
    ran.exits(101).prints("error[marker-in-prompt]");
}

/// What the settings say by the line with which one goes on without files, if there is one.
fn without_files(fixture: &Fixture) -> Option<String> {
    let said = fixture.run(&["lint"]).stdout;
    said.lines().find_map(|line| Some(line.split_once("write at the top of evals/evals.toml: not_cases")?.1.to_owned()))
}

#[test]
fn a_way_out_lifts_an_error_and_loses_no_case_that_runs() {
    let sheet = |rows: &str| {
        Fixture::new()
            .skill("tidy")
            .file("evals/skills/tidy/prompts.csv", format!("id,should_trigger,prompt,checks\n{rows}"))
    };
    assert_eq!(without_files(&sheet("a,true,Do it,\nb,maybe,Do it,\n")), None);
    assert_eq!(without_files(&sheet("a,true,Do it,\nb,true,Do it,nowhere.json\n")), None);
    let suite = "prompts: ['{{r}}']\ntests: file://tests.yaml\n";
    let tests = "skills/tidy/evals/tests.yaml";
    let suite = || Fixture::new().skill("tidy").file("skills/tidy/evals/promptfooconfig.yaml", suite);
    let test = "- { vars: { r: a }, assert: [{ type: skill-used, value: tidy }] }\n";
    let one_is_wrong = format!("{test}{}", test.replace("type", "typ"));
    assert_eq!(without_files(&suite().file(tests, one_is_wrong)), None);
    for (fixture, files) in [
        (sheet("a,maybe,Do it,\n"), &["evals/skills/tidy/prompts.csv"][..]),
        (suite().file(tests, format!("{test}- {{ vars: [ }}\n")), &["skills/tidy/evals/promptfooconfig.yaml", tests]),
    ] {
        let line = without_files(&fixture).expect("a line");
        assert_eq!(line, format!(" = {files:?}"));
        let followed = fixture.file("evals/evals.toml", format!("not_cases{line}\n"));
        assert_eq!(without_files(&followed), None);
        followed.run("lint").exits(0);
    }
}

#[test]
fn a_skill_without_cases_is_as_bad_as_evals_toml_says_for_every_command() {
    for (settings, lint, list) in
        [("", 0, 0), ("lint.warning = ['no-cases']", 0, 0), ("lint.error = ['no-cases']", 1, 2)]
    {
        let fixture = Fixture::new().skill("tidy").file("evals/evals.toml", settings);
        for (args, code) in [("lint", lint), ("list", list)] {
            let ran = fixture.run(args);
            let is_told = [ran.stdout.as_str(), &ran.stderr].concat().contains("[no-cases]");
            assert_eq!((ran.code, is_told), (code, !settings.is_empty()), "{settings} {args}");
        }
    }
}

#[track_caller]
fn refused(table: &str, words: &[&str]) {
    let problems = Settings::default().apply_file(table).expect_err("a wrong table");
    let text: Vec<String> = problems.iter().map(|problem| format!("{} {}", problem.place, problem.message)).collect();
    let text = text.join("\n");
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
}

#[test]
fn wrong_entries_are_told_at_their_place() {
    refused(
        "[lint]\nwarning = ['skil-name']\n",
        &["evals/evals.toml:2:12", "unknown rule `skil-name`", "`skill-name`"],
    );
    refused(
        "lint.allow = [{ rule = 'zzz', reason = 'r' }]\n",
        &["unknown rule `zzz`", "nearest", "docs/reference/lint.md"],
    );
    refused(
        "lint.allow = [{ rule = 'not-utf8', reason = 'r' }]\n",
        &["`not-utf8` is always an error", "cannot be read"],
    );
    refused("lint.warning = ['bad-regex']\n", &["`bad-regex` is always an error"]);
    refused("lint.allow = ['long-body']\n", &["needs a reason"]);
    refused("lint.allow = [{ rule = 'long-body', reason = ' ' }]\n", &["needs a reason"]);
    refused("lint.allow = [{ rule = 'long-body', why = 'r' }]\n", &["unknown key `why`"]);
    refused("lint.error = [{ rule = 'long-body', reason = 3 }]\n", &["evals/evals.toml:1:15", "`reason` is not text"]);
    refused("lint.error = [3]\n", &["this is 3", "the name of a rule"]);
    refused("lint.error = ['long-body']\nlint.warning = ['long-body']\n", &["`long-body` is named twice"]);
    refused("[lint]\nalow = []\n", &["alow"]);
}

/// The list in the docs is the table of codes: it stands between two comments.
#[test]
fn the_docs_list_every_rule_with_its_level() {
    let path = repository().join("docs/reference/lint.md");
    let text = std::fs::read_to_string(path).expect("the page on the lint");
    let (_, rest) = text.split_once("<!-- rules -->").expect("a comment where the list begins");
    let (list, _) = rest.split_once("<!-- /rules -->").expect("a comment where the list ends");
    let row = |code: &Code| {
        let level = match code.level() {
            Level::Fixed => "error, always",
            Level::Error => "error",
            Level::Warning => "warning",
        };
        format!("| `{code}` | {level} | {} |", code.meaning())
    };
    let rows: Vec<String> = Code::ALL.iter().map(row).collect();
    assert_eq!(list.trim(), format!("| rule | level | meaning |\n| --- | --- | --- |\n{}", rows.join("\n")));
}
