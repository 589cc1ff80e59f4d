//! Trials that end as soon as their verdict is settled, with the real programs and a scripted model: each agent is ended while
//! its model still works, its evidence shows why, and nothing of it is left.

use std::path::Path;
use std::time::Duration;

use libtest_mimic::Trial;
use serde_json::{Value, json};
use skill_evals::run::skill_version::TextReader;
use skill_evals_agents::agent;
use skill_evals_evidence::settings::mode::Mode;
use skill_evals_evidence::trial::outcome::{Status, Verdict};
use skill_evals_results::store::RunFolder;
use skill_evals_testing::prefixes::WholeTrial;

use super::conformance::load;
use crate::support::fixture::Fixture;
use crate::support::live::{GREETING, Live, processes_with};
use crate::support::real::{HOW_TO_GET_AGENTS, needing, program_of};
use crate::support::stand_in::{Request, Turn};

/// How many turns the model takes after it has loaded the skill.
const TURNS: usize = 6;

/// How long the model takes for each.
const TURN: Duration = Duration::from_secs(1);

type TestOfMode = fn(&'static Mode);

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for mode in Box::leak(Mode::built_in().into_boxed_slice()) {
        let mode: &'static Mode = mode;
        let program = mode.agent.profile().program;
        let missing = (!program_of(mode.agent).exists()).then_some(program);
        let tests: [(&str, TestOfMode); 4] = [
            ("a_trial_ends_when_the_skill_is_active", ends_when_active),
            ("a_trial_ends_when_a_limit_is_exceeded", ends_at_the_limit),
            ("every_prefix_of_the_evidence_that_settles_the_verdict_has_the_one_at_the_end", settles_at_every_prefix),
            ("an_activation_suite_takes_less", saves),
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

/// Loads the skill, works for this many turns, and answers.
fn loads_and_works(request: &Request, mode: &Mode, turns: usize, turn: Duration) -> Turn {
    match request.step {
        0 => load(request, mode, "greeting"),
        step if step <= turns => {
            std::thread::sleep(turn);
            // Another command each time: an agent may stop a model that repeats itself.
            Turn::Shell(format!("true {step}"))
        }
        _ => Turn::Say("Ahoy, Ada!".to_owned()),
    }
}

fn ends_when_active(mode: &'static Mode) {
    for (cells, verdict, check) in
        [("true,Greet Ada.", Verdict::Pass, "triggered"), ("false,What is 2+2?", Verdict::Fail, "not-triggered")]
    {
        let live =
            Live::new("should_trigger,prompt", cells, move |request| loads_and_works(request, mode, TURNS, TURN));
        let ran = live.run(&["--mode", &mode.name, "--trial-end", "settled"]);
        let trial = live.kept("greeting", "it", &mode.name);
        let trial = trial.unwrap_or_else(|| panic!("nothing was kept:\n{}\n{}", ran.stdout, ran.stderr));
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

/// The evidence of whole trials, with sub-agents where the agent has them.
fn settles_at_every_prefix(mode: &'static Mode) {
    for delegates in [false, true] {
        let live = Live::new("should_trigger,prompt", "true,Greet Ada.", move |request| {
            if delegates { delegate(request, mode) } else { loads_and_works(request, mode, 2, Duration::ZERO) }
        });
        let trial = live.trial(&mode.name);
        let catalog = live.fixture.catalog();
        let skill = catalog.skill("greeting").expect("the skill").skill();
        let folder = RunFolder::open(live.fixture.root(), "t").expect("a run").trial(&trial.meta.id());
        let reference = TextReader::default().reference(live.fixture.root(), &catalog, &trial.meta, &folder);
        let metas = vec![trial.meta.clone()];
        let agent = agent::of(trial.meta.agent.kind);
        let decode = |folder: &Path| agent.decode(&reference, folder).expect("the files can be read");
        let settled = WholeTrial { folder: &trial.folder, metas, skill, decode: &decode }.check_every_prefix();
        assert!(delegates || (settled.passed > 10 && settled.failed > 10), "{mode}: {settled:?}");
    }
}

/// Lets a sub-agent load the skill, if the agent has sub-agents.
fn delegate(request: &Request, mode: &Mode) -> Turn {
    const TASK: &str = "Count for me.";
    let tool = |name: &str| request.tools.iter().find(|tool| tool.ends_with(name)).cloned();
    match (request.prompt.as_str(), request.step, tool("spawn_agent"), tool("Agent")) {
        (TASK, 0, ..) => load(request, mode, "greeting"),
        (TASK, ..) => Turn::Say("1".to_owned()),
        (_, 0, Some(tool), _) => Turn::Call { tool, input: json!({ "message": TASK }) },
        (_, 0, None, Some(tool)) => Turn::Call {
            tool,
            input: json!({ "description": "count", "prompt": TASK, "subagent_type": "general-purpose" }),
        },
        (_, 1, Some(_), _) => {
            let started: Value = serde_json::from_str(&request.tool_results[0]).unwrap_or_default();
            let input = json!({ "targets": [started["agent_id"]], "timeout_ms": 20_000 });
            Turn::Call { tool: tool("wait_agent").unwrap_or_default(), input }
        }
        _ => Turn::Say("Ahoy, Ada!".to_owned()),
    }
}

/// Four of six cases load the skill, and their model works on for [`TURNS`] turns; the model of the others works for half as many.
/// Prints what the suite took with whole trials and with trials that end when they are settled.
fn saves(mode: &'static Mode) {
    let cases = "id,should_trigger,prompt\na,true,Greet Ada.\nb,true,Greet Bob.\nc,true,Greet Eve.\n\
                 d,true,Greet nobody.\ne,false,What is 2+2?\nf,false,Greet the sum of 2 and 2.\n";
    let took = |stop: &str| {
        let fixture = Fixture::new().skill_text("greeting", GREETING).prompts("greeting", cases);
        let live = Live::over(fixture, move |request| {
            if request.prompt.contains("nobody") || request.prompt.starts_with("What") {
                std::thread::sleep(TURN);
                if request.step < TURNS / 2 {
                    Turn::Shell(format!("true {}", request.step))
                } else {
                    Turn::Say("4".to_owned())
                }
            } else {
                loads_and_works(request, mode, TURNS, TURN)
            }
        });
        let ran = live.run(&["--mode", &mode.name, "--trial-end", stop, "--json"]);
        let summary: Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
        let (passed, failed) = (&summary["total"]["passed"], &summary["total"]["failed"]);
        assert_eq!((passed, failed), (&4.into(), &2.into()), "{summary:#}");
        let requests = live.model.requests();
        let bytes: usize = requests.iter().map(|request| request.body.to_string().len()).sum();
        let seconds = summary["total"]["duration_ms"].as_f64().unwrap_or_default() / 1000.0;
        (requests.len(), bytes / 4, seconds)
    };
    let (whole, settled) = (took("end"), took("settled"));
    eprintln!(
        "| {mode} | {} → {} | {} → {} | {:.0} → {:.0} |",
        whole.0, settled.0, whole.1, settled.1, whole.2, settled.2
    );
    assert!(settled.0 * 10 < whole.0 * 6 && settled.1 < whole.1, "{whole:?} {settled:?}");
}

fn ends_at_the_limit(mode: &'static Mode) {
    let live =
        Live::new("should_trigger,prompt,max_commands,sandbox", "true,Greet Ada.,1,workspace-write", move |request| {
            std::thread::sleep(TURN);
            if request.step < TURNS {
                Turn::Shell(format!("touch it {}", request.step))
            } else {
                load(request, mode, "greeting")
            }
        });
    live.run(&["--mode", &mode.name, "--trial-end", "settled"]);
    let trial = live.kept("greeting", "it", &mode.name).expect("a trial");
    trial.expect(Verdict::Fail);
    assert_eq!((trial.status("max-commands"), trial.status("triggered")), (Status::Fail, Status::Unknown));
    assert!(trial.meta.ending.settled && live.model.requests().len() < TURNS, "{:#?}", trial.meta.ending);
}
