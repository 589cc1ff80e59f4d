//! `skill-evals report`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::compare::of_arms;
use super::{CliResult, CliResultOf, RepositoryArgs, own_checks, summary};
use crate::cli::exit_code::{self, Exit};
use skill_evals::decide::{MARGIN, Rule};
use skill_evals::files::bounded;
use skill_evals::process::brief;
use skill_evals::report::html::document::{Document, Judging, WrittenFile};
use skill_evals::report::html::index::Index;
use skill_evals::report::html::overview::{self, Overview};
use skill_evals::report::html::page::{self, ChangedSkill};
use skill_evals::results::arm::{ArmReader, ArmResults};
use skill_evals::results::compared::{self, Compared};
use skill_evals::results::over_time::{self, Point, Wanted};
use skill_evals::results::summary::Summary;
use skill_evals::results::table;
use skill_evals::results::timeline::{Timeline, What};
use skill_evals::run::arms;
use skill_evals::run::review::Review;
use skill_evals::run::shared::Run;
use skill_evals::store::{self, RunFolder, TrialFolder};
use skill_evals::text::diagnostic::shown_path;
use skill_evals::text::safe;
use skill_evals::trial::evidence::digest;
use skill_evals::trial::id::TrialId;
use skill_evals::trial::outcome::Verdict;
use skill_evals::trial::run_record::{Arms, TrialRecord};

/// The latest so many runs are shown as history.
const HISTORY: usize = 20;

/// For so many skills each has a history of its own.
const MOST_HISTORIES: usize = 30;

