//! Compares trials that are stored.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::slice;
use std::time::Duration;

use clap::Args;

use super::{CompareArgs, StoredSide, is_path, refuse_what_decided};
use crate::cases::selection::stored_cases;
use crate::cli::export_args::IN_PLACE;
use crate::cli::output::{document_stdout, warn};
use crate::cli::select::{CASES, SIDES};
use crate::cli::{CliResultOf, named_runs};
use crate::decide::{SideCounts, plan};
use crate::engine::compare::{check_reachable, unreadable_pairs};
use crate::exports::html::overview;
use crate::files::at::PathError;
use crate::files::{bounded, look};
use crate::report::markdown;
use crate::report::run_status::differences;
use crate::results::compared::{self, ComparisonResults, Headline};
use crate::results::outcome_table::OutcomeTable;
use crate::results::result_files::{self, ResultFile, ResultSide};
use crate::results::run_status::{AgentVersions, RunState, is_live, standing};
use crate::results::side_results::{self, Incomparable, SideReader, SideResults, TrialSide};
use crate::results::{graded_trial, stored_comparison};
use crate::settings::{Trust, load};
use crate::store::{self, KeptTrial, KeptTrials, RunFolder};
use crate::text::problem::{About, Problem};
use crate::trial::run_record::{RunEndKind, RunRecord};

/// Compares stored trials of two sides; and says which run is not whole, if one is.
pub fn compare(
    args: &CompareArgs,
    root: &Path,
    a: &StoredSide,
    b: &StoredSide,
) -> CliResultOf<(ComparisonResults, Option<String>)> {
    args.refuse_what_runs()?;
    let (of_a, of_b) = (sources(root, a)?, sources(root, b)?);
    if let (true, Some(both)) = (a.mode == b.mode, of_a.iter().find(|path| of_b.contains(path))) {
        return Err(format!("{} is on both sides: its trials would be compared with themselves", both.display()).into());
    }
    let is_copied = |path: &&PathBuf| of_b.iter().any(|other| named_runs::is_copy(path, other));
    if let (true, Some(both)) = (a.mode == b.mode, of_a.iter().find(is_copied)) {
        let path = both.display();
        return Err(format!("{path} is on both sides, as a copy: its trials would be compared with themselves").into());
    }
    let side = |side: &StoredSide, paths: &[PathBuf]| -> CliResultOf<TrialSide> {
        Ok(TrialSide { label: side.label.clone(), trials: read(paths)?, mode: side.mode.clone() })
    };
    let (a, b) = (side(a, &of_a)?, side(b, &of_b)?);
    warn_of_versions(of_a.iter().chain(&of_b))?;
    let stored = a.trials.cases().chain(b.trials.cases()).collect();
    let chosen = stored_cases(&args.select.names.selection(), &stored)?;
    let (in_a, in_b) = side_results::counts_of_side(&a, &b, |skill, case| chosen.contains(&(skill, case))).map_err(
        |why| match why {
            Incomparable::NoCommonMode { .. } => {
                format!("{why}: choose one of each with --baseline mode=… --candidate mode=…")
            }
            Incomparable::NoTrials { .. } => why.to_string(),
        },
    )?;
    let mut compared = decided(args, (a.label.clone(), b.label.clone()), &in_a, &in_b)?;
    if let Some(case) = compared.changed_cases.first() {
        compared.changed_parts = changed_parts(case, &of_a, &of_b);
    }
    // Of chosen cases nobody knows whether they are whole.
    let whole = args.given.first(&[CASES]).is_none().then(|| of_a.iter().chain(&of_b));
    Ok((compared, whole.into_iter().flatten().find_map(|path| unfinished(path))))
}

/// That the run of a progress file is not whole, if it is not.
fn unfinished(path: &Path) -> Option<String> {
    let run = RunFolder::at(path.parent()?);
    let record = run.run_record().ok().flatten()?;
    // Of processes that share a run, none knows that it is the last.
    let is_whole = match record.ended {
        Some(ended) => ended.how == RunEndKind::Finished,
        None => record.shared_by.is_some() || record.imported.is_some(),
    };
    if is_whole && record.absent.is_empty() {
        return None;
    }
    let next = if is_live(&run) { "it is running".to_owned() } else { run.remedy() };
    Some(format!("{} has not run to its end; {next}", run.id()))
}

