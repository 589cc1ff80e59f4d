//! `skill-evals judge`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::{CliResult, CliResultOf, RepositoryArgs, grade, print_json};
use crate::agent::isolation;
use crate::cases::case::prompts_csv::cell_range;
use crate::cli::exit_code::Exit;
use crate::cli::output::text_stdout;
use crate::engine::Loaded;
use crate::files::bounded;
use crate::grade::rubric::Judgment;
use crate::process::{interrupt, watchdog};
use crate::report::{judges as report, table};
use crate::results::judges::{self, ProbedJudge};
use crate::run::judge::{self, JudgePlace, Probe};
use crate::run::live::Redactors;
use crate::run::planned::PlannedRun;
use crate::run::preflight;
use crate::run::stored_trial::{StoredTrial, TrialEvidence};
use crate::store::{self, RunFolder, TrialFolder};
use crate::text::diagnostic::SourceLocation;
use crate::text::problem::{About, Problem};
use crate::trial::id::TrialId;
use crate::trial::outcome::{AttemptCost, Verdict};

#[derive(Args)]
pub struct JudgeArgs {
    #[command(subcommand)]
    command: JudgeCommand,
}

#[derive(Subcommand)]
enum JudgeCommand {
    /// How far the votes of judges on the same trial agree
    Agreement(JudgeRunsArgs),
    /// How far judges agree with people, and their rates corrected by that
    Calibrate {
        /// A CSV file with the columns `trial` (as it is printed: skill/case/mode) and `pass` (true or false, by people).
        #[arg(value_name = "LABELS.csv")]
        labels: PathBuf,
        #[command(flatten)]
        runs: JudgeRunsArgs,
    },
    /// Whether the judge passes what is worthless, or by the order of its rubric; asks it three questions about each judged case
    Probe {
        /// Run whose trials were judged
        #[arg(value_name = "RUN-ID")]
        run: String,
        #[command(flatten)]
        repository: RepositoryArgs,
    },
}

