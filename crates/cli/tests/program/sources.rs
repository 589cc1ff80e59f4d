//! Where the files are that a case names: in one place for every field, which `list` shows.

use crate::foreign::listed;
use crate::support::fixture::Fixture;

const CSV: &str = "id,should_trigger,prompt,fixture,files,check,output_schema,solution,checks\n\
                   a,true,Brew tea,start,data/a.csv,checks/a.sh,schemas/a.json,done,lists/a.json\n";
const TASK: &str = r#"{ "prompt": "Brew tea", "evalConfig": { "skill": "tea", "fixture": "start", "files": "data/a.csv",
    "check": "checks/a.sh", "outputSchema": "schemas/a.json", "solution": "done" } }"#;
const FILES: [(&str, &str); 6] = [
    ("start/a.txt", "a"),
    ("data/a.csv", "a"),
    ("checks/a.sh", "#!/bin/sh\nexit 0\n"),
    ("schemas/a.json", r#"{ "type": "object" }"#),
    ("done/a.txt", "a"),
    ("lists/a.json", r#"[{ "file": "a.txt", "snapshot": "data/a.csv" }]"#),
];

fn with_files(directories: &[&str]) -> Fixture {
    let fixture = Fixture::new().skill("tea").prompts("tea", CSV).task("b", TASK);
    let placed =
        directories.iter().flat_map(|directory| FILES.map(|(path, text)| (format!("{directory}{path}"), text)));
    placed.fold(fixture, |fixture, (path, text)| fixture.file(&path, text))
}

#[test]
fn every_field_finds_its_files_at_the_root_and_with_the_cases_of_the_skill() {
    for directory in ["", "evals/skills/tea/"] {
        let listed = listed(&with_files(&[directory]));
        for case in ["a", "b"] {
            let found = listed.iter().find(|trial| trial["case"] == case);
            let sources = &found.expect("the case")["sources"];
            for (field, path) in
                [("fixture", "start"), ("files", "data/a.csv"), ("check", "checks/a.sh"), ("solution", "done")]
            {
                assert_eq!(sources[field][0], format!("{directory}{path}"), "{case}: {sources}");
            }
            assert_eq!(sources["output_schema"][0], format!("{directory}schemas/a.json"));
            if case == "a" {
                assert_eq!(sources["snapshot"][0], format!("{directory}data/a.csv"));
            }
        }
    }
}

#[test]
fn a_path_with_two_files_is_an_error_that_names_both_unless_it_starts_at_the_root() {
    let fixture = with_files(&["", "evals/skills/tea/"]);
    let lint = fixture.run(&["lint"]);
    let both = r#"`fixture`: "start" is two files: evals/skills/tea/start and start"#;
    lint.exits(1).prints(both).prints("`/evals/skills/tea/start` or `/start`");
    lint.prints(r#"`output_schema`: "schemas/a.json" is two files"#);
    let exact = "id,should_trigger,prompt,fixture,output_schema\n\
                 a,true,Brew tea,/evals/skills/tea/start,/schemas/a.json\n";
    let fixture = fixture
        .prompts("tea", exact)
        .task("b", r#"{ "prompt": "Brew", "evalConfig": { "skill": "tea", "check": "/checks/none.sh" } }"#);
    let listed = listed(&fixture);
    assert_eq!(listed[0]["sources"]["fixture"][0], "evals/skills/tea/start");
    assert_eq!(listed[0]["sources"]["output_schema"][0], "schemas/a.json");
    let lint = fixture.run(&["lint"]);
    lint.prints("the check checks/none.sh does not exist");
    lint.prints("paths start in evals/skills/tea/ or at the repository's root");
}

#[test]
fn a_missing_file_of_another_program_s_case_is_looked_for_from_the_directory_of_that_file() {
    let evals = r#"{ "evals": [ { "id": 1, "prompt": "Brew tea", "expectations": ["x"], "files": ["a.csv"] } ] }"#;
    let lint = Fixture::new().skill("tea").file("skills/tea/evals/evals.json", evals).run(&["lint"]);
    let help = "paths start in skills/tea/evals/, a directory above it, or at the repository's root";
    lint.prints("the file skills/tea/evals/a.csv does not exist").prints(help);
}

#[test]
fn one_file_behind_a_link_is_not_two() {
    let fixture = Fixture::new().skill("tea").file("schemas/a.json", r#"{ "type": "object" }"#);
    let fixture = fixture.prompts("tea", "id,should_trigger,prompt,output_schema\na,true,Brew tea,schemas/a.json\n");
    let fixture = fixture.link("evals/skills/tea/schemas", "../../../schemas");
    let lint = fixture.run(&["lint"]);
    assert!(!lint.stdout.contains("two files"), "{}", lint.stdout);
}
