//! `skill-evals harness`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;

use super::RepositoryArgs;
use crate::cli::exit_code::Exit;
use skill_evals::harness::Harness;

#[derive(Args)]
pub struct HarnessArgs {
    #[command(flatten)]
    repository: RepositoryArgs,
    /// As for any Rust test program: filters, --list, --exact, --format json and so on; `-- --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

pub fn harness(args: HarnessArgs) -> ExitCode {
    match args.repository.open() {
        Ok(repository) => Harness::new().chosen_root(repository.root).run(args.arguments),
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            Exit::CouldNotRun.into()
        }
    }
}