#[derive(Args)]
struct JudgeRunsArgs {
    /// The runs whose trials were judged.
    #[arg(value_name = "RUN-ID", required = true)]
    runs: Vec<String>,
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn judge(args: &JudgeArgs) -> CliResult {
    let (args, labels) = match &args.command {
        JudgeCommand::Agreement(args) => (args, None),
        JudgeCommand::Calibrate { labels, runs } => (runs, Some(read_labels(labels)?)),
        JudgeCommand::Probe { run, repository } => return probe(run, repository),
    };
    let root = args.repository.open()?.root;
    let (mut trials, mut names, mut runs) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for run in &args.runs {
        if !runs.insert(run) {
            return Err(format!("{run} is named twice: its trials would count twice").into());
        }
        for trial in judges::read(&RunFolder::open(&root, run)?)? {
            if labels.is_some() && !names.insert(trial.trial.clone()) {
                let name = trial.trial;
                return Err(
                    format!("{name} is in several of these runs: labels do not name the run; name one run").into()
                );
            }
            trials.push(trial);
        }
    }
    if trials.is_empty() {
        return Err(format!("no trial of {} was judged; `run --judge` has them judged", args.runs.join(", ")).into());
    }
    if let Some(labels) = &labels
        && !trials.iter().any(|trial| labels.contains_key(&trial.trial))
    {
        let example = &trials[0].trial;
        return Err(format!("no label names a judged trial; write `trial` as it is printed: {example}").into());
    }
    let figures = judges::of(&trials, labels.as_ref());
    if args.json {
        print_json(&figures)?;
    } else {
        text_stdout().write_all(report::render(&figures).as_bytes())?;
    }
    Ok(Exit::Clean)
}

/// Asks the judge about the first judged trial of each case of a run.
fn probe(name: &str, repository: &RepositoryArgs) -> CliResult {
    let Loaded { repository, settings, catalog } = repository.read()?;
    let trials = RunFolder::open(&repository.root, name)?.trials()?;
    if let Some(problem) = preflight::missing(&settings, settings.judge.agent, None) {
        return Err(problem.into());
    }
    let mut run = PlannedRun::new(repository.root, settings, catalog);
    run.versions = grade::versions(&run, &trials)?;
    interrupt::listen(false)?;
    let scratch = isolation::scratch(&run.settings)?;
    watchdog::remove_afterwards(scratch.path());
    let redactors = Redactors::new(&run.settings);
    let folder = store::drafting_folder(&run.root, "judge.probe")?;
    let place = JudgePlace { scratch: &scratch, redactors: &redactors, folder: &folder };
    let probed = ProbedJudge { scripted: run.settings.scripted.clone(), ..ProbedJudge::default() };
    let mut probing = Probing { run: &run, place, probed, spent: AttemptCost::default(), seen: BTreeSet::new() };
    let mut judged = BTreeSet::new();
    for folder in trials {
        let Some(judgment) = folder.judgment()? else { continue };
        judged.insert(case_of(&folder.meta()?.id()));
        probing.trial(&folder, &judgment)?;
    }
    let Probing { mut probed, spent, seen, .. } = probing;
    if judged.is_empty() {
        return Err(format!("no trial of {name} was judged; `run --judge` has them judged").into());
    }
    probed.left_out = judged.difference(&seen).cloned().collect();
    text_stdout().write_all(report::render_probes(&probed).as_bytes())?;
    writeln!(text_stdout(), "{}, cost {}", table::tokens(&spent), table::cost(&spent))?;
    Ok(match probed {
        _ if interrupt::raised() => Exit::Interrupted,
        _ if probed.passes_nothing_done() => Exit::Problems,
        _ if !probed.is_measured() || !probed.unanswered.is_empty() => Exit::Infrastructure,
        _ => Exit::Clean,
    })
}

fn case_of(id: &TrialId) -> String {
    format!("{}/{}", id.skill, id.case)
}

/// A judge that is asked.
struct Probing<'a> {
    run: &'a PlannedRun,
    place: JudgePlace<'a>,
    probed: ProbedJudge,
    spent: AttemptCost,
    /// The cases that it was asked about.
    seen: BTreeSet<String>,
}

impl Probing<'_> {
    /// Asks about a trial, if it is the first of its case that the judge judged as it would today.
    fn trial(&mut self, folder: &TrialFolder, judgment: &Judgment) -> CliResultOf<()> {
        let passed = match judgment.verdict {
            Verdict::Pass => true,
            Verdict::Fail => false,
            Verdict::Error | Verdict::Unscored => return Ok(()),
        };
        let trial = StoredTrial::read(self.run, folder)?;
        let id = trial.meta.id();
        let mut found = self.run.catalog.cases_of(&id.skill);
        let case = found.find(|known| known.id == id.case).and_then(|found| found.case().ok());
        let skills = self.run.skills_of(trial.meta.commit.as_deref());
        let skill = skills.and_then(|skills| skills.skill(&id.skill));
        let Some((case, skill)) = case.zip(skill).filter(|_| !self.seen.contains(&case_of(&id))) else {
            return Ok(());
        };
        let trial_evidence = trial.trial_evidence(case, skill, folder);
        let is_same_agent = judgment.agent.kind == self.run.settings.judge.agent;
        if is_same_agent && judge::is_current(self.run, &trial_evidence, judgment)? {
            self.seen.insert(case_of(&id));
            for probe in [Probe::Empty, Probe::Begging, Probe::Reversed] {
                self.ask(&id, passed, &trial_evidence, probe);
            }
        }
        Ok(())
    }

    fn ask(&mut self, id: &TrialId, passed: bool, trial_evidence: &TrialEvidence<'_>, probe: Probe) {
        let left = self.run.settings.max_cost_usd.map(|limit| limit - self.spent.cost_usd.unwrap_or_default());
        let answer = if interrupt::raised() {
            Err("interrupted".into())
        } else if left.is_some_and(|left| left <= 0.0 || self.spent.cost_incomplete) {
            Err("the cost limit is reached, or cannot be held".into())
        } else {
            judge::probe(self.run, self.place, trial_evidence, probe, &mut self.spent)
        };
        match (answer, probe) {
            (Ok(None), _) => {}
            (Ok(Some(answer)), Probe::Empty) => self.probed.empty.add(answer),
            (Ok(Some(answer)), Probe::Begging) => self.probed.begging.add(answer),
            (Ok(Some(answer)), Probe::Reversed) => self.probed.reversed.add(answer != passed),
            (Err(why), _) => self.probed.unanswered.push(format!("{id}: {why}")),
        }
    }
}

