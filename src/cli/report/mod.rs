//! `skill-evals report`.

mod reader;
mod sessions;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use self::reader::ReportReader;
use super::named_runs::{self, is_folder};
use super::{CliResult, CliResultOf, RepositoryArgs, own_checks};
use crate::cli::exit_code;
use crate::cli::output::stdout;
use skill_evals::decide::{MARGIN, Rule};
use skill_evals::process::brief;
use skill_evals::report::html::overview::{self, Overview};
use skill_evals::report::html::page::ChangedSkill;
use skill_evals::results::compared::{self, ComparisonResults};
use skill_evals::results::side_results::SideReader;
use skill_evals::results::stored_comparison;
use skill_evals::results::stored_sides::{self, TrialSide};
use skill_evals::results::summary::Summary;
use skill_evals::results::trend::{self, TrendFilter, TrendPoint};
use skill_evals::run::context::RunContext;
use skill_evals::store::{self, RunFolder};
use skill_evals::text::diagnostic::shown_path;
use skill_evals::text::safe;
use skill_evals::trial::id::TrialId;
use skill_evals::trial::run_record::ComparedSides;

/// The latest so many runs are shown as history.
const HISTORY: usize = 20;

/// For so many skills each has a history of its own.
const MOST_HISTORIES: usize = 30;