#[derive(Args)]
#[command(after_help = exit_code::HELP)]
pub struct ReportArgs {
    /// Runs, by id or as folders; folders of recordings too [default: the latest run].
    #[arg(value_name = "RUN-ID|FOLDER")]
    what: Vec<String>,
    /// Compare with this run, trial beside trial.
    #[arg(long, value_name = "RUN-ID|FOLDER")]
    against: Vec<String>,
    /// Open the file when it is written.
    #[arg(long)]
    open: bool,
    /// Where to write; `-`: to standard output [default: report.html in the run's folder; of several runs, or folders, here].
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The most that sessions may take of the file: beyond it those of passed trials are left out first.
    #[arg(long, value_name = "SIZE", default_value = "50MB", value_parser = size)]
    max_size: u64,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn report(args: &ReportArgs) -> CliResult {
    let (repository, settings, catalog) = args.repository.read()?;
    let latest = || Ok(vec![store::runs(&repository.root).into_iter().next().ok_or("there are no runs yet")?]);
    let runs = if args.what.is_empty() { latest() } else { sources(&repository.root, &args.what) }?;
    let against = sources(&repository.root, &args.against)?;
    distinct(runs.iter().chain(&against))?;
    let output =
        args.output.clone().unwrap_or_else(|| match (runs.as_slice(), args.what.iter().any(|what| is_folder(what))) {
            ([run], false) => run.report(),
            _ => PathBuf::from("report.html"),
        });
    if args.open && output == Path::new(store::STDOUT) {
        return Err("--open needs a file, and -o - writes none".into());
    }
    let mut run = Run::new(repository.root, settings, catalog);
    // Recordings have no grade of their own.
    if runs.iter().chain(&against).any(|run| !run.is_run()) {
        let found = own_checks(&run.root)?;
        run.own_checks = found;
    }
    let arms = if against.is_empty() { arms_of(&runs)? } else { None };
    let mut reader = Reader::new(&run, runs.iter().chain(&against), arms.is_some() || !against.is_empty())?;
    reader.pairs = arms.as_ref().map(|(_, pairs)| pairs.clone()).unwrap_or_default();
    let (summary, b) = reader.read(0, &runs)?;
    reader.only_mode = only_mode(&against, &b)?;
    let (_, a) = reader.read(runs.len(), &against)?;
    if reader.index.rows.is_empty() && reader.unreadable == 0 {
        let names: Vec<&str> = runs.iter().map(RunFolder::id).collect();
        return Err(super::no_trials(&names.join(", "), &runs).into());
    }
    reader.keep_within(args.max_size);
    let compared = match (&arms, runs.as_slice()) {
        (Some((arms, _)), [run]) => Some(of_arms(run, arms, rule())?),
        _ if against.is_empty() => None,
        _ => Some(compare(&against, &runs, &a, &b)?),
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
    writeln!(io::stdout(), "{} ({} trials, {} KB)", safe::line(&shown), reader.index.rows.len(), size.div_ceil(1000))?;
    if args.open {
        brief::open(&output)?;
    }
    Ok(reader.exit(&summary))
}

fn rule() -> Rule {
    Rule { margin: Some(MARGIN), ..Rule::default() }
}

/// The arms of a run that compares, with the modes of arm B by the trials of arm A that were paired with them.
type ArmsOfRun = (Arms, BTreeMap<TrialId, String>);

fn arms_of(runs: &[RunFolder]) -> CliResultOf<Option<ArmsOfRun>> {
    let [run] = runs else { return Ok(None) };
    // One that cannot be read says nothing of arms; that is noted where its trials are read.
    let Some(arms) = run.run_record().ok().flatten().and_then(|record| record.arms) else { return Ok(None) };
    let pairs = run.pairs()?.into_iter().map(|pair| (pair.a, pair.b.mode)).collect();
    Ok(Some((arms, pairs)))
}

/// The mode of the reported trials, where both sides have one: then it is what differs, and no part of the case.
fn only_mode(against: &[RunFolder], reported: &ArmReader) -> CliResultOf<Option<String>> {
    let mut modes = BTreeSet::new();
    for run in against {
        modes.extend(run.progress()?.records.into_keys().map(|id| id.mode));
    }
    let reported = reported.modes();
    let only = reported.first().filter(|_| reported.len() == 1 && modes.len() == 1);
    Ok(only.map(|mode| (*mode).to_owned()))
}

fn is_folder(what: &str) -> bool {
    what.contains('/')
}

fn sources(root: &Path, what: &[String]) -> CliResultOf<Vec<RunFolder>> {
    let open = |what: &String| {
        if is_folder(what) { Ok(RunFolder::at(Path::new(what))) } else { Ok(RunFolder::open(root, what)?) }
    };
    what.iter().map(open).collect()
}

fn distinct<'a>(runs: impl Iterator<Item = &'a RunFolder>) -> CliResultOf<()> {
    let mut places: Vec<PathBuf> = Vec::new();
    for run in runs {
        let place = run.path().canonicalize().unwrap_or_else(|_| run.path().to_path_buf());
        if places.iter().any(|other| place.starts_with(other) || other.starts_with(&place)) {
            return Err(
                format!("{} is named twice, or is within another: its trials would count twice", run.id()).into()
            );
        }
        places.push(place);
    }
    Ok(())
}

/// A packed session in the file that holds them until the page is written.
struct Packed {
    verdict: Verdict,
    from: u64,
    length: u64,
}

/// Reads trials one after the other; only their rows stay in memory.
struct Reader<'a> {
    run: &'a Run,
    index: Index,
    packed: Vec<Packed>,
    /// What was packed so far.
    file: BufWriter<File>,
    length: u64,
    created: BTreeSet<String>,
    agents: BTreeSet<String>,
    notes: Vec<String>,
    unreadable: usize,
    /// Of a run that compares, the trials of arm A with the modes of their counterparts.
    pairs: BTreeMap<TrialId, String>,
    /// The mode of all reported trials, where those that they are compared with have one too.
    only_mode: Option<String>,
}

