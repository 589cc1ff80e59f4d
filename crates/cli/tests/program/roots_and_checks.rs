//! The harness of another crate, with a root, a directory of skills and a check of its own. `downstream.rs` copies and builds it.

use skill_evals::harness::{Check, Finding, Harness};

pub fn main() -> std::process::ExitCode {
    let says_ahoy = Check::new("says-ahoy", |trial| {
        Ok(match trial.case() {
            "explicit" => Finding::of(false, format!("{} commands", trial.trace().commands)),
            _ => Finding::NotAsked,
        })
    });
    Harness::new().root("..").skill_root("plugins/skills").check(says_ahoy).main()
}

// Nothing calls it here: it is compiled with these tests so that it fits the library.
const _: fn() -> std::process::ExitCode = main;
