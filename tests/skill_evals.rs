//! The evals of this repository's own skills, as tests: `cargo test --test skill_evals`.

fn main() -> std::process::ExitCode {
    skill_evals::harness::main()
}
