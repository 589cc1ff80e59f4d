//! What every agent of the registry has to show, in every built-in mode: the same tests for all of them, against a stand-in
//! model. An agent that is new is tested by its line in the registry.

use std::collections::HashSet;
use std::fs;

use libtest_mimic::Trial;
use serde_json::json;
use skill_evals_evidence::settings::mode::{AgentKind, Delivery, Mode};
use skill_evals_evidence::trace::Mechanism;
use skill_evals_evidence::trace::exposure::DescriptionVisibility;
use skill_evals_evidence::trace::trouble::TroubleKind;
use skill_evals_evidence::trial::outcome::{Status, Verdict};

use super::fault_matrix::wrap;
use crate::support::fixture::Fixture;
use crate::support::live::{GREETING, Live, behind_the_door, patiently, request_text};
use crate::support::real::{HOW_TO_GET_AGENTS, bwrap_works, needing, program_of};
use crate::support::stand_in::{AnswerFault, Request, Turn, named};

/// A case that wants the skill and a file of it, in words that every format of cases has.
const LOADS: &str = r#"{"prompt":"Greet Dr. Ada.","evalConfig":{"expectedSkillName":"greeting","expectResourceLoad":true,"timeoutS":600}}"#;

const RESOURCE: &str = "references/formal.md";

/// The program `$real` dies at work, with what started it.
const CRASH: &str = "\"$real\" \"$@\" <&0 &\nsleep 3\nkill -9 $!\nkill -9 $$";

/// How the description of the skill begins. Some agents escape it in their lists.
const DESCRIPTION: &str = "Greets people in the \"house\" style of <A> &amp; B & C.";

/// What the model answers.
const ANSWER: &str = "Good day, Dr. Ada.";

