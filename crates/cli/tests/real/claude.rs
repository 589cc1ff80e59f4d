//! The real `claude`, by itself and under the Agent SDK's protocol, against a stand-in model: what the adapter says must
//! be what happened.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::catalogue;
use crate::support::fixture::Fixture;
use crate::support::live::{GREETING, Live, Trial, patiently, processes_with, request_text, wait_until};
use crate::support::stand_in::{Protocol, Request, Turn, call};
use crate::tests;
use serde_json::{Value, json};
use skill_evals_evidence::trace::Mechanism;
use skill_evals_evidence::trace::exposure::DescriptionVisibility;
use skill_evals_evidence::trace::trouble::TroubleKind;
use skill_evals_evidence::trial::outcome::{Status, Verdict};

const TRIGGER: &str = "should_trigger,prompt";
const CLI: &str = "cli-native";
const CLAUDE_MODES: [&str; 4] = ["mcp", "native", "cli-native", "mcp+native"];

pub fn trials() -> Vec<libtest_mimic::Trial> {
    crate::support::real::all_needing_agent(
        "claude",
        tests![
            a_skill_that_a_sub_agents_sub_agent_uses_is_seen_live_and_in_its_recording,
            a_negative_case_fails_when_the_skill_is_loaded,
            a_sibling_that_is_opened_first_is_an_activation_of_both,
            a_skill_that_does_not_exist_was_not_used,
            what_only_users_or_only_models_may_call_is_offered_to_those,
            of_two_mechanisms_the_chosen_one_is_told,
            a_resource_that_claudes_own_tool_reads_is_loaded,
            listing_files_loads_none,
            a_skill_that_is_read_without_the_tool_is_activated_by_its_content_and_not_by_the_tool,
            searches_through_folders_are_looks_unless_they_print_most_of_a_skill,
            lists_of_what_servers_have_are_looks,
            a_servers_prompt_and_a_skill_that_forks_are_used_where_the_prompt_calls_them,
            a_skill_that_the_prompt_calls_by_name_is_seen_as_injected,
            a_description_comes_whole_from_a_small_catalogue_and_is_missing_in_a_large_one,
            the_lint_warns_of_a_catalogue_from_the_size_on_at_which_descriptions_are_left_out,
            a_long_description_is_cut,
            a_description_in_the_instructions_of_the_server_is_seen_and_one_in_a_tool_is_not,
            a_session_tells_the_agents_own_clock_and_what_each_model_took,
            a_limit_on_turns_ends_the_model_and_that_is_a_failed_check,
            a_sub_agents_sub_agent_that_hangs_is_told_by_what_it_waited_for,
            a_hanging_agent_and_its_grandchildren_are_gone_after_the_timeout,
            a_huge_answer_is_kept_whole,
            reading_tools_only_in_the_read_only_sandbox,
            the_workspace_can_be_written_and_outside_of_it_cannot,
            inside_bwrap_commands_cannot_write_elsewhere,
            a_required_sandbox_that_is_missing_is_an_error,
            an_output_schema_is_passed_on_and_checked,
            a_task_passes_its_system_prompt_on_as_the_mode_demands,
            a_prompt_may_start_with_a_dash,
            prompts_that_are_longer_than_an_argument_may_be_arrive_whole,
            nothing_of_the_users_own_comes_along_but_the_login,
            a_key_that_the_users_settings_get_or_hold_is_the_login,
            what_claude_asks_is_denied_and_told,
            an_own_server_is_tested_in_place_of_ours,
            an_own_server_that_does_not_work_is_an_error_that_says_how,
            an_own_mode_has_its_model_and_arguments,
            a_run_becomes_a_recording_that_replays,
            an_interrupted_run_leaves_no_agent,
            an_argument_that_the_program_does_not_know_is_an_error_that_names_it,
            two_skills_of_one_name_are_told_with_both_places,
            nothing_is_written_into_the_repository,
        ],
    )
}

/// Loads the skill by whatever way there is; by MCP where there are both.
fn load(request: &Request, skill: &str) -> Turn {
    let call = |tool: &str, input| Turn::Call { tool: tool.to_owned(), input };
    if request.tools.iter().any(|tool| tool == "mcp__skilljack__skill") {
        call("mcp__skilljack__skill", json!({ "name": skill }))
    } else if request.protocol == Protocol::Messages {
        call("Skill", json!({ "skill": skill }))
    } else {
        Turn::Shell(format!("cat .agents/skills/{skill}/SKILL.md"))
    }
}

fn loads_and_says(answer: &'static str) -> impl Fn(&Request) -> Turn + Send + Sync + 'static {
    move |request| if request.step == 0 { load(request, "greeting") } else { Turn::Say(answer.to_owned()) }
}

fn says(answer: &'static str) -> impl Fn(&Request) -> Turn + Send + Sync + 'static {
    move |_| Turn::Say(answer.to_owned())
}

/// Does one turn after the other, then says "Done.".
fn does(turns: Vec<Turn>) -> impl Fn(&Request) -> Turn + Send + Sync + 'static {
    move |request| turns.get(request.step).cloned().unwrap_or_else(|| Turn::Say("Done.".to_owned()))
}

fn mechanisms(trial: &Trial) -> Vec<(&str, Mechanism)> {
    trial.grade.metrics.activations.iter().map(|found| (found.skill.as_str(), found.how)).collect()
}

/// Starts a sub-agent that starts a sub-agent, which loads the skill or does not.
fn delegates(loads: bool) -> impl Fn(&Request) -> Turn + Send + Sync + 'static {
    let start = |prompt: &str| {
        call("Agent", json!({ "description": "d", "prompt": prompt, "subagent_type": "general-purpose" }))
    };
    move |request| match (request.prompt.as_str(), request.step) {
        ("Go deeper.", 0) => start("Go to the ground."),
        ("Go to the ground.", 0) if loads => load(request, "greeting"),
        ("What is 2+2?", 0) => start("Go deeper."),
        _ => Turn::Say("4".to_owned()),
    }
}

