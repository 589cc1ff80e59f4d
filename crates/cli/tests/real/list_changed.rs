//! Whether the real programs tell their models about skills that change during a session: the table of
//! docs/contributing/agents.md. A stand-in plays the model, a task has the skills changed between two of its answers, and
//! every cell is read from the requests that it got then, but for the last two: what our server noted that it was asked
//! for, and what the check makes of the agent's own files.

use crate::support::repository;
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use crate::support::fixture::Fixture;
use crate::support::live::{GREETING, Live, Trial, request_text};
use crate::support::real::programs;
use crate::support::stand_in::{Protocol, Request, Turn};
use crate::tests;
use serde_json::{Value, json};
use skill_evals_evidence::trial::outcome::Status;

/// A row's name and its mode.
const ROWS: [(&str, &str); 6] = [
    ("`claude -p`, natively", "cli-native"),
    ("Claude Agent SDK, natively", "native"),
    ("Claude Agent SDK, by MCP", "mcp"),
    ("`claude -p`, by MCP", "cli-mcp"),
    ("codex, natively", "codex"),
    ("codex, by MCP", "codex-mcp"),
];

const HEAD: &str =
    "| | added: told | added: can be loaded | edited: told | removed: no longer told | asked the server again for | `changes-seen` |
| --- | --- | --- | --- | --- | --- | --- |
";

const TASK: &str = r#"{ "prompt": "What is 2+2?", "evalConfig": { "expectedSkillName": "greeting", "during": [
    { "afterTurn": 1, "add": "evals/changes/flags", "expectSeen": true },
    { "afterTurn": 1, "edit": "evals/changes/greeting", "expectSeen": true },
    { "afterTurn": 1, "remove": "parting", "expectSeen": true } ] } }"#;

const ADDED: &str = "---\nname: flags\ndescription: Waves flags at ships.\n---\n\nEnd with FLAGS_MARKER.\n";
const EDITED: &str = "Salutes admirals.";
const REMOVED: &str = "Says farewell at the pier.";

/// How long the model thinks before the change, and behind it: agents begin to watch their directories when they have
/// time, and wait until what they see has settled.
const LONG_ENOUGH: Duration = Duration::from_secs(6);

pub fn trials() -> Vec<libtest_mimic::Trial> {
    crate::support::real::all_needing_agent("claude", tests![the_docs_say_which_agents_see_that_skills_change])
}

fn the_docs_say_which_agents_see_that_skills_change() {
    if !programs().join("codex").exists() {
        return;
    }
    let rows = std::thread::scope(|scope| {
        ROWS.map(|(name, mode)| scope.spawn(move || format!("| {name} | {} |\n", cells(mode).join(" | "))))
            .map(|row| row.join().expect("a row"))
    });
    let table = [HEAD, &rows.concat()].concat();
    let docs = fs::read_to_string(repository().join("docs/contributing/agents.md")).expect("the docs");
    assert!(docs.contains(&table), "docs/contributing/agents.md has another table than\n{table}");
}

/// What a row says.
fn cells(mode: &str) -> Vec<String> {
    let fixture = Fixture::new()
        .skill_text("greeting", GREETING)
        .skill_text("parting", format!("---\nname: parting\ndescription: {REMOVED}\n---\n\nWave.\n"))
        .file("evals/changes/flags/SKILL.md", ADDED)
        .file("evals/changes/greeting/SKILL.md", GREETING.replace("Greets people in the house style.", EDITED))
        .task("it", TASK)
        .file("evals/evals.toml", "[mode.cli-mcp]\nagent = \"claude-cli\"\ndelivery = \"mcp\"\n");
    let live = Live::over(fixture, move |request| match request.step {
        0 | 1 => {
            std::thread::sleep(LONG_ENOUGH);
            Turn::Shell("true".to_owned())
        }
        2 => Turn::Shell("true".to_owned()),
        3 => load_added(request),
        _ => Turn::Say("4".to_owned()),
    });
    let ran = live.run(&["--mode", mode, "--task", "it", "--record", "--accept-failing"]);
    let requests: Vec<Request> = live.model.requests();
    let later = |step: usize| {
        let found = requests.iter().rev().find(|request| request.step == step && request.prompt == "What is 2+2?");
        found.unwrap_or_else(|| panic!("{mode}: no request {step}: {}{}", ran.stdout, ran.stderr))
    };
    // The second request after the change: an agent that asks the server again has the answer by then.
    let (first, told, loaded) = (request_text(later(0)), request_text(later(3)), request_text(later(4)));
    assert!(first.contains(REMOVED) && first.contains("Greets people"), "{mode}: {first}");
    let yes = |answer: bool| if answer { "yes" } else { "no" }.to_owned();
    let trial = live.kept("greeting", "it", mode).unwrap_or_else(|| panic!("{mode}: {}{}", ran.stdout, ran.stderr));
    let seen = trial.check("changes-seen");
    assert!(trial.meta.skills_changed.is_empty(), "{mode}: {:?}", trial.meta.skills_changed);
    graded_again(&live, mode, &trial);
    vec![
        yes(told.contains("Waves flags at ships.")),
        yes(loaded.contains("FLAGS_MARKER")),
        yes(told.contains(EDITED)),
        yes(!told.contains(REMOVED)),
        asked(trial.meta.changes[0].asked.as_deref()),
        seen.found.split("; ").map(by_check).collect::<Vec<_>>().join(", "),
    ]
}

/// Checks that the stored trial and its recording have the same result.
fn graded_again(live: &Live, mode: &str, trial: &Trial) {
    let program = |args: &[&str]| {
        let output = live.program().args(args).current_dir(live.fixture.root()).output().expect("the program starts");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    program(&["grade", "t"]);
    assert_eq!(live.kept("greeting", "it", mode).expect("the trial").grade, trial.grade, "{mode}");
    let replayed: Value = serde_json::from_str(&program(&["run", "--replay", "--json", "--mode", mode])).expect("JSON");
    let failed = trial.grade.checks.iter().filter(|check| check.status == Status::Fail);
    let failed: BTreeMap<&str, u64> = failed.map(|check| (check.id.as_str(), 1)).collect();
    assert_eq!(replayed["cases"][0]["failed_checks"], json!(failed), "{mode}: {replayed}");
}

/// What the check says of one change.
fn by_check(evidence: &str) -> &str {
    let told = evidence.split_once(": ").map_or(evidence, |(_, told)| told);
    if told.starts_with("not seen, but") {
        "unknown"
    } else if told == "not seen" {
        "no"
    } else {
        "yes"
    }
}

/// The lists that a client asked for; `None` without a server of ours.
fn asked(lists: Option<&[String]>) -> String {
    lists.map_or_else(|| "—".to_owned(), |lists| if lists.is_empty() { "nothing".to_owned() } else { lists.join(", ") })
}

fn load_added(request: &Request) -> Turn {
    let call = |tool: &str, input| Turn::Call { tool: tool.to_owned(), input };
    if request.tools.iter().any(|tool| tool == "mcp__skilljack__skill") {
        call("mcp__skilljack__skill", json!({ "name": "flags" }))
    } else if request.protocol == Protocol::Messages {
        call("Skill", json!({ "skill": "flags" }))
    } else {
        Turn::Shell("cat .agents/skills/flags/SKILL.md".to_owned())
    }
}
