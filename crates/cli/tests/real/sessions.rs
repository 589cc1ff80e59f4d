//! Session files of the real programs, graded as sessions of the user: what the same session was in a trial, it is again.

use libtest_mimic::Trial;
use serde_json::json;

use crate::support::live::{Live, OPEN_GREETING};
use crate::support::stand_in::{Request, Turn};
use crate::tests;

pub fn trials() -> Vec<Trial> {
    crate::support::real::all_needing_both_agents(tests![a_session_file_has_the_verdict_that_its_trial_had])
}

fn loads(request: &Request) -> Turn {
    match request.step {
        0 if request.tools.iter().any(|tool| tool == "Skill") => {
            Turn::Call { tool: "Skill".to_owned(), input: json!({ "skill": "greeting" }) }
        }
        0 => Turn::Shell(OPEN_GREETING.to_owned()),
        _ => Turn::Say("Ahoy, Ada!".to_owned()),
    }
}

fn a_session_file_has_the_verdict_that_its_trial_had() {
    for mode in ["codex", "cli-native"] {
        for (cells, loads_it) in [("true,Greet Ada.,Ahoy", true), ("true,Greet Ada.,Ahoy", false)] {
            let live = Live::new("should_trigger,prompt,must_include", cells, move |request| {
                if loads_it { loads(request) } else { Turn::Say("Ahoy, Ada!".to_owned()) }
            });
            let trial = live.trial(mode);
            let session = trial.folder.join(trial.meta.agent.kind.profile().session);
            let file = session.to_string_lossy().into_owned();
            let args = ["grade", "--session", &file, "--skill", "greeting", "--case", "it"];
            let ran = live.fixture.run(&args);
            assert_eq!(ran.code, i32::from(!loads_it), "{mode}: {}{}", ran.stdout, ran.stderr);
            let alone = live.fixture.run(&args[..5]);
            assert_eq!(alone.code, i32::from(!loads_it), "{mode}: {}{}", alone.stdout, alone.stderr);
            // A session shows neither a time limit nor an exit status.
            let asked = |check: &str| ran.stdout.contains(check);
            assert!(asked("completed") && !asked("in-time") && !asked("exit-code"), "{mode}: {}", ran.stdout);
        }
    }
}
