//! Mistakes whose message says the cause first.

use skill_evals_cases::lint::{self, LintOptions};
use skill_evals_testing::fixture::Fixture;

use crate::unread::with_skills;

/// What is said of a repository, with the help.
fn said(fixture: &Fixture) -> String {
    let problems = lint::all(&fixture.catalog(), &fixture.repository(), LintOptions::default());
    let lines = problems.iter().map(|problem| format!("{problem} {}\n", problem.help.as_deref().unwrap_or_default()));
    lines.collect()
}

fn csv(column: &str, cell: &str) -> String {
    let rows = format!("id,should_trigger,prompt,{column}\na,true,Please brew a cup,{cell}\n");
    said(&with_skills(&["skills/tea"]).file("evals/skills/tea/prompts.csv", rows))
}

#[test]
fn words_with_a_semicolon_between_them_are_one_text() {
    assert!(csv("must_include", "Ahoy;Ada").contains("`;` is a part of this pattern"));
    let said = csv("must_include", "a[0];");
    assert!(!said.contains("literal-syntax"), "{said}");
}

#[test]
fn a_skill_file_of_another_name_and_one_without_a_directory_of_its_own_are_named() {
    let skill = "---\nname: milk\ndescription: Warms milk.\n---\n";
    for name in ["SKILL.md.txt", "skill.markdown"] {
        let said = said(&with_skills(&["skills/tea"]).file(&format!("skills/milk/{name}"), skill));
        assert!(said.contains("rename the file to SKILL.md"), "{said}");
    }
    let said = said(&Fixture::new().file("skills/SKILL.md", skill));
    assert!(said.contains("move it to skills/milk/SKILL.md"), "{said}");
}

#[test]
fn a_skill_whose_name_is_not_that_of_its_cases_is_the_cause() {
    let skill = "---\nname: Green Tea\ndescription: Brews tea.\n---\n";
    let fixture = Fixture::new().file("skills/tea/SKILL.md", skill);
    let said = said(&fixture.file("evals/skills/tea/prompts.csv", "id,should_trigger,prompt\na,true,Brew\n"));
    assert!(
        said.starts_with("evals/skills/tea/prompts.csv")
            && said.contains(r#"skills/tea/SKILL.md is named "Green Tea""#),
        "{said}"
    );
}
