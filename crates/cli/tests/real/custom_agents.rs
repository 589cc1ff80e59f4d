//! Agents that evals.toml describes: real programs that speak the Agent Client Protocol, and real programs whose JSON lines are
//! read by rules.

use std::fs;

use nix::sys::signal::Signal;
use serde_json::json;
use skill_evals_evidence::trace::Mechanism;
use skill_evals_evidence::trace::trouble::TroubleKind;
use skill_evals_evidence::trial::outcome::{Status, Verdict};

use crate::support::fixture::Fixture;
use crate::support::live::{GREETING, Live, Trial, processes_with, request_text, wait_until};
use crate::support::real::{HOW_TO_GET_AGENTS, copilot_packages, needing, path_with_programs, programs};
use crate::support::stand_in::named;
use crate::support::stand_in::{MODEL, Request, Turn};
use crate::support::stub::{in_own_group, signal};

const COLUMNS: &str = "should_trigger,prompt,timeout_s";

/// What the model answers.
const ANSWER: &str = "Ahoy, Ada! AHOY_MARKER";

/// The agents that speak the protocol: names, and programs.
const SPEAKERS: [(&str, &str); 5] = [
    ("copilot-acp", "copilot"),
    ("gemini-acp", "gemini"),
    ("opencode-acp", "opencode"),
    ("qwen-acp", "qwen"),
    ("kimi-acp", "kimi"),
];

/// The agents whose lines are read by rules: the modes of our own decoders, names, and programs.
const PRINTERS: [(&str, &str, &str); 3] =
    [("qwen", "qwen-lines", "qwen"), ("copilot", "copilot-lines", "copilot"), ("gemini", "gemini-lines", "gemini")];

/// A test that an agent has to pass.
type Test = fn(&str);

pub fn trials() -> Vec<libtest_mimic::Trial> {
    let tests: [(&str, Test); 6] = [
        ("a_skill_that_is_used_is_seen", uses_the_skill),
        ("a_skill_that_is_not_used_is_not_seen", does_not_use_it),
        ("further_messages_are_sent_in_the_same_session", sends_more),
        ("our_server_offers_the_skill_if_the_agent_asks_it", asks_the_server),
        ("refusals_of_the_provider_are_errors", is_refused),
        ("an_interrupted_run_leaves_no_process_behind", leaves_nothing),
    ];
    let mut trials = Vec::new();
    let mut add = |name: String, program: &'static str, test: Box<dyn Fn() + Send>| {
        let missing = (!programs().join(program).exists()).then_some(program);
        trials.push(needing(&format!("custom_agents::{name}"), missing, HOW_TO_GET_AGENTS, move || {
            test();
            Ok(())
        }));
    };
    for (agent, program) in SPEAKERS {
        for (name, test) in tests {
            add(format!("{agent}::{name}"), program, Box::new(move || test(agent)));
        }
    }
    for (own, agent, program) in PRINTERS {
        let name = format!("{agent}::rules_give_the_verdicts_of_our_own_decoder");
        add(name, program, Box::new(move || same_verdicts(own, agent)));
    }
    let misspelt = a_misspelt_directory_of_skills_is_an_error_at_its_place;
    add("a_misspelt_directory_of_skills_is_an_error_at_its_place".to_owned(), "qwen", Box::new(misspelt));
    trials
}

