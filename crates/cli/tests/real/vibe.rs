//! What only Vibe does, or says in its own words: code that calls tools, sub-agents, journals that it cuts, keys in a file.

use std::fs;

use serde_json::json;
use skill_evals_evidence::trace::Mechanism;
use skill_evals_evidence::trial::outcome::{Status, Verdict};

use crate::support::live::{Live, request_text};
use crate::support::stand_in::{Turn, says};
use crate::tests;

const MODE: &str = "vibe";

pub fn trials() -> Vec<libtest_mimic::Trial> {
    crate::support::real::all_needing_agent(
        "vibe",
        tests![
            the_prompt_arrives_as_it_is,
            what_only_code_reads_is_no_activation,
            what_code_passes_on_is_one,
            what_a_sub_agent_does_counts_and_no_request_is_lost,
            a_key_in_the_user_s_file_is_used_and_not_kept,
            a_trial_that_may_only_read_cannot_edit,
        ],
    )
}

fn code(code: &str) -> Turn {
    Turn::Call { tool: "run_typescript".to_owned(), input: json!({ "code": code }) }
}

fn the_prompt_arrives_as_it_is() {
    let long = "x".repeat(120_000);
    for prompt in ["--help: no  \"two\" @words & <b> $HOME", &long] {
        let cell = prompt.replace('"', "\"\"");
        let live = Live::new("should_trigger,prompt", &format!("false,\"{cell}\""), says);
        live.trial(MODE).expect(Verdict::Pass);
        assert_eq!(live.model.requests()[0].prompt, prompt);
    }
}

const READS: &str = r#"const read = await tools.file_system.bash({ command: "cat .vibe/skills/greeting/SKILL.md" });"#;

fn what_only_code_reads_is_no_activation() {
    let live = Live::new("should_trigger,prompt", "true,Greet Ada.", |request| match request.step {
        0 => code(&format!("{READS}\nreturn read.returncode;")),
        _ => says(request),
    });
    let trial = live.trial(MODE);
    assert_eq!(trial.expect(Verdict::Fail).status("triggered"), Status::Fail);
    assert_eq!(trial.grade.metrics.commands, 1, "the command counts");
    assert!(!live.model.requests()[1].tool_results.concat().contains("AHOY_MARKER"));
}

fn what_code_passes_on_is_one() {
    let live = Live::new("should_trigger,prompt", "true,Greet Ada.", |request| match request.step {
        0 => code(&format!("{READS}\nreturn read;")),
        _ => says(request),
    });
    let trial = live.trial(MODE);
    trial.expect(Verdict::Pass);
    let seen: Vec<_> = trial.grade.metrics.activations.iter().map(|found| found.how).collect();
    assert_eq!(seen, [Mechanism::ReadSkillFile]);
}

fn what_a_sub_agent_does_counts_and_no_request_is_lost() {
    let live = Live::new("should_trigger,prompt", "true,Delegate it.", |request| {
        match (request.prompt.contains("Load it."), request.step) {
            (true, 0) => Turn::Call { tool: "skill".to_owned(), input: json!({ "name": "greeting" }) },
            (true, _) => Turn::Say("Loaded.".to_owned()),
            (false, 0) => code(
                r#"const child = await tools.agents.spawn({ name: "child", message: "Load it." });
                return await tools.agents.wait({});"#,
            ),
            (false, 1..9) => Turn::Shell(format!("echo {}", request.step)),
            _ => says(request),
        }
    });
    let trial = live.trial(MODE);
    trial.expect(Verdict::Pass);
    assert!(trial.grade.metrics.usage.is_some(), "all answers have tokens");
    let answers = trial.text("trace.jsonl").matches(r#""kind":"answer""#).count();
    assert_eq!(answers, live.model.requests().len());
    assert_eq!(trial.text("final.txt"), "Ahoy, Ada!");
}

fn a_key_in_the_user_s_file_is_used_and_not_kept() {
    let live = Live::new("should_trigger,prompt", "false,Look.", |request| match request.step {
        0 => Turn::Shell("env".to_owned()),
        _ => says(request),
    });
    let secret = "key-in-the-file-of-the-user";
    fs::write(live.user_home().join(".vibe/.env"), format!("VIBE_ENDPOINT_KEY='{secret}'\n")).expect("a file");
    let ran = live.command(&["--mode", MODE]).env_remove("VIBE_ENDPOINT_KEY").output().expect("it starts");
    let trial = live.kept("greeting", "it", MODE).unwrap_or_else(|| panic!("{ran:?}"));
    trial.expect(Verdict::Pass);
    let asked: String = live.model.requests().iter().map(request_text).collect();
    assert!(!asked.contains("sitecustomize") && !asked.contains("PYTHONPATH="), "the model's commands are not Vibe");
    assert!(!trial.everything().contains(secret));
}

fn a_trial_that_may_only_read_cannot_edit() {
    let live = Live::new("should_trigger,prompt,sandbox", "false,Look.,read-only", |request| match request.step {
        0 => Turn::Call { tool: "write_file".to_owned(), input: json!({ "path": "new.txt", "content": "new" }) },
        1 => code(r#"return await tools.file_system.write_file({ path: "new.txt", content: "new" });"#),
        _ => says(request),
    });
    let trial = live.trial(MODE);
    trial.expect(Verdict::Pass);
    assert!(!trial.wrote("new.txt") && !trial.grade.metrics.denials.is_empty(), "{:?}", trial.grade.metrics);
}