/// A test that an agent has to pass in a mode.
type Test = fn(&'static Mode);

pub fn trials() -> Vec<Trial> {
    let offering: [(&str, Test); 5] = [
        ("a_skill_that_is_used_is_seen_with_its_files_the_answer_and_the_tokens", uses_the_skill),
        ("a_skill_that_is_not_used_is_not_seen", does_not_use_it),
        ("a_skill_that_is_not_there_was_wanted_and_not_used", wants_another),
        ("a_crash_is_told_from_an_answer", crashes),
        ("a_refusal_of_the_model_is_its_own_doing", refuses),
    ];
    let always: [(&str, Test); 2] =
        [("refusals_of_the_provider_are_told_apart", refused), ("a_model_that_never_answers_is_told_as_such", hangs)];
    let foreign: [(&str, Test); 1] = [("a_missing_program_is_told_with_how_to_get_it", is_missing)];
    let native: [(&str, Test); 3] = [
        ("a_skill_that_the_prompt_calls_is_activated", is_called),
        ("thoughts_are_seen_if_the_agent_shows_them", thinks),
        ("a_limit_on_turns_is_kept_or_said_not_to_be", limits_turns),
    ];
    let of_user: [(&str, Test); 1] = [("the_user_s_own_setup_is_there_only_if_it_is_asked_for", has_the_users_setup)];
    let baseline: [(&str, Test); 1] = [("a_baseline_offers_no_skill", offers_none)];
    let mut trials = Vec::new();
    let mut known = HashSet::new();
    for mode in Box::leak(Mode::built_in().into_boxed_slice()) {
        let program = mode.agent.profile().program;
        let missing = (!program_of(mode.agent).exists()).then_some(program);
        let is_first = known.insert(mode.agent);
        let own: &[(&str, Test)] = if mode.delivery.offers_skills() { &offering } else { &baseline };
        let by_prompt = native.iter().filter(|_| mode.delivery == Delivery::Native);
        let has_setup = mode.delivery == Delivery::Native && !mode.agent.profile().setup.is_empty();
        let by_home = of_user.iter().filter(|_| has_setup);
        // What a provider does is the same in all modes of an agent.
        let of_agent = always.iter().filter(|_| is_first);
        // Our own program is never missing.
        let foreign = foreign.iter().filter(|_| is_first && mode.agent != AgentKind::Chat);
        for &(name, test) in own.iter().chain(by_prompt).chain(by_home).chain(of_agent).chain(foreign) {
            let mode: &'static Mode = mode;
            trials.push(needing(&format!("conformance::{mode}::{name}"), missing, HOW_TO_GET_AGENTS, move || {
                test(mode);
                Ok(())
            }));
        }
        // The same verdicts, where all that the agent reaches is a door.
        let by_door = offering.iter().chain(&native).filter(|_| mode.delivery == Delivery::Native);
        let missing = missing.or_else(|| (!bwrap_works()).then_some("bwrap"));
        for &(name, test) in by_door {
            let mode: &'static Mode = mode;
            trials.push(needing(
                &format!("conformance::door::{mode}::{name}"),
                missing,
                HOW_TO_GET_AGENTS,
                move || {
                    behind_the_door(|| test(mode));
                    Ok(())
                },
            ));
        }
    }
    trials
}

/// One case under every agent.
pub fn of_all_agents() -> Trial {
    needing("conformance::one_case_under_every_installed_agent_ends_in_one_table", None, HOW_TO_GET_AGENTS, || {
        runs_side_by_side();
        Ok(())
    })
}

/// The repository with the skill, whose model does what `script` says.
fn live(script: impl Fn(&Request) -> Turn + Send + Sync + 'static) -> Live {
    let fixture = Fixture::new()
        .skill_text("greeting", GREETING.replace("in the house style.", &DESCRIPTION[14..]))
        .file(&format!("skills/greeting/{RESOURCE}"), "Say \"Good day\".\n")
        .task("it", LOADS);
    Live::over(fixture, script)
}

/// The case that has nothing to do with the skill: it passes unless nothing was measured.
fn negative(script: impl Fn(&Request) -> Turn + Send + Sync + 'static) -> Live {
    Live::new("should_trigger,prompt", "false,What is 2+2?", script)
}

/// A trial of the same case, whose model never answers so that its agent gives up: it is an error of this kind, and what the agent
/// printed until then is kept.
fn gives_up(mode: &Mode, kind: TroubleKind, turn: fn() -> Turn) {
    // OpenCode and Vibe work for four seconds before they ask their model.
    let seconds = if matches!(mode.agent, AgentKind::OpenCode | AgentKind::Vibe) { 30 } else { 20 };
    let measured = patiently(seconds, |seconds| {
        let cells = format!("false,What is 2+2?,{seconds}");
        let live = Live::new("should_trigger,prompt,timeout_s", &cells, move |_| turn());
        let ran = live.run(&["--mode", &mode.name]);
        let trial = live.kept("greeting", "it", &mode.name).ok_or("nothing was kept")?;
        let trouble = trial.grade.trouble.as_ref().map(ToString::to_string);
        let is_it = trial.grade.trouble.as_ref().is_some_and(|trouble| trouble.kind == kind);
        let is_told = is_it && trial.verdict() == Verdict::Error && ran.code == 3;
        if !is_told {
            return Err(format!("{trouble:?}, expected {kind:?}: {}{}", ran.stdout, ran.stderr));
        }
        if trial.text("trace.jsonl").is_empty() { Err("nothing that was printed is kept".to_owned()) } else { Ok(()) }
    });
    measured.unwrap_or_else(|why| panic!("{why}"));
}

/// The tool of the skills' server whose name ends so, as this agent names it.
fn served(request: &Request, end: &str) -> Option<String> {
    request.tools.iter().find(|tool| tool.contains("skilljack") && tool.ends_with(end)).cloned()
}

/// Loads the skill by the way that there is; by MCP where there are both.
pub(super) fn load(request: &Request, mode: &Mode, skill: &str) -> Turn {
    if let Some(tool) = served(request, "_skill").or_else(|| served(request, "-skill")) {
        return Turn::Call { tool, input: json!({ "name": skill }) };
    }
    match skill_tool(request, mode) {
        Some(tool) => Turn::Call { tool: tool.clone(), input: named(request, tool, skill) },
        None => Turn::Shell(format!("cat {}/{skill}/SKILL.md", mode.agent.profile().skill_folders[0])),
    }
}

/// The agent's own tool for skills, if it has one and offers it.
fn skill_tool<'a>(request: &'a Request, mode: &Mode) -> Option<&'a String> {
    request.tools.iter().find(|tool| mode.agent.profile().tools.skills.contains(&tool.as_str()))
}

