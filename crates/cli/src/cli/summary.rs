//! `skill-evals summary`, `skill-evals history`.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::documents::{Format, HistoryList};
use super::export_args::ExportArgs;
use super::{CliResult, CliResultOf, RepositoryArgs, print_json};
use crate::cases::repository::{Layout, Repository, Scope};
use crate::cli::exit_code::{self, Exit};
use crate::cli::named_runs;
use crate::cli::output::{Stream, document_stdout, paint, stderr, text_stdout, warn};
use crate::exports::html::overview;
use crate::report::export::Results;
use crate::report::run_status::differences;
use crate::report::trial_text::scripted;
use crate::report::{drift as drift_words, markdown, table};
use crate::results::drift::{self, NoisyCase, Series};
use crate::results::history::{self, TrendFilter};
use crate::results::stored_summary::{of_run, of_runs};
use crate::run::changed_skills::change_locations;
use crate::settings::{Settings, load};
use crate::skill::named;
use crate::store::{self, Night, RunFolder};
use crate::text::diagnostic::suggest;
use crate::text::escape;

#[derive(Args)]
#[command(after_help = exit_code::HELP)]
pub struct SummaryArgs {
    /// Runs, by id or directory; parts of one run make one summary [default: the latest run]
    #[arg(value_name = "RUN-ID|DIR")]
    what: Vec<String>,
    #[command(flatten)]
    exports: ExportArgs,
    /// List the cases that passed too
    #[arg(long, short)]
    verbose: bool,
    /// Rewrite the summary files of a single run
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn summary(args: &SummaryArgs) -> CliResult {
    if let Some(name) = args.exports.file_is_output().filter(|_| args.exports.in_place()) {
        return Err(format!("--{name} - and the other output both go to standard output: give --{name} a file").into());
    }
    let root = args.repository.open()?.root;
    let settings = load::read(&root, args.repository.trust())?;
    let runs = named_runs::open_all_or_latest(&root, &args.what)?;
    let (summary, unreadable) = of_runs(&runs, &settings)?;
    if args.write {
        let [run] = runs.as_slice() else { return Err("--write needs exactly one run, by its id".into()) };
        run.write_summary(&summary, &markdown::summary(&summary))?;
    }
    let locations = || {
        let read = args.repository.read_quietly();
        read.map(|loaded| change_locations(&root, &loaded.catalog, None)).unwrap_or_default()
    };
    let results = Results { summary: &summary, needs_recordings: false, locations: &locations };
    args.exports.write_files(&results)?;
    args.exports.print(&results, &mut document_stdout())?;
    if !args.exports.in_place() && args.exports.file_is_output().is_none() {
        let paint = paint(Stream::Output);
        let mut out = text_stdout();
        write!(out, "{}{}", table::triggering(&summary), table::table(&summary, args.verbose, paint))?;
        let time = table::agent_time(&summary.total);
        write!(out, "{}; agents ran {time}\n{}", table::closing(&summary, paint), table::shown(&summary))?;
    }
    if let Some(error) = args.exports.add_to_page(&results) {
        warn(&error)?;
    }
    for error in &unreadable {
        warn(&format!("not counted: {error}"))?;
    }
    let exit = Exit::of_summary(&summary);
    Ok(if unreadable.is_empty() { exit } else { exit.worse(Exit::Infrastructure) })
}

/// Rewrites the summary files of a stored run.
pub fn write(run: &RunFolder, settings: &Settings) -> CliResultOf<()> {
    let summary = of_run(run, settings)?;
    Ok(run.write_summary(&summary, &markdown::summary(&summary))?)
}

// `skill-evals history`.

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
    /// Print the text of an issue about skills that got worse, or of what closes it
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Write the nightly runs as an HTML page to this file (`-` is stdout)
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    repository: RepositoryArgs,
}

impl HistoryArgs {
    /// The nightly runs of the chosen skill and mode.
    fn nights(&self, root: &Path) -> CliResultOf<(Vec<Night>, Vec<Series>)> {
        let (nights, warnings) = store::nights(root)?;
        for warning in warnings {
            warn(&warning)?;
        }
        let mut series = drift::series(&nights);
        let slug = self.skill.as_deref().map(named);
        series.retain(|of| {
            slug.as_ref().is_none_or(|only| *only == of.skill) && self.mode.as_ref().is_none_or(|only| *only == of.mode)
        });
        Ok((nights, series))
    }

    /// The noisy cases among these nights, for a gate of this repository.
    fn noise(&self, root: &Path, nights: &[Night], series: &[Series]) -> CliResultOf<Vec<NoisyCase>> {
        let gate = load::read(root, self.repository.trust())?.gate;
        let mut noise = drift::noisy(nights, gate.plan, gate.max_trials, &gate.rule());
        noise.retain(|noisy| series.iter().any(|of| of.skill == noisy.case.skill && of.mode == noisy.case.mode));
        Ok(noise)
    }
}

pub fn history(args: &HistoryArgs) -> CliResult {
    let root = args.repository.open()?.root;
    let (nights, series) = args.nights(&root)?;
    if let Some(file) = &args.html {
        store::write_out(file, |out| out.write_all(overview::nights_page(&series).as_bytes()))?;
        writeln!(stderr(), "wrote {}", escape::line(&file.display().to_string()))?;
    }
    if args.markdown {
        write!(document_stdout(), "{}", drift_words::issue(&series))?;
    }
    if args.markdown || args.html.is_some() {
        return Ok(Exit::Clean);
    }
    let noise = args.noise(&root, &nights, &series)?;
    let filter = TrendFilter { skill: args.skill.as_deref().map(named), mode: args.mode.clone() };
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
        print_json(&HistoryList { format: Format, runs: &points, series: &series, noise: &noise })?;
        return Ok(exit);
    }
    if points.is_empty() {
        writeln!(out, "no run has measured any such trial yet")?;
        let catalog = Repository::new(&root).catalog(Layout::default(), Scope::All);
        let unknown = args.skill.as_deref().filter(|skill| catalog.skill(named(skill).as_str()).is_none());
        if let Some(skill) = unknown {
            let (skill, help) = (escape::word(skill), suggest(skill, &catalog.slugs()));
            writeln!(stderr(), "{}", escape::line(&format!("no skill here is called {skill}; {help}")))?;
        }
    } else {
        out.write_all(table::chart(&points).as_bytes())?;
        for by in points.iter().flat_map(|point| &point.scripted).collect::<BTreeSet<_>>() {
            writeln!(out, "{}", escape::line(&scripted(by)))?;
        }
    }
    for line in drift_words::lines(&series) {
        writeln!(out, "{line}")?;
    }
    out.write_all(drift_words::noise(&noise).as_bytes())?;
    Ok(exit)
}
