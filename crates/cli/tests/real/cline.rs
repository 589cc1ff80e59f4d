//! What only Cline does, or says in its own words: prompts that look like commands, calls with several commands, a list of
//! names, sub-agents, its daemon, and what it would read in the user's home.

use std::fs;

use serde_json::json;
use skill_evals_evidence::trace::Mechanism;
use skill_evals_evidence::trial::outcome::{Status, Verdict};

use crate::support::live::{Live, processes_with, request_text};
use crate::support::real::has_bwrap;
use crate::support::stand_in::{Turn, call, says};
use crate::tests;

const MODE: &str = "cline";

pub fn trials() -> Vec<libtest_mimic::Trial> {
    crate::support::real::all_needing_agent(
        "cline",
        tests![
            prompts_arrive_without_the_white_space_around_them,
            each_command_of_a_call_counts,
            what_a_sub_agent_loads_counts,
            a_replay_has_the_tokens_and_the_list_of_the_recorded_trial,
            a_case_with_follow_ups_is_an_error,
            a_prompt_with_the_words_of_the_list_offers_nothing,
            trials_at_once_share_no_daemon_and_leave_no_process,
            the_user_s_own_skills_rules_and_servers_stay_outside,
        ],
    )
}

fn prompts_arrive_without_the_white_space_around_them() {
    let long = "x".repeat(99_000);
    for prompt in ["Hi.", "--help", "/greeting Ada @here", "two\n\n \"lines\" & <b> ü $HOME", &long] {
        let cell = prompt.replace('"', "\"\"");
        let live = Live::new("should_trigger,prompt", &format!("false,\"{cell}\""), says);
        live.trial(MODE).expect(Verdict::Pass);
        assert_eq!(live.model.requests()[0].prompt, prompt);
    }
}

fn each_command_of_a_call_counts() {
    let live =
        Live::new("should_trigger,prompt,system_prompt", "false,Look.,Speak low.", |request| match request.step {
            0 => call("run_commands", json!({ "commands": ["echo one", "echo two; exit 7"] })),
            _ => says(request),
        });
    let trial = live.trial(MODE);
    trial.expect(Verdict::Pass);
    assert_eq!(trial.grade.metrics.effective_commands, 2);
    let log = trial.text("session.md");
    assert!(log.contains("echo one") && log.contains("two") && log.contains('7'), "{log}");
    assert!(live.model.requests()[0].system.contains("Speak low."));
}

fn what_a_sub_agent_loads_counts() {
    let live = Live::new("should_trigger,prompt", "true,Greet Ada.", |request| {
        match (request.prompt.as_str(), request.step) {
            ("Greet Ada.", 0) => call("spawn_agent", json!({ "systemPrompt": "You greet.", "task": "Load it." })),
            ("Greet Ada.", _) => says(request),
            (_, 0) => call("skills", json!({ "skill": "greeting" })),
            _ => Turn::Say("Loaded.".to_owned()),
        }
    });
    let trial = live.trial(MODE);
    trial.expect(Verdict::Pass);
    let seen: Vec<_> = trial.grade.metrics.activations.iter().map(|found| found.how).collect();
    assert_eq!((seen, trial.text("final.txt").as_str()), (vec![Mechanism::SkillTool], "Ahoy, Ada!"));
    let usage = trial.grade.metrics.usage.expect("tokens");
    assert!((4_000..5_000).contains(&usage.input_tokens), "four requests: {usage:?}");
}

fn a_replay_has_the_tokens_and_the_list_of_the_recorded_trial() {
    let live = Live::new("should_trigger,prompt,max_commands", "true,Greet Ada.,3", |request| match request.step {
        0 => call("skills", json!({ "skill": "greeting" })),
        1 => call("run_commands", json!({ "commands": ["echo one", "echo two"] })),
        _ => says(request),
    });
    let ran = live.run(&["--mode", MODE, "--record"]);
    let recorded = live.kept("greeting", "it", MODE).unwrap_or_else(|| panic!("{}{}", ran.stdout, ran.stderr));
    let usage = recorded.grade.metrics.usage.expect("tokens");
    let said = live.run(&["--mode", MODE, "--replay"]).stdout;
    let tokens = format!("{} tokens", usage.input_tokens + usage.output_tokens);
    assert!(["1 passed", "name only", &tokens].iter().all(|word| said.contains(*word)), "{tokens}: {said}");
    assert_eq!(live.model.requests().len(), 3, "a replay asks no model");
}

fn a_prompt_with_the_words_of_the_list_offers_nothing() {
    let live = Live::new("should_trigger,prompt", "false,What is 2+2? Available skills: greeting.", says);
    live.trial("cline-none").expect(Verdict::Pass);
}

fn a_case_with_follow_ups_is_an_error() {
    let live = Live::new("should_trigger,prompt,follow_ups", r#"false,Look.,"[""And now?""]""#, says);
    let ran = live.run(&["--mode", MODE]);
    assert!(ran.code == 2 || ran.code == 3, "{}{}", ran.stdout, ran.stderr);
    assert!(format!("{}{}", ran.stdout, ran.stderr).contains("more than one message"), "{}{}", ran.stdout, ran.stderr);
    assert!(live.model.requests().is_empty());
}

fn trials_at_once_share_no_daemon_and_leave_no_process() {
    let live = Live::new("should_trigger,prompt", "false,Look.", |request| match request.step {
        0 => Turn::Shell("(sleep 300 >/dev/null 2>&1 &); nohup sleep 301 >/dev/null 2>&1 & echo away".to_owned()),
        _ => says(request),
    });
    for isolation in ["agent", "bwrap"] {
        if isolation == "bwrap" && !has_bwrap() {
            continue;
        }
        let mut command = live.command(&["--mode", MODE, "--trials", "2", "--jobs", "2"]);
        let output = command.env("SKILL_EVALS_ISOLATION", isolation).output().expect("the program starts");
        assert!(output.status.success(), "{isolation}: {output:?}");
    }
    let scratch = live.scratch().to_string_lossy();
    assert_eq!(processes_with(&scratch), Vec::<String>::new());
}

fn the_user_s_own_skills_rules_and_servers_stay_outside() {
    let live = Live::new("should_trigger,prompt", "false,Look.", says);
    let secret = "stand-in-key-for-cline";
    for path in [".agents/AGENTS.md", "Documents/Cline/Rules/own.md", ".cline/rules/own.md", ".clinerules/own.md"] {
        let path = live.user_home().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, "OWN_RULE").expect("a file");
    }
    for folder in [".cline/skills", ".agents/skills"] {
        let path = live.user_home().join(folder).join("own-skill");
        fs::create_dir_all(&path).expect("a directory");
        fs::write(path.join("SKILL.md"), "---\nname: own-skill\ndescription: Own.\n---\n").expect("a file");
    }
    let server = json!({ "mcpServers": { "own-server": { "command": "false" } } }).to_string();
    fs::write(live.user_home().join(".cline/data/settings/cline_mcp_settings.json"), server).expect("a file");
    let trial = live.trial(MODE);
    assert_eq!(trial.expect(Verdict::Pass).status("delivered"), Status::Pass);
    let asked: String = live.model.requests().iter().map(request_text).collect();
    assert!(!["OWN_RULE", "own-skill", "own-server"].iter().any(|own| asked.contains(own)), "{asked}");
    assert!(!trial.everything().contains(secret));
}
