//! The real `codex` against a stand-in model: what the adapter says must be what happened.

use std::fs;

use crate::support::catalogue;
use crate::support::live::{Live, OPEN_GREETING, processes_with, request_text, wait_until};
use crate::support::stand_in::{CODEX_KEY, Turn, codex_config};
use crate::tests;
use libtest_mimic::Trial;
use serde_json::{Value, json};
use skill_evals_evidence::trace::Mechanism;
use skill_evals_evidence::trace::exposure::DescriptionVisibility;
use skill_evals_evidence::trial::outcome::{Status, Verdict};

const POSITIVE: &str = "should_trigger,prompt,sandbox,timeout_s,must_include";

pub fn trials() -> Vec<Trial> {
    crate::support::real::all_needing_agent(
        "codex",
        tests![
            a_negative_case_passes_when_the_skill_stays_quiet_and_fails_when_it_does_not,
            what_a_sub_agent_does_is_seen_and_counted_live_and_in_its_recording,
            a_dollar_mention_is_seen_as_injected,
            codex_offers_its_model_what_only_users_may_call,
            what_codex_keeps_from_its_model_is_refused_before_it_is_paid,
            looking_around_among_skills_is_no_activation,
            a_skill_that_comes_by_a_pattern_is_opened,
            a_command_that_the_sandbox_stopped_is_counted,
            a_hanging_agent_and_its_grandchildren_are_gone_after_the_timeout,
            a_huge_answer_is_kept_whole,
            a_required_file_is_written_in_the_sandbox,
            a_fixture_is_laid_and_only_changes_are_kept,
            an_output_schema_is_passed_on_and_checked,
            a_prompt_may_start_with_a_dash,
            prompts_that_are_longer_than_an_argument_may_be_arrive_whole,
            nothing_of_the_users_own_comes_along_but_login_and_model,
            a_list_of_a_skills_files_loads_none,
            a_task_passes_its_system_prompt_on,
            a_description_comes_whole_from_a_small_catalogue_and_is_cut_in_a_large_one,
            the_lint_warns_of_a_catalogue_from_the_size_on_at_which_descriptions_are_cut,
            an_interrupted_run_leaves_no_agent_and_keeps_what_there_was,
            a_run_becomes_a_recording_that_replays_and_goes_stale,
            the_doctor_finds_codex_in_order_and_asks_no_model,
        ],
    )
}