fn a_skill_that_a_sub_agents_sub_agent_uses_is_seen_live_and_in_its_recording() {
    for mode in ["mcp", CLI] {
        let loud = Live::new(TRIGGER, "false,What is 2+2?", delegates(true));
        let ran = loud.run(&["--mode", mode, "--record", "--accept-failing"]);
        let trial = loud.kept("greeting", "it", mode).unwrap_or_else(|| panic!("{}{}", ran.stdout, ran.stderr));
        assert_eq!(trial.expect(Verdict::Fail).status("not-triggered"), Status::Fail);
        assert_eq!(mechanisms(&trial).len(), 1, "{mode}");
        assert!(
            !trial.text("trace.jsonl").contains("AHOY_MARKER") && trial.text("subagents.jsonl").contains("Ahoy, NAME")
        );
        // Four requests of sub-agents, and those of the agent itself.
        assert!(trial.grade.metrics.usage.is_some_and(|usage| usage.input_tokens > 6_000), "{:?}", trial.grade.metrics);
        let replayed =
            loud.program().args(["run", "--replay", "--mode", mode]).current_dir(loud.fixture.root()).output();
        let replayed = String::from_utf8_lossy(&replayed.expect("the program starts").stdout).into_owned();
        assert!(replayed.contains("not-triggered") && replayed.contains("1 failed"), "{replayed}");

        let quiet = Live::new(TRIGGER, "false,What is 2+2?", delegates(false));
        quiet.trial(mode).expect(Verdict::Pass);
    }
}

fn a_negative_case_fails_when_the_skill_is_loaded() {
    let loud = Live::new(TRIGGER, "false,What is 2+2?", loads_and_says("4"));
    let quiet = Live::new(TRIGGER, "false,What is 2+2?", says("4"));
    for mode in ["mcp", CLI] {
        assert_eq!(loud.trial(mode).expect(Verdict::Fail).status("not-triggered"), Status::Fail);
        quiet.trial(mode).expect(Verdict::Pass);
    }
}

fn with_sibling() -> Fixture {
    Fixture::new()
        .skill_text("greeting", GREETING)
        .skill("farewell")
        .prompts("greeting", "id,should_trigger,prompt\nit,true,Greet Ada.\n")
}

fn a_sibling_that_is_opened_first_is_an_activation_of_both() {
    let live = Live::over(with_sibling(), |request| match request.step {
        0 => load(request, "farewell"),
        1 => load(request, "greeting"),
        _ => Turn::Say("Ahoy".to_owned()),
    });
    for mode in CLAUDE_MODES {
        let trial = live.trial(mode);
        let skills: Vec<_> = mechanisms(&trial).into_iter().map(|(skill, _)| skill).collect();
        assert_eq!(skills, ["farewell", "greeting"], "{mode}");
        assert!(trial.check("triggered").found.contains("other skills activated: `farewell`"));
    }
    let only = Live::over(with_sibling(), |request| match request.step {
        0 => load(request, "farewell"),
        _ => Turn::Say("Bye".to_owned()),
    });
    assert_eq!(only.trial("native").expect(Verdict::Fail).status("triggered"), Status::Fail);
}

fn a_skill_that_does_not_exist_was_not_used() {
    let live = Live::new(TRIGGER, "true,Greet Ada.", |request| match request.step {
        0 => load(request, "greetings"),
        _ => Turn::Say("Ahoy".to_owned()),
    });
    for mode in CLAUDE_MODES {
        assert_eq!(mechanisms(live.trial(mode).expect(Verdict::Fail)), []);
    }
}

/// The skill with one more key, one case, and a model that loads it or does not.
fn with_key(key: &str, case: &str, loads: bool) -> Live {
    let text = GREETING.replacen("---\n", &format!("---\n{key}\n"), 1);
    let fixture = Fixture::new().skill_text("greeting", text).prompts("greeting", format!("id,{TRIGGER}\nit,{case}\n"));
    Live::over(fixture, move |request| match request.step {
        0 if loads => load(request, "greeting"),
        _ => Turn::Say("Ahoy".to_owned()),
    })
}

/// The trial is an error before its agent starts, with these words.
fn refused(live: &Live, mode: &str, why: &str) {
    let ran = live.run(&["--mode", mode]);
    assert_eq!(ran.code, 3, "{}{}", ran.stdout, ran.stderr);
    let progress =
        fs::read_to_string(live.fixture.root().join("artifacts/skill-evals/t/progress.jsonl")).expect("progress");
    let row: Value = serde_json::from_str(progress.trim()).expect("a row");
    assert_eq!((&row["verdict"], &row["trouble"]["kind"]), (&json!("error"), &json!("not-delivered")), "{row:#}");
    assert!(row["trouble"]["detail"].as_str().is_some_and(|detail| detail.contains(why)), "{row:#}");
    assert!(live.model.requests().is_empty(), "a model was asked, and paid");
}

fn what_only_users_or_only_models_may_call_is_offered_to_those() {
    let users = "disable-model-invocation: true";
    let called = with_key(users, "true,/greeting Ada", false).trial(CLI);
    assert_eq!(mechanisms(called.expect(Verdict::Pass)), [("greeting", Mechanism::Injected)]);
    assert!(called.check("delivered").found.contains("only users can call it"), "{:?}", called.grade.checks);
    // claude does not show it to its model: neither a positive case nor a negative one measures anything.
    for row in ["true,Greet Ada.", "false,What is 2+2?"] {
        refused(&with_key(users, row, false), CLI, "SKILL.md: [withheld] `disable-model-invocation`");
    }
    let quoted = with_key("disable-model-invocation: 'true'", "false,What is 2+2?", true);
    refused(&quoted, "native", "SKILL.md: [withheld] `disable-model-invocation`");
    for mode in ["mcp", "mcp+native"] {
        let served = with_key(users, "false,What is 2+2?", false);
        refused(&served, mode, "SKILL.md: [withheld] `disable-model-invocation`");
    }

    let models = with_key("user-invocable: false", "true,Greet Ada.", true);
    let ran = models.run(&["--mode", CLI, "--record"]);
    let trial = models.kept("greeting", "it", CLI).expect("a kept trial");
    assert_eq!(mechanisms(trial.expect(Verdict::Pass)), [("greeting", Mechanism::SkillTool)], "{}", ran.stdout);
    let replayed =
        models.program().args(["run", "--replay", "--mode", CLI]).current_dir(models.fixture.root()).output();
    let replayed = String::from_utf8_lossy(&replayed.expect("the program starts").stdout).into_owned();
    assert!(replayed.contains("1 passed, 0 failed"), "{replayed}");
    with_key("user-invocable: false", "true,Greet Ada.", true).trial("mcp").expect(Verdict::Pass);
    for (key, mode) in [("user-invocable: false", CLI), ("user-invocable: 'false'", "native")] {
        let called = with_key(key, "true,/greeting Ada", false);
        refused(&called, mode, "SKILL.md: [withheld] `user-invocable: false`");
    }
}

