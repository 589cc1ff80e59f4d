//! `gate` gives one answer about a change: lint, recordings, and the cases that the change touches against the base.

use std::fs;

use crate::compare::{BY_SKILL, break_skill, git, repository};
use crate::support::stub::Stub;

const ALLOWED: &str = "[lint]\nallow = [{ rule = \"no-positive\", reason = \"the agent activates nothing\" }]\n";

/// A recorded and committed repository, in which the skill then got a harmless line.
fn recorded(cases: usize) -> Stub {
    let stub = repository(cases, BY_SKILL);
    git(&stub, &["checkout", "--quiet", "."]);
    stub.settings(ALLOWED);
    assert_eq!(stub.run(&["run", "--record"]).code, 0);
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "recorded"]);
    stub
}

fn edit(stub: &Stub, line: &str) {
    let path = stub.root().join("skills/tidy/SKILL.md");
    let text = fs::read_to_string(&path).expect("a skill");
    fs::write(path, format!("{text}\n{line}\n")).expect("a skill");
}

fn page(stub: &Stub) -> String {
    fs::read_to_string(stub.root().join("artifacts/skill-evals/gate/gate.md")).expect("a page")
}

#[test]
fn a_change_without_skills_starts_no_agent_and_passes() {
    let stub = recorded(3);
    let starts = stub.starts().len();
    let ran = stub.run(&["gate"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("no skill of 1 differs from main ("), "{}", ran.stdout);
    assert!(ran.stdout.contains("recordings: 3 passed, 0 failed\ngate: passed\n"), "{}", ran.stdout);
    assert_eq!(stub.starts().len(), starts);
    let page = page(&stub);
    assert!(page.starts_with("<!-- skill-evals -->\n## skill-evals: passed\n"), "{page}");
    assert!(stub.root().join("artifacts/skill-evals/gate/junit.xml").is_file());
}

#[test]
fn a_harmless_edit_takes_a_pair_of_each_case_of_its_skill_and_passes() {
    let stub = recorded(3);
    edit(&stub, "Be brief.");
    let starts = stub.starts().len();
    let dry = stub.run(&["gate", "--dry-run"]);
    assert_eq!((dry.code, stub.starts().len()), (0, starts), "{}{}", dry.stdout, dry.stderr);
    assert!(dry.stdout.contains("to compare: tidy/c0, tidy/c1, tidy/c2\n"), "{}", dry.stdout);
    assert!(dry.stdout.contains("a case that went from always to never is found with 95 %"), "{}", dry.stdout);
    let ran = stub.run(&["gate"]);
    assert_eq!((ran.code, stub.starts().len()), (0, starts + 6), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("1 skill differs from main ("), "{}", ran.stdout);
    assert!(ran.stdout.contains("recordings: 0 passed, 0 failed, 3 stale\nno harm seen: "), "{}", ran.stdout);
    assert!(page(&stub).contains("- no harm seen: "), "{}", page(&stub));
}

#[test]
fn a_broken_skill_fails_and_the_comment_names_its_cases() {
    let stub = recorded(3);
    break_skill(&stub);
    let ran = stub.run(&["gate"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.ends_with("gate: failed\n") && ran.stdout.contains("\nbroke"), "{}", ran.stdout);
    let page = page(&stub);
    assert!(page.contains("## skill-evals: failed\n") && page.contains("| case | base | this | evidence |"), "{page}");
    assert!(page.contains("| tidy/c0 |") && page.len() < 60_000, "{page}");
}

#[test]
fn what_fails_for_free_is_not_paid_for() {
    let stub = recorded(3);
    edit(&stub, "Be brief.");
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), "id,should_trigger,prompt\nc0,maybe,Prompt 0\n")
        .expect("cases");
    let starts = stub.starts().len();
    let ran = stub.run(&["gate"]);
    assert_eq!((ran.code, stub.starts().len()), (1, starts), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("lint: evals/skills/tidy/prompts.csv:2:4: [bad-boolean]"), "{}", ran.stdout);
    assert!(ran.stdout.contains("not compared with the base\ngate: failed\n"), "{}", ran.stdout);
}