pub(super) fn load_resource(request: &Request, mode: &Mode, skill: &str, path: &str) -> Turn {
    match served(request, "resource") {
        Some(tool) => Turn::Call { tool, input: json!({ "skill": skill, "path": path }) },
        None => Turn::Shell(format!("cat {}/{skill}/{path}", mode.agent.profile().skill_folders[0])),
    }
}

fn uses_the_skill(mode: &'static Mode) {
    let live = live(move |request| match request.step {
        0 => load(request, mode, "greeting"),
        // On a busy machine, Qwen Code sometimes loses what a short command prints.
        1..5 if !request.tool_results.concat().contains("Good day") => {
            load_resource(request, mode, "greeting", RESOURCE)
        }
        _ => Turn::Say(ANSWER.to_owned()),
    });
    let trial = live.trial(&mode.name);
    trial.expect(Verdict::Pass);
    live.expect_wire(&trial);
    asked_as_by_a_user(&live, mode);
    let requests = live.model.requests();
    let last = requests.last().expect("a request");
    assert!(last.tool_results.join("\n").contains("Good day"), "the model was given the file: {:?}", last.tool_results);
    let metrics = &trial.grade.metrics;
    let how = match mode.delivery {
        delivery if delivery.mcp() => Mechanism::McpTool,
        _ if skill_tool(last, mode).is_some() => Mechanism::SkillTool,
        _ => Mechanism::ReadSkillFile,
    };
    let seen: Vec<_> = metrics.activations.iter().map(|found| (found.skill.as_str(), found.how)).collect();
    assert_eq!(seen, [("greeting", how)]);
    assert_eq!(trial.status("delivered"), Status::Pass);
    if mode.delivery == Delivery::Native {
        // Cline's list has only names.
        let is_listed = request_text(&requests[0]).contains(&DESCRIPTION[..20]);
        let expected = if is_listed { DescriptionVisibility::Whole } else { DescriptionVisibility::NameOnly };
        assert_eq!(metrics.described, Some(expected));
    }
    assert_eq!(metrics.resources.iter().map(|found| found.path.as_str()).collect::<Vec<_>>(), [RESOURCE]);
    assert_eq!(trial.text("final.txt"), ANSWER);
    let usage = metrics.usage.expect("usage");
    assert!(usage.input_tokens > 1000 && usage.output_tokens > 0, "{usage:?}");
    assert_eq!(usage.cost_usd.is_some(), mode.agent.profile().reports.cost, "{usage:?}");
    assert!(metrics.first_input_tokens.is_some_and(|first| first > 1000 && first < usage.input_tokens));
    assert_eq!((metrics.unknown_events, metrics.damaged_lines), (0, 0), "{}", trial.text("trace.jsonl"));
    let reads = if mode.delivery == Delivery::Native { last.tool_results.len() - 1 } else { 0 };
    assert_eq!(metrics.effective_commands, reads as u64, "reading the file is one");
    assert_eq!(trial.meta.agent.version.as_deref().map(|version| version.split('.').count()), Some(3));
    assert_eq!(trial.meta.scripted.as_deref(), Some("stand-in model"));
    let log = trial.text("session.md");
    assert!(log.contains("> **Note**: a mock model") && log.contains("## Evaluation"), "{log}");
    let times = log.lines().filter(|line| line.contains(". ") && line.matches(':').count() == 2);
    assert!(times.count() >= 2, "steps have times: {log}");
}

fn does_not_use_it(mode: &'static Mode) {
    let live = live(|_| Turn::Say(ANSWER.to_owned()));
    let trial = live.trial(&mode.name);
    assert_eq!(trial.expect(Verdict::Fail).status("triggered"), Status::Fail);
    assert_eq!(trial.check("triggered").found, "not activated");
    assert_eq!((trial.status("delivered"), trial.text("final.txt").as_str()), (Status::Pass, ANSWER));
    live.expect_wire(&trial);
    asked_as_by_a_user(&live, mode);
}

/// Nothing that the model was sent names this program, its directories or the repository with the cases.
fn asked_as_by_a_user(live: &Live, mode: &Mode) {
    if !bwrap_works() {
        return;
    }
    let paths = [live.scratch(), live.fixture.root()].map(|path| path.display().to_string());
    let words = ["skill-evals", "skill_evals", "SKILL_EVALS", "/room", "/control", "/trial", &paths[0], &paths[1]];
    for request in live.model.requests() {
        let text = request.body.to_string();
        for word in words {
            let around = text.find(word).map(|at| {
                String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(200)..(at + 200).min(text.len())])
                    .into_owned()
            });
            assert_eq!(around, None, "{mode}: `{word}` reached the model");
        }
    }
}

