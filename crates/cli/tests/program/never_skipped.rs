//! A file in a directory of cases that could hold some is read, or it is named with what it lacks.

use crate::passed_over::with_skills;

#[test]
fn each_command_names_a_file_that_nothing_reads_and_as_an_error_it_stops_the_built_in_cases() {
    for (path, text) in [
        (
            "skills/tea/evals/evals.json",
            r#"{"cases": [{"id": "a", "promt": "Brew tea", "expectations": ["It is tea"]}]}"#,
        ),
        ("evals/cases.toml", "[[case]]\nwhat = \"Brew tea\"\n"),
        ("evals/a/instruction.md", "Brew tea\n"),
        ("evals/tests.json", r#"[{"goal": "Brew tea"}]"#),
    ] {
        let fixture = with_skills(&["skills/tea"]).file(path, text);
        fixture.run("lint").prints(path);
        let fixture = fixture.file("evals/evals.toml", "lint.error = [\"unread-cases\"]\n");
        fixture.run("lint").exits(1).prints(path);
        for args in [&["list"][..], &["run", "--dry-run"], &["list", "--coverage"]] {
            let ran = fixture.run(args);
            assert!(ran.stderr.contains(path) && !ran.stdout.contains("smoke"), "{path}: {args:?} {}", ran.stderr);
        }
    }
}

#[test]
fn a_file_that_nothing_reads_counts_once_however_many_skills_it_may_be_for() {
    let fixture =
        with_skills(&["skills/a", "skills/b", "skills/c"]).file("evals/x.toml", "prompt = \"a\"\nexpected = \"b\"\n");
    let fixture = fixture.file("evals/evals.toml", "lint.error = [\"unread-cases\"]\n");
    let coverage = fixture.run(&["list", "--coverage"]).stdout;
    let words: Vec<&str> = coverage.lines().nth(1).expect("a file").split_whitespace().collect();
    assert_eq!(words, ["evals/x.toml", "not", "read", "1", "1", "0", "0", "0"], "{coverage}");
}