fn of_two_mechanisms_the_chosen_one_is_told() {
    let native = Live::new(TRIGGER, "true,Greet Ada.", does(vec![call("Skill", json!({ "skill": "greeting" }))]));
    let trial = native.trial("mcp+native");
    assert_eq!(mechanisms(trial.expect(Verdict::Pass)), [("greeting", Mechanism::SkillTool)]);
    assert!(trial.check("triggered").found.starts_with("skill tool ("), "{:?}", trial.check("triggered"));
    let mcp = Live::new(TRIGGER, "true,Greet Ada.", loads_and_says("Ahoy"));
    let trial = mcp.trial("mcp+native");
    assert!(trial.check("triggered").found.starts_with("MCP tool ("), "{:?}", trial.check("triggered"));
}

const LOADS: &str =
    r#"{"prompt":"Greet Dr. Ada.","evalConfig":{"expectedSkillName":"greeting","expectResourceLoad":true}}"#;

fn with_resource() -> Fixture {
    Fixture::new()
        .skill_text("greeting", GREETING)
        .file("skills/greeting/references/formal.md", "Say \"Good day\".\n")
        .task("it", LOADS)
}

/// claude's own reading tool takes an absolute path.
fn a_resource_that_claudes_own_tool_reads_is_loaded() {
    let live = Live::over(with_resource(), |request| match request.step {
        0 => load(request, "greeting"),
        1 => {
            let folder = request.system.split("Base directory for this skill: ").nth(1).expect("the skill's directory");
            let folder = folder.lines().next().expect("a line");
            call("Read", json!({ "file_path": format!("{folder}/references/formal.md") }))
        }
        _ => Turn::Say("Good day.".to_owned()),
    });
    let trial = live.trial("native");
    trial.expect(Verdict::Pass);
    assert!(trial.grade.metrics.resources[0].evidence.starts_with("Read "), "{:?}", trial.grade.metrics);
}

fn listing_files_loads_none() {
    let list = call("mcp__skilljack__skill-resource", json!({ "skill": "greeting" }));
    let live = Live::over(with_resource(), move |request| match request.step {
        0 => load(request, "greeting"),
        1 => list.clone(),
        _ => Turn::Say("Good day.".to_owned()),
    });
    assert_eq!(live.trial("mcp").expect(Verdict::Fail).status("resource-loaded"), Status::Fail);
}

fn a_skill_that_is_read_without_the_tool_is_activated_by_its_content_and_not_by_the_tool() {
    let cat = |_: &Request| Turn::Shell("cat .claude/skills/greeting/SKILL.md".into());
    // claude's own reading tool takes an absolute path.
    let read = |request: &Request| {
        let (_, cwd) = request.system.split_once("working directory: ").expect("where it works");
        let cwd = cwd.lines().next().expect("a line").trim();
        call("Read", json!({ "file_path": format!("{cwd}/.claude/skills/greeting/SKILL.md") }))
    };
    let does = |first: fn(&Request) -> Turn| {
        move |request: &Request| if request.step == 0 { first(request) } else { Turn::Say("Done.".to_owned()) }
    };
    let columns = "should_trigger,prompt,activation";
    for (first, name) in [(cat as fn(&Request) -> Turn, "cat "), (read, "Read ")] {
        for (mode, cells, id, verdict) in [
            ("native", "true,Greet Ada.,", "triggered", Verdict::Pass),
            (CLI, "true,Greet Ada.,content", "triggered", Verdict::Pass),
            (CLI, "false,Greet Ada.,content", "not-triggered", Verdict::Fail),
            ("native", "true,Greet Ada.,tool", "triggered", Verdict::Fail),
            (CLI, "true,Greet Ada.,tool", "triggered", Verdict::Fail),
            (CLI, "false,Greet Ada.,tool", "not-triggered", Verdict::Pass),
        ] {
            let trial = Live::new(columns, cells, does(first)).trial(mode);
            assert_eq!(mechanisms(trial.expect(verdict)), [("greeting", Mechanism::ReadSkillFile)], "{mode} {cells}");
            assert_eq!(trial.grade.metrics.inspections, Vec::<String>::new(), "{mode} {cells}");
            let told = &trial.check(id).found;
            assert!(told.starts_with(&format!("read SKILL.md ({name}")), "{told}");
            let by_tool = cells.ends_with("tool");
            assert_eq!(told.ends_with(", not loaded by the skill tool"), by_tool, "{told}");
        }
    }
}

fn searches_through_folders_are_looks_unless_they_print_most_of_a_skill() {
    for (mode, skills) in
        [("codex", ".agents/skills"), ("cli-native", ".claude/skills"), ("mcp+native", ".claude/skills")]
    {
        let searches = [
            format!("grep -rn name: {skills}"),
            "grep -R description: . | head -5".to_owned(),
            "find -L . -name SKILL.md".to_owned(),
            "find -L . -type f | sort".to_owned(),
            format!("cd {skills} && grep -rl Ahoy greeting"),
        ];
        let turns: Vec<Turn> = searches.iter().cloned().map(Turn::Shell).collect();
        let live = Live::new(TRIGGER, "true,Greet Ada.", does(turns));
        let trial = live.trial(mode);
        trial.expect(Verdict::Fail);
        let metrics = &trial.grade.metrics;
        assert_eq!((mechanisms(&trial).len(), metrics.resources.len(), metrics.commands), (0, 0, 5), "{mode}");
        // What names no skill is none.
        let looks = [0, 2, 4].map(|at| searches[at].as_str());
        assert_eq!(metrics.inspections, looks, "{mode}");
        assert!(trial.check("triggered").found.contains("without activating: grep -rn"), "{mode}");
        assert_eq!(
            trial.text("session.md").matches("looked at skills without loading").count(),
            3,
            "{}",
            trial.text("session.md")
        );
    }
    // A file that is named is read, also by a program that could search, and so is one of which all is printed.
    for read in ["grep -rn '' .agents/skills/greeting/SKILL.md", "grep -rn '' .agents/skills"] {
        let trial = Live::new(TRIGGER, "true,Greet Ada.", does(vec![Turn::Shell(read.to_owned())])).trial("codex");
        assert_eq!(mechanisms(&trial), [("greeting", Mechanism::ReadSkillFile)], "{read}");
    }
}

fn lists_of_what_servers_have_are_looks() {
    for (mode, lists) in [
        ("mcp", vec![("ListMcpResourcesTool", json!({ "server": "skilljack" }))]),
        (
            "codex-mcp",
            vec![("list_mcp_resources", json!({})), ("list_mcp_resource_templates", json!({ "server": "skilljack" }))],
        ),
    ] {
        let turns = lists.iter().map(|(tool, input)| call(tool, input.clone())).collect();
        let live = Live::new(TRIGGER, "true,Greet Ada.", does(turns));
        let trial = live.trial(mode);
        trial.expect(Verdict::Fail);
        let metrics = &trial.grade.metrics;
        assert_eq!((mechanisms(&trial).len(), metrics.resources.len()), (0, 0), "{mode}");
        let looks: Vec<&str> = metrics.inspections.iter().filter_map(|look| look.split(' ').next()).collect();
        let tools: Vec<&str> = lists.iter().map(|(tool, _)| *tool).collect();
        assert_eq!(looks, tools, "{mode}: {}", trial.text("trace.jsonl"));
        let log = trial.text("session.md");
        assert_eq!(log.matches("looked at skills without loading").count(), tools.len(), "{log}");
    }
}

