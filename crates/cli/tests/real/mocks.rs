//! Commands that are answered from files, under real agents, in their own sandboxes and in ours.

use skill_evals_evidence::trial::mock::MockCall;
use skill_evals_evidence::trial::outcome::{Status, Verdict};

use crate::support::fixture::Fixture;
use crate::support::live::{GREETING, Live, request_text};
use crate::support::real::bwrap_works;
use crate::support::stand_in::{Request, Turn};
use crate::tests;

pub fn trials() -> Vec<libtest_mimic::Trial> {
    crate::support::real::all_needing_both_agents(tests![a_mocked_command_is_called_by_models_and_known_to_checks])
}

const SETTINGS: &str = "[[mocks.command.gh]]\nargs = '^pr view \\d+$'\nstdout_file = \"evals/mocks/pr.txt\"\n";

/// A case of the skill `greeting`, with these keys.
fn fixture(sandbox: &str) -> Fixture {
    let task = format!(
        r#"{{"prompt": "What is pull request 12 about?",
            "evalConfig": {{"skill": "greeting", "sandbox": "{sandbox}", "timeoutS": 60,
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
        let call = |input: &str, answered| MockCall { name: "gh".to_owned(), input: input.to_owned(), answered };
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
