//! Directories of cases: what in them is read, what is named, and that agents get nothing of them.

use crate::passed_over::{skill, with_skills};
use crate::support::fixture::Fixture;
use crate::support::stub::Stub;

#[test]
fn cases_of_plugins_behind_links_and_in_directories_that_are_not_searched_are_named() {
    let whole =
        "schema_version: '1.1'\nname: a\nexecution: { prompt: p }\ngraders: [{ name: g, type: llm, criteria: x }]\n";
    let with = |links: &[(&str, &str)], files: &[&str]| {
        let fixture = files.iter().fold(with_skills(&["skills/tea"]), |fixture, path| fixture.file(path, whole));
        links.iter().fold(fixture, |fixture, (path, target)| fixture.link(path, target))
    };
    for (links, files, said) in [
        (&[("evals/b", "../shared/a")][..], &["shared/a/case.yaml"][..], "to find cases\n--> evals/b\n"),
        (&[("evals", "shared")], &["shared/a/case.yaml"], "to find cases\n--> evals\n"),
        (&[("evals/b/case.yaml", "../../shared/a.yaml")], &["shared/a.yaml"], "this is a link, and"),
        (
            &[("evals/b/prompt.md", "../a/case.yaml"), ("evals/b/graders", "..")],
            &["evals/a/case.yaml"],
            "this is a link",
        ),
        (&[("evals/b/graders/g.md", "../case.yaml")], &["evals/b/case.yaml"], "graders/g.md"),
        (
            &[],
            &["evals/reports/a/case.yaml", "evals/fixtures/b/case.yaml"],
            "not searched: evals/fixtures/b, evals/reports/a",
        ),
        (&[], &["evals/runs/a/prompt.md", "evals/runs/a/graders/g.md"], "not searched: evals/runs/a"),
    ] {
        let lint = with(links, files).run(&["lint"]).stdout;
        assert!(lint.contains(said), "{links:?} {files:?}: {lint}");
    }
    for (links, files) in [
        (&[][..], &["evals/results/a/case.yaml", "evals/mocks/a/case.yaml", "tests/fixtures/x/evals/a/case.yaml"][..]),
        (&[("evals/skills", "../skills")], &[]),
        (&[("evals/data", "../data")], &["data/notes.txt"]),
    ] {
        let lint = with(links, files).run(&["lint"]).stdout;
        assert_eq!(lint, "1 skill: no problems\n", "{links:?} {files:?}");
    }
}

#[test]
fn cases_of_a_second_skill_of_one_name_are_said_once() {
    let cases = r#"{ "evals": [ { "id": 1, "prompt": "Brew tea", "expectations": ["It is tea"] } ] }"#;
    let other = skill("tea") + "More.\n";
    let same = |fixture: Fixture, folder: &str| {
        let fixture = fixture.file(&format!("{folder}/evals/evals.json"), cases);
        fixture.file(&format!("{folder}/SKILL.md"), other.clone()).run(&["lint"]).stdout
    };
    let lint = same(with_skills(&["skills/tea"]), "plugins/x/skills/tea");
    let said = "not read, nor is a file of cases, because another skill has the same name";
    assert!(lint.contains(said) && lint.matches("plugins/x/skills/tea/SKILL.md").count() == 2, "{lint}");
    let lint = same(with_skills(&["skills/tea"]), "skills/zoo/tea");
    assert!(lint.contains(said), "{lint}");
    let lint = with_skills(&["skills/tea"]).file("skills/zoo/tea/SKILL.md", other.clone()).run(&["lint"]).stdout;
    assert!(lint.contains("not read, because another skill has the same name: skills/zoo/tea"), "{lint}");
    // A copy with cases that the skill does not have loses them.
    let copy =
        with_skills(&["skills/tea", "plugins/x/skills/tea"]).file("plugins/x/skills/tea/evals/evals.json", cases);
    copy.run(&["lint"]).prints(said);
    let same_cases = copy.file("skills/tea/evals/evals.json", cases);
    assert!(!same_cases.run(&["lint"]).stdout.contains("not read, nor"));
    let misnamed =
        with_skills(&["skills/tea"]).file("skills/b/Skill.md", skill("b")).file("skills/b/evals/evals.json", cases);
    misnamed.run(&["lint"]).prints("not read, nor is a file of cases, since agents find only");
}

#[test]
fn plugins_of_a_marketplace_that_are_not_here_are_named() {
    let manifest = r#"{ "plugins": [ { "source": "./plugins/nosuch" }, { "source": "../outside" }, { "source": "owner/name" } ] }"#;
    let lint = with_skills(&["skills/tea"]).file(".claude-plugin/marketplace.json", manifest).run(&["lint"]).stdout;
    let said =
        |words: &str, place: &str| lint.contains(&format!("{words}\n --> .claude-plugin/marketplace.json:1:{place}\n"));
    assert!(
        said("a plugin in a directory that is not here", "28") && said("a plugin outside the repository", "62"),
        "{lint}"
    );
    assert_eq!(lint.matches("warning[").count(), 2, "{lint}");
}

#[test]
fn agents_get_no_directory_of_cases_whether_a_format_reads_it_or_not() {
    let stub = Stub::new(1, "find -L .agents/skills/tidy -type f > \"$folder/seen\"");
    for path in [
        "evals/a/notes.yaml",
        "eval/b.toml",
        "evaluations/c.csv",
        "tests/evals/d/task.md",
        "Evals/e/answers.txt",
        "tests/evaluations/only/README",
        "tests/keep.py",
        "data/evals/keep.csv",
    ] {
        let file = stub.root().join("skills/tidy").join(path);
        std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        std::fs::write(&file, "answer: tea\n").expect("a file");
    }
    stub.run(&["run", "--case", "c0"]);
    let seen = std::fs::read_to_string(stub.root().join("seen")).expect("what the agent saw");
    let mut seen: Vec<&str> = seen.lines().filter_map(|line| line.strip_prefix(".agents/skills/tidy/")).collect();
    seen.sort_unstable();
    assert_eq!(seen, ["SKILL.md", "data/evals/keep.csv", "tests/keep.py"]);
}