/// The settings of the agents that speak the protocol.
fn described(live: &Live) -> String {
    let url = live.model.url();
    let packages = copilot_packages().display().to_string();
    let ripgrep =
        programs().join("../@vscode/ripgrep-linux-x64/bin").canonicalize().expect("ripgrep").display().to_string();
    let path = format!("{ripgrep}:{}", path_with_programs().display());
    let provider = json!({
        "model": "stand-in/stand-in",
        "small_model": "stand-in/stand-in",
        "provider": { "stand-in": {
            "npm": "@ai-sdk/openai-compatible",
            "options": { "baseURL": format!("{url}/v1"), "apiKey": "stand-in-key-for-opencode" },
            "models": { "stand-in": { "name": "stand-in" } },
        } },
        "permission": { "*": "allow" },
    });
    format!(
        r#"
        isolation_read = ['{packages}', '{ripgrep}']
        pass_env = [
            "COPILOT_OFFLINE", "COPILOT_MODEL", "COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_WIRE_API",
            "COPILOT_PROVIDER_API_KEY", "COPILOT_PKG_CACHE_HOME", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL",
        ]
        [agents.copilot-acp]
        protocol = "acp"
        command = "copilot"
        args = ["--acp", "--allow-all"]
        shows_calls = true
        errors = ["Error: "]
        tools = {{ skills = ["Using skill"] }}
        [agents.gemini-acp]
        protocol = "acp"
        command = "gemini"
        args = ["--acp", "--model={MODEL}", "--skip-trust"]
        authenticate = "gemini-api-key"
        tools = {{ skills = ["activate_skill"] }}
        [agents.opencode-acp]
        protocol = "acp"
        command = "opencode"
        args = ["acp"]
        env = {{ PATH = "{path}", OPENCODE_DISABLE_MODELS_FETCH = "1", OPENCODE_CONFIG_CONTENT = '{provider}' }}
        shows_calls = true
        tools = {{ skills = ["skill"] }}
        [agents.qwen-acp]
        protocol = "acp"
        command = "qwen"
        args = ["--acp", "--auth-type=openai", "--approval-mode=yolo"]
        env = {{ OPENAI_API_KEY = "stand-in-key-for-qwen", OPENAI_BASE_URL = "{url}/v1", OPENAI_MODEL = "{MODEL}" }}
        skills = ".qwen/skills"
        shows_calls = true
        tools = {{ skills = ["skill"] }}
        [agents.kimi-acp]
        protocol = "acp"
        command = "kimi"
        args = ["acp"]
        home_files = [".kimi-code/config.toml"]
        shows_calls = true
        tools = {{ skills = ["Invoke skill", "Skill"] }}
        "#
    )
}

/// Kimi Code has its provider in a file.
fn kimi_config(live: &Live) -> String {
    let url = live.model.url();
    format!(
        "default_model = \"stand-in\"\n[providers.x]\ntype = \"openai\"\nbase_url = \"{url}/v1\"\napi_key = \
         \"stand-in-key-for-kimi\"\n[models.stand-in]\nprovider = \"x\"\nmodel = \"{MODEL}\"\n\
         max_context_size = 100000\ncapabilities = [\"tool_use\"]\n"
    )
}

fn live(columns: &str, cells: &str, script: impl Fn(&Request) -> Turn + Send + Sync + 'static) -> Live {
    let live = Live::new(columns, cells, script);
    fs::write(live.fixture.root().join("evals/evals.toml"), described(&live)).expect("settings");
    let home = live.user_home();
    fs::create_dir_all(home.join(".kimi-code")).expect("a directory");
    fs::write(home.join(".kimi-code/config.toml"), kimi_config(&live)).expect("a configuration");
    live
}

/// Whether the model has not called a tool yet. What an agent adds may look like a new message of the user.
fn is_first(request: &Request) -> bool {
    request.step == 0 && !request_text(request).contains("AHOY_MARKER")
}

fn load(request: &Request) -> Turn {
    let tool = request.tools.iter().find(|tool| ["Skill", "skill", "activate_skill"].contains(&tool.as_str()));
    match tool {
        Some(tool) => Turn::Call { input: named(request, tool, "greeting"), tool: tool.clone() },
        None => Turn::Shell("cat .agents/skills/greeting/SKILL.md".to_owned()),
    }
}

fn show(trial: &Trial) {
    if std::env::var_os("SHOW").is_some() {
        println!("{}\n{}\n{}", trial.text("trace.jsonl"), trial.text("session.jsonl"), trial.text("stderr.txt"));
        println!("{:#?}", trial.grade);
    }
}

fn uses_the_skill(agent: &str) {
    let live = live(COLUMNS, "true,Greet Dr. Ada.,600", |request| {
        if is_first(request) { load(request) } else { Turn::Say(ANSWER.to_owned()) }
    });
    let trial = live.trial(agent);
    show(&trial);
    trial.expect(Verdict::Pass);
    assert_eq!(trial.status("triggered"), Status::Pass);
    assert_eq!(trial.text("final.txt"), ANSWER);
}

fn does_not_use_it(agent: &str) {
    let live = live(COLUMNS, "false,What is 2+2?,600", |request| match request.step {
        0 => Turn::Shell("echo 4".to_owned()),
        _ => Turn::Say("4".to_owned()),
    });
    let trial = live.trial(agent);
    show(&trial);
    // Gemini CLI does not show what commands print: a command could have shown the skill.
    let is_shown = agent != "gemini-acp";
    trial.expect(if is_shown { Verdict::Pass } else { Verdict::Error });
    assert_eq!(trial.status("not-triggered"), if is_shown { Status::Pass } else { Status::Unknown });
    assert_eq!(trial.text("final.txt"), "4");
}