#[derive(Args)]
#[command(after_help = exit_code::HELP)]
pub struct ReportArgs {
    /// Runs or recordings, by id or directory [default: the latest run]
    #[arg(value_name = "RUN-ID|DIR")]
    what: Vec<String>,
    /// Compare with this run, trial by trial
    #[arg(long, value_name = "RUN-ID|DIR")]
    against: Vec<String>,
    /// Open the file when it is written.
    #[arg(long)]
    open: bool,
    /// Output file (`-` is stdout) [default: report.html in the run's directory; here for several runs]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Maximum size of the sessions in the file; those of passed trials are left out first.
    #[arg(long, value_name = "SIZE", default_value = "50MB", value_parser = size)]
    max_size: u64,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn report(args: &ReportArgs) -> CliResult {
    let (repository, settings, catalog) = args.repository.read()?;
    let latest = || Ok(vec![named_runs::latest(&repository.root)?]);
    let runs = if args.what.is_empty() { latest() } else { named_runs::open(&repository.root, &args.what) }?;
    let against = named_runs::open(&repository.root, &args.against)?;
    named_runs::distinct(runs.iter().chain(&against))?;
    let output =
        args.output.clone().unwrap_or_else(|| match (runs.as_slice(), args.what.iter().any(|what| is_folder(what))) {
            ([run], false) => run.report(),
            _ => PathBuf::from("report.html"),
        });
    if args.open && output == Path::new(store::STDOUT) {
        return Err("--open needs a file, and -o - writes none".into());
    }
    let mut run = RunContext::new(repository.root, settings, catalog);
    // Recordings have no grade of their own.
    if runs.iter().chain(&against).any(|run| !run.is_run()) {
        let found = own_checks(&run.root)?;
        run.own_checks = found;
    }
    let arms = if against.is_empty() { sides_of(&runs)? } else { None };
    let mut reader = ReportReader::new(&run, runs.iter().chain(&against), arms.is_some() || !against.is_empty())?;
    reader.pairs = arms.as_ref().map(|(_, pairs)| pairs.clone()).unwrap_or_default();
    let label = |runs: &[RunFolder]| runs.iter().map(RunFolder::id).collect::<Vec<_>>().join(", ");
    let (summary, trials) = reader.read(0, &runs)?;
    reader.only_mode = only_mode(&against, &trials)?;
    let b = TrialSide { label: label(&runs), trials, mode: None };
    let (_, trials) = reader.read(runs.len(), &against)?;
    let a = TrialSide { label: label(&against), trials, mode: None };
    if reader.index.rows.is_empty() && reader.unreadable == 0 {
        return Err(super::no_trials(&b.label, &runs).into());
    }
    reader.keep_within(args.max_size);
    let compared = match (&arms, runs.as_slice()) {
        (Some((arms, _)), [run]) => {
            Some(stored_comparison::compared(run, arms, &stored_comparison::course(run, arms)?)?)
        }
        _ if against.is_empty() => None,
        _ => Some(compare(&a, &b)?),
    };
    let history = history(&run.root, &summary);
    let made = Overview {
        summary: &summary,
        compared: compared.as_ref(),
        created: &reader.created,
        agents: &reader.agents,
        history: &history,
        notes: &reader.notes,
    };
    let markup = overview::overview(&made);
    let skills = changed_skills(&against, &runs);
    store::write_out(&output, |file| reader.write(file, &overview::title(&summary), &markup, &skills))?;
    if output == Path::new(store::STDOUT) {
        return Ok(reader.exit(&summary));
    }
    let size = std::fs::metadata(&output).map_or(0, |found| found.len());
    let shown = shown_path(&run.root, &output).display().to_string();
    writeln!(stdout(), "{} ({} trials, {} KB)", safe::line(&shown), reader.index.rows.len(), size.div_ceil(1000))?;
    if args.open {
        brief::open(&output)?;
    }
    Ok(reader.exit(&summary))
}

/// The arms of a run that compares, with the modes of arm B by the trials of arm A that were paired with them.
type SidesOfRun = (ComparedSides, BTreeMap<TrialId, String>);

fn sides_of(runs: &[RunFolder]) -> CliResultOf<Option<SidesOfRun>> {
    let [run] = runs else { return Ok(None) };
    // One that cannot be read says nothing of arms; that is noted where its trials are read.
    let Some(arms) = run.run_record().ok().flatten().and_then(|record| record.sides) else { return Ok(None) };
    let pairs = run.pairs()?.into_iter().map(|pair| (pair.baseline, pair.candidate.mode)).collect();
    Ok(Some((arms, pairs)))
}

fn compare(a: &TrialSide, b: &TrialSide) -> CliResultOf<ComparisonResults> {
    let (in_a, in_b) = stored_sides::counts(a, b, |_, _| true)?;
    let rule = Rule { margin: Some(MARGIN), ..Rule::default() };
    Ok(compared::stored((a.label.clone(), b.label.clone()), &in_a, &in_b, rule))
}

/// The mode of the reported trials, where both sides have one: then it is what differs, and no part of the case.
fn only_mode(against: &[RunFolder], reported: &SideReader) -> CliResultOf<Option<String>> {
    let mut trials = SideReader::default();
    for run in against {
        trials.run(&run.progress_path())?;
    }
    let (modes, reported) = (trials.modes(), reported.modes());
    // What cannot be compared is told where it is.
    let one = !modes.is_empty() && stored_sides::by_mode(&modes, &reported) == Ok(false);
    Ok(reported.first().filter(|_| one).map(|mode| (*mode).to_owned()))
}

/// The skills whose texts differ, as the agents of one run on each side were given them.
fn changed_skills(against: &[RunFolder], runs: &[RunFolder]) -> Vec<ChangedSkill> {
    let ([before], [after]) = (against, runs) else { return Vec::new() };
    let (before, after) = (before.skill_texts(), after.skill_texts());
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let text = |texts: &BTreeMap<String, String>, name: &String| texts.get(name).cloned().unwrap_or_default();
    let all = names.into_iter().map(|name| (name, text(&before, name), text(&after, name)));
    let changed = all.filter(|(_, before, after)| before != after);
    changed.map(|(skill, before, after)| ChangedSkill { skill: skill.clone(), before, after }).collect()
}

/// The latest runs of this repository, all skills together and each alone.
fn history(root: &Path, summary: &Summary) -> Vec<(String, Vec<TrendPoint>)> {
    let runs: Vec<RunFolder> = store::runs(root).into_iter().take(HISTORY).collect();
    let each = if summary.skills.len() <= MOST_HISTORIES { summary.skills.keys().collect() } else { Vec::new() };
    let wanted = std::iter::once(None).chain(each.into_iter().map(Some));
    let of = |skill: Option<&String>| {
        let name = skill.map_or_else(|| "all skills".to_owned(), Clone::clone);
        let wanted = TrendFilter { skill: skill.cloned(), mode: None };
        // What a run that cannot be read came to is told where it is reported.
        let mut points: Vec<TrendPoint> = runs.iter().filter_map(|run| trend::point(run, &wanted).ok()?).collect();
        points.sort_by(|a, b| (&a.created, &a.run).cmp(&(&b.created, &b.run)));
        (name, points)
    };
    wanted.map(of).collect()
}

/// A number of bytes: `50MB`, `800KB`, `1GB`, `4096`.
fn size(text: &str) -> Result<u64, String> {
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000), ("B", 1), ("", 1)];
    let upper = text.trim().to_uppercase();
    let read = units
        .iter()
        .find_map(|(unit, bytes)| upper.strip_suffix(unit)?.trim().parse::<u64>().ok()?.checked_mul(*bytes));
    read.ok_or_else(|| "expected a size such as 50MB, 800KB or 1GB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_number_of_bytes_or_of_a_unit() {
        assert_eq!(
            (size("50MB"), size("8 kb"), size("7"), size("1GB")),
            (Ok(50_000_000), Ok(8_000), Ok(7), Ok(1_000_000_000))
        );
        for wrong in ["", "MB", "-1", "1.5MB", "99999999999GB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
