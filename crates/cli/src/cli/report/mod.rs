//! `skill-evals report`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::{CliResult, RepositoryArgs, custom_checks};
use crate::cli::exit_code::{self, Exit};
use crate::cli::output::{text_stdout, warn};
use crate::cli::{CliResultOf, named_runs};
use crate::decide::{MARGIN, Rule};
use crate::engine::Loaded;
use crate::exports::html::document::{JudgeDialogue, TrialDocument};
use crate::exports::html::document::{PackedDocument, Packer};
use crate::exports::html::overview::{self, Overview};
use crate::exports::html::{self, Index};
use crate::files::bounded;
use crate::process::run_to_end;
use crate::report::compared::short_names;
use crate::report::diagnostics::counted;
use crate::report::trial_text::again;
use crate::results::compared::{self, ChangedText, ComparisonResults, changed_texts};
use crate::results::drift;
use crate::results::history::{self, HistoryPoint, TrendFilter};
use crate::results::side_results::{self, SideReader, TrialSide};
use crate::results::stored_summary::{RestOfRun, no_trials};
use crate::results::summary::Summary;
use crate::results::timeline::{EventKind, Timeline};
use crate::results::{graded_trial, stored_comparison};
use crate::run::live::Redactors;
use crate::run::planned::PlannedRun;
use crate::run::regrade::TrialReview;
use crate::store::{self, RunFolder, TrialFolder};
use crate::text::diagnostic::shown_path;
use crate::text::escape;
use crate::text::problem::Problem;
use crate::trial::evidence::digest;
use crate::trial::id::TrialId;
use crate::trial::outcome::Verdict;
use crate::trial::run_record::{ComparedSides, TrialRecord};

/// The most runs in the history.
const MAX_RUNS: usize = 20;

/// The default of `--max-size`.
const MAX_SIZE: u64 = 50_000_000;

/// The most skills that have a history of their own.
const MAX_SKILLS: usize = 30;

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
    let Loaded { repository, settings, catalog } = args.repository.read()?;
    let root = &repository.root;
    let runs =
        if args.what.is_empty() { vec![named_runs::latest(root)?] } else { named_runs::open_all(root, &args.what)? };
    let against = named_runs::open_all(root, &args.against)?;
    named_runs::check_distinct(&runs.iter().chain(&against))?;
    let is_directory = args.what.iter().any(|name| named_runs::is_directory(name));
    let default = match runs.as_slice() {
        [run] if !is_directory => run.report(),
        _ => PathBuf::from("report.html"),
    };
    let output = args.output.clone().unwrap_or(default);
    if args.open && output == Path::new(store::STDOUT) {
        return Err("--open needs a file, and -o - writes none".into());
    }
    let run = PlannedRun::new(root.clone(), settings, catalog);
    let (trials, exit) = write(run, &runs, &against, &output, args.max_size)?;
    if output != Path::new(store::STDOUT) {
        let size = std::fs::metadata(&output).map_or(0, |metadata| metadata.len());
        let shown = escape::line(&shown_path(root, &output).display().to_string());
        writeln!(text_stdout(), "{shown} ({}, {} KB)", counted(trials, "trial"), size.div_ceil(1000))?;
        if args.open
            && let Err(why) = run_to_end::open(&output)
        {
            warn(&format!("no browser can be opened ({why}): open the file yourself"))?;
        }
    }
    Ok(exit)
}

/// Writes the report of the run in the directory `run`, of the repository at `root`.
pub fn write_run(root: &Path, run: &Path, output: &Path) -> CliResultOf<()> {
    let Loaded { repository, settings, catalog } =
        RepositoryArgs { root: Some(root.to_path_buf()), untrusted: false, for_gate: false, gate_base: None }
            .read_quietly()?;
    let context = PlannedRun::new(repository.root, settings, catalog);
    write(context, &[RunFolder::at(run)], &[], output, MAX_SIZE)?;
    Ok(())
}

