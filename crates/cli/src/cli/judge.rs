//! `skill-evals judge`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::{CliResult, CliResultOf, RepositoryArgs, print_json};
use crate::cases::case::prompts_csv::cell_range;
use crate::cli::exit_code::Exit;
use crate::cli::output::text_stdout;
use crate::files::bounded;
use crate::report::judges as report;
use crate::results::judges;
use crate::store::RunFolder;
use crate::text::diagnostic::SourceLocation;
use crate::text::problem::{About, Problem};

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
