//! The verdict of a trial, by its checks and their weights.

use std::collections::BTreeMap;

use crate::cases::case::Assertion;
use crate::checks;
use crate::grade::delivered::DELIVERED;
use crate::grade::general::GENERAL;
use crate::trial::outcome::{CheckResult, Goal, Grade, Score, Status, Trouble, TroubleKind, Verdict};

/// The check that an assertion of a case holds.
pub const ASSERTION: &str = "assertion";

/// The start of the ids of the other checks by a judge.
pub(super) const RUBRIC: &str = "rubric-";

/// The share of a least score that rounding may miss: four of five equal weights reach 0.8. A score of 0 reaches only 0.
const ROUNDING: f64 = 1e-9;

/// Whether some of these have weights. Then each counts by itself, and not what a judge says of all of them.
pub(super) fn has_weights(assertions: &[Assertion]) -> bool {
    assertions.iter().any(|assertion| assertion.weight.is_some())
}

/// The results of assertions without an answer of a judge; `why` there is none.
pub(super) fn pending(assertions: &[Assertion], why: &str) -> Vec<CheckResult> {
    let result = |Assertion { text, weight, .. }: &Assertion| {
        let result = CheckResult::new(ASSERTION, Goal::Outcome, Status::Unknown, text.clone(), why.to_owned());
        CheckResult { weight: *weight, ..result }
    };
    assertions.iter().map(result).collect()
}

/// `grade` with the score and the verdict that follow from its trouble and its checks.
pub fn settle(mut grade: Grade) -> Grade {
    let least = grade.score.and_then(|score| score.least);
    // A judge may have been asked by now.
    grade.trouble = grade.trouble.filter(|trouble| trouble.kind != TroubleKind::NotJudged);
    let Decision { status, open, score } = Decision::by(&grade.checks.iter().collect::<Vec<_>>(), least);
    let offer = grade.checks.iter().find(|check| check.id == DELIVERED && check.status == Status::Unknown);
    let delivered = offer.is_none();
    if grade.trouble.is_none() {
        // A pass with an unknown check would be a guess.
        grade.trouble = open.or(offer).map(|check| {
            let kind = if is_judged(check) { TroubleKind::NotJudged } else { TroubleKind::Unobservable };
            Trouble::new(kind, format!("{}: {}", check.id, check.found))
        });
    }
    let failed = status == Status::Fail;
    let unobservable = grade.trouble.as_ref().is_some_and(|trouble| trouble.kind == TroubleKind::Unobservable);
    // A failure stands whatever is unknown, unless the skill may not have been offered at all.
    if failed && unobservable && delivered {
        grade.trouble = None;
    }
    grade.verdict = match &grade.trouble {
        Some(trouble) if trouble.kind == TroubleKind::NotJudged => Verdict::Unscored,
        Some(_) => Verdict::Error,
        None if failed => Verdict::Fail,
        None => Verdict::Pass,
    };
    // Without a check that has a weight above 0, a least score decides nothing and is kept.
    if let Some(score) = score.or(grade.score) {
        grade.score = Some(Score { without_skill: without_the_skill_by_score(&grade, least), ..score });
    }
    grade
}

/// Why a case is left out where one side has no skills: with every check left out, each trial would pass.
pub const NEEDS_SKILL: &str =
    "all its checks need the skill; add one that trials without the skill can pass or fail too";

/// Whether checks of these ids are left of a trial without those that need the skill. Those of every trial do not count.
pub fn are_left_without_the_skill<'a>(mut checks: impl Iterator<Item = &'a str>) -> bool {
    checks.any(|check| !GENERAL.contains(&check) && !checks::asks_for_skill(check))
}

/// The verdict of a trial without the checks that need the skill. Only a failure can change, unless a score decides.
pub fn without_the_skill(verdict: Verdict, checks: &[(String, Status)], by_score: Option<Verdict>) -> Verdict {
    if let Some(verdict) = by_score {
        return verdict;
    }
    let others = checks.iter().filter(|(check, _)| !checks::asks_for_skill(check));
    let others: Vec<Status> = others.map(|(_, status)| *status).collect();
    match verdict {
        Verdict::Fail if checks.is_empty() || others.contains(&Status::Fail) => Verdict::Fail,
        Verdict::Fail if others.contains(&Status::Unknown) => Verdict::Error,
        Verdict::Fail => Verdict::Pass,
        verdict => verdict,
    }
}

