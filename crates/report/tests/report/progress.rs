//! What is shown while trials run.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use skill_evals_evidence::settings::mode::AgentKind;
use skill_evals_evidence::trial::id::TrialId;
use skill_evals_evidence::trial::outcome::AttemptCost;
use skill_evals_evidence::trial::outcome::{GRADE_FORMAT, Metrics, Outcome, TrialError, Verdict};
use skill_evals_report::progress::{ProgressBoard, duration};
use skill_evals_testing::repository;

fn id(case: &str) -> TrialId {
    TrialId { skill: "tidy".to_owned(), case: case.to_owned(), mode: "codex".to_owned(), number: 1 }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[expect(clippy::unnecessary_wraps, reason = "what the board is told")]
fn ended(case: &str, verdict: Verdict) -> Result<Outcome, TrialError> {
    let grade = json!({ "format": GRADE_FORMAT, "verdict": verdict, "checks": [], "metrics": Metrics::default() });
    let grade = serde_json::from_value(grade).expect("a grade");
    Ok(Outcome {
        id: id(case),
        grade,
        folder: PathBuf::new(),
        scripted: None,
        spent: AttemptCost::default(),
        isolation: None,
        inputs: None,
        aged: false,
        kept: None,
        tags: Vec::new(),
    })
}

#[test]
fn counts_are_due_every_ten_seconds_while_trials_run() {
    let mut board = ProgressBoard::new(10, 2);
    assert_eq!(board.summary_due(seconds(60)), None, "nothing runs");
    board.started(&id("a"), seconds(0));
    assert_eq!(board.summary_due(seconds(9)), None);
    assert_eq!(board.summary_due(seconds(10)).as_deref(), Some("0 of 10 done, 1 running"));
    assert_eq!((board.summary_due(seconds(19)), board.summary_due(seconds(20)).is_some()), (None, true));
}

#[test]
fn every_running_trial_has_a_line_with_its_time_and_its_last_event() {
    let mut board = ProgressBoard::new(10, 2);
    board.started(&id("a"), seconds(0));
    board.started(&id("longer"), seconds(5));
    board.heard(&id("a"), "runs: ls");
    board.heard(&id("a"), "says: done");
    assert_eq!(
        board.lines(seconds(75)),
        [
            "  tidy/a/codex       1:15 min  says: done",
            "  tidy/longer/codex  1:10 min  starts",
            "0 of 10 done, 2 running"
        ]
    );
}

#[test]
fn the_rest_is_expected_from_what_finished_trials_took() {
    let mut board = ProgressBoard::new(10, 2);
    for case in ["a", "b"] {
        board.started(&id(case), seconds(0));
    }
    assert_eq!(board.finished(&id("a"), &ended("a", Verdict::Pass), seconds(20)), None);
    assert_eq!(board.finished(&id("b"), &ended("b", Verdict::Fail), seconds(40)), None);
    board.started(&id("c"), seconds(40));
    // 30 s each: seven wait, and 20 s of the third are left, two at a time.
    assert_eq!(board.counts(seconds(50)), "2 of 10 done, 1 not passed, 1 running, about 1:55 min left");
}

#[test]
fn a_run_that_ends_as_soon_as_it_knows_promises_no_time() {
    let mut board = ProgressBoard::new(400, 2).may_end_early();
    board.started(&id("a"), seconds(0));
    board.started(&id("b"), seconds(0));
    board.finished(&id("a"), &ended("a", Verdict::Pass), seconds(20));
    assert_eq!(board.counts(seconds(20)), "1 of at most 400 done, 1 running");
}

#[test]
fn a_trial_without_a_recording_is_no_failure() {
    let mut board = ProgressBoard::new(1, 1);
    board.started(&id("a"), seconds(0));
    board.finished(&id("a"), &Err(TrialError::NotRecorded), seconds(0));
    assert_eq!(board.counts(seconds(1)), "1 of 1 done, 0 running");
}

#[test]
fn plain_lines_come_every_half_minute_and_at_the_end_of_what_was_told() {
    let mut board = ProgressBoard::new(2, 2);
    board.started(&id("a"), seconds(0));
    board.started(&id("b"), seconds(20));
    assert_eq!(board.due(seconds(29)), [""; 0]);
    assert_eq!(board.due(seconds(30)), ["tidy/a/codex: still running after 30 s: starts"]);
    assert_eq!(board.due(seconds(31)), [""; 0], "not again at once");
    board.heard(&id("a"), "thinks");
    assert_eq!(board.finished(&id("b"), &ended("b", Verdict::Pass), seconds(40)), None, "nobody asked about it");
    assert_eq!(board.due(seconds(95)), ["tidy/a/codex: still running after 1:35 min: thinks"], "once for two turns");
    let end = board.finished(&id("a"), &ended("a", Verdict::Error), seconds(100));
    assert_eq!(end.as_deref(), Some("tidy/a/codex: error after 1:40 min"));
}

#[test]
fn many_running_trials_are_cut_short() {
    let mut board = ProgressBoard::new(99, 99);
    for number in 0..20 {
        board.started(&id(&number.to_string()), seconds(number));
    }
    let lines = board.lines(seconds(20));
    assert_eq!((lines.len(), lines[16].as_str()), (18, "  and 4 more"));
}

#[test]
fn durations_read_well() {
    assert_eq!(
        [0, 59, 60, 3599, 3600, 7380].map(|s| duration(seconds(s))),
        ["0 s", "59 s", "1:00 min", "59:59 min", "1:00 h", "2:03 h"]
    );
}

#[test]
fn codex_events_are_told_in_a_few_words() {
    let traces = repository().join("tests/fixtures/traces/codex");
    let told = |scenario: &str| -> Vec<String> {
        let text = std::fs::read_to_string(traces.join(scenario).join("trace.jsonl")).expect("a trace");
        text.lines()
            .filter_map(|line| skill_evals_agents::agent::of(AgentKind::Codex).describe(line.as_bytes()))
            .collect()
    };
    assert_eq!(
        told("triggers"),
        [
            "asked the model",
            "runs: /bin/bash -lc 'cat .agents/skills/greeting/SKILL.md'",
            "ran (0): /bin/bash -lc 'cat .agents/skills/greeting/SKILL.md'",
            "says: Ahoy, Ada!",
            "is done"
        ]
    );
    assert!(told("file-change").iter().any(|words| words.starts_with("writes ")), "{:?}", told("file-change"));
    assert_eq!(skill_evals_agents::agent::of(AgentKind::Codex).describe(b"not json"), None);
}
