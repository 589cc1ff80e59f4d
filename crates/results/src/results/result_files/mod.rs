//! Files in which other tools leave their results, as the two sides of a comparison. Nothing in them is changed.
//!
//! A format is one file of this directory and one line in [`FORMATS`]. It is known by its keys, and its reader makes a
//! [`ResultRow`] of each trial.

mod agentv;
mod coder_eval;
mod endings;
mod harbor;
mod inspect;
mod junit;
#[cfg(test)]
mod noise;
mod plugin_eval;
mod promptfoo;
mod shape;
mod sides;
mod skill_creator;
mod skill_evaluator;
mod table;
#[cfg(test)]
mod tests;
mod vally;
mod waza;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::decide::CaseCount;
use crate::stats::proportion::Rate;
use crate::stats::real;
use crate::text::cut;
use shape::Shape;
pub use sides::{ResultSide, of_two_arms, of_two_files};

/// How a tool writes its results.
#[derive(Debug)]
pub struct ResultFormat {
    /// What messages call it.
    pub name: &'static str,
    /// What every such file has: keys of its object or of its first objects, columns, or the root of its XML. `a|b` is one of
    /// these.
    pub keys: &'static [&'static str],
    /// If a file has sides with and without the skills: the one with them. It stands for the file next to another file.
    pub with: Option<&'static str>,
    /// Whether the tool's headline is the mean of its cases, and not of all trials.
    mean_of_cases: bool,
    /// The trials, those of the baseline first.
    read: fn(&[u8]) -> Result<Vec<ResultRow>, String>,
}

impl ResultFormat {
    /// Whether a file has one trial, so that a directory of them is a side.
    pub fn is_one_trial(&self) -> bool {
        self.name == harbor::TRIAL.name
    }
}

/// The name of the format whose files are tables.
pub const TABLE: &str = table::FORMAT.name;

/// The formats, by the number of their users.
pub const FORMATS: [&ResultFormat; 14] = [
    &plugin_eval::FORMAT,
    &promptfoo::FORMAT,
    &skill_creator::FORMAT,
    &vally::FORMAT,
    &waza::FORMAT,
    &inspect::FORMAT,
    &harbor::TRIAL,
    &harbor::JOB,
    &harbor::SKILLSBENCH,
    &agentv::FORMAT,
    &coder_eval::FORMAT,
    &skill_evaluator::FORMAT,
    &junit::FORMAT,
    &table::FORMAT,
];

/// The most characters of a name: some tools name a case by its whole prompt.
const LONGEST_NAME: usize = 200;

/// Trials of a case on a side: of one trial, in most formats.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultRow {
    pub case: String,
    /// What the tool has cases in, as a task or a suite: another one may have a case of the same name. Empty if there is none.
    pub suite: String,
    /// A version, a model or a provider; empty if a file has only one.
    pub side: String,
    pub counts: CaseCount,
    /// How many of these trials are in the tool's headline: errors only if the tool has scored them.
    pub scored: u64,
    /// The sum of their scores.
    pub score: f64,
}

/// What came of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TrialResult {
    Pass,
    Fail,
    /// It could not be measured, whatever the tool has made of that.
    Error,
}

impl TrialResult {
    fn of(passed: bool) -> Self {
        if passed { Self::Pass } else { Self::Fail }
    }
}

impl ResultRow {
    /// A trial, with the tool's own score if it has one. An error without a score is not in the tool's headline.
    fn trial(case: String, side: &str, result: TrialResult, score: Option<f64>) -> Self {
        let passed = u64::from(result == TrialResult::Pass);
        let counts = match result {
            TrialResult::Error => CaseCount { rate: Rate::default(), not_measured: 1 },
            _ => CaseCount { rate: Rate::new(passed, 1), not_measured: 0 },
        };
        let own = (result != TrialResult::Error).then_some(if passed == 1 { 1.0 } else { 0.0 });
        let score = score.filter(|score| score.is_finite()).or(own);
        let (suite, side) = (String::new(), side.to_owned());
        Self { case, suite, side, counts, scored: u64::from(score.is_some()), score: score.unwrap_or(0.0) }
    }
}

impl ResultRow {
    fn within(self, suite: &str) -> Self {
        Self { suite: suite.to_owned(), ..self }
    }
}

/// The results in a file.
#[derive(Clone, Debug)]
pub struct ResultFile {
    pub format: &'static ResultFormat,
    pub rows: Vec<ResultRow>,
}

/// Whether this is the content of a result file, of any format.
pub fn is_one(bytes: &[u8]) -> bool {
    shape::of(without_mark(bytes)).is_ok_and(|shape| format_of(&shape).is_some())
}

/// Reads the content of a file, or says what it lacks.
pub fn read(bytes: &[u8]) -> Result<ResultFile, String> {
    let bytes = without_mark(bytes);
    let shape = shape::of(bytes)?;
    let format = format_of(&shape).ok_or_else(|| unknown(&shape))?;
    let mut rows = (format.read)(bytes).map_err(|problem| format!("{}: {problem}", format.name))?;
    for ResultRow { case, suite, side, .. } in &mut rows {
        for name in [case, suite, side] {
            *name = cut::name(name, LONGEST_NAME);
        }
    }
    if rows.is_empty() {
        return Err(format!("{}: the file has no trials", format.name));
    }
    if let Some(row) = rows.iter().find(|row| !(0.0..=real(row.scored)).contains(&row.score)) {
        let (case, score) = (&row.case, row.score);
        return Err(format!("{}: {case} has the score {score}; expected 0 to 1, of which 1 passes", format.name));
    }
    Ok(ResultFile { format, rows })
}

/// Checks how many there are of `what` against what the file itself says.
fn stated(what: &str, stated: Option<u64>, found: usize) -> Result<(), String> {
    match stated {
        Some(stated) if stated != found as u64 => Err(not_as_stated(what, stated, found as u64)),
        _ => Ok(()),
    }
}

fn not_as_stated(what: &str, stated: u64, found: u64) -> String {
    format!("the file says that it has {stated} {what}, and it has {found}: it is not whole, or was changed")
}

/// Without the mark with which some programs begin UTF-8.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

fn format_of(shape: &Shape) -> Option<&'static ResultFormat> {
    FORMATS.into_iter().find(|format| format.keys.iter().all(|key| shape.has(key)))
}

/// Why a file has no format: the nearest one, with the key that it lacks.
fn unknown(shape: &Shape) -> String {
    let found = |format: &ResultFormat| {
        let has = format.keys.iter().filter(|key| shape.has(key)).count();
        (has > 0).then(|| has * 100 / format.keys.len())
    };
    // Of equals, the format with more users.
    let nearest = FORMATS.into_iter().rev().max_by_key(|format| found(format)).filter(|format| found(format).is_some());
    let Some(format) = nearest else {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        return format!("{} is not a known result file; known: {}", shape.what(), names.join(", "));
    };
    let missing = format.keys.iter().find(|key| !shape.has(key)).unwrap_or(&"");
    let missing = missing.replace('|', "` or `");
    format!("not a known result file; nearest is {}, but `{missing}` is missing in {}", format.name, shape.what())
}

/// A JSON document.
fn document<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

/// A list of objects, or an object in each line.
fn objects<T: DeserializeOwned>(bytes: &[u8]) -> Result<Vec<T>, String> {
    if bytes.trim_ascii_start().starts_with(b"[") {
        return document(bytes);
    }
    let lines = serde_json::Deserializer::from_slice(bytes).into_iter();
    lines.collect::<Result<_, _>>().map_err(|error: serde_json::Error| error.to_string())
}

/// A name or a number as text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