/// Reads the verdicts of people, by trial.
fn read_labels(path: &Path) -> CliResultOf<BTreeMap<String, bool>> {
    let name = path.display();
    let bytes = bounded::read(path).about(&name)?;
    // Spreadsheets begin files with a mark of their encoding.
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text);
    let header = reader.headers().map_err(io::Error::from).about(&name)?.clone();
    let trial_column = find_column(&header, "trial").about(format_args!("{name}:1"))?;
    let pass_column = find_column(&header, "pass").about(format_args!("{name}:1"))?;
    let mut labels = BTreeMap::new();
    for row in reader.records() {
        let row = row.map_err(|error| row_problem(path, text, &error))?;
        let place = |column: usize| {
            SourceLocation::in_text(path, text, cell_range(text, start_of(text, row.position()), column))
        };
        let (trial, label) = (row.get(trial_column).unwrap_or_default(), row.get(pass_column).unwrap_or_default());
        let passed = match label.to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" | "pass" => true,
            "false" | "no" | "0" | "fail" => false,
            _ => return Err(format!("{}: `pass` is {label:?}; expected true or false", place(pass_column)).into()),
        };
        if trial.is_empty() {
            return Err(format!("{}: `trial` is empty; expected skill/case/mode", place(trial_column)).into());
        }
        // The first trial of a case is printed without its number. A label may have it.
        let has_number = trial.matches('/').count() == 3;
        let trial = trial.strip_suffix("/1").filter(|_| has_number).unwrap_or(trial);
        if labels.insert(trial.to_owned(), passed).is_some_and(|before| before != passed) {
            return Err(format!("{}: {trial} has two different labels", place(trial_column)).into());
        }
    }
    Ok(labels)
}

fn find_column(header: &csv::StringRecord, name: &str) -> Result<usize, Problem> {
    match (header.iter().position(|column| column == name), header.iter().filter(|column| *column == name).count()) {
        (Some(column), 1) => Ok(column),
        (Some(_), _) => Err(format!("duplicate column `{name}`").into()),
        (None, _) => Err(format!("missing column `{name}`; expected `trial` and `pass`").into()),
    }
}

/// The problem of a row of labels that cannot be read.
fn row_problem(path: &Path, text: &[u8], error: &csv::Error) -> String {
    let (position, why) = match error.kind() {
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            (pos.as_ref(), format!("{len} cells; the header has {expected_len}"))
        }
        csv::ErrorKind::Utf8 { pos, .. } => (pos.as_ref(), "this is not UTF-8 text".to_owned()),
        _ => (None, error.to_string()),
    };
    let start = start_of(text, position);
    format!("{}: {why}", SourceLocation::in_text(path, text, start..start + 1))
}

/// The start of a row. For the parser, blank lines before it belong to the row.
fn start_of(text: &[u8], position: Option<&csv::Position>) -> usize {
    let start = position.and_then(|place| usize::try_from(place.byte()).ok()).unwrap_or_default();
    let blank = text.get(start..).unwrap_or_default().iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
    start + blank.count()
}
