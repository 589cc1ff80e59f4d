//! `skill-evals list`.

use std::io::{self, IsTerminal, Write};

use clap::Args;

use super::{CliResult, RepositoryArgs, print_json};
use crate::cli::exit_code::Exit;
use skill_evals::cases::name::Filters;
use skill_evals::report::listing;
use skill_evals::run::plan;
use skill_evals::settings::{Selection, Settings};
use skill_evals::text::safe;
use skill_evals::trial::id::Planned;

#[derive(Args)]
pub struct ListArgs {
    /// Print a JSON array.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn list(args: &ListArgs) -> CliResult {
    let (repository, settings, catalog) = args.repository.read()?;
    let all = Settings { selection: Selection::default(), live: false, ..settings };
    let plan = plan::plan(&repository.root, &all, &catalog, &Filters::default()).unwrap_or_default();
    let planned: Vec<Planned> = plan.entries.into_iter().map(|entry| entry.planned).collect();
    let listed = listing::listed(&planned, &repository);
    let mut out = io::stdout().lock();
    if args.json {
        print_json(&mut out, &listed)?;
    } else {
        out.write_all(listing::render(&listed, out.is_terminal()).as_bytes())?;
    }
    for problem in &catalog.problems {
        writeln!(io::stderr(), "{}", safe::line(&problem.to_string()))?;
    }
    Ok(Exit::Clean)
}
