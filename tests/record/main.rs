//! Makes the recordings in `evals/recordings` anew: the real programs run every case of this repository, and a
//! scripted stand-in plays the model. `cargo test --test record`, after any change to a skill, a prompt or a fixture;
//! arguments (`--mode codex --skill xlsx`) are handed to `skill-evals run`.
//!
//! What is recorded this way shows how the programs behave, and nothing about a model. The recordings say so.

mod script;
#[path = "../support/mod.rs"]
mod support;

use std::path::Path;
use std::process::{Command, ExitCode};

use skill_evals::discovery::{Repository, Scope};
use support::fixture::Fixture;
use support::live::Live;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let catalog = Repository { root: root.to_path_buf() }.catalog(None, Scope::All);
    let script = script::Script::new(&catalog);
    let live = Live::over(Fixture::new(), move |request| script.turn(request));
    let run_id = "recordings";
    let _ = std::fs::remove_dir_all(root.join("artifacts/skill-evals").join(run_id));
    let mut run = live.program();
    let ran = run.args(["run", "--run-id", run_id]).args(std::env::args_os().skip(1)).current_dir(root).status();
    let ran = ran.expect("the program starts");
    let recorded = Command::new(env!("CARGO_BIN_EXE_skill-evals")).args(["record", run_id]).current_dir(root).status();
    if ran.success() && recorded.expect("the program starts").success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
