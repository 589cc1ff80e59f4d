//! Lists are for programs: clean, whole whatever is broken, and right about what is ignored.

use super::fixture;
use crate::support::fixture::Fixture;
use crate::support::harness::{events, harness, listed};

const ALL: [&str; 8] = [
    "sweep_up::lint",
    "tidy::lint",
    "repository::lint",
    "sweep_up::first_one::codex",
    "sweep_up::last::codex",
    "tidy::first_one::codex",
    "tidy::bad::codex",
    "tidy::last::codex",
];

#[test]
fn a_list_holds_every_trial_and_nothing_else() {
    let ran = harness(&fixture(), &["--list", "--format", "terse"]).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(listed(&ran), ALL);
    assert_eq!(ran.stdout.lines().count(), ALL.len(), "{}", ran.stdout);
}

#[test]
fn ignored_are_those_without_a_recording_and_no_broken_ones() {
    let ran = harness(&fixture(), &["--list", "--format", "terse", "--ignored"]).run();
    assert_eq!(
        listed(&ran),
        ["sweep_up::first_one::codex", "sweep_up::last::codex", "tidy::first_one::codex", "tidy::last::codex"]
    );
    let live = harness(&fixture(), &["--list", "--ignored"]).env("SKILL_EVALS_LIVE", "1").run();
    assert_eq!(listed(&live), [""; 0], "agents need no recording");
    let sample = Fixture::copy_of_sample();
    assert_eq!(listed(&harness(&sample, &["--list", "--ignored"]).run()), [""; 0], "all is recorded");
}

#[test]
fn an_ignored_trial_says_why_and_fails_where_it_was_asked_for() {
    let name = "tidy::last::codex";
    let ran = harness(&fixture(), &["--exact", name]).run();
    ran.exits(0).prints("ignored (no recording; SKILL_EVALS_LIVE=1 runs the agent)");
    for option in ["--ignored", "--include-ignored"] {
        let ran = harness(&fixture(), &["--exact", name, option]).run();
        ran.exits(101).prints("tidy/last/codex: no recording; SKILL_EVALS_LIVE=1 runs the agent");
    }
}

#[test]
fn wrong_settings_leave_the_list_whole_and_fail_every_trial() {
    let wrong_file = || fixture().file("evals/evals.toml", "jobz = 3\n");
    let cases = [(wrong_file(), "", ""), (fixture(), "SKILL_EVALS_JOBZ", "3"), (fixture(), "SKILL_EVALS_CASE", "gone")];
    for (fixture, name, value) in cases {
        let with = |args: &[&str]| {
            if name.is_empty() { harness(&fixture, args) } else { harness(&fixture, args).env(name, value) }
        };
        let ran = with(&["--list", "--format", "terse"]).run();
        assert_eq!((ran.code, ran.stderr.as_str(), listed(&ran).len()), (0, "", ALL.len()), "{name}");
        assert_eq!(listed(&with(&["--list", "--ignored"]).run()), [""; 0], "{name}: what fails is not ignored");
        let ran = with(&["--format", "json"]).run();
        let failed = events(&ran).iter().filter(|event| event["event"] == "failed" && event["type"] == "test").count();
        assert_eq!((ran.code, failed), (101, ALL.len()), "{name}");
    }
}

#[test]
fn every_name_can_be_run_on_its_own_with_the_same_result() {
    let fixture = fixture();
    let together = harness(&fixture, &["--format", "json"]).run();
    for name in ALL {
        let alone = harness(&fixture, &["--format", "json", "--exact", name]).run();
        let result = |ran| {
            let found = events(ran).into_iter().find(|event| event["name"] == name && event["event"] != "started");
            found.unwrap_or_else(|| panic!("no result of {name}"))["event"].clone()
        };
        assert_eq!(result(&alone), result(&together), "{name}");
    }
}

#[test]
fn a_list_as_json_says_what_is_ignored_and_why() {
    let ran = harness(&fixture(), &["--list", "--format", "json"]).run();
    let events = events(&ran);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let found: Vec<_> = events.iter().filter(|event| event["event"] == "discovered").collect();
    assert_eq!(found.iter().map(|event| event["name"].as_str().expect("a name")).collect::<Vec<_>>(), ALL);
    let message = |name: &str| {
        let event = found.iter().find(|event| event["name"] == name).expect("a test");
        (event["ignore"].as_bool(), event["ignore_message"].as_str())
    };
    let why = "no recording; SKILL_EVALS_LIVE=1 runs the agent";
    assert_eq!(message("tidy::last::codex"), (Some(true), Some(why)));
    assert_eq!(message("tidy::bad::codex"), (Some(false), Some("")), "it fails");
    let last = events.last().expect("events");
    assert_eq!(
        (last["event"].as_str(), last["tests"].as_u64(), last["ignored"].as_u64()),
        (Some("completed"), Some(8), Some(4))
    );
}

#[test]
fn json_is_json_line_by_line() {
    let ran =
        harness(&Fixture::copy_of_sample(), &["--format", "json", "-Z", "unstable-options", "--show-output"]).run();
    let events = events(&ran);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "and nothing beside it");
    let last = events.last().expect("events");
    assert_eq!((last["type"].as_str(), last["event"].as_str()), (Some("suite"), Some("ok")));
    let results = events.iter().filter(|event| event["type"] == "test" && event["event"] == "ok").count();
    assert_eq!(last["passed"].as_u64(), u64::try_from(results).ok());
    assert!(results > 20);
}

#[test]
fn names_that_tools_would_take_for_one_fail_by_names_of_their_own() {
    let fixture = Fixture::new().skill("a.b").skill("a-b").skill("repository");
    let names = listed(&harness(&fixture, &["--list"]).run());
    let mut unique = names.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), names.len(), "{names:?}");
    assert!(names.contains(&"repository::lint".to_owned()) && names.contains(&"repository::skill_lint".to_owned()));
    let ran = harness(&fixture, &["--exact", "a_b::smoke_negative::codex_again"]).run();
    ran.exits(101).prints("the test name `a_b::smoke_negative::codex` is taken");
}

#[test]
fn an_empty_repository_is_no_success() {
    let fixture = Fixture::new().file("evals/README.md", "nothing yet");
    let ran = harness(&fixture, &[]).run();
    ran.exits(101).prints("no skills and no cases found");
}