/// Writes the report of these runs, and returns the number of their trials and the exit code.
fn write(
    mut run: PlannedRun,
    runs: &[RunFolder],
    against: &[RunFolder],
    output: &Path,
    max_size: u64,
) -> CliResultOf<(usize, Exit)> {
    // Recordings have no grades.
    if !named_runs::have_own_trials(runs.iter().chain(against))? {
        run.custom_checks = custom_checks(&run.root, &run.settings)?;
    }
    let of_run = if against.is_empty() { sides_of(runs)? } else { None };
    let labels = match &of_run {
        Some((sides, _)) => Some((sides.baseline.label.clone(), sides.candidate.label.clone())),
        None => (!against.is_empty()).then(|| (label(against), label(runs))),
    };
    let ids = runs.iter().chain(against).map(|run| run.id().to_owned()).collect();
    let mut reader = ReportReader::new(&run, ids, labels.as_ref().map(|(a, b)| short_names((a, b))))?;
    reader.pairs = of_run.as_ref().map(|(_, pairs)| pairs.clone()).unwrap_or_default();
    let (summary, trials) = reader.read(0, runs)?;
    reader.only_mode = only_mode(against, &trials)?;
    let candidate = TrialSide { label: label(runs), trials, mode: None };
    let (summary_against, trials) = reader.read(runs.len(), against)?;
    let baseline = TrialSide { label: label(against), trials, mode: None };
    if reader.index.rows.is_empty() && reader.unreadable == 0 {
        return Err(no_trials(&candidate.label, runs).into());
    }
    reader.keep_within(max_size);
    let compared = match (&of_run, runs) {
        (Some((sides, _)), [run]) => {
            Some(stored_comparison::compared(run, sides, &stored_comparison::course(run, sides)?)?)
        }
        _ if against.is_empty() => None,
        _ => Some(compare(&baseline, &candidate)?),
    };
    let history = history(&run.root, &summary);
    let (nights, warnings) =
        store::nights(&run.root).unwrap_or_else(|error| (Vec::new(), vec![format!("nights cannot be read: {error}")]));
    reader.notes.extend(warnings);
    let series = drift::series(&nights);
    let overview = Overview {
        summary: &summary,
        compared: compared.as_ref(),
        against: (!against.is_empty()).then_some(&summary_against),
        baseline_modes: &reader.pairs.keys().map(|id| id.mode.clone()).collect(),
        created: &reader.created,
        agents: &reader.agents,
        history: &history,
        series: &series,
        notes: &reader.notes,
    };
    let (title, overview) = (overview::title(&overview), overview::overview(&overview));
    let redactor = Redactors::new(&run.settings).masking(Vec::new());
    let edits = match (of_run.as_ref().map(|(sides, _)| sides), runs, against) {
        // Without skills, and with the same ones again, there is nothing to compare.
        (Some(sides), [run], _) if [&sides.baseline, &sides.candidate].iter().all(|side| !side.without) => {
            let [before, after] = [&sides.baseline, &sides.candidate].map(|side| run.snapshot(side.commit.as_deref()));
            changed_texts(&before, &after, &redactor)
        }
        (None, [after], [before]) => changed_texts(&before.snapshot(None), &after.snapshot(None), &redactor),
        _ => Vec::new(),
    };
    store::write_out(output, |file| reader.write(file, &title, &overview, &edits))?;
    Ok((reader.index.rows.len(), reader.exit(&summary)))
}

fn label(runs: &[RunFolder]) -> String {
    runs.iter().map(RunFolder::id).collect::<Vec<_>>().join(", ")
}

/// The sides of a comparison, with the candidate mode of each paired baseline trial.
type SidesOfRun = (ComparedSides, BTreeMap<TrialId, String>);

fn sides_of(runs: &[RunFolder]) -> CliResultOf<Option<SidesOfRun>> {
    let [run] = runs else { return Ok(None) };
    // The reader notes a record that cannot be read.
    let Some(sides) = run.run_record().ok().flatten().and_then(|record| record.sides) else { return Ok(None) };
    let pairs = run.pairs()?.into_iter().filter_map(|pair| Some((pair.baseline?, pair.candidate.mode))).collect();
    Ok(Some((sides, pairs)))
}

