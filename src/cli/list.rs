//! `skill-evals list`.

use std::io::{self, IsTerminal, Write};

use clap::Args;

use super::select::{NameArgs, nothing};
use super::{CliResult, RepositoryArgs, print_list, problem_line};
use crate::cli::exit_code::Exit;
use crate::cli::next::after_built_in;
use crate::cli::output::{stderr, stdout};
use skill_evals::cases::test_case::TestCase;
use skill_evals::report::listing::{self, ListedTrial};
use skill_evals::run::plan;
use skill_evals::settings::Settings;
use skill_evals::store;
use skill_evals::text::diagnostic::{Diagnostic, Severity, once};
use skill_evals::text::name::Filters;

#[derive(Args)]
pub struct ListArgs {
    /// Only trials whose test name contains one of these, as with `cargo test`
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    #[command(flatten)]
    names: NameArgs,
    /// Mode to use (repeatable)
    #[arg(long, value_name = "MODE")]
    mode: Vec<String>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn list(args: &ListArgs) -> CliResult {
    let (repository, settings, catalog) = args.repository.read_quietly()?;
    let mut wanted = Settings { selection: args.names.selection(), live: false, ..settings };
    if !args.mode.is_empty() {
        wanted.select_modes(&args.mode)?;
    }
    let plan = plan::plan(&repository.root, &wanted, &catalog, &Filters::new(&args.filters, false));
    let plan = plan.map_err(|problems| problems.join("\n"))?;
    if plan.is_empty() && !args.filters.is_empty() {
        return Err(nothing(&args.filters, &catalog, &wanted).into());
    }
    let planned: Vec<TestCase> = plan.entries.into_iter().map(|entry| entry.planned).collect();
    let mut listed = listing::listed(&planned, &catalog, &repository, &wanted);
    for (recording, problem) in store::damaged_recordings(&repository.root) {
        let is_of = |listed: &&mut ListedTrial| {
            recording.id().is_some_and(|id| {
                (id.skill, id.case, id.mode) == (listed.skill.clone(), listed.case.clone(), listed.mode.clone())
            })
        };
        listed.iter_mut().filter(is_of).for_each(|listed| listed.problems.push(problem.clone()));
    }
    let mut out = stdout();
    if args.json {
        print_list(&mut out, "cases", &listed)?;
    } else {
        out.write_all(listing::render(&listed, io::stdout().is_terminal()).as_bytes())?;
    }
    let broken = catalog.cases.iter().flat_map(|found| found.source.file_problems().to_vec());
    let problems = once(wanted.lint.judged(catalog.problems.clone()).into_iter().chain(broken));
    for problem in problems.iter().filter(|problem| problem.severity != Severity::Allowed) {
        writeln!(stderr(), "{}", problem_line(problem))?;
    }
    if !args.json {
        after_built_in(planned.iter().map(|planned| planned.found.as_ref()));
    }
    Ok(if problems.iter().any(Diagnostic::is_error) { Exit::CouldNotRun } else { Exit::Clean })
}