/// The same of a measured trial whose checks have weights.
fn without_the_skill_by_score(grade: &Grade, least: Option<f64>) -> Option<Verdict> {
    if !matches!(grade.verdict, Verdict::Pass | Verdict::Fail) {
        return None;
    }
    let others: Vec<&CheckResult> = grade.checks.iter().filter(|check| !checks::asks_for_skill(&check.id)).collect();
    Some(match Decision::by(&others, least) {
        Decision { status: Status::Pass, .. } => Verdict::Pass,
        Decision { status: Status::Fail, .. } => Verdict::Fail,
        Decision { open: Some(check), .. } if is_judged(check) => Verdict::Unscored,
        Decision { .. } => Verdict::Error,
    })
}

/// What checks say together.
struct Decision<'c> {
    status: Status,
    /// The first check that leaves it unknown, before those that a judge leaves open.
    open: Option<&'c CheckResult>,
    score: Option<Score>,
}

impl<'c> Decision<'c> {
    /// The decision of these checks. Those without a weight must pass. Those with weights must reach the least score together,
    /// or pass too if there is none. A weight of 0 decides nothing.
    fn by(checks: &[&'c CheckResult], least: Option<f64>) -> Self {
        let score = score_of(checks, least);
        let reached = score.and_then(|score| reached(&score));
        let counts = |check: &CheckResult| check.weight.is_some_and(|weight| weight.amount > 0.0);
        let must_pass = |check: &CheckResult| check.weight.is_none() || (counts(check) && reached.is_none());
        let failed = checks.iter().any(|check| check.status == Status::Fail && must_pass(check));
        if failed || reached == Some(Status::Fail) {
            return Self { status: Status::Fail, open: None, score };
        }
        let is_open = |check: &CheckResult| must_pass(check) || (counts(check) && reached == Some(Status::Unknown));
        let mut open = checks.iter().filter(|check| check.status == Status::Unknown && is_open(check));
        let open = open.clone().find(|check| !is_judged(check)).or_else(|| open.next()).copied();
        let status = if open.is_some() { Status::Unknown } else { Status::Pass };
        Self { status, open, score }
    }
}

/// Whether the judge answers this check.
fn is_judged(check: &CheckResult) -> bool {
    !check.custom && (check.id == ASSERTION || check.id.starts_with(RUBRIC))
}

/// The score by these checks; `None` if none of them has a weight above 0.
fn score_of(checks: &[&CheckResult], least: Option<f64>) -> Option<Score> {
    let mut parts: BTreeMap<u32, (f64, f64, f64)> = BTreeMap::new();
    for check in checks {
        let Some(weight) = check.weight.filter(|weight| weight.amount > 0.0) else { continue };
        let (least, most) = match (check.status, check.score) {
            (Status::Unknown, _) => (0.0, 1.0),
            (_, Some(score)) => (score, score),
            (Status::Pass, None) => (1.0, 1.0),
            (Status::Fail, None) => (0.0, 0.0),
        };
        // A part counts as much as the least of its checks.
        let (_, low, high) = parts.entry(weight.part).or_insert((weight.amount, 1.0, 1.0));
        (*low, *high) = (low.min(least), high.min(most));
    }
    let sum = |part: fn(&(f64, f64, f64)) -> f64| parts.values().map(part).sum::<f64>();
    let all = sum(|(amount, ..)| *amount);
    let value = sum(|(amount, low, _)| amount * low) / all;
    let open = sum(|(amount, low, high)| amount * (high - low)) / all;
    (all > 0.0).then_some(Score { value, open, least, without_skill: None })
}

/// Whether the least score is reached, whatever the open checks are; `None` if no score is required.
fn reached(score: &Score) -> Option<Status> {
    let least = score.least? * (1.0 - ROUNDING);
    Some(match (score.value >= least, score.value + score.open >= least) {
        (true, _) => Status::Pass,
        (false, true) => Status::Unknown,
        (false, false) => Status::Fail,
    })
}
