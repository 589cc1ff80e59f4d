//! Whether the real programs tell their models of skills that change while a session goes on: the table of docs/mcp.md. A
//! stand-in plays the model, a task has the skills changed between two of its answers, and every cell is read from the
//! requests that it got then, and from what the client wrote to the server. The last one is what the check says of it that
//! has the agent's own files only.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use support::fixture::Fixture;
use support::live::{GREETING, Live, request_text};
use support::real::programs;
use support::stand_in::{Protocol, Request, Turn};

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
    "| | added: told | added: can be loaded | edited: told | removed: no longer told | asked the server anew for | `changes-seen` |
| --- | --- | --- | --- | --- | --- | --- |
";

const TASK: &str = r#"{ "prompt": "What is 2+2?", "evalConfig": { "expectedSkillName": "greeting", "during": [
    { "afterTurn": 1, "add": "evals/changes/flags", "expectSeen": true },
    { "afterTurn": 1, "edit": "evals/changes/greeting", "expectSeen": true },
    { "afterTurn": 1, "remove": "parting", "expectSeen": true } ] } }"#;

const ADDED: &str = "---\nname: flags\ndescription: Waves flags at ships.\n---\n\nEnd with FLAGS_MARKER.\n";
const EDITED: &str = "Salutes admirals.";
const REMOVED: &str = "Says farewell at the pier.";

/// How long the model thinks before the change, and behind it: agents begin to watch their folders when they have time, and
/// wait until what they see has settled.
const LONG_ENOUGH: Duration = Duration::from_secs(6);

fn main() -> ExitCode {
    support::real::main("claude", tests![the_docs_say_which_agents_see_that_skills_change])
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
    let docs = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/mcp.md")).expect("the docs");
    assert!(docs.contains(&table), "docs/mcp.md has another table than\n{table}");
}

/// What a row says.
fn cells(mode: &str) -> Vec<String> {
    let log = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let wire = log.path().join("wire");
    let program = env!("CARGO_BIN_EXE_skill-evals");
    let server = format!("#!/bin/sh\ntee -a '{}' | '{program}' mcp --skills \"$1\"\n", wire.display());
    let settings = "isolation = \"agent\"\n[mcp]\nname = \"skilljack\"\ncommand = \"./server.sh\"\nargs = [\"{skills}\"]\n\
                    [mode.cli-mcp]\nagent = \"claude-cli\"\ndelivery = \"mcp\"\n";
    let parting = format!("---\nname: parting\ndescription: {REMOVED}\n---\n\nWave.\n");
    let fixture = Fixture::new()
        .skill_text("greeting", GREETING)
        .skill_text("parting", parting)
        .file("evals/changes/flags/SKILL.md", ADDED)
        .file("evals/changes/greeting/SKILL.md", GREETING.replace("Greets people in the house style.", EDITED))
        .task("it", TASK)
        .file("server.sh", server)
        .file("evals/evals.toml", settings);
    let script = fixture.root().join("server.sh");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).expect("permissions");
    let before: Arc<OnceLock<usize>> = Arc::default();
    let (marked, written) = (Arc::clone(&before), wire.clone());
    let live = Live::over(fixture, move |request| match request.step {
        0 => {
            std::thread::sleep(LONG_ENOUGH);
            let _ = marked.set(lines(&written).len());
            Turn::Shell("true".to_owned())
        }
        1 => {
            std::thread::sleep(LONG_ENOUGH);
            Turn::Shell("true".to_owned())
        }
        2 => Turn::Shell("true".to_owned()),
        3 => load_added(request),
        _ => Turn::Say("4".to_owned()),
    });
    let ran = live.run(&["--mode", mode, "--task", "it"]);
    let requests: Vec<Request> = live.model.requests();
    let later = |step: usize| {
        let found = requests.iter().rev().find(|request| request.step == step && request.prompt == "What is 2+2?");
        found.unwrap_or_else(|| panic!("{mode}: no request {step}: {}{}", ran.stdout, ran.stderr))
    };
    // The second request behind the change: whoever asks the server anew has the answer by then.
    let (first, told, loaded) = (request_text(later(0)), request_text(later(3)), request_text(later(4)));
    assert!(first.contains(REMOVED) && first.contains("Greets people"), "{mode}: {first}");
    let yes = |answer: bool| if answer { "yes" } else { "no" }.to_owned();
    let trial = live.kept("greeting", "it", mode).unwrap_or_else(|| panic!("{mode}: {}{}", ran.stdout, ran.stderr));
    let seen = trial.check("changes-seen");
    eprintln!("{mode}: {:?} {}", seen.status, seen.evidence);
    vec![
        yes(told.contains("Waves flags at ships.")),
        yes(loaded.contains("FLAGS_MARKER")),
        yes(told.contains(EDITED)),
        yes(!told.contains(REMOVED)),
        asked(&lines(&wire)[before.get().copied().unwrap_or(0).min(lines(&wire).len())..], mode),
        seen.evidence.split("; ").map(by_check).collect::<Vec<_>>().join(", "),
    ]
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

/// The lists that a client asked for in these lines.
fn asked(lines: &[Value], mode: &str) -> String {
    let is_asked = |what: &&str| lines.iter().any(|line| line["method"] == format!("{what}/list"));
    let lists: Vec<&str> = ["tools", "resources", "prompts"].into_iter().filter(is_asked).collect();
    match (mode.contains("mcp"), lists.is_empty()) {
        (false, _) => "—".to_owned(),
        (true, true) => "nothing".to_owned(),
        (true, false) => lists.join(", "),
    }
}

fn lines(wire: &Path) -> Vec<Value> {
    let text = fs::read_to_string(wire).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
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
