//! What counts as an activation: the case says it, else the skill's settings, else the mode's, else the format.

use std::fs;

use serde_json::{Value, json};
use skill_evals_evidence::settings::{ActivationRule, Settings};

use crate::support::stub::{ACTIVATES, Stub};

const CASES: &str = "id,should_trigger,prompt,activation
plain,true,Tidy up.,
tool,true,Tidy up.,tool
content,true,Tidy up.,content
never,false,Tidy up.,tool
";

const TASK: &str = r#"{"prompt":"Tidy up.","evalConfig":{"expectedSkillName":"tidy"}}"#;

/// An agent that is offered the skill by MCP, and comes upon its file elsewhere.
fn reads() -> String {
    let none =
        r#"{"type":"response_item","payload":{"type":"message","role":"developer","content":[{"text":"none"}]}}"#;
    let folder = r#"mkdir -p .agents/skills; cp -R "$folder/skills/tidy" .agents/skills/"#;
    format!(
        "printf '%s\\n' '{none}' > \"$CODEX_HOME/sessions/rollout-1.jsonl\"\n{}\n{folder}\nactivate tidy",
        activates()
    )
}

/// Without the part that changes the list of skills.
fn activates() -> &'static str {
    ACTIVATES.split_once('\n').expect("two lines").1
}

/// The cases that passed, by the recordings.
fn passed(stub: &Stub, settings: &str) -> Vec<String> {
    stub.settings("");
    let file = stub.root().join("evals/evals.toml");
    let mode = "[mode.mine]\nagent = 'codex'\ndelivery = 'mcp'\n";
    let text = format!("{}{mode}{settings}", fs::read_to_string(&file).expect("settings"));
    fs::write(file, text).expect("settings");
    let run = stub.run(&["run", "--replay", "--mode", "mine", "--json"]);
    let summary: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
    let cases = summary["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 5, "none is stale: {}{}", run.stdout, run.stderr);
    let passes = cases.iter().filter(|case| case["verdict"] == "pass");
    passes.map(|case| case["case"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn the_rule_of_an_activation_comes_from_the_case_the_skill_the_mode_and_the_format_in_this_order() {
    let stub = Stub::new(0, &reads());
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), CASES).expect("cases");
    fs::create_dir(stub.root().join("evals/tasks")).expect("a directory");
    fs::write(stub.root().join("evals/tasks/task.json"), TASK).expect("a task");
    stub.settings("[mode.mine]\nagent = 'codex'\ndelivery = 'mcp'");
    stub.run("run --run-id r --mode mine --record --accept-failing").exits(1);

    assert_eq!(passed(&stub, ""), ["content", "never", "plain"]);
    assert_eq!(passed(&stub, "activation = 'tool'"), ["content", "never"]);
    assert_eq!(passed(&stub, "activation = 'content'"), ["content", "never", "plain", "task"]);
    let both = "activation = 'tool'\n[skills.tidy]\nactivation = 'content'";
    assert_eq!(passed(&stub, both), ["content", "never", "plain", "task"]);

    let grade = stub.json("r", "work/tidy/tool/mine/1/grade.json");
    assert_eq!(grade["metrics"]["activations"][0]["how"], "read-skill-file", "{grade:#}");
    let check = |case: &str, id: &str| {
        let grade = stub.json("r", &format!("work/tidy/{case}/mine/1/grade.json"));
        let checks = grade["checks"].as_array().expect("checks").clone();
        let check = checks.into_iter().find(|check| check["id"] == id).expect("the check");
        (check["status"].clone(), check["expected"].clone(), check["found"].clone())
    };
    let read = "read SKILL.md (cat .agents/skills/tidy/SKILL.md)";
    let by_tool = json!(format!("{read}, not loaded by the MCP tool"));
    let expected = |not: &str| json!(format!("`tidy` {not}activated (MCP tool or injected)"));
    assert_eq!(check("tool", "triggered"), (json!("fail"), expected(""), by_tool.clone()));
    assert_eq!(check("task", "triggered"), (json!("fail"), expected(""), by_tool.clone()));
    assert_eq!(check("never", "not-triggered"), (json!("pass"), expected("not "), by_tool));
    assert_eq!(check("plain", "triggered"), (json!("pass"), json!("`tidy` activated"), json!(read)));
}

#[test]
fn the_mode_of_a_comparisons_arm_has_the_rule_of_the_mode_that_it_was_made_from() {
    let mut settings = Settings::default();
    let mode =
        |name: &str, rule: &str| format!("[mode.'{name}']\nagent = 'codex'\ndelivery = 'mcp'\nactivation = '{rule}'\n");
    settings.apply_file(&[mode("mine", "tool"), mode("mine.b", "content")].concat()).expect("settings");
    for (mode, rule) in [
        ("mine", Some(ActivationRule::Tool)),
        ("mine.gpt-5", Some(ActivationRule::Tool)),
        ("mine.b", Some(ActivationRule::Content)),
        ("mine.b.again", Some(ActivationRule::Content)),
        ("minehunter", None),
        ("codex", None),
    ] {
        assert_eq!(settings.activation_for("tidy", mode), rule, "{mode}");
    }
}

#[test]
fn a_wrong_rule_of_an_activation_is_told_at_its_place_with_those_that_there_are() {
    let stub = Stub::new(1, "");
    stub.settings("[skills.tidy]\nactivation = 'tools'");
    stub.run("list").exits(2).warns("evals/evals.toml:3:14").warns("`tool`").warns("`content`");
    stub.settings("");
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), CASES.replace(",content", ",text")).expect("cases");
    stub.run("lint --check-evals").prints("`activation` is \"text\"; expected tool or content");
}