fn sends_more(agent: &str) {
    let cells = r#"true,Say hello.,"[""Greet Ada in the house style.""]",600"#;
    let live = live("should_trigger,prompt,follow_ups,timeout_s", cells, |request| {
        let is_next = request_text(request).contains("Greet Ada in the house style.");
        match (is_next, is_first(request)) {
            (true, true) => load(request),
            (true, false) => Turn::Say(ANSWER.to_owned()),
            (false, _) => Turn::Say("Hello.".to_owned()),
        }
    });
    let trial = live.trial(agent);
    show(&trial);
    trial.expect(Verdict::Pass);
    assert_eq!(trial.text("final.txt"), ANSWER);
    // Kimi Code 2.1.0 reports none, OpenCode 1.18.33 those of its last request.
    let tokens = trial.grade.metrics.usage.map_or(0, |usage| usage.total_tokens());
    assert!(tokens > 2_000 || ["kimi-acp", "opencode-acp"].contains(&agent), "{:?}", trial.grade.metrics.usage);
}

fn asks_the_server(agent: &str) {
    let live = live(COLUMNS, "true,Greet Dr. Ada.,600", |request| {
        let tool = request.tools.iter().find(|tool| tool.contains("skilljack") && tool.ends_with("skill"));
        match (is_first(request), tool) {
            (true, Some(tool)) => Turn::Call { tool: tool.clone(), input: json!({ "name": "greeting" }) },
            _ => Turn::Say(ANSWER.to_owned()),
        }
    });
    let mode = format!("{agent}-mcp");
    let trial = live.trial(&mode);
    show(&trial);
    match agent {
        // Copilot 1.0.102 does not start servers that a session names.
        "copilot-acp" => {
            trial.expect(Verdict::Error);
            assert_eq!(trial.grade.trouble.as_ref().map(|trouble| trouble.kind), Some(TroubleKind::NotDelivered));
        }
        // The model of Qwen Code 0.24.4 has to search for the tools of servers, and here it does not.
        "qwen-acp" => _ = trial.expect(Verdict::Fail),
        _ => {
            trial.expect(Verdict::Pass);
            assert_eq!(trial.grade.metrics.activations[0].how, Mechanism::McpTool);
        }
    }
}

fn is_refused(agent: &str) {
    let live = live(COLUMNS, "false,What is 2+2?,30", |_| Turn::Status(401));
    let trial = live.trial(agent);
    show(&trial);
    trial.expect(Verdict::Error);
}

/// With bubblewrap, and without it: Gemini CLI starts itself once more, and that process outlives the first.
fn leaves_nothing(agent: &str) {
    for isolation in ["bwrap", "agent"] {
        let live = live(COLUMNS, "false,What is 2+2?,600", |_| Turn::Hang);
        let mut command = live.command(&["--mode", agent]);
        let mut runner = in_own_group(command.env("SKILL_EVALS_ISOLATION", isolation));
        wait_until("a request", || !live.model.requests().is_empty());
        signal(&runner, Signal::SIGINT);
        assert_eq!(runner.wait().expect("an end").code(), Some(130), "{isolation}");
        let scratch = live.scratch().display().to_string();
        assert_eq!(processes_with(&scratch), Vec::<String>::new(), "{isolation}");
    }
}

/// What a case asks for, whether its model loads the skill, and its verdict.
const CASES: [(&str, bool, bool, Verdict); 4] = [
    ("used", true, true, Verdict::Pass),
    ("unused", true, false, Verdict::Fail),
    ("rightly-unused", false, false, Verdict::Pass),
    ("wrongly-used", false, true, Verdict::Fail),
];

