//! `skill-evals harness`.

use std::process::ExitCode;

use clap::Args;

use super::{RepositoryArgs, custom_checks, print_error};
use crate::cli::exit_code::Exit;
use crate::harness::Harness;
use crate::settings::load;
use crate::text::problem::Problem;

#[derive(Args)]
pub struct HarnessArgs {
    #[command(flatten)]
    repository: RepositoryArgs,
    /// Arguments of a Rust test program: filters, --list, --exact, --format json; `-- --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

pub fn harness(args: HarnessArgs) -> ExitCode {
    let trust = args.repository.trust();
    let repository = args.repository.open().map_err(Problem::from);
    let ready = repository.and_then(|repository| {
        // The harness itself reports invalid settings.
        let settings = load::read_file(&repository.root, trust).unwrap_or_default();
        Ok((custom_checks(&repository.root, &settings)?, repository.root))
    });
    match ready {
        Ok((checks, root)) => Harness::new().with_checks(checks).chosen_root(root).trusting(trust).run(args.arguments),
        Err(why) => {
            print_error(&why);
            Exit::CouldNotRun.into()
        }
    }
}
