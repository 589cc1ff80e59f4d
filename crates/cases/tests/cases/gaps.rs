//! What the evidence of a trial leaves open is unknown for every check that needs it.

use serde_json::json;
use skill_evals_cases::checks::{self, CaseCheck};
use skill_evals_evidence::trace::{OpenCall, OpenCalls, TraceBuilder};
use skill_evals_evidence::trial::input_file::{MockCall, MockCalls};
use skill_evals_evidence::trial::outcome::Status;

use crate::grade::{Trial, tell, trial};
use skill_evals_testing::made::listed;

const PASS: Status = Status::Pass;
const FAIL: Status = Status::Fail;
const UNKNOWN: Status = Status::Unknown;

fn status(check: CaseCheck, change: impl FnOnce(&mut Trial)) -> Status {
    let id = check.kind.id;
    trial(vec![check]).with(change).status(id)
}

fn call(id: &str, tool: &str) -> OpenCall {
    let (by, input) = (String::new(), String::new());
    OpenCall { by, id: id.to_owned(), tool: tool.to_owned(), input, waits_for_agents: false, more: () }
}

#[test]
fn a_call_without_a_result_is_a_gap_of_an_agent_that_is_done_and_an_answer_without_a_call_of_any() {
    let gap = |ends: bool, said: fn(&mut OpenCalls, &mut TraceBuilder)| {
        let (mut calls, mut trace) = (OpenCalls::default(), TraceBuilder::default());
        said(&mut calls, &mut trace);
        if ends {
            trace.message_answered();
        }
        while calls.take_unanswered(&mut trace).is_some() {}
        trace.finish().gap()
    };
    let unanswered = gap(true, |calls, trace| calls.made(trace, call("a", "Read")));
    assert!(unanswered.is_some_and(|gap| gap.contains("what a call of `Read` returned")));
    assert_eq!(gap(false, |calls, trace| calls.made(trace, call("a", "Read"))), None, "it was ended in the middle");
    let without_call = gap(true, |calls, trace| _ = calls.answered(trace, "", "a"));
    assert!(without_call.is_some_and(|gap| gap.contains("only the answer")));
    let two_with_one_id = gap(true, |calls, trace| {
        calls.made(trace, call("a", "Read"));
        calls.made(trace, call("a", "Bash"));
        calls.answered(trace, "", "a");
    });
    assert!(two_with_one_id.is_some_and(|gap| gap.contains("another one has its id")));
    let twice = gap(true, |calls, trace| {
        calls.made(trace, call("a", "Read"));
        calls.made(trace, call("a", "Read"));
        calls.answered(trace, "", "a");
        calls.answered(trace, "", "a");
    });
    assert_eq!(twice, None, "a line that comes twice says nothing new");
}

#[test]
fn a_model_that_was_asked_again_without_a_call_or_a_message_made_a_call_that_was_not_read() {
    let gap = |said: fn(&mut TraceBuilder)| {
        let mut trace = TraceBuilder::default();
        trace.model_answered();
        said(&mut trace);
        trace.model_answered();
        trace.finish().gap()
    };
    assert!(gap(|_| ()).is_some_and(|gap| gap.contains("why the model was asked 2 times")));
    assert_eq!(gap(TraceBuilder::model_called), None);
    assert_eq!(gap(TraceBuilder::followed_up), None);
    assert_eq!(gap(TraceBuilder::may_ask), None, "retries, compaction, hooks");
}

#[test]
fn nothing_shows_what_an_agent_of_a_version_that_nobody_measured_did_not_do() {
    let unmeasured = |trial: &mut Trial| trial.meta.unmeasured = Some("nobody knows".to_owned());
    assert_eq!(status(checks::triggers(true), unmeasured), PASS, "what it shows happened");
    for should in [true, false] {
        let unused = |trial: &mut Trial| {
            unmeasured(trial);
            trial.trace.activations.clear();
        };
        assert_eq!(status(checks::triggers(should), unused), UNKNOWN);
    }
}

#[test]
fn an_answer_that_was_not_read_is_another_thing_than_none() {
    let silent = |trial: &mut Trial| trial.final_text = None;
    assert_eq!(status(checks::final_message(), silent), FAIL);
    let unread = |trial: &mut Trial| {
        silent(trial);
        trial.trace.answer_unread = true;
    };
    assert_eq!(status(checks::final_message(), unread), UNKNOWN);
    let differs = |trial: &mut Trial| trial.trace.final_message = Some("Another one.".to_owned());
    assert_eq!(status(checks::final_message(), differs), UNKNOWN, "two sources of one answer");
    let doubted = trial(vec![checks::final_message(), checks::triggers(true)])
        .with(silent)
        .with_fact("doubts", json!({ "answer": "the calibration of this agent found that it cannot be seen" }));
    let statuses = ["final-message", "text", "triggered"].map(|id| doubted.status(id));
    assert_eq!(statuses, [UNKNOWN, UNKNOWN, PASS]);
}

#[test]
fn a_mock_that_a_command_names_and_the_record_lacks_is_unknown() {
    let forbidden = r#"{"mock": "git", "matches": "^push", "not": true}"#;
    let after = |commands: &'static [&'static str], recorded: &'static [&'static str]| {
        status(listed(forbidden), move |trial| {
            let called = |input: &&str| MockCall {
                name: "git".to_owned(),
                input: (*input).to_owned(),
                answered: true,
                ..MockCall::default()
            };
            trial.meta.mocks = Some(MockCalls { calls: recorded.iter().map(called).collect(), lost: 0 });
            for command in commands {
                tell(&mut trial.trace, |told| told.command((*command).to_owned(), Some(0), String::new()));
            }
        })
    };
    for command in [
        "/usr/local/bin/git push --force",
        "env -i git push",
        "PATH=/usr/bin:/bin git push",
        "sudo git push",
        "sh -c 'git push'",
        "x=git; $x push",
    ] {
        let commands: &'static [&'static str] = Box::leak(Box::new([command]));
        assert_eq!(after(commands, &[]), UNKNOWN, "{command}");
    }
    assert_eq!(after(&["git status"], &["status"]), PASS, "the record has the call");
    assert_eq!(after(&["git status && /usr/bin/git push"], &["status"]), UNKNOWN);
    assert_eq!(after(&["git log | head -3", "ls .git", "cat git-notes.md"], &["log"]), PASS, "nothing else names it");
    assert_eq!(after(&[], &["push"]), FAIL);
}

#[test]
fn a_check_counts_calls_without_an_answer_and_looks_at_what_calls_read() {
    let with = |check: &str| {
        status(listed(check), |trial| {
            let call = |answered, stdin: Option<&str>| MockCall {
                name: "gh".to_owned(),
                input: "apply -f -".to_owned(),
                answered,
                stdin: stdin.map(str::to_owned),
                ..MockCall::default()
            };
            trial.meta.mocks =
                Some(MockCalls { calls: vec![call(true, Some("kind: Pod")), call(false, None)], lost: 0 });
        })
    };
    for (check, expected) in [
        (r#"{"mock": "*", "unanswered": true, "not": true}"#, FAIL),
        (r#"{"mock": "jq", "unanswered": true, "not": true}"#, PASS),
        (r#"{"mock": "gh", "unanswered": true, "atLeast": 1, "atMost": 1}"#, PASS),
        (r#"{"mock": "gh", "stdin": true, "contains": "kind: Pod", "atMost": 1}"#, PASS),
        (r#"{"mock": "gh", "contains": "kind: Pod"}"#, FAIL),
    ] {
        assert_eq!(with(check), expected, "{check}");
    }
}