fn a_servers_prompt_and_a_skill_that_forks_are_used_where_the_prompt_calls_them() {
    let live = Live::new(TRIGGER, "true,/mcp__skilljack__greeting Ada", says("Ahoy, Ada!"));
    assert_eq!(mechanisms(live.trial("mcp").expect(Verdict::Pass)), [("greeting", Mechanism::Injected)]);
    let fork = with_key("context: fork", "true,/greeting Ada", false).trial(CLI);
    assert_eq!(mechanisms(fork.expect(Verdict::Pass)), [("greeting", Mechanism::Injected)]);
}

fn a_skill_that_the_prompt_calls_by_name_is_seen_as_injected() {
    for mode in ["native", CLI] {
        let live = Live::new(TRIGGER, "true,/greeting Ada", says("Ahoy, Ada!"));
        let trial = live.trial(mode);
        assert_eq!(mechanisms(trial.expect(Verdict::Pass)), [("greeting", Mechanism::Injected)], "{mode}");
        assert!(trial.text("session.jsonl").contains("<command-name>/greeting"));
    }
}

/// The trial of the skill with this number, and what the model was shown of that skill.
fn described(live: &Live, args: &[&str], mode: &str, number: usize) -> (Trial, crate::support::fixture::Ran) {
    let skill = catalogue::name(number);
    let ran = live.run(&[args, &["--mode", mode, "--case", &format!("{skill}/it")]].concat());
    let trial = live.kept(&skill, "it", mode).unwrap_or_else(|| panic!("{}{}", ran.stdout, ran.stderr));
    (trial, ran)
}

fn a_description_comes_whole_from_a_small_catalogue_and_is_missing_in_a_large_one() {
    for (mode, model, count, last) in [
        ("cli-native", "claude-haiku-4-5", 8, DescriptionVisibility::Whole),
        ("cli-native", "claude-haiku-4-5", 100, DescriptionVisibility::NameOnly),
        ("native", "claude-sonnet-4-5[1m]", 100, DescriptionVisibility::Whole),
        ("native", "claude-haiku-4-5", 100, DescriptionVisibility::NameOnly),
    ] {
        let live = Live::over(catalogue::catalogue(count, 200), says("4"));
        let args = ["--model", model, "--record", "--accept-failing"];
        let (trial, ran) = described(&live, &args, mode, count - 1);
        let shown = catalogue::shown(&live.model.requests()[0], count, 200);
        assert_eq!(shown[count - 1], Some(last), "{mode} {model} {count}");
        assert_eq!(trial.grade.metrics.described, Some(last), "as the model was asked");
        if last == DescriptionVisibility::Whole {
            trial.expect(Verdict::Pass);
            continue;
        }
        assert_eq!(trial.expect(Verdict::Fail).check("described").found, "name only");
        let args = ["run", "--replay", "--mode", mode, "--model", model, "--json"];
        let replayed = live.program().args(args).current_dir(live.fixture.root()).output().expect("the program starts");
        let replayed: Value = serde_json::from_slice(&replayed.stdout).expect("JSON");
        let cut = json!([{ "mode": mode, "skill": "skill-099", "trials": 1, "shown": { "shown": "name-only" } }]);
        assert_eq!(replayed["cut_descriptions"], cut, "{}", ran.stdout);
    }
}

fn the_lint_warns_of_a_catalogue_from_the_size_on_at_which_descriptions_are_left_out() {
    for (model, window, count, length) in [(Some("claude-haiku-4-5"), "200,000", 10, 178), (None, "1,000,000", 50, 464)]
    {
        for (length, warns) in [(length, false), (length + 1, true)] {
            let live = Live::over(catalogue::catalogue(count, length), says("4"));
            assert_eq!(live.fixture.lines().contains(window), warns, "{}", live.fixture.lines());
            let model = model.map_or(vec![], |model| vec!["--model", model]);
            described(&live, &model, CLI, 0);
            let shown = catalogue::shown(&live.model.requests()[0], count, length);
            assert_eq!(shown.contains(&Some(DescriptionVisibility::NameOnly)), warns, "{window} {length} {shown:?}");
        }
    }
}

fn a_long_description_is_cut() {
    let live = Live::over(catalogue::catalogue(1, 1_400).skill_text("skill-000", long_description()), says("4"));
    let (trial, _) = described(&live, &[], CLI, 0);
    let cut = DescriptionVisibility::Cut { characters: 1_535, of: 1_600 };
    assert_eq!(trial.expect(Verdict::Fail).grade.metrics.described, Some(cut));
}

fn long_description() -> String {
    format!("---\nname: skill-000\ndescription: {}\n---\n\nDo it.\n", "far ".repeat(399) + "far.")
}

fn a_description_in_the_instructions_of_the_server_is_seen_and_one_in_a_tool_is_not() {
    for (mode, count, seen) in [
        ("mcp", 10, DescriptionVisibility::Whole),
        ("mcp", 100, DescriptionVisibility::Unknown),
        ("mcp+native", 10, DescriptionVisibility::Whole),
    ] {
        let live = Live::over(catalogue::catalogue(count, 60), says("4"));
        let (trial, _) = described(&live, &[], mode, 0);
        assert_eq!(trial.grade.metrics.described, Some(seen), "{mode} {count}");
        let verdict = if seen == DescriptionVisibility::Whole { Verdict::Pass } else { Verdict::Error };
        trial.expect(verdict);
    }
}

