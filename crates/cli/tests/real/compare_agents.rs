//! Two versions of a skill under the real codex and claude: the stand-in model answers well with a known probability, which
//! depends on the description that it was shown, and `compare` finds out which version is worse.

use std::fs;
use std::process::Command;
use std::sync::Mutex;

use crate::support::fixture::Fixture;
use crate::support::live::{GREETING, Live, OPEN_GREETING};
use crate::support::stand_in::{Request, Turn};
use crate::tests;
use libtest_mimic::Trial;
use serde_json::Value;

pub fn trials() -> Vec<Trial> {
    crate::support::real::all_needing_both_agents(tests![
        codex_with_an_edit_that_makes_it_worse_is_worse_than_the_commit_before,
        claude_with_an_edit_that_makes_it_worse_is_worse_than_the_commit_before,
        an_edit_that_the_model_does_not_mind_is_no_worse,
        codex_loses_to_the_neighbor_that_its_model_prefers,
        codex_loads_a_skill_that_a_diagnosis_forces,
        claude_loads_a_skill_that_a_diagnosis_forces,
    ])
}

/// How often the model answers well when it was shown the old description, and the edited one.
#[derive(Clone, Copy)]
struct Rates {
    old: f64,
    edited: f64,
}

/// A repository whose committed skill is described as of the house style, and whose working tree says otherwise.
fn edited(rates: Rates) -> Live {
    let draw = Mutex::new(fastrand::Rng::with_seed(7));
    let script = move |request: &Request| {
        let shown = if request.body.to_string().contains("in the rude style") { rates.edited } else { rates.old };
        let well = draw.lock().expect("a generator").f64() < shown;
        Turn::Say(if well { "Ahoy, Ada!" } else { "No." }.to_owned())
    };
    let cases = "id,should_trigger,prompt,sandbox,timeout_s,must_include\n\
                 a,false,Say something.,read-only,600,Ahoy\nb,false,Say anything.,read-only,600,Ahoy\n";
    let fixture = Fixture::new().skill_text("greeting", GREETING).prompts("greeting", cases);
    let live = Live::over(fixture, script);
    for args in
        [&["init", "--quiet", "--initial-branch", "main"][..], &["add", "--all"], &["commit", "--quiet", "-m", "first"]]
    {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args).current_dir(live.fixture.root());
        assert!(git.env("HOME", live.user_home()).status().expect("git").success(), "{args:?}");
    }
    let text = GREETING.replace("in the house style", "in the rude style");
    fs::write(live.fixture.root().join("skills/greeting/SKILL.md"), text).expect("a skill");
    live
}

fn compare(live: &Live, mode: &str, options: &[&str]) -> (i32, Value) {
    answer(live, &[&["main", "--mode", mode], options].concat())
}

/// The exit code and the answer of `compare` with these arguments.
fn answer(live: &Live, arguments: &[&str]) -> (i32, Value) {
    let mut command = live.program();
    command.args(["compare", "--jobs", "4", "--run-id", "r", "--json"]);
    let output = command.args(arguments).current_dir(live.fixture.root()).output().expect("the program starts");
    let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let found = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}\n{told}"));
    (output.status.code().unwrap_or_default(), found)
}

fn is_found_worse(mode: &str) {
    let live = edited(Rates { old: 0.95, edited: 0.2 });
    let (code, found) = compare(&live, mode, &[]);
    let comparison = &found["comparison"];
    assert_eq!((code, comparison["results"][0].as_str()), (1, Some("broke")), "{found:#}");
    let passed = |arm: &str| {
        let count = |key: &str| comparison[arm]["rate"][key].as_f64().unwrap_or_else(|| panic!("{found:#}"));
        count("passed") / count("trials")
    };
    assert!(passed("baseline") > 0.6 && passed("candidate") < 0.6, "{found:#}");
    assert_eq!(
        (&comparison["baseline"]["not_measured"], &comparison["candidate"]["not_measured"]),
        (&Value::from(0), &Value::from(0)),
        "{found:#}"
    );
    assert!(found["trials"]["counted"].as_u64().is_some_and(|used| used < 80), "{found:#}");
    assert_eq!(found["scripted"][0], "stand-in model");
    // The model was shown both versions.
    let old =
        live.model.requests().iter().filter(|request| !request.body.to_string().contains("in the rude style")).count();
    assert!(old > 0 && old < live.model.requests().len());
}

fn codex_with_an_edit_that_makes_it_worse_is_worse_than_the_commit_before() {
    is_found_worse("codex");
}

fn claude_with_an_edit_that_makes_it_worse_is_worse_than_the_commit_before() {
    is_found_worse("cli-native");
}

