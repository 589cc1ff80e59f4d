//! Rewrites the recordings in `evals/recordings`: the real programs run every case of this repository, with a mock
//! model. `cargo test -p skill-evals-cli --test record`, after any change to a skill, a prompt or a fixture; arguments (`--mode codex
//! --skill xlsx`) are handed to `skill-evals run`.
//!
//! What is recorded this way shows how the programs behave, and nothing about a model. The recordings say so.

mod script;
#[path = "../support/mod.rs"]
mod support;

use crate::support::repository;
use std::process::ExitCode;

use skill_evals_cases::cases::catalog::Catalog;
use skill_evals_cases::cases::repository::{Layout, Repository, Scope};
use support::fixture::Fixture;
use support::live::Live;

/// The run that is recorded.
const RUN_ID: &str = "recordings";

fn main() -> ExitCode {
    let root = repository();
    let catalog = Repository::new(root.to_path_buf()).catalog(Layout::default(), Scope::All);
    let script = script::Script::new(&catalog);
    let live = Live::over(Fixture::new(), move |request| script.turn(request));
    let given: Vec<String> = std::env::args().skip(1).collect();
    let runs = if given.is_empty() { everything(&catalog) } else { vec![given] };
    let program = |args: &[&str]| {
        let mut command = live.program();
        // The stand-in plays the agents' model, not a judge.
        command.args(args).current_dir(root).env("SKILL_EVALS_JUDGE", "0");
        command
    };
    let mut all_well = true;
    for args in runs {
        let _ = std::fs::remove_dir_all(root.join("artifacts/skill-evals").join(RUN_ID));
        let run = program(&["run", "--run-id", RUN_ID]).args(args).status().expect("the program starts");
        let recorded = program(&["record", RUN_ID]).status().expect("the program starts");
        all_well &= run.success() && recorded.success();
    }
    if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Every case with its skills in the agents' own directories, with each program, and the tasks in the other modes too.
fn everything(catalog: &Catalog) -> Vec<Vec<String>> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut tasks = words("--mode mcp --mode native --mode mcp+native");
    for found in catalog.cases.iter().filter(|found| found.format().is_task()) {
        tasks.extend(["--task".to_owned(), found.id.clone()]);
    }
    let agents = "--mode codex --mode cli-native --mode copilot --mode gemini --mode opencode --mode qwen --mode droid --mode cline --mode kimi --mode vibe --mode chat";
    vec![words(agents), tasks]
}