fn wants_another(mode: &'static Mode) {
    let live = live(move |request| match request.step {
        0 => load(request, mode, "greetings"),
        _ => Turn::Say(ANSWER.to_owned()),
    });
    let trial = live.trial(&mode.name);
    assert_eq!(trial.expect(Verdict::Fail).status("triggered"), Status::Fail);
    assert!(trial.grade.metrics.activations.is_empty(), "{:?}", trial.grade.metrics);
}

fn is_called(mode: &'static Mode) {
    let call = mode.agent.profile().call_of("greeting").unwrap_or("/greeting".to_owned());
    let script = |_: &Request| Turn::Say(ANSWER.to_owned());
    let live = Live::new("should_trigger,prompt,timeout_s", &format!("true,{call} Ada,600"), script);
    let trial = live.trial(&mode.name);
    let seen: Vec<_> = trial.grade.metrics.activations.iter().map(|found| found.how).collect();
    let is_known = mode.agent.profile().calls_skill.is_some();
    assert_eq!(seen, if is_known { vec![Mechanism::Injected] } else { Vec::new() });
    trial.expect(if is_known { Verdict::Pass } else { Verdict::Fail });
}

fn thinks(mode: &'static Mode) {
    const THOUGHT: &str = "Who might Ada be?";
    let answer = || Turn::Several(vec![Turn::Think(THOUGHT.to_owned()), Turn::Say(ANSWER.to_owned())]);
    let live = negative(move |_| answer());
    live.trial(&mode.name).expect(Verdict::Pass);
    let shown = live.program().args(["show", "--run", "t", "--verbose"]).current_dir(live.fixture.root()).output();
    let shown = String::from_utf8_lossy(&shown.expect("the program starts").stdout).into_owned();
    assert_eq!(shown.contains(THOUGHT), mode.agent.profile().reports.thoughts, "{shown}");
}

/// The model of this case never stops to call its tools.
fn limits_turns(mode: &'static Mode) {
    let live = Live::new("should_trigger,prompt,timeout_s,max_turns", "false,What is 2+2?,600,3", |request| {
        match request.step {
            0..9 => Turn::Shell(format!("echo {}", request.step)),
            _ => Turn::Say(ANSWER.to_owned()),
        }
    });
    let trial = live.trial(&mode.name);
    let is_said = trial.meta.not_enforced.iter().any(|what| what.contains("limit on turns"));
    let (limits, asked) = (mode.agent.profile().reports.limits_turns, live.model.requests().len());
    assert_eq!((is_said, asked > 5), (!limits, !limits), "{asked} requests: {:#?}", trial.grade);
}

fn has_the_users_setup(mode: &'static Mode) {
    let live = live(move |request| match request.step {
        0 => load(request, mode, "greeting"),
        1..5 if !request.tool_results.concat().contains("Good day") => {
            load_resource(request, mode, "greeting", RESOURCE)
        }
        _ => Turn::Say(ANSWER.to_owned()),
    });
    // Where users keep their skills is often a link to a repository of theirs.
    let directory = mode.agent.profile().setup.iter().find(|path| path.ends_with("/skills")).expect("a directory");
    let (skill, dotfiles) =
        (live.user_home().join(directory).join("own-one"), live.user_home().join("dotfiles/own-one"));
    for path in [skill.parent().expect("a parent"), &dotfiles] {
        fs::create_dir_all(path).expect("a directory");
    }
    let own = "---\nname: own-one\ndescription: Knows what only this user knows.\n---\n\nText.\n";
    fs::write(dotfiles.join("SKILL.md"), own).expect("a file");
    std::os::unix::fs::symlink(&dotfiles, &skill).expect("a link");
    let asked = || live.model.requests().iter().map(request_text).collect::<String>();
    let part = format!("user's setup: {directory}/own-one");

    let isolated = live.trial(&mode.name);
    isolated.expect(Verdict::Pass);
    assert!(!asked().contains("own-one") && !isolated.meta.inputs.0.contains_key(&part));

    let ran = live.run(&["--mode", &mode.name, "--home", "user"]);
    let own = live.kept("greeting", "it", &mode.name).unwrap_or_else(|| panic!("nothing was kept: {}", ran.stderr));
    own.expect(Verdict::Pass);
    // Cline's list has only names.
    assert!(asked().contains("own-one"), "{}", asked());
    assert!(own.meta.inputs.0.contains_key(&part), "{:?}", own.meta.inputs);
    assert_ne!(own.meta.inputs.besides_skills(), isolated.meta.inputs.besides_skills());
}

