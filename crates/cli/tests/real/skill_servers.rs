//! MCP servers of skills as `[mcp]` in evals.toml chooses them, under real agents: the built-in one in other words, and the
//! server skilljack itself.

use std::path::PathBuf;

use crate::script::Script;
use crate::support::catalogue::{catalogue, description};
use crate::support::fixture::Fixture;
use crate::support::live::{GREETING, Live, request_text};
use crate::support::real::{Test, all_needing, programs};
use crate::support::stand_in::{Request, Turn};
use crate::tests;
use libtest_mimic::Trial;
use serde_json::json;
use skill_evals_evidence::trial::outcome::Verdict;

pub fn trials() -> Vec<Trial> {
    let mut tests: Vec<Test> = tests![
        the_built_in_server_answers_and_asks_as_it_is_told,
        tools_can_be_left_to_be_searched_for,
        models_that_codex_has_search_for_tools_find_the_whole_catalogue,
        wrong_settings_are_named
    ]
    .to_vec();
    // Not among the pinned programs, and so never a failure where it is missing.
    if skilljack().exists() {
        tests.extend_from_slice(tests![skilljack_s_own_server_passes_all_tasks]);
    } else {
        eprintln!(
            "left out: the server skilljack; npm install --prefix target/agents @skilljack/mcp, or name it in SKILLJACK_MCP"
        );
    }
    all_needing(
        "claude",
        programs().join("claude").exists(),
        "get it with `npm install --prefix target/agents`",
        &tests,
    )
}

/// The program of @skilljack/mcp, 0.5.1 when this was written.
fn skilljack() -> PathBuf {
    std::env::var_os("SKILLJACK_MCP").map_or_else(|| programs().join("skilljack-mcp"), PathBuf::from)
}

fn greeting(settings: &str) -> Fixture {
    let prompts = "id,should_trigger,prompt\nit,true,Greet Ada.\n";
    Fixture::new().skill_text("greeting", GREETING).prompts("greeting", prompts).file("evals/evals.toml", settings)
}

fn loads(request: &Request) -> Turn {
    match request.step {
        0 => Turn::Call { tool: "mcp__skilljack__skill".to_owned(), input: json!({ "name": "greeting" }) },
        _ => Turn::Say("Ahoy, Ada! AHOY_MARKER".to_owned()),
    }
}

fn the_built_in_server_answers_and_asks_as_it_is_told() {
    // Claude's own tools speak of blocking requirements too.
    let urgent = "calling this tool IMMEDIATELY is your first action";
    for (mode, settings, raw) in [
        ("mcp", "[mcp]\nresult = \"raw\"\nwording = \"skilljack\"\nmax_file_mb = 1\n", true),
        ("codex-mcp", "[mcp]\nresult = \"raw\"\nwording = \"skilljack\"\n", true),
        ("mcp", "", false),
    ] {
        let live = Live::over(greeting(settings), loads);
        let trial = live.trial(mode);
        trial.expect(Verdict::Pass);
        let requests = live.model.requests();
        let given = requests.last().expect("a request").tool_results.join("\n");
        assert_eq!(given.contains("name: greeting"), raw, "{mode}: {given}");
        assert_eq!(given.contains("Base directory"), !raw, "{mode}: {given}");
        assert_eq!(request_text(&requests[0]).contains(urgent), raw, "{mode}");
        let kept: Vec<_> = trial.meta.inputs.0.keys().filter_map(|part| part.strip_prefix("setting mcp.")).collect();
        let expected: &[&str] = match (mode, raw) {
            ("mcp", true) => &["max_file_mb", "result", "wording"],
            (_, true) => &["result", "wording"],
            _ => &[],
        };
        assert_eq!(kept, expected, "{mode}");
    }
}

fn wrong_settings_are_named() {
    for (settings, expected) in [
        ("[mcp]\nresult = \"all\"\n", "\"body\" or \"raw\""),
        ("[mcp]\nwording = \"loud\"\n", "\"mild\" or \"skilljack\""),
        ("[mcp]\nmax_file_mb = 0\n", "`max_file_mb` is 0; expected 1 to 1024"),
        ("[mcp]\nname = \"own\"\n", "`command` is missing"),
        ("[mcp]\ncommand = \"node\"\nresult = \"raw\"\n", "said to the built-in server"),
    ] {
        let ran = greeting(settings).run(&["list"]);
        let said = ran.stdout + &ran.stderr;
        assert!(ran.code == 2 && said.contains(expected), "{settings}{said}");
    }
}

