//! `doctor --calibrate`: it finds that every real agent is read rightly, and it names what a wrapper around one breaks. A run
//! under such a wrapper gives no wrong verdict.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use libtest_mimic::Trial;
use serde_json::{Value, json};
use skill_evals_evidence::settings::mode::AgentKind;
use skill_evals_evidence::trial::outcome::Verdict;

use super::fault_matrix::wrap;
use crate::support::fixture::Fixture;
use crate::support::live::{GREETING, Live};
use crate::support::real::{HOW_TO_GET_AGENTS, all_needing_both_agents, link_ripgrep, needing, program_of};
use crate::support::stand_in::{Request, Turn, named};
use crate::tests;

/// A wrapper around the real program of an agent, and the row that it breaks; none if all is still read rightly.
struct Wrapper {
    name: &'static str,
    agent: &'static str,
    mode: &'static str,
    /// A shell script with the real program in `$real`.
    script: &'static str,
    breaks: Option<&'static str>,
}

/// A filter of each line of the output.
macro_rules! lines {
    ($sed:literal) => {
        concat!("\"$real\" \"$@\" | sed -u '", $sed, "'; exit ${PIPESTATUS[0]}")
    };
}

/// A Python filter: `o` is the object in a line, which is printed behind it; a line that is not an object stays.
macro_rules! objects {
    ($python:literal) => {
        concat!(
            "\"$real\" \"$@\" | python3 -uc '\nimport json, sys\nfor line in sys.stdin:\n  try: o = json.loads(line)\n  except ValueError: print(line, end=\"\"); continue\n  ",
            $python,
            "\n  print(json.dumps(o), flush=True)'; exit ${PIPESTATUS[0]}"
        )
    };
}

/// A filter of each line of the session files, once the program has ended.
macro_rules! sessions {
    ($sed:literal) => {
        concat!(
            "\"$real\" \"$@\"; code=$?\nfind \"${CODEX_HOME:-$HOME/.claude}\" -name '*.jsonl' -exec sed -i '",
            $sed,
            "' {} +\nexit $code"
        )
    };
}

const fn wrapper(
    name: &'static str,
    (agent, mode): (&'static str, &'static str),
    breaks: Option<&'static str>,
    script: &'static str,
) -> Wrapper {
    Wrapper { name, agent, mode, script, breaks }
}

const CODEX: (&str, &str) = ("codex", "codex");
const CLAUDE: (&str, &str) = ("claude-cli", "cli-native");
const CLAUDE_SDK: (&str, &str) = ("claude-sdk", "native");
const GEMINI: (&str, &str) = ("gemini", "gemini");
const QWEN: (&str, &str) = ("qwen", "qwen");

/// Numbers of tokens as texts, wherever they are.
const TEXTS: &str = objects!(
    "f = lambda v, k=\"\": {n: f(w, n) for n, w in v.items()} if isinstance(v, dict) else [f(w) for w in v] if isinstance(v, list) else str(v) if isinstance(v, int) and \"token\" in k else v\n  o = f(o)"
);

/// Each line in an object of its own.
const ENVELOPE: &str = objects!("o = {\"seq\": 1, \"event\": o}");

/// What a tool returns is printed before its call.
const BEFORE: &str = "\"$real\" \"$@\" | python3 -uc '\nimport sys\nheld = \"\"\nfor line in sys.stdin:\n  if held or \"tool_use\\\"\" in line: \n    if \"tool_result\" in line: print(line, end=\"\"); print(held, end=\"\", flush=True); held = \"\"\n    else: held += line\n  else: print(line, end=\"\", flush=True)\nprint(held, end=\"\")'; exit ${PIPESTATUS[0]}";

/// What commands printed of a SKILL.md is lost, but not in the second try of a trial.
const LOST: &str = "case \"$*\" in *-again*) exec \"$real\" \"$@\" ;; esac
\"$real\" \"$@\" | sed -u '/tool_result/s/\"content\":\"---[^\"]*\"/\"content\":\"\"/'; exit ${PIPESTATUS[0]}";

/// A trial shows nothing after a command began until its time is over, but not in its second try.
const LATE: &str = "case \"$*\" in *-again*) ;; *'task uses-'*) \"$real\" \"$@\" | (sed -u '/item.started.*counted-one/q'; sleep 600) ;; esac
exec \"$real\" \"$@\"";

