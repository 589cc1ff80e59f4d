//! `skill-evals history`.

use std::collections::BTreeSet;
use std::io::Write;

use clap::Args;

use super::documents::{Format, HistoryList};
use super::{CliResult, RepositoryArgs, print_json};
use crate::cli::exit_code::Exit;
use crate::cli::output::{text_stdout, warn};
use crate::report::history as report;
use crate::report::run_status::differences;
use crate::report::trial_text::scripted;
use crate::results::history::{self, TrendFilter};
use crate::skill::slug;
use crate::store;
use crate::text::escape;

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
    let filter = TrendFilter { skill: args.skill.as_deref().map(slug), mode: args.mode.clone() };
    let (mut points, mut exit) = (Vec::new(), Exit::Clean);
    for run in store::runs(&root)? {
        if points.len() as u64 == args.last {
            break;
        }
        match history::point(&run, &filter) {
            Ok(Some(point)) => {
                if let Some(differences) = differences(point.differences) {
                    warn(&format!("{}: {differences}", point.run))?;
                }
                points.push(point);
            }
            Ok(None) => {}
            Err(error) => {
                warn(&format!("{}: {error}", run.id()))?;
                exit = Exit::Problems;
            }
        }
    }
    points.sort_by(|a, b| (&a.created, &a.run).cmp(&(&b.created, &b.run)));
    let mut out = text_stdout();
    if args.json {
        print_json(&HistoryList { format: Format, runs: &points })?;
    } else if points.is_empty() {
        writeln!(out, "no run has measured any such trial yet")?;
    } else {
        out.write_all(report::chart(&points).as_bytes())?;
        for by in points.iter().flat_map(|point| &point.scripted).collect::<BTreeSet<_>>() {
            writeln!(out, "{}", escape::line(&scripted(by)))?;
        }
    }
    Ok(exit)
}
