//! Shares and their intervals: of trials that passed, of skills that activated, of judges who are right or agree.

use serde::Serialize;

use statrs::distribution::{ContinuousCDF, Gamma};

use super::{Interval, count_up, len, ln_choose, real, two_sided_z};

/// The rates of a Poisson process that a count of its events does not rule out (Garwood, Biometrika 28 (1936) 437).
pub fn poisson(count: u64, level: f64) -> Interval {
    let quantile = |p: f64, shape: f64| Gamma::new(shape, 1.0).map_or(f64::NAN, |gamma| gamma.inverse_cdf(p));
    let outside = (1.0 - level) / 2.0;
    let low = if count == 0 { 0.0 } else { quantile(outside, real(count)) };
    Interval { low, high: quantile(1.0 - outside, real(count) + 1.0) }
}

/// `passed` of `trials`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Rate {
    /// Trials that passed; never more than `trials`.
    pub passed: u64,
    /// Trials that were measured.
    pub trials: u64,
}

impl Rate {
    /// `passed` of `trials`; at most `trials` passes are counted.
    pub fn new(passed: u64, trials: u64) -> Self {
        Self { passed: passed.min(trials), trials }
    }

    /// The share that passed. `None` without trials.
    pub fn share(self) -> Option<f64> {
        (self.trials > 0).then(|| real(self.passed) / real(self.trials))
    }

    /// Trials that did not pass.
    pub fn failed(self) -> u64 {
        self.trials - self.passed
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, trials: self.trials + other.trials }
    }

    /// Counts one trial.
    pub fn add(&mut self, passed: bool) {
        self.passed += u64::from(passed);
        self.trials += 1;
    }
}

/// Wilson's score interval, which is shown next to a single rate. Its coverage is near `level` on average, also for few
/// trials and at 0 and 1. Without trials it is 0 to 1.
///
/// `(p̂ + z²/2n ± z √(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n)`: Wilson, JASA 22 (1927) 209.
pub fn wilson(rate: Rate, level: f64) -> Interval {
    let Some(share) = rate.share() else { return EVERYTHING };
    let (trials, z) = (real(rate.trials), two_sided_z(level));
    Interval { low: score_low(share, trials, z), high: score_high(share, trials, z) }
}

/// Wilson's upper limit, `z` standard errors above the share `share` of `trials`. `trials` does not have to be a whole
/// number.
pub(super) fn score_high(share: f64, trials: f64, z: f64) -> f64 {
    if share >= 1.0 {
        return 1.0;
    }
    let square = z * z / trials;
    let root = (share * (1.0 - share) / trials + square / (4.0 * trials)).sqrt();
    (z.mul_add(root, share + square / 2.0) / (1.0 + square)).clamp(0.0, 1.0)
}

/// Wilson's lower limit: 1 minus the upper limit of the failures.
pub(super) fn score_low(share: f64, trials: f64, z: f64) -> f64 {
    1.0 - score_high(1.0 - share, trials, z)
}

const EVERYTHING: Interval = Interval { low: 0.0, high: 1.0 };

// Repeats of one case: the result of k trials, and the rate that trials show if all pass.

/// The probability that at least one of `k` trials passes, without bias. `None` if `k` is 0 or larger than the number
/// of measured trials.
///
/// `1 − C(n−c, k) / C(n, k)`: Chen et al., arXiv 2107.03374, section 2.1.
pub fn pass_at_k(rate: Rate, k: u64) -> Option<f64> {
    all_k(Rate { passed: rate.failed(), trials: rate.trials }, k).map(|all_fail| 1.0 - all_fail)
}

/// The probability that all of `k` trials pass, without bias. `None` if `k` is 0 or larger than the number of measured
/// trials.
///
/// `C(c, k) / C(n, k)`: Yao et al., arXiv 2406.12045 (pass^k). The plain `(c/n)^k` is too high.
pub fn pass_hat_k(rate: Rate, k: u64) -> Option<f64> {
    all_k(rate, k)
}

