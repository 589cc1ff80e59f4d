#![forbid(unsafe_code)]
#![warn(clippy::disallowed_methods)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
//! The program `skill-evals`: reads its arguments, calls the library, prints.

use std::process::ExitCode;

fn main() -> ExitCode {
    skill_evals_cli::cli::main()
}
