//! What only Kimi Code does, or says in its own words: skills and sub-agents that only its session files show, several calls in
//! one line, and what it would read in the user's home.

use std::fs;

use serde_json::json;
use skill_evals_evidence::trace::Mechanism;
use skill_evals_evidence::trial::outcome::{Status, Verdict};

use crate::support::live::{Live, request_text};
use crate::support::stand_in::{Turn, call, says};
use crate::tests;

const MODE: &str = "kimi";

pub fn trials() -> Vec<libtest_mimic::Trial> {
    crate::support::real::all_needing_agent(
        "kimi",
        tests![
            the_prompt_arrives_as_it_is,
            each_call_of_an_answer_counts_once,
            what_a_sub_agent_loads_counts,
            a_trial_that_may_only_read_has_no_tool_to_edit,
            the_user_s_own_servers_and_instructions_are_there_only_if_asked_for,
        ],
    )
}

fn the_prompt_arrives_as_it_is() {
    let live = Live::new("should_trigger,prompt", "false,\"--help: /no  \"\"two\"\" @words $HOME\"", says);
    live.trial(MODE).expect(Verdict::Pass);
    assert_eq!(live.model.requests()[0].prompt, "--help: /no  \"two\" @words $HOME");
}

fn each_call_of_an_answer_counts_once() {
    let live = Live::new("should_trigger,prompt,system_prompt", "true,Greet Ada.,Speak low.", |request| {
        let shell = |command: &str| Turn::Shell(command.to_owned());
        let skill = call("Skill", json!({ "skill": "greeting" }));
        match request.step {
            0 => Turn::Several(vec![shell("sleep 1; echo one"), skill, shell("echo two; exit 7")]),
            _ => says(request),
        }
    });
    let trial = live.trial(MODE);
    trial.expect(Verdict::Pass);
    assert_eq!((trial.grade.metrics.effective_commands, trial.grade.metrics.activations.len()), (2, 1));
    let log = trial.text("session.md");
    assert!(log.contains("echo one") && log.contains("two") && log.contains('7'), "{log}");
    let asked = live.model.requests();
    assert_eq!((asked.len(), asked[0].system.contains("Speak low.")), (2, true));
}

fn what_a_sub_agent_loads_counts() {
    let live = Live::new("should_trigger,prompt", "true,Greet Ada.", |request| {
        match (request.prompt.as_str(), request.step) {
            ("Greet Ada.", 0) => {
                call("Agent", json!({ "description": "It", "prompt": "Load it.", "subagent_type": "coder" }))
            }
            ("Greet Ada.", _) => says(request),
            (_, 0) => call("Skill", json!({ "skill": "greeting" })),
            _ => Turn::Say("Loaded.".to_owned()),
        }
    });
    let trial = live.trial(MODE);
    trial.expect(Verdict::Pass);
    let seen: Vec<_> = trial.grade.metrics.activations.iter().map(|found| found.how).collect();
    assert_eq!((seen, trial.text("final.txt").as_str()), (vec![Mechanism::SkillTool], "Ahoy, Ada!"));
    let usage = trial.grade.metrics.usage.expect("tokens");
    assert_eq!(usage.input_tokens / 1_000, live.model.requests().len() as u64, "all requests: {usage:?}");
}

fn a_trial_that_may_only_read_has_no_tool_to_edit() {
    let live = Live::new("should_trigger,prompt,sandbox", "false,Look.,read-only", says);
    live.trial(MODE).expect(Verdict::Pass);
    let tools = &live.model.requests()[0].tools;
    let has = |name: &str| tools.iter().any(|tool| tool == name);
    assert!(has("Read") && !has("Edit") && !has("Write"), "{tools:?}");
}

fn the_user_s_own_servers_and_instructions_are_there_only_if_asked_for() {
    let live = Live::new("should_trigger,prompt", "false,Look.", says);
    let home = live.user_home();
    fs::write(home.join(".kimi-code/AGENTS.md"), "OWN_RULE").expect("a file");
    let server = json!({ "command": "false", "env": { "TOKEN": "own-token-of-the-server" } });
    fs::write(home.join(".kimi-code/mcp.json"), json!({ "mcpServers": { "own-server": server } }).to_string())
        .expect("a file");
    let asked = || live.model.requests().iter().map(request_text).collect::<String>();
    let isolated = live.trial(MODE);
    assert_eq!(isolated.expect(Verdict::Pass).status("delivered"), Status::Pass);
    assert!(!asked().contains("OWN_RULE") && !isolated.everything().contains("own-server"));

    let ran = live.run(&["--mode", MODE, "--home", "user"]);
    let own = live.kept("greeting", "it", MODE).unwrap_or_else(|| panic!("nothing was kept: {}", ran.stderr));
    own.expect(Verdict::Pass);
    assert!(asked().contains("OWN_RULE") && own.text("session.jsonl").contains("own-server"));
    for trial in [&isolated, &own] {
        let all = trial.everything();
        assert!(!all.contains("stand-in-key-for-kimi") && !all.contains("own-token-of-the-server"));
    }
}