/// Compares outcomes that were measured elsewhere.
pub fn of_table(args: &CompareArgs, file: &Path) -> CliResultOf<ComparisonResults> {
    args.refuse_what_runs()?;
    if let Some(option) = args.given.first(&[CASES]) {
        return Err(format!("{option}: the rows of the table are compared, all of them; leave it out").into());
    }
    let text = bounded::read_text(file).about(file.display())?;
    let table = OutcomeTable::read(&text).about(file.display())?;
    let [(a, in_a), (b, in_b)] = [table.baseline, table.candidate]
        .map(|(label, counts)| (label, SideResults { counts, ..SideResults::default() }));
    decided(args, (a, b), &in_a, &in_b)
}

/// The comparison, if it can reach what its gate asks for.
pub fn decided(
    args: &CompareArgs,
    labels: (String, String),
    a: &SideResults,
    b: &SideResults,
) -> CliResultOf<ComparisonResults> {
    let rule = args.rule();
    if !args.fail_on.is_empty() {
        let design = design(&a.counts, &b.counts);
        let numbers = "trials of each case on each side";
        let remedy = "measure more with run --trials, or choose other results";
        check_reachable((&args.fail_on, false), &rule, numbers, remedy, |claim| {
            plan::reach_fixed(&design, &rule, claim)
        })?;
    }
    Ok(compared::stored(labels, a, b, rule))
}

/// Warns of an agent that ran in several versions, by the first trial of each run.
fn warn_of_versions<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> CliResultOf<()> {
    let mut versions = AgentVersions::default();
    let runs = paths.filter_map(|path| path.parent()).map(RunFolder::at);
    for run in runs {
        if let Some(meta) = run.first_trial("")?.and_then(|trial| trial.meta().ok()) {
            versions.add(meta.agent);
        }
    }
    for agents in versions.mixed() {
        warn(&format!("the runs had different versions of an agent: {agents}"))?;
    }
    Ok(())
}

/// What differs between the trials of a case on both sides, besides skills, by the first trial of each run. Empty if those of one
/// side are not stored.
fn changed_parts(case: &str, a: &[PathBuf], b: &[PathBuf]) -> Vec<String> {
    let inputs = |paths: &[PathBuf]| {
        let runs = paths.iter().filter_map(|path| path.parent()).map(RunFolder::at);
        runs.filter_map(|run| Some(run.first_trial(case).ok()??.meta().ok()?.inputs)).collect::<Vec<_>>()
    };
    let (a, b) = (inputs(a), inputs(b));
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
    let mut parts: BTreeSet<String> = pairs.flat_map(|(a, b)| a.differences_besides_skills(b)).collect();
    if parts.is_empty() && !a.is_empty() && !b.is_empty() {
        parts.insert("what is checked".to_owned());
    }
    parts.into_iter().collect()
}

/// The trials of each case that both sides have.
fn design(a: &SideCounts, b: &SideCounts) -> Vec<(u64, u64)> {
    let both = a.iter().filter_map(|(case, in_a)| Some((in_a.rate.trials, b.get(case)?.rate.trials)));
    both.collect()
}

/// The files with the trials of a side, each once: baseline files, and those of runs or of their shards.
fn sources(root: &Path, side: &StoredSide) -> CliResultOf<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for source in &side.sources {
        let file = PathBuf::from(source);
        let found = match named_runs::open_all(root, slice::from_ref(source)) {
            _ if named_runs::is_directory(source) && !look::is_directory(&file)? => vec![file],
            Err(_) if is_path(source) && !look::is_directory(&file)? => vec![file],
            Err(_) if is_path(source) => vec![RunFolder::at(&file).progress_path()],
            runs => runs?.iter().map(RunFolder::progress_path).collect(),
        };
        for path in found {
            if !look::is_file(&path)? {
                let path = path.display();
                return Err(format!("{path}: no such file; a baseline is the progress.jsonl of a run").into());
            }
            let path = path.canonicalize()?;
            if paths.contains(&path) {
                return Err(format!("{source} is named twice on one side: its trials would count twice").into());
            }
            paths.push(path);
        }
    }
    let is_of = |run: &RunFolder| run.progress_path().canonicalize().is_ok_and(|path| paths.contains(&path));
    let runs = paths.iter().filter_map(|path| path.parent()).map(RunFolder::at).filter(is_of).collect::<Vec<_>>();
    named_runs::check_distinct(&runs.iter())?;
    // A merged run begins as one of its shards does: that it is no copy is known by now.
    for (number, path) in paths.iter().enumerate() {
        if let Some(other) = paths[..number].iter().find(|other| named_runs::is_copy(other, path)) {
            let (path, other) = (path.display(), other.display());
            return Err(format!("{path} is a copy of {other}: its trials would count twice").into());
        }
    }
    Ok(paths)
}