impl<'a> Reader<'a> {
    fn new<'r>(run: &'a Run, runs: impl Iterator<Item = &'r RunFolder>, compares: bool) -> CliResultOf<Self> {
        let runs = runs.map(|run| run.id().to_owned()).collect();
        Ok(Self {
            run,
            index: Index::new(runs, compares),
            packed: Vec::new(),
            file: BufWriter::new(tempfile::tempfile()?),
            length: 0,
            created: BTreeSet::new(),
            agents: BTreeSet::new(),
            notes: Vec::new(),
            unreadable: 0,
            pairs: BTreeMap::new(),
            only_mode: None,
        })
    }

    /// Reads these runs, of which the first is at the place `first` of the index.
    fn read(&mut self, first: usize, runs: &[RunFolder]) -> CliResultOf<(Summary, ArmReader)> {
        let mut summary = Summary::new(Vec::new(), self.run.settings.repetition.threshold());
        summary.isolation_wanted = self.run.settings.isolation.kind;
        let mut arm = ArmReader::default();
        for (at, run) in runs.iter().enumerate() {
            summary.runs.push(run.id().to_owned());
            arm.next_run();
            let (is_run, progress, mut seen) = (run.is_run(), run.progress()?, BTreeSet::new());
            match run.run_record() {
                Ok(record) if first == 0 => self.created.extend(record.map(|record| record.created)),
                Ok(_) => {}
                Err(why) => {
                    self.unreadable += 1;
                    self.notes.push(format!("Not read: {why}"));
                }
            }
            // Of a run a trial without a grade was cut short; a recording has none.
            let trials = if is_run { run.trials() } else { store::trials_below(run.path()) };
            for folder in trials.into_iter().filter(|folder| !is_run || folder.has_grade()) {
                match self.trial((first + at, is_run.then(|| run.id())), &folder, first > 0) {
                    Ok(record) => {
                        let attempts = progress.records.get(&record.id).map_or(record.attempts, |known| known.attempts);
                        seen.insert(record.id.clone());
                        arm.line(&serde_json::to_vec(&record)?);
                        summary.add(&TrialRecord { attempts, ..record });
                    }
                    Err(why) => {
                        self.unreadable += 1;
                        self.notes.push(format!("Not counted: {why}"));
                    }
                }
            }
            summary::add_rest(&mut summary, run, &progress, &seen)?;
        }
        Ok((summary, arm))
    }

    /// Reads and packs a trial of the run at this place of the index; without an id it is a recording.
    fn trial(
        &mut self,
        (run, id): (usize, Option<&str>),
        folder: &TrialFolder,
        against: bool,
    ) -> Result<TrialRecord, String> {
        let review = Review::of(self.run, folder)?;
        let timeline = review.timeline(self.run);
        let (meta, grade) = (&review.meta, &review.grade);
        let outcome = table::outcome(meta.id(), grade.clone(), meta, folder, &self.run.settings.prices);
        let record = TrialRecord::new(&outcome, 1);
        let packed = self.pack(id, &review, &timeline, folder).map_err(|error| error.to_string())?;
        self.file.write_all(&packed).map_err(|error| error.to_string())?;
        let length = packed.len() as u64;
        self.packed.push(Packed { verdict: record.verdict, from: self.length, length });
        self.length += length;
        let agent = [Some(meta.agent.kind.as_str()), meta.agent.version.as_deref(), meta.agent.model.as_deref()];
        self.agents.insert(agent.into_iter().flatten().collect::<Vec<_>>().join(" "));
        let answer = review.final_text.as_deref().map(short).unwrap_or_default();
        let counterpart = || self.only_mode.clone().unwrap_or_else(|| record.id.mode.clone());
        let before = if against { Some(counterpart()) } else { self.pairs.get(&record.id).cloned() };
        self.index.add(run, &record, before.as_deref(), answer, short(&calls(&timeline)));
        Ok(record)
    }

    fn pack(
        &self,
        run: Option<&str>,
        review: &Review,
        timeline: &Timeline,
        folder: &TrialFolder,
    ) -> io::Result<Vec<u8>> {
        let files = review.files(self.run, folder).into_iter().map(|file| {
            let path = file.path.display().to_string();
            let (after, why) = match file.after {
                Ok(text) => (Some(text), None),
                Err(why) => (None, Some(why)),
            };
            WrittenFile { path, size: file.size, before: file.before, after, why }
        });
        let judgement = folder.judgement().map_err(io::Error::other)?;
        let judge =
            judgement.map(|judgement| Judging { question: review.question(self.run, folder, &judgement), judgement });
        let place = shown_path(&self.run.root, folder.path()).display().to_string();
        let evidence = review.evidence();
        page::packed(&Document::new(run, &evidence, &review.grade, timeline, files.collect(), judge, place))
    }

    /// Leaves sessions out until the others take no more than this: those of passed trials first, the longest first.
    fn keep_within(&mut self, most: u64) {
        let mut order: Vec<usize> = (0..self.packed.len()).collect();
        let last = |verdict| {
            [Verdict::Pass, Verdict::Error, Verdict::Unscored, Verdict::Fail].iter().position(|v| *v == verdict)
        };
        order.sort_by_key(|at| (last(self.packed[*at].verdict), std::cmp::Reverse(self.packed[*at].length)));
        let (mut left, mut passed, mut others) = (self.length, 0, 0);
        for at in order {
            if left <= most {
                break;
            }
            left -= self.packed[at].length;
            self.index.rows[at].kept = false;
            *(if self.packed[at].verdict == Verdict::Pass { &mut passed } else { &mut others }) += 1;
        }
        if passed + others > 0 {
            let others = if others > 0 { format!(" and of {others} others") } else { String::new() };
            self.notes.push(format!(
                "The sessions of {passed} passed trials{others} are left out, so that all together stay below {}; their results \
                 are here, and `skill-evals show` has the sessions. --max-size sets the limit.",
                bounded::bytes(most)
            ));
        }
    }

    fn exit(&self, summary: &Summary) -> Exit {
        let exit = Exit::of_summary(summary);
        if self.unreadable == 0 { exit } else { exit.worse(Exit::Infrastructure) }
    }

    /// Writes the page.
    fn write(&mut self, out: &mut File, title: &str, overview: &str, skills: &[ChangedSkill]) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        page::begin(&mut out, title, overview, &self.index, skills)?;
        self.file.flush()?;
        let mut file = BufReader::new(self.file.get_ref());
        let mut packed = Vec::new();
        for (at, place) in self.packed.iter().enumerate().filter(|(at, _)| self.index.rows[*at].kept) {
            file.seek(SeekFrom::Start(place.from))?;
            packed.clear();
            file.by_ref().take(place.length).read_to_end(&mut packed)?;
            page::trial(&mut out, at, &packed)?;
        }
        page::end(&mut out)?;
        out.flush()
    }
}

