//! `home = "user"`: the user's own instructions and MCP servers are in a trial, which cannot change them.

use std::fs;

use libtest_mimic::Trial;
use serde_json::json;
use skill_evals_evidence::trial::outcome::Verdict;

use super::claude::SERVER;
use crate::support::live::{Live, request_text};
use crate::support::real::all_needing_both_agents;
use crate::support::stand_in::{Request, Turn, codex_config};
use crate::tests;

const MEMORY: &str = "USERS_OWN_MEMORY";
const TOKEN: &str = "users-own-token-0123456789";
const PLUGINS_TOKEN: &str = "token-of-a-plugin-0123456789";

pub fn trials() -> Vec<Trial> {
    all_needing_both_agents(tests![
        codex_has_it_all,
        claude_has_it_all,
        a_skill_of_the_user_with_the_name_of_the_one_under_test_is_an_error
    ])
}

/// The model tries to change the user's instructions in `memory` and says the user's token.
fn live(memory: &'static str) -> Live {
    let live =
        Live::new("should_trigger,prompt,sandbox", "false,Tell me.,workspace-write", move |request| {
            match request.step {
                0 => Turn::Shell(format!("echo CHANGED >> $HOME/{memory}")),
                _ => Turn::Say(format!("The tokens are {TOKEN} and {PLUGINS_TOKEN}")),
            }
        });
    fs::create_dir_all(live.user_home().join("servers")).expect("a directory");
    fs::write(live.user_home().join("servers/own.js"), SERVER).expect("a server");
    fs::create_dir_all(live.user_home().join(memory).parent().expect("a directory")).expect("a directory");
    fs::write(live.user_home().join(memory), MEMORY).expect("a memory");
    let settings = "home = \"user\"\nisolation_read = [\"~/servers\"]\n";
    fs::write(live.fixture.root().join("evals/evals.toml"), settings).expect("settings");
    live
}

/// The setup has these parts, the first of which is the memory.
fn has_it_all(live: &Live, mode: &str, setup: &[&str]) -> crate::support::live::Trial {
    let trial = live.trial(mode);
    trial.expect(Verdict::Pass);
    let requests = live.model.requests();
    assert!(request_text(&requests[0]).contains(MEMORY), "the user's instructions");
    // An agent may name a tool at first, and show it when it is searched for.
    let has_tool = |request: &Request| {
        request.tools.iter().any(|tool| tool == "mcp__users__load")
            || request_text(request).contains("mcp__users__load")
    };
    assert!(requests.iter().any(has_tool), "{:?}", requests[0].tools);
    assert!(!trial.everything().contains(TOKEN), "the user's token was kept");
    let parts: Vec<&String> = trial.meta.inputs.0.keys().filter(|part| part.starts_with("user's setup")).collect();
    let expected: Vec<String> =
        setup.iter().chain(&["configuration"]).map(|part| format!("user's setup: {part}")).collect();
    assert_eq!(parts, expected.iter().collect::<Vec<_>>());
    assert_eq!(fs::read_to_string(live.user_home().join(setup[0])).expect("a memory"), MEMORY, "it is read-only");
    trial
}

fn codex_has_it_all() {
    let memory = ".codex/AGENTS.md";
    let live = live(memory);
    let server = live.user_home().join("servers/own.js");
    let config = format!(
        "{}\n[mcp_servers.users]\ncommand = \"node\"\nargs = [{:?}, \"x\"]\nenv = {{ USERS_TOKEN = \"{TOKEN}\" }}\nrequired = true\n",
        codex_config(&live.model),
        server.display().to_string()
    );
    fs::write(live.user_home().join(".codex/config.toml"), config).expect("a configuration");
    has_it_all(&live, "codex", &[memory]);
}

fn claude_has_it_all() {
    let memory = ".claude/CLAUDE.md";
    let live = live(memory);
    let server = live.user_home().join("servers/own.js");
    let entry = json!({ "command": "node", "args": [server, "x"], "env": { "USERS_TOKEN": TOKEN } });
    let servers = json!({ "mcpServers": { "users": entry } });
    fs::write(live.user_home().join(".claude.json"), servers.to_string()).expect("servers");
    let plugin = live.user_home().join(".claude/plugins/of-a-plugin");
    fs::create_dir_all(&plugin).expect("a directory");
    let servers =
        json!({ "mcpServers": { "more": { "url": "http://127.0.0.1:1", "headers": { "X-Own": PLUGINS_TOKEN } } } });
    fs::write(plugin.join(".mcp.json"), servers.to_string()).expect("servers");
    fs::write(plugin.join("broken.json"), "{").expect("a file");
    let trial = has_it_all(&live, "cli-native", &[memory, ".claude/plugins/of-a-plugin"]);
    assert!(!trial.everything().contains(PLUGINS_TOKEN), "a plugin's token was kept");
}

fn a_skill_of_the_user_with_the_name_of_the_one_under_test_is_an_error() {
    let live = live(".claude/CLAUDE.md");
    let own = live.user_home().join(".claude/skills/mine");
    fs::create_dir_all(&own).expect("a directory");
    fs::write(own.join("SKILL.md"), "---\nname: greeting\ndescription: Mine.\n---\nSay HOWDY.\n").expect("a skill");
    let trial = live.trial("cli-native");
    let trouble = trial.expect(Verdict::Error).grade.trouble.as_ref().expect("trouble");
    assert!(trouble.detail.contains("/.claude/skills/mine has the name of the skill under test"), "{trouble:?}");
    assert!(live.model.requests().is_empty(), "nothing was paid for");
}
