//! What the decoders of all agents in the registry have in common: what an agent's files do not show stays unknown.

use skill_evals_testing::repository;
use std::fs;

use serde_json::json;
use skill_evals_agents::agent;
use skill_evals_agents::agent::WorkOwner;
use skill_evals_evidence::profile::PROFILES;
use skill_evals_evidence::settings::mode::AgentKind;
use skill_evals_evidence::trace::exposure::{Reference, SkillTexts, TextIndexBuilder};
use skill_evals_evidence::trace::{AgentProgress, Trace, WaitingFor};

/// What each agent's decoder makes of these lines in all files that it reads.
fn of_all(lines: &str) -> impl Iterator<Item = (AgentKind, Trace)> {
    AgentKind::ALL.into_iter().map(move |kind| {
        let folder = tempfile::tempdir().expect("a directory");
        for name in ["trace.jsonl", "subagents.jsonl", kind.profile().session] {
            fs::write(folder.path().join(name), lines).expect("a file");
        }
        (kind, agent::of(kind).decode(&Reference::default(), folder.path()).expect("what files hold is never an error"))
    })
}

#[test]
fn an_agent_that_left_nothing_shows_nothing() {
    for (kind, trace) in of_all("") {
        assert_eq!((trace.progress, trace.ended(), trace.gap()), (AgentProgress::Silent, false, None), "{kind:?}");
        assert_eq!((trace.offered, trace.final_message, trace.usage), (None, None, None), "{kind:?}");
        assert_eq!((trace.activations, trace.resources, trace.steps), (vec![], vec![], vec![]), "{kind:?}");
        assert_eq!((trace.commands, trace.trouble, trace.waiting), (0, None, WaitingFor::Nothing), "{kind:?}");
    }
}

#[test]
fn what_cannot_be_read_and_may_have_held_a_skill_is_a_gap() {
    for (kind, trace) in of_all("{\"type\":\n") {
        assert!(trace.gap().is_some() && trace.damaged_lines > 0, "{kind:?}: {trace:#?}");
    }
    for (kind, trace) in of_all("{\"type\":\"from_the_future\",\"skill\":\"greeting\"}\n") {
        assert!(trace.gap().is_some() && trace.unknown_events.contains_key("from_the_future"), "{kind:?}: {trace:#?}");
    }
    for (kind, trace) in of_all("{\"type\":\"from_the_future\",\"weather\":\"fine\"}\n") {
        assert_eq!(trace.unknown_events.get("from_the_future"), Some(&1), "{kind:?}: {trace:#?}");
    }
}

#[test]
fn a_line_that_no_agent_knows_says_nothing_of_what_an_agent_does() {
    for kind in AgentKind::ALL {
        let agent = agent::of(kind);
        for line in [&b"{\"type\":"[..], b"{\"type\":\"from_the_future\"}", b"7", b""] {
            assert_eq!((agent.work(line), agent.describe(line), agent.signs(line).len()), (WorkOwner::Other, None, 0));
        }
    }
}

#[test]
fn an_agents_built_in_modes_are_its_own_and_have_one_baseline() {
    for kind in AgentKind::ALL {
        let profile = kind.profile();
        assert!(profile.modes.iter().all(|(_, agent, _)| std::ptr::eq(agent.profile(), profile)), "{kind:?}");
        let baselines = profile.modes.iter().filter(|(.., delivery)| !delivery.offers_skills());
        assert_eq!(baselines.count(), 1, "{kind:?}: what its modes are compared with");
    }
}