fn an_edit_that_the_model_does_not_mind_is_no_worse() {
    let live = edited(Rates { old: 1.0, edited: 1.0 });
    let (code, found) = compare(&live, "codex", &["--margin", "0.2"]);
    assert_eq!((code, found["comparison"]["results"][0].as_str()), (0, Some("no-worse")), "{found:#}");
}

fn codex_loses_to_the_neighbor_that_its_model_prefers() {
    let draw = Mutex::new(fastrand::Rng::with_seed(7));
    let script = move |request: &Request| {
        let crowded = request.system.contains("Welcomes people");
        match request.step {
            0 if crowded && draw.lock().expect("a generator").f64() < 0.8 => {
                Turn::Shell("cat .agents/skills/welcoming/SKILL.md".to_owned())
            }
            0 => Turn::Shell(OPEN_GREETING.to_owned()),
            _ => Turn::Say("Ahoy, Ada!".to_owned()),
        }
    };
    let fixture = Fixture::new()
        .skill_text("greeting", GREETING)
        .skill_text("welcoming", "---\nname: welcoming\ndescription: Welcomes people.\n---\n\nSay welcome.\n")
        .prompts("greeting", "id,should_trigger,prompt,sandbox,timeout_s\na,true,Greet Ada.,read-only,600\n");
    let live = Live::over(fixture, script);
    let arms = ["--baseline", "offer=alone", "--candidate", "offer=all", "--skill", "greeting", "--max-trials", "40"];
    let (code, found) = answer(&live, &[&arms[..], &["--mode", "codex"]].concat());
    assert_eq!((code, found["comparison"]["results"][0].as_str()), (1, Some("broke")), "{found:#}");
    let greeting = &found["triggering"]["skills"][0];
    assert_eq!(greeting["baseline"]["passed"], greeting["baseline"]["trials"], "alone it is always found: {found:#}");
    let [lost] = greeting["replaced_by"].as_array().expect("a list").as_slice() else { panic!("{found:#}") };
    assert_eq!((&lost["activated"], &lost["baseline"]), (&Value::from("welcoming"), &Value::from(0)));
    let missed = greeting["candidate"]["trials"]
        .as_u64()
        .zip(greeting["candidate"]["passed"].as_u64())
        .map(|(all, found)| all - found);
    assert_eq!(lost["candidate"].as_u64(), missed, "{found:#}");
}

/// A model that follows the skill if its text is there, and never loads it by itself.
fn a_forced_skill_is_loaded(mode: &str) {
    let script = |request: &Request| {
        let follows = request.body.to_string().contains("end with AHOY_MARKER");
        Turn::Say(if follows { "Ahoy, Ada!" } else { "No." }.to_owned())
    };
    let fixture = Fixture::new()
        .skill_text("greeting", GREETING)
        .skill_text("welcoming", "---\nname: welcoming\ndescription: Welcomes people.\n---\n\nSay welcome.\n")
        .prompts(
            "greeting",
            "id,should_trigger,prompt,sandbox,timeout_s,must_include\na,true,Greet Ada.,read-only,600,Ahoy\n",
        );
    let live = Live::over(fixture, script);
    let mut command = live.program();
    command.args(["diagnose", "greeting", "--mode", mode, "--max-trials", "24", "--run-id", "r", "--json"]);
    let output = command.current_dir(live.fixture.root()).output().expect("the program starts");
    let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}\n{told}"));
    let [none, forced, routed, alone] = found["variants"].as_array().expect("variants").as_slice() else {
        panic!("{found:#}")
    };
    for (variant, passed, activated) in
        [(none, 0, Value::Null), (forced, 6, 6.into()), (routed, 0, 0.into()), (alone, 0, 0.into())]
    {
        assert_eq!(
            (&variant["passed"]["rate"]["passed"], &variant["activated"]["rate"]["passed"], &variant["not_measured"]),
            (&passed.into(), &activated, &0.into()),
            "{found:#}"
        );
    }
    assert_eq!((output.status.code(), &found["advice"]), (Some(1), &"description".into()), "{found:#}");
    let trial = live.fixture.root().join("artifacts/skill-evals/r/work/greeting/a").join(format!("{mode}.forced/1"));
    let grade: Value = serde_json::from_slice(&fs::read(trial.join("grade.json")).expect("a grade")).expect("JSON");
    assert_eq!(grade["metrics"]["activations"][0]["how"], "injected", "{grade:#}");
}

fn codex_loads_a_skill_that_a_diagnosis_forces() {
    a_forced_skill_is_loaded("codex");
}

fn claude_loads_a_skill_that_a_diagnosis_forces() {
    a_forced_skill_is_loaded("cli-native");
    a_forced_skill_is_loaded("native");
}