fn compare(baseline: &TrialSide, candidate: &TrialSide) -> CliResultOf<ComparisonResults> {
    let (before, after) = side_results::counts_of_side(baseline, candidate, |_, _| true)?;
    let rule = Rule { margin: Some(MARGIN), ..Rule::default() };
    Ok(compared::stored((baseline.label.clone(), candidate.label.clone()), &before, &after, rule))
}

/// The mode of the reported trials, if each side has a single mode: then the mode is the difference, and no part of the case.
fn only_mode(against: &[RunFolder], reported: &SideReader) -> CliResultOf<Option<String>> {
    let mut trials = SideReader::default();
    for run in against {
        trials.run(run)?;
    }
    let (modes, reported) = (trials.modes(), reported.modes());
    // `compare` reports sides that cannot be compared.
    let differs = !modes.is_empty() && side_results::sides_by_mode(&modes, &reported) == Ok(false);
    Ok(reported.first().filter(|_| differs).map(|mode| (*mode).to_owned()))
}

/// The latest runs of this repository, for all skills together and for each alone.
fn history(root: &Path, summary: &Summary) -> Vec<(String, Vec<HistoryPoint>)> {
    let runs: Vec<RunFolder> = store::runs(root).unwrap_or_default().into_iter().take(MAX_RUNS).collect();
    let mut skills = vec![None];
    if summary.skills.len() <= MAX_SKILLS {
        skills.extend(summary.skills.keys().map(Some));
    }
    let mut history = Vec::new();
    for skill in skills {
        let filter = TrendFilter { skill: skill.cloned(), mode: None };
        // `history` and `runs` report a run that cannot be read.
        let mut points: Vec<HistoryPoint> = runs.iter().filter_map(|run| history::point(run, &filter).ok()?).collect();
        points.sort_by(|a, b| (&a.created, &a.run).cmp(&(&b.created, &b.run)));
        history.push((skill.map_or_else(|| "all skills".to_owned(), Clone::clone), points));
    }
    history
}

/// Parses a number of bytes: `50MB`, `800KB`, `1GB`, `4096`.
fn size(text: &str) -> Result<u64, String> {
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000), ("B", 1), ("", 1)];
    let upper = text.trim().to_uppercase();
    let read = units
        .iter()
        .find_map(|(unit, bytes)| upper.strip_suffix(unit)?.trim().parse::<u64>().ok()?.checked_mul(*bytes));
    read.ok_or_else(|| "expected a size such as 50MB, 800KB or 1GB".to_owned())
}

// Reads stored trials for the report, one by one. Only their rows stay in memory.

/// The content of a report, as far as it was read.
pub struct ReportReader<'a> {
    run: &'a PlannedRun,
    pub index: Index,
    packer: Packer,
    sessions: Sessions,
    /// When the reported runs began.
    pub created: BTreeSet<String>,
    /// The agents of the trials, with their versions and models.
    pub agents: BTreeSet<String>,
    /// What the page does not contain, and why.
    pub notes: Vec<String>,
    /// How many files could not be read.
    pub unreadable: usize,
    /// For a comparison, the baseline trials with the modes of their counterparts.
    pub pairs: BTreeMap<TrialId, String>,
    /// The mode of all reported trials, if the trials that they are compared with have a single mode too.
    pub only_mode: Option<String>,
}

impl<'a> ReportReader<'a> {
    pub fn new(run: &'a PlannedRun, runs: Vec<String>, sides: Option<(String, String)>) -> CliResultOf<Self> {
        Ok(Self {
            run,
            index: Index::new(runs, sides),
            packer: Packer::default(),
            sessions: Sessions::new()?,
            created: BTreeSet::new(),
            agents: BTreeSet::new(),
            notes: Vec::new(),
            unreadable: 0,
            pairs: BTreeMap::new(),
            only_mode: None,
        })
    }

