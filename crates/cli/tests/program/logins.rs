//! What agents get of the user's credentials, and what of them is kept.

use std::fs;

use skill_evals_agents::agent::ScratchDir;

use crate::support::stub::{Stub, ran};

/// An agent that prints its variables and each file of its home, also a word on each line, as a model may quote it.
const TELLS_ALL: &str = r#"#!/bin/sh
for file in $(find -L "$HOME" -type f) "$AWS_SHARED_CREDENTIALS_FILE"; do cat "$file"; tr '",:{}= ' '\n' < "$file"; done
env
"#;

/// Files in the user's home: credentials too short to be known by their length, in damaged JSON, in headers, and those of a
/// provider.
const FILES: [(&str, &str); 9] = [
    (".codex/auth.json", r#"{"tokens":{"access_token":"quartz-cdx-1"}}"#),
    (".claude/.credentials.json", r#"{"claudeAiOauth":{"accessToken":"quartz-cld-2"}}"#),
    (".claude/settings.json", r#"{"env":{"ANTHROPIC_CUSTOM_HEADERS":"X-Key: quartz-hdr-3"}}"#),
    (".aws/credentials", "[default]\naws_secret_access_key = quartz-aws-4\n"),
    (".gemini/settings.json", r#"{"security":{"auth":{"selectedType":"oauth-personal"}}}"#),
    (".gemini/oauth_creds.json", r#"{"refresh_token":"quartz-gem-5"}"#),
    (".kimi-code/credentials/kimi-code.json", r#"{"access_token":"quartz-kim-6"}"#),
    (".local/share/opencode/auth.json", r#"{"own":{"type":"api","key":"quartz-opn-7"},}"#),
    (".cache/opencode/bin/rg", ""),
];

/// The trace of each of these modes of agents that tell all, where the home has these files and the environment this variable.
/// The settings begin and end as said; the last mode's agent is the last table.
fn told(files: &[(&str, &str)], variable: (&str, &str), modes: &[(&str, &str)], settings: [&str; 2]) -> Vec<String> {
    let home = tempfile::tempdir().expect("a home");
    for (path, text) in files {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    let stub = Stub::new(1, "");
    stub.write("all.sh", TELLS_ALL);
    let command = stub.root().join("all.sh").display().to_string();
    let tables = modes.iter().map(|(_, agent)| format!("[agents.{agent}]\ncommand = '{command}'\n"));
    stub.write("evals/evals.toml", &[settings[0], &tables.collect::<String>(), settings[1]].concat());
    let mut program = stub.command(&["run", "--run-id", "r"]);
    program.env("HOME", home.path()).env(variable.0, variable.1);
    for (mode, _) in modes {
        program.args(["--mode", mode]);
    }
    ran(&mut program).exits(3);
    let trace = |mode| stub.run_folder("r").join("work/tidy/c0").join(mode).join("1/trace.jsonl");
    // The ripgrep of this machine is in the home of an agent that needs it.
    modes
        .iter()
        .map(|(mode, _)| String::from_utf8_lossy(&fs::read(trace(mode)).expect("a trace")).into_owned())
        .collect()
}

#[test]
fn credentials_are_masked_however_short_they_are_and_wherever_an_agent_gets_them_from() {
    let modes = [
        ("codex", "codex"),
        ("cli-native", "claude-cli"),
        ("gemini", "gemini"),
        ("kimi", "kimi"),
        ("opencode", "opencode"),
    ];
    let traces = told(&FILES, ("CLAUDE_CODE_USE_BEDROCK", "1"), &modes, ["", ""]);
    for (trace, (mode, _)) in traces.iter().zip(modes) {
        let kept: Vec<&str> = trace.lines().filter(|line| line.contains("quartz")).collect();
        assert!(kept.is_empty() && trace.contains("\n[masked]\n"), "{mode}: {kept:?}\n{trace}");
    }
}

#[test]
fn secrets_of_mcp_servers_of_the_user_s_setup_are_masked_wherever_their_configuration_has_them() {
    let modes = [
        ("cline", "cline"),
        ("codex", "codex"),
        ("cli-native", "claude-cli"),
        ("copilot", "copilot"),
        ("droid", "droid"),
        ("gemini", "gemini"),
        ("kimi", "kimi"),
        ("opencode", "opencode"),
        ("qwen", "qwen"),
        ("vibe", "vibe"),
    ];
    let json = r#"{"mcpServers":{
        "a":{"command":"npx","args":["server-a","--api-key","quartz-a-1","--token=quartz-a-2","--verbose"]},
        "b":{"command":"docker","args":["run","-e","API_KEY=quartz-b-1","--header","X-Any: Bearer quartz-b-2"]},
        "c":{"command":"server-c --config '{\"cApiKey\":\"quartz-c-1\"}'","args":["{\"cApiKey\":\"quartz-c-2\"}"]},
        "d":{"httpUrl":"https://example.org/mcp?dApiKey=quartz-d-1&mode=x","args":["postgres://me:quartz-d-2@example.org/d"]}}}"#;
    let toml = "[[mcp_servers.a]]\nargs = ['--api-key', 'quartz-a-1', '-e', 'A_TOKEN=quartz-a-2']\n";
    let open_code = r#"{"mcp":{"a":{"command":["npx","server-a","--api-key","quartz-a-1","--token=quartz-a-2"]}}}"#;
    let files = [
        (".cline/data/settings/cline_mcp_settings.json", json),
        (".codex/config.toml", toml),
        (".claude.json", json),
        (".copilot/mcp-config.json", json),
        (".factory/mcp.json", json),
        (".gemini/settings.json", json),
        (".kimi-code/mcp.json", json),
        (".config/opencode/opencode.json", open_code),
        (".qwen/settings.json", json),
        (".vibe/config.toml", toml),
        (".mine.yaml", "args: [--api-key, quartz-a-1, --header, 'Authorization: Bearer quartz-a-2']\n"),
        (".cache/opencode/bin/rg", ""),
    ];
    let variable = ("HTTPS_PROXY", "http://me:quartz-e-1@example.org/e");
    let of_mine = "protocol = 'acp'\nhome_files = ['.mine.yaml']\n";
    let mut traces = told(&files, variable, &modes, ["home = 'user'\n", ""]);
    traces.extend(told(&files, variable, &[("mine", "mine")], ["", of_mine]));
    for (trace, (mode, _)) in traces.iter().zip(modes.into_iter().chain([("mine", "mine")])) {
        let kept: Vec<&str> = trace.lines().filter(|line| line.contains("quartz")).collect();
        assert!(kept.is_empty() && trace.contains("[masked]"), "{mode}: {kept:?}\n{trace}");
    }
}

#[test]
fn what_the_repository_s_own_mcp_server_prints_is_masked_before_it_is_cut() {
    let stub = Stub::new(1, "");
    let fill = "x".repeat(170);
    stub.write("server.sh", &format!("#!/bin/sh\necho {fill} $A_TOKEN $2\n"));
    let args = "args = ['--token', 'quartz-mcp-2-of-the-arguments']";
    let server =
        format!("[mcp]\ncommand = './server.sh'\n{args}\nenv = {{ A_TOKEN = 'quartz-mcp-1-of-the-environment' }}\n");
    stub.settings(&server);
    let ran = stub.run(&["run", "--mode", "codex-mcp", "--run-id", "r"]);
    let why = stub.json("r", "work/tidy/c0/codex-mcp/1/meta.json")["ending"]["trouble"].to_string();
    assert!(why.contains("[masked] [masked]") && !why.contains("quartz"), "{why} {}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_setting_of_gemini_of_another_kind_is_replaced() {
    let files = [(".gemini/settings.json", r#"{"security":{"auth":"x"}}"#)];
    let traces = told(&files, ("GEMINI_API_KEY", "of-the-variable"), &[("gemini", "gemini")], ["", ""]);
    assert!(traces[0].contains(r#""auth":{"selectedType":"gemini-api-key"}"#), "{}", traces[0]);
}

#[test]
fn the_user_s_setup_is_found_by_a_relative_path_too() {
    let stub = Stub::new(1, r#"cat "$CODEX_HOME/AGENTS.md" > "$folder/seen""#);
    stub.write("own/AGENTS.md", "Be kind.");
    let ran = ran(stub.command(&["run", "--home", "user"]).env("CODEX_HOME", "own").env("CODEX_API_KEY", "a-key"));
    assert_eq!(fs::read_to_string(stub.root().join("seen")).expect("a file"), "Be kind.", "{}", ran.stdout);
}

#[test]
fn agents_find_nothing_of_the_user_above_their_directories() {
    for sign in [".env", ".gemini/.env", ".qwen/.env", ".factory", ".github"] {
        let above = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(above.path().join(sign)).expect("a directory");
        let refused =
            ScratchDir::open(Some(&above.path().join("scratch")), None).expect_err("a sign above").to_string();
        assert!(refused.contains(&format!("which holds {sign}:")), "{refused}");
    }
}
