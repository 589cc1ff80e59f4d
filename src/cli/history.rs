//! `skill-evals history`.

use std::io::Write;

use clap::Args;

use super::{CliResult, RepositoryArgs, print_list};
use crate::cli::exit_code::Exit;
use crate::cli::output::{stderr, stdout};
use skill_evals::report::diagnostics::counted;
use skill_evals::report::trend as words;
use skill_evals::report::trial::scripted;
use skill_evals::results::trend::{self, TrendFilter, TrendPoint};
use skill_evals::skill::slug;
use skill_evals::store;
use skill_evals::text::safe;

#[derive(Args)]
pub struct HistoryArgs {
    /// Only trials of this skill.
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,
    /// Only trials in this mode.
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// Number of latest runs.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    last: u64,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn history(args: &HistoryArgs) -> CliResult {
    let root = args.repository.open()?.root;
    let wanted = TrendFilter { skill: args.skill.as_deref().map(slug), mode: args.mode.clone() };
    let mut points = Vec::new();
    for run in store::runs(&root) {
        if points.len() as u64 == args.last {
            break;
        }
        match trend::point(&run, &wanted) {
            Ok(point) => {
                if let Some(TrendPoint { run, damaged_lines: damaged @ 1.., .. }) = &point {
                    let lines = counted(*damaged, "line");
                    writeln!(
                        stderr(),
                        "warning: {run}: {lines} of its progress file cannot be read; they are not counted"
                    )?;
                }
                points.extend(point);
            }
            Err(error) => writeln!(stderr(), "warning: {}", safe::line(&format!("{}: {error}", run.id())))?,
        }
    }
    points.sort_by(|a, b| (&a.created, &a.run).cmp(&(&b.created, &b.run)));
    let mut out = stdout();
    if args.json {
        print_list(&mut out, "runs", &points)?;
    } else if points.is_empty() {
        writeln!(out, "no run has measured any such trial yet")?;
    } else {
        out.write_all(words::chart(&points).as_bytes())?;
        for by in points.iter().flat_map(|point| &point.scripted).collect::<std::collections::BTreeSet<_>>() {
            writeln!(out, "{}", safe::line(&scripted(by)))?;
        }
    }
    Ok(Exit::Clean)
}
