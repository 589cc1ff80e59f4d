//! `skill-evals list`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::documents::{CaseList, CoverageList, Format, ListedSkill};
use super::select::NameArgs;
use super::shard::ShardArgs;
use super::{CliResult, RepositoryArgs, file_problems, print_json, problem_line, ways_out};
use crate::cases::case::FoundCase;
use crate::cases::catalog::Catalog;
use crate::cases::selection::TestCase;
use crate::cases::skill_material;
use crate::cli::exit_code::Exit;
use crate::cli::next_step::after_built_in;
use crate::cli::output::{Stream, stderr, text_stdout};
use crate::engine::Loaded;
use crate::engine::choose::{self, no_match};
use crate::engine::compare::no_case;
use crate::report::listing;
use crate::report::listing::ListedTrial;
use crate::run::plan;
use crate::settings::Settings;
use crate::store;
use crate::text::cut;
use crate::text::diagnostic::{Diagnostic, Severity, grouped};
use crate::text::name::Filters;

#[derive(Args)]
pub struct ListArgs {
    /// Only trials whose name contains one of these, or of these skills by path: `greeting`, `xlsx/verify`, `/mcp`
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    #[command(flatten)]
    names: NameArgs,
    /// Mode to use (repeatable)
    #[arg(long, value_name = "MODE")]
    mode: Vec<String>,
    #[command(flatten)]
    shard: ShardArgs,
    /// Count the checks of each file: those that are run, judged and unsupported
    #[arg(long)]
    coverage: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

impl<'a> CaseList<'a> {
    fn of(cases: &'a [ListedTrial], catalog: &'a Catalog) -> Self {
        let skills = catalog.skills.iter().map(|found| ListedSkill {
            slug: &found.skill().slug,
            folder: &found.skill().folder,
            in_plugin: found.plugin.as_ref().map(|plugin| found.name_in(plugin)),
        });
        let skills = skills.collect();
        Self { format: Format, cases, skills, not_read: &catalog.others }
    }
}

fn print_coverage(args: &ListArgs, loaded: &Loaded, planned: &[TestCase]) -> CliResult {
    let Loaded { repository, settings, catalog } = loaded;
    // A case that runs in several modes counts once.
    let mut cases: Vec<&Arc<FoundCase>> = planned.iter().map(|planned| &planned.found).collect();
    cases.sort_by_key(|found| Arc::as_ptr(found));
    cases.dedup_by_key(|found| Arc::as_ptr(found));
    let files = listing::coverage(cases, catalog, repository, settings);
    if args.json {
        print_json(&CoverageList { format: Format, files: &files })?;
        return Ok(Exit::Clean);
    }
    let mut out = text_stdout();
    out.write_all(listing::render_coverage(&files).as_bytes())?;
    let folders = catalog.skills.iter().map(|found| &found.skill().folder);
    let of_skill = |folder: &PathBuf| {
        // `lint` names what cannot be read.
        let places = skill_material::withheld(&repository.root.join(folder)).unwrap_or_default();
        places.iter().map(|place| folder.join(place).display().to_string()).collect()
    };
    let withheld: Vec<String> = folders.flat_map(|folder| -> Vec<String> { of_skill(folder) }).collect();
    if !withheld.is_empty() {
        writeln!(out, "not given to agents, because cases are there: {}", cut::names(&withheld, 1))?;
    }
    let problems = file_problems(settings, catalog);
    name_problems(&problems, &ways_out(&problems, loaded))?;
    Ok(Exit::Clean)
}

/// Writes a line for each problem that is not allowed, and the ways out.
fn name_problems(problems: &[Diagnostic], ways_out: &[String]) -> io::Result<()> {
    for problem in grouped(problems.to_vec()).iter().filter(|problem| problem.severity != Severity::Allowed) {
        writeln!(stderr(), "{}", problem_line(problem))?;
    }
    for line in ways_out {
        writeln!(stderr(), "{line}")?;
    }
    Ok(())
}

pub fn list(args: &ListArgs) -> CliResult {
    let Loaded { repository, settings, catalog } = args.repository.read_quietly()?;
    let mut settings = Settings { selection: args.names.selection(), live: false, ..settings };
    let modes = args.names.with_modes(&args.mode);
    if !modes.is_empty() {
        settings.select_modes(&modes)?;
    }
    let filters = choose::filters(&args.filters, &mut settings.selection, &catalog);
    let mut plan = plan::plan(&repository.root, &settings, &catalog, &Filters::new(&filters, false))?;
    if plan.is_empty() && !args.filters.is_empty() {
        return Err(no_match(&args.filters, &catalog, &settings).into());
    }
    if let Some(shard) = args.shard.shard()? {
        let all = plan.entries.len();
        plan = plan.part(shard);
        if plan.is_empty() {
            writeln!(stderr(), "{}", no_case(shard, all))?;
        }
    }
    let planned: Vec<TestCase> = plan.entries.into_iter().map(|entry| entry.planned).collect();
    if args.coverage {
        return print_coverage(args, &Loaded { repository, settings, catalog }, &planned);
    }
    let mut listed = listing::listed(&planned, &catalog, &repository, &settings);
    for (recording, problem) in store::damaged_recordings(&repository.root) {
        let Some(id) = recording.and_then(|recording| recording.id()) else { continue };
        for trial in &mut listed {
            if (&trial.skill, &trial.case, &trial.mode) == (&id.skill, &id.case, &id.mode) {
                trial.problems.push(problem.clone());
            }
        }
    }
    if args.json {
        print_json(&CaseList::of(&listed, &catalog))?;
    } else {
        text_stdout().write_all(listing::render(&listed, Stream::Output.is_terminal()).as_bytes())?;
    }
    let problems = file_problems(&settings, &catalog);
    let of_cases = listed.iter().flat_map(|trial| trial.problems.iter().cloned());
    let all: Vec<Diagnostic> = problems.iter().cloned().chain(of_cases).collect();
    let is_broken = listed.iter().any(|trial| !trial.problems.is_empty()) || problems.iter().any(Diagnostic::is_error);
    name_problems(&problems, &ways_out(&all, &Loaded { repository, settings, catalog: Arc::clone(&catalog) }))?;
    if !args.json {
        after_built_in(planned.iter().map(|planned| planned.found.as_ref()));
    }
    Ok(if is_broken { Exit::CouldNotRun } else { Exit::Clean })
}
