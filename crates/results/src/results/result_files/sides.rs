//! The two sides of what was read.

use std::collections::{BTreeMap, BTreeSet};

use super::ResultFile;
use crate::decide::SideCounts;
use crate::stats::stratified::{self, CaseScores, ScoreDifference};

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