#[test]
fn tokens_that_an_answer_of_vibe_lacks_are_not_zero() {
    let answer = |tokens: &str| {
        let folder = tempfile::tempdir().expect("a directory");
        let line = format!("{{\"type\":\"evidence\",\"kind\":\"answer\",\"result\":{{\"usage\":{tokens}}}}}\n");
        fs::write(folder.path().join("trace.jsonl"), line).expect("a file");
        agent::of(AgentKind::Vibe).decode(&Reference::default(), folder.path()).expect("a trace").usage
    };
    assert_eq!(answer(r#"{"input_tokens":5}"#), None);
    assert_eq!(answer(r#"{"output_tokens":5}"#), None);
    assert!(answer(r#"{"input_tokens":5,"output_tokens":5}"#).is_some());
}

#[test]
fn the_measured_versions_are_those_that_the_tests_install_and_that_the_pages_name() {
    let root = repository();
    let read = |path: &str| fs::read_to_string(root.join(path)).expect(path);
    let (npm, pip, page) =
        (read("tests/agents/package.json"), read("tests/agents/requirements.txt"), read("docs/modes.md"));
    for profile in PROFILES.into_iter().filter(|profile| !profile.packages.is_empty()) {
        let version = profile.measured.last().expect("a version");
        let is_pinned = profile.packages.iter().any(|package| {
            npm.contains(&format!("\"{package}\": \"{version}\"")) || pip.contains(&format!("{package}=={version}\n"))
        });
        assert!(is_pinned, "{} {version} is not installed", profile.name);
        let name = if profile.name == "codex" { "Codex" } else { profile.name };
        assert!(page.contains(&format!("| {name} {version} |")), "docs/modes.md does not name {name} {version}");
    }
}

/// What Qwen Code's trial shows that has a skill `greeting` and ran a command, of which its model was told this.
fn of_qwen(command: &str, told: &str, exit_code: i64) -> Trace {
    let call = json!({ "type": "tool_use", "id": "a", "name": "run_shell_command", "input": { "command": command } });
    let answer = json!({ "type": "tool_result", "tool_use_id": "a", "is_error": false, "content": told });
    let response = json!({ "functionResponse": { "id": "a", "response": { "output": told } } });
    let trace = [
        json!({ "type": "system", "subtype": "init", "slash_commands": ["greeting"] }),
        json!({ "type": "assistant", "message": { "content": [call] } }),
        json!({ "type": "user", "message": { "content": [answer] } }),
        json!({ "type": "result", "is_error": false }),
    ];
    let session = [
        json!({ "type": "offered", "skills": [{ "name": "greeting", "description": "d" }] }),
        json!({ "type": "tool_result", "message": { "parts": [response] },
            "toolCallResult": { "resultDisplay": { "exitCode": exit_code } } }),
    ];
    let folder = tempfile::tempdir().expect("a directory");
    let lines = |lines: &[serde_json::Value]| lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    fs::write(folder.path().join("trace.jsonl"), lines(&trace)).expect("a file");
    fs::write(folder.path().join("session.jsonl"), lines(&session)).expect("a file");
    let mut texts = TextIndexBuilder::default();
    texts.add("greeting", "SKILL.md", b"---\nname: greeting\n---\n\nGreet every guest by name and title.\n");
    texts.add("greeting", "references/formal.md", b"Never forget the dog, and never mention the weather to guests.\n");
    texts.add("greeting", "empty.md", b"\n");
    let reference = Reference { texts: SkillTexts::new(vec![texts.build()]), ..Reference::default() };
    agent::of(AgentKind::Qwen).decode(&reference, folder.path()).expect("the files can be read")
}

#[test]
fn a_file_of_a_skill_that_a_command_printed_and_the_agent_lost_is_a_gap_and_no_proof_that_it_was_not_loaded() {
    // As Qwen Code 0.24.4 wrote it on a busy machine.
    let nothing = "Command: cat\nDirectory: (root)\nOutput: (empty)\nError: (none)\nExit Code: 0\nSignal: (none)";
    for command in [
        "cat .qwen/skills/greeting/SKILL.md",
        "cat .qwen/skills/greeting/references/formal.md 2>/dev/null",
        "bash -lc 'cat -n /home/dev/project/.qwen/skills/greeting/references/formal.md'",
    ] {
        for told in [nothing, "", "\n"] {
            let trace = of_qwen(command, told, 0);
            let gap = trace.gap().unwrap_or_default();
            assert!(gap.contains("what a command printed") && gap.contains(command), "{command}: {gap}");
        }
        assert_eq!(of_qwen(command, "cat: no such file", 1).gap(), None, "{command}");
    }
    let text = "Never forget the dog, and never mention the weather to guests.";
    let read = of_qwen("cat .qwen/skills/greeting/references/formal.md", &nothing.replace("(empty)", text), 0);
    assert_eq!((read.gap(), read.resources.len()), (None, 1));
}

#[test]
fn a_command_that_may_print_nothing_by_itself_leaves_no_gap() {
    for command in [
        "cat .qwen/skills/greeting/SKILL.md > /dev/null",
        "cat .qwen/skills/greeting/SKILL.md &>/dev/null",
        "cat .qwen/skills/greeting/SKILL.md >&2",
        "bash -c 'cat .qwen/skills/greeting/SKILL.md' > /dev/null",
        "cat .qwen/skills/greeting/SKILL.md > copy.md",
        "cat .qwen/skills/greeting/SKILL.md | sh",
        "cat .qwen/skills/greeting/SKILL.md || true",
        "test -e x && cat .qwen/skills/greeting/SKILL.md; true",
        "sed -n /x/p .qwen/skills/greeting/SKILL.md",
        "head -n 0 .qwen/skills/greeting/SKILL.md",
        "cat .qwen/skills/greeting/empty.md",
        "cat .qwen/skills/greeting/unknown.md",
        "cat .qwen/skills/greeting/*.md",
        "cat notes.md",
        "true",
    ] {
        assert_eq!(of_qwen(command, "", 0).gap(), None, "{command}");
    }
}