    /// Reads these runs. `first` is the place of the first one in the index; the baseline comes after the reported runs.
    pub fn read(&mut self, first: usize, runs: &[RunFolder]) -> CliResultOf<(Summary, SideReader)> {
        let mut summary = Summary::new(Vec::new(), &self.run.settings);
        let is_baseline = first > 0;
        let mut side = SideReader::default();
        for (at, run) in (first..).zip(runs) {
            summary.runs.push(run.id().to_owned());
            let mut rest = RestOfRun::of(run)?;
            match run.run_record() {
                Ok(record) if !is_baseline => self.created.extend(record.map(|record| record.created)),
                Ok(_) => {}
                Err(why) => self.note_unreadable(format!("Not read: {why}")),
            }
            let has_trials = named_runs::has_own_trials(run)?;
            // A trial of a run that has no grade was cut short. Recordings have no grades.
            let trials = named_runs::trials(&self.run.root, run)?;
            for folder in trials {
                if has_trials && !folder.has_grade()? {
                    continue;
                }
                match self.trial((at, has_trials.then(|| run.id())), &folder, is_baseline) {
                    Ok(mut record) => {
                        side.record(&record);
                        rest.without(&mut record);
                        summary.add(&record);
                    }
                    Err(why) => self.note_unreadable(format!("Not counted: {why}")),
                }
            }
            for (id, why) in rest.add_to(&mut summary, run)? {
                let before = self.counterpart(&id, is_baseline);
                self.index.add_not_run(at, &id, before.as_deref(), why);
            }
        }
        Ok((summary, side))
    }

    fn note_unreadable(&mut self, note: String) {
        self.unreadable += 1;
        // If standard error is closed, the page says it.
        let _ = warn(&note);
        self.notes.push(note);
    }

    /// Reads and packs a trial of the run at this place of the index. A recording has no id of a run.
    fn trial(
        &mut self,
        (run, id): (usize, Option<&str>),
        folder: &TrialFolder,
        is_baseline: bool,
    ) -> Result<TrialRecord, Problem> {
        let review = TrialReview::of(self.run, folder)?;
        let timeline = review.timeline();
        let (meta, grade) = (&review.meta, &review.grade);
        let outcome = graded_trial::outcome(meta.id(), grade.clone(), meta, folder, &self.run.settings.prices);
        let record = TrialRecord::new(&outcome, 1);
        let packed = self.pack(id, &review, &timeline, folder)?;
        self.sessions.add(record.verdict, &packed)?;
        self.agents.insert(meta.agent.text());
        let answer = review.final_text.as_deref().map(short).unwrap_or_default();
        let before = self.counterpart(&record.id, is_baseline);
        self.index.add(run, &record, before.as_deref(), answer, short(&calls(&timeline)));
        Ok(record)
    }

    /// The mode of the candidate trial of a baseline trial.
    fn counterpart(&self, id: &TrialId, is_baseline: bool) -> Option<String> {
        if is_baseline {
            Some(self.only_mode.clone().unwrap_or_else(|| id.mode.clone()))
        } else {
            // A trial that was not run may have no pair.
            let same_mode = || self.pairs.iter().find(|(other, _)| other.mode == id.mode).map(|(_, mode)| mode);
            self.pairs.get(id).or_else(same_mode).cloned()
        }
    }

    fn pack(
        &mut self,
        run: Option<&str>,
        review: &TrialReview,
        timeline: &Timeline,
        folder: &TrialFolder,
    ) -> io::Result<PackedDocument> {
        let files = review.files(self.run, folder);
        let judgment = folder.judgment().map_err(io::Error::other)?;
        let judge =
            judgment.map(|judgment| JudgeDialogue { question: review.question(self.run, folder, &judgment), judgment });
        let place = shown_path(&self.run.root, folder.path()).display().to_string();
        let evidence = review.evidence();
        let id = review.meta.id();
        let commands = again(&id, run, self.run.settings.mode(&id.mode).is_some());
        let document = TrialDocument::new(commands, &evidence, &review.grade, timeline, files, judge, place);
        self.packer.pack(&review.meta.skill.slug, &document)
    }