/// The model of some agents does not load the skill.
fn runs_side_by_side() {
    let live = live(|request| {
        let own = AgentKind::ALL.iter().flat_map(|kind| kind.profile().tools.skills);
        let tool = own.copied().find(|name| request.tools.iter().any(|tool| tool == name));
        match tool {
            Some(tool) if request.step == 0 => {
                Turn::Call { tool: tool.to_owned(), input: named(request, tool, "greeting") }
            }
            _ => Turn::Say(ANSWER.to_owned()),
        }
    });
    fs::write(live.fixture.root().join("evals/tasks/it.json"), LOADS.replace(r#","expectResourceLoad":true"#, ""))
        .expect("a task");
    let ran = live.run(&["--agent", "installed", "--verbose"]);
    let agents = Mode::built_in().into_iter().filter(|mode| mode.delivery == Delivery::Native);
    for mode in agents.filter(|mode| mode.agent != AgentKind::Chat && program_of(mode.agent).exists()) {
        let rows: Vec<Vec<&str>> = ran.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
        // Of several modes of a program, one runs.
        if *mode.name == *"native" {
            continue;
        }
        let label = format!("({})", mode.name);
        let of_mode = |row: &Vec<&str>| row.iter().take(2).position(|word| *word == &*mode.name || *word == label);
        let row = rows.iter().find_map(|row| row.get(of_mode(row)? + 1..).filter(|rest| rest.len() > 2));
        let row = row.unwrap_or_else(|| panic!("{mode}: {}", ran.stdout));
        let expected = if mode.agent.profile().tools.skills.is_empty() { ["fail", "-"] } else { ["pass", "skill"] };
        assert_eq!(row[..2], expected, "{mode}: {}{}", ran.stdout, ran.stderr);
    }
}

fn crashes(mode: &'static Mode) {
    let live = negative(|_| Turn::Hang);
    wrap(live.fixture.root(), CRASH);
    let trial = live.trial(&mode.name);
    let trouble = trial.expect(Verdict::Error).grade.trouble.as_ref().expect("trouble");
    assert_eq!(trouble.kind, TroubleKind::Crashed, "{trouble}");
}

fn refuses(mode: &'static Mode) {
    let live = live(|_| Turn::Faulty(Box::new(Turn::Say("I".to_owned())), AnswerFault::Refusal));
    let trial = live.trial(&mode.name);
    let completed = trial.expect(Verdict::Fail).status("completed");
    assert_eq!(completed, if mode.agent.profile().reports.early_ends { Status::Fail } else { Status::Pass });
}

fn refused(mode: &'static Mode) {
    gives_up(mode, TroubleKind::Login, || Turn::Status(401));
    gives_up(mode, TroubleKind::RateLimit, || Turn::Status(429));
    gives_up(mode, TroubleKind::RateLimit, || Turn::Status(529));
    gives_up(mode, TroubleKind::Provider, || Turn::Status(400));
}

fn hangs(mode: &'static Mode) {
    gives_up(mode, TroubleKind::NoAnswer, || Turn::Hang);
}

fn is_missing(mode: &'static Mode) {
    let live = negative(|_| Turn::Say("4".to_owned()));
    let output = live.command(&["--mode", &mode.name]).env("PATH", "/usr/bin:/bin").output();
    let output = output.expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(mode.agent.profile().how_to_get), "{said}");
}

fn offers_none(mode: &'static Mode) {
    let live = negative(|_| Turn::Say("4".to_owned()));
    let trial = live.trial(&mode.name);
    trial.expect(Verdict::Pass);
    let asked: String = live.model.requests().iter().map(request_text).collect();
    assert!(!asked.contains("Greets people in the house style"));
    assert_eq!(trial.check("delivered").expected, "`greeting` not offered");
    assert_eq!(fs::read_to_string(trial.folder.join("final.txt")).ok().as_deref(), Some("4"));
}