fn a_session_tells_the_agents_own_clock_and_what_each_model_took() {
    let live = Live::new(TRIGGER, "true,Greet Ada.", loads_and_says("Ahoy!"));
    for mode in ["mcp", "native", "cli-native", "mcp+native", "codex", "codex-mcp"] {
        let trial = live.trial(mode);
        trial.expect(Verdict::Pass);
        let mut show = live.program();
        let shown = show.args(["show", "it", "--json"]).current_dir(live.fixture.root()).output().expect("it starts");
        let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
        let session = &shown["session"];
        assert_eq!(session["id"], format!("greeting__it__{mode}__1"));
        let time = |key: &str| session["timing"][key].as_u64();
        let (total, own) = (time("total_ms"), time("agent_ms"));
        assert!(own > Some(0) && own <= total, "{mode}: {session:#}");
        assert_eq!(time("overhead_ms"), total.zip(own).map(|(total, own)| total - own), "{mode}");
        assert_eq!(time("server_start_ms").is_some(), mode.contains("mcp"), "{mode}: {session:#}");
        let by_claude = !mode.starts_with("codex");
        assert_eq!((time("api_ms").is_some(), session["turns"].is_u64()), (by_claude, by_claude), "{mode}");
        let models = session["models"].as_object().expect("models");
        let sum: u64 = models.values().filter_map(|usage| usage["input_tokens"].as_u64()).sum();
        assert!(sum > 0 && session["usage"]["input_tokens"] == sum, "{mode}: {session:#}");
        assert!(models.values().all(|usage| usage["cost_usd"].is_f64() == by_claude), "{mode}: {session:#}");
        assert!(session["agent"]["version"].is_string() && session["answer"] == "Ahoy!", "{mode}: {session:#}");
    }
}

fn a_limit_on_turns_ends_the_model_and_that_is_a_failed_check() {
    let looks =
        |request: &Request| if request.step < 4 { Turn::Shell("date".to_owned()) } else { load(request, "greeting") };
    let live = Live::new("should_trigger,prompt,max_turns", "true,Greet Ada.,3", looks);
    for mode in CLAUDE_MODES {
        let trial = live.trial(mode);
        let completed = trial.expect(Verdict::Fail).check("completed");
        assert_eq!(completed.expected, "the model finishes within 3 turns", "{mode}");
        assert_eq!(completed.found, "the model reached the most turns that it may take", "{mode}");
        assert_eq!((trial.status("triggered"), trial.grade.metrics.commands), (Status::Fail, 3), "{mode}");
        assert_eq!(trial.meta.case.max_turns, Some(3));
        assert!(!trial.meta.not_enforced.iter().any(|words| words.contains("turns")));
    }
    // One limit for all cases, which this one stays within.
    let live = Live::new(TRIGGER, "true,Greet Ada.", loads_and_says("Ahoy!"));
    fs::write(live.fixture.root().join("evals/evals.toml"), "max_turns = 3\n").expect("settings");
    for mode in ["cli-native", "mcp", "codex"] {
        let trial = live.trial(mode);
        trial.expect(Verdict::Pass);
        assert_eq!(trial.meta.case.max_turns, Some(3), "{mode}");
        let told = trial
            .meta
            .not_enforced
            .iter()
            .any(|words| words == "trials of codex have no limit on turns: 3 were asked for");
        assert_eq!(told, mode == "codex", "{mode}: {:?}", trial.meta.not_enforced);
    }
}

fn a_sub_agents_sub_agent_that_hangs_is_told_by_what_it_waited_for() {
    // The agents have to come to the turn, and write it down, before the time is over.
    let deep = |turn: fn() -> Turn, is_told: fn(&Trial) -> bool| {
        let trial = patiently(25, |seconds| {
            let script = delegates(false);
            let turn = move |request: &Request| match request.prompt.as_str() {
                "Go to the ground." => turn(),
                _ => script(request),
            };
            let cells = format!("false,What is 2+2?,{seconds}");
            let trial = Live::new("should_trigger,prompt,timeout_s", &cells, turn).trial(CLI);
            if is_told(&trial) { Ok(trial) } else { Err(format!("{:#?}", trial.grade)) }
        });
        trial.expect("it is told, however long it takes")
    };
    let kind = |trial: &Trial| trial.grade.trouble.as_ref().map(|trouble| trouble.kind);
    let model = deep(|| Turn::Hang, |trial| trial.verdict() == Verdict::Error);
    assert_eq!(kind(&model), Some(TroubleKind::NoAnswer));
    let tool = deep(|| Turn::Shell("mkfifo open && cat open".to_owned()), |trial| trial.verdict() == Verdict::Fail);
    assert_eq!(tool.status("in-time"), Status::Fail);
}

fn a_hanging_agent_and_its_grandchildren_are_gone_after_the_timeout() {
    for (mode, salt) in [("native", 32), (CLI, 33)] {
        let sleep = format!("{salt}{}", std::process::id());
        let command = format!("setsid sleep {sleep} & sleep {sleep} & sleep {sleep}");
        let columns = "should_trigger,prompt,sandbox,timeout_s";
        let measured = patiently(15, |seconds| {
            let command = command.clone();
            let script = move |request: &Request| match request.step {
                0 => Turn::Several(vec![Turn::Say("On it.".to_owned()), Turn::Shell(command.clone())]),
                _ => Turn::Say("Done".to_owned()),
            };
            let live = Live::new(columns, &format!("true,Greet Ada.,workspace-write,{seconds}"), script);
            let trial = live.trial(mode);
            let is_under_way = trial.text("trace.jsonl").contains(&sleep);
            if is_under_way { Ok((live, trial)) } else { Err(format!("{:#?}", trial.grade)) }
        });
        let (live, trial) = measured.expect("the command was under way");
        assert_eq!(trial.expect(Verdict::Fail).status("in-time"), Status::Fail);
        assert_eq!(processes_with(&format!("sleep {sleep}")), Vec::<String>::new());
        assert_eq!(processes_with(&live.scratch().display().to_string()), Vec::<String>::new());
    }
}

fn a_huge_answer_is_kept_whole() {
    const BYTES: usize = 1 << 20;
    for mode in [CLI, "native"] {
        let live = Live::new(TRIGGER, "false,Talk.", |_| Turn::Flood { bytes: BYTES });
        let trial = live.trial(mode);
        trial.expect(Verdict::Pass);
        assert!(trial.text("final.txt").len() >= BYTES, "{mode}");
        assert!(trial.text("trace.jsonl").ends_with("}\n"), "{mode}");
    }
}

fn reading_tools_only_in_the_read_only_sandbox() {
    let columns = "should_trigger,prompt,sandbox,require_files";
    for mode in ["native", CLI, "mcp"] {
        let live = Live::new(
            columns,
            "false,Write.,read-only,a.txt",
            does(vec![
                Turn::Shell("echo x > a.txt".to_owned()),
                call("Write", json!({ "file_path": "a.txt", "content": "x" })),
                Turn::Shell("touch a.txt".to_owned()),
            ]),
        );
        let trial = live.trial(mode);
        assert_eq!(trial.expect(Verdict::Fail).status("require-file"), Status::Fail, "{mode}");
        assert!(!trial.grade.metrics.denials.is_empty(), "{mode}: {:#?}", trial.grade);
        assert!(!live.model.requests()[0].tools.iter().any(|tool| tool == "Write" || tool == "Edit"), "{mode}");
        assert!(trial.meta.not_enforced.iter().any(|open| open.contains("only read")), "{:?}", trial.meta.not_enforced);
    }
}

