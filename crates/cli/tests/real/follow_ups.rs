//! Several messages in one session of the real agents: one trial and one trace, whose final message is that of the last one.

use libtest_mimic::Trial;
use serde_json::{Value, json};
use skill_evals_evidence::settings::mode::{AgentKind, Delivery, Mode};
use skill_evals_evidence::trial::outcome::{Status, Verdict};

use crate::support::live::{Live, OPEN_GREETING};
use crate::support::real::{HOW_TO_GET_AGENTS, needing, program_of};
use crate::support::stand_in::{Request, Turn, named};
use crate::tests;

const COLUMNS: &str = "should_trigger,prompt,follow_ups,must_include,must_not_include,timeout_s";
const CELLS: &str =
    r#"true,Say hello.,"[""Greet Ada in the house style."", ""And now Bob.""]",AHOY_MARKER Bob,^Hello.$,600"#;

/// A test of a mode whose agent continues sessions.
type Test = fn(&str);

pub fn trials() -> Vec<Trial> {
    let of_mode: [(&str, Test); 1] = [("each_message_is_sent_when_the_one_before_is_answered", sends_each_message)];
    let of_agent: [(&str, Test); 1] = [("a_session_that_fails_in_a_later_message_is_an_error", fails_later)];
    // Cline continues none.
    let modes =
        Mode::built_in().into_iter().filter(|mode| mode.delivery.offers_skills() && mode.agent != AgentKind::Cline);
    let both =
        crate::support::real::all_needing_both_agents(tests![a_message_without_an_answer_is_an_error_whatever_follows]);
    let mut trials = Vec::new();
    for mode in modes {
        let missing = (!program_of(mode.agent).exists()).then_some(mode.agent.profile().program);
        let of_agent = of_agent.iter().filter(|_| mode.delivery == Delivery::Native);
        for &(name, test) in of_mode.iter().chain(of_agent) {
            let mode = mode.name.clone();
            trials.push(needing(&format!("follow_ups::{mode}::{name}"), missing, HOW_TO_GET_AGENTS, move || {
                test(&mode);
                Ok(())
            }));
        }
    }
    trials.extend(both);
    trials
}

/// Loads the skill `greeting` by the way that there is; by MCP where there are both.
pub(super) fn load(request: &Request) -> Turn {
    let tool = |is: &dyn Fn(&str) -> bool| request.tools.iter().find(|tool| is(tool)).cloned();
    let served = tool(&|tool| tool.contains("skilljack") && (tool.ends_with("_skill") || tool.ends_with("-skill")));
    if let Some(tool) = served {
        return Turn::Call { tool, input: json!({ "name": "greeting" }) };
    }
    match tool(&|tool| ["Skill", "skill", "activate_skill"].contains(&tool)) {
        Some(tool) => Turn::Call { input: named(request, &tool, "greeting"), tool },
        None => Turn::Shell(OPEN_GREETING.to_owned()),
    }
}

fn answer(request: &Request) -> Turn {
    match (request.prompt.as_str(), request.step) {
        ("Greet Ada in the house style.", 0) => load(request),
        ("Greet Ada in the house style.", _) => Turn::Say("Ahoy, Ada! AHOY_MARKER Ada".to_owned()),
        ("And now Bob.", _) => Turn::Say("Ahoy, Bob! AHOY_MARKER Bob".to_owned()),
        _ => Turn::Say("Hello.".to_owned()),
    }
}

fn sends_each_message(mode: &str) {
    let live = Live::new(COLUMNS, CELLS, answer);
    let ran = live.run(&["--mode", mode, "--record"]);
    let trial = live.kept("greeting", "it", mode).unwrap_or_else(|| panic!("{mode}: {}{}", ran.stdout, ran.stderr));
    trial.expect(Verdict::Pass);
    assert_eq!(trial.text("final.txt"), "Ahoy, Bob! AHOY_MARKER Bob", "{mode}");
    let found = &trial.check("triggered").found;
    assert!(found.contains("in answer to message 2"), "{mode}: {found}");
    let usage = trial.grade.metrics.usage.expect("tokens");
    let asked: u64 = live.model.requests().len() as u64;
    assert_eq!(asked, 4, "{mode}");
    assert!(usage.output_tokens > 0 && usage.cost_usd.is_none_or(|cost| cost > 0.0), "{mode}: {usage:?}");
    // Four requests of about 1,000 tokens. A session that was resumed counts all of them again.
    assert!((4_000..5_000).contains(&usage.input_tokens), "{mode}: {usage:?}");
    let root = live.fixture.root();
    let args = ["show", &format!("greeting/it/{mode}"), "--run", "t", "--json"];
    let shown = live.program().args(args).current_dir(root).output().expect("the program starts");
    let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    let texts: Vec<&str> = shown["timeline"]["entries"]
        .as_array()
        .expect("events")
        .iter()
        .filter(|event| ["prompt", "said"].contains(&event["kind"].as_str().expect("a kind")))
        .map(|event| event["text"].as_str().expect("a text"))
        .collect();
    let expected = [
        "Say hello.",
        "Hello.",
        "Greet Ada in the house style.",
        "Ahoy, Ada! AHOY_MARKER Ada",
        "And now Bob.",
        "Ahoy, Bob! AHOY_MARKER Bob",
    ];
    assert_eq!(texts, expected, "{mode}");
    let replayed =
        live.program().args(["run", "--replay", "--mode", mode, "-v"]).current_dir(live.fixture.root()).output();
    let replayed = String::from_utf8(replayed.expect("the program starts").stdout).expect("UTF-8");
    assert!(replayed.contains("1 passed"), "{mode}: {replayed}");
    assert_eq!(live.model.requests().len(), 4, "a replay asks no model");
}

fn fails_later(mode: &str) {
    let live = Live::new(COLUMNS, CELLS, |request| match request.prompt.as_str() {
        "And now Bob." => Turn::Status(400),
        _ => answer(request),
    });
    let trial = live.trial(mode);
    trial.expect(Verdict::Error);
    assert_eq!(trial.check("must-include").status, Status::Unknown, "an earlier answer is not the last one");
    // codex reports no tokens for a turn that failed, and those of the turns before are not all.
    let whole = trial.grade.metrics.usage.map(|usage| usage.input_tokens);
    let least = trial.grade.metrics.usage_at_least.map(|usage| usage.input_tokens);
    assert_eq!((whole.is_none(), least.is_some()), (mode == "codex", mode == "codex"), "{mode}");
    assert!(whole.or(least).is_some_and(|tokens| (3_000..4_000).contains(&tokens)), "{mode}: {whole:?} {least:?}");
}

fn a_message_without_an_answer_is_an_error_whatever_follows() {
    for mode in ["codex", "cli-native", "native"] {
        // Claude sends the next message as a part of the one that had no answer.
        let live = Live::new(COLUMNS, CELLS, |request| {
            let said = |message: &str| request.body.to_string().contains(message);
            match request.step {
                _ if said("And now Bob.") => Turn::Say("Ahoy, Bob! AHOY_MARKER Bob".to_owned()),
                _ if said("Greet Ada in the house style.") => Turn::Say("Ahoy, Ada!".to_owned()),
                0 => load(request),
                _ => Turn::Say(String::new()),
            }
        });
        let trial = live.trial(mode);
        trial.expect(Verdict::Error);
        assert!(trial.text("meta.json").contains("answered 2 of 3 messages"), "{mode}: {}", trial.text("meta.json"));
    }
}
