//! Both sides compared: the answer, every figure, and what it took. The content of `comparison.json`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

use serde::Serialize;

use crate::checks::asks_for_skill;
use crate::decide::plan::ComparePlan;
use crate::decide::promise::Power;
use crate::decide::{Comparison, ResultBasis, Rule, fixed};
use crate::files::bounded;
use crate::files::inside::{self, WalkControl};
use crate::grade::general::GENERAL;
use crate::results::is_default;
use crate::results::side_results::{CaseUsage, SideResults};
use crate::results::spread::{ClusterBy, Spread};
use crate::results::triggering::ActivationShift;
use crate::skill::SKILL_FILE;
use crate::stats::difference::{self, Ratio};
use crate::stats::proportion::Rate;
use crate::text::redact::Redactor;

/// The number of the format of `comparison.json`.
const COMPARISON_FORMAT: u32 = 1;

/// Two sides compared.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, with a key of its own")]
pub struct ComparisonResults {
    /// The number of the format.
    #[cfg_attr(feature = "schemars", schemars(extend("const" = COMPARISON_FORMAT)))]
    pub format: u32,
    pub baseline: String,
    pub candidate: String,
    /// What was asked, and how sure the answer must be.
    pub rule: Rule,
    /// The answer and its figures.
    pub comparison: Comparison,
    /// What the candidate takes, divided by what the baseline takes; all null if some trials ended early, since lower bounds cannot
    /// be compared.
    pub amounts: Ratios,
    /// Checks by name, with how often they passed on each side, those with the largest difference first.
    pub checks: Vec<CheckShares>,
    /// What became active on both sides; absent where no skill was to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub triggering: Option<ActivationShift>,
    /// Whether the baseline has no skills, so that the difference is what they are worth.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub with_without: bool,
    /// Whether both sides are judged by the checks that both were asked, since one had no skills.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub outcome_only: bool,
    /// Whether the skills of both sides are the same and nothing else differs, so that no trial was needed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
    /// Whether both sides are the same, so that what differs is noise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub aa: bool,
    /// Cases that were left out with the reason: they are in quarantine, or one side has no skill for them, or no check that both
    /// can pass and fail.
    pub left_out: Vec<(String, String)>,
    /// Cases that were asked or checked otherwise on the two sides, where both are in the same mode.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed_cases: Vec<String>,
    /// What differs in the first of these cases: its prompt, a setting, a part of the user's setup. Empty if that is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed_parts: Vec<String>,
    /// Cases whose trials ran until they decided something, in a side: their number depends on their results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub until_decided: Vec<String>,
    /// What the cases tell of others; absent for one case, and where the number of trials depends on their results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// How many trials of both sides it took, where they ran until something was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trials: Option<SpentTrials>,
    /// If no harm was seen: what such a comparison finds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<Power>,
    /// Trials of the baseline that were kept of earlier comparisons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<ReusedTrials>,
    /// Trials of both sides that earlier starts of this comparison measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<ReusedTrials>,
    /// Which measurement of the same contents it is, if it is not the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 2)))]
    pub measurement: Option<u32>,
    /// How many trials ended as soon as their verdict was settled.
    #[serde(skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub settled: u64,
    /// How many trials ran only a part of what their case asks for.
    #[serde(skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub partial: u64,
    /// Why answers are not a model's own.
    pub scripted: Vec<String>,
    /// Of results of another tool: what it shows itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headline: Option<Headline>,
}

/// What another tool shows of the trials that it measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Headline {
    pub tool: String,
    /// Its mean score of the baseline.
    pub baseline: f64,
    /// Its mean score of the candidate.
    pub candidate: f64,
    /// Trials of both sides that were not measured, and are in these scores all the same.
    pub errors: u64,
    /// What the candidate scores less the baseline, case by case, in the trials that were measured. Null if no case was measured on
    /// both sides.
    #[cfg_attr(feature = "schemars", schemars(range(min = -1, max = 1)))]
    pub by_case: Option<f64>,
    /// The two-sided p of these scores, by the permutation test. Null if they say no more than that trials passed: their p is that of
    /// the answer.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub p: Option<f64>,
}

/// What one side takes by what the other takes; null where no case told it in both.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Ratios {
    /// Tokens read and written.
    pub tokens: Option<Ratio>,
    /// US dollars.
    pub cost: Option<Ratio>,
    pub time: Option<Ratio>,
    /// Effective commands, one added to each.
    pub commands: Option<Ratio>,
}