/// A directory outside every workspace, and a case in which a command tries to write a file of it.
fn writes_in_and_out() -> (tempfile::TempDir, Live) {
    let outside = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let row = format!("false,Write {}/out.txt too,workspace-write,in.txt;in-too.txt", outside.path().display());
    let live = Live::new("should_trigger,prompt,sandbox,require_files", &row, |request: &Request| {
        let outside = request.prompt.split_whitespace().find(|word| word.ends_with("/out.txt")).expect("a path");
        match request.step {
            0 => call("Write", json!({ "file_path": "in.txt", "content": "in" })),
            1 => call("Write", json!({ "file_path": outside, "content": "tool" })),
            2 => Turn::Shell(format!("echo command > in-too.txt; echo command > {outside}")),
            _ => Turn::Say("Done.".to_owned()),
        }
    });
    (outside, live)
}

fn the_workspace_can_be_written_and_outside_of_it_cannot() {
    for mode in ["native", CLI] {
        let (outside, live) = writes_in_and_out();
        fs::write(live.fixture.root().join("evals/evals.toml"), "isolation = \"agent\"\n").expect("settings");
        let trial = live.trial(mode);
        trial.expect(Verdict::Pass);
        assert!(trial.grade.metrics.denials.iter().any(|denial| denial.starts_with("Write ")), "{:#?}", trial.grade);
        // The tool is held back; a command is not, and that is said.
        let written = fs::read_to_string(outside.path().join("out.txt")).ok();
        assert_eq!(written.as_deref(), Some("command\n"), "{mode}");
        assert!(trial.meta.not_enforced.iter().any(|open| open.contains("can write outside the workspace")));
    }
}

fn inside_bwrap_commands_cannot_write_elsewhere() {
    for mode in ["native", CLI] {
        let (outside, live) = writes_in_and_out();
        fs::write(live.fixture.root().join("evals/evals.toml"), "require_sandbox = true\n").expect("settings");
        let trial = live.trial(mode);
        trial.expect(Verdict::Pass);
        assert!(!outside.path().join("out.txt").exists(), "{mode}");
        assert!(!trial.meta.not_enforced.iter().any(|open| open.contains("can write outside the workspace")));
        assert_eq!(processes_with(&live.scratch().display().to_string()), Vec::<String>::new());
    }
}

fn a_required_sandbox_that_is_missing_is_an_error() {
    let live = Live::new("should_trigger,prompt,sandbox", "false,Write.,workspace-write", says("Hi"));
    fs::write(live.fixture.root().join("evals/evals.toml"), "require_sandbox = true\n").expect("settings");
    let node = std::process::Command::new("sh").args(["-c", "command -v node"]).output().expect("a shell").stdout;
    let node = String::from_utf8(node).expect("a path");
    let bin = live.user_home().join("bin");
    fs::create_dir(&bin).expect("a directory");
    for (name, target) in [("node", node.trim().into()), ("claude", crate::support::real::programs().join("claude"))] {
        std::os::unix::fs::symlink(target, bin.join(name)).expect("a link");
    }
    let output = live.command(&["--mode", CLI]).env("PATH", &bin).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("bubblewrap"), "{said}");
}

fn an_output_schema_is_passed_on_and_checked() {
    const SCHEMA: &str = r#"{"type":"object","properties":{"invoked_skills":{"type":"array","items":{"type":"string"}}},
                            "required":["invoked_skills"],"additionalProperties":false}"#;
    for (mode, skill, verdict) in
        [(CLI, "greeting", Verdict::Pass), ("native", "greeting", Verdict::Pass), ("mcp", "other", Verdict::Fail)]
    {
        let live =
            Live::new(
                "should_trigger,prompt,output_schema",
                "true,Greet Ada.,schema.json",
                move |request| match request.step {
                    0 => load(request, "greeting"),
                    1 => call("StructuredOutput", json!({ "invoked_skills": [skill] })),
                    _ => Turn::Say("Done.".to_owned()),
                },
            );
        fs::write(live.fixture.root().join("schema.json"), SCHEMA).expect("a schema");
        let trial = live.trial(mode);
        trial.expect(verdict);
        assert_eq!(trial.status("output-schema"), Status::Pass);
        assert_eq!(trial.text("final.txt"), format!("{{\"invoked_skills\":[\"{skill}\"]}}"));
    }
}

fn a_task_passes_its_system_prompt_on_as_the_mode_demands() {
    let task = r#"{"prompt":"Greet Ada.","systemPrompt":"You \"speak\" as a\npirate.","evalConfig":{"expectedSkillName":"greeting"}}"#;
    let fixture = Fixture::new().skill_text("greeting", GREETING).task("it", task);
    let live = Live::over(fixture, loads_and_says("Ahoy"));
    for mode in CLAUDE_MODES {
        live.trial(mode).expect(Verdict::Pass);
        let asked = live.model.requests().last().expect("a request").system.clone();
        assert!(asked.contains("You \"speak\" as a\npirate."), "{mode}: {asked}");
        // By MCP alone the agent is a bare one; elsewhere it is Claude Code.
        assert_eq!(asked.contains("Claude Code is available"), mode != "mcp", "{mode}: {asked}");
    }
}

fn a_prompt_may_start_with_a_dash() {
    for mode in [CLI, "native"] {
        let live = Live::new(TRIGGER, "false,--help me", says("Gladly."));
        live.trial(mode).expect(Verdict::Pass);
        assert_eq!(live.model.requests()[0].prompt, "--help me");
    }
}

fn prompts_that_are_longer_than_an_argument_may_be_arrive_whole() {
    let long = |word: &str| format!("{} {word}_END", word.repeat(60_000));
    let task = serde_json::json!({
        "prompt": format!("Greet Ada. {}", long("please")),
        "systemPrompt": long("brief"),
        "evalConfig": { "expectedSkillName": "greeting" },
    });
    let fixture = Fixture::new().skill_text("greeting", GREETING).task("it", task.to_string());
    let live = Live::over(fixture, loads_and_says("Ahoy"));
    for mode in [CLI, "native"] {
        live.trial(mode).expect(Verdict::Pass);
        let asked = live.model.requests().pop().expect("a request");
        assert!(request_text(&asked).contains("please_END"), "{mode}: the prompt is cut");
        assert!(asked.system.contains("brief_END"), "{mode}: the system prompt is cut");
    }
}

