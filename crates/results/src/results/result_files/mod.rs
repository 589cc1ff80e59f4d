//! Files in which other tools leave their results, as the two sides of a comparison. Nothing in them is changed.
//!
//! A format is a table: one constant, and one line in [`FORMATS`]. It is known by its keys. What is read of its files, where the trials
//! are and what says of each its case, its side and its score are data; functions are only for what a tool does in its own way.

mod document;
mod formats;
mod junit;
mod shape;
mod sides;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::decide::CaseCount;
use crate::results::outcome_table::OutcomeTable;
use crate::stats::proportion::Rate;
use crate::stats::real;
use crate::text::cut;
use document::{Part, number, text};
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
    /// How a file is read that is not JSON, or is our own: the trials, those of the baseline first.
    own: Option<OwnReader>,
    /// What is read of a JSON document. Places in it are JSON pointers, in which `*` is each item.
    document: Part,
    /// What has to be known of the whole document before its trials are: an error, or more keys.
    prepare: fn(&mut Value) -> Result<(), String>,
    /// What the document says how many it has of, where it says so, in parts, and where these are.
    stated: Option<(&'static str, &'static [&'static str], &'static str)>,
    /// The sides, and where their trials are: those of the baseline first. A side without a name has it in `side`.
    trials: &'static [(&'static str, &'static str)],
    /// The case, the suite and the side of a trial: in it, or in an object around it.
    case: &'static [&'static str],
    suite: &'static [&'static str],
    side: &'static [&'static str],
    /// The sides that come last, if trials are in another order.
    last: &'static [&'static str],
    score: &'static str,
    /// Whether an error without a score counts as 0 in the tool's headline.
    scores_errors: bool,
    /// What came of a trial; nothing, if it was none. A problem begins with the name of the case.
    result: fn(&Value) -> Result<Option<ForeignTrial>, String>,
}

/// A format that has only what is said of it.
const FORMAT: ResultFormat = ResultFormat {
    name: "",
    keys: &[],
    with: None,
    mean_of_cases: false,
    own: None,
    document: Part::Any,
    prepare: |_| Ok(()),
    stated: None,
    trials: &[("", "/*")],
    case: &["/case"],
    suite: &["/suite"],
    side: &["/side"],
    last: &[],
    score: "/score",
    scores_errors: false,
    result: |trial| {
        Ok(Some(number(trial, "/score").map_or(ForeignTrial::Error, |score| ForeignTrial::of(score >= 1.0))))
    },
};

impl ResultFormat {
    /// Whether a file has one trial, so that a directory of them is a side.
    pub fn is_one_trial(&self) -> bool {
        self.name == formats::HARBOR.name
    }

    /// The trials in a file, those of the baseline first.
    fn read(&'static self, bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
        if let Some(own) = self.own {
            return own(bytes);
        }
        let mut document = self.document.read(bytes)?;
        (self.prepare)(&mut document)?;
        if let Some((what, stated, list)) = self.stated {
            let stated: Vec<u64> = stated.iter().filter_map(|place| document.pointer(place)?.as_u64()).collect();
            let found = document.pointer(list).and_then(Value::as_array).map_or(0, Vec::len) as u64;
            let total = stated.iter().fold(0_u64, |sum, part| sum.saturating_add(*part));
            if !stated.is_empty() && total != found {
                return Err(not_as_stated(what, total, found));
            }
        }
        let mut rows = Vec::new();
        for (side, place) in self.trials {
            for around in document::each(&document, place) {
                let (trial, case) = (around[around.len() - 1], text(&around, self.case));
                let result = (self.result)(trial).map_err(|problem| format!("{case} {problem}"))?;
                let Some(result) = result else { continue };
                let side = if side.is_empty() { text(&around, self.side) } else { (*side).to_owned() };
                let lost = (result == ForeignTrial::Error && self.scores_errors).then_some(0.0);
                let score = number(trial, self.score).or(lost);
                rows.push(ResultRow {
                    suite: text(&around, self.suite),
                    ..ResultRow::trial(case, &side, result, score)
                });
            }
        }
        rows.sort_by_key(|row| self.last.contains(&row.side.as_str()));
        Ok(rows)
    }
}

/// The name of the format whose files are tables, ours.
pub const TABLE: &str = "a table";

const OF_TABLE: ResultFormat = ResultFormat {
    name: TABLE,
    keys: &["case|task", "side|condition", "passed|passCount"],
    own: Some(|bytes| {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        let table = OutcomeTable::read(text)?;
        let rows = [table.baseline, table.candidate].into_iter().flat_map(|(side, counts)| {
            counts.into_iter().map(move |(case, counts)| {
                let score = real(counts.rate.passed);
                ResultRow { case, suite: String::new(), side: side.clone(), counts, scored: counts.rate.trials, score }
            })
        });
        Ok(rows.collect())
    }),
    ..FORMAT
};

/// The formats, by the number of their users.
pub const FORMATS: [&ResultFormat; 14] = [
    &formats::PLUGIN_EVAL,
    &formats::PROMPTFOO,
    &formats::SKILL_CREATOR,
    &formats::VALLY,
    &formats::WAZA,
    &formats::INSPECT,
    &formats::HARBOR,
    &formats::HARBOR_JOB,
    &formats::SKILLSBENCH,
    &formats::AGENTV,
    &formats::CODER_EVAL,
    &formats::SKILL_EVALUATOR,
    &junit::JUNIT,
    &OF_TABLE,
];

type OwnReader = fn(&[u8]) -> Result<Vec<ResultRow>, String>;

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
enum ForeignTrial {
    Pass,
    Fail,
    /// It could not be measured, whatever the tool has made of that.
    Error,
}

impl ForeignTrial {
    fn of(passed: bool) -> Self {
        if passed { Self::Pass } else { Self::Fail }
    }
}

impl ResultRow {
    /// A trial, with the tool's own score if it has one. An error without a score is not in the tool's headline.
    fn trial(case: String, side: &str, result: ForeignTrial, score: Option<f64>) -> Self {
        let passed = u64::from(result == ForeignTrial::Pass);
        let counts = match result {
            ForeignTrial::Error => CaseCount { rate: Rate::default(), not_measured: 1 },
            _ => CaseCount { rate: Rate::new(passed, 1), not_measured: 0 },
        };
        let own = (result != ForeignTrial::Error).then_some(if passed == 1 { 1.0 } else { 0.0 });
        let score = score.filter(|score| score.is_finite()).or(own);
        let (suite, side) = (String::new(), side.to_owned());
        Self { case, suite, side, counts, scored: u64::from(score.is_some()), score: score.unwrap_or(0.0) }
    }

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
    let mut rows = format.read(bytes).map_err(|problem| format!("{}: {problem}", format.name))?;
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
