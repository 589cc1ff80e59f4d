#![forbid(unsafe_code)]
//! The program `skill-evals`: reads its arguments, calls the library, prints.

mod cli;
mod exit_code;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
