//! Agents that evals.toml describes: real programs that speak the Agent Client Protocol, and real programs whose JSON lines are
//! read by rules.

use std::fs;

use serde_json::json;
use skill_evals::trial::outcome::{Status, Verdict};

use super::conformance::named;
use crate::support::live::Live;
use crate::support::real::{HOW_TO_GET_AGENTS, copilot_packages, needing, path_with_programs, programs};
use crate::support::stand_in::{MODEL, Request, Turn};

const COLUMNS: &str = "should_trigger,prompt,timeout_s";

/// What the model answers.
const ANSWER: &str = "Ahoy, Ada! AHOY_MARKER";

/// The agents that speak the protocol: names, and programs.
const SPEAKERS: [(&str, &str); 5] = [
    ("copilot-acp", "copilot"),
    ("gemini-acp", "gemini"),
    ("opencode-acp", "opencode"),
    ("qwen-acp", "qwen"),
    ("kimi-acp", "kimi"),
];

pub fn trials() -> Vec<libtest_mimic::Trial> {
    let tests: [(&str, fn(&str)); 2] = [
        ("a_skill_that_is_used_is_seen", uses_the_skill),
        ("a_skill_that_is_not_used_is_not_seen", does_not_use_it),
    ];
    let mut trials = Vec::new();
    for (agent, program) in SPEAKERS {
        let missing = (!programs().join(program).exists()).then_some(program);
        for (name, test) in tests {
            trials.push(needing(&format!("custom_agents::{agent}::{name}"), missing, HOW_TO_GET_AGENTS, move || {
                test(agent);
                Ok(())
            }));
        }
    }
    trials
}

/// The settings of the agents that speak the protocol.
fn described(live: &Live) -> String {
    let url = live.model.url();
    let packages = copilot_packages().display().to_string();
    let ripgrep = programs().join("../@vscode/ripgrep-linux-x64/bin").canonicalize().expect("ripgrep").display().to_string();
    let path = format!("{ripgrep}:{}", path_with_programs().display());
    let provider = json!({
        "model": "stand-in/stand-in",
        "small_model": "stand-in/stand-in",
        "provider": { "stand-in": {
            "npm": "@ai-sdk/openai-compatible",
            "options": { "baseURL": format!("{url}/v1"), "apiKey": "stand-in-key-for-opencode" },
            "models": { "stand-in": { "name": "stand-in" } },
        } },
        "permission": { "*": "allow" },
    });
    format!(
        r#"
        isolation_read = ['{packages}', '{ripgrep}']
        pass_env = [
            "COPILOT_OFFLINE", "COPILOT_MODEL", "COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_WIRE_API",
            "COPILOT_PROVIDER_API_KEY", "COPILOT_PKG_CACHE_HOME", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL",
        ]
        [agents.copilot-acp]
        protocol = "acp"
        command = "copilot"
        args = ["--acp", "--allow-all"]
        shows_calls = true
        tools = {{ skills = ["Using skill"] }}
        [agents.gemini-acp]
        protocol = "acp"
        command = "gemini"
        args = ["--acp", "--model={MODEL}", "--skip-trust"]
        authenticate = "gemini-api-key"
        tools = {{ skills = ["activate_skill"] }}
        [agents.opencode-acp]
        protocol = "acp"
        command = "opencode"
        args = ["acp"]
        env = {{ PATH = "{path}", OPENCODE_DISABLE_MODELS_FETCH = "1", OPENCODE_CONFIG_CONTENT = '{provider}' }}
        shows_calls = true
        tools = {{ skills = ["skill"] }}
        [agents.qwen-acp]
        protocol = "acp"
        command = "qwen"
        args = ["--acp", "--auth-type=openai", "--approval-mode=yolo"]
        env = {{ OPENAI_API_KEY = "stand-in-key-for-qwen", OPENAI_BASE_URL = "{url}/v1", OPENAI_MODEL = "{MODEL}" }}
        skills = ".qwen/skills"
        shows_calls = true
        tools = {{ skills = ["skill"] }}
        [agents.kimi-acp]
        protocol = "acp"
        command = "kimi"
        args = ["acp"]
        shows_calls = true
        "#
    )
}

fn live(cells: &str, script: impl Fn(&Request) -> Turn + Send + Sync + 'static) -> Live {
    let live = Live::new(COLUMNS, cells, script);
    fs::write(live.fixture.root().join("evals/evals.toml"), described(&live)).expect("settings");
    live
}

fn load(request: &Request) -> Turn {
    let tool = request.tools.iter().find(|tool| ["Skill", "skill", "activate_skill"].contains(&tool.as_str()));
    match tool {
        Some(tool) => Turn::Call { input: named(request, tool, "greeting"), tool: tool.clone() },
        None => Turn::Shell("cat .agents/skills/greeting/SKILL.md".to_owned()),
    }
}

fn uses_the_skill(agent: &str) {
    let live = live("true,Greet Dr. Ada.,60", |request| match request.step {
        0 => load(request),
        _ => Turn::Say(ANSWER.to_owned()),
    });
    let trial = live.trial(agent);
    if std::env::var_os("SHOW").is_some() {
        println!("{}\n{}\n{}", trial.text("trace.jsonl"), trial.text("session.jsonl"), trial.text("stderr.txt"));
        println!("{:#?}", trial.grade);
    }
    trial.expect(Verdict::Pass);
    assert_eq!(trial.status("triggered"), Status::Pass);
    assert_eq!(trial.text("final.txt"), ANSWER);
}

fn does_not_use_it(agent: &str) {
    let live = live("false,What is 2+2?,60", |request| match request.step {
        0 => Turn::Shell("echo 4".to_owned()),
        _ => Turn::Say("4".to_owned()),
    });
    let trial = live.trial(agent);
    trial.expect(Verdict::Pass);
    assert_eq!(trial.text("final.txt"), "4");
}