fn all_k(rate: Rate, k: u64) -> Option<f64> {
    if k == 0 || k > rate.trials {
        return None;
    }
    Some((ln_choose(rate.passed, k) - ln_choose(rate.trials, k)).exp().min(1.0))
}

/// The smallest rate that `n` passes of `n` trials show with a one-sided `confidence`: 0.55 for 5 trials and 0.95.
///
/// `(1 − confidence)^(1/n)`, the lower limit of Clopper and Pearson; 0 without trials.
pub fn shown_by_all_passing(n: u64, confidence: f64) -> f64 {
    if n == 0 { 0.0 } else { (1.0 - confidence).powf(1.0 / real(n)) }
}

/// The number of trials that shows a rate of at least `threshold` if all pass: 14 for 0.8 and a confidence of 0.95.
/// `None` for a threshold of 1, which no number of trials shows.
pub fn needed_all_passing(threshold: f64, confidence: f64) -> Option<u64> {
    if threshold <= 0.0 {
        return Some(0);
    }
    (threshold < 1.0).then(|| count_up((1.0 - confidence).ln() / threshold.ln()).max(1))
}

// Does a skill activate when it should, and only then? Precision, recall and F1, with intervals.

/// Trials of a skill, by whether it should activate and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Triggering {
    /// It should activate and did.
    pub hits: u64,
    /// It should not activate but did.
    pub false_alarms: u64,
    /// It should activate but did not.
    pub misses: u64,
}

impl Triggering {
    /// Precision: of the trials in which it activated, those in which it should.
    pub fn precision(self) -> Rate {
        Rate::new(self.hits, self.hits + self.false_alarms)
    }

    /// Recall: of the trials in which it should activate, those in which it did.
    pub fn recall(self) -> Rate {
        Rate::new(self.hits, self.hits + self.misses)
    }

    /// The harmonic mean of precision and recall, `2 hits / (2 hits + false alarms + misses)`. `None` if the skill
    /// neither should activate nor did. The interval comes from Wilson's of `q = hits / (hits + false alarms +
    /// misses)`: F1 is `2q / (1 + q)`, which grows with `q`.
    pub fn f1(self, level: f64) -> Option<(f64, Interval)> {
        let all = Rate::new(self.hits, self.hits + self.false_alarms + self.misses);
        let of = |q: f64| 2.0 * q / (1.0 + q);
        let interval = wilson(all, level);
        all.share().map(|share| (of(share), Interval { low: of(interval.low), high: of(interval.high) }))
    }
}

// Corrects a judge's pass rate by how often the judge is right.

/// A judge compared with human labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JudgeAccuracy {
    /// The judge's passes, of the trials that people passed: its sensitivity.
    pub passed_right: Rate,
    /// The judge's failures, of the trials that people failed: its specificity.
    pub failed_right: Rate,
}

/// A judge's corrected pass rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CorrectedRate {
    /// The estimated pass rate by people, from 0 to 1.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub rate: f64,
    /// Its standard error.
    pub error: f64,
    /// Its interval, from 0 to 1.
    pub interval: Interval,
}

impl JudgeAccuracy {
    /// The estimated pass rate by people if this judge passed `raw`. `None` if a rate has no trials, or if the judge is
    /// not better than a coin.
    ///
    /// `θ = (q + sp − 1) / (se + sp − 1)`: Rogan and Gladen, American Journal of Epidemiology 107 (1978) 71; the
    /// variance is `(q(1−q)/n + θ² se(1−se)/n_se + (1−θ)² sp(1−sp)/n_sp) / (se + sp − 1)²`. For a rate of 0 or 1, the
    /// variance is computed with one more trial of each outcome, because a few labels are not certain.
    pub fn correct(self, raw: Rate, level: f64) -> Option<CorrectedRate> {
        let (q, se, sp) = (raw.share()?, self.passed_right.share()?, self.failed_right.share()?);
        let better = se + sp - 1.0;
        if better <= 0.0 {
            return None;
        }
        let rate = (q + sp - 1.0) / better;
        let parts = variance(raw)
            + rate.powi(2) * variance(self.passed_right)
            + (1.0 - rate).powi(2) * variance(self.failed_right);
        let error = parts.sqrt() / better;
        let reach = two_sided_z(level) * error;
        let within = |value: f64| value.clamp(0.0, 1.0);
        let interval = Interval { low: within(rate - reach), high: within(rate + reach) };
        Some(CorrectedRate { rate: within(rate), error, interval })
    }
}

