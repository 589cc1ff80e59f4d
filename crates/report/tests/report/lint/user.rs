//! A user who answers: what its object may say.

use skill_evals_testing::fixture::Fixture;
use skill_evals_testing::lint::{TASK, assert_only};

fn with_task(task: &str) -> Fixture {
    Fixture::new().skill("tidy").task("good", TASK).task("bad", task)
}

fn task(user: &str) -> String {
    format!(r#"{{ "prompt": "Do it by 3 March", "evalConfig": {{ "expectedSkillName": "tidy", "user": {user} }} }}"#)
}

#[test]
fn a_user_that_nobody_can_play_is_named_where_it_is_written() {
    for (user, problem) in [
        ("5", "1:86: [value-type] `evalConfig.user` is a number; expected an object"),
        ("{}", "1:86: [missing-key] the key `evalConfig.user.goal` is missing"),
        (r#"{ "goal": " " }"#, "1:96: [empty-value] `evalConfig.user.goal` is empty"),
        (r#"{ "goal": "x", "hints": 1 }"#, "1:101: [unknown-key] unknown key `hints`"),
        (
            r#"{ "goal": "x", "maxTurns": 51 }"#,
            "1:113: [value-type] `evalConfig.user.maxTurns` is a number; expected a number from 1 to 50",
        ),
        (
            r#"{ "goal": "x", "facts": { "a": true } }"#,
            "1:117: [value-type] `evalConfig.user.facts.a` is a boolean; expected a string or a number",
        ),
        (
            r#"{ "goal": "x", "facts": { "a": "…" } }"#,
            "1:117: [empty-value] `evalConfig.user.facts.a` has no letter and no digit",
        ),
    ] {
        assert_only(&with_task(&task(user)), &format!("evals/tasks/bad.json:{problem}"), &["bad"]);
    }
}

#[test]
fn a_fact_that_nobody_needs_to_ask_for_is_an_error() {
    let given = |goal: &str| format!(r#"{{ "goal": "{goal}", "facts": {{ "date": "3 march", "who": "Ada" }} }}"#);
    let problem = "[bad-user] the value of the fact `date` is in the prompt: nobody needs to ask for it";
    assert!(with_task(&task(&given("x"))).lines().contains(problem));
    let problem = "[bad-user] the value of the fact `who` is in `goal`: nobody needs to ask for it";
    assert!(with_task(&task(&given("A note for Ada."))).lines().contains(problem));
}
