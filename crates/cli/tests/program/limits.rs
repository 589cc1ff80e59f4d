//! What a run may cost, when its agent does not report what it used, and when shards share a limit.

use std::fs;

use crate::compare::repository;
use crate::support::stub::Stub;

/// The agent calls its model `m1`, whatever was requested.
const REPORTS_M1: &str =
    r#"printf '%s\n' '{"type":"turn_context","payload":{"model":"m1"}}' >> "$CODEX_HOME/sessions/rollout-1.jsonl""#;

/// The agent answers and does not say how many tokens it used.
const REPORTS_NOTHING: &str = r#"printf '%s\n' '{"type":"thread.started","thread_id":"1"}' '{"type":"turn.started"}' '{"type":"item.completed","item":{"id":"0","type":"agent_message","text":"Done."}}' '{"type":"turn.completed"}'
exit 0"#;

/// 15 tokens cost 75 cents.
const PRICE: &str = "{ input = 50000.0, output = 50000.0 }";

const LIMIT: &[&str] = &["--jobs", "1", "--max-cost-usd", "1"];

#[test]
fn the_price_of_the_requested_model_counts_if_the_agent_reports_another_name() {
    let stub = Stub::new(6, REPORTS_M1);
    stub.settings(&format!("prices = {{ m0 = {PRICE}, m2 = {PRICE} }}"));
    let ran = stub.run(&[&["run", "--model", "m0"], LIMIT].concat());
    assert_eq!((ran.code, stub.starts().len()), (3, 2), "{}{}", ran.stdout, ran.stderr);
    ran.prints("the run has cost its limit of $1").prints("30 tokens; $1.50");
    let ran = stub.run(&[&["compare", "--models", "m0,m2"], LIMIT].concat());
    assert_eq!(stub.starts().len(), 4, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_run_with_a_limit_stops_if_its_agent_reports_no_usage() {
    for body in [REPORTS_NOTHING, "exit 7"] {
        let stub = Stub::new(8, body);
        let ran = stub.run(&["run", "--run-id", "r", "--max-tokens", "1000"]);
        assert_eq!((ran.code, stub.starts().len()), (3, 3), "{}{}", ran.stdout, ran.stderr);
        let why =
            "the limit cannot be enforced: none of 3 attempts reported its usage; to run without a limit, leave out";
        ran.prints(why);
        let ran = stub.run(&["run", "--resume", "--run-id", "r"]);
        assert_eq!(stub.starts().len(), if body == "exit 7" { 11 } else { 8 }, "{}", ran.stdout);
    }
}

#[test]
fn a_limit_that_nobody_set_ends_no_comparison_whose_agent_reports_no_usage() {
    let stub = repository(2, REPORTS_NOTHING);
    let ran = stub.run(&["compare", "HEAD", "--max-trials", "12"]);
    assert!(!ran.stdout.contains("the limit"), "{}{}", ran.stdout, ran.stderr);
    assert!(stub.starts().len() > 3, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn an_attempt_without_usage_counts_as_much_as_the_others() {
    let stub = Stub::new(8, r#"case "$prompt" in *[1357]) exit 7;; esac"#);
    let ran = stub.run(&["run", "--jobs", "1", "--max-tokens", "60"]);
    assert_eq!((ran.code, stub.starts().len()), (3, 4), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_refused_attempt_without_usage_costs_nothing() {
    let refused_often = r#"for n in 1 2 3 4; do if [ ! -e "$folder/refused$n" ]; then touch "$folder/refused$n"
printf '%s\n' '{"type":"thread.started","thread_id":"1"}' '{"type":"turn.started"}' '{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}'
exit 1; fi; done"#;
    let stub = Stub::new(2, refused_often);
    stub.settings("retries = 4");
    let ran = stub.run(&["run", "--jobs", "1", "--max-tokens", "31"]);
    assert_eq!((ran.code, stub.starts().len()), (0, 6), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_price_that_is_set_later_counts_for_earlier_attempts_of_the_run() {
    let stub = Stub::new(4, "");
    stub.run("run --run-id r --jobs 1 --max-tokens 15").exits(3);
    stub.settings(&format!("prices = {{ codex = {PRICE} }}"));
    let ran = stub.run(&[&["run", "--run-id", "r", "--resume"], LIMIT].concat());
    assert_eq!((ran.code, stub.starts().len()), (3, 2), "{}{}", ran.stdout, ran.stderr);
    ran.prints("30 tokens; $1.50");
}

#[test]
fn tokens_without_a_price_stop_a_run_with_a_limit_in_dollars() {
    let stub = Stub::new(4, REPORTS_M1);
    stub.settings(&format!("prices = {{ m0 = {PRICE}, j0 = {PRICE} }}\njudge = {{ model = \"j0\" }}"));
    let table = "id,should_trigger,prompt,judge\na,false,Hi,true\nb,false,Ho,true\n";
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), table).expect("cases");
    let why = "the limit in dollars cannot be enforced: 1 attempt used a model without a price";
    stub.run("run --model m0 --jobs 1 --max-cost-usd 100").exits(3).prints(why);
}

#[test]
fn a_shard_names_its_share_of_a_limit_and_refuses_a_share_of_nothing() {
    let stub = Stub::new(8, "");
    let ran = stub.run(&["run", "--run-id", "r", "--shard", "1/4", "--max-tokens", "1"]);
    assert_eq!((ran.code, stub.starts().len()), (2, 0), "{}{}", ran.stdout, ran.stderr);
    ran.warns("shard 1/4 would have a limit of 0; raise --max-tokens");
    let ran = stub.run("run --run-id r --shard 1/4 --max-tokens 800");
    ran.exits(0).warns("00 tokens; each shard may exceed its share by one trial");
}