fn variance(rate: Rate) -> f64 {
    let sure = rate.passed == 0 || rate.failed() == 0;
    let (passed, trials) = (real(rate.passed), real(rate.trials));
    let (passed, trials) = if sure { (passed + 0.5, trials + 1.0) } else { (passed, trials) };
    passed * (trials - passed) / trials.powi(3)
}

// Do judges agree beyond chance? Cohen's κ for two judges, and Gwet's AC1 and Fleiss's κ for any number of votes.
//
// If nearly all items are in one category, κ falls to 0 although the judges agree. AC1 does not. Show both.

/// Cohen's κ of two judges: `table[i][j]` is the number of items with category i by the first judge and j by the
/// second. `None` if the table is empty or not square, or if both judges gave all items the same category.
///
/// `(p_o − p_e) / (1 − p_e)`, `p_e = Σ row_i · column_i / n²`: Educational and Psychological Measurement 20 (1960) 37.
pub fn cohen_kappa(table: &[Vec<u64>]) -> Option<f64> {
    let n = real(table.iter().flatten().sum());
    if n == 0.0 || table.iter().any(|row| row.len() != table.len()) {
        return None;
    }
    let same: u64 = (0..table.len()).map(|at| table[at][at]).sum();
    let row = |at: usize| real(table[at].iter().sum());
    let column = |at: usize| real(table.iter().map(|row| row[at]).sum());
    let by_chance: f64 = (0..table.len()).map(|at| row(at) * column(at)).sum::<f64>() / (n * n);
    beyond_chance(real(same) / n, by_chance)
}

/// Agreement of votes on the same items.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Agreement {
    /// The share of pairs of votes on the same item that are equal.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub observed: f64,
    /// Gwet's AC1: `p_e = Σ π_k (1 − π_k) / (K − 1)`, British Journal of Mathematical and Statistical Psychology 61 (2008)
    /// 29. Null with fewer than two categories.
    pub ac1: Option<f64>,
    /// Fleiss's κ: `p_e = Σ π_k²`, Psychological Bulletin 76 (1971) 378. Null if all votes are equal.
    pub fleiss: Option<f64>,
    /// The number of items with at least two votes. Other items are not counted.
    pub items: usize,
}

/// The agreement of votes: `items[i][k]` is the number of votes for category k on item i. `None` if no item has two
/// votes.
pub fn agreement_of_votes(items: &[Vec<u64>]) -> Option<Agreement> {
    let votes = |item: &Vec<u64>| item.iter().sum::<u64>();
    let items: Vec<&Vec<u64>> = items.iter().filter(|item| votes(item) > 1).collect();
    let categories = items.iter().map(|item| item.len()).max()?;
    let mean = |of: &dyn Fn(&Vec<u64>) -> f64| items.iter().map(|item| of(item)).sum::<f64>() / len(items.len());
    let observed = mean(&|item| {
        let all = real(votes(item));
        item.iter().map(|votes| real(*votes) * (real(*votes) - 1.0)).sum::<f64>() / (all * (all - 1.0))
    });
    let share = |category: usize| mean(&|item| item.get(category).map_or(0.0, |of| real(*of)) / real(votes(item)));
    let shares: Vec<f64> = (0..categories).map(share).collect();
    let spread = shares.iter().map(|share| share * (1.0 - share)).sum::<f64>();
    // With one category this is 0/0, which is not below 1.
    let ac1 = beyond_chance(observed, spread / len(categories - 1));
    let fleiss = beyond_chance(observed, shares.iter().map(|share| share * share).sum());
    Some(Agreement { observed, ac1, fleiss, items: items.len() })
}