/// The trials that these progress files tell of.
fn read(paths: &[PathBuf]) -> CliResultOf<SideReader> {
    let mut trials = SideReader::default();
    for path in paths {
        // A file that was copied of a run has lost its grades.
        let run = path.parent().map(RunFolder::at).filter(|run| run.progress_path() == *path);
        match run {
            Some(run) if run.has_record()? => {
                if let Some(differences) = differences(trials.run(&run)?) {
                    warn(&format!("{}: {differences}", run.id()))?;
                }
            }
            _ => {
                trials.baseline(path)?;
            }
        }
    }
    Ok(trials)
}

/// The result of a run that compares, so far; and why it is not the last, if its plan is not done.
pub fn again(args: &CompareArgs, run: &RunFolder) -> CliResultOf<(ComparisonResults, Option<String>)> {
    args.refuse_what_runs()?;
    refuse_what_decided(args, run.id())?;
    let Some(RunRecord { sides: Some(sides), absent, .. }) = run.run_record()? else {
        return Err(format!("{} compared nothing", run.id()).into());
    };
    let course = stored_comparison::course(run, &sides)?;
    let compared = stored_comparison::compared(run, &sides, &course)?;
    let (id, standing) = (run.id(), standing(run)?);
    if let Some(differences) = differences(standing.differences) {
        warn(&format!("{id}: {differences}"))?;
    }
    if let Some(why) = unreadable_pairs(run)? {
        warn(&why)?;
    }
    let early = match standing.state {
        _ if !absent.is_empty() => Some(format!("{id} lacks shards; {}", run.remedy())),
        _ if course.is_done() => None,
        RunState::Running => Some(format!("{id} is running: this is its result so far")),
        RunState::Finished if compared.lost().is_some() => None,
        RunState::Finished => Some(format!("{id} ended early; {}", run.remedy())),
        state => Some(format!("{id} was {} before its plan was done; {}", state.as_str(), run.remedy())),
    };
    Ok((compared, early))
}

// How much the results of equal trials drift over days: the kept trials of earlier gates against those of later ones.

/// Compares the kept trials of the repository at `root`, those of the earlier half of their runs with the others. Only trials
/// in which nothing differs are compared with each other.
pub fn drift_of_kept(args: &CompareArgs, root: &Path) -> CliResultOf<ComparisonResults> {
    args.refuse_what_runs()?;
    let prices = load::read_file(root, Trust::Trusted)?.prices;
    let kept = KeptTrials::new(root, Duration::MAX)?;
    let (mut earlier, mut later) = (TrialSide::default(), TrialSide::default());
    let (mut days, mut number) = ([BTreeSet::new(), BTreeSet::new()], 0);
    for (key, trials) in kept.all() {
        let first = first_runs(&trials);
        for trial in &trials {
            let Ok(mut row) = graded_trial::row(&trial.folder, &prices) else { continue };
            let is_later = !first.contains(trial.meta.run_id.as_str());
            number += 1;
            // The same case with other skills is another case.
            row.id.mode = format!("{} {}", row.id.mode, key.get(..8).unwrap_or(&key));
            row.id.number = number;
            let side = if is_later { &mut later } else { &mut earlier };
            side.trials.record(&row);
            days[usize::from(is_later)].insert(trial.meta.started.get(..10).unwrap_or_default().to_owned());
        }
    }
    for warning in kept.warnings() {
        warn(&warning)?;
    }
    let span = |days: &BTreeSet<String>| {
        let (first, last) = (days.first().cloned().unwrap_or_default(), days.last().cloned().unwrap_or_default());
        if first == last { first } else { format!("{first} … {last}") }
    };
    earlier.label = format!("kept trials of {}", span(&days[0]));
    later.label = format!("kept trials of {}", span(&days[1]));
    let chosen =
        stored_cases(&args.select.names.selection(), &earlier.trials.cases().chain(later.trials.cases()).collect())?;
    let (a, b) = side_results::counts_of_side(&earlier, &later, |skill, case| chosen.contains(&(skill, case)))
        .map_err(|_| "no case has kept trials of two gates: there is nothing to compare yet")?;
    Ok(ComparisonResults { aa: true, ..compared::stored((earlier.label, later.label), &a, &b, args.rule()) })
}