static WRAPPERS: &[Wrapper] = &[
    wrapper("keys_are_sorted", CODEX, None, objects!("o = dict(sorted(o.items()))")),
    wrapper("an_unknown_event_is_added", CODEX, None, lines!("1i {\"type\":\"thread.heartbeat\"}")),
    wrapper("the_type_of_items_is_renamed", CODEX, Some("activation"), lines!("s/\"item.completed\"/\"item.done\"/")),
    wrapper("commands_are_renamed", CODEX, Some("activation"), lines!("s/\"command_execution\"/\"shell_execution\"/g")),
    wrapper("commands_are_printed_twice", CODEX, Some("activation"), lines!("/\"command_execution\"/p")),
    wrapper("tokens_are_dropped", CODEX, Some("tokens"), objects!("o.pop(\"usage\", None)")),
    wrapper(
        "tokens_are_halved",
        CODEX,
        Some("tokens"),
        objects!("u = o.get(\"usage\", {}); u.update(input_tokens=u.get(\"input_tokens\", 0) // 2)"),
    ),
    wrapper("the_end_is_swallowed", CODEX, Some("end"), lines!("/\"turn.completed\"/d")),
    wrapper("the_end_is_late", CODEX, None, "\"$real\" \"$@\"; code=$?; sleep 5; exit $code"),
    wrapper("a_trial_is_late_once", CODEX, None, LATE),
    wrapper("the_exit_status_is_another", CODEX, Some("end"), "\"$real\" \"$@\"; exit 3"),
    wrapper("the_model_is_lost", CODEX, Some("model"), sessions!("s/\"model\":\"stand-in\"/\"engine\":\"stand-in\"/g")),
    wrapper(
        "the_refusal_of_the_login_is_translated",
        CODEX,
        None,
        lines!(
            "s/unexpected status 401 Unauthorized/Zugriff verweigert/g; s/401/Nein/g; s/Incorrect API key/Falscher Schluessel/g"
        ),
    ),
    wrapper(
        "a_skill_is_listed_that_was_not_shown",
        CODEX,
        Some("delivered"),
        sessions!("s#</skills_instructions>#\\\\n- greeting: Greets. (file: r0/greeting/SKILL.md)\\\\n&#"),
    ),
    wrapper(
        "the_list_of_skills_is_cut",
        CODEX,
        Some("delivered"),
        sessions!("s#- greeting: [^(]*(file: r[0-9]*/greeting/SKILL.md)##"),
    ),
    wrapper("keys_are_sorted", CLAUDE, None, objects!("o = dict(sorted(o.items()))")),
    wrapper("an_unknown_event_is_added", CLAUDE, None, lines!("1i {\"type\":\"system\",\"subtype\":\"heartbeat\"}")),
    wrapper(
        "the_type_of_calls_is_renamed",
        CLAUDE,
        Some("activation"),
        lines!("s/\"type\":\"tool_use\"/\"type\":\"tool_call\"/g"),
    ),
    wrapper("calls_are_printed_twice", CLAUDE, None, lines!("/\"type\":\"tool_use\"/p")),
    wrapper("results_are_damaged", CLAUDE, Some("activation"), lines!("/\"tool_result\"/s/.$//")),
    wrapper(
        "tokens_are_dropped",
        CLAUDE,
        Some("tokens"),
        objects!("o.get(\"type\") == \"result\" and [o.pop(key, None) for key in (\"usage\", \"modelUsage\")]"),
    ),
    wrapper("the_end_is_swallowed", CLAUDE, Some("end"), lines!("/\"type\":\"result\"/d")),
    wrapper("the_end_is_late", CLAUDE, None, "\"$real\" \"$@\"; code=$?; sleep 5; exit $code"),
    wrapper("the_exit_status_is_another", CLAUDE, Some("end"), "\"$real\" \"$@\"; exit 3"),
    wrapper(
        "the_model_is_another",
        CLAUDE,
        Some("model"),
        lines!("s/\"model\":\"stand-in\"/\"model\":\"house-model\"/g"),
    ),
    wrapper(
        "the_refusal_of_the_login_is_translated",
        CLAUDE,
        Some("login"),
        lines!("s/401/200/g; s/authentication_[a-z]*/verweigert/g; s/API Error/Fehler/g; s/Please run/Bitte/g"),
    ),
    wrapper(
        "a_skill_is_listed_that_was_not_shown",
        CLAUDE_SDK,
        Some("delivered"),
        sessions!("/\"skill_listing\"/s/\"names\":\\[/&\"greeting\",/"),
    ),
    wrapper(
        "the_list_of_skills_is_cut",
        CLAUDE,
        Some("delivered"),
        sessions!("/\"skill_listing\"/s/\"names\":\\[[^]]*\\]/\"names\":[\"init\"]/"),
    ),
    wrapper(
        "the_list_of_skills_is_lost",
        CLAUDE,
        Some("delivered"),
        sessions!("s/\"skill_listing\"/\"skill_overview\"/"),
    ),
    wrapper(
        "calls_lose_their_names",
        GEMINI,
        Some("activation"),
        lines!("s/\"tool_name\":\"activate_skill\"/\"tool_name\":\"activate\"/g"),
    ),
    wrapper("commands_are_printed_twice", GEMINI, None, lines!("/run_shell_command/p")),
    wrapper("numbers_are_texts", CODEX, Some("tokens"), TEXTS),
    wrapper("lines_are_in_envelopes", CODEX, Some("end"), ENVELOPE),
    wrapper("lines_end_in_two_characters", CODEX, None, lines!("s/$/\\r/")),
    wrapper("a_mark_of_the_encoding_comes_first", CODEX, Some("activation"), lines!("1s/^/\\xEF\\xBB\\xBF/")),
    wrapper(
        "missing_values_are_null",
        CODEX,
        None,
        objects!("o.update({key: None for key in (\"item\", \"usage\", \"error\", \"message\") if key not in o})"),
    ),
    wrapper(
        "tokens_are_counted_in_thousands",
        CODEX,
        Some("tokens"),
        objects!("u = o.get(\"usage\", {}); u.update({key: value / 1000 for key, value in u.items()})"),
    ),
    wrapper("the_field_of_commands_is_renamed", CODEX, None, lines!("s/\"command\":/\"cmd\":/")),
    wrapper(
        "commands_are_lists_of_lists",
        CODEX,
        Some("activation"),
        objects!("i = o.get(\"item\") or {}; \"command\" in i and i.update(command=[[i[\"command\"]]])"),
    ),
    wrapper(
        "lines_are_split_into_two",
        CODEX,
        Some("activation"),
        lines!("/\"command_execution\"/s/,\"status\"/\\n,\"status\"/"),
    ),
    wrapper("the_streams_are_swapped", CODEX, Some("end"), "\"$real\" \"$@\" 3>&1 1>&2 2>&3"),
    wrapper("numbers_are_texts", CLAUDE, None, TEXTS),
    wrapper("lines_are_in_envelopes", CLAUDE, Some("end"), ENVELOPE),
    wrapper("results_come_before_their_calls", CLAUDE, Some("activation"), BEFORE),
    wrapper(
        "a_field_of_the_input_is_renamed",
        CLAUDE,
        Some("activation"),
        lines!("s/\"input\":{\"skill\":/\"input\":{\"title\":/"),
    ),
    wrapper(
        "the_tool_of_skills_is_renamed",
        CLAUDE,
        Some("activation"),
        lines!("s/\"name\":\"Skill\"/\"name\":\"LoadSkill\"/"),
    ),
    wrapper(
        "skills_are_listed_twice",
        CLAUDE,
        None,
        sessions!("/\"skill_listing\"/s/\"greeting\",/\"greeting\",\"greeting\",/"),
    ),
    wrapper(
        "answers_are_of_a_second_session",
        CLAUDE,
        None,
        objects!("o.get(\"type\") == \"assistant\" and o.update(session_id=\"00000000-0000-4000-8000-000000000000\")"),
    ),
    wrapper(
        "characters_are_cut",
        CLAUDE,
        Some("end"),
        lines!("s/CALIBRATED/CALIB\\xE2\\x82/; s/AHOY_MARKER/AHOY\\xE2\\x82/"),
    ),
    wrapper(
        "the_limit_is_told_in_another_language",
        CLAUDE,
        Some("limit"),
        lines!("s/429/200/g; s/rate_limit[a-z_]*/gesperrt/g; s/API Error[^\"]*/Zu viele Anfragen/g"),
    ),
    wrapper(
        "the_limit_is_told_in_the_time_of_another_place",
        CLAUDE,
        Some("limit"),
        lines!("/429/s/API Error[^\"]*/You'\\''ve hit your session limit · resets 9am (Asia\\/Tokyo)/"),
    ),
    wrapper("the_exit_status_is_another", GEMINI, Some("end"), "\"$real\" \"$@\"; exit 3"),
    wrapper("lines_are_in_envelopes", GEMINI, Some("end"), ENVELOPE),
    wrapper("numbers_are_texts", GEMINI, None, TEXTS),
    wrapper(
        "the_input_is_a_text",
        GEMINI,
        Some("activation"),
        objects!("\"parameters\" in o and o.update(parameters=json.dumps(o[\"parameters\"]))"),
    ),
    wrapper("lines_end_in_two_characters", QWEN, None, lines!("s/$/\\r/")),
    wrapper("what_a_command_printed_is_lost_once", QWEN, None, LOST),
    wrapper("the_streams_are_swapped", QWEN, Some("end"), "\"$real\" \"$@\" 3>&1 1>&2 2>&3"),
    wrapper("the_field_of_commands_is_renamed", QWEN, None, lines!("s/\"input\":{\"command\":/\"input\":{\"cmd\":/g")),
    wrapper(
        "the_model_is_null",
        QWEN,
        Some("model"),
        objects!(
            "f = lambda v: {k: None if k == \"model\" else f(w) for k, w in v.items()} if isinstance(v, dict) else v\n  o = f(o)"
        ),
    ),
];

