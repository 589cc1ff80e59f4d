//! What the skills add, with and without them: each case has its own pairs, and only checks count that both sides can answer.

use std::collections::BTreeMap;
use std::fs;

use crate::support::stub::{ACTIVATES, REFUSED, Stub};

/// An agent that activates the skill if it has it, and then answers `Tidy`.
fn agent(before: &str) -> String {
    format!(
        r#"{ACTIVATES}
{before}
printf '%s\n' '{{"type":"thread.started","thread_id":"1"}}' '{{"type":"turn.started"}}'
answer=Untidy
if [ -e .agents/skills/tidy ]; then activate tidy; answer=Tidy; else sed -i 's|- tidy: x (file: r0/tidy/SKILL.md)||' "$CODEX_HOME/sessions/rollout-1.jsonl"; fi
printf '%s\n' '{{"type":"item.completed","item":{{"id":"9","type":"agent_message","text":"'$answer'."}}}}' '{{"type":"turn.completed","usage":{{"input_tokens":10,"output_tokens":5}}}}'
exit 0
"#
    )
}

/// A repository with a task of each name, which has these checks.
fn tasks(body: &str, tasks: &[(&str, &str)]) -> Stub {
    let stub = Stub::new(0, body);
    fs::remove_dir_all(stub.root().join("evals/skills")).expect("no table");
    for (name, checks) in tasks {
        let task = format!(
            r#"{{"prompt": "Prompt {name}", "evalConfig": {{"expectedSkillName": "tidy", "checks": [{checks}]}}}}"#
        );
        stub.write(&format!("evals/tasks/{name}.json"), &task);
    }
    stub
}

const TEXT: &str = r#"{"text": "final", "matches": "^Tidy"}"#;

#[test]
fn a_case_that_the_provider_refuses_takes_no_pair_of_another() {
    let refused = format!("case \"$prompt\" in *refused) {REFUSED};; esac");
    let stub = tasks(&agent(&refused), &[("refused", TEXT), ("healthy", TEXT), ("sound", TEXT)]);
    stub.settings("retries = 1");
    let ran = stub.run(&["run", "--lift", "--mode", "codex", "--trials", "2", "--run-id", "r", "--jobs", "1"]);
    ran.exits(3);
    let mut trials: BTreeMap<String, usize> = BTreeMap::new();
    for trial in stub.progress("r") {
        *trials.entry(trial["case"].as_str().expect("a case").to_owned()).or_default() += 1;
    }
    let each = ["healthy", "refused", "sound"].map(|case| (case.to_owned(), 4));
    assert_eq!(trials, BTreeMap::from(each), "{}{}", ran.stdout, ran.stderr);
    ran.prints("0/4 → 4/4 passed").warns("not measured on one side or both: tidy/refused");
}

#[test]
fn checks_that_cannot_hold_without_the_skill_are_left_out_on_both_sides_and_cases_with_no_other_are_named() {
    let only_skill = [
        ("tool", r#"{"tool": "Skill"}"#),
        ("never", r#"{"tool": "skill", "not": true}"#),
        ("server", r#"{"tool": "mcp__skilljack__skill"}"#),
        ("order", r#"{"sequence": ["$ cat .*SKILL\\.md"]}"#),
        ("command", r#"{"command": "cat .*SKILL\\.md"}"#),
        ("input", r#"{"tool": "*", "matches": "SKILL\\.md"}"#),
        ("activates", r#"{"activates": ["tidy"]}"#),
    ];
    let with_text = format!("{TEXT}, {{\"command\": \"cat .*SKILL\\\\.md\"}}, {{\"tool\": \"Skill\"}}");
    let mut all = only_skill.to_vec();
    all.push(("both", &with_text));
    let stub = tasks(&agent(""), &all);
    let lift = stub.run(&["run", "--lift", "--mode", "codex", "--trials", "2", "--run-id", "r", "--jobs", "2"]);
    let compared = stub.run(&["compare", "--with", "codex", "--without", "--max-trials", "12", "--run-id", "c"]);
    for (ran, passed) in [(&lift, "0/2 → 2/2 passed"), (&compared, "0/6 → 6/6 passed")] {
        ran.prints(passed).prints("checks that need the skill are left out");
        for (name, _) in only_skill {
            let words = format!("tidy/{name} is left out: all its checks need the skill");
            ran.prints(&words);
        }
    }
    // Stored trials are compared in the same way.
    for (run, mode) in [("with", "codex"), ("without", "codex-none")] {
        stub.run(&["run", "--mode", mode, "--trials", "2", "--run-id", run]);
    }
    let stored = stub.run(&["compare", "without", "with"]);
    stored.prints("0/2 → 2/2 passed");
    for (name, _) in only_skill {
        stored.prints(format!("tidy/{name} is left out: all its checks"));
    }
    let none = stub.run("run --lift --mode codex --case tool");
    none.exits(2).warns("no case can be compared; tidy/tool: all its checks");
}
