//! Trials that end as soon as their verdict is settled, with the real programs and a scripted model: each agent is ended while
//! its model still works, its evidence shows why, and nothing of it is left.

use std::time::Duration;

use libtest_mimic::Trial;
use serde_json::json;
use skill_evals::settings::mode::Mode;
use skill_evals::trial::outcome::{Status, Verdict};

use crate::support::live::{Live, processes_with};
use crate::support::real::{HOW_TO_GET_AGENTS, needing, programs};
use crate::support::stand_in::{Request, Turn};

/// How many turns the model takes after it has loaded the skill.
const TURNS: usize = 6;

/// How long the model takes for each.
const TURN: Duration = Duration::from_secs(1);

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for mode in Box::leak(Mode::built_in().into_boxed_slice()) {
        let mode: &'static Mode = mode;
        let program = mode.agent.profile().program;
        let missing = (!programs().join(program).exists()).then_some(program);
        let tests: [(&str, fn(&'static Mode)); 2] = [
            ("a_trial_ends_when_the_skill_is_active", ends_when_active),
            ("a_trial_ends_when_a_limit_is_exceeded", ends_at_the_limit),
        ];
        for (name, test) in tests.into_iter().filter(|_| mode.delivery.offers_skills()) {
            trials.push(needing(&format!("settled::{mode}::{name}"), missing, HOW_TO_GET_AGENTS, move || {
                test(mode);
                Ok(())
            }));
        }
    }
    trials
}

/// Loads the skill, works for [`TURNS`] turns, and answers.
fn loads_and_works(request: &Request, mode: &Mode) -> Turn {
    match request.step {
        0 => load(request, mode),
        step if step <= TURNS => {
            std::thread::sleep(TURN);
            Turn::Shell("true".to_owned())
        }
        _ => Turn::Say("Ahoy, Ada!".to_owned()),
    }
}

fn load(request: &Request, mode: &Mode) -> Turn {
    let served = request.tools.iter().find(|tool| tool.starts_with("mcp__") && tool.ends_with("__skill"));
    match served {
        Some(tool) => Turn::Call { tool: tool.clone(), input: json!({ "name": "greeting" }) },
        None if request.tools.iter().any(|tool| tool == "Skill") => {
            Turn::Call { tool: "Skill".to_owned(), input: json!({ "skill": "greeting" }) }
        }
        None => Turn::Shell(format!("cat {}/greeting/SKILL.md", mode.agent.profile().skill_folders[0])),
    }
}

fn ends_when_active(mode: &'static Mode) {
    for (cells, verdict, check) in
        [("true,Greet Ada.", Verdict::Pass, "triggered"), ("false,What is 2+2?", Verdict::Fail, "not-triggered")]
    {
        let live = Live::new("should_trigger,prompt", cells, move |request| loads_and_works(request, mode));
        let ran = live.run(&["--mode", &mode.name, "--stop", "settled"]);
        let trial = live.kept("greeting", "it", &mode.name);
        let trial = trial.unwrap_or_else(|| panic!("nothing was kept:\n{}\n{}", ran.stdout, ran.stderr));
        eprintln!("{mode} {cells}: {:?} {:?} {:?}", trial.meta.ending, trial.grade.metrics, trial.grade.trouble);
        eprintln!(
            "requests {}\n{}\n{}",
            live.model.requests().len(),
            trial.text("trace.jsonl").lines().last().unwrap_or_default(),
            trial.text("stderr.txt")
        );
        trial.expect(verdict);
        assert_ne!(trial.status(check), Status::Unknown);
        assert!(trial.meta.ending.settled && trial.grade.metrics.settled, "{:#?}", trial.meta.ending);
        assert!(live.model.requests().len() < TURNS, "the model was asked on");
        assert_eq!(trial.grade.metrics.damaged_lines, 0, "{}", trial.text("trace.jsonl"));
        assert!(processes_with(&live.scratch().to_string_lossy()).is_empty());
        let left: Vec<_> = walkdir::WalkDir::new(live.scratch()).min_depth(1).into_iter().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

fn ends_at_the_limit(mode: &'static Mode) {
    let live =
        Live::new("should_trigger,prompt,max_commands,sandbox", "true,Greet Ada.,1,workspace-write", move |request| {
            std::thread::sleep(TURN);
            if request.step < TURNS { Turn::Shell("touch it".to_owned()) } else { load(request, mode) }
        });
    live.run(&["--mode", &mode.name, "--stop", "settled"]);
    let trial = live.kept("greeting", "it", &mode.name).expect("a trial");
    trial.expect(Verdict::Fail);
    assert_eq!((trial.status("max-commands"), trial.status("triggered")), (Status::Fail, Status::Unknown));
    assert!(trial.meta.ending.settled && live.model.requests().len() < TURNS, "{:#?}", trial.meta.ending);
}
