//! The evals of this repository's own skills, as tests: `cargo test --test skill_evals`.

// Shows the trials to IDEs; the harness does not contain it.
include!("skill_evals/stubs.rs");

fn main() -> ::std::process::ExitCode {
    ::skill_evals::harness::main()
}
