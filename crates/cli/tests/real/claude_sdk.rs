//! Our side of the Agent SDK's dialogue against the SDK's own: the same arguments, environment and lines. The real SDK
//! from npm and `skill-evals` each start the real `claude`, behind a script that writes down what it is given.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::fixture::Fixture;
use crate::support::live::{GREETING, Live};
use crate::support::real::{path_with_programs, programs};
use crate::support::stand_in::Turn;
use crate::tests;
use libtest_mimic::Trial;
use serde_json::{Value, json};

pub fn trials() -> Vec<Trial> {
    crate::support::real::all_needing_agent(
        "claude",
        tests![
            native_says_what_the_sdk_says,
            mcp_says_what_the_sdk_says,
            without_always_load_the_sdk_shows_its_model_no_more_than_we,
            both_ways_at_once_say_what_the_sdk_says,
            a_schema_and_a_model_are_said_as_the_sdk_says_them,
        ],
    )
}

/// What a program was given.
#[derive(Debug, PartialEq)]
struct Given {
    args: Vec<String>,
    mcp_servers: Value,
    env: Vec<String>,
    stdin: Vec<Value>,
}

/// A script in `folder` that writes down what it is given, and is `claude` with the variable `env`, `NAME=VALUE`.
fn wrapper(folder: &Path, env: &str) -> PathBuf {
    let at = folder.display();
    let claude = programs().join("claude");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > '{at}/args'\nenv > '{at}/env'\nconfig=\nfor arg in \"$@\"; do\n  \
         if [ \"$config\" = --mcp-config ] && [ -f \"$arg\" ]; then cp \"$arg\" '{at}/servers'; fi\n  config=$arg\ndone\n\
         tee '{at}/stdin' | {env} '{}' \"$@\"\n",
        claude.display()
    );
    let path = folder.join("wrapper");
    fs::write(&path, script).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    path
}

fn given(folder: &Path) -> Given {
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let mut args: Vec<String> = read("args").lines().map(str::to_owned).collect();
    let mut mcp_servers = Value::Null;
    if let Some(at) = args.iter().position(|arg| arg == "--mcp-config") {
        // Where the SDK passes the servers, we pass a file with them.
        let servers = std::mem::replace(&mut args[at + 1], "SERVERS".to_owned());
        let servers = if servers.starts_with('{') { servers } else { read("servers") };
        mcp_servers = serde_json::from_str(&servers).expect("servers");
    }
    let mut env: Vec<String> = read("env").lines().filter(|line| line.contains("CLAUDE")).map(str::to_owned).collect();
    env.sort();
    let said = read("stdin");
    let stdin = said.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        if let Some(id) = line.get_mut("request_id") {
            *id = json!("masked");
        }
        line
    });
    Given { args, mcp_servers, env, stdin: stdin.collect() }
}

const SCRIPT: &str = r"
const { query } = await import(process.argv[2]);
const run = query({ prompt: process.argv[4], options: JSON.parse(process.argv[3]) });
for await (const message of run) if (message.type === 'result') console.log(message.result);
";

/// What the SDK gives to claude with these options.
fn by_sdk(live: &Live, options: Value, prompt: &str) -> Given {
    by_sdk_with(live, options, prompt, "")
}

