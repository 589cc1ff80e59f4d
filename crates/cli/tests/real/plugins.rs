//! Plugins under the real claude: a plugin comes as one, with its name space, commands, hooks and servers, if somebody agreed to it.

use std::fs;

use crate::support::fixture::Fixture;
use crate::support::live::{GREETING, Live, Trial, request_text};
use crate::support::stand_in::{Request, Turn};
use crate::tests;
use serde_json::{Value, json};
use skill_evals_evidence::trace::Mechanism;
use skill_evals_evidence::trial::outcome::{Status, Verdict};

pub fn trials() -> Vec<libtest_mimic::Trial> {
    crate::support::real::all_needing_both_agents(tests![
        a_plugin_comes_with_its_name_space_its_commands_its_hooks_and_its_servers,
        a_prompt_calls_a_command_or_a_skill_of_the_plugin,
        agents_without_plugins_and_servers_of_skills_get_its_skills_alone,
        a_part_of_the_skills_leaves_the_others_out_of_the_plugin,
        a_plugin_that_runs_code_needs_the_line_that_trusts_it,
        a_recording_is_stale_when_the_plugin_changes,
    ])
}

const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {
        "initialize": {"protocolVersion": asked.get("params", {}).get("protocolVersion"), "capabilities": {"tools": {}},
                       "serverInfo": {"name": "s", "version": "1"}},
        "tools/list": {"tools": [{"name": "buy", "description": "Buys.", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "bought of the server"}]},
    }.get(asked["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"#;

const HOOKS: &str = r#"{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "echo of the hook"}]}]}}"#;

/// A plugin at the root with the skills `greeting` and `parting`, a command and a case; nothing in it runs code.
fn plugin(prompt: &str) -> Fixture {
    let task =
        format!(r#"{{"prompt": "{prompt}", "evalConfig": {{"expectedSkillName": "greeting", "timeoutS": 600}}}}"#);
    Fixture::new()
        .file(".claude-plugin/plugin.json", r#"{"name": "house", "version": "1.0.0"}"#)
        .file("commands/tea.md", "---\ndescription: Makes tea.\n---\nPour $ARGUMENTS into the cup.\n")
        .file("agents/helper.md", "---\nname: helper\ndescription: Helps.\n---\nYou help.\n")
        .file("README.md", "For readers.\n")
        .skill_text("greeting", GREETING)
        .file("skills/greeting/evals/answers.txt", "the answer")
        .skill("parting")
        .task("it", task)
}

/// The same with a hook and a server.
fn with_code() -> Fixture {
    let server =
        r#"{"mcpServers": {"shop": {"command": "/usr/bin/python3", "args": ["${CLAUDE_PLUGIN_ROOT}/shop.py"]}}}"#;
    plugin("Greet Ada.").file("hooks/hooks.json", HOOKS).file(".mcp.json", server).file("shop.py", SERVER)
}

/// Runs the case `it`, and reads what was kept.
fn tried(live: &Live, mode: &str) -> Trial {
    let ran = live.run(&["--skill", "greeting", "--mode", mode]);
    let trial = live.kept("greeting", "it", mode);
    trial.unwrap_or_else(|| panic!("nothing was kept:\n{}\n{}", ran.stdout, ran.stderr))
}

fn load(skill: &str) -> Turn {
    Turn::Call { tool: "Skill".to_owned(), input: json!({ "skill": skill }) }
}

fn a_plugin_comes_with_its_name_space_its_commands_its_hooks_and_its_servers() {
    for mode in ["cli-native", "native"] {
        let live =
            Live::over(with_code().file("evals/evals.toml", "trust = [\".\"]\n"), |request| match request.step {
                0 => load("house:greeting"),
                1 => Turn::Call { tool: "mcp__plugin_house_shop__buy".to_owned(), input: json!({}) },
                2 => Turn::Shell("cd .claude/skills/.plugins/house && find . -type f | sort | tr '\\n' ' '".to_owned()),
                _ => Turn::Say(request.tool_results.join("|")),
            });
        let trial = tried(&live, mode);
        let said = request_text(live.model.requests().last().expect("a request"));
        trial.expect(Verdict::Pass);
        for part in ["house:tea", "house:greeting", "house:parting", "of the hook", "bought of the server"] {
            assert!(said.contains(part), "{mode}, {part}: {said}");
        }
        let offered = &trial.check("delivered").found;
        assert!(offered.contains("house:greeting") && !offered.contains(" greeting,"), "{mode}: {offered}");
        assert_eq!(trial.check("delivered").expected, "`house:greeting` offered natively, and not by MCP");
        assert_eq!(trial.meta.skill.in_plugin.as_deref(), Some("house:greeting"));
        let active: Vec<_> =
            trial.grade.metrics.activations.iter().map(|active| (active.skill.as_str(), active.how)).collect();
        assert_eq!(active, [("greeting", Mechanism::SkillTool)], "{mode}");
        let files = [
            "./.claude-plugin/plugin.json",
            "./.mcp.json",
            "./agents/helper.md",
            "./commands/tea.md",
            "./hooks/hooks.json",
            "./shop.py",
            "./skills/greeting/SKILL.md",
            "./skills/parting/SKILL.md",
        ]
        .join(" ");
        assert!(said.contains(&files), "{mode}: {said}");
        assert!(!said.contains("answers.txt") && !said.contains("README"), "{mode}: {said}");
    }
}

fn a_prompt_calls_a_command_or_a_skill_of_the_plugin() {
    for (prompt, text, activates) in
        [("/house:tea two", "Pour two into the cup.", false), ("/house:greeting Ada", "ARGUMENTS: Ada", true)]
    {
        let live = Live::over(plugin(prompt), |_| Turn::Say("Done.".to_owned()));
        let trial = tried(&live, "cli-native");
        let said = request_text(live.model.requests().last().expect("a request"));
        assert!(said.contains(text), "{prompt}: {said}");
        trial.expect(if activates { Verdict::Pass } else { Verdict::Fail });
        let active: Vec<_> =
            trial.grade.metrics.activations.iter().map(|active| (active.skill.as_str(), active.how)).collect();
        assert_eq!(active, if activates { vec![("greeting", Mechanism::Injected)] } else { Vec::new() });
        let ran = live.run(&["--skill", "greeting", "--mode", "codex"]);
        assert!(ran.stdout.contains("the prompt begins with `/house:`"), "{}{}", ran.stdout, ran.stderr);
    }
}

fn agents_without_plugins_and_servers_of_skills_get_its_skills_alone() {
    fn opens(request: &Request) -> Turn {
        match request.step {
            0 if request.tools.iter().any(|tool| tool == "mcp__skilljack__skill") => {
                Turn::Call { tool: "mcp__skilljack__skill".to_owned(), input: json!({ "name": "greeting" }) }
            }
            0 => Turn::Shell("cat .agents/skills/greeting/SKILL.md; ls -a .agents/skills".to_owned()),
            _ => Turn::Say("Hello.".to_owned()),
        }
    }
    for mode in ["codex", "mcp"] {
        let live = Live::over(plugin("Greet Ada."), opens);
        let trial = tried(&live, mode);
        let said = live.model.requests().last().expect("a request").tool_results.join(" ");
        assert_eq!(trial.status("delivered"), Status::Pass, "{mode}: {:#?}", trial.grade);
        assert!(said.contains("Ada") || said.contains("greet"), "{mode}: {said}");
        assert!(!said.contains("house:") && !said.contains(".plugins"), "{mode}: {said}");
        assert_eq!(trial.meta.skill.in_plugin, None);
    }
}

fn a_part_of_the_skills_leaves_the_others_out_of_the_plugin() {
    let settings = "[mode.one]\nagent = \"claude-cli\"\ndelivery = \"native\"\noffer = \"alone\"\n";
    let live = Live::over(plugin("Greet Ada.").file("evals/evals.toml", settings), |request| match request.step {
        0 => load("house:greeting"),
        _ => Turn::Say("Hello.".to_owned()),
    });
    let trial = tried(&live, "one");
    trial.expect(Verdict::Pass);
    let offered = &trial.check("delivered").found;
    assert!(offered.contains("house:greeting") && !offered.contains("parting"), "{offered}");
}

fn a_plugin_that_runs_code_needs_the_line_that_trusts_it() {
    let live = Live::over(with_code(), |_| Turn::Say("Hello.".to_owned()));
    let ran = live.run(&["--skill", "greeting", "--mode", "cli-native"]);
    let told = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, 3, "{told}");
    assert!(told.contains("`trust = [\".\"]`") && told.contains(".mcp.json, hooks"), "{told}");
    assert!(live.model.requests().is_empty(), "no agent starts");
    assert_eq!(live.run(&["--skill", "greeting", "--mode", "codex"]).code, 1, "another agent gets no code of it");
}

fn a_recording_is_stale_when_the_plugin_changes() {
    let live = Live::over(plugin("Greet Ada."), |request| match request.step {
        0 => load("house:greeting"),
        _ => Turn::Say("Hello.".to_owned()),
    });
    assert_eq!(live.run(&["--skill", "greeting", "--mode", "cli-native"]).code, 0);
    assert_eq!(live.fixture.run(&["record", "t"]).code, 0);
    let replayed = live.run(&["--skill", "greeting", "--replay", "--mode", "cli-native"]);
    assert_eq!(replayed.code, 0, "{}{}", replayed.stdout, replayed.stderr);
    let root = live.fixture.root();
    let path = root.join("evals/recordings/greeting/it/cli-native/1/meta.json");
    let meta: Value = serde_json::from_slice(&fs::read(path).expect("the facts")).expect("JSON");
    assert_eq!(meta["skill"]["in_plugin"], "house:greeting");
    fs::write(root.join("README.md"), "Other readers.\n").expect("a file");
    assert_eq!(live.run(&["--skill", "greeting", "--replay", "--mode", "cli-native"]).code, 0, "nobody got that");
    fs::write(root.join("commands/tea.md"), "---\ndescription: Makes coffee.\n---\nPour.\n").expect("a file");
    let stale = live.run(&["--skill", "greeting", "--replay", "--mode", "cli-native"]);
    assert!(stale.code != 0 && stale.stdout.contains("plugin"), "{}{}", stale.stdout, stale.stderr);
}
