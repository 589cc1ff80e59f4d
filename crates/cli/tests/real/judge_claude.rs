//! The real `claude` as the rubric judge, against a stand-in model.

use std::fs;

use crate::support::fake_codex::{BAD, GOOD};
use crate::support::live::{Live, Trial};
use crate::support::stand_in::{Request, Turn};
use crate::tests;
use serde_json::Value;
use skill_evals_cases::grade::rubric::Judgment;
use skill_evals_evidence::trace::trouble::TroubleKind;
use skill_evals_evidence::trial::outcome::{Status, Verdict};

pub fn trials() -> Vec<libtest_mimic::Trial> {
    crate::support::real::all_needing_agent(
        "claude",
        tests![
            claude_reads_the_evidence_and_its_answer_counts,
            an_answer_that_is_no_rubric_is_asked_for_again,
            a_refused_login_while_judging_is_no_failure,
            the_doctor_finds_claude_in_order_and_asks_no_model,
        ],
    )
}

/// Whether it is the judge that asks.
fn judges(request: &Request) -> bool {
    request.prompt.contains("<data-")
}

fn answers(text: &str) -> Turn {
    Turn::Call { tool: "StructuredOutput".to_owned(), input: serde_json::from_str(text).expect("JSON") }
}

/// The case runs under claude and is judged by it; `judge` plays the judge's model.
fn judged(agent: &str, judge: impl Fn(&Request) -> Turn + Send + Sync + 'static) -> (Live, Trial) {
    let live = Live::new("should_trigger,prompt,judge", "false,Greet Ada.,true", move |request| match request.step {
        _ if judges(request) => judge(request),
        _ => Turn::Say("Hello, Ada!".to_owned()),
    });
    let settings = format!("[judge]\nagent = \"{agent}\"\n");
    fs::write(live.fixture.root().join("evals/evals.toml"), settings).expect("settings");
    let trial = live.trial("cli-native");
    (live, trial)
}

fn judgment(trial: &Trial) -> Judgment {
    serde_json::from_str(&trial.text("judge.json")).expect("a judgment")
}

fn claude_reads_the_evidence_and_its_answer_counts() {
    for agent in ["claude-cli", "claude-sdk"] {
        let (live, trial) = judged(agent, |request| match request.step {
            0 => Turn::Shell("cat final.txt meta.json skill.md".to_owned()),
            _ => answers(BAD),
        });
        trial.expect(Verdict::Fail);
        assert_eq!(trial.status("rubric-outcome"), Status::Fail);
        let asked: Vec<Request> = live.model.requests().into_iter().filter(judges).collect();
        let read = asked.iter().find_map(|request| request.tool_results.first()).expect("a command's result");
        assert!(read.contains("Hello, Ada!") && read.contains("name: greeting"), "{read}");
        assert!(asked[0].tools.iter().all(|tool| tool != "Write" && tool != "Edit"), "{:?}", asked[0].tools);
        let judgment = judgment(&trial);
        assert_eq!(judgment.agent.kind.as_str(), agent);
        assert!(judgment.usage.is_some_and(|usage| usage.cost_usd.is_some()), "{judgment:#?}");
    }
}

fn an_answer_that_is_no_rubric_is_asked_for_again() {
    // Without its answering tool claude is reminded of it by its own program; an answer without the checks is ours to refuse.
    let (_live, trial) = judged("claude-cli", |_| answers(r#"{"overall_pass":true,"score":1,"checks":[]}"#));
    trial.expect(Verdict::Unscored);
    assert_eq!(judgment(&trial).votes[0].attempts.len(), 2);
    let (_live, trial) = judged("claude-cli", |_| answers(GOOD));
    trial.expect(Verdict::Pass);
}

fn a_refused_login_while_judging_is_no_failure() {
    let (_live, trial) = judged("claude-cli", |_| Turn::Status(401));
    trial.expect(Verdict::Unscored);
    assert_eq!(
        trial.grade.trouble.as_ref().map(|trouble| trouble.kind),
        Some(TroubleKind::Login),
        "{:?}",
        trial.grade.trouble
    );
}

fn the_doctor_finds_claude_in_order_and_asks_no_model() {
    let live = Live::new("should_trigger,prompt", "false,Tell me.", |_| Turn::Say("no".to_owned()));
    let doctor = |without_key: bool| {
        let mut command = live.program();
        if without_key {
            command.env_remove("ANTHROPIC_API_KEY");
        }
        let output = command.args(["doctor", "--json"]).current_dir(live.fixture.root()).output();
        let output = output.expect("the program starts");
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    let state = |found: &Value, id: &str| {
        let all = found["findings"].as_array().expect("findings");
        all.iter().find(|one| one["id"] == id).unwrap_or_else(|| panic!("no {id} in {found}"))["state"].clone()
    };
    let found = doctor(false);
    for id in ["claude-cli", "claude-cli-login", "claude-sdk", "claude-sdk-login"] {
        assert_eq!(state(&found, id), "ok", "{id} in {found}");
    }
    // Its server, which ANTHROPIC_BASE_URL names, may ask for no login.
    assert_eq!(state(&doctor(true), "claude-cli-login"), "unknown");
    fs::create_dir_all(live.user_home().join(".claude")).expect("a directory");
    fs::write(live.user_home().join(".claude/.credentials.json"), "{\"claudeAiOauth\":{\"accessToken\":\"t\"}}")
        .expect("a login");
    assert_eq!(state(&doctor(true), "claude-cli-login"), "ok");
    assert!(live.model.requests().is_empty(), "a model was asked");
}