/// Opens the skill first, then says `answer`.
fn opens_and_says(answer: &'static str) -> impl Fn(&crate::support::stand_in::Request) -> Turn + Send + Sync + 'static {
    move |request| match request.step {
        0 => Turn::Shell(OPEN_GREETING.to_owned()),
        _ => Turn::Say(answer.to_owned()),
    }
}

fn says(answer: &'static str) -> impl Fn(&crate::support::stand_in::Request) -> Turn + Send + Sync + 'static {
    move |_| Turn::Say(answer.to_owned())
}

fn a_negative_case_passes_when_the_skill_stays_quiet_and_fails_when_it_does_not() {
    let quiet = Live::new("should_trigger,prompt", "false,What is 2+2?", says("4"));
    quiet.trial("codex").expect(Verdict::Pass);
    let loud = Live::new("should_trigger,prompt", "false,What is 2+2?", opens_and_says("4"));
    assert_eq!(loud.trial("codex").expect(Verdict::Fail).status("not-triggered"), Status::Fail);
}

/// Starts a sub-agent that opens the skill or does not, and waits for it.
fn delegates(opens: bool) -> impl Fn(&crate::support::stand_in::Request) -> Turn + Send + Sync + 'static {
    let call = |tool: &str, input| Turn::Call { tool: format!("multi_agent_v1__{tool}"), input };
    move |request| match (request.prompt.as_str(), request.step) {
        ("Count for me.", 0) if opens => match request.tools.iter().find(|tool| *tool == "mcp__skilljack__skill") {
            Some(tool) => Turn::Call { tool: tool.clone(), input: json!({ "name": "greeting" }) },
            None => Turn::Shell(OPEN_GREETING.to_owned()),
        },
        ("What is 2+2?", 0) => call("spawn_agent", json!({ "message": "Count for me." })),
        ("What is 2+2?", 1) => {
            let started: Value = serde_json::from_str(&request.tool_results[0]).unwrap_or_default();
            call("wait_agent", json!({ "targets": [started["agent_id"]], "timeout_ms": 20_000 }))
        }
        _ => Turn::Say("4".to_owned()),
    }
}

fn what_a_sub_agent_does_is_seen_and_counted_live_and_in_its_recording() {
    let loud = Live::new("should_trigger,prompt", "false,What is 2+2?", delegates(true));
    let ran = loud.run(&["--record", "--accept-failing"]);
    let trial = loud.kept("greeting", "it", "codex").unwrap_or_else(|| panic!("{}{}", ran.stdout, ran.stderr));
    assert_eq!(trial.expect(Verdict::Fail).status("not-triggered"), Status::Fail);
    assert_eq!((trial.grade.metrics.commands, trial.grade.metrics.unknown_events), (1, 0));
    assert!(
        !trial.text("rollout.jsonl").contains("name: greeting\n")
            && trial.text("subagents.jsonl").contains("Ahoy, NAME")
    );
    // Three requests of the agent and two of its sub-agent.
    let input = |trial: &crate::support::live::Trial| trial.grade.metrics.usage.map_or(0, |usage| usage.input_tokens);
    assert!(input(&trial) > 5_000, "{:?}", trial.grade.metrics);
    let replayed = loud.program().args(["run", "--replay", "--json"]).current_dir(loud.fixture.root()).output();
    let replayed: Value = serde_json::from_slice(&replayed.expect("the program starts").stdout).expect("JSON");
    assert_eq!(replayed["cases"][0]["failed_checks"], json!({ "not-triggered": 1 }), "{replayed}");
    let taken = trial.grade.metrics.usage.map(|usage| usage.total_tokens());
    assert_eq!(replayed["total"]["tokens"].as_u64(), taken, "{replayed}");

    // By MCP too, of which standard output says nothing where it is a sub-agent's.
    let by_mcp = loud.trial("codex-mcp");
    assert_eq!(by_mcp.expect(Verdict::Fail).grade.metrics.activations[0].how, Mechanism::McpTool);
    assert!(!by_mcp.text("trace.jsonl").contains("mcp_tool_call"));

    let quiet = Live::new("should_trigger,prompt", "false,What is 2+2?", delegates(false));
    for mode in ["codex", "codex-mcp"] {
        assert!(input(quiet.trial(mode).expect(Verdict::Pass)) > 4_000);
    }
}

fn a_dollar_mention_is_seen_as_injected() {
    let live = Live::new("should_trigger,prompt", "true,Use $greeting to greet Ada.", says("Ahoy, Ada!"));
    let trial = live.trial("codex");
    trial.expect(Verdict::Pass);
    assert_eq!(trial.grade.metrics.activations[0].how, Mechanism::Injected);
}

fn codex_offers_its_model_what_only_users_may_call() {
    let text = crate::support::live::GREETING.replacen("---\n", "---\ndisable-model-invocation: true\n", 1);
    let fixture = crate::support::fixture::Fixture::new().skill_text("greeting", text);
    let live = Live::over(
        fixture.prompts("greeting", "id,should_trigger,prompt\nit,true,Greet Ada.\n"),
        opens_and_says("Ahoy, Ada!"),
    );
    let trial = live.trial("codex");
    assert_eq!(trial.expect(Verdict::Pass).grade.metrics.activations[0].how, Mechanism::ReadSkillFile);
    assert!(!trial.check("delivered").found.contains("only users"));
}

fn what_codex_keeps_from_its_model_is_refused_before_it_is_paid() {
    let kept = |prompt: &str| {
        let fixture = crate::support::fixture::Fixture::new()
            .skill_text("greeting", crate::support::live::GREETING)
            .file("skills/greeting/agents/openai.yaml", "policy:\n  allow_implicit_invocation: false\n")
            .prompts("greeting", format!("id,should_trigger,prompt\nit,true,{prompt}\n"));
        Live::over(fixture, opens_and_says("Ahoy, Ada!"))
    };
    for prompt in ["Greet Ada.", "Use $greetings to greet Ada."] {
        let live = kept(prompt);
        let ran = live.run(&["--mode", "codex"]);
        assert_eq!(ran.code, 3, "{}{}", ran.stdout, ran.stderr);
        assert!(
            ran.stdout.contains("agents/openai.yaml: [withheld] `allow_implicit_invocation: false`"),
            "{}",
            ran.stdout
        );
        assert!(live.model.requests().is_empty(), "a model was asked, and paid");
        let dry =
            live.program().args(["run", "--dry-run", "--mode", "codex"]).current_dir(live.fixture.root()).output();
        assert!(String::from_utf8_lossy(&dry.expect("the program starts").stdout).contains("[withheld]"));
    }
    // What the prompt calls is loaded all the same.
    let called = kept("Use $greeting to greet Ada.").trial("codex");
    assert_eq!(called.expect(Verdict::Pass).grade.metrics.activations[0].how, Mechanism::Injected);
    assert!(called.check("delivered").found.contains("only users can call it"));
    // By MCP the file is nothing to codex.
    let live = kept("Greet Ada.");
    assert!(live.trial("codex-mcp").check("delivered").status == Status::Pass);
}

fn looking_around_among_skills_is_no_activation() {
    let live = Live::new("should_trigger,prompt", "true,Greet Ada.", |request| match request.step {
        0 => Turn::Shell("ls .agents/skills/greeting".to_owned()),
        1 => Turn::Shell("wc -c .agents/skills/*/SKILL.md; echo .agents/skills/greeting/SKILL.md".to_owned()),
        _ => Turn::Say("Hello".to_owned()),
    });
    let trial = live.trial("codex");
    trial.expect(Verdict::Fail);
    assert!(trial.check("triggered").found.contains("without activating"), "{:#?}", trial.grade);
    assert_eq!(trial.grade.metrics.inspections.len(), 2);
}

fn a_skill_that_comes_by_a_pattern_is_opened() {
    let live = Live::new("should_trigger,prompt", "true,Greet Ada.", |request| match request.step {
        0 => Turn::Shell("cd .agents && cat */*/SKILL.md".to_owned()),
        _ => Turn::Say("Hello".to_owned()),
    });
    let trial = live.trial("codex");
    trial.expect(Verdict::Pass);
    assert_eq!(trial.grade.metrics.activations[0].how, Mechanism::ReadSkillFile);
}

fn a_command_that_the_sandbox_stopped_is_counted() {
    let live = Live::new("should_trigger,prompt,sandbox,max_commands", "false,Write.,read-only,0", |request| {
        if request.step == 0 { Turn::Shell("echo x > file.txt".to_owned()) } else { Turn::Say("Could not".to_owned()) }
    });
    let trial = live.trial("codex");
    assert_eq!(trial.expect(Verdict::Fail).status("max-commands"), Status::Fail);
    assert_eq!(trial.grade.metrics.effective_commands, 1);
    assert!(!trial.wrote("file.txt"));
}

fn a_hanging_agent_and_its_grandchildren_are_gone_after_the_timeout() {
    let sleep = format!("31{}", std::process::id());
    let command = format!("setsid sleep {sleep} & sleep {sleep} & sleep {sleep}");
    // Codex itself ends a command after 10 s.
    let live = Live::new(POSITIVE, "true,Greet Ada.,workspace-write,8,AHOY", move |request| match request.step {
        0 => Turn::Several(vec![Turn::Say("On it.".to_owned()), Turn::Shell(command.clone())]),
        _ => Turn::Say("Done".to_owned()),
    });
    let trial = live.trial("codex");
    assert_eq!(trial.expect(Verdict::Fail).status("in-time"), Status::Fail);
    assert!(trial.meta.ending.timed_out);
    assert!(trial.text("trace.jsonl").contains("thread.started"), "partial output is kept");
    assert_eq!(processes_with(&format!("sleep {sleep}")), Vec::<String>::new());
    assert_eq!(processes_with(&live.scratch().display().to_string()), Vec::<String>::new());
}

fn a_huge_answer_is_kept_whole() {
    const BYTES: usize = 5 << 20;
    let live = Live::new("should_trigger,prompt", "false,Talk.", |_| Turn::Flood { bytes: BYTES });
    let trial = live.trial("codex");
    trial.expect(Verdict::Pass);
    assert!(trial.text("final.txt").len() >= BYTES);
    assert!(trial.text("trace.jsonl").len() >= BYTES);
}

fn a_required_file_is_written_in_the_sandbox() {
    let columns = "should_trigger,prompt,sandbox,require_files";
    let writes = |request: &crate::support::stand_in::Request| match request.step {
        0 => Turn::Shell("mkdir -p out && echo Ahoy > out/greeting.txt".to_owned()),
        _ => Turn::Say("Written.".to_owned()),
    };
    let live = Live::new(columns, "false,Write.,workspace-write,out/greeting.txt", writes);
    let trial = live.trial("codex");
    trial.expect(Verdict::Pass);
    assert!(trial.wrote("out/greeting.txt"));
    assert_eq!(trial.text("workspace/out/greeting.txt"), "Ahoy\n");
    let live = Live::new(columns, "false,Write.,read-only,out/greeting.txt", writes);
    assert_eq!(live.trial("codex").expect(Verdict::Fail).status("require-file"), Status::Fail);
}

fn a_fixture_is_laid_and_only_changes_are_kept() {
    let live = Live::new("should_trigger,prompt,fixture", "false,Tidy.,fixtures/two", |request| match request.step {
        0 => Turn::Shell("echo more >> one.txt".to_owned()),
        _ => Turn::Say("Tidied.".to_owned()),
    });
    for (name, text) in [("one.txt", "1\n"), ("two.txt", "2\n")] {
        let path = live.fixture.root().join("evals/skills/greeting/fixtures/two");
        fs::create_dir_all(&path).expect("a directory");
        fs::write(path.join(name), text).expect("a file");
    }
    let trial = live.trial("codex");
    trial.expect(Verdict::Pass);
    assert!(trial.wrote("one.txt") && !trial.wrote("two.txt"), "{:?}", trial.meta.files);
    assert_eq!(trial.text("workspace/one.txt"), "1\nmore\n");
    assert_eq!(trial.text("workspace/two.txt"), "");
}

fn an_output_schema_is_passed_on_and_checked() {
    const SCHEMA: &str = r#"{"type":"object","properties":{"invoked_skills":{"type":"array","items":{"type":"string"}}},
                            "required":["invoked_skills"],"additionalProperties":false}"#;
    let run = |answer: &'static str| {
        let live =
            Live::new("should_trigger,prompt,output_schema", "true,Greet Ada.,schema.json", opens_and_says(answer));
        fs::write(live.fixture.root().join("schema.json"), SCHEMA).expect("a schema");
        let trial = live.trial("codex");
        let asked = live.model.requests().iter().any(|request| request_text(request).contains("json_schema"));
        assert!(asked, "codex asks the model for the schema");
        trial
    };
    run(r#"{"invoked_skills":["greeting"]}"#).expect(Verdict::Pass);
    let other = run(r#"{"invoked_skills":["other"]}"#);
    assert_eq!(other.expect(Verdict::Fail).status("invoked-skills"), Status::Fail);
    assert_eq!(run("Ahoy!").expect(Verdict::Fail).status("output-schema"), Status::Fail);
}

fn a_prompt_may_start_with_a_dash() {
    let live = Live::new("should_trigger,prompt", "false,--help me", says("Gladly."));
    live.trial("codex").expect(Verdict::Pass);
    assert_eq!(live.model.requests()[0].prompt, "--help me");
}

fn prompts_that_are_longer_than_an_argument_may_be_arrive_whole() {
    let long = |word: &str| format!("{} {word}_END", word.repeat(60_000));
    let task = serde_json::json!({
        "prompt": format!("Greet Ada. {}", long("please")),
        "systemPrompt": long("brief"),
        "evalConfig": { "expectedSkillName": "greeting" },
    });
    let fixture = crate::support::fixture::Fixture::new()
        .skill_text("greeting", crate::support::live::GREETING)
        .task("it", task.to_string());
    let live = Live::over(fixture, opens_and_says("Ahoy"));
    live.trial("codex").expect(Verdict::Pass);
    let asked = live.model.requests().pop().expect("a request");
    assert!(request_text(&asked).contains("please_END"), "the prompt is cut");
    assert!(asked.system.contains("brief_END"), "the system prompt is cut");
}

fn nothing_of_the_users_own_comes_along_but_login_and_model() {
    let live = Live::new("should_trigger,prompt", "false,Tell me.", |request| match request.step {
        0 => Turn::Shell(format!("env; echo $CODEX_ENDPOINT_KEY {CODEX_KEY}-and-more")),
        _ => Turn::Say("sk-abcdefghijklmnopqrstuvwxyz012345 is a key".to_owned()),
    });
    let codex = live.user_home().join(".codex");
    let config = codex_config(&live.model) + "\n[mcp_servers.users-own]\ncommand = \"/bin/false\"\nrequired = true\n";
    fs::write(codex.join("config.toml"), config).expect("a configuration");
    fs::write(codex.join("auth.json"), r#"{"tokens":{"access_token":"user-token-0123456789"}}"#).expect("a login");
    fs::write(codex.join("AGENTS.md"), "USERS_OWN_MEMORY").expect("a memory");
    let skill = codex.join("skills/users-own-skill");
    fs::create_dir_all(&skill).expect("a directory");
    fs::write(skill.join("SKILL.md"), "---\nname: users-own-skill\ndescription: Mine.\n---\n").expect("a skill");
    fs::write(live.fixture.root().join("AGENTS.md"), "REPOSITORYS_OWN_MEMORY").expect("a memory");
    let trial = live.trial("codex");
    trial.expect(Verdict::Pass);
    let asked: String = live.model.requests().iter().map(request_text).collect();
    for word in ["users-own", "USERS_OWN_MEMORY", "REPOSITORYS_OWN_MEMORY"] {
        assert!(!asked.contains(word), "{word} reached the model");
    }
    let kept = trial.everything();
    for word in ["user-token-0123456789", CODEX_KEY, "sk-abcdefghijklmnopqrstuvwxyz012345"] {
        assert!(!kept.contains(word), "{word} was kept");
    }
    assert!(kept.contains("[masked]"));
}

fn a_list_of_a_skills_files_loads_none() {
    let task = r#"{"prompt":"Greet Dr. Ada.","evalConfig":{"expectedSkillName":"greeting","expectResourceLoad":true}}"#;
    let fixture = crate::support::fixture::Fixture::new()
        .skill_text("greeting", crate::support::live::GREETING)
        .file("skills/greeting/references/formal.md", "Say \"Good day\".\n")
        .task("it", task);
    let live = Live::over(fixture, |request| match request.step {
        0 => Turn::Shell(OPEN_GREETING.to_owned()),
        1 => Turn::Shell("ls .agents/skills/greeting/references".to_owned()),
        _ => Turn::Say("Good day.".to_owned()),
    });
    assert_eq!(live.trial("codex").expect(Verdict::Fail).status("resource-loaded"), Status::Fail);
}

fn a_task_passes_its_system_prompt_on() {
    let task = r#"{"prompt":"Greet Ada.","systemPrompt":"You \"speak\" as a\npirate.","evalConfig":{"expectedSkillName":"greeting"}}"#;
    let fixture =
        crate::support::fixture::Fixture::new().skill_text("greeting", crate::support::live::GREETING).task("it", task);
    let live = Live::over(fixture, opens_and_says("Ahoy"));
    live.trial("codex").expect(Verdict::Pass);
    assert!(
        live.model.requests()[0].system.contains("You \"speak\" as a\npirate."),
        "{}",
        live.model.requests()[0].system
    );
}

fn a_description_comes_whole_from_a_small_catalogue_and_is_cut_in_a_large_one() {
    for (count, length, of) in [(10, 200, "first"), (100, 500, "first"), (490, 60, "first"), (500, 60, "last")] {
        let live = Live::over(catalogue::catalogue(count, length), says("4"));
        let number = if of == "first" { 0 } else { count - 1 };
        let skill = catalogue::name(number);
        let ran = live.run(&["--mode", "codex", "--case", &format!("{skill}/it"), "--record", "--accept-failing"]);
        let trial = live.kept(&skill, "it", "codex").unwrap_or_else(|| panic!("{}{}", ran.stdout, ran.stderr));
        let request = &live.model.requests()[0];
        let shown = catalogue::shown(request, count, length)[number];
        assert_eq!(trial.grade.metrics.described, Some(shown.unwrap_or_default()), "as the model was asked");
        match (count, shown) {
            (10, Some(DescriptionVisibility::Whole)) => {
                assert_eq!(trial.expect(Verdict::Pass).status("described"), Status::Pass);
            }
            (100, Some(cut @ DescriptionVisibility::Cut { characters: 100..200, of: 500 })) => {
                assert_eq!(trial.expect(Verdict::Fail).check("described").found, cut.to_string());
                assert!(trial.text("session.md").contains(&format!("- description before the model: {cut}")));
                let replayed = live.program().args(["run", "--replay"]).current_dir(live.fixture.root()).output();
                let replayed = String::from_utf8(replayed.expect("the program starts").stdout).expect("UTF-8");
                for stdout in [ran.stdout, replayed] {
                    let told =
                        format!("description of `{skill}` entered the model's context in codex: {cut} (1 trial)");
                    assert!(stdout.contains(&told), "{stdout}");
                }
            }
            (490, Some(DescriptionVisibility::NameOnly)) => {
                assert_eq!(trial.expect(Verdict::Fail).check("described").found, "name only");
            }
            // Not even listed.
            (500, None) => assert_eq!(trial.expect(Verdict::Error).status("delivered"), Status::Fail),
            other => panic!("{other:?}"),
        }
    }
    // By MCP all of it, where the list cuts it; but no file of codex's shows that.
    let mcp = Live::over(catalogue::catalogue(100, 500), says("4"));
    let ran = mcp.run(&["--mode", "codex-mcp", "--case", "skill-000/it"]);
    let trial = mcp.kept("skill-000", "it", "codex-mcp").unwrap_or_else(|| panic!("{}{}", ran.stdout, ran.stderr));
    assert_eq!(trial.expect(Verdict::Error).status("described"), Status::Unknown);
    let shown = catalogue::shown(&mcp.model.requests()[0], 100, 500);
    assert!(shown.iter().all(|shown| *shown == Some(DescriptionVisibility::Whole)), "{shown:?}");
}

fn the_lint_warns_of_a_catalogue_from_the_size_on_at_which_descriptions_are_cut() {
    for (length, warns) in [(156, false), (172, true)] {
        let live = Live::over(catalogue::catalogue(100, length), says("4"));
        assert_eq!(live.fixture.lines().contains("codex shows models"), warns, "{}", live.fixture.lines());
        live.run(&["--mode", "codex", "--case", "skill-000/it"]);
        let shown = catalogue::shown(&live.model.requests()[0], 100, length);
        assert_eq!(shown.iter().any(|shown| *shown != Some(DescriptionVisibility::Whole)), warns, "{shown:?}");
    }
}

fn an_interrupted_run_leaves_no_agent_and_keeps_what_there_was() {
    let live = Live::new(POSITIVE, "true,Greet Ada.,read-only,600,AHOY", |_| Turn::Hang);
    let child = live.start(&["--mode", "codex"]);
    wait_until("the model to be asked", || !live.model.requests().is_empty());
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("a signal");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stdout));
    live.expect_interrupted("greeting", "it", "codex");
    let trace = fs::read_to_string(live.folder("greeting", "it", "codex").join("trace.jsonl")).expect("a trace");
    assert!(trace.contains("thread.started"), "partial output is kept");
    assert_eq!(processes_with(&live.scratch().display().to_string()), Vec::<String>::new());
}