pub fn trials() -> Vec<Trial> {
    let mut trials = all_needing_both_agents(tests![an_unknown_version_is_calibrated_once_and_a_known_one_never]);
    for kind in AgentKind::ALL {
        let missing = (!program_of(kind).exists()).then_some(kind.profile().program);
        trials.push(needing(
            &format!("calibration::{}_is_read_rightly", kind.as_str()),
            missing,
            HOW_TO_GET_AGENTS,
            move || {
                is_right(kind);
                Ok(())
            },
        ));
    }
    for wrapper in WRAPPERS {
        let kind = AgentKind::named(wrapper.agent).expect("an agent");
        let missing = (!program_of(kind).exists()).then_some(kind.profile().program);
        trials.push(needing(
            &format!("calibration::{}_where_{}", wrapper.agent.replace('-', "_"), wrapper.name),
            missing,
            HOW_TO_GET_AGENTS,
            move || {
                is_named(wrapper);
                Ok(())
            },
        ));
    }
    trials
}

/// A repository with two cases, of which the model gets both wrong: it does not use the skill where it should, and uses it
/// where it should not.
fn live() -> Live {
    let fixture = Fixture::new()
        .skill_text("greeting", GREETING)
        .file("skills/greeting/references/formal.md", "Say \"Good day\".\n")
        .prompts(
            "greeting",
            "id,should_trigger,prompt,timeout_s\npositive,true,Greet Ada.,600\nnegative,false,What is 2+2?,600\n",
        );
    let live = Live::over(fixture, |request: &Request| match (request.step, request.prompt.contains("2+2")) {
        (0, true) => load(request),
        _ => Turn::Say("Ahoy, Ada! AHOY_MARKER".to_owned()),
    });
    link_ripgrep(&cache(&live));
    live
}

