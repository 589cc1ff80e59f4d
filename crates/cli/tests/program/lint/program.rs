//! The program around the lint: exit codes, JSON, order.

use super::{TASK, sheet, with_row};
use crate::support::fixture::{Fixture, run_in};

#[test]
fn cases_are_checked_and_skills_without_any_are_named_if_asked_for() {
    let broken = with_row("", "broken,yes,Do it").run(&["lint"]);
    assert!(broken.code == 1 && broken.stdout.contains("bad-boolean"), "{}", broken.stdout);
    let pattern = with_row(",must_include", "broken,true,Do it,(").run(&["lint"]);
    assert!(pattern.code == 1 && pattern.stdout.contains("bad-regex"), "{}", pattern.stdout);
    let fixture = Fixture::new().skill("tidy").skill("more").task("one", TASK);
    let [plain, with_all, strict] =
        [&["lint"][..], &["lint", "--check-evals"], &["lint", "--strict"]].map(|args| fixture.run(args));
    assert_eq!((plain.code, plain.stdout.as_str()), (0, "2 skills, 1 case: no problems\n"));
    assert!(with_all.code == 0 && with_all.stdout.contains("warning[no-cases]"), "{}", with_all.stdout);
    assert!(strict.code == 1 && strict.stdout.contains("error[no-cases]"), "{}", strict.stdout);
}

#[test]
fn problems_exit_with_1_and_no_repository_with_2() {
    assert_eq!(with_row("", "broken,yes,Do it").run(&["lint", "--check-evals"]).code, 1);
    let empty = Fixture::new();
    let ran = run_in(empty.root(), &["lint", "--root", "nowhere"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("no skills found in"), "{}", ran.stderr);
    assert_eq!(run_in(empty.root(), &["lint", "--chek-evals"]).code, 2, "invalid arguments");
}

#[test]
fn json_has_code_place_and_message() {
    let ran = with_row("", "broken,yes,Do it").run(&["lint", "--check-evals", "--json"]);
    assert_eq!(ran.code, 1);
    insta::assert_snapshot!(ran.stdout);
}

#[test]
fn errors_are_drawn_before_warnings_and_both_are_counted() {
    let fixture = Fixture::new()
        .skill_text("a", "---\nname: a\ndescription: Does a.\nlicence: MIT\n---\n")
        .skill_text("b", "---\nname: B\ndescription: Does b.\n---\n");
    let ran = fixture.run(&["lint"]);
    assert_eq!(ran.code, 1);
    insta::assert_snapshot!(ran.stdout);
    assert!(!ran.stdout.contains('\u{1b}'), "no color outside a terminal");
}

#[test]
fn the_lint_trial_of_a_skill_leaves_rows_to_their_own_trials() {
    let text = sheet("", "broken,yes,Do it").replace('\n', "\r");
    let fixture = Fixture::new()
        .skill("tidy")
        .prompts("tidy", text)
        .skill_text("more", "---\nname: more\ndescription: Does more.\nlicence: MIT\n---\n");
    let codes = |slug: &str| -> Vec<&str> {
        let problems = skill_evals_cases::lint::skill_trial(&fixture.catalog(), slug, &fixture.repository());
        problems.iter().map(|problem| problem.code.as_str()).collect()
    };
    assert_eq!(codes("tidy"), ["csv-line-ends"]);
    assert_eq!(codes("more"), ["no-cases", "front-matter-unknown-key"]);
    assert_eq!(codes("nobody"), [""; 0]);
}
