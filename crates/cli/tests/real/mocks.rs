//! Commands that are answered from files, under real agents, in their own sandboxes and in ours.

use skill_evals_evidence::trial::input_file::MockCall;
use skill_evals_evidence::trial::outcome::{Status, Verdict};

use crate::support::fixture::Fixture;
use crate::support::live::{GREETING, Live, request_text};
use crate::support::real::bwrap_works;
use crate::support::stand_in::{Request, Turn};
use crate::tests;
use serde_json::json;

pub fn trials() -> Vec<libtest_mimic::Trial> {
    crate::support::real::all_needing_both_agents(tests![
        a_mocked_command_is_called_by_models_and_known_to_checks,
        a_mocked_server_is_called_by_models_and_known_to_checks,
        the_servers_of_a_plugin_have_their_own_names,
    ])
}

const SETTINGS: &str = "[[mocks.command.gh]]\nargs = '^pr view \\d+$'\nstdout_file = \"evals/mocks/pr.txt\"\n";

/// A case of the skill `greeting`, with these keys.
fn fixture(sandbox: &str) -> Fixture {
    let task = format!(
        r#"{{"prompt": "What is pull request 12 about?",
            "evalConfig": {{"skill": "greeting", "sandbox": "{sandbox}", "timeoutS": 600,
              "checks": [{{"mock": "gh", "matches": "^pr view 12$", "atLeast": 1, "atMost": 1}},
                         {{"mock": "gh", "matches": "^pr merge"}},
                         {{"mock": "gh", "matches": "^repo delete", "not": true}},
                         {{"text": "final", "contains": "Fixes the boiler"}}]}}}}"#
    );
    Fixture::new()
        .skill_text("greeting", GREETING)
        .task("it", task)
        .file("evals/evals.toml", SETTINGS)
        .file("evals/mocks/pr.txt", "Fixes the boiler\n")
}

fn looks(request: &Request) -> Turn {
    match request.step {
        0 => Turn::Shell("gh pr view 12".to_owned()),
        1 => Turn::Shell("gh pr merge 12; command -v gh; env".to_owned()),
        _ => Turn::Say(format!("It says: {}", request.tool_results.join(" "))),
    }
}

fn a_mocked_command_is_called_by_models_and_known_to_checks() {
    for (mode, sandbox) in [
        ("codex", "read-only"),
        ("codex", "workspace-write"),
        ("cli-native", "workspace-write"),
        ("native", "workspace-write"),
    ] {
        let live = Live::over(fixture(sandbox), looks);
        let trial = live.trial(mode);
        let said = request_text(live.model.requests().last().expect("a request"));
        assert_eq!(trial.verdict(), Verdict::Pass, "{mode}, {sandbox}: {:#?}\n{said}", trial.grade);
        assert_eq!(
            trial.grade.checks.iter().filter(|check| check.id == "mock" && check.status == Status::Pass).count(),
            3
        );
        let call = |input: &str, answered| MockCall {
            name: "gh".to_owned(),
            input: input.to_owned(),
            answered,
            ..MockCall::default()
        };
        let calls = trial.meta.mocks.as_ref().expect("a record");
        assert_eq!(
            (calls.calls.as_slice(), calls.lost),
            (&[call("pr view 12", true), call("pr merge 12", false)][..], 0)
        );
        assert!(said.contains("not available here"), "{said}");
        assert!(trial.text("session.md").contains("gh pr merge 12"), "what had no answer is named");
        let ours = ["skill-evals", "skill_evals", "/control", "/trial"];
        assert!(!bwrap_works() || ours.iter().all(|word| !said.contains(word)), "{mode}: {said}");
    }
}

/// The tool of a mocked server, as this agent names it.
fn tool(request: &Request, name: &str) -> String {
    let is_it = |tool: &&String| tool.contains("shop") && tool.ends_with(name);
    request.tools.iter().find(is_it).unwrap_or_else(|| panic!("{name}: {:?}", request.tools)).clone()
}

fn buys(request: &Request) -> Turn {
    match request.step {
        0 => Turn::Call { tool: tool(request, "buy"), input: json!({ "what": "tea", "id": "a" }) },
        1 => Turn::Call { tool: tool(request, "fail"), input: json!({}) },
        2 if request.prompt.contains("violate") => {
            Turn::Call { tool: tool(request, "buy"), input: json!({ "what": 3 }) }
        }
        _ => Turn::Say(format!("It says: {}", request.tool_results.join(" "))),
    }
}

const BUY: &str = "---\nexpect: { what: string }\n---\nBought {{input.what}}, {{file:fixtures/{input.id}.txt}}\n";