/// How often a check passed on each side.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CheckShares {
    pub check: String,
    pub baseline: Rate,
    pub candidate: Rate,
}

/// Trials of a comparison that runs until something is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SpentTrials {
    /// Those that the answer rests on, lost ones included.
    pub counted: u64,
    /// Those that ran all together.
    pub executed: u64,
    /// The most that were allowed.
    pub limit: u64,
    /// When it was to stop.
    pub plan: ComparePlan,
    /// Pairs whose trials have different verdicts, of the measured pairs. Between equal sides, this is the noise.
    pub flipped: Rate,
}

/// Trials that were kept of earlier comparisons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ReusedTrials {
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub trials: u64,
    /// The day on which the first was measured, UTC.
    pub first: String,
    /// The day on which the last was.
    pub last: String,
}

impl ReusedTrials {
    /// Those among the trials that were kept and measured at these times, RFC 3339; `None` if there are none.
    pub fn of<'a>(times: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut days: Vec<&str> = times.map(|time| time.get(..10).unwrap_or(time)).collect();
        days.sort_unstable();
        let (first, last) = ((*days.first()?).to_owned(), (*days.last()?).to_owned());
        Some(Self { trials: days.len() as u64, first, last })
    }
}

pub fn stored(labels: (String, String), a: &SideResults, b: &SideResults, rule: Rule) -> ComparisonResults {
    // Other modes ask otherwise on purpose.
    let asked_otherwise = if a.modes == b.modes { SideResults::asked_otherwise(a, b) } else { Vec::new() };
    let comparison = fixed::compare(&a.counts, &b.counts, &rule);
    let cases = comparison.cases.iter().map(|case| &case.case);
    let until_decided = cases.filter(|case| a.until_decided.contains_key(*case) || b.until_decided.contains_key(*case));
    let until_decided: Vec<String> = until_decided.cloned().collect();
    let comparison = if until_decided.is_empty() { comparison } else { comparison.without_estimates() };
    let compared =
        ComparisonResults { changed_cases: asked_otherwise, until_decided, ..of(labels, comparison, a, b, rule) };
    if !compared.until_decided.is_empty() {
        return compared;
    }
    // Cases of tables and other tools have names of any form, and no mode.
    compared.with_spread(!a.modes.is_empty(), (ClusterBy::Case, &str::to_owned))
}

/// A comparison of sides that have the same skills and differ in nothing else.
pub fn unchanged(labels: (String, String), rule: Rule) -> ComparisonResults {
    let none = SideResults::default();
    ComparisonResults { unchanged: true, ..stored(labels, &none, &none, rule) }
}

/// Everything there is to show of a comparison of these sides.
pub fn of(
    labels: (String, String),
    comparison: Comparison,
    a: &SideResults,
    b: &SideResults,
    rule: Rule,
) -> ComparisonResults {
    // What a comparison that runs tries again depends on what came out.
    let estimates = matches!(comparison.evidence, ResultBasis::Fixed { .. });
    let settled = a.settled + b.settled;
    let ratio = |of: fn(&CaseUsage) -> &Vec<f64>, plus| {
        let amounts = (settled == 0).then(|| SideResults::amounts(a, b, of))?;
        difference::amount_ratio(&amounts, plus, rule.level)
    };
    ComparisonResults {
        format: COMPARISON_FORMAT,
        baseline: labels.0,
        candidate: labels.1,
        rule,
        comparison,
        amounts: Ratios {
            tokens: ratio(|took| &took.tokens, 0.0),
            cost: ratio(|took| &took.cost_usd, 0.0),
            time: ratio(|took| &took.seconds, 0.0),
            // Often there are none.
            commands: ratio(|took| &took.commands, 1.0),
        },
        checks: checks(a, b),
        triggering: ActivationShift::of(&a.triggered, &b.triggered, estimates.then_some(rule.level)),
        with_without: false,
        outcome_only: a.outcome_only,
        unchanged: false,
        aa: false,
        left_out: a.left_out.clone().into_iter().collect(),
        changed_cases: Vec::new(),
        changed_parts: Vec::new(),
        until_decided: Vec::new(),
        spread: None,
        trials: None,
        power: None,
        kept: None,
        earlier: None,
        measurement: None,
        settled,
        partial: a.partial + b.partial,
        scripted: a.scripted.union(&b.scripted).cloned().collect(),
        headline: None,
    }
}