fn load(request: &Request) -> Turn {
    let own = AgentKind::ALL.iter().flat_map(|kind| kind.profile().tools.skills);
    match own.copied().find(|name| request.tools.iter().any(|tool| tool == name)) {
        Some(tool) => Turn::Call { tool: tool.to_owned(), input: named(request, tool, "greeting") },
        None => Turn::Shell("cat .agents/skills/greeting/SKILL.md".to_owned()),
    }
}

/// The cache of the programs that calibrate.
fn cache(live: &Live) -> PathBuf {
    live.user_home().join(".cache-of-calibrations")
}

/// A command of the program that may calibrate, with a cache of its own.
fn command(live: &Live, args: &[&str]) -> Command {
    let mut command = live.program();
    command
        .args(args)
        .current_dir(live.fixture.root())
        .env("XDG_CACHE_HOME", cache(live))
        .env_remove("SKILL_EVALS_CALIBRATE");
    command
}

/// The only calibration that the program prints, and its exit status.
fn calibrated(live: &Live, agent: &str) -> (Value, i32) {
    let output = command(live, &["doctor", "--calibrate", "--agent", agent, "--json"]).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let printed: Value = serde_json::from_str(&text)
        .unwrap_or_else(|_| panic!("no JSON: {text}{}", String::from_utf8_lossy(&output.stderr)));
    (printed["calibrations"][0].clone(), output.status.code().expect("a status"))
}