fn a_run_becomes_a_recording_that_replays_and_goes_stale() {
    let live = Live::new(POSITIVE, "true,Greet Ada.,read-only,600,AHOY_MARKER", opens_and_says("Ahoy! AHOY_MARKER"));
    live.trial("codex").expect(Verdict::Pass);
    let recorded = live.fixture.run(&["record", "t"]);
    assert_eq!(recorded.code, 0, "{}{}", recorded.stdout, recorded.stderr);
    let replay = |live: &Live| live.run(&["--replay", "-v"]);
    let ran = replay(&live);
    assert_eq!((ran.code, ran.stdout.lines().next()), (0, Some("greeting/it/codex: pass")), "{}", ran.stderr);
    let recording = live.fixture.root().join("evals/recordings/greeting/it/codex/1");
    let text: String = ["trace.jsonl", "rollout.jsonl", "final.txt", "meta.json"]
        .map(|name| fs::read_to_string(recording.join(name)).expect("a recorded file"))
        .concat();
    assert!(!text.contains("/var/tmp"), "no machine's paths: {text}");

    // A changed check grades the same evidence again, and can fail it.
    let prompts = live.fixture.root().join("evals/skills/greeting/prompts.csv");
    let table = |prompt: &str, marker: &str| format!("id,{POSITIVE}\nit,true,{prompt},read-only,600,{marker}\n");
    fs::write(&prompts, table("Greet Ada.", "ANOTHER_MARKER")).expect("a table");
    let ran = replay(&live);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("must-include") && ran.stdout.contains("mock model"), "{}", ran.stdout);
    // A changed prompt is another question.
    fs::write(&prompts, table("Greet Bob.", "AHOY_MARKER")).expect("a table");
    let ran = replay(&live);
    assert_eq!(ran.code, 2);
    assert!(ran.stdout.contains("stale") && ran.stdout.contains("changed     prompt"), "{}", ran.stdout);
    // And so is a changed skill.
    fs::write(&prompts, table("Greet Ada.", "AHOY_MARKER")).expect("a table");
    let skill = live.fixture.root().join("skills/greeting/references/formal.md");
    fs::write(skill, "Say something else.\n").expect("a resource");
    assert!(replay(&live).stdout.contains("changed     skill greeting"));
}

fn the_doctor_finds_codex_in_order_and_asks_no_model() {
    let live = Live::new("should_trigger,prompt", "false,Tell me.", says("no"));
    let output = live.program().args(["doctor", "--json"]).current_dir(live.fixture.root()).output();
    let output = output.expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let found: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(output.status.code(), Some(0), "{text}");
    let finding =
        |id: &str| found["findings"].as_array().and_then(|all| all.iter().find(|one| one["id"] == id)).cloned();
    for id in ["codex", "codex-login", "codex-sandbox", "bwrap", "mcp", "scratch"] {
        assert_eq!(finding(id).expect("a finding")["state"], "ok", "{id} in {text}");
    }
    assert!(
        finding("codex").expect("a finding")["found"].as_str().is_some_and(|text| text.starts_with("codex-cli 0."))
    );
    assert!(live.model.requests().is_empty(), "a model was asked");
}