impl ComparisonResults {
    /// The same with what its cases tell of others, by these clusters.
    #[must_use]
    pub fn with_spread(self, names_cases: bool, clusters: (ClusterBy, &dyn Fn(&str) -> String)) -> Self {
        Self { spread: Spread::of(&self.comparison, &self.rule, names_cases, clusters), ..self }
    }

    /// What the answer lacks because trials were not measured, for people; `None` if it lacks nothing.
    pub fn lost(&self) -> Option<String> {
        let (cases, trials) = (&self.comparison.lost, self.comparison.lost_trials());
        if !cases.is_empty() {
            return Some(format!("not measured on one side or both: {}", cases.join(", ")));
        }
        (trials > 0).then(|| format!("trials that were not measured: {trials}"))
    }

    /// Of a comparison with and without skills, the checks that passed as often without: they do not tell what the skills
    /// are worth. Those of every trial (`in-time`, `exit-code`, `delivered` …) are not meant to.
    pub fn telling_nothing(&self) -> impl Iterator<Item = &CheckShares> {
        let asked_of_all = |shares: &&CheckShares| !GENERAL.contains(&shares.check.as_str());
        let no_better = |shares: &&CheckShares| shares.baseline.share() >= shares.candidate.share();
        self.checks.iter().filter(|_| self.with_without).filter(asked_of_all).filter(no_better)
    }
}

fn checks(a: &SideResults, b: &SideResults) -> Vec<CheckShares> {
    let counts = |check: &str| !(a.outcome_only && asks_for_skill(check));
    let both = a.checks.iter().filter_map(|(check, in_a)| Some((check, *in_a, *b.checks.get(check)?)));
    let both = both.filter(|(check, ..)| counts(check));
    let mut shares: Vec<CheckShares> =
        both.map(|(check, a, b)| CheckShares { check: check.clone(), baseline: a, candidate: b }).collect();
    let apart = |shares: &CheckShares| {
        (shares.candidate.share().unwrap_or_default() - shares.baseline.share().unwrap_or_default()).abs()
    };
    shares.sort_by(|x, y| apart(y).total_cmp(&apart(x)).then_with(|| x.check.cmp(&y.check)));
    shares
}

// The files in which the skills of two sides differ, as far as they are texts.

/// The longest file whose text is shown, in bytes.
const MAX_FILE: u64 = 128 << 10;

/// The most bytes of all texts together.
const MAX_TEXTS: usize = 1 << 20;

/// The most files that are shown.
const MAX_FILES: usize = 200;

/// A file of a skill that differs between two sides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChangedText {
    /// The path in the directory of all skills: the skill's slug comes first.
    pub path: String,
    /// The content in the baseline; absent if the file is not there, or is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The content in the candidate; absent if the file is not there, or is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Why the content is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The files that differ between two copies of the skills, each SKILL.md before the other files of its skill. Secrets are
/// masked.
pub fn changed_texts(before: &Path, after: &Path, redactor: &Redactor) -> Vec<ChangedText> {
    let mut paths = BTreeSet::new();
    for folder in [before, after] {
        // Without the directory, the files do not exist.
        let _ = inside::walk_beneath(folder, Path::new(""), |_| false, &mut |file| {
            let is_other = file.path.file_name() != Some(OsStr::new(SKILL_FILE));
            paths.insert((file.path.iter().next().map(OsStr::to_owned), is_other, file.path.to_path_buf()));
            WalkControl::On
        });
    }
    let mut left = MAX_TEXTS;
    let mut changed = Vec::new();
    for (_, _, path) in paths {
        let [old, new] = [before, after].map(|folder| bounded::digest(&folder.join(&path)).ok());
        if old == new {
            continue;
        }
        if changed.len() == MAX_FILES {
            break;
        }
        let mut file = ChangedText { path: path.display().to_string(), ..ChangedText::default() };
        let text = |folder: &Path| match inside::read_beneath(folder, &path, MAX_FILE) {
            Ok(bytes) => {
                String::from_utf8(redactor.mask(&bytes).into_owned()).map(Some).map_err(|_| "not text".to_owned())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
        };
        match (text(before), text(after)) {
            (Ok(old), Ok(new)) => {
                let length: usize = [&old, &new].into_iter().flatten().map(String::len).sum();
                if length <= left {
                    left -= length;
                    (file.before, file.after) = (old, new);
                } else {
                    file.why = Some("the changes before it are long".to_owned());
                }
            }
            (Err(why), _) | (_, Err(why)) => file.why = Some(why),
        }
        changed.push(file);
    }
    changed
}