    /// Leaves sessions out until the others take at most `limit` bytes.
    pub fn keep_within(&mut self, limit: u64) {
        let left_out = self.sessions.beyond(limit.saturating_sub(self.packer.common_length()));
        for (at, _) in &left_out {
            self.index.rows[*at].kept = false;
        }
        let passed = left_out.iter().filter(|(_, verdict)| *verdict == Verdict::Pass).count();
        let others = left_out.len() - passed;
        if passed + others > 0 {
            let others = if others > 0 { format!(" and of {others} others") } else { String::new() };
            self.notes.push(format!(
                "The sessions of {passed} passed trials{others} are left out: all sessions would exceed {}. Their results are here, \
                 and `skill-evals show` has the sessions. --max-size sets the limit.",
                bounded::bytes(limit)
            ));
        }
    }

    pub fn exit(&self, summary: &Summary) -> Exit {
        let exit = Exit::of_summary(summary);
        if self.unreadable == 0 { exit } else { exit.worse(Exit::Infrastructure) }
    }

    pub fn write(&mut self, out: &mut File, title: &str, overview: &str, edits: &[ChangedText]) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        html::begin(&mut out, title, overview, &self.index, edits)?;
        let (rows, packer) = (&self.index.rows, &mut self.packer);
        self.sessions.each(|at| rows[at].kept, |at, packed| packer.write(&mut out, at, packed))?;
        html::end(&mut out)?;
        out.flush()
    }
}

/// A short digest, to find equal texts.
fn short(text: &str) -> String {
    digest(text.as_bytes())[..12].to_owned()
}

/// The commands and calls of a session.
fn calls(timeline: &Timeline) -> String {
    let calls = timeline.entries.iter().filter_map(|entry| match &entry.what {
        EventKind::Command { command, .. } => Some(format!("{command}\0")),
        EventKind::Tool { name, input, .. } => Some(format!("{name} {input}\0")),
        EventKind::Files { paths } => Some(format!("{}\0", paths.join("\n"))),
        _ => None,
    });
    calls.collect()
}

// The packed sessions of a report, in a temporary file until the page is written.

/// Packed sessions, in the order of their trials.
pub struct Sessions {
    file: BufWriter<File>,
    length: u64,
    spans: Vec<FileSpan>,
}

struct FileSpan {
    verdict: Verdict,
    behind: usize,
    start: u64,
    length: u64,
}

impl Sessions {
    pub fn new() -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(tempfile::tempfile()?), length: 0, spans: Vec::new() })
    }

    /// Adds the session of the next trial.
    pub fn add(&mut self, verdict: Verdict, packed: &PackedDocument) -> io::Result<()> {
        self.file.write_all(&packed.text)?;
        let (behind, length) = (packed.behind, packed.text.len() as u64);
        self.spans.push(FileSpan { verdict, behind, start: self.length, length });
        self.length += length;
        Ok(())
    }

    /// The trials to leave out so that the other sessions take at most `limit` bytes: passed trials first, the longest of them
    /// first.
    pub fn beyond(&self, limit: u64) -> Vec<(usize, Verdict)> {
        let mut order: Vec<(usize, &FileSpan)> = self.spans.iter().enumerate().collect();
        order.sort_by_key(|(_, span)| {
            let rank = match span.verdict {
                Verdict::Pass => 0,
                Verdict::Error => 1,
                Verdict::Unscored => 2,
                Verdict::Fail => 3,
            };
            (rank, Reverse(span.length))
        });
        let mut length = self.length;
        let mut left_out = Vec::new();
        for (at, span) in order {
            if length <= limit {
                break;
            }
            length -= span.length;
            left_out.push((at, span.verdict));
        }
        left_out
    }

    /// Calls `take` for the sessions of the trials that `is_kept`, in their order.
    pub fn each(
        &mut self,
        is_kept: impl Fn(usize) -> bool,
        mut take: impl FnMut(usize, &PackedDocument) -> io::Result<()>,
    ) -> io::Result<()> {
        self.file.flush()?;
        let mut file = BufReader::new(self.file.get_ref());
        for (at, span) in self.spans.iter().enumerate().filter(|(at, _)| is_kept(*at)) {
            file.seek(SeekFrom::Start(span.start))?;
            let mut text = Vec::new();
            file.by_ref().take(span.length).read_to_end(&mut text)?;
            take(at, &PackedDocument { behind: span.behind, text })?;
        }
        Ok(())
    }
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
