//! The real `codex` as the rubric judge, against a stand-in model.

use std::fs;

use crate::support::fake_codex::{BAD, GOOD};
use crate::support::live::{Live, OPEN_GREETING, Trial, request_text};
use crate::support::stand_in::{Request, Turn};
use crate::tests;
use skill_evals_cases::grade::rubric::Judgment;
use skill_evals_evidence::trace::trouble::TroubleKind;
use skill_evals_evidence::trial::outcome::{Status, Verdict};

pub fn trials() -> Vec<libtest_mimic::Trial> {
    crate::support::real::all_needing_agent(
        "codex",
        tests![
            codex_reads_the_evidence_and_its_answer_counts,
            a_schema_that_the_judge_was_given_is_asked_of_the_model,
            a_rate_limit_while_judging_is_no_failure,
            the_judge_cannot_write,
        ],
    )
}

/// Whether it is the judge that asks.
fn judges(request: &Request) -> bool {
    request.prompt.contains("<data-")
}

/// The case is judged; `judge` plays the judge's model.
fn judged(judge: impl Fn(&Request) -> Turn + Send + Sync + 'static) -> (Live, Trial) {
    let live = Live::new("should_trigger,prompt,judge", "true,Greet Ada.,true", move |request| match request.step {
        _ if judges(request) => judge(request),
        0 => Turn::Shell(OPEN_GREETING.to_owned()),
        1 => Turn::Shell("echo 'Ahoy, Ada!' > greeting.txt".to_owned()),
        _ => Turn::Say("Ahoy, Ada! AHOY_MARKER".to_owned()),
    });
    let trial = live.trial("codex");
    (live, trial)
}

fn judgment(trial: &Trial) -> Judgment {
    serde_json::from_str(&trial.text("judge.json")).expect("a judgment")
}

fn codex_reads_the_evidence_and_its_answer_counts() {
    let (live, trial) = judged(|request| match request.step {
        0 => {
            Turn::Shell("ls; cat final.txt meta.json workspace/greeting.txt trace.jsonl; head -n 3 skill.md".to_owned())
        }
        _ => Turn::Say(GOOD.to_owned()),
    });
    trial.expect(Verdict::Pass);
    assert_eq!(trial.status("rubric-overall"), Status::Pass);
    let read =
        live.model.requests().into_iter().filter(judges).find_map(|request| request.tool_results.last().cloned());
    let read = read.expect("the judge ran its command");
    for words in ["final.txt", "AHOY_MARKER", "\"skill\": {", "Ahoy, Ada!", "thread.started", "name: greeting"] {
        assert!(read.contains(words), "{words} in {read}");
    }
    let judgment = judgment(&trial);
    assert_eq!(judgment.agent.version.as_deref().map(|version| version.split('.').count()), Some(3));
    assert_eq!(judgment.scripted.as_deref(), Some("stand-in model"));
    assert!(judgment.usage.is_some_and(|usage| usage.output_tokens > 0));
    assert!(trial.text("judge/1-1/trace.jsonl").contains("thread.started"), "what the judge did is kept");
}

fn a_schema_that_the_judge_was_given_is_asked_of_the_model() {
    let (live, trial) = judged(|_| Turn::Say(BAD.to_owned()));
    trial.expect(Verdict::Fail);
    let asked: Vec<Request> = live.model.requests().into_iter().filter(judges).collect();
    assert!(asked.iter().all(|request| request_text(request).contains("Whether the trial is good enough as a whole")));
    assert_eq!(asked.len(), 1);
    assert!(!asked[0].system.contains("greeting:"), "the judge is offered no skill of the repository");
}

fn a_rate_limit_while_judging_is_no_failure() {
    let (_live, trial) = judged(|_| Turn::Status(429));
    trial.expect(Verdict::Unscored);
    assert_eq!(trial.grade.trouble.as_ref().map(|trouble| trouble.kind), Some(TroubleKind::RateLimit));
}

fn the_judge_cannot_write() {
    let (live, trial) = judged(|request| match request.step {
        0 => Turn::Shell("echo changed > final.txt".to_owned()),
        1 => Turn::Shell("cat final.txt".to_owned()),
        _ => Turn::Say(GOOD.to_owned()),
    });
    trial.expect(Verdict::Pass);
    let results =
        live.model.requests().into_iter().filter(judges).map(|request| request.tool_results).max_by_key(Vec::len);
    assert!(results.expect("results")[1].contains("AHOY_MARKER"));
    assert_eq!(fs::read_to_string(trial.folder.join("final.txt")).expect("a text"), "Ahoy, Ada! AHOY_MARKER");
}
