//! What only Droid does, or says in its own words: prompts that begin as options do, sub-agents, edits that are not allowed.

use serde_json::json;
use skill_evals_evidence::trial::outcome::{Status, Verdict};

use crate::support::live::Live;
use crate::support::stand_in::{Request, call, says};
use crate::tests;

const MODE: &str = "droid";

pub fn trials() -> Vec<libtest_mimic::Trial> {
    crate::support::real::all_needing_agent(
        "droid",
        tests![
            the_prompt_arrives_as_it_is,
            what_a_sub_agent_does_counts,
            a_trial_that_may_only_read_has_no_tool_to_edit,
        ],
    )
}

fn the_prompt_arrives_as_it_is() {
    let live = Live::new("should_trigger,prompt", "false,\"--help: /no  \"\"two\"\" @words $HOME\"", says);
    live.trial(MODE).expect(Verdict::Pass);
    assert_eq!(live.model.requests()[0].prompt, "--help: /no  \"two\" @words $HOME");
}

fn what_a_sub_agent_does_counts() {
    let script = |request: &Request| match (&*request.prompt, request.step) {
        ("Delegate it.", 0) => {
            call("Task", json!({ "description": "It", "prompt": "Load it.", "subagent_type": "worker" }))
        }
        (prompt, 0) if prompt.contains("Load it.") => call("Skill", json!({ "skill": "greeting" })),
        _ => says(request),
    };
    let live = Live::new("should_trigger,prompt", "true,Delegate it.", script);
    // Without a login at Factory, Droid starts sub-agents only if nothing may reach Factory.
    let output = live.command(&["--mode", MODE]).env("FACTORY_AIRGAP_ENABLED", "true").output();
    let output = output.expect("the program starts");
    let trial = live.kept("greeting", "it", MODE).unwrap_or_else(|| panic!("{output:?}"));
    trial.expect(Verdict::Pass);
    assert_eq!(trial.status("triggered"), Status::Pass);
    assert_eq!(trial.text("final.txt"), "Ahoy, Ada!");
    let usage = trial.grade.metrics.usage.expect("tokens");
    assert_eq!(usage.input_tokens / 1_000, live.model.requests().len() as u64, "all requests: {usage:?}");
}

fn a_trial_that_may_only_read_has_no_tool_to_edit() {
    let live = Live::new("should_trigger,prompt,sandbox", "false,Look.,read-only", says);
    live.trial(MODE).expect(Verdict::Pass);
    let tools = &live.model.requests()[0].tools;
    assert!(tools.iter().any(|tool| tool == "Read") && !tools.iter().any(|tool| tool == "Edit"), "{tools:?}");
}
