//! `skill-evals harness`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;

use super::{RepositoryArgs, own_checks};
use crate::cli::exit_code::Exit;
use skill_evals::harness::Harness;
use skill_evals::text::safe;

#[derive(Args)]
pub struct HarnessArgs {
    #[command(flatten)]
    repository: RepositoryArgs,
    /// Arguments of a Rust test program: filters, --list, --exact, --format json; `-- --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

pub fn harness(args: HarnessArgs) -> ExitCode {
    match args.repository.open() {
        Ok(repository) => match own_checks(&repository.root) {
            Ok(checks) => Harness::new().with_checks(checks).chosen_root(repository.root).run(args.arguments),
            Err(why) => could_not(&why),
        },
        Err(error) => could_not(&error),
    }
}

fn could_not(why: &dyn std::fmt::Display) -> ExitCode {
    let _ = writeln!(io::stderr(), "error: {}", safe::block(&why.to_string()));
    Exit::CouldNotRun.into()
}
