//! Files in which other tools leave their results, as the two sides of a comparison. Nothing in them is changed.
//!
//! A format is a table: one constant, and one line in [`FORMATS`]. It is known by its keys. What is read of its files, where the trials
//! are and what says of each its case, its side and its score are data; functions are only for what a tool does in its own way.

mod document;
mod formats;
mod junit;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value};

use crate::decide::{CaseCount, SideCounts};
use crate::results::outcome_table::OutcomeTable;
use crate::stats::proportion::Rate;
use crate::stats::real;
use crate::stats::stratified::{self, CaseScores, ScoreDifference};
use crate::text::cut;
use document::{Part, number, text};

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
    shape_of(without_mark(bytes)).is_ok_and(|shape| format_of(&shape).is_some())
}

/// Reads the content of a file, or says what it lacks.
pub fn read(bytes: &[u8]) -> Result<ResultFile, String> {
    let bytes = without_mark(bytes);
    let shape = shape_of(bytes)?;
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

// The two sides of what was read.

/// A side with the tool's own figures.
#[derive(Clone, Debug, Default)]
pub struct ResultSide {
    pub label: String,
    pub counts: SideCounts,
    /// The formats that it was read from.
    pub tools: BTreeSet<&'static str>,
    /// Trials that were not measured, and scored by the tool all the same.
    pub errors: u64,
    /// By case, the trials that the tool scored, and the sum of their scores.
    scores: BTreeMap<String, (u64, f64)>,
    /// By case, the score of each trial that was measured, where the file has trials.
    measured: BTreeMap<String, Vec<f64>>,
    mean_of_cases: bool,
}

impl ResultSide {
    /// The mean score as the tool counts: of cases or of trials, errors as they were scored.
    #[expect(clippy::cast_precision_loss, reason = "numbers of trials are far below 2^52")]
    pub fn score(&self) -> Option<f64> {
        let of_cases = |(trials, score): &(u64, f64)| {
            if self.mean_of_cases { (1, score / *trials as f64) } else { (*trials, *score) }
        };
        let parts = self.scores.values().filter(|(trials, _)| *trials > 0).map(of_cases);
        let (trials, score) = parts.fold((0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        (trials > 0).then(|| score / trials as f64)
    }

    /// Whether both have the same cases, so that their scores are of the same.
    pub fn has_cases_of(&self, other: &Self) -> bool {
        self.scores.keys().eq(other.scores.keys())
    }

    /// What `candidate` scores less this side, case by case, in the trials that were measured.
    pub fn difference(&self, candidate: &Self) -> Option<ScoreDifference> {
        let scores = |side: &Self, case| side.measured.get(case).cloned().unwrap_or_default();
        let of_case = |case| CaseScores { baseline: scores(self, case), candidate: scores(candidate, case) };
        let cases: Vec<CaseScores> = self.measured.keys().map(of_case).collect();
        stratified::score_difference(&cases)
    }

    /// Whether scores tell more than that a trial passed or failed. Otherwise the answer of the comparison is all they say.
    pub fn has_finer_scores(&self) -> bool {
        self.measured.values().flatten().any(|score| *score != 0.0 && (*score - 1.0).abs() > f64::EPSILON)
    }

    /// Adds the trials of these sides. A case may be told from others by its suite, and by its side.
    fn add(&mut self, file: &ResultFile, is_of: impl Fn(&str) -> bool, with_suite: bool, with_side: bool) {
        for row in file.rows.iter().filter(|row| is_of(&row.side)) {
            let suite = Some(&row.suite).filter(|suite| with_suite && !suite.is_empty());
            let side = Some(&row.side).filter(|_| with_side);
            let case = suite.into_iter().chain([&row.case]).chain(side).cloned().collect::<Vec<_>>().join("/");
            let scores = self.scores.entry(case.clone()).or_default();
            *scores = (scores.0 + row.scored, scores.1 + row.score);
            if (row.scored, row.counts.rate.trials) == (1, 1) {
                self.measured.entry(case.clone()).or_default().push(row.score);
            }
            self.errors += row.scored.saturating_sub(row.counts.rate.trials);
            let counts = self.counts.entry(case).or_default();
            counts.rate = counts.rate.plus(row.counts.rate);
            counts.not_measured += row.counts.not_measured;
        }
        self.mean_of_cases = file.format.mean_of_cases;
        self.tools.insert(file.format.name);
    }
}

/// Two sides of files. If those of a side have several sides of their own, the one with the skills stands for them; without such a
/// side, a case on another side is another case. Cases of several suites are told apart by these.
pub fn of_two_files(labels: [&str; 2], files: [&[ResultFile]; 2]) -> [ResultSide; 2] {
    let with_suite = files.iter().any(|files| has_suites(files));
    [(labels[0], files[0]), (labels[1], files[1])].map(|(label, files)| of_files(label, files, with_suite))
}

fn of_files(label: &str, files: &[ResultFile], with_suite: bool) -> ResultSide {
    let mut side = ResultSide { label: label.to_owned(), ..ResultSide::default() };
    let names = names(files);
    for file in files {
        let with = file.format.with.filter(|with| names.contains(with));
        side.add(file, |name| with.is_none_or(|with| with == name), with_suite, with.is_none() && names.len() > 1);
    }
    side
}

/// Whether the cases are of several suites.
fn has_suites(files: &[ResultFile]) -> bool {
    files.iter().flat_map(|file| &file.rows).map(|row| &row.suite).collect::<BTreeSet<_>>().len() > 1
}

/// The sides in these files, the baseline first: those that are `chosen` by name, or all, if they are two.
pub fn of_two_arms(files: &[ResultFile], chosen: &[String]) -> Result<[ResultSide; 2], String> {
    let found = names(files);
    if let Some(unknown) = chosen.iter().find(|name| !found.contains(&name.as_str())) {
        return Err(format!("no side `{unknown}`; found: {}", found.join(", ")));
    }
    let wanted = if chosen.is_empty() { found.clone() } else { chosen.iter().map(String::as_str).collect() };
    let sides = match wanted.as_slice() {
        [baseline, candidate] if baseline == candidate => return Err(format!("`{baseline}` is on both sides")),
        [baseline, candidate] => [*baseline, *candidate],
        [one] if found.len() > 1 => return Err(format!("`{one}` is one side; name the other one by --mode too")),
        [_] => return Err("it has one side; name the file of the other side too".to_owned()),
        _ => {
            let (names, all) = (found.join(", "), found.len());
            return Err(format!("it has {all} sides; choose two with --mode A --mode B: {names}"));
        }
    };
    Ok(sides.map(|name| {
        let mut side = ResultSide { label: name.to_owned(), ..ResultSide::default() };
        for file in files {
            side.add(file, |of| of == name, has_suites(files), false);
        }
        side
    }))
}

/// The sides, each once, in the order of the files.
fn names(files: &[ResultFile]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for row in files.iter().flat_map(|file| &file.rows) {
        if names.last() != Some(&row.side.as_str()) && !names.contains(&row.side.as_str()) {
            names.push(&row.side);
        }
    }
    names
}

// What a file has at its top, by which its format is known.

/// Objects of a list, or lines, that are looked at: headers may come before the first result.
const FIRST: usize = 3;

/// The names at the top of a file.
pub struct Shape {
    names: BTreeSet<String>,
    kind: &'static str,
}

impl Shape {
    /// Whether it has `key`, of which `|` separates alternatives.
    pub fn has(&self, key: &str) -> bool {
        key.split('|').any(|name| self.names.contains(name))
    }

    /// `the JSON (config, results)`.
    pub fn what(&self) -> String {
        let names = self.names.iter().take(12).map(|name| name.chars().take(40).collect());
        let names: Vec<String> = names.collect();
        format!("the {} ({})", self.kind, names.join(", "))
    }
}

pub fn shape_of(bytes: &[u8]) -> Result<Shape, String> {
    match bytes.trim_ascii_start() {
        [] => Err("the file is empty".to_owned()),
        [b'P', b'K', ..] => {
            Err("it is a ZIP file; of Inspect, write its JSON first: `inspect log dump FILE > log.json`".to_owned())
        }
        text @ [b'<', ..] => Ok(Shape { names: root_of(text).into_iter().collect(), kind: "XML" }),
        text @ [b'{' | b'[', ..] => {
            let items = text.strip_prefix(b"[");
            Ok(Shape { names: keys_of(items.unwrap_or(text), items.is_some())?, kind: "JSON" })
        }
        text => {
            let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let names = String::from_utf8_lossy(line);
            let names = names.split(',').map(|name| name.trim().trim_matches('"').to_owned());
            Ok(Shape { names: names.collect(), kind: "CSV" })
        }
    }
}

/// The keys of the first objects.
#[expect(clippy::zero_sized_map_values, reason = "serde reads no set of the keys of an object")]
fn keys_of(mut text: &[u8], is_list: bool) -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    for at in 0..FIRST {
        let mut objects = Deserializer::from_slice(text).into_iter::<BTreeMap<String, IgnoredAny>>();
        match objects.next() {
            Some(Ok(object)) => names.extend(object.into_keys()),
            // A later one, which is none, is the reader's to refuse.
            Some(Err(error)) if at == 0 => return Err(error.to_string()),
            _ => break,
        }
        text = text[objects.byte_offset()..].trim_ascii_start();
        if is_list {
            text = text.strip_prefix(b",").unwrap_or_default();
        }
    }
    Ok(names)
}

/// The name of the root of an XML document.
fn root_of(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(&text[..text.len().min(4096)]).ok()?;
    let start = text.match_indices('<').map(|(at, _)| &text[at + 1..]).find(|rest| !rest.starts_with(['?', '!']))?;
    start.split(|c: char| c.is_whitespace() || c == '>' || c == '/').next().map(str::to_owned)
}