/// The runs of the earlier half of these trials. All trials of a run are in the same half, since a run ends by its results. No
/// run if there is only one, which has nothing to be compared with.
fn first_runs(trials: &[KeptTrial]) -> BTreeSet<&str> {
    let mut runs: BTreeMap<&str, &str> = BTreeMap::new();
    for trial in trials {
        let began = runs.entry(&trial.meta.run_id).or_insert(&trial.meta.started);
        *began = (*began).min(&trial.meta.started);
    }
    let mut runs: Vec<(&str, &str)> = runs.into_iter().map(|(run, began)| (began, run)).collect();
    runs.sort_unstable();
    let half = runs.len() / 2;
    runs.into_iter().take(half).map(|(_, run)| run).collect()
}

// A comparison of result files as a page and as Markdown.

#[derive(Args)]
pub struct PageArgs {
    /// Write a comparison of result files of other tools as a page (`-` is stdout)
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    html: Option<PathBuf>,
    /// Print a comparison of result files of other tools as Markdown
    #[arg(long, group = IN_PLACE, conflicts_with = "resume")]
    markdown: bool,
}

impl PageArgs {
    /// Whether one of them is on standard output, in place of the answer.
    pub fn is_output(&self) -> bool {
        self.markdown || self.has_html_output()
    }

    fn has_html_output(&self) -> bool {
        self.html.as_deref() == Some(Path::new(store::STDOUT))
    }

    /// Refuses a page next to another text on standard output.
    pub fn check(&self, has_output: bool) -> Result<(), Problem> {
        if self.has_html_output() && (has_output || self.markdown) {
            return Err("standard output has room for one text: name a file for the page".into());
        }
        Ok(())
    }

    /// Refuses both where trials are stored, or run.
    pub fn refuse(&self) -> Result<(), Problem> {
        let option = match (&self.html, self.markdown) {
            (Some(_), _) => "--html",
            (None, true) => "--markdown",
            (None, false) => return Ok(()),
        };
        Err(format!("{option}: only for result files of other tools; of runs, `skill-evals report` writes a page")
            .into())
    }

    pub fn write(&self, compared: &ComparisonResults, lacks: Option<&str>) -> CliResultOf<()> {
        if self.markdown {
            document_stdout().write_all(markdown::comparison(compared, lacks).as_bytes())?;
        }
        if let Some(file) = &self.html {
            store::write_out(file, |out| out.write_all(overview::page(compared, lacks).as_bytes()))?;
        }
        Ok(())
    }
}

// Compares the results of other tools, by their own files.

/// The largest file that is read.
const MOST_BYTES: u64 = 1 << 30;

/// The most bytes of a file by whose first lines its format is known.
const HEAD: u64 = 16 << 20;

/// The file of a trial in a directory of trials.
const OF_TRIAL: &str = "result.json";

/// What to do about trials that the tool lost.
pub const ELSEWHERE_REMEDY: &str = "measure them again with the tool that lost them";