fn skilljack_s_own_server_passes_all_tasks() {
    let settings =
        format!("modes = [\"mcp\"]\n[mcp]\ncommand = \"{}\"\nargs = [\"{{skills}}\"]\n", skilljack().display());
    let fixture = Fixture::copy_of_sample().file("evals/evals.toml", settings);
    let script = Script::new(&fixture.catalog());
    let live = Live::over(fixture, move |request| script.turn(request));
    let tasks = [
        "code-style",
        "greeting",
        "template-generator",
        "xlsx-financial",
        "xlsx-formulas",
        "xlsx-openpyxl",
        "xlsx-verify",
    ];
    let args: Vec<&str> = tasks.iter().flat_map(|task| ["--task", task]).collect();
    let ran = live.run(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("7 passed"), "{}", ran.stdout);
    let request = &live.model.requests()[0];
    assert!(request_text(request).contains("<location>"), "its own catalogue");
}

fn tools_can_be_left_to_be_searched_for() {
    for always in [true, false] {
        let settings = format!("[mcp]\nalways_load = {always}\n[env]\nENABLE_TOOL_SEARCH = \"true\"\n");
        let live = Live::over(greeting(&settings), |request| {
            let is_there = request.tools.iter().any(|tool| tool == "mcp__skilljack__skill");
            let loaded = request.tool_results.iter().any(|result| result.contains("AHOY_MARKER"));
            match (is_there, loaded) {
                (false, _) => {
                    let query = json!({ "query": "select:mcp__skilljack__skill", "max_results": 5 });
                    Turn::Call { tool: "ToolSearch".to_owned(), input: query }
                }
                (true, false) => loads(&Request { step: 0, ..request.clone() }),
                (true, true) => Turn::Say("Ahoy, Ada! AHOY_MARKER".to_owned()),
            }
        });
        let trial = live.trial("mcp");
        trial.expect(Verdict::Pass);
        let first = &live.model.requests()[0];
        assert_eq!(first.tools.iter().any(|tool| tool.starts_with("mcp__")), always, "{:?}", first.tools);
        assert!(
            request_text(first).contains("Greets people in the house style"),
            "the server's instructions have the catalogue"
        );
        assert_eq!(trial.meta.server.as_ref().map(|server| server.always_load), Some(always));
        assert_eq!(trial.meta.inputs.0.contains_key("setting mcp.always_load"), !always);
        let looks = trial.grade.metrics.inspections;
        assert_eq!(
            looks.iter().filter(|look| look.starts_with("ToolSearch ")).count(),
            usize::from(!always),
            "{looks:?}"
        );
    }
}

fn models_that_codex_has_search_for_tools_find_the_whole_catalogue() {
    if !programs().join("codex").exists() {
        return;
    }
    let count = 40;
    let live = Live::over(catalogue(count, 200), |request| {
        let searched = request.body.to_string().contains("tool_search_output");
        let search = || Turn::Call { tool: "tool_search".to_owned(), input: json!({ "query": "Number 035" }) };
        if searched { Turn::Say("4".to_owned()) } else { search() }
    });
    let ran = live.run(&["--mode", "codex-mcp", "--case", "skill-000/it", "--model", "gpt-5.5"]);
    let trial = live.kept("skill-000", "it", "codex-mcp").expect("a trial");
    assert_eq!(trial.grade.metrics.unknown_events, 0, "{}", trial.text("rollout.jsonl"));
    let looks = &trial.grade.metrics.inspections;
    assert!(looks.len() == 1 && looks[0].starts_with("tool_search {"), "{looks:?}");
    assert!(trial.text("session.md").contains("tool_search"), "{}", trial.text("session.md"));
    let requests = live.model.requests();
    let whole = |request: &Request| {
        let text = request_text(request);
        (0..count).filter(|number| text.contains(&description(*number, 200))).count()
    };
    assert_eq!(requests.iter().map(whole).collect::<Vec<_>>(), [0, count], "{}{}", ran.stdout, ran.stderr);
}
