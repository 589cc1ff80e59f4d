//! Event streams and session files of real agents, decoded: a snapshot of each scenario in `tests/fixtures/traces`.

use std::fmt::Debug;
use std::fs;

use skill_evals_agents::agent;
use skill_evals_evidence::settings::mode::AgentKind;
use skill_evals_evidence::trace::Trace;
use skill_evals_evidence::trace::exposure::Reference;
use skill_evals_testing::repository;

/// At most so many characters of a step are shown.
const SHOWN: usize = 160;

/// What a trace says, without what it has not.
fn shown(trace: &Trace) -> String {
    assert_eq!(trace.moments.len(), trace.steps.len());
    let mut lines = Vec::new();
    let mut fact = |name: &str, value: &dyn Debug| {
        let value = format!("{value:?}");
        if !["None", "[]", "{}", "0", "false"].contains(&value.as_str()) {
            lines.push(format!("{name}: {value}"));
        }
    };
    fact("version", &trace.agent_version);
    fact("progress", &trace.progress);
    fact("waiting", &trace.waiting);
    fact("trouble", &trace.trouble);
    fact("stopped", &trace.stopped);
    fact("gap", &trace.gap());
    fact("unknown events", &trace.unknown_events);
    fact("damaged lines", &trace.damaged_lines);
    if let Some(offered) = &trace.offered {
        fact("offered", &offered.native);
        fact("of plugins", &offered.by_plugin);
        fact("MCP servers", &offered.mcp.as_ref().map(|mcp| &mcp.servers));
        fact("MCP tools", &offered.mcp.as_ref().map(|mcp| &mcp.tools));
    }
    fact("loads by", &trace.loads_by);
    fact("activations", &trace.activations.iter().map(|found| (&found.skill, found.how)).collect::<Vec<_>>());
    fact("failed loads", &trace.failed_loads.iter().map(|found| (&found.skill, found.how)).collect::<Vec<_>>());
    fact("resources", &trace.resources.iter().map(|found| (&found.skill, &found.path)).collect::<Vec<_>>());
    fact("inspections", &trace.inspections);
    fact("denials", &trace.denials);
    fact("commands", &trace.commands);
    fact("effective commands", &trace.effective_commands);
    fact("final message", &trace.final_message);
    if let Some(usage) = &trace.usage {
        fact("tokens read", &usage.input_tokens);
        fact("of them cached", &usage.cached_input_tokens);
        fact("tokens written", &usage.output_tokens);
    }
    fact("tokens of the first request", &trace.first_input_tokens);
    fact("turns", &trace.turns);
    fact("milliseconds", &trace.agent_duration_ms);
    fact("of them for the model", &trace.api_duration_ms);
    for (step, moment) in trace.steps.iter().zip(&trace.moments) {
        let ended = moment.ended.as_ref().map_or_else(String::new, |ended| format!(" at {ended}"));
        let step: String = format!("{step:?}").chars().take(SHOWN).collect();
        lines.push(format!("{}{step}{ended}", "  ".repeat(1 + moment.depth as usize)));
    }
    lines.join("\n")
}

/// Holds the snapshot of each scenario of an agent.
fn hold(kind: AgentKind, agent: &str) {
    let entries = fs::read_dir(repository().join("tests/fixtures/traces").join(agent)).expect("scenarios");
    let mut scenarios: Vec<_> = entries.map(|entry| entry.expect("a scenario").path()).collect();
    scenarios.sort();
    assert!(scenarios.len() > 10, "{scenarios:?}");
    for scenario in scenarios {
        let trace = agent::of(kind).decode(&Reference::default(), &scenario).expect("the files can be read");
        let name = format!("{agent}-{}", scenario.file_name().expect("a name").to_string_lossy());
        insta::assert_snapshot!(name, shown(&trace));
    }
}

#[test]
fn each_scenario_of_claude_is_decoded_as_reviewed() {
    hold(AgentKind::ClaudeCli, "claude");
}

#[test]
fn each_scenario_of_codex_is_decoded_as_reviewed() {
    hold(AgentKind::Codex, "codex");
}
