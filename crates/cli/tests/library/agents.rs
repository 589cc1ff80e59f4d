//! What the decoders of all agents in the registry have in common: what an agent's files do not show stays unknown.

use crate::support::repository;
use std::fs;

use skill_evals_agents::agent;
use skill_evals_agents::agent::WorkOwner;
use skill_evals_evidence::profile::PROFILES;
use skill_evals_evidence::settings::mode::AgentKind;
use skill_evals_evidence::trace::exposure::Reference;
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
    for profile in PROFILES.into_iter().filter(|profile| !profile.measured.is_empty()) {
        let version = profile.measured;
        let is_pinned = profile.packages.iter().any(|package| {
            npm.contains(&format!("\"{package}\": \"{version}\"")) || pip.contains(&format!("{package}=={version}\n"))
        });
        assert!(is_pinned, "{} {version} is not installed", profile.name);
        let name = if profile.name == "codex" { "Codex" } else { profile.name };
        assert!(page.contains(&format!("| {name} {version} |")), "docs/modes.md does not name {name} {version}");
    }
}