fn by_sdk_with(live: &Live, mut options: Value, prompt: &str, env: &str) -> Given {
    let folder = tempfile::tempdir().expect("a directory");
    options["pathToClaudeCodeExecutable"] = json!(wrapper(folder.path(), env));
    options["cwd"] = json!(live.fixture.root());
    let script = folder.path().join("sdk.mjs");
    fs::write(&script, SCRIPT).expect("a script");
    let sdk = programs().parent().expect("node_modules").join("@anthropic-ai/claude-agent-sdk/sdk.mjs");
    let mut program = Command::new("node");
    program.arg(script).arg(sdk).arg(options.to_string()).arg(prompt);
    for (name, value) in live.program().get_envs() {
        if let Some(value) = value {
            program.env(name, value);
        }
    }
    let output = program.env("PATH", path_with_programs()).stdin(Stdio::null()).output().expect("node starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    given(folder.path())
}

/// What we give to claude in `mode`.
fn by_us(live: &Live, mode: &str, args: &[&str]) -> Given {
    by_us_with(live, mode, args, "", "")
}

/// The same with more settings, and a variable for claude.
fn by_us_with(live: &Live, mode: &str, args: &[&str], settings: &str, env: &str) -> Given {
    let folder = tempfile::tempdir().expect("a directory");
    // The wrapper writes into a directory of the test.
    let program = wrapper(folder.path(), env);
    let settings =
        format!("isolation = \"agent\"\n[agents.claude-sdk]\ncommand = \"{}\"\n{settings}", program.display());
    fs::write(live.fixture.root().join("evals/evals.toml"), settings).expect("settings");
    let ran = live.run(&[&["--mode", mode], args].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    given(folder.path())
}

fn live(columns: &str, cells: &str) -> Live {
    let fixture = Fixture::new()
        .skill_text("greeting", GREETING)
        .prompts("greeting", format!("id,should_trigger,prompt{columns}\nit,false,Greet Ada.{cells}\n"));
    Live::over(fixture, |request| {
        let by_tool = request.tools.iter().any(|tool| tool == "StructuredOutput") && request.step == 0;
        if by_tool {
            return Turn::Call { tool: "StructuredOutput".to_owned(), input: json!({ "invoked_skills": [] }) };
        }
        Turn::Say("Hello.".to_owned())
    })
}

/// Ours with the servers that only we know.
fn servers(ours: &Given) -> Value {
    ours.mcp_servers["mcpServers"].clone()
}

fn native_says_what_the_sdk_says() {
    let live = live("", "");
    let ours = by_us(&live, "native", &[]);
    let options = json!({
        "settingSources": ["project"],
        "strictMcpConfig": true,
        "permissionMode": "acceptEdits",
        "allowedTools": ["Bash", "Read", "Glob", "Grep", "Skill"],
        "systemPrompt": { "type": "preset", "preset": "claude_code" },
    });
    assert_eq!(ours, by_sdk(&live, options, "Greet Ada."));
    assert_eq!(ours.stdin.len(), 2, "{ours:?}");
}

fn mcp_says_what_the_sdk_says() {
    let live = live(",sandbox", ",read-only");
    let ours = by_us(&live, "mcp", &[]);
    let options = json!({
        "settingSources": [],
        "strictMcpConfig": true,
        "permissionMode": "default",
        "allowedTools": ["Read", "Glob", "Grep", "mcp__skilljack"],
        "disallowedTools": ["Write", "Edit", "NotebookEdit"],
        "mcpServers": servers(&ours),
    });
    assert_eq!(ours, by_sdk(&live, options, "Greet Ada."));
}

fn without_always_load_the_sdk_shows_its_model_no_more_than_we() {
    let search = "ENABLE_TOOL_SEARCH=true";
    let live = live("", "");
    let ours = by_us_with(&live, "mcp", &[], "[mcp]\nalways_load = false\n", search);
    let requests_of_ours = live.model.requests().len();
    let options = json!({
        "settingSources": [],
        "strictMcpConfig": true,
        "permissionMode": "acceptEdits",
        "allowedTools": ["Bash", "Read", "Glob", "Grep", "mcp__skilljack"],
        "mcpServers": servers(&ours),
    });
    assert_eq!(ours.mcp_servers["mcpServers"]["skilljack"].get("alwaysLoad"), None);
    assert_eq!(ours, by_sdk_with(&live, options, "Greet Ada.", search));
    let requests = live.model.requests();
    for first in [&requests[0], &requests[requests_of_ours]] {
        // The list of skills is there all the same since Claude Code 2.1.332, and was not in 2.1.197.
        assert!(first.tools.iter().all(|tool| !tool.starts_with("mcp__")), "{:?}", first.tools);
    }
}

fn both_ways_at_once_say_what_the_sdk_says() {
    let task = r#"{"prompt":"Greet Ada.","systemPrompt":"Be brief.","evalConfig":{"expectedSkillName":"greeting"}}"#;
    let fixture = Fixture::new().skill_text("greeting", GREETING).task("it", task);
    let live = Live::over(fixture, |request| match request.step {
        0 => Turn::Call { tool: "Skill".to_owned(), input: json!({ "skill": "greeting" }) },
        _ => Turn::Say("Ahoy".to_owned()),
    });
    let ours = by_us(&live, "mcp+native", &[]);
    let options = json!({
        "settingSources": ["project"],
        "strictMcpConfig": true,
        "permissionMode": "acceptEdits",
        "allowedTools": ["Bash", "Read", "Glob", "Grep", "Skill", "mcp__skilljack"],
        "systemPrompt": { "type": "preset", "preset": "claude_code", "append": "Be brief." },
        "mcpServers": servers(&ours),
    });
    assert_eq!(ours, by_sdk(&live, options, "Greet Ada."));
}

fn a_schema_and_a_model_are_said_as_the_sdk_says_them() {
    let schema = json!({
        "type": "object",
        "properties": { "invoked_skills": { "type": "array", "items": { "type": "string" } } },
        "required": ["invoked_skills"],
        "additionalProperties": false,
    });
    let live = live(",output_schema", ",schema.json");
    fs::write(live.fixture.root().join("schema.json"), format!("{schema:#}")).expect("a schema");
    let ours = by_us(&live, "mcp", &["--model", "claude-sonnet-4-5"]);
    let options = json!({
        "model": "claude-sonnet-4-5",
        "settingSources": [],
        "strictMcpConfig": true,
        "permissionMode": "acceptEdits",
        "allowedTools": ["Bash", "Read", "Glob", "Grep", "mcp__skilljack"],
        "mcpServers": servers(&ours),
        "outputFormat": { "type": "json_schema", "schema": schema },
    });
    assert_eq!(ours, by_sdk(&live, options, "Greet Ada."));
}