fn rows(calibration: &Value) -> &[Value] {
    calibration["rows"].as_array().expect("rows")
}

fn row<'a>(calibration: &'a Value, reading: &str) -> &'a Value {
    rows(calibration).iter().find(|row| row["reading"] == reading).expect("a row")
}

fn is_right(kind: AgentKind) {
    let live = live();
    let (calibration, status) = calibrated(&live, kind.as_str());
    assert_eq!((&calibration["trusted"], status), (&json!(true), 0), "{calibration:#}");
    for reading in ["delivered", "activation", "commands", "tokens", "model", "end", "login", "limit"] {
        assert_ne!(row(&calibration, reading)["state"], "wrong", "{calibration:#}");
    }
    assert_eq!(row(&calibration, "activation")["state"], "right", "{calibration:#}");
}

fn is_named(wrapper: &'static Wrapper) {
    let live = live();
    wrap(live.fixture.root(), wrapper.script);
    let (mut calibration, _) = calibrated(&live, wrapper.agent);
    // On a busy machine an agent may show too little twice. What a wrapper breaks is broken each time.
    if wrapper.breaks.is_none() && rows(&calibration).iter().any(|row| row["state"] == "cannot be seen") {
        calibration = calibrated(&live, wrapper.agent).0;
    }
    let broken: Vec<&Value> =
        rows(&calibration).iter().filter(|row| row["state"] != "right").map(|row| &row["reading"]).collect();
    match wrapper.breaks {
        Some(row) => assert!(broken.contains(&&json!(row)), "{broken:?}: {calibration:#}"),
        None => assert!(broken.is_empty(), "{broken:?}: {calibration:#}"),
    }
    let ran = command(&live, &["run", "--run-id", "t", "--mode", wrapper.mode]).output().expect("it starts");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(!said.contains("calibrating"), "it is known by now: {said}");
    for case in ["positive", "negative"] {
        let trial = live.kept("greeting", case, wrapper.mode).unwrap_or_else(|| panic!("nothing was kept: {said}"));
        let verdict = trial.grade.verdict;
        assert!(matches!(verdict, Verdict::Fail | Verdict::Error), "{case}: {:#?}", trial.grade);
    }
}

/// The pinned agents are those that our CI measures.
fn an_unknown_version_is_calibrated_once_and_a_known_one_never() {
    let live = live();
    let run = |id: &str, args: &[&str]| {
        let args = [&["run", "--run-id", id, "--mode", "codex"], args].concat();
        let ran = command(&live, &args).output().expect("it starts");
        String::from_utf8_lossy(&ran.stderr).into_owned()
    };
    let known = run("a", &[]);
    assert!(!known.contains("calibrat"), "{known}");
    assert!(!live.user_home().join(".cache-of-calibrations/skill-evals").exists());
    wrap(live.fixture.root(), "exec \"$real\" \"$@\"");
    let first = run("b", &[]);
    assert!(first.contains("calibrating it first") && first.contains("can be trusted here"), "{first}");
    let second = run("c", &[]);
    assert!(!second.contains("calibrat"), "{second}");
    fs::write(live.fixture.root().join("codex.sh"), fs::read(live.fixture.root().join("codex.sh")).expect("a script"))
        .expect("a script");
    assert!(run("d", &[]).contains("calibrating it first"), "another file is another program");
}
