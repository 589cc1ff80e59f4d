//! Compares the results of other tools, by their own files.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::{CompareArgs, stored};
use crate::cli::CliResultOf;
use crate::cli::given::{CASES, SIDES};
use crate::files::at::PathError;
use crate::files::{bounded, look};
use crate::results::compared::{ComparisonResults, Headline};
use crate::results::result_files::{self, ResultFile, ResultSide};
use crate::results::side_results::SideResults;
use crate::store::RunFolder;
use crate::text::problem::{About, Problem};

/// The largest file that is read.
const MOST_BYTES: u64 = 1 << 30;

/// The most bytes of a file by whose first lines its format is known.
const HEAD: u64 = 16 << 20;

/// The file of a trial in a directory of trials.
const OF_TRIAL: &str = "result.json";

/// What to do about trials that the tool lost.
pub const REMEDY: &str = "measure them again with the tool that lost them";

/// The comparison, if what is named are results of another tool.
pub fn compare(args: &CompareArgs) -> CliResultOf<Option<ComparisonResults>> {
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
    let compared = stored::decided(args, labels, &results(&a), &results(&b))?;
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
            found.push(read(path)?);
            continue;
        }
        // The result of a job counts its trials once more.
        let files = trial_files(path).about("a directory of trials")?;
        let files = files.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
        let has_trials = files.iter().any(|file| file.format.is_one_trial());
        found.extend(files.into_iter().filter(|file| !has_trials || file.format.is_one_trial()));
    }
    Ok(found)
}

fn read(path: &Path) -> Result<ResultFile, Problem> {
    let bytes = bounded::read_at_most(path, MOST_BYTES).about(path.display())?;
    result_files::read(&bytes).about(path.display())
}