fn beyond_chance(observed: f64, by_chance: f64) -> Option<f64> {
    (by_chance < 1.0 - 1e-12).then(|| (observed - by_chance) / (1.0 - by_chance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reference::{close, count, ends, number, rows, section};

    #[test]
    fn the_interval_of_a_count_is_that_of_tables() {
        for (count, low, high) in [(0, 0.0, 3.689), (1, 0.0253, 5.572), (30, 20.24, 42.83)] {
            let found = super::poisson(count, 0.95);
            assert!((found.low - low).abs() < 0.005 && (found.high - high).abs() < 0.005, "{count}: {found:?}");
        }
    }

    #[test]
    fn intervals_of_one_rate_agree_with_statsmodels() {
        for row in rows("proportion_95") {
            let rate = Rate::new(count(&row["x"]), count(&row["n"]));
            ends(wilson(rate, 0.95), &row["wilson"], &row);
        }
    }

    #[test]
    fn without_trials_every_rate_is_possible() {
        assert_eq!(wilson(Rate::default(), 0.95), EVERYTHING);
        assert_eq!(Rate::default().share(), None);
    }

    #[test]
    fn k_of_n_agrees_with_the_reference_and_is_undefined_beyond_n() {
        for row in rows("pass_at_k") {
            let rate = Rate::new(count(&row["c"]), count(&row["n"]));
            let k = count(&row["k"]);
            close(pass_at_k(rate, k).expect("defined"), number(&row["pass@k"]), &row);
            close(pass_hat_k(rate, k).expect("defined"), number(&row["pass^k"]), &row);
            assert_eq!(pass_at_k(rate, rate.trials + 1), None);
            assert_eq!(pass_hat_k(rate, 0), None);
        }
    }

    #[test]
    fn passes_needed_for_a_threshold_agree_with_the_reference() {
        for row in rows("min_all_pass_runs_for_one_sided_lower_bound") {
            let threshold = number(&row["threshold"]);
            for (confidence, name) in [(0.95, "n_95"), (0.9, "n_90")] {
                let needed = needed_all_passing(threshold, confidence);
                assert_eq!(needed, Some(count(&row[name])), "{row}");
                let needed = needed.expect("a number");
                assert!(shown_by_all_passing(needed, confidence) >= threshold, "{row}");
                assert!(shown_by_all_passing(needed - 1, confidence) < threshold, "{row}");
            }
        }
        assert_eq!(needed_all_passing(1.0, 0.95), None);
    }

    #[test]
    fn precision_recall_and_f1_agree_with_the_reference() {
        for row in rows("f1") {
            let at = |name: &str| count(&row[name]);
            let found = Triggering { hits: at("tp"), false_alarms: at("fp"), misses: at("fn") };
            close(found.precision().share().expect("trials"), number(&row["precision"]), &row);
            ends(wilson(found.precision(), 0.95), &row["precision_wilson"], &row);
            close(found.recall().share().expect("trials"), number(&row["recall"]), &row);
            ends(wilson(found.recall(), 0.95), &row["recall_wilson"], &row);
            let (f1, interval) = found.f1(0.95).expect("trials");
            close(f1, number(&row["f1"]), &row);
            ends(interval, &row["f1_from_wilson_of_jaccard"], &row);
        }
        assert_eq!(Triggering::default().f1(0.95), None);
    }

    #[test]
    fn a_corrected_rate_agrees_with_the_reference() {
        let reference = section("rogan_gladen");
        let rate = |share: &str, trials: &str| {
            let trials = count(&reference[trials]);
            let passed = number(&reference[share]) * real(trials);
            Rate::new(super::super::count_up(passed - 0.5), trials)
        };
        let judge = JudgeAccuracy { passed_right: rate("sens", "n_sens"), failed_right: rate("spec", "n_spec") };
        let found = judge.correct(rate("raw_rate", "n"), 0.95).expect("a judge better than a coin");
        close(found.rate, number(&reference["corrected"]), &"rate");
        close(found.error, number(&reference["se"]), &"error");
        ends(found.interval, &reference["ci95"], &"interval");
    }

    #[test]
    fn a_judge_that_was_never_wrong_on_five_labels_leaves_doubt_and_a_coin_says_nothing() {
        let judge = JudgeAccuracy { passed_right: Rate::new(5, 5), failed_right: Rate::new(5, 5) };
        let found = judge.correct(Rate::new(10, 10), 0.95).expect("a judge");
        assert!((found.rate - 1.0).abs() < 1e-12 && found.interval.low < 0.9, "{found:?}");
        // A half is added to 10 of 10 and to 5 of 5.
        let variance: f64 = 10.5 * 0.5 / 11_f64.powi(3) + 5.5 * 0.5 / 6_f64.powi(3);
        close(found.error, variance.sqrt(), &"error");
        let coin = JudgeAccuracy { passed_right: Rate::new(5, 10), failed_right: Rate::new(5, 10) };
        assert_eq!(coin.correct(Rate::new(5, 10), 0.95), None);
        assert_eq!(judge.correct(Rate::default(), 0.95), None);
    }

    #[test]
    fn agreement_of_two_judges_agrees_with_the_reference() {
        let reference = section("kappa");
        let row = |row: &serde_json::Value| row.as_array().expect("a row").iter().map(count).collect::<Vec<u64>>();
        let table: Vec<Vec<u64>> = reference["table"].as_array().expect("a table").iter().map(row).collect();
        close(cohen_kappa(&table).expect("votes"), number(&reference["kappa"]), &"kappa");
        let mut items = Vec::new();
        for (first, row) in table.iter().enumerate() {
            for (second, times) in row.iter().enumerate() {
                let mut votes = vec![0, 0];
                votes[first] += 1;
                votes[second] += 1;
                items.extend(vec![votes; usize::try_from(*times).expect("few")]);
            }
        }
        let found = agreement_of_votes(&items).expect("votes");
        close(found.observed, number(&reference["po"]), &"observed");
        close(found.ac1.expect("two categories"), number(&reference["gwet_ac1"]), &"AC1");
        assert_eq!(found.items, 50);
    }

    #[test]
    fn agreement_of_three_judges_on_three_categories_is_as_the_formulas_say() {
        let found = agreement_of_votes(&[vec![3, 0, 0], vec![0, 2, 1], vec![1, 1, 1], vec![0, 0, 3]]).expect("votes");
        // Of the pairs of an item 1, 1/3, 0 and 1 agree. The shares are 1/3, 1/4 and 5/12, their squares add up to 25/72.
        close(found.observed, 7.0 / 12.0, &"observed");
        close(found.fleiss.expect("different votes"), 17.0 / 47.0, &"Fleiss");
        close(found.ac1.expect("three categories"), 37.0 / 97.0, &"AC1");
    }

    #[test]
    fn votes_that_are_all_alike_agree_by_ac1_and_leave_kappa_undefined() {
        let found = agreement_of_votes(&[vec![3, 0], vec![3, 0], vec![1, 0]]).expect("votes");
        assert_eq!((found.ac1, found.fleiss, found.items), (Some(1.0), None, 2));
        assert_eq!(cohen_kappa(&[vec![5, 0], vec![0, 0]]), None);
        assert_eq!(
            (cohen_kappa(&[]), cohen_kappa(&[vec![1, 2]]), agreement_of_votes(&[vec![1, 0]])),
            (None, None, None)
        );
    }
}