fn same_verdicts(own: &str, agent: &str) {
    let row = |(id, wanted, ..): (&str, bool, bool, Verdict)| format!("{id},{wanted},Case {id}.,600\n");
    let rows: String = CASES.into_iter().map(row).collect();
    let fixture = Fixture::new()
        .skill_text("greeting", GREETING)
        .prompts("greeting", format!("id,should_trigger,prompt,timeout_s\n{rows}"));
    let live = Live::over(fixture, |request| match (request.step, request.prompt.contains("used.")) {
        (0, true) if !request.prompt.contains("unused") => load(request),
        (0, _) => Turn::Shell("echo 4".to_owned()),
        _ => Turn::Say(ANSWER.to_owned()),
    });
    fs::write(live.fixture.root().join("evals/evals.toml"), printers(&live)).expect("settings");
    let gemini =
        r#"{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false}}"#;
    fs::create_dir_all(live.user_home().join(".gemini")).expect("a directory");
    fs::write(live.user_home().join(".gemini/settings.json"), gemini).expect("a configuration");
    let ran = live.run(&["--mode", own, "--mode", agent, "--jobs", "4"]);
    for (id, .., verdict) in CASES {
        for mode in [own, agent] {
            let trial = live.kept("greeting", id, mode);
            let trial = trial.unwrap_or_else(|| panic!("{id} in {mode}:\n{}\n{}", ran.stdout, ran.stderr));
            if mode == agent {
                show(&trial);
            }
            trial.expect(verdict);
            assert_eq!(trial.text("final.txt"), ANSWER, "{id} in {mode}");
        }
    }
    let tokens = |mode| live.kept("greeting", "used", mode).and_then(|trial| trial.grade.metrics.usage);
    let expected = tokens(own).map(|usage| usage.output_tokens).filter(|_| agent != "copilot-lines");
    assert_eq!(tokens(agent).map(|usage| usage.output_tokens), expected, "Copilot does not print all tokens");
}

/// Only a calibration can say that a directory is the wrong one. It says where it is named, and which one may be meant.
fn a_misspelt_directory_of_skills_is_an_error_at_its_place() {
    let live = Live::new(COLUMNS, "false,What is 2+2?,600", |_| Turn::Say("4".to_owned()));
    let settings = printers(&live).replace(".qwen/skills", ".qwen/skils");
    let settings = settings.replace(&live.model.url(), "{endpoint}").replace(&format!("\"{MODEL}\""), "\"{model}\"");
    let place = settings.lines().position(|line| line.contains("skils")).expect("a line") + 1;
    fs::write(live.fixture.root().join("evals/evals.toml"), settings).expect("settings");
    let program = |args: &[&str]| {
        let mut command = live.program();
        let cache = live.user_home().join(".cache-of-calibrations");
        command.args(args).current_dir(live.fixture.root()).env("XDG_CACHE_HOME", cache);
        let output = command.env_remove("SKILL_EVALS_CALIBRATE").output().expect("it starts");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code(), said)
    };
    let (code, said) = program(&["doctor", "--calibrate", "--agent", "qwen-lines"]);
    let words = [&*format!("evals/evals.toml:{place}:18"), "did you mean `.qwen/skills`?", "delivered   wrong"];
    assert!(code == Some(1) && words.iter().all(|word| said.contains(word)), "{said}");
    program(&["run", "--run-id", "t", "--mode", "qwen-lines", "--endpoint", &live.model.url(), "--model", MODEL]);
    let trial = live.kept("greeting", "it", "qwen-lines").expect("a kept trial");
    let why = trial.expect(Verdict::Error).grade.trouble.as_ref().expect("a reason").to_string();
    assert!(words[..2].iter().all(|word| why.contains(word)), "{why}");
}

/// The settings of the agents that print lines.
fn printers(live: &Live) -> String {
    let url = live.model.url();
    let packages = copilot_packages().display().to_string();
    format!(
        r#"
        isolation_read = ['{packages}']
        pass_env = [
            "COPILOT_OFFLINE", "COPILOT_MODEL", "COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_WIRE_API",
            "COPILOT_PROVIDER_API_KEY", "COPILOT_PKG_CACHE_HOME", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL",
        ]

        [agents.qwen-lines]
        protocol = "jsonl"
        command = "qwen"
        args = ["--output-format=stream-json", "--auth-type=openai", "--approval-mode=yolo", "--prompt={{prompt}}"]
        env = {{ OPENAI_API_KEY = "stand-in-key-for-qwen", OPENAI_BASE_URL = "{url}/v1", OPENAI_MODEL = "{MODEL}" }}
        skills = ".qwen/skills"
        tools = {{ skills = ["skill"], shells = ["run_shell_command"] }}
        {QWEN}

        [agents.copilot-lines]
        protocol = "jsonl"
        command = "copilot"
        args = ["--output-format=json", "--allow-all", "--no-ask-user", "--prompt={{prompt}}"]
        tools = {{ skills = ["skill"], shells = ["bash"] }}
        {COPILOT}

        [agents.gemini-lines]
        protocol = "jsonl"
        command = "gemini"
        args = ["--output-format=stream-json", "--approval-mode=yolo", "--skip-trust", "--model={MODEL}", "--prompt={{prompt}}"]
        home_files = [".gemini/settings.json"]
        tools = {{ skills = ["activate_skill"], shells = ["run_shell_command"] }}
        {GEMINI}
        "#
    )
}