fn nothing_of_the_users_own_comes_along_but_the_login() {
    for mode in [CLI, "mcp", "native"] {
        let live = Live::new(
            "should_trigger,prompt,sandbox",
            "false,Tell me.,workspace-write",
            |request| {
                match request.step {
                    0 => Turn::Shell("env; echo ${ANTHROPIC_CUSTOM_HEADERS##* }; ls -a $HOME/.claude; cat $HOME/.claude/.credentials.json".to_owned()),
                    _ => Turn::Say("sk-abcdefghijklmnopqrstuvwxyz012345 is a key".to_owned()),
                }
            },
        );
        let claude = live.user_home().join(".claude");
        let skill = claude.join("skills/users-own-skill");
        fs::create_dir_all(&skill).expect("a directory");
        fs::write(skill.join("SKILL.md"), "---\nname: users-own-skill\ndescription: Mine.\n---\n").expect("a skill");
        fs::write(claude.join("CLAUDE.md"), "USERS_OWN_MEMORY").expect("a memory");
        fs::write(
            claude.join("settings.json"),
            r#"{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"echo USERS_OWN_HOOK"}]}]}}"#,
        )
        .expect("settings");
        fs::write(live.user_home().join(".claude.json"), r#"{"mcpServers":{"users-own":{"command":"/bin/false"}}}"#)
            .expect("servers");
        fs::write(claude.join(".credentials.json"), r#"{"claudeAiOauth":{"accessToken":"user-token-0123456789"}}"#)
            .expect("a login");
        fs::write(live.fixture.root().join("CLAUDE.md"), "REPOSITORYS_OWN_MEMORY").expect("a memory");
        let mut command = live.command(&["--mode", mode]);
        command.env("SKILL_EVALS_UNKNOWN_TO_AGENTS", "x").env_remove("SKILL_EVALS_UNKNOWN_TO_AGENTS");
        command.env("ANTHROPIC_CUSTOM_HEADERS", "X-Login: Bearer header-login-0123");
        command.env("USERS_OWN_VARIABLE", "users-own-variable").output().expect("the program starts");
        let trial = live.kept("greeting", "it", mode).expect("a kept trial");
        trial.expect(Verdict::Pass);
        let asked: String = live.model.requests().iter().map(request_text).collect();
        for word in ["users-own", "USERS_OWN", "REPOSITORYS_OWN_MEMORY"] {
            assert!(!asked.contains(word), "{word} reached the model in {mode}");
        }
        assert!(asked.contains(".credentials.json"), "the login came along: {asked}");
        let kept = trial.everything();
        for word in [
            "user-token-0123456789",
            "stand-in-key-for-claude",
            "header-login-0123",
            "sk-abcdefghijklmnopqrstuvwxyz012345",
        ] {
            assert!(!kept.contains(word), "{word} was kept in {mode}");
        }
        assert!(kept.contains("[masked]"));
    }
}

fn a_key_that_the_users_settings_get_or_hold_is_the_login() {
    for (mode, settings) in [
        (CLI, r#"{"apiKeyHelper":"~/bin/key"}"#),
        ("native", r#"{"apiKeyHelper":"~/bin/key"}"#),
        ("native", r#"{"env":{"ANTHROPIC_API_KEY":"key-of-the-settings-0123456789"}}"#),
    ] {
        let live = Live::new(TRIGGER, "true,Greet Ada.", loads_and_says("Ahoy"));
        let home = live.user_home();
        for folder in [".claude", "bin"] {
            fs::create_dir_all(home.join(folder)).expect("a directory");
        }
        fs::write(home.join(".claude/settings.json"), settings).expect("settings");
        fs::write(home.join("bin/key"), "#!/bin/sh\necho key-of-the-helper-0123456789\n").expect("a helper");
        fs::set_permissions(home.join("bin/key"), fs::Permissions::from_mode(0o755)).expect("permissions");
        let mut command = live.command(&["--mode", mode]);
        let output = command.env_remove("ANTHROPIC_API_KEY").output().expect("the program starts");
        let trial = live.kept("greeting", "it", mode).unwrap_or_else(|| panic!("{output:?}"));
        trial.expect(Verdict::Pass);
        assert!(!trial.everything().contains("0123456789"), "{mode}: a key was kept");
    }
}

fn what_claude_asks_is_denied_and_told() {
    let write = || vec![call("Write", json!({ "file_path": "/var/tmp/never.txt", "content": "x" }))];
    let live = Live::new("should_trigger,prompt,sandbox", "false,Write.,workspace-write", does(write()));
    let settings = "[agents.claude-sdk]\nargs = [\"--permission-prompt-tool=stdio\"]\n";
    fs::write(live.fixture.root().join("evals/evals.toml"), settings).expect("settings");
    let trial = live.trial("native");
    trial.expect(Verdict::Pass);
    assert!(trial.text("trace.jsonl").contains("can_use_tool"), "claude asked");
    let told = live.model.requests().last().expect("a request").tool_results.join("\n");
    assert!(told.contains("nobody is here to ask"), "{told}");
    assert_eq!(trial.grade.metrics.denials.len(), 1);
}

/// A server of skills in a few lines, with the tool `load`.
pub(super) const SERVER: &str = r#"
const say = (m) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\n");
const text = (t) => ({ content: [{ type: "text", text: t }] });
const tools = [{ name: "load", description: "Loads a skill: greeting", inputSchema: { type: "object", properties: { skill_name: { type: "string" } } } }];
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "own", version: "1" } } });
  else if (method === "tools/list") say({ id, result: { tools } });
  else if (method === "tools/call") say({ id, result: text(process.getBuiltinModule("fs").readFileSync(process.argv[2] + "/greeting/SKILL.md", "utf8") + "\nSay Ahoy from " + process.argv[2]) });
  else if (id !== undefined) say({ id, result: {} });
});
setInterval(() => {}, 1000);
"#;

fn with_server(script: &str, settings: &str) -> Fixture {
    let settings = format!(
        "[mcp]\ncommand = \"node\"\nargs = [\"{{root}}/server.js\", \"{{skills}}\"]\nname = \"own\"\n{settings}"
    );
    with_sibling().file("server.js", script).file("evals/evals.toml", settings)
}

fn an_own_server_is_tested_in_place_of_ours() {
    // A slow one: claude would begin without it.
    let slow = SERVER.replace("require(", "const begin = Date.now(); while (Date.now() - begin < 6000);\nrequire(");
    let live = Live::over(with_server(&slow, "tool = \"load\"\n"), |request| match request.step {
        0 => call("mcp__own__load", json!({ "skill_name": "greeting" })),
        _ => Turn::Say("Ahoy".to_owned()),
    });
    let trial = live.trial("mcp");
    assert_eq!(mechanisms(trial.expect(Verdict::Pass)), [("greeting", Mechanism::McpTool)]);
    let told = live.model.requests().last().expect("a request").tool_results.join("\n");
    assert!(told.contains("Ahoy from /"), "{told}");
    assert_eq!(processes_with(&live.scratch().display().to_string()), Vec::<String>::new());
}

