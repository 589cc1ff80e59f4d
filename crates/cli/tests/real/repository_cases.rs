//! The cases and tasks of this repository under every agent, in every delivery of skills that it offers. The model does what it
//! does when they are recorded, so that every trial has to pass.

use std::fs;

use libtest_mimic::Trial;
use serde_json::Value;
use skill_evals_cases::cases::repository::{Layout, Repository, Scope};
use skill_evals_evidence::settings::mode::Mode;

use crate::script::Script;
use crate::support::fixture::Fixture;
use crate::support::live::Live;
use crate::support::real::{HOW_TO_GET_AGENTS, change, needing, program_of};

/// The skills of this repository.
const SKILLS: [&str; 5] = ["code-style", "greeting", "template-generator", "writing-skill-evals", "xlsx"];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    // It takes too long for each change.
    if change().is_some() {
        return trials;
    }
    for mode in Box::leak(Mode::built_in().into_boxed_slice()) {
        let mode: &'static Mode = mode;
        if !mode.delivery.offers_skills() {
            continue;
        }
        let missing = (!program_of(mode.agent).exists()).then_some(mode.agent.profile().program);
        for skill in SKILLS {
            let name = format!("repository_cases::{mode}::those_of_{}_pass", skill.replace('-', "_"));
            trials.push(needing(&name, missing, HOW_TO_GET_AGENTS, move || {
                pass(mode, skill);
                Ok(())
            }));
        }
    }
    trials
}

fn pass(mode: &Mode, skill: &str) {
    let fixture = Fixture::copy_of_sample();
    let catalog = Repository::new(fixture.root().to_owned()).catalog(Layout::default(), Scope::All);
    let script = Script::new(&catalog);
    let live = Live::over(fixture, move |request| script.turn(request));
    let mut command = live.command(&["--mode", &mode.name, "--skill", skill]);
    // The stand-in plays the agents' model, not a judge.
    let ran = command.env("SKILL_EVALS_JUDGE", "0").output().expect("the program starts");
    let said = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    let summary = fs::read_to_string(live.fixture.root().join("artifacts/skill-evals/t/summary.json"));
    let summary: Value = serde_json::from_str(&summary.unwrap_or_else(|_| panic!("{said}"))).expect("JSON");
    let total = &summary["total"];
    let left_out = said.matches("asks for an output schema, which").count();
    assert_eq!((&total["failed"], &total["errors"]), (&0.into(), &left_out.into()), "{said}");
    assert!(total["passed"].as_u64() >= Some(4) && left_out <= 1, "{said}");
}