const QWEN: &str = r#"
[[agents.qwen-lines.events]]
says = "version"
when = { "/subtype" = "init" }
text = "/qwen_code_version"
[[agents.qwen-lines.events]]
says = "usage"
when = { "/type" = "assistant" }
id = "/message/id"
input_tokens = "/message/usage/input_tokens"
cached_tokens = "/message/usage/cache_read_input_tokens"
output_tokens = "/message/usage/output_tokens"
[[agents.qwen-lines.events]]
says = "message"
when = { "/type" = "assistant", "/message/content/*/type" = "text" }
text = "/message/content/*/text"
[[agents.qwen-lines.events]]
says = "call"
when = { "/type" = "assistant", "/message/content/*/type" = "tool_use" }
id = "/message/content/*/id"
name = "/message/content/*/name"
input = "/message/content/*/input"
[[agents.qwen-lines.events]]
says = "result"
when = { "/type" = "user", "/message/content/*/type" = "tool_result" }
id = "/message/content/*/tool_use_id"
output = "/message/content/*/content"
failed = { "/message/content/*/is_error" = true }
[[agents.qwen-lines.events]]
says = "error"
when = { "/type" = "result", "/is_error" = true }
text = "/error/message"
[[agents.qwen-lines.events]]
says = "done"
when = { "/type" = "result", "/is_error" = false }
[[agents.qwen-lines.events]]
says = "nothing"
when = { "/type" = ["system", "stream_event"] }
"#;

const COPILOT: &str = r#"
[[agents.copilot-lines.events]]
says = "version"
when = { "/type" = "session.start" }
text = "/data/copilotVersion"
[[agents.copilot-lines.events]]
says = "message"
when = { "/type" = "assistant.message", "/data/content" = "*" }
text = "/data/content"
[[agents.copilot-lines.events]]
says = "call"
when = { "/type" = "tool.execution_start" }
id = "/data/toolCallId"
name = "/data/toolName"
input = "/data/arguments"
[[agents.copilot-lines.events]]
says = "result"
when = { "/type" = "tool.execution_complete" }
id = "/data/toolCallId"
output = "/data/result/content"
exit_code = "/data/shellExecution/exitCode"
failed = { "/data/success" = false }
[[agents.copilot-lines.events]]
says = "error"
when = { "/type" = "session.error" }
text = "/data/message"
status = "/data/statusCode"
[[agents.copilot-lines.events]]
says = "done"
when = { "/type" = "result", "/exitCode" = 0 }
[[agents.copilot-lines.events]]
says = "nothing"
when = { "/type" = [
    "session.skills_loaded", "session.tools_updated", "tool.shell_output", "tool.execution_partial_result",
    "skill.context_delivered_ref", "skill.invoked", "tool.execution_progress", "user.message", "assistant.turn_start",
    "assistant.turn_end", "assistant.idle", "assistant.message_start", "assistant.message_delta", "model.call_start",
    "model.call_finished", "model.call_final_result", "session.background_tasks_changed", "session.mcp_servers_loaded", "assistant.message",
] }
"#;

const GEMINI: &str = r#"
[[agents.gemini-lines.events]]
says = "nothing"
when = { "/type" = "message", "/role" = "user" }
[[agents.gemini-lines.events]]
says = "model"
when = { "/type" = "init" }
text = "/model"
[[agents.gemini-lines.events]]
says = "message"
when = { "/type" = "message", "/role" = "assistant" }
text = "/content"
piece = true
[[agents.gemini-lines.events]]
says = "call"
when = { "/type" = "tool_use" }
id = "/tool_id"
name = "/tool_name"
input = "/parameters"
[[agents.gemini-lines.events]]
says = "result"
when = { "/type" = "tool_result" }
id = "/tool_id"
output = "/output"
failed = { "/status" = "error" }
[[agents.gemini-lines.events]]
says = "total"
when = { "/type" = "result", "/status" = "success" }
input_tokens = "/stats/input_tokens"
output_tokens = "/stats/output_tokens"
[[agents.gemini-lines.events]]
says = "error"
when = { "/type" = "result", "/status" = "error" }
text = "/error/message"
[[agents.gemini-lines.events]]
says = "done"
when = { "/type" = "result", "/status" = "success" }
"#;