fn an_own_server_that_does_not_work_is_an_error_that_says_how() {
    let nameless = SERVER.replace("Loads a skill: greeting", "Loads a skill");
    let wrong = [
        ("console.error('no such module: teapot'); process.exit(7)", "tool = \"load\"", ["exit status 7", "teapot"]),
        (
            "console.log('Listening on port 3000')",
            "tool = \"load\"",
            ["not a message of the protocol", "Listening on port"],
        ),
        (SERVER, "", ["it offers load, and no tool `skill`", "`tool` under [mcp]"]),
        ("process.exit(0)", "tool = \"load\"", ["it ended with exit status", "before it had listed its tools"]),
        (nameless.as_str(), "tool = \"load\"", ["names the skill nowhere", "mcp__own__load"]),
    ];
    for (script, settings, expected) in wrong {
        for mode in ["mcp", "codex-mcp"] {
            let live = Live::over(with_server(script, settings), says("Hello"));
            let trial = live.trial(mode);
            let trouble = trial.expect(Verdict::Error).grade.trouble.clone().expect("trouble");
            assert_eq!(trouble.kind, TroubleKind::NotDelivered, "{trouble}");
            for part in expected {
                // codex's evidence has no list of tools; ours of the server has.
                let part = if mode == "codex-mcp" { part.trim_start_matches("mcp__own__") } else { part };
                assert!(trouble.detail.contains(part), "{mode}: {part:?} in {trouble}");
            }
        }
    }
}

fn an_own_mode_has_its_model_and_arguments() {
    let settings = "model = \"for-everybody\"\n[mode.mine]\nagent = \"claude-cli\"\ndelivery = \"mcp\"\nmodel = \
                    \"claude-mine\"\nargs = [\"--effort=low\"]\n";
    let live = Live::over(with_sibling().file("evals/evals.toml", settings), loads_and_says("Ahoy"));
    let trial = live.trial("mine");
    assert_eq!(mechanisms(trial.expect(Verdict::Pass)), [("greeting", Mechanism::McpTool)]);
    assert_eq!(live.model.requests()[0].model, "claude-mine");
    live.trial("native");
    assert_eq!(live.model.requests().last().expect("a request").model, "for-everybody");
    live.run(&["--mode", "mine", "--model", "claude-now"]);
    assert_eq!(live.model.requests().last().expect("a request").model, "claude-now");
}

fn a_run_becomes_a_recording_that_replays() {
    let live = Live::over(with_resource(), |request| match request.step {
        0 => load(request, "greeting"),
        1 if request.tools.iter().any(|tool| tool.starts_with("mcp__")) => {
            call("mcp__skilljack__skill-resource", json!({ "skill": "greeting", "path": "references/formal.md" }))
        }
        1 => Turn::Shell("cat .claude/skills/greeting/references/formal.md".to_owned()),
        _ => Turn::Say("Good day.".to_owned()),
    });
    let modes: Vec<&str> = CLAUDE_MODES.iter().flat_map(|mode| ["--mode", mode]).collect();
    let ran = live.run(&modes);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(live.fixture.run(&["record", "t"]).code, 0);
    let replayed = live.run(&["--replay", "-v"]);
    assert_eq!(replayed.code, 0, "{}{}", replayed.stdout, replayed.stderr);
    for mode in CLAUDE_MODES {
        assert!(replayed.stdout.contains(&format!("greeting/it/{mode}")), "{}", replayed.stdout);
        let folder = live.fixture.root().join("evals/recordings/greeting/it").join(mode).join("1");
        let trace = fs::read_to_string(folder.join("trace.jsonl")).expect("a recorded trace");
        assert!(!trace.contains("/var/tmp") && trace.len() < 6_000, "{}: {trace}", trace.len());
    }
}

fn an_interrupted_run_leaves_no_agent() {
    for mode in [CLI, "mcp"] {
        let live = Live::new(TRIGGER, "true,Greet Ada.", |_| Turn::Hang);
        let child = live.start(&["--mode", mode]);
        wait_until("the model to be asked", || !live.model.requests().is_empty());
        let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("a signal");
        let output = child.wait_with_output().expect("an end");
        assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stdout));
        live.expect_interrupted("greeting", "it", mode);
        assert_eq!(processes_with(&live.scratch().display().to_string()), Vec::<String>::new());
    }
}

fn an_argument_that_the_program_does_not_know_is_an_error_that_names_it() {
    let live = Live::new(TRIGGER, "false,Hi.", says("Hi"));
    let settings = "[agents.claude-cli]\nargs = [\"--from-the-future\"]\n";
    fs::write(live.fixture.root().join("evals/evals.toml"), settings).expect("settings");
    let trial = live.trial(CLI);
    let trouble = trial.expect(Verdict::Error).grade.trouble.clone().expect("trouble");
    assert_eq!(trouble.kind, TroubleKind::CouldNotStart);
    assert!(trouble.detail.contains("--from-the-future") && trouble.detail.contains("version"), "{trouble}");
}

fn two_skills_of_one_name_are_told_with_both_places() {
    let text = "---\nname: greeting\ndescription: Greets.\n---\n";
    let settings = "skill_roots = [\"skills\", \"more\"]\n";
    let fixture = with_sibling().file("more/greeting/SKILL.md", text).file("evals/evals.toml", settings);
    let ran = fixture.run(&["lint"]);
    assert_eq!(ran.code, 1);
    for place in ["skills/greeting/SKILL.md", "more/greeting"] {
        assert!(ran.stdout.contains(place), "{}", ran.stdout);
    }
}

fn nothing_is_written_into_the_repository() {
    let live = Live::new(TRIGGER, "true,Greet Ada.", loads_and_says("Ahoy"));
    let root = live.fixture.root();
    let list = || -> Vec<_> {
        let files = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().flatten();
        let paths = files.map(|entry| entry.path().strip_prefix(root).expect("below").to_path_buf());
        paths.filter(|path| !path.starts_with("artifacts")).collect()
    };
    let before = list();
    // Read-only as well: an attempt would be an error, but for root.
    fs::set_permissions(root.join("skills"), fs::Permissions::from_mode(0o555)).expect("permissions");
    for mode in CLAUDE_MODES {
        live.trial(mode).expect(Verdict::Pass);
    }
    assert_eq!(list(), before);
}