#[test]
fn a_changed_description_compares_the_positive_cases_of_the_nearest_skills_too() {
    let stub = recorded(1);
    for (name, words) in [("near", "Tidies the desk"), ("far", "Sings")] {
        let skill = format!("---\nname: {name}\ndescription: {words}.\n---\n\nDo it.\n");
        let cases = "id,should_trigger,prompt\nyes,true,Do it\nno,false,Do something else\n";
        for (path, text) in
            [(format!("skills/{name}/SKILL.md"), skill.as_str()), (format!("evals/skills/{name}/prompts.csv"), cases)]
        {
            let path = stub.root().join(path);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, text).expect("a file");
        }
    }
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "neighbors"]);
    let path = stub.root().join("skills/tidy/SKILL.md");
    let text = fs::read_to_string(&path).expect("a skill");
    let description = text.lines().find(|line| line.starts_with("description:")).expect("a description").to_owned();
    fs::write(&path, text.replace(&description, "description: Tidies the desk and the room.")).expect("a skill");
    let dry = stub.run(&["gate", "--dry-run"]);
    assert!(
        dry.stdout.contains("tidy (description changed)\nto compare: near/yes, tidy/c0\n"),
        "{}{}",
        dry.stdout,
        dry.stderr
    );
}

#[test]
fn a_base_that_git_does_not_know_is_an_error_that_names_it() {
    let stub = recorded(1);
    let ran = stub.run(&["gate", "mian"]);
    assert!(ran.code == 2 && ran.stderr.contains("unknown git commit \"mian\""), "{}", ran.stderr);
    let ran = stub.run(&["gate", "--background"]);
    assert!(ran.code == 2 && ran.stderr.contains("--background"), "{}", ran.stderr);
}

#[test]
fn a_case_that_the_changed_skill_makes_unmeasurable_is_not_measured_and_never_passed() {
    let stub = recorded(3);
    edit(&stub, "Be brief.");
    let crash = r#"if grep -q "Be brief" .agents/skills/tidy/SKILL.md; then case "$prompt" in *0*) exit 3;; esac; fi"#;
    stub.body(&format!("{crash}\n{BY_SKILL}"));
    let ran = stub.run(&["gate"]);
    assert_eq!(ran.code, 3, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("not measured on both sides: tidy/c0\ngate: not measured\n"), "{}", ran.stdout);
}

#[test]
fn a_gate_that_does_not_finish_leaves_no_page_of_an_earlier_one() {
    let stub = recorded(1);
    assert_eq!(stub.run(&["gate"]).code, 0);
    assert!(page(&stub).contains("passed"));
    assert_eq!(stub.run(&["gate", "mian"]).code, 2);
    assert!(page(&stub).contains("## skill-evals: not measured\n\nThe gate did not finish."), "{}", page(&stub));
}

#[test]
fn a_stale_recording_that_no_comparison_measures_is_not_measured_where_recordings_are_required() {
    let stub = recorded(1);
    fs::write(
        stub.root().join("evals/skills/tidy/prompts.csv"),
        "id,should_trigger,prompt,must_include\nc0,false,Another prompt,Fine\n",
    )
    .expect("cases");
    let ran = stub.run(&["gate"]);
    assert!(ran.code == 0 && ran.stdout.contains("recordings: 0 passed, 0 failed, 1 stale"), "{}", ran.stdout);
    stub.settings(&format!("require_recordings = true\n{ALLOWED}"));
    let ran = stub.run(&["gate"]);
    assert_eq!(ran.code, 3, "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains("1 stale and not compared: `skill-evals run --stale --record` measures them"),
        "{}",
        ran.stdout
    );
}

#[test]
fn trials_that_do_not_tell_are_undecided() {
    let stub = recorded(3);
    edit(&stub, "Be brief.");
    let ran = stub.run(&["gate", "--plan", "until-decided", "--max-trials", "20"]);
    assert!(ran.code == 4 && ran.stdout.ends_with("gate: undecided\n"), "{}{}", ran.stdout, ran.stderr);
}
