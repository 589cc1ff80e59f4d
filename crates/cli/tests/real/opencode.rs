//! What only OpenCode does, or says in its own words: prompts that call a skill, rules that deny a call, sub-agents, ripgrep.

use std::fs;

use serde_json::json;
use skill_evals_evidence::trace::Mechanism;
use skill_evals_evidence::trial::outcome::{Status, Verdict};

use crate::support::live::Live;
use crate::support::real::programs;
use crate::support::stand_in::{Turn, call, says};
use crate::tests;

const MODE: &str = "opencode";

pub fn trials() -> Vec<libtest_mimic::Trial> {
    crate::support::real::all_needing_agent(
        "opencode",
        tests![
            a_prompt_that_calls_a_skill_has_its_text_from_the_start,
            the_prompt_arrives_as_it_is,
            a_call_outside_the_workspace_is_denied_and_the_trial_continues,
            what_a_sub_agent_does_counts,
            without_ripgrep_no_trial_starts,
        ],
    )
}

fn a_prompt_that_calls_a_skill_has_its_text_from_the_start() {
    let live = Live::new("should_trigger,prompt", "true,/greeting Ada and Bob", says);
    let trial = live.trial(MODE);
    trial.expect(Verdict::Pass);
    let seen: Vec<_> = trial.grade.metrics.activations.iter().map(|found| found.how).collect();
    assert_eq!(seen, [Mechanism::Injected]);
    let requests = live.model.requests();
    assert!(requests[0].prompt.contains("AHOY_MARKER") && requests[0].prompt.ends_with("Ada and Bob"), "{requests:?}");
}

fn the_prompt_arrives_as_it_is() {
    let live = Live::new("should_trigger,prompt", "false,\"/no skill:  \"\"two\"\" words, --help 2 $HOME\"", says);
    live.trial(MODE).expect(Verdict::Pass);
    assert_eq!(live.model.requests()[0].prompt, "/no skill:  \"two\" words, --help 2 $HOME");
}

fn a_call_outside_the_workspace_is_denied_and_the_trial_continues() {
    let live = Live::new("should_trigger,prompt", "false,Look.", |request| match request.step {
        0 => call("read", json!({ "filePath": "/etc/passwd" })),
        _ => says(request),
    });
    let trial = live.trial(MODE);
    trial.expect(Verdict::Pass);
    let denials = &trial.grade.metrics.denials;
    assert!(denials.len() == 1 && denials[0].starts_with("read "), "{denials:?}");
    assert_eq!(trial.text("final.txt"), "Ahoy, Ada!");
}

fn what_a_sub_agent_does_counts() {
    let live =
        Live::new("should_trigger,prompt", "true,Delegate it.", |request| match (&*request.prompt, request.step) {
            ("Delegate it.", 0) => {
                call("task", json!({ "description": "It", "prompt": "Load it.", "subagent_type": "general" }))
            }
            ("Load it.", 0) => call("skill", json!({ "name": "greeting" })),
            ("Load it.", _) => Turn::Say("Loaded.".to_owned()),
            _ => says(request),
        });
    let trial = live.trial(MODE);
    trial.expect(Verdict::Pass);
    assert_eq!(trial.status("triggered"), Status::Pass);
    assert_eq!(trial.text("final.txt"), "Ahoy, Ada!", "not what the sub-agent said");
    let usage = trial.grade.metrics.usage.expect("tokens");
    assert!((4_000..5_000).contains(&usage.input_tokens), "four requests: {usage:?}");
}

fn without_ripgrep_no_trial_starts() {
    let live = Live::new("should_trigger,prompt", "false,Look.", says);
    fs::remove_dir_all(live.user_home().join(".cache")).expect("the directory of programs");
    let output = live.command(&["--mode", MODE]).env("PATH", programs()).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("is not on the PATH as `rg`; install it"), "{said}");
    assert!(live.model.requests().is_empty());
}