/// What tells equal texts from others.
fn short(text: &str) -> String {
    digest(text.as_bytes())[..12].to_owned()
}

/// The commands and calls of a session.
fn calls(timeline: &Timeline) -> String {
    let calls = timeline.entries.iter().filter_map(|entry| match &entry.what {
        What::Command { command, .. } => Some(format!("{command}\0")),
        What::Tool { name, input, .. } => Some(format!("{name} {input}\0")),
        What::Files { paths } => Some(format!("{}\0", paths.join("\n"))),
        _ => None,
    });
    calls.collect()
}

/// The reported runs compared with those that they are held against.
fn compare(against: &[RunFolder], runs: &[RunFolder], a: &ArmReader, b: &ArmReader) -> CliResultOf<Compared> {
    let (modes_a, modes_b) = (a.modes(), b.modes());
    // Where both ran in one mode each, the mode is what differs; else it is part of the case.
    let several = modes_a.len() > 1 || modes_b.len() > 1;
    if several && modes_a.is_disjoint(&modes_b) {
        let list = |modes: &BTreeSet<&str>| modes.iter().copied().collect::<Vec<_>>().join(", ");
        return Err(format!("the runs have no mode in common: {} against {}", list(&modes_b), list(&modes_a)).into());
    }
    let outcome_only = a.asks_for_the_skill(|_| true) != b.asks_for_the_skill(|_| true);
    let arm = |reader: &ArmReader| {
        let mut arm = ArmResults { outcome_only, ..ArmResults::default() };
        reader.add_to(&mut arm, |skill, case, mode| Some(arms::case_name(skill, case, mode, several)));
        arm
    };
    let label = |runs: &[RunFolder]| runs.iter().map(RunFolder::id).collect::<Vec<_>>().join(", ");
    Ok(compared::stored((label(against), label(runs)), &arm(a), &arm(b), rule()))
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
fn history(root: &Path, summary: &Summary) -> Vec<(String, Vec<Point>)> {
    let runs: Vec<RunFolder> = store::runs(root).into_iter().take(HISTORY).collect();
    let each = if summary.skills.len() <= MOST_HISTORIES { summary.skills.keys().collect() } else { Vec::new() };
    let wanted = std::iter::once(None).chain(each.into_iter().map(Some));
    let of = |skill: Option<&String>| {
        let name = skill.map_or_else(|| "all skills".to_owned(), Clone::clone);
        let wanted = Wanted { skill: skill.cloned(), mode: None };
        // What a run that cannot be read came to is told where it is reported.
        let mut points: Vec<Point> = runs.iter().filter_map(|run| over_time::point(run, &wanted).ok()?).collect();
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