/// The comparison, if what is named are results of another tool.
pub fn compare_elsewhere(args: &CompareArgs) -> CliResultOf<Option<ComparisonResults>> {
    let sides: Vec<Vec<&str>> = args.what.iter().map(|side| names(side)).collect();
    let is_of_tool = |name: &&str| is_result(Path::new(name));
    if !sides.iter().flatten().any(is_of_tool) {
        return Ok(None);
    }
    if let Some(other) = sides.iter().flatten().find(|name| !is_of_tool(name)) {
        return Err(format!("{other} is not a result file of another tool; compare two of a kind").into());
    }
    args.refuse_what_runs()?;
    if let Some(option) = args.given.first(&[CASES, SIDES]) {
        return Err(format!("{option}: all cases of the files are compared; leave it out").into());
    }
    let mut seen = BTreeSet::new();
    let mut is_again = |name: &&&str| Path::new(name).canonicalize().is_ok_and(|path| !seen.insert(path));
    if let Some(again) = sides.iter().flatten().find(|name| is_again(name)) {
        return Err(
            format!("{again} is named twice: its trials would be compared with themselves, or count twice").into()
        );
    }
    let files = sides.iter().map(|names| read_all(names)).collect::<Result<Vec<_>, _>>()?;
    let [a, b] = match (sides.as_slice(), files.as_slice()) {
        ([..], [one]) => result_files::of_two_arms(one, &args.mode).about(&args.what[0])?,
        _ if !args.mode.is_empty() => return Err("--mode chooses sides of one file; leave it out".into()),
        (_, files) => result_files::of_two_files([&args.what[0], &args.what[1]], [&files[0], &files[1]]),
    };
    let results = |side: &ResultSide| SideResults { counts: side.counts.clone(), ..SideResults::default() };
    let labels = (a.label.clone(), b.label.clone());
    let compared = decided(args, labels, &results(&a), &results(&b))?;
    Ok(Some(ComparisonResults { headline: headline(&a, &b), ..compared }))
}

/// The files of a side: one, or several with commas between them.
fn names(side: &str) -> Vec<&str> {
    if look::is_usable(Path::new(side)) {
        vec![side]
    } else {
        side.split(',').filter(|name| !name.is_empty()).collect()
    }
}

/// What the tool shows of the same cases on both sides, unless the outcomes are in a table, which nobody scored.
fn headline(a: &ResultSide, b: &ResultSide) -> Option<Headline> {
    let tools: Vec<&str> = a.tools.union(&b.tools).copied().collect();
    let [tool] = tools[..] else { return None };
    let shows = tool != result_files::TABLE && a.has_cases_of(b);
    let (baseline, candidate) = a.score().zip(b.score()).filter(|_| shows)?;
    let errors = a.errors + b.errors;
    let measured = a.difference(b);
    let by_case = measured.map(|found| found.mean);
    let p = measured.filter(|_| a.has_finer_scores() || b.has_finer_scores()).map(|found| found.tails.two_sided());
    Some(Headline { tool: tool.to_owned(), baseline, candidate, errors, by_case, p })
}

/// Whether a path is of results of another tool: by its ending, or by its first lines if those of runs end so, too.
fn is_result(path: &Path) -> bool {
    if look::is_usable_directory(path) {
        return !look::is_usable_file(&RunFolder::at(path).progress_path())
            && trial_files(path).is_ok_and(|files| !files.is_empty());
    }
    match path.extension().and_then(|end| end.to_str()) {
        Some("json" | "xml" | "csv" | "eval") => true,
        Some("jsonl") => head(path).is_some_and(|lines| result_files::is_one(&lines)),
        _ => false,
    }
}

/// The first lines of a regular file.
fn head(path: &Path) -> Option<Vec<u8>> {
    let (file, _) = bounded::open(path).ok()?;
    let (mut reader, mut lines): (_, Vec<u8>) = (BufReader::new(Read::take(file, HEAD)), Vec::new());
    for _ in 0..3 {
        reader.read_until(b'\n', &mut lines).ok()?;
    }
    Some(lines)
}

/// The results of trials in a directory, in the order of their names.
fn trial_files(directory: &Path) -> Result<Vec<PathBuf>, PathError> {
    let entries = look::Walk::new(directory).following_links().all()?;
    Ok(entries.into_iter().map(look::Entry::into_path).filter(|path| path.ends_with(OF_TRIAL)).collect())
}

fn read_all(names: &[&str]) -> CliResultOf<Vec<ResultFile>> {
    let mut found = Vec::new();
    for path in names.iter().map(Path::new) {
        if !look::is_directory(path)? {
            found.push(read_elsewhere(path)?);
            continue;
        }
        // The result of a job counts its trials once more.
        let files = trial_files(path).about("a directory of trials")?;
        let files = files.iter().map(|path| read_elsewhere(path)).collect::<Result<Vec<_>, _>>()?;
        let has_trials = files.iter().any(|file| file.format.is_one_trial());
        found.extend(files.into_iter().filter(|file| !has_trials || file.format.is_one_trial()));
    }
    Ok(found)
}

fn read_elsewhere(path: &Path) -> Result<ResultFile, Problem> {
    let bytes = bounded::read_at_most(path, MOST_BYTES).about(path.display())?;
    result_files::read(&bytes).about(path.display())
}