fn a_mocked_server_is_called_by_models_and_known_to_checks() {
    for (mode, prompt) in [
        ("codex", "Buy tea."),
        ("cli-native", "Buy tea."),
        ("native", "Buy tea."),
        ("mcp", "Buy tea."),
        ("cli-native", "Do violate it."),
    ] {
        let is_violated = prompt.contains("violate");
        let task = format!(
            r#"{{"prompt": "{prompt}", "evalConfig": {{"skill": "greeting", "timeoutS": 600,
              "checks": [{{"mock": "shop/buy", "at": "/what", "equals": "tea"}}, {{"mock": "shop/*", "atMost": 3}},
                         {{"text": "final", "contains": "Bought tea, of the own case"}}]}}}}"#
        );
        let fixture = Fixture::new()
            .skill_text("greeting", GREETING)
            .task("it", task)
            .file("evals/mocks/shop/buy.md", BUY)
            .file("evals/mocks/shop/fail.md", "---\nerror: true\n---\nClosed.")
            .file("evals/mocks/shop/fixtures/a.txt", "of all")
            .file("evals/skills/greeting/mocks/shop/fixtures/a.txt", "of the own case");
        let live = Live::over(fixture, buys);
        let trial = live.trial(mode);
        let said = request_text(live.model.requests().last().expect("a request"));
        let expected = if is_violated { Verdict::Fail } else { Verdict::Pass };
        assert_eq!(trial.verdict(), expected, "{mode}: {:#?}\n{said}", trial.grade);
        let calls = &trial.meta.mocks.as_ref().expect("a record").calls;
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names[..2], ["shop/buy", "shop/fail"], "{mode}: {said}");
        assert!(said.contains("Closed."), "{mode}: {said}");
        if is_violated {
            assert_eq!(calls[2].violated.as_deref(), Some("what = 3 is not a string"));
            assert_eq!(trial.check("mock: input").found, "shop/buy: what = 3 is not a string");
        }
        let ours = ["skill-evals", "skill_evals", "/control", "/trial"];
        assert!(!bwrap_works() || ours.iter().all(|word| !said.contains(word)), "{mode}: {said}");
    }
}

/// As `claude plugin eval` names them, so that its graders see the calls.
fn the_servers_of_a_plugin_have_their_own_names() {
    let case = "---\nruns: 1\nallowed_tools: [Read]\n---\nBuy tea.\n";
    let grader = |tool: &str| format!("---\ntype: tool_used\ntool: {tool}\n---\n");
    let fixture = Fixture::new()
        .file("evals/evals.toml", "trust = [\".\"]\n")
        .file(".claude-plugin/plugin.json", r#"{"name": "house", "mcpServers": {"shop": {"command": "/bin/false"}}}"#)
        .skill_text("greeting", GREETING)
        .file("evals/buy/prompt.md", case)
        .file("evals/buy/graders/a.md", grader("mcp__plugin_house_shop__buy"))
        .file("evals/buy/graders/b.md", grader("mcp__shop2__ping"))
        .file("evals/mocks/shop/buy.md", BUY)
        .file("evals/mocks/shop/fixtures/a.txt", "of all")
        .file("evals/mocks/shop2/ping.md", "pong");
    let live = Live::over(fixture, |request| match request.step {
        0 => Turn::Call { tool: "mcp__plugin_house_shop__buy".to_owned(), input: json!({ "what": "tea", "id": "a" }) },
        1 => Turn::Call { tool: "mcp__shop2__ping".to_owned(), input: json!({}) },
        2 => Turn::Call { tool: "mcp__plugin_house_shop__sell".to_owned(), input: json!({}) },
        _ => Turn::Say(format!("It says: {}", request.tool_results.join(" "))),
    });
    let ran = live.run(&["--mode", "cli-native"]);
    let trial = live
        .kept("greeting", "buy", "cli-native")
        .unwrap_or_else(|| panic!("nothing was kept: {}{}", ran.stdout, ran.stderr));
    let said = request_text(live.model.requests().last().expect("a request"));
    assert_eq!(trial.verdict(), Verdict::Pass, "{:#?}\n{said}", trial.grade);
    assert!(said.contains("Bought tea, of all") && said.contains("pong"), "{said}");
    let calls: Vec<(String, bool)> = trial
        .meta
        .mocks
        .as_ref()
        .expect("a record")
        .calls
        .iter()
        .map(|call| (call.name.clone(), call.answered))
        .collect();
    let call = |name: &str, answered| (name.to_owned(), answered);
    assert_eq!(calls, [call("shop/buy", true), call("shop2/ping", true), call("shop/sell", false)]);
}
