//! `skill-evals list`.

use std::io::{self, IsTerminal, Write};

use clap::Args;

use super::select::NameArgs;
use super::{CliResult, RepositoryArgs, print_json};
use crate::cli::exit_code::Exit;
use crate::cli::next::after_built_in;
use skill_evals::cases::name::Filters;
use skill_evals::report::listing;
use skill_evals::run::plan;
use skill_evals::settings::Settings;
use skill_evals::text::diagnostic::Severity;
use skill_evals::text::safe;
use skill_evals::trial::id::Planned;

#[derive(Args)]
pub struct ListArgs {
    #[command(flatten)]
    names: NameArgs,
    /// In this mode (repeatable).
    #[arg(long, value_name = "MODE")]
    mode: Vec<String>,
    /// Print a JSON array.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn list(args: &ListArgs) -> CliResult {
    let (repository, settings, catalog) = args.repository.read()?;
    let mut wanted = Settings { selection: args.names.selection(), live: false, ..settings };
    if !args.mode.is_empty() {
        wanted.select_modes(&args.mode)?;
    }
    let plan = plan::plan(&repository.root, &wanted, &catalog, &Filters::default());
    let plan = plan.map_err(|problems| problems.join("\n"))?;
    let planned: Vec<Planned> = plan.entries.into_iter().map(|entry| entry.planned).collect();
    let listed = listing::listed(&planned, &catalog, &repository, &wanted);
    let mut out = io::stdout().lock();
    if args.json {
        print_json(&mut out, &listed)?;
    } else {
        out.write_all(listing::render(&listed, out.is_terminal()).as_bytes())?;
    }
    let problems = wanted.lint.judged(catalog.problems);
    for problem in problems.iter().filter(|problem| problem.severity != Severity::Allowed) {
        writeln!(io::stderr(), "{}", safe::line(&problem.to_string()))?;
    }
    if !args.json {
        after_built_in(planned.iter().map(|planned| planned.found.as_ref()));
    }
    Ok(Exit::Clean)
}
