//! The real agents draft cases, against a stand-in model: they answer by a schema, in an environment without skills.

use std::fs;

use crate::support::fixture::Fixture;
use crate::support::live::Live;
use crate::support::stand_in::{Request, Turn};
use crate::tests;

pub fn trials() -> Vec<libtest_mimic::Trial> {
    let of_codex = crate::support::real::all_needing_agent("codex", tests![codex_drafts_cases]);
    let of_claude = crate::support::real::all_needing_agent("claude", tests![claude_drafts_cases]);
    of_codex.into_iter().chain(of_claude).collect()
}

const DRAFTS: &str = r#"{"cases": [
    {"kind": "explicit", "id": "call", "prompt": "Use the $greeting skill for Ada."},
    {"kind": "implicit", "id": "french", "prompt": "Ada arrive demain, un mot de bienvenue ?"}
]}"#;

/// claude's tool for answers that follow a schema.
const STRUCTURED: &str = "StructuredOutput";

fn drafts(agent: &str) {
    let skill = "---\nname: greeting\ndescription: Welcomes a person to a ship.\n---\n\nSay Ahoy.\n";
    let live = Live::over(Fixture::new().skill_text("greeting", skill), |request: &Request| {
        if request.tools.iter().any(|tool| tool == STRUCTURED) && request.step == 0 {
            let input = serde_json::from_str(DRAFTS).expect("JSON");
            return Turn::Call { tool: STRUCTURED.to_owned(), input };
        }
        Turn::Say(DRAFTS.to_owned())
    });
    let mut command = live.program();
    command.args(["generate", "--agent", agent, "--yes"]).current_dir(live.fixture.root());
    let output = command.output().expect("the program starts");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}");
    let table = fs::read_to_string(live.fixture.root().join("evals/skills/greeting/prompts.csv")).expect("the cases");
    assert!(table.contains("implicit-french,true,"), "{table}");
    // The name of the agent, its version, and that no model wrote it.
    let author = table.lines().nth(1).and_then(|row| row.rsplit(',').next()).unwrap_or_default().to_owned();
    assert!(author.contains("stand-in model") && author.split_whitespace().count() >= 4, "{author}");
    let request = live.model.requests().into_iter().find(|request| request.prompt.contains("Write test prompts"));
    let request = request.expect("it was asked");
    assert!(request.prompt.contains("Welcomes a person to a ship."), "{}", request.prompt);
    assert!(!request.system.contains("greeting:"), "it is offered no skill of the repository");
    assert!(request.body.to_string().contains("near-miss"), "its answer has a schema");
}

fn codex_drafts_cases() {
    drafts("codex");
}

fn claude_drafts_cases() {
    drafts("claude");
}
